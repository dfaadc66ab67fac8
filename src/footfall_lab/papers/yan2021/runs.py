"""The runs behind Yan et al. 2021: XiLing walks, trots and turns its body in simulation; torques by its models.

The paper publishes XiLing's motors but neither its dimensions nor its masses: those of the library are chosen, so that
forces are only indicative. Length, height and time of a step are chosen too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.compiling import compile
from footfall.control.interface import Inertial, Sensed
from footfall.control.joint.plan_follower import (
    PlanFollower,
    load_shares,
    planned_joints,
    planned_state,
    weight_torques,
)
from footfall.dynamics.free_rotation import free_rotation
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.gait.pattern import LEGS
from footfall.gait.planner import POSTURE_LIMITS_DEG, MotionPlan, plan_walk, standing_postures, yaw_swing
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.kinematics.jacobian import feet_jacobian
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sensing.estimation.torque_sensing import TorqueSensing
from footfall.sensing.sensors import Reading, Sensor, Sensors
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.spatial import cross
from footfall.spatial.gravity import GRAVITY
from footfall.spatial.quaternion import rotated, to_rotation
from footfall_lab.papers.registered import setup
from nptrace._types import PyTree
from nptrace.array_types import Float

_SETUP = setup("yan2021")  # registered before the runs
STEP, HEIGHT, SWING_TIME, SWAY = _SETUP["step"], _SETUP["height"], _SETUP["swing_time"], 0.03  # [m], [m], T [s], [m]
KP, KD = 400.0, 14.0  # [N m/rad], [N m s/rad]
KNEE = "RH_knee"
SMALL_FOOT = 0.005  # [m]: a radius with which feet roll by a fifth of the distance of XiLing's
Progress = Callable[[str, int, int], None]


def plans(robot: Robot, cycles: int = 6) -> dict[str, MotionPlan]:
    """Return the motion plans of the robot."""
    return {
        "walk": plan_walk(
            robot,
            "walk",
            STEP,
            swing_time=SWING_TIME,
            duty=0.75,
            height=HEIGHT,
            cycles=cycles,
            sway=SWAY,
            load_time=0.02,
        ),
        "trot": plan_walk(robot, "trot", STEP, swing_time=SWING_TIME, height=HEIGHT, cycles=cycles, load_time=0.02),
        "postures": standing_postures(robot),
        "yaw": yaw_swing(robot, move=_SETUP["move"], hold=0.4),
        "on the spot": plan_walk(  # figure 11: one leg after the other swings, the body stays in place
            robot,
            "walk",
            0.0,
            swing_time=SWING_TIME,
            duty=0.75,
            height=HEIGHT,
            cycles=cycles,
            sway=SWAY,
            load_time=0.02,
        ),
    }


@dataclass(frozen=True)
class Run:
    """A plan, its recording, and torques by the models for both."""

    robot: Robot
    plan: MotionPlan
    rec: Recording
    controller: PlanFollower

    @cached_property
    def euler(self) -> Float[ndarray, "T 3"]:
        """Return planned yaw, pitch, roll at the recorded times [rad]."""
        return self.plan.at(self.rec.time).euler.T

    def joint(self, name: str) -> int:
        return self.robot.joint_names.index(name)


def perform(robot: Robot, progress: Progress | None = None, cycles: int = 6) -> dict[str, Run]:
    """Simulate every plan."""
    found: dict[str, Run] = {}
    todo = plans(robot, cycles)
    small = robot.replace({f"{leg}.radius": SMALL_FOOT for leg in LEGS})
    todo["small_feet"] = standing_postures(small)
    for k, (name, plan) in enumerate(todo.items()):
        if progress:
            progress(f"XiLing: {name}", k, len(todo))
        subject, controller = small if name == "small_feet" else robot, PlanFollower(plan=plan, kp=KP, kd=KD)
        sim = Simulation(subject, controller, start=standing_start(subject, controller))
        found[name] = Run(subject, plan, sim.run(plan.duration + 0.3), controller)
    return found


def xiling() -> Robot:
    return library.load("xiling")


# -- torques by models -------------------------------------------------------------------------------------------------
def given_torques(run: Run, times: Float[ndarray, "n"], dt: float = 1e-3) -> Float[ndarray, "n nj"]:
    """Return joint torques of the model for the planned motion and given foot forces [N m]: figure 11, "model"."""
    robot, out = run.robot, []
    for t in times:
        states = [_state(run, t + k * dt) for k in (-1, 0, 1)]
        v, a = _differences(states, dt)
        J = feet_jacobian(robot, states[1], "contact", np.eye(3))
        forces = run.rec.force[int(np.argmin(np.abs(run.rec.time - t)))]
        out.append((inverse_dynamics(robot, states[1], v, a) - np.einsum("kij,ki->j", J[:, 3:], forces))[6:])
    return np.array(out)


def planned_torques(run: Run, times: Float[ndarray, "n"], dt: float = 1e-3) -> Float[ndarray, "n nj"]:
    """Return joint torques of the whole-body model for the *planned* motion [N m], from the plan alone.

    Eq. (19) with positions, velocities and accelerations from differences of the plan, and foot forces that carry the
    planned load (its vertical part: with more than one foot down, friction between the feet is free). By recursive
    inverse dynamics, which agrees with the screw system to rounding.
    """
    robot = run.robot
    out = []
    order = [robot.foot_index(leg) for leg in LEGS]
    for t in times:
        states = [_state(run, t + k * dt) for k in (-1, 0, 1)]
        v, a = _differences(states, dt)
        placed, q = run.plan.at(t), states[1]
        force = inverse_dynamics(robot, q, v, a)
        J = feet_jacobian(robot, q)
        feet = foot_positions(robot, q)[order]
        lift = force[:6] @ np.concatenate([np.zeros(3), to_rotation(q[3:7]).T[:, 2]])  # m (g + z̈)
        center = center_of_mass(robot, q)
        shares = load_shares(feet[:, :2], placed.load, center[:2])
        tau = force[6:] - sum(lift * shares[i] * J[k, 5, 6:] for i, k in enumerate(order))
        out.append(tau)
    return np.array(out)


def sensed_torques(
    rec: Recording, rows: ndarray, central: bool = False, at_center: bool = False
) -> tuple[Float[ndarray, "n nj"], Float[ndarray, "n 6"]]:
    """Return (joint torques, wrench on the base not explained by foot forces), from ideal sensors only.

    IMU: turn rate and specific force of the base; encoders: joint angles, rates and, by differences, accelerations;
    foot sensors: forces. Differences over the step that the forces acted in, or with ``central`` over two. A foot's
    force acts at its contact point; with ``at_center``, at the foot's centre, as for the spherical joint of the paper's
    model.
    """
    robot, dt = rec.robot, float(np.median(np.diff(rec.time)))
    torques, left = [], []
    for k in rows:
        before, after = (k - 1, k) if not central else (k - 1, k + 1)
        at = k - 1 if not central else k
        q, v = rec.q[at], rec.v[at]
        R = to_rotation(q[3:7])
        span = dt * (after - before)
        world = [to_rotation(rec.q[i, 3:7]) @ rec.v[i, 3:6] for i in (before, after)]
        classical = R.T @ (world[1] - world[0]) / span  # specific force of the accelerometer, without gravity
        if not central and robot.floating:  # a step uses gyroscopic forces at the angular velocity in its middle
            v = v + np.concatenate([free_rotation(robot, v[:3], dt), np.zeros(robot.nv - 3)])
        turning = (rec.v[after, :3] - rec.v[before, :3]) / span
        joints = (rec.v[after, 6:] - rec.v[before, 6:]) / span
        a = np.concatenate([turning, classical - cross(v[:3], v[3:6]), joints])
        J = feet_jacobian(robot, q, "world" if at_center else "contact", np.eye(3))
        forces = rec.force[k] if not central else 0.5 * (rec.force[k] + rec.force[k + 1])
        rest = inverse_dynamics(robot, q, v, a) - np.einsum("kij,ki->j", J[:, 3:], forces)
        torques.append(rest[6:])
        left.append(rest[:6])
    return np.array(torques), np.array(left)


def _state(run: Run, t: float) -> Float[ndarray, "nq"]:
    placed = run.plan.at(t)
    return planned_state(run.robot, placed, planned_joints(run.robot, placed))


def _differences(states: list[ndarray], dt: float) -> tuple[ndarray, ndarray]:
    """Return (v, a) in footfall's coordinates from three configurations; the body only rotates about z."""
    velocities = []
    for first, second in ((states[0], states[1]), (states[1], states[2])):
        yaw = [2.0 * np.arctan2(q[6], q[3]) for q in (first, second)]
        omega = np.array([0.0, 0.0, (yaw[1] - yaw[0]) / dt])
        velocities.append(np.concatenate([omega, (second[:3] - first[:3]) / dt, (second[7:] - first[7:]) / dt]))
    R = to_rotation(states[1][3:7])
    mean, change = 0.5 * (velocities[0] + velocities[1]), (velocities[1] - velocities[0]) / dt
    v = np.concatenate([mean[:3], R.T @ mean[3:6], mean[6:]])
    a = np.concatenate([change[:3], R.T @ change[3:6] - cross(v[:3], v[3:6]), change[6:]])
    return v, a


def control_loop(
    robot: Robot,
    t: float,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    a: Float[ndarray, "nv"],
    forces: Float[ndarray, "nf 3"],
    plan: MotionPlan,
) -> tuple[ndarray, ndarray, ndarray]:
    """Compute one millisecond of the paper's control loop: joint targets, gravity torques, torques of the motion."""
    placed = plan.at(t)
    joints = planned_joints(robot, placed)
    J = feet_jacobian(robot, q, "contact", np.eye(3))
    pushed = sum((J[k, 3:].T @ forces[k] for k in range(robot.nf)), start=np.zeros(robot.nv))
    return joints, weight_torques(robot, placed, joints), (inverse_dynamics(robot, q, v, a) - pushed)[6:]


# -- results -----------------------------------------------------------------------------------------------------------
def commanded_rate(run: Run, joint: str) -> Float[ndarray, "T"]:
    """Return the rate of a joint's commanded position [rad/s]."""
    return np.gradient(run.rec["command_position"][:, run.joint(joint)], run.rec.time)


def as_printed(thigh: float, shank: float, bend: float) -> float:
    """Return the foot's error if the knee rotates by the interior angle, as printed in eq. (6) [m]."""
    right = np.array([shank * np.sin(bend), shank * np.cos(bend)])
    interior = np.sign(bend) * (np.pi - abs(bend))
    return float(np.hypot(*(right - shank * np.array([np.sin(interior), np.cos(interior)]))))


def steps_of(plan: MotionPlan) -> tuple[float, float]:
    """Return the largest change of a velocity between samples 1 ms apart, and 0.5 ms apart [m/s]."""
    found = []
    for dt in (1e-3, 5e-4):
        placed = plan.at(np.arange(0.0, plan.duration, dt))
        motion = np.concatenate([placed.position, placed.feet.reshape(12, -1)])
        found.append(float(np.abs(np.diff(motion, 2, axis=1)).max()) / dt)
    return found[0], found[1]


def switches(run: Run) -> list[float]:
    """Return the lift-off and touchdown times of the knee's foot in the plan, in order."""
    plan, foot = run.plan, LEGS.index(KNEE[:2])
    starts = plan.rest + (plan.starts[foot] + np.arange(plan.cycles)) * plan.gait.period  # type: ignore[attr-defined]
    return [t for start in starts[1:] for t in (float(start), float(start + plan.swing_time))]  # type: ignore[attr-defined]


def held_angles(run: Run) -> tuple[dict[str, float], float]:
    """Return (angle at the end of every held posture [deg], largest error of any angle then [deg])."""
    angles, wanted = np.degrees(run.rec.trunk_euler()), np.degrees(run.euler)
    held, worst = {}, 0.0
    for column, name in ((2, "roll"), (1, "pitch"), (0, "yaw")):
        for sign in (1, -1):
            there = np.flatnonzero(np.abs(wanted[:, column] - sign * POSTURE_LIMITS_DEG[name]) < 1e-9)[-50:]
            held[f"{name} {sign * POSTURE_LIMITS_DEG[name]:+.0f}"] = float(angles[there, column].mean())
            worst = max(worst, float(np.abs(angles[there] - wanted[there]).max()))
    return held, worst


def slip(run: Run) -> float:
    """Return the largest displacement of a foot along the ground after 0.3 s [m]."""
    rows = np.arange(300, len(run.rec), 50)
    feet = np.array([foot_positions(run.robot, run.rec.q[k])[:, :2] for k in rows])
    return float(np.linalg.norm(feet - feet[0], axis=2).max())


def base_acceleration(rec: Recording, k: int, dt: float) -> Float[ndarray, "6"]:
    """Return the spatial acceleration of the base, in base axes, from two readings of the IMU."""
    v, R = rec.v[k - 1], to_rotation(rec.q[k - 1, 3:7])
    world = to_rotation(rec.q[k, 3:7]) @ rec.v[k, 3:6]
    classical = (R.T @ world - v[3:6]) / dt
    return np.concatenate([(rec.v[k, :3] - v[:3]) / dt, classical - cross(v[:3], v[3:6])])


def timed(call: Callable[[], object], count: int) -> Float[ndarray, "n"]:
    times = np.empty(count)
    for k in range(count):
        began = time.perf_counter()
        call()
        times[k] = time.perf_counter() - began
    return times


def noisy_torques(rec: Recording, rows: ndarray, sensors: Sensors) -> Float[ndarray, "n nj"]:
    """Return joint torques by inverse dynamics on sampled readings [N m], with central differences over two steps.

    The accelerometer gives the base's acceleration directly; angular and joint accelerations are differences of gyro
    and encoder rates. The base's linear velocity is not measured, and is not needed: forces depend only on its change.
    """
    robot, reported, dt = rec.robot, readings(rec, sensors), float(np.median(np.diff(rec.time)))
    torques = []
    for k in rows:
        q = np.concatenate([rec.q[k, :3], reported["quaternion"][k], reported["position"][k]])
        v = np.concatenate([reported["gyro"][k], np.zeros(3), reported["rate"][k]])
        turning, joints = ((x[k + 1] - x[k - 1]) / (2.0 * dt) for x in (reported["gyro"], reported["rate"]))
        need = inverse_dynamics(robot, q, v, np.concatenate([turning, reported["acceleration"][k], joints]))
        J = feet_jacobian(robot, q, "contact", np.eye(3))
        force = 0.5 * (reported["force"][k] + reported["force"][k + 1])
        torques.append((need - np.einsum("kij,ki->j", J[:, 3:], force))[6:])
    return np.array(torques)


def registered_sensing() -> TorqueSensing:
    return TorqueSensing(1000.0, setup("yan2021")["filter"], setup("yan2021")["stands_from"])


def filtered_torques(rec: Recording, sensors: Sensors, sensing: TorqueSensing) -> Float[ndarray, "T nj"]:
    """Pass the readings through ``TorqueSensing``, tick by tick, and return the torques of every row [N m]."""
    robot, reported, up = rec.robot, readings(rec, sensors), -np.array(GRAVITY)
    memory = sensing.start(robot)
    sensed = [
        Sensed(
            q=np.concatenate([rec.q[k, :3], quat, reported["position"][k]]),
            v=np.concatenate([reported["gyro"][k], np.zeros(3), reported["rate"][k]]),
            forces=reported["force"][k],
            imu=Inertial(reported["acceleration"][k] + to_rotation(quat).T @ up, reported["gyro"][k]),
        )
        for k, quat in enumerate(reported["quaternion"])
    ]
    tick = compile(_tick, robot, sensed[0], memory, sensing=sensing, verify=False)
    torques = []
    for each in sensed:
        torque, memory = tick(each, memory)
        torques.append(np.array(torque))
    return np.array(torques)


def _tick(
    robot: Robot, sensed: Sensed, memory: dict[str, PyTree], sensing: TorqueSensing
) -> tuple[ndarray, dict[str, PyTree]]:
    return sensing(robot, sensed, memory)


def readings(rec: Recording, sensors: Sensors) -> dict[str, ndarray]:
    """Return sensor readings of a recording's rows; ``acceleration``: accelerometer without gravity, base axes."""
    rng = np.random.default_rng(sensors.seed)
    R = np.array([to_rotation(q[3:7]) for q in rec.q])
    world = np.einsum("tij,tj->ti", R, rec.v[:, 3:6])
    change = np.gradient(world, rec.time, axis=0)
    reported = {"acceleration": _read(np.einsum("tji,tj->ti", R, change), sensors.acceleration, rng)}
    reported["gyro"] = _read(rec.v[:, :3], sensors.gyro, rng)
    tilt = _read(np.zeros((len(rec), 3)), sensors.attitude, rng)
    reported["quaternion"] = np.array([rotated(q[3:7], turn) for q, turn in zip(rec.q, tilt)])
    reported["position"] = _read(rec.q[:, 7:], sensors.position, rng)
    reported["rate"] = _read(rec.v[:, 6:], sensors.velocity, rng)
    reported["force"] = _read(rec.force.reshape(len(rec), -1), sensors.force, rng).reshape(rec.force.shape)
    return reported


def _read(truth: Float[ndarray, "T n"], sensor: Sensor, rng: np.random.Generator) -> Float[ndarray, "T n"]:
    """Return a sensor's reading of all samples: the truth, a constant offset, noise, rounding."""
    assert isinstance(sensor, Reading)
    reported = truth + sensor.bias * rng.normal(size=truth.shape[1]) + sensor.noise * rng.normal(size=truth.shape)
    return sensor.resolution * np.round(reported / sensor.resolution) if sensor.resolution else reported

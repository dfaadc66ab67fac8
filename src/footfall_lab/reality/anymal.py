"""SimBenchmark's two ANYmal tests (Kang and Hwangbo 2018, leggedrobotics/SimBenchmark), repeated.

Stand: joint PD (kp 40, kd 1) at dt 5 ms and less, time per step. Energy: lifted by twice its weight for a second, then
two seconds of free flight without contact, limits, damping or motors; mean square energy error [J²]. Published figures
are from a machine of 2018: ratios are comparable, times are not.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.complementarity import Complementarity
from footfall.contact.compliant import Compliant
from footfall.contact.model import ContactModel
from footfall.control.interface import JointCommand
from footfall.conversions import to_mujoco_v
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.loading import load
from footfall.mujoco import model as mujoco
from footfall.robot.files.export import to_mjcf
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import integrate_step
from footfall.sim.world import World
from footfall.spatial.gravity import GRAVITY, STANDARD
from footfall_lab.bench.timing import Task, interleaved, looped, pinned
from footfall_lab.verify import pinocchio
from nptrace._types import PyTree
from nptrace.array_types import Float

KP, KD, HEIGHT, STAND_TIME = 40.0, 1.0, 0.54, 250.0
LIFT, FLIGHT, DROP_HEIGHT = 1.0, 2.0, 2.0  # [s], [s], [m]
STEPS = (0.01, 0.004, 0.001, 0.0004, 0.0001)  # [s], for the energy test
STAND_STEPS = (0.005, 0.0025, 0.001)  # [s]
PRINTED_STAND = {"RaiSim": 0.408, "MuJoCo 1.5 (Newton, no-slip)": 1.881, "Bullet": 3.684, "DART": 5.84, "ODE": 23.11}
PRINTED_ENERGY = {  # dt: error [J²], as printed
    "RaiSim": {0.01: 1.398, 0.004: 0.2147, 0.001: 0.01184, 0.0004: 0.001814, 0.0001: 1.108e-4},
    "MuJoCo 1.5 Euler": {0.01: 343.9, 0.004: 55.54, 0.001: 3.482, 0.0004: 0.5574, 0.0001: 0.03485},
    "MuJoCo 1.5 RK4": {0.01: 5.57e-11, 0.004: 4.50e-14, 0.001: 1.63e-17, 0.0004: 3.6e-19, 0.0001: 1.6e-21},
}
PRINTED_SPEED = {"RaiSim": 0.01499, "MuJoCo 1.5 Euler": 0.06336, "MuJoCo 1.5 RK4": 0.1391}  # [s], at dt 1 ms


def anymal() -> Robot:
    """Return ANYmal B from an installed package of robot files; its feet are the spheres in its file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about omitted shapes
        return load("anymal_b")


def stand_joints(robot: Robot) -> Float[ndarray, "nj"]:
    """Return SimBenchmark's stand: 0.03, 0.4 and -0.8 rad, mirrored."""
    angles = []
    for name in robot.joint_names:
        side, end, kind = (1.0 if name[0] == "L" else -1.0), (1.0 if name[1] == "F" else -1.0), name.split("_")[1]
        angles.append({"HAA": 0.03 * side, "HFE": 0.4 * end, "KFE": -0.8 * end}[kind])
    return np.array(angles)


# -- energy ------------------------------------------------------------------------------------------------------------
def flown(world: World, state: State, push: Float[ndarray, "6"], dt: float, integrator: str) -> State:
    """Make one step of flight."""
    return integrate_step(integrator, world, state, JointCommand().broadcast(world.robot.nj), push, dt)[0]


def total_energy(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> float:
    return kinetic_energy(robot, q, v) + potential_energy(robot, q, GRAVITY)


@dataclass(frozen=True)
class EnergyRow:
    """The energy test of one engine: error by dt [J²], time per step [us]."""

    name: str
    errors: dict[float, float]
    step_us: float


class Flight:
    """The flight in footfall."""

    def __init__(self, robot: Robot, integrator: str) -> None:
        implicit = integrator == "linearly_implicit"
        self.robot = robot.replace(feet=())
        world = World(robot=self.robot, joints=JointModel.ideal(), contact=Compliant(implicit=implicit))
        q = np.concatenate([[0.0, 0.0, DROP_HEIGHT], [1.0, 0.0, 0.0, 0.0], stand_joints(robot)])
        self.start, self.push = State(q, np.zeros(self.robot.nv)), np.zeros(6)
        self.push[5] = 2.0 * robot.mass * STANDARD
        self.step = compiling.compile(flown, world, self.start, self.push, 1e-3, integrator=integrator)
        self.energy = compiling.compile(total_energy, self.robot, target="batch")

    def error(self, dt: float) -> float:
        lifted, _ = self.step.roll(round(LIFT / dt), self.start, self.push, dt)
        _, rows = self.step.roll(round(FLIGHT / dt) - 1, lifted, np.zeros(6), dt)
        q, v = np.concatenate([lifted.q[None], rows.q]), np.concatenate([lifted.v[None], rows.v])
        return _mean_square(np.asarray(self.energy(q, v)))

    def task(self, name: str) -> Task:
        return Task(name=name, run=lambda count: self.step.advance(count, self.start, self.push, 1e-3), per="step")


class MuJoCoFlight:
    """The flight in MuJoCo, with the energies that it reports."""

    def __init__(self, robot: Robot, integrator: str) -> None:
        self.mj, self.robot = mujoco.library(), robot
        bare = robot.replace(feet=(), actuators=(), poses={}, name="anymal")
        spec = self.mj.MjSpec.from_string(to_mjcf(bare, options={"integrator": integrator}))
        for joint in spec.joints:
            joint.damping, joint.frictionloss = np.zeros(3), 0.0
            joint.limited = self.mj.mjtLimited.mjLIMITED_FALSE
        spec.compiler.fusestatic = True  # links without a joint are free, as in footfall
        self.model = spec.compile()
        self.data = self.mj.MjData(self.model)

    def reset(self) -> None:
        self.mj.mj_resetData(self.model, self.data)
        self.data.qpos[:7] = [0.0, 0.0, DROP_HEIGHT, 1.0, 0.0, 0.0, 0.0]
        for name, angle in zip(self.robot.joint_names, stand_joints(self.robot)):
            self.data.joint(name).qpos[0] = angle
        self.data.qfrc_applied[2] = 2.0 * self.robot.mass * STANDARD

    def error(self, dt: float) -> float:
        self.reset()
        self.model.opt.timestep = dt
        self.model.opt.enableflags |= self.mj.mjtEnableBit.mjENBL_ENERGY
        self.mj.mj_step(self.model, self.data, nstep=round(LIFT / dt))
        self.data.qfrc_applied[:] = 0.0
        energy = []
        for _ in range(round(FLIGHT / dt)):
            self.mj.mj_forward(self.model, self.data)
            energy.append(self.data.energy.sum())
            self.mj.mj_step(self.model, self.data)
        return _mean_square(np.array(energy))

    def task(self, name: str) -> Task:
        self.model.opt.timestep = 1e-3
        self.model.opt.enableflags &= ~int(self.mj.mjtEnableBit.mjENBL_ENERGY)  # timed without energy computation
        run = lambda count: self.mj.mj_step(self.model, self.data, nstep=count)  # noqa: E731
        return Task(name=name, run=run, per="step", before=self.reset)


class PinocchioFlight:
    """The flight with Pinocchio's forward dynamics and integration, in semi-implicit Euler steps."""

    def __init__(self, robot: Robot) -> None:
        self.referee, self.robot = pinocchio.Pinocchio(robot.replace(feet=())), robot
        q = np.concatenate([[0.0, 0.0, DROP_HEIGHT], [1.0, 0.0, 0.0, 0.0], stand_joints(robot)])
        self.q, self.lift = self.referee.q_of(q), 2.0 * robot.mass * STANDARD

    def error(self, dt: float) -> float:
        pin, model, data = self.referee.pin, self.referee.model, self.referee.data
        q, v, tau, energy = self.q.copy(), np.zeros(model.nv), np.zeros(model.nv), []
        lifts, flights = round(LIFT / dt), round(FLIGHT / dt)
        for k in range(lifts + flights):
            if k < lifts:
                R = pin.Quaternion(q[3:7]).toRotationMatrix()
                tau[:3] = R.T @ np.array([0.0, 0.0, self.lift])
            else:
                tau[:] = 0.0
                energy.append(pin.computeMechanicalEnergy(model, data, q, v))
            v = v + dt * pin.aba(model, data, q, v, tau)
            q = pin.integrate(model, q, dt * v)
        return _mean_square(np.array(energy))

    def tasks(self, name: str) -> list[Task]:
        """Return tasks of aba and integrate, each less the same call on a model of one joint."""
        pin, model, data = self.referee.pin, self.referee.model, self.referee.data
        small = pin.Model()
        small.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), "joint")
        small.appendBodyToJoint(1, pin.Inertia(1.0, np.zeros(3), np.eye(3)), pin.SE3.Identity())
        held, one, v = small.createData(), np.ones(1), np.full(model.nv, 0.1)

        def both(model: object, data: object, q: ndarray, v: ndarray) -> None:
            pin.aba(model, data, q, v, v)
            pin.integrate(model, q, v)

        empty = Task(name=f"{name} (binding)", run=looped(both, small, held, one, one), per="step", hidden=True)
        return [empty, Task(name=name, run=looped(both, model, data, self.q, v), per="step", less=empty.name)]


def _mean_square(energy: ndarray) -> float:
    return float(np.mean((energy - energy[0]) ** 2))


# -- stand -------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class StandRow:
    """The stand of one engine: time per step [us] by dt; displacement of the base after 250 s [mm]."""

    name: str
    step_us: dict[float, float]
    drift: float


def held(world: World, state: State, targets: Float[ndarray, "nj"], dt: float) -> State:
    """Make one step with joint PD about the targets."""
    command = JointCommand(targets, 0.0, KP, KD, 0.0)
    return integrate_step("linearly_implicit", world, state, command, np.zeros(6), dt)[0]


class Stand:
    """The stand in footfall."""

    def __init__(self, robot: Robot, contact: ContactModel) -> None:
        world = World(robot=robot, joints=JointModel.ideal(), contact=contact)
        self.targets = stand_joints(robot)
        q = np.concatenate([[0.0, 0.0, HEIGHT], [1.0, 0.0, 0.0, 0.0], self.targets])
        start = State(q, np.zeros(robot.nv), contact.start(world.spheres))
        self.step = compiling.compile(held, world, start, self.targets, 5e-3)
        self.settled = self.step.advance(round(2.0 / 5e-3), start, self.targets, 5e-3)

    def drift(self, dt: float) -> float:
        after = self.step.advance(round(STAND_TIME / dt), self.settled, self.targets, dt)
        return 1e3 * float(np.linalg.norm(after.q[:3] - self.settled.q[:3]))

    def task(self, name: str, dt: float) -> Task:
        return Task(name=name, run=lambda count: self.step.advance(count, self.settled, self.targets, dt), per="step")


class MuJoCoAnymal:
    """The stand in MuJoCo, with default contact; ``noslip``: iterations of its no-slip solver, ten in SimBenchmark."""

    def __init__(self, robot: Robot, noslip: int) -> None:
        self.mj, mj = mujoco.library(), mujoco.library()
        text = to_mjcf(robot.replace(actuators=(), poses={}), ground=True, contact={"friction": (0.8, 0.0, 0.0)})
        spec = mj.MjSpec.from_string(text)
        spec.option.integrator = mj.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.noslip_iterations = noslip  # bodies are not fused: it would creep five times as far
        targets = stand_joints(robot)
        for joint in spec.joints:
            joint.damping, joint.frictionloss = np.zeros(3), 0.0
        for name in robot.joint_names:
            servo = spec.add_actuator(name=f"motor_{name}", target=name, trntype=mj.mjtTrn.mjTRN_JOINT)
            servo.gaintype, servo.biastype = mj.mjtGain.mjGAIN_FIXED, mj.mjtBias.mjBIAS_AFFINE
            servo.gainprm[0], servo.biasprm[:3] = KP, [0.0, -KP, -KD]
        self.model = spec.compile()
        self.rest = mj.MjData(self.model)
        q = np.concatenate([[0.0, 0.0, HEIGHT], [1.0, 0.0, 0.0, 0.0], targets])
        self.rest.qpos[:] = q
        self.rest.qvel[:] = to_mujoco_v(robot, q, np.zeros(robot.nv))
        self.rest.ctrl[:] = targets
        self.model.opt.timestep = 5e-3
        mj.mj_step(self.model, self.rest, nstep=400)
        self.data = mj.MjData(self.model)

    def reset(self) -> None:
        self.mj.mj_copyData(self.data, self.model, self.rest)

    def drift(self, dt: float) -> float:
        self.reset()
        self.model.opt.timestep = dt
        self.mj.mj_step(self.model, self.data, nstep=round(STAND_TIME / dt))
        return 1e3 * float(np.linalg.norm(self.data.qpos[:3] - self.rest.qpos[:3]))

    def task(self, name: str, dt: float) -> Task:
        def run(count: int) -> None:
            self.model.opt.timestep = dt
            self.mj.mj_step(self.model, self.data, nstep=count)

        return Task(name=name, run=run, per="step", before=self.reset)


def measure(
    seconds: float, progress: Callable[[str, int, int], None], steps: int = len(STEPS)
) -> tuple[list[EnergyRow], list[StandRow]]:
    """Run both tests; ``steps``: number of step lengths for energy. All engines are interleaved on one core."""
    robot = anymal()
    flights: dict[str, PyTree] = {
        "footfall, default step": Flight(robot, "linearly_implicit"),
        "footfall, RK4": Flight(robot, "rk4"),
        "MuJoCo, Euler": MuJoCoFlight(robot, "Euler"),
        "MuJoCo, RK4": MuJoCoFlight(robot, "RK4"),
        "Pinocchio, Euler": PinocchioFlight(robot),
    }
    stands: dict[str, PyTree] = {
        "footfall, compliant": Stand(robot, Compliant()),
        "footfall, complementarity": Stand(robot, Complementarity()),
        "MuJoCo, no-slip": MuJoCoAnymal(robot, 10),
        "MuJoCo": MuJoCoAnymal(robot, 0),
    }
    tasks: list[Task] = []
    for name, flight in flights.items():
        tasks += flight.tasks(name) if isinstance(flight, PinocchioFlight) else [flight.task(name)]
    for name, stand in stands.items():
        tasks += [stand.task(f"{name} {dt}", dt) for dt in STAND_STEPS]
    with pinned():
        times = {row.name: 1e-3 * row.ns for row in interleaved(tasks, seconds, progress)}
    energy = [EnergyRow(name, {dt: f.error(dt) for dt in STEPS[:steps]}, times[name]) for name, f in flights.items()]
    standing = [
        StandRow(name, {dt: times[f"{name} {dt}"] for dt in STAND_STEPS}, stand.drift(5e-3))
        for name, stand in stands.items()
    ]
    return energy, standing

"""Runs of a robot, controller and ground in MuJoCo: the baseline of de Paula et al. 2024, as a ``Recording``.

The controller is the object that footfall runs, called at its rate; its gains become MuJoCo's actuator gains, so that
joint feedback acts at every step in both. Defaults: the paper's Table I, ``solref`` -1600 -100, elliptic cone.
"""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.errors import InputError, TraceError
from footfall.mujoco.model import library
from footfall.recording.force_mean import ForceMeans
from footfall.recording.recording import Recording
from footfall.robot.files.export import to_mjcf
from footfall.robot.files.feet import POINT
from footfall.robot.model.description import Robot
from footfall.sim.commanding import command_at
from footfall.sim.joints import JointModel
from footfall.sim.pushes import generalised_push
from footfall.sim.rollouts import check_controller
from footfall.sim.simulation import Simulation
from footfall.sim.stopping import Falls
from footfall.sim.tick import Inputs, SimulationModel, add_impulse, no_impulse
from footfall.spatial import quaternion
from nptrace._types import Given, PyTree
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjData, MjModel, MjSpec

_TICKS_REPORTED = 250
PAPER_CONTACT = {"solref": (-1600.0, -100.0)}
STIFF_CONTACT = {"solref": (-2e6, -2e3), "solimp": (0.95, 0.99, 0.001)}


def mujoco_model(
    simulation: Simulation,
    friction: float | None = None,
    contact: Mapping[str, Given] | None = None,
    options: Mapping[str, Given] | None = None,
) -> MjModel:
    """Return an MjModel of a simulation's robot on its ground, with gains that ``run_mujoco`` sets."""
    mj, world = library(), simulation.model.world
    settings = {"timestep": simulation.dt, "integrator": "implicitfast", "cone": "elliptic", "gravity": world.gravity}
    if world.joints.backlash or world.joints.gear_loss or world.joints.belt is not None:
        raise InputError("backlash, gear loss and belts are not modelled in MuJoCo: compare a simulation without them")
    if world.joints.can_lose_power:
        raise InputError("brakes and loss of power are not modelled in MuJoCo: compare a simulation without them")
    mu = float(world.ground.friction_at(np.zeros(3))) if friction is None else friction
    touch = {"friction": (mu, 0.0, 0.0), "condim": 3}
    spec = mj.MjSpec.from_string(
        to_mjcf(
            effective_robot(simulation.robot, world.joints),
            ground=True,
            options={**settings, **(options or {})},
            contact={**touch, **(PAPER_CONTACT if contact is None else contact)},
        )
    )
    world.ground.to_mujoco(mj, spec, next(geom for geom in spec.geoms if geom.name == "ground"))
    _add_spheres(mj, spec, simulation)
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    limits = {a.joint: a.torque_limit for a in simulation.robot.actuators} if world.joints.motor_limits else {}
    for name in simulation.robot.joint_names:
        actuator = spec.add_actuator(name=f"motor_{name}", target=name, trntype=mj.mjtTrn.mjTRN_JOINT)
        actuator.gaintype, actuator.biastype = mj.mjtGain.mjGAIN_FIXED, mj.mjtBias.mjBIAS_AFFINE
        if math.isfinite(limits.get(name, math.inf)):
            actuator.forcelimited, actuator.forcerange = 1, (-limits[name], limits[name])
    return spec.compile()


def _add_spheres(mj: ModuleType, spec: MjSpec, simulation: Simulation) -> None:
    """Add the contact spheres other than the feet, with the same contact model."""
    robot, spheres = simulation.robot, simulation.model.world.spheres
    for sphere in spheres[robot.nf :]:
        body = spec.body(robot.tree.bodies[sphere.body].name)
        body.add_geom(
            spec.find_default("touch"),
            name=f"touching_{sphere.name}",
            type=mj.mjtGeom.mjGEOM_SPHERE,
            size=[max(sphere.radius, POINT), 0, 0],
            pos=sphere.center,
            contype=1,
            conaffinity=0,
        )


def effective_robot(robot: Robot, joints: JointModel) -> Robot:
    """Return the robot without the joint effects that a simulation switches off."""
    changed = []
    for joint in robot.joints:
        off: dict[str, float] = {}
        if not joints.damping:
            off["damping"] = 0.0
        if not joints.dry_friction:
            off["dry_friction"] = 0.0
        if not joints.springs:
            off["stiffness"] = 0.0
        if not joints.end_stops:
            off.update(lower=-math.inf, upper=math.inf)
        changed.append(dataclasses.replace(joint, **off))  # type: ignore[arg-type]
    return dataclasses.replace(robot, joints=tuple(changed))


def run_mujoco(
    simulation: Simulation,
    duration: float,
    model: MjModel | None = None,
    progress: Callable[[int], None] = lambda ticks: None,
) -> Recording:
    """Run a simulation's robot and controller in MuJoCo, from its state and time.

    Every tick records the state after it. ``progress`` is called now and then with the number of ticks since its last
    call. ``meta["wall_seconds"]`` is the time spent inside MuJoCo's steps alone; ``meta["fell"]`` is defined as in
    simulations, over the whole run; ``meta["stopped"]`` is the time of the fall. The run continues after a fall.
    """
    mj, run, robot = library(), simulation.model, simulation.robot
    model = mujoco_model(simulation) if model is None else model
    data, controller = mj.MjData(model), CompiledController(simulation)
    order = _joint_order(mj, model, robot)
    q, v = simulation.q, simulation.v
    data.qpos[:7], data.qvel[:6] = q[:7], np.concatenate([rotation_of(q) @ v[3:6], v[:3]])
    data.qpos[order.q], data.qvel[order.v] = q[7:], v[6:]
    feet = _foot_geoms(mj, model, robot)
    memory, rows, wall = simulation.state.memory, [], 0.0
    force, impulse = np.zeros((robot.nf, 3)), no_impulse(robot, run.period)
    first = round(simulation.time / run.period)  # ticks that the simulation has made before
    means = ForceMeans(first * run.period, impulse, run.period)
    ticks = max(1, round(duration / run.period))
    for k in range(first, first + ticks):
        joint_command, memory = controller(k * run.period, q, v, force, memory)
        model.actuator_gainprm[order.u, 0] = 1.0
        model.actuator_biasprm[order.u, 1], model.actuator_biasprm[order.u, 2] = -joint_command.kp, -joint_command.kd
        data.ctrl[order.u] = (
            joint_command.kp * joint_command.position + joint_command.kd * joint_command.velocity + joint_command.torque
        )
        if robot.floating and simulation.pushes:
            push = generalised_push(robot, q, simulation.pushes, float(k), run.period)
            data.qfrc_applied[:3], data.qfrc_applied[3:6] = rotation_of(q) @ push[3:6], push[:3]
            data.qfrc_applied[order.v] = push[6:]
        impulse = np.stack([impulse[0]] * len(impulse))
        for step in range(run.substeps):
            began = time.perf_counter()
            mj.mj_step(model, data)
            wall += time.perf_counter() - began
            force = _foot_forces(mj, model, data, feet)
            impulse = add_impulse(run, impulse, run.dt * force, step)
        q = np.concatenate([data.qpos[:7], data.qpos[order.q]])
        v = np.concatenate([data.qvel[3:6], rotation_of(q).T @ data.qvel[:3], data.qvel[order.v]])
        made = k + 1 - first
        if made % _TICKS_REPORTED == 0 or made == ticks:
            progress((made - 1) % _TICKS_REPORTED + 1)
        rows.append(
            ((k + 1) * run.period, q, v, joint_command.position, data.qfrc_actuator[order.v].copy(), force, impulse)
        )
    time_, qs, vs, position, torque, forces, impulses = (np.array(column) for column in zip(*rows))
    columns = {
        "time": time_,
        "q": qs,
        "v": vs,
        "command_position": position,
        "torque": torque,
        "force": forces,
        "force_mean": means.add(time_, impulses),
        "contact": np.linalg.norm(forces, axis=2) > 0,
    }
    fell = _first_fall(simulation, qs)
    meta = {
        "engine": f"MuJoCo {mj.__version__}",
        "controller": simulation.model.acting.name,
        "dt": run.dt,
        "ground_form": run.world.ground.to_json(),
        "wall_seconds": wall,
        "contact_times": contact_times(model, feet),
        "fell": fell is not None,
        "stopped": None if fell is None else f"the robot fell at {time_[fell]:.3f} s",
    }
    return Recording(robot, columns, [], meta)


def contact_times(model: MjModel, feet: Mapping[int, int]) -> list[float]:
    """Return the time constants with which a foot's speed and depth decay in contact [s], the shorter first.

    ``solref`` is (-k, -b) or (time constant, damping ratio); the documentation of MuJoCo, "Solver parameters".
    """
    geom = next(iter(feet))
    (first, second), most = model.geom_solref[geom], float(model.geom_solimp[geom][1])
    if first > 0:
        k, b = 1.0 / (most * first * second) ** 2, 2.0 / (most * first)
    else:
        k, b = -first / most**2, -second / most
    return sorted(float(1.0 / abs(rate.real)) for rate in np.roots([1.0, b, k]))


def _first_fall(simulation: Simulation, q: Float[ndarray, "T nq"]) -> int | None:
    """Return the first row in which the robot leans too far or lies on the ground, as defined in simulations."""
    if not simulation.robot.floating:
        return None
    return Falls.of(simulation.model.world, simulation.q).first(q)


class CompiledController:
    """The controller as a fast function: compiled as in the simulation, or in Python if it cannot be compiled."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation, self.model = simulation, simulation.model
        memory = simulation.state.memory
        robot = self.model.world.robot
        sensed = Sensed(q=simulation.q, v=simulation.v, forces=np.zeros((robot.nf, 3)))
        self.compiled: Callable[..., tuple[JointCommand, PyTree]] | None = None
        if simulation.compile_controller is not False and self.model.acting.info.traceable:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    inputs = Inputs(command_at(simulation.command, 0.0), np.zeros(6))
                    check_controller(self.model, simulation.state, inputs)  # no hidden state: no need to replay it
                    self.compiled = compiling.compile(
                        controlled, self.model, 0.1, sensed, Command(), memory, verify=False
                    )
            except TraceError:
                pass  # runs as plain Python

    def __call__(self, t: float, q: ndarray, v: ndarray, force: ndarray, memory: PyTree) -> tuple[JointCommand, PyTree]:
        sensed, command = Sensed(q=q, v=v, forces=force), command_at(self.simulation.command, t)
        if self.compiled is not None:
            return self.compiled(t, sensed, command, memory)
        return controlled(self.model, t, sensed, command, memory)


def controlled(
    model: SimulationModel, t: float, sensed: Sensed, command: Command, memory: PyTree
) -> tuple[JointCommand, PyTree]:
    """Return the command of a simulation's controller, one entry per joint, and its memory after the tick."""
    robot = model.world.robot
    answer, after = model.acting(t, robot, dataclasses.replace(sensed, gravity=model.world.gravity), command, memory)
    return answer.broadcast(robot.nj), after


@dataclasses.dataclass(frozen=True)
class _Order:
    q: ndarray
    v: ndarray
    u: ndarray


def _joint_order(mj: ModuleType, model: MjModel, robot: Robot) -> _Order:
    """Return the indices of our joints in MuJoCo: mapped by name, since files may order them differently."""
    ids = [mj.mj_name2id(model, mj.mjtObj.mjOBJ_JOINT, name) for name in robot.joint_names]
    motors = [mj.mj_name2id(model, mj.mjtObj.mjOBJ_ACTUATOR, f"motor_{name}") for name in robot.joint_names]
    return _Order(model.jnt_qposadr[ids], model.jnt_dofadr[ids], np.array(motors))


def _foot_geoms(mj: ModuleType, model: MjModel, robot: Robot) -> dict[int, int]:
    """Return our foot for each MuJoCo geom."""
    found = {}
    for k, foot in enumerate(robot.feet):
        geom = mj.mj_name2id(model, mj.mjtObj.mjOBJ_GEOM, foot.name)
        if geom < 0:
            raise InputError(f"foot '{foot.name}' has no geom of that name in the MuJoCo model")
        found[geom] = k
    return found


def _foot_forces(mj: ModuleType, model: MjModel, data: MjData, feet: dict[int, int]) -> ndarray:
    """Return the ground's force on every foot in world axes [N]."""
    forces, wrench = np.zeros((len(feet), 3)), np.zeros(6)
    for c in range(data.ncon):
        contact = data.contact[c]
        mj.mj_contactForce(model, data, c, wrench)
        force_W = contact.frame.reshape(3, 3).T @ wrench[:3]  # on geom2
        if contact.geom2 in feet:
            forces[feet[contact.geom2]] += force_W
        elif contact.geom1 in feet:
            forces[feet[contact.geom1]] -= force_W
    return forces


def rotation_of(q: ndarray) -> ndarray:
    return quaternion.to_rotation(q[3:7])


__all__ = ["PAPER_CONTACT", "STIFF_CONTACT", "effective_robot", "mujoco_model", "run_mujoco"]

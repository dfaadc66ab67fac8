"""Subjects of the export to C: functions of a robot, its step, inverse kinematics, contact model, and controllers.

Everything is traced as it runs here; the test beside each C file compares it with plain NumPy.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import DTypeLike

from footfall import compiling
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.joint.joint_pd import iterative_leg_inverse
from footfall.control.named import NAMES as CONTROLLERS
from footfall.dynamics.random_states import random_states
from footfall.errors import InputError, TraceError, unknown
from footfall.export.c_structs import Calling, calling, structures, words_of
from footfall.kinematics.leg_chain import foot_position, leg_chain
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import knee_direction, leg_inverse
from footfall.robot.model.description import Robot
from footfall.sim.block import Block
from footfall.sim.commanding import command_at
from footfall.sim.rollouts import check_controller, check_world
from footfall.sim.runfile import options_of, plan
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, RunState, SimulationModel, physics
from nptrace._types import Foreign, PyTree
from nptrace.codegen.c_emitter import identifier
from nptrace.codegen.c_source import write_c
from nptrace.frontend import tree
from nptrace.ir.program import Program

FUNCTIONS = {
    "kinematics": (
        "body_velocities",
        "center_of_mass",
        "feet_bias_acceleration",
        "feet_jacobian",
        "foot_positions",
        "foot_velocities",
    ),
    "dynamics": (
        "articulated_body",
        "bias_terms",
        "coriolis_matrix",
        "forward_dynamics",
        "gravity_terms",
        "inverse_dynamics",
        "kinetic_energy",
        "mass_matrix",
        "momentum",
        "momentum_matrix",
        "potential_energy",
        "velocity_terms",
    ),
}
LOCOMOTION = "locomotion"  # its whole-body stage
ITERATIVE = ("fabrik", "resolved_rate")  # inverse kinematics that continue from the previous joints
PARTS = ("step", "inverse_kinematics", *ITERATIVE, "contact", "state_rate", "output")
NAMES = (*(name for names in FUNCTIONS.values() for name in names), *PARTS, LOCOMOTION, *CONTROLLERS)
SINGLE = 1e-2  # tolerance of a test of C in float32, relative to the larger of one and the number
PARAMETERS = ("kp", "kd")  # parameters of a controller that its caller sets, unless others are selected
_MOMENTS = (0, 37, 150)  # ticks of a run at which a C file is tested


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A traced function with names for its arrays, and sample inputs and outputs."""

    name: str
    program: Program
    arguments: list[tuple[str, tuple[int, ...]]]
    outputs: list[tuple[str, tuple[int, ...]]]
    samples: ndarray
    expected: ndarray
    tolerance: float
    about: Calling | None = None  # facts for a caller: with them there are structures beside the function

    def write(self, folder: str | Path, dtype: DTypeLike = np.float64) -> list[Path]:
        """Write ``name.h``, ``name.c`` and ``name_test.c``.

        Args:
            folder: Where to write them.
            dtype: Number type of the C code; the test of float32 allows ``SINGLE`` of the expected numbers.

        Returns:
            Paths of the files.
        """
        about, labels = self.about, ([n for n, _ in self.arguments], [n for n, _ in self.outputs])
        return write_c(
            self.program,
            folder,
            self.name,
            arguments=self.arguments,
            outputs=self.outputs,
            samples=self.samples,
            expected=self.expected,
            dtype=dtype,
            tolerance=self.tolerance if np.dtype(dtype) == np.float64 else SINGLE,
            words=words_of([*labels[0], *labels[1]], about) if about else None,
            notes=about.notes if about else "",
            more=(lambda function: structures(function, *labels, about)) if about else None,
        )


def exported(
    name: str,
    function: Callable[..., PyTree],
    constant: Foreign,
    rows: Sequence[Sequence[PyTree]],
    names: Sequence[str],
    result: str = "result",
    tolerance: float = 1e-12,
    about: Calling | None = None,
) -> Exported:
    """Trace a function of a constant and pytrees; ``rows`` are arguments for its samples, ``names`` describe them."""
    program = compiling.program(function, constant, *rows[0])
    answers = [function(constant, *row) for row in rows]
    return Exported(
        name=name,
        program=program,
        arguments=[field for argument, key in zip(rows[0], names) for field in _fields(argument, key)],
        outputs=_fields(answers[0], result),
        samples=np.array([_flat(row) for row in rows]),
        expected=np.array([_flat(answer) for answer in answers]),
        tolerance=tolerance,
        about=about,
    )


def _fields(pytree: PyTree, name: str) -> list[tuple[str, tuple[int, ...]]]:
    return list(zip(tree.labels(pytree, name), (np.shape(leaf) for leaf in tree.flatten(pytree)[0])))


def _flat(pytree: PyTree) -> ndarray:
    leaves = tree.flatten(list(pytree) if isinstance(pytree, Sequence) else pytree)[0]
    return np.concatenate([np.zeros(0), *(np.ravel(np.asarray(leaf, dtype=float)) for leaf in leaves)])


# -- by name -----------------------------------------------------------------------------------------------------------
def exported_named(robot: Robot, name: str, **options: Any) -> Exported:
    """Return what ``footfall export ROBOT NAME`` exports.

    Args:
        robot: The robot.
        name: Name of a function or controller.
        **options: Options of a run, such as a gait.

    Returns:
        Function and test data.
    """
    for package, names in FUNCTIONS.items():
        if name in names:
            return _of_function(robot, package, name)
    if name == "inverse_kinematics":
        return _of_inverse(robot)
    if name in ITERATIVE:
        return _of_iterative(robot, name)
    if name in ("contact", "state_rate", "output"):
        return _of_block(robot, name)
    if name not in NAMES:
        raise unknown("thing to export", name, NAMES)
    simulation = simulation_named(robot, name, **options)
    return of_step(simulation) if name == "step" else of_controller(simulation, name)


def simulation_named(robot: Robot, name: str, **options: Any) -> Simulation:
    """Return the run of ``footfall simulate`` with a controller, or a standing robot for the step alone."""
    controller = {"step": "hold", LOCOMOTION: "whole_body"}.get(name, name)
    return plan(robot, options_of({"robot": robot.name, "controller": controller, **options})).simulation


def _of_function(robot: Robot, package: str, name: str) -> Exported:
    function = getattr(import_module(f"footfall.{package}"), name)
    signature = compiling.compile(function, robot, target="interpret", cache=False).signature
    states = random_states(robot, 4)
    rows = [
        [getattr(states, key)[k][-shapes[0][0] :] for key, shapes in zip(signature.names, signature.shapes)]
        for k in range(len(states))
    ]
    return exported(name, function, robot, rows, signature.names, about=calling(robot))


def _of_inverse(robot: Robot) -> Exported:
    """Export feet, each in the frame of the body that carries its leg, to joints; knees bend as in the stand.

    Joints outside legs, such as a spine's, stay at zero.
    """
    standing = robot.state("stand" if "stand" in robot.poses else None)[0][robot.nq - robot.nj :]
    legs = [leg_geometry(robot, foot.name) for foot in robot.feet]
    knees = [knee_direction(leg, standing[list(leg.joints)]) for leg in legs]

    def inverse(robot: Robot, feet: ndarray) -> dict[str, ndarray]:
        joints, poses = np.zeros(robot.nj), []
        for leg, knee, p in zip(legs, knees, feet):
            poses.append(leg_inverse(robot, leg.name, p, knee))
            joints[list(leg.joints)] = poses[-1].joints
        return {"joints": joints, "reachable": np.stack([1.0 * pose.reachable for pose in poses])}

    at_rest = np.stack([foot_position(leg_chain(robot, leg.name), standing[list(leg.joints)]) for leg in legs])
    rows = [(at_rest + 0.01 * np.random.default_rng(k).normal(size=at_rest.shape),) for k in range(4)]
    return exported("inverse_kinematics", inverse, robot, rows, ["feet"], "", about=calling(robot))


def _of_iterative(robot: Robot, rule: str) -> Exported:
    """Export feet, each in the frame of the body that carries its leg, and the previous joints, to joints; as in the
    controllers' ``--inverse``. Joints outside legs are unchanged.
    """
    standing = robot.state("stand" if "stand" in robot.poses else None)[0][robot.nq - robot.nj :]
    legs = [leg_geometry(robot, foot.name) for foot in robot.feet]
    knees = [knee_direction(leg, standing[list(leg.joints)]) for leg in legs]

    def inverse(robot: Robot, feet: ndarray, joints: ndarray) -> dict[str, ndarray]:
        found, poses = 1.0 * joints, []
        for leg, knee, p in zip(legs, knees, feet):
            start, rest = [joints[j] for j in leg.joints], [float(standing[j]) for j in leg.joints]
            poses.append(iterative_leg_inverse(robot, leg, knee, p, start, 0.0, rule, rest))
            found[list(leg.joints)] = poses[-1].joints
        return {"joints": found, "reachable": np.stack([1.0 * pose.reachable for pose in poses])}

    at_rest = np.stack([foot_position(leg_chain(robot, leg.name), standing[list(leg.joints)]) for leg in legs])
    rows = [(at_rest + 0.01 * np.random.default_rng(k).normal(size=at_rest.shape), standing) for k in range(4)]
    return exported(rule, inverse, robot, rows, ["feet", "joints"], "", 1e-9)


def _of_block(robot: Robot, name: str) -> Exported:
    """Export the contact model, x' = f(x, u) and y = g(x, u), with feet pressed into the ground by up to a
    millimetre.
    """
    block, rng = Block(robot=robot, coordinates="quaternion"), np.random.default_rng(0)
    q, v = robot.state("stand" if "stand" in robot.poses else None)
    states = []
    for depth in (-0.1, 5e-4, 1e-3):
        q_k = q.copy()
        if robot.floating:
            q_k[2] -= depth
        states.append((q_k, v + 0.01 * rng.normal(size=robot.nv)))
    if name == "contact":
        return exported("contact", Block.contact_forces, block, states, ["q", "v"], "forces", 1e-9, calling(robot))
    function = {"state_rate": Block.f, "output": Block.g}[name]
    rows = [(block.state(*state), rng.normal(size=robot.nj)) for state in states]
    return exported(
        name, function, block, rows, ["x", "u"], "rate" if name == "state_rate" else "y", 1e-9, calling(robot)
    )


# -- steps and controllers ---------------------------------------------------------------------------------------------
def of_step(simulation: Simulation) -> Exported:
    """Return one tick of physics for export as C: state, joint command and push on the base to the next state.

    Args:
        simulation: The simulation; it is not advanced.

    Returns:
        Function and test data.
    """
    check_world(simulation.model, simulation.state, Inputs(command_at(simulation.command, 0.0), np.zeros(6)))
    commands = JointCommand(0.1, 0.0, 20.0, 0.5, 0.0).broadcast(simulation.robot.nj)
    rows = [(dataclasses.replace(state, memory=()), commands, np.zeros(6)) for state in _moments(simulation)]
    # "step" is an old symbol of the C library, which a program may not redefine
    about = calling(
        simulation.robot,
        1 / simulation.model.period,
        _labelled(rows[0][0], "state"),
        f"One call is {simulation.model.period:g} s of physics under a joint command; ground: {simulation.ground}.",
    )
    names = ["state", "command", "push"]
    return exported("robot_step", physics, simulation.model.physics, rows, names, "after", 1e-9, about)


def of_controller(simulation: Simulation, name: str, parameters: Sequence[str] | None = None) -> Exported:
    """Return one tick of a simulation's controller for export as C.

    Inputs are time, sensed state, user's command (forward, sideways, turn, height, roll, pitch) and memory; outputs are
    joint commands and memory.

    Args:
        simulation: The simulation; it is not advanced.
        name: Name of the C function.
        parameters: Numbers of the controller that the caller of the C function sets, such as ``kp`` or ``gait.height``;
            unless given, those of ``PARAMETERS`` that the controller has.

    Returns:
        Function and test data.

    Raises:
        InputError: A parameter is unknown, or determines which code runs.
    """
    if not isinstance(simulation, Simulation):
        raise InputError(f"of_controller takes a Simulation(robot, controller), got {type(simulation).__name__}")
    check_traceable(simulation)
    robot, model = simulation.robot, simulation.model
    command = np.array(dataclasses.astuple(command_at(simulation.command, 0.0)))
    numbers = dict(zip(tree.labels(model.acting), tree.flatten(model.acting)[0]))
    chosen = [key for key in PARAMETERS if key in numbers] if parameters is None else list(parameters)
    for key in chosen:
        if key not in numbers:
            raise unknown(f"parameter of {model.acting.name}", key, numbers)
    given = {key: np.asarray(numbers[key], dtype=float) for key in chosen}
    rows = [
        (given, float(s.tick) * model.period, s.q, s.v, s.forces[: robot.nf], command, s.memory)
        for s in _moments(simulation)
    ]
    start = {**_labelled(given, "parameters"), **_labelled(simulation.state.memory, "memory")}
    names = ["parameters", "time", "q", "v", "forces", "command", "memory"]
    about = calling(robot, 1 / model.period, start, f"Controller {model.acting.name}.")
    try:
        return exported(f"{name}_controller", controlled, model, rows, names, "", 1e-9, about)
    except TraceError as error:  # it was traced without parameters
        raise InputError(f"{', '.join(map(repr, chosen))} cannot be given while it runs: {error}") from error


def controlled(
    model: SimulationModel,
    parameters: dict[str, ndarray],
    time: float,
    q: ndarray,
    v: ndarray,
    forces: ndarray,
    command: ndarray,
    memory: PyTree,
) -> dict[str, PyTree]:
    """Run one tick of the controller with some of its numbers given."""
    robot, acting = model.world.robot, model.acting
    if parameters:
        leaves, rebuild = tree.flatten(acting)
        acting = rebuild([parameters.get(key, x) for key, x in zip(tree.labels(acting), leaves)])
    sensed = Sensed(q=q, v=v, forces=forces, gravity=model.world.gravity)
    answer, after = acting(time, robot, sensed, Command(**dict(zip(Command.__dataclass_fields__, command))), memory)
    return {"joint": answer.broadcast(robot.nj), "memory_after": after}


def _labelled(pytree: PyTree, name: str) -> dict[str, ndarray]:
    """Return numbers by their label in a structure."""
    labels = [label.partition(".")[2] or "numbers" for label in tree.labels(pytree, name)]
    fields: list[str] = []
    for label in labels:
        fields.append(identifier(label, fields))
    return {f"{name}.{key}": np.asarray(x, float) for key, x in zip(fields, tree.flatten(pytree)[0])}


def check_traceable(simulation: Simulation) -> None:
    """Raise for a controller that cannot be traced: only controllers that can be compiled here can be exported."""
    acting = simulation.model.acting
    if not acting.info.traceable:
        raise InputError(
            f"controller {acting.name} runs in Python between compiled steps and cannot be exported: one in plain NumPy"
            " without hidden state can, such as pd, gravity, computed_torque or impedance"
        )
    inputs = Inputs(command_at(simulation.command, 0.0), np.zeros(6))
    try:
        check_world(simulation.model, simulation.state, inputs)
        check_controller(simulation.model, simulation.state, inputs)
    except TraceError as error:
        raise InputError(f"controller {acting.name} cannot be exported: {error}") from error


def _moments(simulation: Simulation) -> list[RunState]:
    """Return states of a run, including its start; the run is restored afterwards."""
    states, passed = [], 0
    for tick in _MOMENTS:
        simulation.advance(tick - passed)
        passed = tick
        states.append(simulation.state)
    simulation.reset()
    return states

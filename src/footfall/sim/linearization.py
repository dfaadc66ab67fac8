"""Exact linearisation of the compiled step and of the closed loop.

**A step**: A and B of δx' = A δx + B δu, for one robot or for n at once. δx = (δq, δv) are minimal coordinates, 2 nv of
them: δq is what a velocity integrates to in ``dynamics.coordinates`` (rotation vector of the base and displacement of
its origin, both in base axes; joint angles), δv is added to v. So quaternions stay normalised: the step starts at q ⊕
δq, its result q' is expressed as a deviation from the end of the undisturbed step, and that map is differentiated at
zero. Free bodies come after the robot, each as a base (``whole_state``). Nothing is approximated: the derivative is
that of the simulation program, with the contact set it finds (see ``nptrace.autodiff.derivative`` for kinks).

**A closed loop**: one tick of controller and physics, with respect to everything that it passes to the next. Its state
is larger than the robot's: x = (δq, δv, foot forces, contact memory, controller memory). A is the derivative of all of
it, so that the derivatives of several ticks are a product. A controller's decisions (which foot is in stance, which
bound of a QP is active) are held constant.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy import ndarray

import nptrace
from footfall import compiling
from footfall.checks import whole_number
from footfall.control.interface import JointCommand
from footfall.draw.notebook import Summarised
from footfall.dynamics.coordinates import difference, integrate
from footfall.errors import InputError, TraceError, unknown
from footfall.identity import digest_of
from footfall.sim.joints import ROTOR
from footfall.sim.rollouts import check_controller, compile_tick, ground_inputs
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, RunState, SimulationModel, at_rest, physics, tick
from footfall.sim.world import World
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float
from nptrace.autodiff.written_jacobian import WrittenJacobian
from nptrace.frontend.tree import flatten, labels

# -- a robot and the free bodies beside it as one state ----------------------------------------------------------------
_NQ, _NV = 7, 6  # numbers of a free body


def whole_state(simulation: Simulation) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """Return the state of robot and free objects of a simulation.

    Args:
        simulation: The simulation.

    Returns:
        q and v: the robot's, then position, quaternion and (ω, v) of every object.
    """
    rows = list(simulation.state.objects)
    q = [simulation.q, *(row[:_NQ] for row in rows)]
    return np.concatenate(q), np.concatenate([simulation.v, *(row[_NQ:] for row in rows)])


def sizes(world: World) -> tuple[int, int]:
    """Return (nq, nv) of robot and free bodies together."""
    count = len(world.objects)
    return world.robot.nq + _NQ * count, world.robot.nv + _NV * count


def split_state(world: World, q: ndarray, v: ndarray) -> tuple[ndarray, ndarray, Operand]:
    """Return (q and v of the robot, one row for every free body)."""
    robot, count = world.robot, len(world.objects)
    if not count:
        return q, v, ()
    poses, twists = q[robot.nq :].reshape(count, _NQ), v[robot.nv :].reshape(count, _NV)
    return q[: robot.nq], v[: robot.nv], np.concatenate([poses, twists], axis=1)


def join_state(q: ndarray, v: ndarray, objects: PyTree) -> tuple[ndarray, ndarray]:
    """Return (q, v) of robot and free bodies together: the inverse of ``split_state``."""
    if not len(objects):
        return q, v
    return np.concatenate([q, objects[:, :_NQ].reshape(-1)]), np.concatenate([v, objects[:, _NQ:].reshape(-1)])


def displace(world: World, q: ndarray, change: ndarray) -> ndarray:
    """Return q moved by a deviation: ``integrate`` of the robot and of every free body."""
    robot = world.robot
    moved = [integrate(robot, q[: robot.nq], change[: robot.nv], 1.0)]
    for k, body in enumerate(world.objects):
        at, by = robot.nq + _NQ * k, robot.nv + _NV * k
        moved.append(integrate(body.robot, q[at : at + _NQ], change[by : by + _NV], 1.0))
    return np.concatenate(moved) if len(moved) > 1 else moved[0]


def state_deviation(world: World, q_from: ndarray, q_to: ndarray) -> ndarray:
    """Return the deviation that takes q_from to q_to by ``displace``."""
    robot = world.robot
    found = [difference(robot, q_from[: robot.nq], q_to[: robot.nq])]
    for k, body in enumerate(world.objects):
        at = robot.nq + _NQ * k
        found.append(difference(body.robot, q_from[at : at + _NQ], q_to[at : at + _NQ]))
    return np.concatenate(found) if len(found) > 1 else found[0]


# -- the closed loop ---------------------------------------------------------------------------------------------------
@dataclass(frozen=True, repr=False, kw_only=True)
class LinearisedLoop(Summarised):
    """The linearization x' ≈ f(x, u) + A δx + B δu of some ticks in closed loop; u is the user's command."""

    A: Float[ndarray, "n n"]
    B: Float[ndarray, "n nu"]
    states: tuple[str, ...]  # name of every row
    commands: tuple[str, ...]  # and of every column of B
    q: Float[ndarray, "nq"]  # result of the undisturbed ticks
    v: Float[ndarray, "nv"]

    def __iter__(self) -> Iterator[ndarray]:
        """Give A, then B: ``A, B = ff.linearize(...)``."""
        return iter((self.A, self.B))

    def of_robot(self) -> Float[ndarray, "nd nd"]:
        """Return the derivative of (δq', δv') with respect to (δq, δv), with the controller's memory unchanged."""
        size = 2 * len(self.v)
        return self.A[:size, :size]

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        shapes = [(name, str(getattr(self, name).shape)) for name in ("A", "B")]
        return "x' = A dx + B du of a closed loop", shapes


def linearize_loop(simulation: Simulation, ticks: int = 1) -> LinearisedLoop:
    """Linearize the closed loop of a simulation over its next ticks; it is not advanced.

    Args:
        simulation: The simulation.
        ticks: Number of ticks.

    Returns:
        A and B.
    """
    if not isinstance(simulation, Simulation) or simulation.controller is None:
        raise InputError(f"a closed loop is linearised from a Simulation, got {type(simulation).__name__}")
    ticks = whole_number(ticks, "the number of ticks", 1)
    model, state = simulation.model, simulation.state
    if not model.acting.info.traceable:
        raise InputError(f"controller {model.acting.name} runs in Python: it has no derivative")
    state = replace(state, memory=model.acting.refresh_memory(state.memory))
    if model.world.objects:
        raise InputError("linearization supports only the robot: remove the objects")
    inputs = simulation.inputs_at(float(state.tick))
    advance, derivative = _compiled(model, _Example(state, inputs))
    free = ground_inputs(model)
    values = ({path: model.parameter(path) for path in free},) if free else ()
    A, B = np.eye(_size(model, state)), None
    for _ in range(ticks):
        inputs = simulation.inputs_at(float(state.tick))
        after = advance(state, inputs, *values)
        _, columns = _leaves(inputs.command)
        found = derivative(np.zeros(len(A) + columns), state, inputs, after.q, after.v, *values)
        here, steered = found[:, : len(A)], found[:, len(A) :]
        A, B = here @ A, steered if B is None else here @ B + steered
        state = after
    assert B is not None
    names = tuple(_row_names(model, state))
    return LinearisedLoop(A=A, B=B, states=names, commands=tuple(labels(inputs.command)), q=state.q, v=state.v)


class _Example:
    """A state and inputs of which only the shapes matter: compiled code serves all of the same model."""

    def __init__(self, state: RunState, inputs: Inputs) -> None:
        self.state, self.inputs = state, inputs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Example)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=8)
def _compiled(model: SimulationModel, example: _Example) -> tuple[PyTree, PyTree]:
    state, inputs = example.state, example.inputs
    size, columns = _size(model, state), _leaves(inputs.command)[1]
    try:
        check_controller(model, state, inputs)
        advance = compile_tick(model, state, inputs, free=ground_inputs(model))
        derivative = compiling.jacobian(
            loop_deviation_after,
            model,
            np.zeros(size + columns),
            state,
            inputs,
            state.q,
            state.v,
            wrt="deviation",
            at_zero=True,
            free=ground_inputs(model),
        )
    except TraceError as error:
        raise InputError(f"the closed loop of {model.acting.name} has no derivative: {error}") from error
    return advance, derivative


def loop_deviation_after(
    model: SimulationModel,
    deviation: Float[ndarray, "n"],
    state: RunState,
    inputs: Inputs,
    q_next: Float[ndarray, "nq"],
    v_next: Float[ndarray, "nv"],
) -> Float[ndarray, "m"]:
    """Return the deviation from (q_next, v_next) after a tick from a given deviation, and the memories after it."""
    robot, nv = model.world.robot, model.world.robot.nv
    at = 2 * nv + _leaves(_carried(state))[1]
    forces, contact, memory = _add_change(_carried(state), deviation[2 * nv : at])
    moved = replace(
        state,
        q=integrate(robot, state.q, deviation[:nv], 1.0),
        v=state.v + deviation[nv : 2 * nv],
        forces=forces,
        contact=contact,
        memory=memory,
    )
    after, _ = tick(model, moved, replace(inputs, command=_add_change(inputs.command, deviation[at:])))
    after = replace(after, contact=_decisions_held(after.contact))
    rest = [np.ravel(np.asarray(leaf)) for leaf in flatten(_carried(after))[0]]
    return np.concatenate([difference(robot, q_next, after.q), after.v - v_next, *rest])


def _decisions_held(contact: dict[str, PyTree]) -> dict[str, PyTree]:
    """Return contact memory with zero derivative: stance decisions and warm starts are held constant.

    Rotors behind belts are ordinary states.
    """
    return {key: x if key in ROTOR else nptrace.stop_gradient(x) for key, x in contact.items()}


def _carried(state: RunState) -> tuple[PyTree, ...]:
    """Return everything that one tick passes to the next besides q and v."""
    return state.forces, state.contact, state.memory


def _leaves(tree: PyTree) -> tuple[Sequence[PyTree], int]:
    leaves = flatten(tree)[0]
    return leaves, sum(int(np.size(leaf)) for leaf in leaves)


def _size(model: SimulationModel, state: RunState) -> int:
    return 2 * model.world.robot.nv + _leaves(_carried(state))[1]


def _add_change(tree: PyTree, change: Float[ndarray, "n"]) -> PyTree:
    """Return a pytree with a number added to each of its numbers."""
    leaves, rebuild = flatten(tree)
    out, at = [], 0
    for leaf in leaves:
        size = int(np.size(leaf))
        part = change[at : at + size]
        out.append(leaf + (np.reshape(part, np.shape(leaf)) if np.ndim(leaf) else part[0]))
        at += size
    return rebuild(out)


def _row_names(model: SimulationModel, state: RunState) -> list[str]:
    nv = model.world.robot.nv
    names = [f"dq.{k}" for k in range(nv)] + [f"dv.{k}" for k in range(nv)]
    for label, leaf in zip(labels(_carried(state)), flatten(_carried(state))[0]):
        first, _, rest = label.partition(".")
        word = ("forces", "contact", "memory")[int(first)] + (f".{rest}" if rest else "")
        names += [f"{word}.{k}" for k in range(int(np.size(leaf)))] if np.ndim(leaf) else [word]
    return names


# -- the step ----------------------------------------------------------------------------------------------------------
INPUTS = ("torque", "position", "velocity", "kp", "kd", "push")


@dataclass(frozen=True, repr=False)
class Linearised(Summarised):
    """The linearization x' ≈ f(x, u) + A δx + B δu; with many states, arrays have their axis first."""

    A: Float[ndarray, "*n nd nd"]
    B: Float[ndarray, "*n nd nu"]
    q: Float[ndarray, "*n nq"]  # result of the undisturbed step
    v: Float[ndarray, "*n nv"]

    def __iter__(self) -> Iterator[ndarray]:
        """Give A, then B: ``A, B = ff.linearize(...)``."""
        return iter((self.A, self.B))

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        largest = f"{np.abs(np.linalg.eigvals(self.A)).max():.4g}"
        shapes = [(name, str(getattr(self, name).shape)) for name in ("A", "B")]
        return "x' = A dx + B du", [*shapes, ("largest eigenvalue of A", largest)]


class LinearStep:
    """The compiled step of a world, with its derivatives with respect to the state and to ``by``.

    With contact models that have memory (stance, complementarity), the step of a simulation starts with its present
    contact memory, ``simulation.state.contact``, as its next step does; that of a world starts like a run, with no foot
    in stance.

    Args:
        world: A ``World``, or a ``Simulation`` or ``SimulationModel`` whose world, dt, integrator and steps per tick
            are used.
        dt: Step [s]; 1 ms for a world unless given.
        by: One or more of torque, position, velocity, kp, kd (of the joint command), push, and any parameter of the
            world by its name ("trunk.mass", "LF_knee.damping", "ground.friction"); B has their columns in this order.
        steps: Number of steps of dt for which the command is held, 1 for a world unless given; the derivative is that
            of all of them together.
        exact: Differentiate through all iterations in which a sliding foot's direction was found; without, that
            direction is held constant, which is faster.
        free: Parameters, such as "contact.stiffness", in which worlds that share compiled code may differ
            (``like``).
    """

    def __init__(
        self,
        world: World | Simulation | SimulationModel,
        dt: float | None = None,
        *,
        by: str | Sequence[str] = "torque",
        steps: int | None = None,
        exact: bool = True,
        free: Sequence[str] = (),
    ) -> None:
        self.model, self.exact, self.free = _model(world, dt, steps), exact, tuple(free)
        self.parameters = {path: float(self.model.parameter(path)) for path in self.free}
        self.robot = self.model.world.robot
        self.by = (by,) if isinstance(by, str) else tuple(by)
        for name in self.by:
            if name not in INPUTS and "." not in name:
                near = "choose a parameter such as trunk.mass or ground.friction, or"
                raise unknown("input to differentiate by", name, INPUTS, near)
        if len(set(self.by)) != len(self.by):
            raise InputError(f"an input to differentiate by is named twice: {', '.join(self.by)}")
        self.widths = [_width(self.model, name) for name in self.by]
        self.simulation = world if isinstance(world, Simulation) else None
        memory = self.model.world.contact.start(self.model.world.contacts)
        robot, self.nv = self.robot, sizes(self.model.world)[1]
        starts = np.stack([body.start for body in self.model.world.objects]) if self.model.world.objects else ()
        q, v = join_state(np.array(robot.state()[0], dtype=float), np.zeros(robot.nv), starts)
        command, push = JointCommand().broadcast(robot.nj), np.zeros(6)
        # the derivative of several steps is a product, unless a memory between them has derivatives
        self.factors = 1 if memory else self.model.substeps
        one = replace(self.model, substeps=1) if self.factors > 1 else self.model
        self._step, self._one = (
            compiling.compile(
                step_state, model, q, v, memory, command, push, target="batch", verify=False, free=self.free
            )
            for model in (self.model, one)
        )
        deviation = np.zeros(2 * self.nv + sum(self.widths))
        self.derivative = compiling.jacobian(
            deviation_after,
            one,
            deviation,
            q,
            v,
            memory,
            command,
            push,
            q,
            v,
            wrt="deviation",
            by=self.by,
            at_zero=True,
            free=self.free,
        )

    @property
    def memory(self) -> dict[str, ndarray]:
        """Return the memory of the contact model before the step: the simulation's present memory, or that of a
        run's start.
        """
        world = self.model.world
        start = world.contact.start(world.contacts)
        return start if self.simulation is None else {key: self.simulation.state.contact[key] for key in start}

    def of(self, simulation: Simulation | None) -> LinearStep:
        """Return the step with the contact memory of a simulation, or with its initial memory."""
        other = copy.copy(self)
        other.simulation = simulation
        return other

    def like(self, world: World) -> LinearStep:
        """Return the linearisation for a world that differs only in the ``free`` parameters, without recompiling."""
        other = self.of(None)
        other.model = replace(self.model, world=world)
        other.parameters = {path: float(other.model.parameter(path)) for path in self.free}
        same = replace(other.model, world=world.with_parameters({k: self.parameters[k] for k in self.free}))
        if digest_of(same) != digest_of(self.model):
            raise InputError(f"the new world differs in more than {', '.join(self.free) or 'nothing'}")
        return other

    @property
    def nu(self) -> int:
        """Return the number of columns of B."""
        return sum(self.widths)

    def step(
        self, q: Operand, v: Operand, command: JointCommand | None = None, push: Scalar | None = None
    ) -> tuple[ndarray, ndarray]:
        """Return (q, v) after the step, for one robot or for n."""
        arguments, many = self._arguments(q, v, command, push)
        after = self._step(*arguments, *self.values)
        return after if many else (after[0][0], after[1][0])

    def __call__(
        self,
        q: Operand,
        v: Operand,
        command: JointCommand | None = None,
        push: Scalar | None = None,
        ends: tuple[ndarray, ndarray] | None = None,
    ) -> Linearised:
        """Return A, B and the state after the step; with a robots' axis on any argument, all at once.

        ends: (q, v) after the step if already known, with the robots' axis.
        """
        arguments, many = self.arguments(q, v, command, push, ends if self.factors == 1 else None)
        A, B = self._matrices(arguments)
        for _ in range(1, self.factors):
            arguments = [arguments[0], *arguments[-2:], *arguments[3:-2]]
            arguments += self._one(*arguments[1:], *self.values)
            following, steered = self._matrices(arguments)
            A, B = following @ A, following @ B + steered
        q_next, v_next = arguments[-2:]
        return Linearised(A, B, q_next, v_next) if many else Linearised(A[0], B[0], q_next[0], v_next[0])

    @property
    def values(self) -> list[dict[str, float]]:
        """Return the values of the free parameters."""
        return [self.parameters] if self.free else []

    def _matrices(self, arguments: list[PyTree]) -> tuple[ndarray, ndarray]:
        jacobian, size = self.derivative, 2 * self.nv
        take = jacobian.matrices if self.exact or not isinstance(jacobian, WrittenJacobian) else jacobian.settled
        found = take(*arguments, *self.values)
        return found[:, :, :size], found[:, :, size:]

    def arguments(
        self,
        q: Operand,
        v: Operand,
        command: JointCommand | None = None,
        push: Scalar | None = None,
        ends: tuple[ndarray, ndarray] | None = None,
    ) -> tuple[list[PyTree], bool]:
        """Return (arguments of ``derivative`` with a robots' axis, whether the caller gave one)."""
        given, many = self._arguments(q, v, command, push)
        return [np.zeros(2 * self.nv + self.nu), *given, *(ends or self._one(*given, *self.values))], many

    def _arguments(
        self, q: Scalar, v: Scalar, command: JointCommand | None, push: Scalar | None
    ) -> tuple[list[PyTree], bool]:
        """Return (the arguments with a robots' axis, whether the caller gave one)."""
        robot = self.robot
        command = JointCommand() if command is None else command
        if not isinstance(command, JointCommand):
            raise InputError(f"the command of a linearised step must be a JointCommand, got {type(command).__name__}")
        nq, nv = sizes(self.model.world)
        given = {
            "q": (q, (nq,)),
            "v": (v, (nv,)),
            "push": (np.zeros(6) if push is None else push, (6,)),
            **{key: (getattr(command, key), (robot.nj,)) for key in INPUTS[:-1]},
        }
        arrays = {name: _with_axis(name, value, shape) for name, (value, shape) in given.items()}
        counts = {name: len(array) for name, array in arrays.items() if array.ndim == 2}
        if len(set(counts.values())) > 1:
            raise InputError(f"the number of robots differs: {', '.join(f'{n} of {k}' for k, n in counts.items())}")
        n = next(iter(counts.values()), 1)
        if n == 0:
            raise InputError("there are no robots to linearise: the first axis is 0")
        full = {name: np.broadcast_to(array, (n, array.shape[-1])) for name, array in arrays.items()}
        if robot.floating:
            off = np.abs(np.linalg.norm(full["q"][:, 3:7], axis=1) - 1.0)
            if off.max() > 1e-6:
                raise InputError(f"the quaternion of state {int(off.argmax())} is not of length 1")
        joints = JointCommand(**{key: full[key] for key in INPUTS[:-1]})
        memory = {key: np.broadcast_to(array, (n, *np.shape(array))) for key, array in self.memory.items()}
        return [full["q"], full["v"], memory, joints, full["push"]], bool(counts)


@overload
def linearize(world: Simulation, *, ticks: int = 1) -> LinearisedLoop: ...
@overload
def linearize(
    world: World | Simulation,
    q: Operand,
    v: Operand,
    command: JointCommand | None = None,
    push: Scalar | None = None,
    *,
    dt: float | None = None,
    by: str | Sequence[str] = "torque",
    steps: int | None = None,
) -> Linearised: ...
def linearize(
    world: World | Simulation,
    q: Scalar | None = None,
    v: Scalar | None = None,
    command: JointCommand | None = None,
    push: Scalar | None = None,
    *,
    dt: float | None = None,
    by: str | Sequence[str] = "torque",
    steps: int | None = None,
    ticks: int = 1,
) -> Linearised | LinearisedLoop:
    """Linearize a simulation step at one state, or at n states at once.

    ``linearize(simulation)`` without a state linearizes the closed loop of controller and physics over its next
    ``ticks``, with respect to everything that one tick passes to the next and to the user's command. Compiled code is
    kept between calls.

    Args:
        world: A simulation, or a ``World``.
        q: Configuration, or n of them.
        v: Velocity, or n of them.
        command: Joint command that is held.
        push: Wrench on the base [N m, N].
        dt: Step [s]; the simulation's unless given.
        by: Inputs u: ``torque``, ``position``, ``velocity``, ``kp``, ``kd``, ``push``, or parameters such as
            ``trunk.mass``.
        steps: Steps of dt for which the command is held; those of a tick unless given.
        ticks: Number of ticks, for the closed loop.

    Returns:
        A and B of x⁺ = A x + B u, for n states with a leading axis.
    """
    if q is None and v is None and isinstance(world, Simulation):
        if not (command is None and push is None and dt is None and steps is None and by == "torque"):
            raise InputError(
                "a closed loop has its own command, pushes and dt: linearize(simulation, ticks=1) alone; by= and the"
                " others are for a step at a state: linearize(simulation, simulation.q, simulation.v, command, by=...)"
            )
        return linearize_loop(world, ticks)
    if q is None or v is None:
        raise InputError("a step needs a state, linearize(world, q, v); a closed loop is linearize(simulation)")
    if ticks != 1:
        raise InputError("ticks= is for a closed loop, linearize(simulation, ticks=...): a step takes steps=")
    model = _model(world, dt, steps)
    step = _linear_step(
        model.world, model.integrator, model.dt, model.substeps, (by,) if isinstance(by, str) else tuple(by)
    )
    return step.of(world if isinstance(world, Simulation) else None)(q, v, command, push)


@functools.lru_cache(maxsize=16)
def _linear_step(world: World, integrator: str, dt: float, steps: int, by: tuple[str, ...]) -> LinearStep:
    return LinearStep(SimulationModel(world, None, integrator, dt, steps), by=by)


def step_state(
    model: SimulationModel,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    memory: dict[str, ndarray],
    command: JointCommand,
    push: Float[ndarray, "wrenches"],
) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """Return (q, v) after the steps of a model."""
    q, v, objects = split_state(model.world, q, v)
    state = replace(at_rest(model.world, np.zeros(0), np.zeros(0)), q=q, v=v, contact=memory, objects=objects)
    after = physics(model, state, command, push)
    return join_state(after.q, after.v, after.objects)


def deviation_after(
    model: SimulationModel,
    deviation: ndarray,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    memory: dict[str, ndarray],
    command: JointCommand,
    push: Float[ndarray, "wrenches"],
    q_next: Float[ndarray, "nq"],
    v_next: Float[ndarray, "nv"],
    by: tuple[str, ...] = ("torque",),
) -> Float[ndarray, "nd"]:
    """Return the deviation from (q_next, v_next) after a step from a deviation (δq, δv, δu)."""
    world, nv = model.world, sizes(model.world)[1]
    at = 2 * nv
    for name in by:
        width = _width(model, name)
        change, at = deviation[at : at + width], at + width
        if name not in INPUTS:
            own = np.asarray(model.parameter(name), dtype=float)
            model = model.with_parameters({name: own + change.reshape(own.shape) if own.ndim else own + change[0]})
        elif name == "push":
            push = push + change
        else:
            command = replace(command, **{name: getattr(command, name) + change})
    moved_q, moved_v = displace(world, q, deviation[:nv]), v + deviation[nv : 2 * nv]
    if world.robot.floating:  # most grounds depend on a position only through its height
        moved_q = np.concatenate([nptrace.gradient_bottleneck(moved_q[:3]), moved_q[3:]])
    q_after, v_after = step_state(model, moved_q, moved_v, memory, command, push)
    return np.concatenate([state_deviation(world, q_next, q_after), v_after - v_next])


def _width(model: SimulationModel, name: str) -> int:
    """Return the size of an input, or of a parameter of the world."""
    if name in INPUTS:
        return 6 if name == "push" else model.world.robot.nj
    return int(np.size(model.parameter(name)))


def _model(world: World | Simulation | SimulationModel, dt: float | None, steps: int | None) -> SimulationModel:
    if isinstance(world, Simulation | SimulationModel):
        if dt is not None or steps is not None:
            raise InputError("a simulation has its own dt and steps per tick: for others linearise sim.model.world")
        return world.model.physics if isinstance(world, Simulation) else world
    if not isinstance(world, World):
        raise InputError(f"linearize takes a World or a Simulation, not {type(world).__name__}")
    dt, steps = 1e-3 if dt is None else dt, 1 if steps is None else steps
    if not np.isfinite(dt) or not 1e-7 <= dt <= 0.02:
        raise InputError(f"dt must lie between 1e-7 and 0.02 s, got {dt}")
    steps = whole_number(steps, "the number of steps", 1)
    integrator = "linearly_implicit" if world.contact.implicit else "semi_implicit_euler"
    return SimulationModel(world, None, integrator, float(dt), int(steps))


def _with_axis(name: str, value: Scalar, shape: tuple[int, ...]) -> ndarray:
    """Return a finite array with or without a robots' axis; one number applies to all joints."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers, got {type(value).__name__}") from None
    if array.ndim == 0 and name not in ("q", "v", "push"):
        array = np.full(shape, float(array))
    if array.ndim not in (1, 2) or array.shape[-1:] != shape:
        raise InputError(f"{name} must have shape {shape} or (n, {shape[0]}), got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} has a value that is not finite")
    return array

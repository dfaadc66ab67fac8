"""The closed loop linearised exactly: one tick of controller and physics, by all that it hands to the next.

The state of a loop is more than the robot's: x = (δq, δv, foot forces, contact memory, controller memory), with δq and
δv as in ``linear_step``. A is the derivative of that whole, so that the slopes of several ticks are a product. What a
controller decides (which foot stands, which bound of a program is active) is held as it is decided.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import compiling
from footfall.dynamics.coordinates import difference, integrate
from footfall.errors import InputError, TraceError
from footfall.nests import Nest
from footfall.notebook import Summarised
from footfall.simulate.engine import check_controller, kept_free
from footfall.simulate.simulation import Simulation
from footfall.simulate.tick import Inputs, RunState, SimulationModel, tick
from footfall.trace.face.tree import flatten, labels


@dataclass(frozen=True, repr=False)
class LinearisedLoop(Summarised):
    """x' ≈ f(x, u) + A δx + B δu of some ticks; u is the user's command."""

    A: Float[ndarray, "n n"]
    B: Float[ndarray, "n nu"]
    states: tuple[str, ...]  # a name for every row
    commands: tuple[str, ...]  # and for every column of B
    q: Float[ndarray, "nq"]  # where the undisturbed ticks end
    v: Float[ndarray, "nv"]

    def of_robot(self) -> Float[ndarray, "nd nd"]:
        """(δq', δv') by (δq, δv): the controller's memory is not disturbed."""
        size = 2 * len(self.v)
        return self.A[:size, :size]

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        shapes = [(name, str(getattr(self, name).shape)) for name in ("A", "B")]
        return "x' = A dx + B du of a closed loop", shapes


def linearize_loop(simulation: Simulation, ticks: int = 1) -> LinearisedLoop:
    """A and B of the ticks that a simulation would make next; it stays where it is."""
    if not isinstance(simulation, Simulation) or simulation.controller is None:
        raise InputError(f"a closed loop is that of a Simulation, got {type(simulation).__name__}")
    if isinstance(ticks, bool) or not isinstance(ticks, int | np.integer) or ticks < 1:
        raise InputError(f"the number of ticks must be a whole number of at least 1, got {ticks!r}")
    model, state = simulation.model, simulation.state
    if not model.acting.traceable:
        raise InputError(f"controller {model.acting.name} runs in Python: it has no derivative")
    state = replace(state, memory=model.acting.renewed(state.memory))
    if model.world.objects:
        raise InputError("what is linearised is a robot alone: leave out its objects")
    inputs = simulation.inputs_at(float(state.tick))
    advance, slopes = _compiled(model, _Example(state, inputs))
    free = kept_free(model)
    values = ({path: model.parameter(path) for path in free},) if free else ()
    A, B = np.eye(_size(model, state)), None
    for _ in range(ticks):
        inputs = simulation.inputs_at(float(state.tick))
        after, _ = advance(state, inputs, *values)
        _, columns = _parts(inputs.command)
        found = slopes(np.zeros(len(A) + columns), state, inputs, after.q, after.v, *values)
        here, steered = found[:, : len(A)], found[:, len(A) :]
        A, B = here @ A, steered if B is None else here @ B + steered
        state = after
    assert B is not None
    names = tuple(_names(model, state))
    return LinearisedLoop(A, B, names, tuple(labels(inputs.command)), state.q, state.v)


class _Example:
    """A state and inputs whose shapes alone count: what is compiled for one serves all of the same model."""

    def __init__(self, state: RunState, inputs: Inputs) -> None:
        self.state, self.inputs = state, inputs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Example)

    def __hash__(self) -> int:
        return 0


@functools.lru_cache(maxsize=8)
def _compiled(model: SimulationModel, example: _Example) -> tuple[Nest, Nest]:
    state, inputs = example.state, example.inputs
    size, columns = _size(model, state), _parts(inputs.command)[1]
    try:
        check_controller(model, state, inputs)
        advance = compiling.compile(tick, model, state, inputs, verify=False, free=kept_free(model))
        slopes = compiling.jacobian(
            deviated_loop, model, np.zeros(size + columns), state, inputs, state.q, state.v, wrt="deviation",
            at_zero=True, free=kept_free(model),
        )  # fmt: skip
    except TraceError as error:
        raise InputError(f"the closed loop of {model.acting.name} has no derivative: {error}") from error
    return advance, slopes


def deviated_loop(
    model: SimulationModel, deviation: Float[ndarray, "n"], state: RunState, inputs: Inputs,
    q_next: Float[ndarray, "nq"], v_next: Float[ndarray, "nv"],
) -> Float[ndarray, "m"]:  # fmt: skip
    """What a tick makes of a deviation from its state and its command; of the memories the values themselves."""
    robot, nv = model.world.robot, model.world.robot.nv
    at = 2 * nv + _parts(_kept(state))[1]
    forces, contact, memory = _moved(_kept(state), deviation[2 * nv : at])
    moved = replace(
        state, q=integrate(robot, state.q, deviation[:nv], 1.0), v=state.v + deviation[nv : 2 * nv], forces=forces,
        contact=contact, memory=memory,
    )  # fmt: skip
    after, _ = tick(model, moved, replace(inputs, command=_moved(inputs.command, deviation[at:])))
    rest = [np.ravel(np.asarray(leaf)) for leaf in flatten(_kept(after))[0]]
    return np.concatenate([difference(robot, q_next, after.q), after.v - v_next, *rest])


def _kept(state: RunState) -> tuple[Nest, ...]:
    """What one tick hands to the next beside q and v."""
    return state.forces, state.contact, state.memory


def _parts(nest: Nest) -> tuple[Sequence[Nest], int]:
    leaves = flatten(nest)[0]
    return leaves, sum(int(np.size(leaf)) for leaf in leaves)


def _size(model: SimulationModel, state: RunState) -> int:
    return 2 * model.world.robot.nv + _parts(_kept(state))[1]


def _moved(nest: Nest, change: Float[ndarray, "n"]) -> Nest:
    """A nest with a number added to each of its numbers."""
    leaves, rebuild = flatten(nest)
    out, at = [], 0
    for leaf in leaves:
        size = int(np.size(leaf))
        part = change[at : at + size]
        out.append(leaf + (np.reshape(part, np.shape(leaf)) if np.ndim(leaf) else part[0]))
        at += size
    return rebuild(out)


def _names(model: SimulationModel, state: RunState) -> list[str]:
    nv = model.world.robot.nv
    names = [f"dq.{k}" for k in range(nv)] + [f"dv.{k}" for k in range(nv)]
    for label, leaf in zip(labels(_kept(state)), flatten(_kept(state))[0]):
        first, _, rest = label.partition(".")
        word = ("forces", "contact", "memory")[int(first)] + (f".{rest}" if rest else "")
        names += [f"{word}.{k}" for k in range(int(np.size(leaf)))] if np.ndim(leaf) else [word]
    return names


__all__ = ["LinearisedLoop", "deviated_loop", "linearize_loop"]

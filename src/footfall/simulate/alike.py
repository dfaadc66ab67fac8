"""Which numbers simulations differ in, and whether machine code that has them as inputs computes what NumPy does."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence

import numpy as np

from footfall.errors import FootfallError
from footfall.identity import digest_of
from footfall.nests import Given, Scalar
from footfall.robot.model.description import Robot
from footfall.simulate.engine import CompiledEngine, PythonEngine
from footfall.simulate.simulation import Simulation
from footfall.simulate.tick import Inputs, RunState, SimulationModel, physics, tick

_EQUAL = 1e-9  # relative: rounding, with what a step of stiff contact makes of it


# -- numbers by name ---------------------------------------------------------------------------------------------------
def differing(model: SimulationModel, other: SimulationModel) -> Iterator[str]:
    """The names of numbers that both have and that are not the same in both."""
    robots = model.world.robot is not other.world.robot
    there = set(_numbers(other, robots))
    for path in _numbers(model, robots):
        if path in there:
            a, b = model.parameter(path), other.parameter(path)
            if np.shape(a) == np.shape(b) and _is_number(a) and _is_number(b) and not np.array_equal(a, b):
                yield path


def skeleton(model: SimulationModel, first: SimulationModel, free: Sequence[str]) -> str | None:
    """A digest of all constants but the free ones, which are those of the first; None if a part is a user's own class.

    The robot's poses count: controllers stand in them.
    """
    try:
        model = model.with_parameters({path: first.parameter(path) for path in free})
    except FootfallError:  # it does not even have that number
        return None
    robot, world = model.world.robot, model.world
    rest = [getattr(world, f.name) for f in dataclasses.fields(world) if f.name != "robot"]
    return digest_of((_robot_digest(robot), *rest, model.controller, model.integrator, model.dt, model.substeps))


@functools.lru_cache(maxsize=8)
def _robot_digest(robot: Robot) -> str:
    """It has most of the numbers, and one serves many simulations."""
    return str(digest_of((robot.digest, dict(robot.poses))))


def _numbers(model: SimulationModel, of_robot: bool) -> Iterator[str]:
    """The names of all numbers and arrays of numbers within the constants of a tick, with those of the robot or not."""
    world = model.world
    if of_robot:
        yield from world.robot.parameter_names()
    for name in ("ground", "contact", "joints"):
        yield from _within(getattr(world, name), name)
    if model.controller is not None:
        yield from _within(model.controller, "controller")


def _within(part: Scalar, path: str) -> Iterator[str]:
    if _is_number(part):
        yield path
    elif dataclasses.is_dataclass(part) and not isinstance(part, Robot | type):
        unread = vars(type(part)).get("NOT_IN_DIGEST", ())  # these are numbers of its memory
        for f in dataclasses.fields(part):
            if f.name in vars(part) and f.name not in unread:
                yield from _within(getattr(part, f.name), f"{path}.{f.name}")


def _is_number(value: Given) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


# -- against plain NumPy -----------------------------------------------------------------------------------------------
def agrees(engine: CompiledEngine | PythonEngine, simulation: Simulation) -> bool:
    """Whether one tick from states in motion, feet in the ground, is the one of the readable code."""
    engine = engine.like(simulation.model)
    inputs = simulation.inputs_at(0.0)
    random = np.random.default_rng(5)
    for _ in range(2):
        state = _moved(simulation, random)
        if not _equal(*_both(engine, simulation.model, state, inputs)):
            return False
    return True


def takes_numbers(first: Simulation, other: Simulation, free: Sequence[str]) -> bool:
    """Whether the first with the free numbers of another ticks as that does: a part may keep what it made of its own.

    In plain NumPy, before anything is compiled.
    """
    own = {path: other.model.parameter(path) for path in free}
    state, inputs = _moved(other, np.random.default_rng(6)), other.inputs_at(0.0)
    try:
        here, there = (tick(model, state, inputs)[0] for model in (first.model.with_parameters(own), other.model))
    except FootfallError:
        return False
    return _equal(here, there)


def _equal(here: RunState, there: RunState) -> bool:
    """To rounding."""
    for name in ("q", "v", "motor", "forces"):
        a, b = np.asarray(getattr(here, name)), np.asarray(getattr(there, name))
        if not np.allclose(a, b, rtol=_EQUAL, atol=_EQUAL * max(1.0, float(np.abs(b).max(initial=0.0)))):
            return False
    return True


def _both(
    engine: CompiledEngine | PythonEngine, model: SimulationModel, state: RunState, inputs: Inputs
) -> tuple[RunState, RunState]:
    """A tick by machine code, and by NumPy."""
    if isinstance(engine, CompiledEngine):
        return engine.one_tick(state, inputs), tick(model, state, inputs)[0]
    command, _ = engine.command(state, inputs)
    return engine.moved(state, command, inputs), physics(model, state, command, inputs.push)


def _moved(simulation: Simulation, random: np.random.Generator) -> RunState:
    """The start, feet a little deeper, and moving."""
    robot, state = simulation.robot, simulation.state
    q, v = state.q.copy(), 0.2 * random.normal(size=robot.nv)
    q[robot.nq - robot.nj :] += 0.01 * random.normal(size=robot.nj)
    if robot.floating:
        q[2] -= 1e-4  # as deep as feet that carry it: deeper ones are thrown out so hard that rounding shows
    return dataclasses.replace(state, tick=137.0, q=q, v=v)


__all__ = ["agrees", "differing", "skeleton", "takes_numbers"]

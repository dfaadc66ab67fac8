"""One piece of machine code for many items: the numbers that vary in a study stay its inputs.

Which numbers of a run (of its robot, ground, contact model, joints and controller) an axis changes is found by planning
two items that differ in it alone. Where the axis changes anything else (a step, a kind of ground, a table), or where
the program cannot be traced with that number unknown, its items are compiled apart, as if there were no sharing. What
is shared is first compared with the plain NumPy of a run that was planned with other numbers.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from footfall.errors import FootfallError
from footfall.identity import digest_of
from footfall.robot.model.description import Robot
from footfall.simulate.engine import CompiledEngine, PythonEngine
from footfall.simulate.recorder import Energies
from footfall.simulate.simulation import Simulation
from footfall.simulate.tick import Inputs, RunState, SimulationModel, physics, tick
from footfall.sweep.parameters import planned

Numbers = Mapping[str, Sequence[Any]]  # two values of every number that varies, by the name of its axis
_MOST = 32  # families that are kept in memory
_EQUAL = 1e-9  # relative: rounding, with what a step of stiff contact makes of it


@dataclass(frozen=True)
class Family:
    """Runs that differ in free numbers alone, and the engine of the first."""

    engine: CompiledEngine | PythonEngine
    energies: Energies
    skeleton: str  # digest of the constants with the free numbers at those of the first

    def fits(self, model: SimulationModel) -> bool:
        return _skeleton(_constants(model), _constants(self.engine.model), self.engine.free) == self.skeleton


_families: OrderedDict[str, Family | None] = OrderedDict()
_changes: dict[str, dict[str, tuple[str, ...]]] = {}
_lock = threading.Lock()


def share(simulation: Simulation, parameters: Mapping[str, Any], folder: Path, numbers: Numbers) -> bool:
    """Give a simulation the machine code of its family; False if it has none and is compiled for itself."""
    with _lock:  # workers of a cluster may have several threads
        family = _family_of(parameters, folder, numbers)
    if family is None or not family.fits(simulation.model):
        return False
    simulation.use(family.engine.like(simulation.model), family.energies.like(simulation.model.world))
    return True


def _family_of(parameters: Mapping[str, Any], folder: Path, numbers: Numbers) -> Family | None:
    """The family that was made for the first of its kind, or is made now."""
    study = json.dumps([str(folder), dict(numbers), {n: v for n, v in parameters.items() if n not in numbers}])
    if study not in _changes:
        _changes[study] = _changed(parameters, folder, numbers)
    changes = _changes[study]
    if not changes:
        return None
    key = json.dumps([study, {name: value for name, value in parameters.items() if name not in changes}])
    if key not in _families:
        try:
            _families[key] = _family(parameters, folder, numbers, changes)
        except Exception:  # nothing is shared then; if the run itself is at fault, it will say so
            _families[key] = None
        if len(_families) > _MOST:
            _families.popitem(last=False)
    _families.move_to_end(key)
    return _families[key]


def _changed(parameters: Mapping[str, Any], folder: Path, numbers: Numbers) -> dict[str, tuple[str, ...]]:
    """By axis, the numbers of a run that it changes, perhaps none; without the axes that change anything else."""
    usual = {**parameters, **{name: pair[0] for name, pair in numbers.items()}}
    first, found = _simulation(usual, folder), dict[str, tuple[str, ...]]()
    if first is None:
        return found
    constants = _constants(first.model)
    for name, (_, value) in numbers.items():
        other = _simulation({**usual, name: value}, folder)
        if other is None:
            continue
        changed = tuple(_differing(constants, _constants(other.model)))
        if _skeleton(_constants(other.model), constants, changed) == _skeleton(constants, constants, changed):
            found[name] = changed
    return found


def _family(
    parameters: Mapping[str, Any], folder: Path, numbers: Numbers, changes: Mapping[str, tuple[str, ...]]
) -> Family | None:
    """The family of an item, made with the first values of all numbers it shares; None if nothing can be shared."""
    first = _simulation({**parameters, **{name: numbers[name][0] for name in changes}}, folder)
    if first is None:
        return None
    engine = _engine(first, tuple(dict.fromkeys(path for paths in changes.values() for path in paths)))
    constants = _constants(first.model)
    skeleton = _skeleton(constants, constants, engine.free)
    if skeleton is None:
        return None
    of_robot = set(first.robot.parameter_names())
    energies = Energies(first.model.world, [path for path in engine.free if path in of_robot])
    family = Family(engine, energies, skeleton)
    others = {name: numbers[name][int({*paths} <= {*engine.free})] for name, paths in changes.items()}
    witness = _simulation({**parameters, **others}, folder)
    return family if witness is not None and family.fits(witness.model) and _agrees(family, witness) else None


def _simulation(parameters: Mapping[str, Any], folder: Path) -> Simulation | None:
    """The simulation of an item; None where these numbers do not go together."""
    try:
        return planned(parameters, folder).simulation
    except FootfallError:
        return None


def _constants(model: SimulationModel) -> SimulationModel:
    """What is compiled: without a controller that runs in Python."""
    return model if model.acting.traceable else model.physics


def _engine(simulation: Simulation, free: tuple[str, ...]) -> CompiledEngine | PythonEngine:
    """The engine with as many of the numbers free as can be."""
    kind = CompiledEngine if simulation.model.acting.traceable else PythonEngine
    asked = simulation.model, simulation.state, Inputs(simulation.command_now, np.zeros(6))
    try:
        return kind(*asked, free)
    except Exception:  # a number that decides what is computed, whatever the trace stumbles over
        able = tuple(path for path in free if _traces(kind, asked, path)) if len(free) > 1 else ()
    return kind(*asked, able)


def _traces(kind: Any, asked: tuple[Any, ...], path: str) -> bool:
    try:
        kind(*asked, (path,))
    except Exception:
        return False
    return True


# -- numbers by name ---------------------------------------------------------------------------------------------------
def _numbers(model: SimulationModel) -> Iterator[str]:
    """The names of all numbers and arrays of numbers within the constants of a tick."""
    world = model.world
    yield from world.robot.parameter_names()
    for name in ("ground", "contact", "joints"):
        yield from _within(getattr(world, name), name)
    if model.controller is not None:
        yield from _within(model.controller, "controller")


def _within(part: Any, path: str) -> Iterator[str]:
    if isinstance(part, float) or (isinstance(part, np.ndarray) and part.dtype.kind == "f"):
        yield path
    elif dataclasses.is_dataclass(part) and not isinstance(part, Robot | type):
        for f in dataclasses.fields(part):
            if f.name in vars(part):
                yield from _within(getattr(part, f.name), f"{path}.{f.name}")


def _differing(model: SimulationModel, other: SimulationModel) -> Iterator[str]:
    """The names of numbers that both have and that are not the same in both."""
    there = set(_numbers(other))
    for path in _numbers(model):
        if path in there:
            a, b = model.parameter(path), other.parameter(path)
            if np.shape(a) == np.shape(b) and _is_number(a) and _is_number(b) and not np.array_equal(a, b):
                yield path


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def _skeleton(model: SimulationModel, first: SimulationModel, free: Sequence[str]) -> str | None:
    """A digest of all constants but the free ones; None if a part is a user's own class."""
    try:
        return digest_of(model.with_parameters({path: first.parameter(path) for path in free}))
    except FootfallError:  # it does not even have that number
        return None


# -- against plain NumPy -----------------------------------------------------------------------------------------------
def _agrees(family: Family, simulation: Simulation) -> bool:
    """Whether one tick from states in motion, feet in the ground, is the one of the readable code."""
    engine = family.engine.like(simulation.model)
    inputs = Inputs(simulation.command_now, np.zeros(6))
    random = np.random.default_rng(5)
    for _ in range(2):
        state = _moved(simulation, random)
        if isinstance(engine, CompiledEngine):
            there, _ = tick(simulation.model, state, inputs)
            here, _ = engine.function(state, inputs, *engine.values)
        else:
            command, _ = engine.command(state, inputs)
            there = physics(simulation.model, state, command, inputs.push)
            here = engine.moved(state, command, inputs)
        for name in ("q", "v", "motor", "forces"):
            a, b = np.asarray(getattr(here, name)), np.asarray(getattr(there, name))
            if not np.allclose(a, b, rtol=_EQUAL, atol=_EQUAL * max(1.0, float(np.abs(b).max(initial=0.0)))):
                return False
    return True


def _moved(simulation: Simulation, random: np.random.Generator) -> RunState:
    """The start, feet a little deeper, and moving."""
    robot, state = simulation.robot, simulation.state
    q, v = state.q.copy(), 0.2 * random.normal(size=robot.nv)
    q[robot.nq - robot.nj :] += 0.01 * random.normal(size=robot.nj)
    if robot.floating:
        q[2] -= 1e-4  # as deep as feet that carry it: deeper ones are thrown out so hard that rounding shows
    return dataclasses.replace(state, tick=137.0, q=q, v=v)

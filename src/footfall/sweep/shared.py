"""Shared machine code for many items: the numbers that vary in a study stay its inputs.

The numbers of a run (of its robot, ground, contact model, joints and controller) that an axis changes are found by
planning two items that differ only in it. If the axis changes anything else (a step, a kind of ground, a table), or if
the program cannot be traced with that number unknown, its items are compiled separately, without sharing. Shared code
is first compared with plain NumPy for a run with other numbers.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from footfall.errors import FootfallError
from footfall.sim.recorder import Energies
from footfall.sim.rollouts import Backend, LanesBackend, NativeBackend, PythonBackend, ground_inputs
from footfall.sim.shared_programs import energies_of, parameter_diff, same_result, structure_digest
from footfall.sim.simulation import Simulation
from footfall.sim.tick import SimulationModel
from footfall.sweep.parameters import planned
from nptrace._types import Given

Numbers = Mapping[str, Sequence[Given]]  # two values of every number that varies, by the name of its axis
_MOST = 32  # families kept in memory


@dataclass(frozen=True)
class Family:
    """Runs that differ only in free numbers, and the backend of the first."""

    backend: Backend
    energies: Energies
    structure_digest: str  # digest of the constants, with the free numbers of the first

    def fits(self, model: SimulationModel) -> bool:
        return (
            structure_digest(_constants(model), _constants(self.backend.model), self.backend.free)
            == self.structure_digest
        )


_families: OrderedDict[str, Family | None] = OrderedDict()
_changes: dict[str, dict[str, tuple[str, ...]]] = {}
_lock = threading.Lock()


def share(
    simulation: Simulation, parameters: Mapping[str, Given], folder: Path, numbers: Numbers, lanes: bool = False
) -> bool:
    """Give a simulation the machine code of its family; return False if it has none and is compiled separately.

    lanes: code for many at once (``run_batched``), which is not available to a controller in Python.
    """
    with _lock:  # workers of a cluster may have several threads
        family = _family_of(parameters, folder, numbers, lanes)
    if family is None or not family.fits(simulation.model):
        return False
    simulation.use(family.backend.like(simulation.model), family.energies.like(simulation.model.world))
    return True


def _family_of(parameters: Mapping[str, Given], folder: Path, numbers: Numbers, lanes: bool) -> Family | None:
    """Return the existing family of an item, or create one."""
    study = json.dumps([str(folder), dict(numbers), {n: v for n, v in parameters.items() if n not in numbers}])
    if study not in _changes:
        _changes[study] = _changed(parameters, folder, numbers)
    changes = _changes[study]
    if not changes:
        return None
    key = json.dumps([study, {name: value for name, value in parameters.items() if name not in changes}, lanes])
    if key not in _families:
        try:
            _families[key] = _family(parameters, folder, numbers, changes, lanes)
        except Exception:  # then nothing is shared; errors of the run itself are reported later
            _families[key] = None
        if len(_families) > _MOST:
            _families.popitem(last=False)
    _families.move_to_end(key)
    return _families[key]


def _changed(parameters: Mapping[str, Given], folder: Path, numbers: Numbers) -> dict[str, tuple[str, ...]]:
    """Return for each axis the numbers of a run that it changes, possibly none; axes with other effects are
    excluded.
    """
    usual = {**parameters, **{name: pair[0] for name, pair in numbers.items()}}
    first, found = _simulation(usual, folder), dict[str, tuple[str, ...]]()
    if first is None:
        return found
    constants = _constants(first.model)
    for name, (_, value) in numbers.items():
        other = _simulation({**usual, name: value}, folder)
        if other is None:
            continue
        changed = tuple(parameter_diff(constants, _constants(other.model)))
        own = structure_digest(_constants(other.model), constants, changed)
        if own == structure_digest(constants, constants, changed):
            found[name] = changed
    return found


def _family(
    parameters: Mapping[str, Given], folder: Path, numbers: Numbers, changes: Mapping[str, tuple[str, ...]], lanes: bool
) -> Family | None:
    """Return the family of an item, created with the first values of all shared numbers; None if nothing can be
    shared.
    """
    first = _simulation({**parameters, **{name: numbers[name][0] for name in changes}}, folder)
    if first is None:
        return None
    # these are free in the machine code of single runs as well, which may exist already
    usual = ground_inputs(first.model)
    backend = _backend(first, tuple(dict.fromkeys([*usual, *(p for paths in changes.values() for p in paths)])), lanes)
    constants = _constants(first.model)
    rest = structure_digest(constants, constants, backend.free)
    if rest is None:
        return None
    family = Family(backend, energies_of(first, backend.free), rest)
    others = {name: numbers[name][int({*paths} <= {*backend.free})] for name, paths in changes.items()}
    witness = _simulation({**parameters, **others}, folder)
    return family if witness is not None and family.fits(witness.model) and same_result(backend, witness) else None


def _simulation(parameters: Mapping[str, Given], folder: Path) -> Simulation | None:
    """Return the simulation of an item; None for an invalid combination of numbers."""
    try:
        return planned(parameters, folder).simulation
    except FootfallError:
        return None


def _constants(model: SimulationModel) -> SimulationModel:
    """Return the constants that are compiled, without a controller that runs in Python."""
    return model if model.acting.info.traceable else model.physics


def _backend(simulation: Simulation, free: tuple[str, ...], lanes: bool) -> Backend:
    """Return the backend with as many of the numbers free as possible."""
    compiled = LanesBackend if lanes else NativeBackend
    kind = compiled if simulation.model.acting.info.traceable else PythonBackend
    arguments = simulation.model, simulation.state, simulation.inputs_at(0.0)
    try:
        return kind(*arguments, free)
    except Exception:  # a number that decides what is computed, or any other failure of the trace
        able = tuple(path for path in free if _traces(kind, arguments, path)) if len(free) > 1 else ()
    return kind(*arguments, able)


def _traces(kind: type, arguments: tuple[Given, ...], path: str) -> bool:
    try:
        kind(*arguments, (path,))
    except Exception:
        return False
    return True

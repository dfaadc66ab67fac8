"""One piece of machine code for many items: the numbers that vary in a study stay its inputs.

Which numbers of a run (of its robot, ground, contact model, joints and controller) an axis changes is found by planning
two items that differ in it alone. Where the axis changes anything else (a step, a kind of ground, a table), or where
the program cannot be traced with that number unknown, its items are compiled apart, as if there were no sharing. What
is shared is first compared with the plain NumPy of a run that was planned with other numbers.
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
_MOST = 32  # families that are kept in memory


@dataclass(frozen=True)
class Family:
    """Runs that differ in free numbers alone, and the backend of the first."""

    backend: Backend
    energies: Energies
    structure_digest: str  # digest of the constants with the free numbers at those of the first

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
    """Give a simulation the machine code of its family; False if it has none and is compiled for itself.

    lanes: code for many at once (``run_batched``), which a controller that runs in Python does not have.
    """
    with _lock:  # workers of a cluster may have several threads
        family = _family_of(parameters, folder, numbers, lanes)
    if family is None or not family.fits(simulation.model):
        return False
    simulation.use(family.backend.like(simulation.model), family.energies.like(simulation.model.world))
    return True


def _family_of(parameters: Mapping[str, Given], folder: Path, numbers: Numbers, lanes: bool) -> Family | None:
    """The family that was made for the first of its kind, or is made now."""
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
        except Exception:  # nothing is shared then; if the run itself is at fault, it will say so
            _families[key] = None
        if len(_families) > _MOST:
            _families.popitem(last=False)
    _families.move_to_end(key)
    return _families[key]


def _changed(parameters: Mapping[str, Given], folder: Path, numbers: Numbers) -> dict[str, tuple[str, ...]]:
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
        changed = tuple(parameter_diff(constants, _constants(other.model)))
        own = structure_digest(_constants(other.model), constants, changed)
        if own == structure_digest(constants, constants, changed):
            found[name] = changed
    return found


def _family(
    parameters: Mapping[str, Given], folder: Path, numbers: Numbers, changes: Mapping[str, tuple[str, ...]], lanes: bool
) -> Family | None:
    """The family of an item, made with the first values of all numbers it shares; None if nothing can be shared."""
    first = _simulation({**parameters, **{name: numbers[name][0] for name in changes}}, folder)
    if first is None:
        return None
    usual = ground_inputs(first.model)  # machine code of single runs has these free as well, and may be there already
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
    """The simulation of an item; None where these numbers do not go together."""
    try:
        return planned(parameters, folder).simulation
    except FootfallError:
        return None


def _constants(model: SimulationModel) -> SimulationModel:
    """Return the constants that are compiled: without a controller that runs in Python."""
    return model if model.acting.info.traceable else model.physics


def _backend(simulation: Simulation, free: tuple[str, ...], lanes: bool) -> Backend:
    """Return the backend with as many of the numbers free as can be."""
    compiled = LanesBackend if lanes else NativeBackend
    kind = compiled if simulation.model.acting.info.traceable else PythonBackend
    arguments = simulation.model, simulation.state, simulation.inputs_at(0.0)
    try:
        return kind(*arguments, free)
    except Exception:  # a number that decides what is computed, whatever the trace stumbles over
        able = tuple(path for path in free if _traces(kind, arguments, path)) if len(free) > 1 else ()
    return kind(*arguments, able)


def _traces(kind: type, arguments: tuple[Given, ...], path: str) -> bool:
    try:
        kind(*arguments, (path,))
    except Exception:
        return False
    return True

"""``run_together``: many simulations at once, those that are alike as lanes of one piece of machine code.

    simulations = [ff.Simulation(robot, ff.control.Locomotion(), pushes=[push]) for push in pushes]
    recordings = ff.simulate.run_together(simulations, 3.0)

Alike are simulations of the same robot, kind of ground, contact law and controller that differ in numbers: states,
commands, pushes, and whatever is a number of the robot, the ground, the contact law or the controller. Every recording
is that of ``simulation.run``: bit for bit, or to rounding where numbers differ that are constants of a run by itself.
A simulation that is like hardly any other, or cannot be compiled, runs by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from footfall.errors import InputError
from footfall.nests import Given
from footfall.recording.recording import Recording
from footfall.simulate.alike import agrees, differing, skeleton, takes_numbers
from footfall.simulate.engine import kept_free
from footfall.simulate.lanes_engine import LanesEngine, roll_together
from footfall.simulate.recorder import Energies
from footfall.simulate.running import Running
from footfall.simulate.simulation import Simulation
from footfall.trace.face import tree

_FEWEST = 3  # members of a batch: a vector of two takes longer than two runs one after the other


def run_together(simulations: Sequence[Simulation], duration: float | Sequence[float]) -> list[Recording]:
    """Run each for its duration [s], or all for one; the recordings in the order of the simulations."""
    simulations = _checked(simulations)
    if not isinstance(duration, int | float | Sequence | np.ndarray) or isinstance(duration, str | bytes):
        raise InputError(f"run_together takes a duration [s], or one for each simulation, got {duration!r}")
    durations = [duration] * len(simulations) if isinstance(duration, int | float) else list(duration)
    if len(durations) != len(simulations):
        raise InputError(f"{len(simulations)} simulations have {len(durations)} durations: give one, or one for each")
    share_lanes(simulations)
    found: dict[int, Recording] = {}
    under_way: dict[int, Running] = {}
    for k, (simulation, seconds) in enumerate(zip(simulations, durations)):
        if isinstance(simulation.engine_so_far, LanesEngine):
            under_way[k] = simulation.begin(seconds)
        else:
            found[k] = simulation.run(seconds)
    while under_way:
        _advance(list(under_way.values()))
        for k in [k for k, running in under_way.items() if running.ended]:
            found[k] = under_way.pop(k).finish()
    return [found[k] for k in range(len(simulations))]


def _checked(simulations: Given) -> list[Simulation]:
    """Simulations, each of them once: one that ran in two lanes would be in two states."""
    found = list(simulations) if isinstance(simulations, Iterable) else [simulations]
    if not isinstance(simulations, Iterable) or not all(isinstance(one, Simulation) for one in found):
        raise InputError("run_together takes a list of simulations")
    if len({id(one) for one in found}) < len(found):
        raise InputError("run_together was given a simulation twice: make one for each run")
    return found


def _advance(runs: Sequence[Running]) -> None:
    """A piece of every run: by so many ticks as none of those on the same machine code changes its command in."""
    by_function: dict[int, list[Running]] = {}
    for running in runs:
        by_function.setdefault(id(_engine(running).function), []).append(running)
    for group in by_function.values():
        count = min(running.most() for running in group)
        asked = [(running, running.ask(count)) for running in group]
        starts = {start for _, ask in asked for start, _ in ask.spans}
        for each in {ask.every for _, ask in asked}:
            every = each if not any(start % each for start in starts) else 1  # rows are counted from every start
            some = [(running, replace(ask, every=every)) for running, ask in asked if ask.every == each]
            began = time.perf_counter()
            rolled = roll_together([_engine(running) for running, _ in some], [ask for _, ask in some])
            seconds = (time.perf_counter() - began) / len(some)
            for (running, ask), piece in zip(some, rolled):
                running.take(ask, piece, seconds)


def _engine(running: Running) -> LanesEngine:
    engine = running.simulation.engine
    assert isinstance(engine, LanesEngine)
    return engine


# -- who is like whom --------------------------------------------------------------------------------------------------
@dataclass
class _Family:
    members: list[Simulation]
    free: tuple[str, ...]

    def takes(self, simulation: Simulation) -> bool:
        """Whether it differs from the first in numbers alone, which are then free."""
        first, model = self.members[0].model, simulation.model
        if type(model.controller) is not type(first.controller) or _shapes(simulation) != _shapes(self.members[0]):
            return False
        for found in (lambda: (), lambda: differing(first, model)):  # mostly they are numbers that are free already
            free = tuple(dict.fromkeys([*self.free, *found()]))
            same = skeleton(model, first, free)
            if same is not None and same == skeleton(first, first, free):
                self.free = free
                self.members.append(simulation)
                return True
        return False

    def witnesses(self) -> list[Simulation]:
        """Members of which each free number differs, in one or the other, from the first's.

        Without those that are free in every single run.
        """
        first, found = self.members[0].model, list[Simulation]()
        left = set(self.free) - set(kept_free(first))
        for member in self.members[1:]:
            own = {path for path in left if not np.array_equal(first.parameter(path), member.model.parameter(path))}
            if own:
                found.append(member)
                left -= own
        return found


def share_lanes(simulations: Sequence[Simulation]) -> None:
    """Give simulations that are alike, and have not run yet, one piece of machine code; the others stay as they are."""
    families: list[_Family] = []
    logs: set[int] = set()
    for simulation in simulations:
        own = {id(log) for log in simulation.model.acting.logs}
        if _may_share(simulation) and not own & logs:  # what one controller says of two runs would be mixed up
            logs |= own
            if not any(family.takes(simulation) for family in families):
                families.append(_Family([simulation], kept_free(simulation.model)))
    for family in families:
        if not _compiled(family):
            for smaller in _without_own_numbers(family):
                _compiled(smaller)


def _may_share(simulation: Simulation) -> bool:
    """Whether anybody may compile for it."""
    asked, fresh = simulation.compile_controller, simulation.engine_so_far is None
    return fresh and asked is not False and simulation.model.acting.traceable


def _compiled(family: _Family) -> bool:
    """Whether its members now have machine code; not where a number that is free decides what is computed."""
    first, witnesses = family.members[0], family.witnesses()
    if len(family.members) < _FEWEST or not all(takes_numbers(first, member, family.free) for member in witnesses):
        return False
    try:
        engine = LanesEngine(first.model, first.state, first.inputs_at(0.0), family.free)
        energies = energies_of(first, family.free)
        if not all(agrees(engine, member) for member in witnesses):
            return False
    except Exception:  # whatever the trace stumbles over: each runs by itself, and says so if it is at fault
        return False
    for member in family.members:
        member.use(engine.like(member.model), energies.like(member.model.world))
    return True


def _without_own_numbers(family: _Family) -> list[_Family]:
    """Those of a family that differ in no more than what is free in every single run."""
    first = family.members[0].model
    usual, found = kept_free(first), dict[str | None, _Family]()
    if set(family.free) == set(usual):
        return []
    for member in family.members:
        found.setdefault(skeleton(member.model, first, usual), _Family([], usual)).members.append(member)
    return list(found.values())


def energies_of(simulation: Simulation, free: Sequence[str]) -> Energies:
    """The energies of a simulation's robot, with its free numbers as inputs."""
    of_robot = set(simulation.robot.parameter_names())
    return Energies(simulation.model.world, [path for path in free if path in of_robot])


def _shapes(simulation: Simulation) -> list[tuple[int, ...]]:
    """Of all that differs between runs of one program."""
    leaves, _ = tree.flatten((simulation.state, simulation.inputs_at(0.0)))
    return [np.shape(leaf) for leaf in leaves]


__all__ = ["energies_of", "run_together", "share_lanes"]

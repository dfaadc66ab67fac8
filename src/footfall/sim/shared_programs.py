"""``run_batched``: many simulations at once; similar ones run as lanes of one compiled program.

    simulations = [ff.Simulation(robot, ff.control.Locomotion(), pushes=[push]) for push in pushes]
    recordings = ff.sim.run_batched(simulations, 3.0)

Simulations are similar if they have the same robot, kind of ground, contact model and controller and differ only in
numbers: states, commands, pushes, and numbers of the robot, the ground, the contact model or the controller. Every
recording equals that of ``simulation.run``: bit for bit, or to rounding where numbers differ that are constants of a
separate run. A simulation similar to few others, or that cannot be compiled, runs separately.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from footfall.errors import FootfallError, InputError
from footfall.identity import digest_of
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sim.recorder import Energies
from footfall.sim.rollouts import Backend, LanesBackend, PythonBackend, ground_inputs, rollout_lanes
from footfall.sim.running import Running
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, RunState, SimulationModel, physics, tick
from nptrace._types import Given, Operand
from nptrace.frontend import tree

# -- which numbers simulations differ in -------------------------------------------------------------------------------
_EQUAL = 1e-9  # relative: rounding, amplified by a step of stiff contact


# -- numbers by name ---------------------------------------------------------------------------------------------------
def parameter_diff(model: SimulationModel, other: SimulationModel) -> Iterator[str]:
    """Return the names of numbers that exist in both and differ."""
    robots = model.world.robot is not other.world.robot
    there = set(_numbers(other, robots))
    for path in _numbers(model, robots):
        if path in there:
            a, b = model.parameter(path), other.parameter(path)
            if np.shape(a) == np.shape(b) and _is_number(a) and _is_number(b) and not np.array_equal(a, b):
                yield path


def structure_digest(model: SimulationModel, first: SimulationModel, free: Sequence[str]) -> str | None:
    """Return a digest of all constants except the free ones, whose values are those of the first.

    None if a part is a user-defined class.

    The robot's poses are included: controllers use them.
    """
    try:
        model = model.with_parameters({path: first.parameter(path) for path in free})
    except FootfallError:  # the number does not exist there
        return None
    robot, world = model.world.robot, model.world
    rest = [getattr(world, f.name) for f in dataclasses.fields(world) if f.name != "robot"]
    return digest_of((_robot_digest(robot), *rest, model.controller, model.integrator, model.dt, model.substeps))


@functools.lru_cache(maxsize=8)
def _robot_digest(robot: Robot) -> str:
    """Return the digest of a robot with its poses, cached since one robot serves many simulations."""
    return str(digest_of((robot.digest, dict(robot.poses))))


def _numbers(model: SimulationModel, of_robot: bool) -> Iterator[str]:
    """Yield the names of all numbers within the constants of a tick, with those of the robot or without."""
    world = model.world
    if of_robot:
        yield from world.robot.parameter_names()
    for name in ("ground", "contact", "joints"):
        yield from _within(getattr(world, name), name)
    if model.controller is not None:
        yield from _within(model.controller, "controller")


def _within(part: Operand, path: str) -> Iterator[str]:
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
def same_result(backend: Backend, simulation: Simulation) -> bool:
    """Return whether one tick from states in motion, feet in the ground, agrees with plain NumPy."""
    backend = backend.like(simulation.model)
    inputs = simulation.inputs_at(0.0)
    random = np.random.default_rng(5)
    for _ in range(2):
        state = _moved(simulation, random)
        if not _equal(*_both(backend, simulation.model, state, inputs)):
            return False
    return True


def accepts_parameters(first: Simulation, other: Simulation, free: Sequence[str]) -> bool:
    """Return whether the first simulation, given the free numbers of the other, has the same tick: no hidden constants.

    This is checked in plain NumPy, before anything is compiled.
    """
    own = {path: other.model.parameter(path) for path in free}
    state, inputs = _moved(other, np.random.default_rng(6)), other.inputs_at(0.0)
    try:
        here, there = (tick(model, state, inputs)[0] for model in (first.model.with_parameters(own), other.model))
    except FootfallError:
        return False
    return _equal(here, there)


def _equal(here: RunState, there: RunState) -> bool:
    """Return whether two states are equal to rounding."""
    for name in ("q", "v", "motor", "forces"):
        a, b = np.asarray(getattr(here, name)), np.asarray(getattr(there, name))
        if not np.allclose(a, b, rtol=_EQUAL, atol=_EQUAL * max(1.0, float(np.abs(b).max(initial=0.0)))):
            return False
    return True


def _both(backend: Backend, model: SimulationModel, state: RunState, inputs: Inputs) -> tuple[RunState, RunState]:
    """Return a tick by machine code, and by NumPy; a controller that runs in Python is called once."""
    after, command = backend.tick(state, inputs)
    if isinstance(backend, PythonBackend):
        return after, physics(model, state, command, inputs.push)
    return after, tick(model, state, inputs)[0]


def _moved(simulation: Simulation, random: np.random.Generator) -> RunState:
    """Return the start with feet slightly deeper, and in motion."""
    robot, state = simulation.robot, simulation.state
    q, v = state.q.copy(), 0.2 * random.normal(size=robot.nv)
    q[robot.nq - robot.nj :] += 0.01 * random.normal(size=robot.nj)
    if robot.floating:
        q[2] -= 1e-4  # as deep as feet that carry it: deeper ones are ejected so fast that rounding shows
    return dataclasses.replace(state, tick=137.0, q=q, v=v)


# -- many simulations at once ------------------------------------------------------------------------------------------
_FEWEST = 3  # members of a batch: a vector of two takes longer than two separate runs


def run_batched(simulations: Sequence[Simulation], duration: float | Sequence[float]) -> list[Recording]:
    """Run many simulations at once; similar ones run as lanes of one compiled program.

    Args:
        simulations: Simulations.
        duration: Duration of all, or one for each [s].

    Returns:
        Recordings in the order of the simulations.
    """
    simulations = _checked(simulations)
    if not isinstance(duration, int | float | Sequence | np.ndarray) or isinstance(duration, str | bytes):
        raise InputError(f"run_batched takes a duration [s], or one for each simulation, got {duration!r}")
    durations = [duration] * len(simulations) if isinstance(duration, int | float) else list(duration)
    if len(durations) != len(simulations):
        raise InputError(f"{len(simulations)} simulations have {len(durations)} durations: give one, or one for each")
    share_lanes(simulations)
    found: dict[int, Recording] = {}
    under_way: dict[int, Running] = {}
    for k, (simulation, seconds) in enumerate(zip(simulations, durations)):
        if isinstance(simulation.compiled_backend, LanesBackend):
            under_way[k] = simulation.begin(seconds)
        else:
            found[k] = simulation.run(seconds)
    while under_way:
        _advance(list(under_way.values()))
        for k in [k for k, running in under_way.items() if running.ended]:
            found[k] = under_way.pop(k).finish()
    return [found[k] for k in range(len(simulations))]


def _checked(simulations: Given) -> list[Simulation]:
    """Return the simulations, each of them once: one in two lanes would have two states."""
    found = list(simulations) if isinstance(simulations, Iterable) else [simulations]
    if not isinstance(simulations, Iterable) or not all(isinstance(one, Simulation) for one in found):
        raise InputError("run_batched takes a list of simulations")
    if len({id(one) for one in found}) < len(found):
        raise InputError("run_batched has a simulation twice: create one for each run")
    return found


def _advance(runs: Sequence[Running]) -> None:
    """Advance every run by as many ticks as the commands on shared machine code stay constant."""
    by_function: dict[int, list[Running]] = {}
    for running in runs:
        by_function.setdefault(id(_lanes(running).function), []).append(running)
    for group in by_function.values():
        count = min(running.ticks_ahead() for running in group)
        batches = [(running, running.next_batch(count)) for running in group]
        starts = {start for _, batch in batches for start, _ in batch.spans}
        for each in {batch.every for _, batch in batches}:
            every = each if not any(start % each for start in starts) else 1  # rows are counted from every start
            some = [(running, replace(batch, every=every)) for running, batch in batches if batch.every == each]
            began = time.perf_counter()
            done = rollout_lanes([_lanes(running) for running, _ in some], [batch for _, batch in some])
            seconds = (time.perf_counter() - began) / len(some)
            for (running, _), batch in zip(some, done):
                running.take(batch, seconds)


def _lanes(running: Running) -> LanesBackend:
    backend = running.simulation.backend
    assert isinstance(backend, LanesBackend)
    return backend


# -- who is like whom --------------------------------------------------------------------------------------------------
@dataclass
class _Family:
    members: list[Simulation]
    free: tuple[str, ...]

    def takes(self, simulation: Simulation) -> bool:
        """Return whether it differs from the first only in numbers, which are then free."""
        first, model = self.members[0].model, simulation.model
        if type(model.controller) is not type(first.controller) or _shapes(simulation) != _shapes(self.members[0]):
            return False
        # mostly they are numbers that are already free
        for found in (lambda: (), lambda: parameter_diff(first, model)):
            free = tuple(dict.fromkeys([*self.free, *found()]))
            same = structure_digest(model, first, free)
            if same is not None and same == structure_digest(first, first, free):
                self.free = free
                self.members.append(simulation)
                return True
        return False

    def witnesses(self) -> list[Simulation]:
        """Return members such that each free number differs from the first's in one of them.

        Numbers that are free in every single run are excluded.
        """
        first, found = self.members[0].model, list[Simulation]()
        left = set(self.free) - set(ground_inputs(first))
        for member in self.members[1:]:
            own = {path for path in left if not np.array_equal(first.parameter(path), member.model.parameter(path))}
            if own:
                found.append(member)
                left -= own
        return found


def share_lanes(simulations: Sequence[Simulation]) -> None:
    """Share one piece of machine code between similar simulations that have not run yet; others are unchanged."""
    families: list[_Family] = []
    logs: set[int] = set()
    for simulation in simulations:
        own = {id(log) for log in simulation.model.acting.logs}
        if _may_share(simulation) and not own & logs:  # reports of one controller about two runs would be mixed up
            logs |= own
            if not any(family.takes(simulation) for family in families):
                families.append(_Family([simulation], ground_inputs(simulation.model)))
    for family in families:
        if not _compiled(family):
            for smaller in _without_own_numbers(family):
                _compiled(smaller)


def _may_share(simulation: Simulation) -> bool:
    """Return whether a simulation may be compiled with others."""
    requested, fresh = simulation.compile_controller, simulation.compiled_backend is None
    return fresh and requested is not False and simulation.model.acting.info.traceable


def _compiled(family: _Family) -> bool:
    """Return whether its members now have machine code; not if a free number decides what is computed."""
    first, witnesses = family.members[0], family.witnesses()
    if len(family.members) < _FEWEST or not all(accepts_parameters(first, member, family.free) for member in witnesses):
        return False
    try:
        backend = LanesBackend(first.model, first.state, first.inputs_at(0.0), family.free)
        energies = energies_of(first, family.free)
        if not all(same_result(backend, member) for member in witnesses):
            return False
    except Exception:  # for any failure of the trace, each runs separately, and reports its own errors
        return False
    for member in family.members:
        member.use(backend.like(member.model), energies.like(member.model.world))
    return True


def _without_own_numbers(family: _Family) -> list[_Family]:
    """Return members of a family that differ only in numbers that are free in every single run."""
    first = family.members[0].model
    usual, found = ground_inputs(first), dict[str | None, _Family]()
    if set(family.free) == set(usual):
        return []
    for member in family.members:
        found.setdefault(structure_digest(member.model, first, usual), _Family([], usual)).members.append(member)
    return list(found.values())


def energies_of(simulation: Simulation, free: Sequence[str]) -> Energies:
    """Return the energies of a simulation's robot, with its free numbers as inputs."""
    of_robot = set(simulation.robot.parameter_names())
    return Energies(simulation.model.world, [path for path in free if path in of_robot])


def _shapes(simulation: Simulation) -> list[tuple[int, ...]]:
    """Return the shapes of everything that differs between runs of one program."""
    leaves, _ = tree.flatten((simulation.state, simulation.inputs_at(0.0)))
    return [np.shape(leaf) for leaf in leaves]

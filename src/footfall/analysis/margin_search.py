"""Robustness margins of a controller: the lowest friction, largest payload and longest delay with which it still walks.

    print(ff.margins(robot, ff.control.Locomotion()))

Every margin is the boundary between short runs that pass and runs that fail, found by bisection. A run passes when the
robot does not fall, ends upright at more than ``STANDING`` of its height, and keeps the mean speed of the plain run
within ``SPEED`` (or ``STILL`` for one that stands). Coming closer to the commanded speed is not a failure: feet may
scuff less on lower friction. The controller is not informed of the change: it is given the robot without the payload,
and sees delayed measurements.

The delay lies between sensing and torque, joint loop included: τ = kp (q_d - q) + kd (q̇_d - q̇) + τ_d with every
quantity delayed. A bisection finds one boundary; beyond it, further values may pass by chance.

Runs of a controller that can be compiled are lanes of one batch: the three searches run at once, and each evaluates
speculatively all runs that it may need next, so that the result is the same as with one run after the other.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from numpy import ndarray

from footfall.analysis.delayed_controller import DelayedController
from footfall.checks import checked_number, whole_number
from footfall.contact.ground import Plane
from footfall.control.interface import Command, Controller, as_controller, check_command
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.named import COMMAND_CONTROLLERS
from footfall.errors import FootfallError, InputError, TraceError
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sensing.sensors import Sensors
from footfall.sim.rollouts import Backend, LanesBackend, PythonBackend, check_controller
from footfall.sim.runfile import options_of
from footfall.sim.runfile import plan as plan_run
from footfall.sim.shared_programs import run_batched
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from footfall.sim.tick import Inputs
from nptrace._types import Given

STANDING, SPEED, STILL = 0.6, 0.3, 0.05  # fraction of the height; fraction of the speed; [m/s]
LONGEST = 0.1  # longest delay that is tried [s]
HEAVIEST = 2.0  # largest payload that is tried, in robot masses
_AHEAD = 3  # runs of a search that are evaluated at once: seven, about as many as there are lanes
_DELAYS = (24, 100)  # ticks that a compiled run remembers: one program up to the first number, another beyond
WALKING = 0.3  # speed for a controller that follows commands, unless given [m/s]


@dataclass(frozen=True, kw_only=True)
class Margin:
    """The limit of one parameter: the last value that passed, and the nearest that failed, or None."""

    name: str
    unit: str
    plain: float  # value in the plain run
    passed: float
    failed: float | None
    why: str  # how the run at ``failed`` ended

    def __str__(self) -> str:
        beyond = f"at {self.failed:.3g}: {self.why}" if self.failed is not None else self.why
        return f"{self.name:<9}{self.passed:8.3g} {self.unit:<3} (plain run {self.plain:.3g}; {beyond})"


def _margin(name: str, unit: str, plain: float, edge: Edge, scale: float = 1.0) -> Margin:
    passed, failed, why = edge
    failed = None if failed is None else scale * failed
    return Margin(name=name, unit=unit, plain=plain, passed=scale * passed, failed=failed, why=why)


@dataclass(frozen=True, kw_only=True)
class Margins:
    """Robustness margins: lowest friction, largest payload [kg], longest delay [s]."""

    robot: str
    controller: str
    speed: float  # speed of the plain run [m/s]
    criterion: str
    seed: int
    runs: int
    friction: Margin
    payload: Margin
    delay: Margin

    def __str__(self) -> str:
        head = f"margins of {self.controller} on {self.robot} at {self.speed:.2f} m/s ({self.runs} runs)"
        return "\n".join([head, *(f"  {m}" for m in (self.friction, self.payload, self.delay)), f"  {self.criterion}"])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{m.name}</td><td>{m.passed:.3g} {m.unit}</td><td>{m.plain:.3g}</td><td>{escape(m.why)}</td></tr>"
            for m in (self.friction, self.payload, self.delay)
        )
        head = "<tr><th>margin</th><th>still walks</th><th>plain run</th><th>beyond</th></tr>"
        title = f"{self.controller} on {self.robot}, {self.speed:.2f} m/s; {self.criterion}"
        return f"<table><caption>{escape(title)}</caption>{head}{rows}</table>"


def margins(
    robot: Robot,
    controller: Controller | str,
    *,
    command: Command | None = None,
    duration: float = 3.0,
    settle: float = 1.0,
    halvings: int = 5,
    friction: float = 0.8,
    sensors: Sensors | None = None,
    seed: int = 0,
) -> Margins:
    """Find by bisection the lowest friction, largest payload and longest delay with which a controller walks.

    Args:
        robot: The robot.
        controller: A controller, or its name on the command line.
        command: Velocity command; 0.3 m/s forward for controllers that follow one, unless given.
        duration: Duration of each run [s].
        settle: Speeds are means after this time [s].
        halvings: Number of bisections of each interval; the delay is found to a tick.
        friction: Coefficient of friction of the nominal run.
        sensors: Sensors in every run.
        seed: Seed of the runs.

    Returns:
        The three margins, with the run that failed beside each.
    """
    controller, command, start = _made(robot, controller, command)
    for key, value in (("duration", duration), ("settle", settle)):
        checked_number(value, f"{key} of margins", 0.0, above=True)
    if not settle < duration:
        raise InputError(f"margins need a duration beyond the {settle:g} s of settling, got {duration:g} s")
    whole_number(halvings, "halvings of margins", 1, 20)
    checked_number(friction, "friction of the plain run", 0.0, above=True)
    trials = _Trials(
        robot,
        controller,
        command=command,
        start=start,
        duration=duration,
        settle=settle,
        friction=friction,
        sensors=sensors,
        seed=seed,
    )
    mass, weight = robot.parameter(trials.base), robot.mass

    def slippery(ask: Trial) -> Edge:
        return _between(ask, friction, 0.0, halvings, trials.failure_at_nothing)

    def heavy(ask: Trial) -> Edge:
        return _beyond(ask, weight / 4.0, HEAVIEST * weight, halvings)

    def late(ask: Trial) -> Edge:
        return _beyond(ask, 1.0, np.floor(LONGEST * controller.rate), 20, whole=True)

    edges = _found_at_once(
        trials,
        [
            (slippery, lambda value: _Trial((("ground.friction", value),))),
            (heavy, lambda value: _Trial(((trials.base, mass + value),))),
            (late, lambda value: _Trial(ticks=round(value))),
        ],
    )
    tick = 1.0 / controller.rate
    return Margins(
        robot=robot.name,
        controller=_name(controller),
        speed=trials.speed,
        criterion=trials.criterion,
        seed=seed,
        runs=trials.count,
        friction=_margin("friction", "", friction, edges[0]),
        payload=_margin("payload", "kg", 0.0, edges[1]),
        delay=_margin("delay", "ms", 0.0, edges[2], scale=1e3 * tick),
    )


def _made(robot: Robot, controller: Given, command: Given) -> tuple[Controller, Command, tuple[ndarray, ndarray]]:
    if not isinstance(robot, Robot):
        raise InputError(f"margins need a Robot, got {type(robot).__name__}")
    if not robot.floating:
        raise InputError(f"margins need a robot that walks: '{robot.name}' has a fixed base")
    if command is not None:
        check_command(command)
    if isinstance(controller, str):
        planned = plan_run(robot, options_of({"robot": robot.name, "controller": controller}))
        simulation = planned.simulation
        now = simulation.command_now
        chosen = replace(now, forward=WALKING) if controller in COMMAND_CONTROLLERS else now
        assert simulation.controller is not None
        return simulation.controller, command or chosen, (simulation.q, simulation.v)
    controller = as_controller(controller, "margins need a controller or its name: ")
    command = command or Command(forward=WALKING if controller.info.follows_command else 0.0)
    return controller, command, standing_start(robot, controller, Plane(), command)


@dataclass(frozen=True)
class _Trial:
    """The changes to one run."""

    changed: tuple[tuple[str, float], ...] = ()  # numbers by name
    ticks: int = 0  # ticks of delay


class _Trials:
    """Runs of one robot and controller, compiled once, with friction, the base's mass and the delay free."""

    def __init__(
        self,
        robot: Robot,
        controller: Controller,
        *,
        command: Command,
        start: tuple[ndarray, ndarray],
        duration: float,
        settle: float,
        friction: float,
        sensors: Sensors | None,
        seed: int,
    ) -> None:
        self.robot, self.controller, self.command, self.start = robot, controller, command, start
        self.duration, self.settle, self.sensors, self.seed = duration, settle, sensors, seed
        self.ground, self.speed = Plane(friction), np.nan
        self.base = f"{robot.trunk}.mass"
        self.usual = {"ground.friction": friction, self.base: robot.parameter(self.base)}
        self.backends: dict[int, Backend] = {}
        self.known: dict[_Trial, str | None] = {}
        why = self.run([_Trial()])[0]
        if why is not None:
            raise FootfallError(f"{_name(controller)} has no margins on '{robot.name}': in its plain run {why}")
        low, high = _speeds(self.speed, command)
        self.criterion = f"passes: no fall, speed from {low:.2f} to {high:.2f} m/s, over {duration:g} s"

    @property
    def count(self) -> int:
        """Return the number of runs so far."""
        return len(self.known)

    @property
    def ahead(self) -> int:
        """Return how many runs of a search are evaluated at once."""
        return _AHEAD if any(isinstance(backend, LanesBackend) for backend in self.backends.values()) else 1

    def run(self, trials: Sequence[_Trial]) -> list[str | None]:
        """Return None for each run that passes, or why it failed; the first run sets the reference speed."""
        new = [trial for trial in dict.fromkeys(trials) if trial not in self.known]
        simulations = [self._simulation(trial) for trial in new]
        heights = [float(simulation.q[2]) for simulation in simulations]
        for trial, simulation, height, recording in zip(
            new, simulations, heights, run_batched(simulations, self.duration)
        ):
            self.known[trial] = self._verdict(simulation, height, recording)
        return [self.known[trial] for trial in trials]

    def _simulation(self, trial: _Trial) -> Simulation:
        most = next(most for most in (*_DELAYS, trial.ticks) if trial.ticks <= most)
        delayed = DelayedController(copy.deepcopy(self.controller), self.robot, trial.ticks, most)
        simulation = Simulation(
            self.robot,
            delayed,
            ground=self.ground,
            start=self.start,
            command=self.command,
            seed=self.seed,
            sensors=self.sensors,
            record_rate=self.controller.rate / 10.0,
        )
        if most not in self.backends:
            self.backends[most] = self._backend(simulation)
        simulation.use(self.backends[most].like(simulation.model, {**self.usual, **dict(trial.changed)}))
        return simulation

    def _backend(self, simulation: Simulation) -> Backend:
        """Return a backend on lanes; in Python where the controller cannot be compiled."""
        requested = simulation.model, simulation.state, Inputs(self.command, np.zeros(6))
        if simulation.model.acting.info.traceable:
            with contextlib.suppress(TraceError):
                closures = check_controller(*requested)
                backend = LanesBackend(*requested, list(self.usual))
                backend.closures = closures
                return backend
        return PythonBackend(*requested, list(self.usual))

    def _verdict(self, simulation: Simulation, height: float, recording: Recording) -> str | None:
        if simulation.stopped is not None:
            return simulation.stopped.message
        if simulation.q[2] < STANDING * height:
            return "the robot lies on the ground"
        speed = float(recording.mean_velocity(after=self.settle)[0])
        if np.isnan(self.speed):
            self.speed = speed
        low, high = _speeds(self.speed, self.command)
        if not low <= speed <= high:
            return f"its speed is {speed:.2f} m/s"
        return None

    failure_at_nothing = "it walks without friction"


def _name(controller: Controller) -> str:
    kind = type(controller).__name__
    return f"{kind} ({controller.stage})" if isinstance(controller, Locomotion) else kind


def _speeds(plain: float, command: Command) -> tuple[float, float]:
    """Return (lowest, highest) mean speed of a passing run [m/s], for the speeds of the plain run and command."""
    off = max(SPEED * abs(plain), STILL)
    straight = command.forward != 0.0 and command.turn == 0.0 and command.sideways == 0.0
    requested = command.forward if straight else plain
    return min(plain, requested) - off, max(plain, requested) + off


# -- edges -----------------------------------------------------------------------------------------------------------
Edge = tuple[float, float | None, str]
Trial = Callable[[float], str | None]
Search = tuple[Callable[[Trial], Edge], Callable[[float], _Trial]]  # indexed by values, and the run for a value


class _Unknown(Exception):
    """A run that is needed and not yet evaluated."""


def _found_at_once(trials: _Trials, searches: Sequence[Search]) -> list[Edge]:
    """Return the boundaries of several searches whose next runs are evaluated together."""
    while True:
        requested = {
            trial for search, of in searches for trial in _next_questions(search, of, trials.known, trials.ahead)
        }
        if not requested:
            return [search(lambda value, of=of: trials.known[of(value)]) for search, of in searches]  # type: ignore
        trials.run(sorted(requested, key=repr))


def _next_questions(
    search: Callable[[Trial], Edge], of: Callable[[float], _Trial], known: Mapping[_Trial, str | None], ahead: int
) -> set[_Trial]:
    """Return the next runs of a search, and those it may need after them; none once it has finished."""

    def ask(value: float) -> str | None:
        if of(value) not in known:
            raise _Unknown(of(value))
        return known[of(value)]

    if ahead < 1:
        return set()
    try:
        search(ask)
    except _Unknown as unknown:
        trial: _Trial = unknown.args[0]
        answers = (None, "it fails")
        later = (_next_questions(search, of, {**known, trial: answer}, ahead - 1) for answer in answers)
        return {trial}.union(*later)
    return set()


def _between(run: Trial, good: float, bad: float, halvings: int, if_none: str) -> Edge:
    """Return (last value that passed, nearest that failed, why), from a passing value towards one that may fail."""
    why = run(bad)
    if why is None:
        return bad, None, if_none
    for _ in range(halvings):
        middle = 0.5 * (good + bad)
        found = run(middle)
        if found is None:
            good = middle
        else:
            bad, why = middle, found
    return good, bad, why


def _beyond(run: Trial, first: float, most: float, halvings: int, whole: bool = False) -> Edge:
    """Search upwards from zero, by doubling and then bisection; ``whole`` restricts it to integers."""
    good, value = 0.0, first
    while True:
        why = run(value)
        if why is not None:
            break
        good = value
        if value >= most:
            return good, None, "larger values were not tried"
        value = min(2.0 * value, most)
    bad = value
    for _ in range(halvings):
        if whole and bad - good < 1.5:
            break
        middle = np.floor(0.5 * (good + bad)) if whole else 0.5 * (good + bad)
        found = run(middle)
        if found is None:
            good = middle
        else:
            bad, why = middle, found
    return float(good), float(bad), why


__all__ = ["DelayedController", "Margin", "Margins", "margins"]

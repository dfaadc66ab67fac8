"""Margins of a controller: how little friction, how much payload and how long a delay it still walks with.

    print(ff.margins(robot, ff.control.Locomotion()))

Every margin is the edge between a short run that passes and one that does not, found by bisection. A run passes when
the robot does not fall, ends upright at more than ``STANDING`` of its height, and keeps the mean speed of the plain run
within ``SPEED`` (or ``STILL`` for one that stands). To come nearer to the commanded speed is no failure: feet may scuff
less on less friction. The controller knows nothing of what was changed: it is told of the robot without the
payload, and sees the robot as it was when the delay began.

The delay lies between sensing and torque, joint loop included: τ = kp (q_d - q) + kd (q̇_d - q̇) + τ_d with all of it as
old as the delay. A bisection finds one edge; beyond it there may be further values that pass by luck.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.checks import checked_number
from footfall.contact.ground import Plane
from footfall.control.fixed_model import FixedModel
from footfall.control.interface import (
    Command,
    Controller,
    Inertial,
    JointCommand,
    Sensed,
    as_controller,
    check_command,
)
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.named import ON_COMMAND
from footfall.errors import FootfallError, InputError
from footfall.hardware.sensors import Sensors
from footfall.robot.model.description import Robot
from footfall.simulate.engine import PythonEngine
from footfall.simulate.runfile import options_of
from footfall.simulate.runfile import plan as plan_run
from footfall.simulate.simulation import Simulation
from footfall.simulate.standing import standing_start
from footfall.simulate.tick import Inputs

STANDING, SPEED, STILL = 0.6, 0.3, 0.05  # of the height; of the speed; [m/s]
LONGEST = 0.1  # delay that is tried [s]
HEAVIEST = 2.0  # payload that is tried, in robot masses
WALKING = 0.3  # of a controller on command that is told nothing else [m/s]


@dataclass(frozen=True)
class Margin:
    """An edge: ``passed`` is the last value that passed, ``failed`` the nearest that did not (None: none did)."""

    name: str
    unit: str
    plain: float  # value of the run without a change
    passed: float
    failed: float | None
    why: str  # how the run at ``failed`` ended

    def __str__(self) -> str:
        beyond = f"at {self.failed:.3g}: {self.why}" if self.failed is not None else self.why
        return f"{self.name:<9}{self.passed:8.3g} {self.unit:<3} (plain run {self.plain:.3g}; {beyond})"


@dataclass(frozen=True)
class Margins:
    """What ``margins`` found: smallest friction, largest payload [kg], longest delay [s]."""

    robot: str
    controller: str
    speed: float  # of the plain run [m/s]
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
    """Friction, payload and delay margins of a controller, or of one by its name on the command line.

    command: 0.3 m/s forward for controllers on command, nothing for others, unless given. Runs last ``duration`` [s],
    speeds are means after ``settle`` [s]. halvings: of every interval; the delay is found to a tick. friction: of the
    plain run. sensors: between robot and controller in every run. seed: of the runs.
    """
    controller, command, start = _made(robot, controller, command)
    for key, value in (("duration", duration), ("settle", settle)):
        checked_number(value, f"{key} of margins", 0.0, above=True)
    if not settle < duration:
        raise InputError(f"margins need a duration beyond the {settle:g} s of settling, got {duration:g} s")
    if isinstance(halvings, bool) or not isinstance(halvings, int) or not 1 <= halvings <= 20:
        raise InputError(f"halvings of margins must be a whole number from 1 to 20, got {halvings!r}")
    checked_number(friction, "friction of the plain run", 0.0, above=True)
    trials = _Trials(robot, controller, command, start, duration, settle, friction, sensors, seed)
    base = f"{robot.trunk}.mass"
    mass, weight = robot.parameter(base), robot.mass

    def with_friction(value: float) -> str | None:
        return trials.run({"ground.friction": value})

    def with_payload(value: float) -> str | None:
        return trials.run({base: mass + value})

    def with_delay(ticks: float) -> str | None:
        return trials.run({}, round(ticks))

    slippery = _between(with_friction, friction, 0.0, halvings, trials.failure_at_nothing)
    heavy = _beyond(with_payload, weight / 4.0, HEAVIEST * weight, halvings)
    late = _beyond(with_delay, 1.0, np.floor(LONGEST * controller.rate), 20, whole=True)
    tick = 1.0 / controller.rate
    return Margins(
        robot.name, _name(controller), trials.speed, trials.criterion, seed, trials.count,
        Margin("friction", "", friction, *slippery), Margin("payload", "kg", 0.0, *heavy),
        Margin("delay", "ms", 0.0, 1e3 * tick * late[0], None if late[1] is None else 1e3 * tick * late[1], late[2]),
    )  # fmt: skip


def _made(robot: Robot, controller: Any, command: Any) -> tuple[Controller, Command, tuple[ndarray, ndarray]]:
    if not isinstance(robot, Robot):
        raise InputError(f"margins need a Robot, got {type(robot).__name__}")
    if not robot.floating:
        raise InputError(f"margins are those of a robot that walks: '{robot.name}' has a fixed base")
    if command is not None:
        check_command(command)
    if isinstance(controller, str):
        planned = plan_run(robot, options_of({"robot": robot.name, "controller": controller}))
        simulation = planned.simulation
        now = simulation.command_now
        chosen = replace(now, forward=WALKING) if controller in ON_COMMAND else now
        assert simulation.controller is not None
        return simulation.controller, command or chosen, (simulation.q, simulation.v)
    controller = as_controller(controller, "margins need a controller or its name: ")
    command = command or Command(forward=WALKING if controller.follows_command else 0.0)
    return controller, command, standing_start(robot, controller, Plane(), command)


class _Trials:
    """Runs of one robot and controller; the physics is compiled once, with friction and the base's mass free."""

    def __init__(
        self, robot: Robot, controller: Controller, command: Command, start: tuple[ndarray, ndarray], duration: float,
        settle: float, friction: float, sensors: Sensors | None, seed: int,
    ) -> None:  # fmt: skip
        self.robot, self.controller, self.command, self.start = robot, controller, command, start
        self.duration, self.settle, self.sensors, self.seed, self.count = duration, settle, sensors, seed, 0
        self.ground, self.speed = Plane(friction), np.nan
        self.engine: PythonEngine | None = None
        self.base = f"{robot.trunk}.mass"
        self.usual = {"ground.friction": friction, self.base: robot.parameter(self.base)}
        why = self.run({})
        if why is not None:
            raise FootfallError(f"{_name(controller)} has no margins on '{robot.name}': in its plain run {why}")
        low, high = _speeds(self.speed, command)
        self.criterion = f"passes: no fall, speed from {low:.2f} to {high:.2f} m/s, over {duration:g} s"

    def run(self, changed: dict[str, float], ticks: int = 0) -> str | None:
        """None if it passes, or what went wrong in words; the first run sets the speed to keep."""
        self.count += 1
        delayed = DelayedController(self.controller, self.robot, ticks)
        simulation = Simulation(
            self.robot, delayed, ground=self.ground, start=self.start, command=self.command, seed=self.seed,
            sensors=self.sensors, compile_controller=False, record_rate=self.controller.rate / 10.0,
        )  # fmt: skip
        if self.engine is None:
            inputs = Inputs(self.command, np.zeros(6))
            self.engine = PythonEngine(simulation.model, simulation.state, inputs, list(self.usual))
        simulation.use(self.engine.like(simulation.model, {**self.usual, **changed}))
        height = float(simulation.q[2])
        recording = simulation.run(self.duration)
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

    failure_at_nothing = "it walks on ice"


@dataclass(frozen=True, eq=False)
class DelayedController(FixedModel):
    """A controller that plans with a robot, and whose loop is ``ticks`` late."""

    ticks: int = 0

    def start(self, robot: Robot) -> dict[str, Any]:
        size = robot.nq + robot.nv + 3 * robot.nf + 6
        return {"inner": self.inner.start(self.robot), "seen": np.zeros((self.ticks + 1, size)), "count": 0.0}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, Any]
    ) -> tuple[JointCommand, dict[str, Any]]:
        if self.ticks == 0:
            asked, inner = self.inner(t, self.robot, sensed, command, memory["inner"])
            return asked, {**memory, "inner": inner}
        now = _row(robot, sensed)
        before = np.where(memory["count"] < 0.5, now, memory["seen"])
        seen = np.concatenate([now[None], before[:-1]])
        old = replace(_sensed(robot, seen[-1], sensed.imu is not None), gravity=sensed.gravity)
        asked, inner = self.inner(t, self.robot, old, command, memory["inner"])
        asked = asked.spread(robot.nj)
        q, rates = old.q[robot.nq - robot.nj :], old.v[robot.nv - robot.nj :]
        torque = asked.kp * (asked.position - q) + asked.kd * (asked.velocity - rates) + asked.torque
        return JointCommand(torque=torque), {"inner": inner, "seen": seen, "count": memory["count"] + 1.0}


def _row(robot: Robot, sensed: Sensed) -> Float[ndarray, "n"]:
    imu = np.zeros(6) if sensed.imu is None else np.concatenate([sensed.imu.acceleration, sensed.imu.gyro])
    return np.concatenate([sensed.q, sensed.v, np.reshape(sensed.forces, (3 * robot.nf,)), imu])


def _sensed(robot: Robot, row: Float[ndarray, "n"], imu: bool) -> Sensed:
    a, b = robot.nq, robot.nq + robot.nv
    forces, rest = np.reshape(row[b : b + 3 * robot.nf], (robot.nf, 3)), row[b + 3 * robot.nf :]
    return Sensed(row[:a], row[a:b], forces, Inertial(rest[:3], rest[3:]) if imu else None)


def _name(controller: Controller) -> str:
    kind = type(controller).__name__
    return f"{kind} ({controller.stage})" if isinstance(controller, Locomotion) else kind


def _speeds(plain: float, command: Command) -> tuple[float, float]:
    """(least, greatest) mean speed of a run that passes [m/s], for that of the plain run and what was commanded."""
    off = max(SPEED * abs(plain), STILL)
    straight = command.forward != 0.0 and command.turn == 0.0 and command.sideways == 0.0
    asked = command.forward if straight else plain
    return min(plain, asked) - off, max(plain, asked) + off


# -- edges -----------------------------------------------------------------------------------------------------------
Edge = tuple[float, float | None, str]
Trial = Callable[[float], str | None]


def _between(run: Trial, good: float, bad: float, halvings: int, if_none: str) -> Edge:
    """(last value that passed, nearest that failed, why) from one that passes towards one that may not."""
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
    """The same upwards from nothing, by doubling and then halving; ``whole`` keeps to whole numbers."""
    good, value = 0.0, first
    while True:
        why = run(value)
        if why is not None:
            break
        good = value
        if value >= most:
            return good, None, "no more was tried"
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

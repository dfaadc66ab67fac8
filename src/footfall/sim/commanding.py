"""Commands that change over time: a function of time, or a schedule; and the command that a controller follows.

    ff.Simulation(robot, walker, command=lambda t: ff.Command(forward=0.2 * t))
    ff.Simulation(robot, walker, command=Schedule.parse("0: forward=0.3; 4: forward=0.3, turn=0.5"))

A command holds for a whole tick of the controller: that of the tick's start.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from footfall.control.interface import Command, Controller, check_command
from footfall.errors import InputError, callers_level, finite, unknown
from footfall.robot.model.description import Robot
from nptrace._types import Given

KEYS = tuple(f.name for f in fields(Command))
UNITS = {"forward": "m/s", "sideways": "m/s", "turn": "rad/s", "height": "m", "roll": "rad", "pitch": "rad"}
_ENTRY = re.compile(r"\s*([^:;]+):([^:;]*)")


@dataclass(frozen=True)
class Schedule:
    """Commands with the time [s] from which each applies; ``Command()`` before the first."""

    entries: tuple[tuple[float, Command], ...]

    def __post_init__(self) -> None:
        times = [time for time, _ in self.entries]
        if not times or not np.isfinite(times).all() or min(times) < 0 or sorted(set(times)) != times:
            raise InputError(f"the times of a schedule must rise from 0 s on, got {times}")
        for _, command in self.entries:
            check_command(command)

    def __call__(self, t: float) -> Command:
        return next((command for time, command in reversed(self.entries) if t >= time - 1e-9), Command())

    @staticmethod
    def parse(text: str) -> Schedule:
        """Parse ``"0: forward=0.3; 4: forward=0.3, turn=0.5"``; components that an entry omits are zero."""
        entries = []
        for part in (part for part in text.split(";") if part.strip()):
            match = _ENTRY.fullmatch(part)
            if match is None:
                raise InputError(
                    f"an entry of a schedule must read 'time: forward=0.3, turn=0.5', got {part.strip()!r}"
                )
            pairs = [pair.partition("=") for pair in match[2].split(",") if pair.strip()]
            values = {key.strip(): _scheduled_number(value, part) for key, _, value in pairs}
            entries.append((_scheduled_number(match[1], part), command_of(values)))
        return Schedule(tuple(entries))

    @staticmethod
    def of(rows: Sequence[Mapping[str, Given]]) -> Schedule:
        """Create a schedule from the tables of a run file: ``{time = 4.0, forward = 0.3, turn = 0.5}``."""
        entries = []
        for row in rows:
            if not isinstance(row, Mapping) or "time" not in row:
                raise InputError(f"an entry of a schedule needs a time, as {{time = 4.0, forward = 0.3}}, got {row!r}")
            values = {key: value for key, value in row.items() if key != "time"}
            if not all(isinstance(x, int | float) and not isinstance(x, bool) and finite(x) for x in row.values()):
                raise InputError(f"an entry of a schedule must hold finite numbers, got {row!r}")
            entries.append((float(row["time"]), command_of(values)))
        return Schedule(tuple(entries))

    def __str__(self) -> str:
        """Return the text that ``parse`` reads."""
        return "; ".join(f"{time:g}: {', '.join(_pairs(command))}" for time, command in self.entries)


Commands = Command | Schedule | Callable[[float], Command]


def command_of(values: Mapping[str, float]) -> Command:
    """Return a command from its fields by name; raise for an unknown name."""
    for key in values:
        if key not in KEYS:
            raise unknown("part of a command", key, KEYS)
    return Command(**{key: float(value) for key, value in values.items()})


def _pairs(command: Command) -> list[str]:
    return [f"{key}={getattr(command, key):g}" for key in KEYS if getattr(command, key)]


def _scheduled_number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{text.strip()!r} in the schedule's {whole.strip()!r} is not a number") from None


def command_at(command: Commands, t: float) -> Command:
    """Return the command at a time [s], checked."""
    if isinstance(command, Command) or not callable(command):
        check_command(command)
        return command
    now = command(t)
    if not isinstance(now, Command):
        raise InputError(f"command(t) must return a Command, got {type(now).__name__} at {t:g} s")
    check_command(now)
    return now


def ticks_to_command(command: Commands, tick: float, period: float, most: int) -> int:
    """Return for how many ticks from now on, at most ``most``, the command is constant."""
    if isinstance(command, Command):
        return most
    now = command_at(command, tick * period)
    for k in range(1, most):
        if command_at(command, (tick + k) * period) != now:
            return k
    return most


def unfollowed(controller: Controller, robot: Robot, command: Command) -> tuple[Command, list[str]]:
    """Return (the command as followed by a controller, a sentence for each component that it ignores or clips)."""
    limits = controller.command_limits(robot)
    if limits is None:
        return command, []
    followed, reported = command, []
    for key in KEYS:
        value, most = getattr(command, key), limits.get(key)
        if value and most is None:
            takes = ", ".join(limits) or "no command"
            reported.append(f"controller {controller.name} does not follow {key} = {value:g}: it takes {takes}")
            followed = replace(followed, **{key: 0.0})
        elif most is not None and abs(value) > most:
            why = controller.limit_reasons(robot).get(key)
            clipped = f"controller {controller.name} clips {key} = {value:g} to {most:.3g} {UNITS[key]}"
            reported.append(clipped if why is None else f"{clipped}: {why}")
            followed = replace(followed, **{key: float(np.copysign(most, value))})
    return followed, reported


def warn_unfollowed(controller: Controller, robot: Robot, command: Commands, times: Sequence[float] = (0.0,)) -> None:
    """Warn of each component of the commands that a controller ignores or clips.

    times: times [s] at which a function of time is evaluated for its extremes.
    """
    known = [c for _, c in command.entries] if isinstance(command, Schedule) else [_most(command, times)]
    for sentence in dict.fromkeys(s for each in known for s in unfollowed(controller, robot, each)[1]):
        warnings.warn(sentence, stacklevel=callers_level())


def _most(command: Command | Callable[[float], Command], times: Sequence[float]) -> Command:
    """Return the largest magnitude of each component of the commands."""
    if isinstance(command, Command):
        return command_at(command, 0.0)
    requested = [command_at(command, t) for t in times]
    return Command(**{key: max((getattr(each, key) for each in requested), key=abs) for key in KEYS})

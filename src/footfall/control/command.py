"""The user's command to a controller."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from numbers import Real

from footfall.errors import InputError, finite
from footfall.hints import COMMAND, names_arguments


@names_arguments("part of a command", COMMAND)
@dataclass(frozen=True, kw_only=True)
class Command:
    """A command to a controller: trunk velocity in heading axes, height and posture."""

    forward: float = 0.0  # [m/s]
    sideways: float = 0.0  # [m/s], to the left
    turn: float = 0.0  # [rad/s], to the left
    height: float = 0.0  # [m] above the nominal height
    roll: float = 0.0  # [rad] of the trunk relative to the ground, right side down
    pitch: float = 0.0  # [rad], nose down


_NAMES = tuple(f.name for f in fields(Command))


def check_command(command: Command) -> None:
    """Raise for a command with a value that is not a finite number."""
    if not isinstance(command, Command):
        raise InputError(
            f"a command must be a Command(forward, sideways, turn, ...), got {type(command).__name__};"
            " use a Schedule or a function of time for one that changes (ff.sim.Schedule.parse, lambda t: ...)"
        )
    for name in _NAMES:
        value = getattr(command, name)
        if type(value) is float and math.isfinite(value):
            continue
        if not isinstance(value, Real) or not finite(value):
            raise InputError(f"{name} of a command must be a finite number, got {value!r}")

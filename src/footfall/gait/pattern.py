"""Gait patterns: when each foot is in stance, and the parameters of a stride.

Delays are fractions of a cycle after the left fore foot's touchdown, legs in the order LF, RF, LH, RH: lecture notes
attributed to Rotenberg (UCSD CSE169). Duties and periods are those of MIT's Cheetah-Software, or chosen where it has
none (marked). Published values for the canter and the gallops vary.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from footfall import hints
from footfall.checks import number_between
from footfall.errors import InputError, unknown
from nptrace._types import Given
from nptrace.array_types import Float

LEGS = ("LF", "RF", "LH", "RH")


@dataclass(frozen=True)
class Pattern:
    """Phase offsets of the legs [cycles], duty factor, and a usual period [s]."""

    delays: tuple[float, float, float, float]
    duty: float
    period: float
    source: str


_DELAYS, _MIT = "delays: Rotenberg's notes", "duty and period: Cheetah-Software"
PATTERNS: Mapping[str, Pattern] = {
    "walk": Pattern((0.0, 0.5, 0.75, 0.25), 0.75, 1.25, f"{_DELAYS}, a lateral sequence; duty chosen (MIT 0.8)"),
    "amble": Pattern((0.0, 0.5, 0.8, 0.3), 0.625, 0.5, f"{_DELAYS}; {_MIT}"),
    "trot": Pattern((0.0, 0.5, 0.5, 0.0), 0.5, 0.5, f"{_DELAYS}; {_MIT} (walking 0.6, flying 0.4)"),
    "pace": Pattern((0.0, 0.5, 0.0, 0.5), 0.5, 0.35, f"{_DELAYS}; {_MIT}"),
    "canter": Pattern((0.0, 0.3, 0.3, 0.6), 0.4, 0.45, f"{_DELAYS}; duty and period chosen"),
    "transverse_gallop": Pattern((0.0, 0.1, 0.5, 0.6), 0.3, 0.4, f"{_DELAYS}; duty chosen (MIT 0.2)"),
    "rotary_gallop": Pattern((0.0, 0.9, 0.4, 0.5), 0.3, 0.4, f"{_DELAYS}; duty chosen (MIT 0.2)"),
    "half_bound": Pattern((0.0, 0.15, 0.5, 0.5), 0.4, 0.4, "hind feet together, fore feet one after the other; chosen"),
    "bound": Pattern((0.0, 0.0, 0.5, 0.5), 0.4, 0.4, f"{_DELAYS}; {_MIT}"),
    "pronk": Pattern((0.0, 0.0, 0.0, 0.0), 0.5, 0.5, f"{_DELAYS}; {_MIT}"),
}


@dataclass(frozen=True, kw_only=True)
class Gait:
    """A gait: phase offsets, duty factor, period, and the shape of its strides.

    A foot travels ``stride`` on the ground in every stance: twice the half stride L of the papers. It clears the ground
    by about ``height``, its joint targets press ``depth`` into it in mid-stance, and the hips are ``hip_height`` above
    it. The steps grow from zero within ``ramp`` seconds. Parameters that are None come from the robot's pose ``stand``.
    """

    name: str
    delays: tuple[float, float, float, float]  # delays of LF, RF, LH, RH [cycles]
    duty: float  # duty factor: fraction of a cycle in stance
    period: float  # of a cycle [s]
    stride: float = 0.1  # 2 L [m]; negative walks backwards
    height: float = 0.05  # height of the swing, h [m]
    hip_height: float | None = None  # height of the hip joints over the ground, H [m]
    depth: float = 0.002  # virtual penetration, δ [m]
    ramp: float = 1.0  # duration of the start [s]; 0 starts at full stride
    knees: tuple[int, int, int, int] | int | None = None  # +1 behind the hips, -1 in front of them; one, or one per leg
    foot_pitch: float = 0.0  # pitch of the last link of a leg with an ankle; positive lifts the toe [rad]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a gait needs a name, got {self.name!r}")
        what = f"of the gait '{self.name}'"
        try:
            delays = tuple(float(d) for d in self.delays)
        except (TypeError, ValueError):
            delays = ()
        if len(delays) != len(LEGS) or not all(map(math.isfinite, delays)):
            raise InputError(f"delays {what} must be four numbers, of {', '.join(LEGS)}, got {self.delays!r}")
        checked: dict[str, Given] = {
            "delays": tuple(d % 1.0 for d in delays),
            "duty": number_between(self.duty, f"duty {what}", 0.0, 1.0, "between 0 and 1"),
            "period": number_between(self.period, f"period {what}", 0.0, math.inf, "positive"),
            "stride": number_between(self.stride, f"stride {what}"),
            "foot_pitch": number_between(self.foot_pitch, f"foot_pitch {what}"),
            "knees": _knees(self.knees, what),
        }
        for key in ("height", "depth", "ramp"):
            checked[key] = number_between(getattr(self, key), f"{key} {what}", -5e-324, math.inf, "0 or more")
        if self.hip_height is not None:
            checked["hip_height"] = number_between(self.hip_height, f"hip_height {what}", 0.0, math.inf, "positive")
        for key, value in checked.items():
            object.__setattr__(self, key, value)

    @property
    def half_stride(self) -> float:
        """Return L of the papers [m]."""
        return 0.5 * self.stride

    @property
    def frequency(self) -> float:
        """Return cycles per second [Hz]."""
        return 1.0 / self.period

    @property
    def speed(self) -> float:
        """Return the nominal speed [m/s], stride over stance time; a robot's differs (slip, sinking, tilting)."""
        return self.stride / (self.duty * self.period)

    def knee(self, leg: str) -> int | None:
        """Return the direction of one leg's knee: +1 behind the hip, -1 in front, None if the robot decides."""
        if leg not in LEGS:
            raise unknown("leg", leg, LEGS, "a gait has")
        return self.knees[LEGS.index(leg)] if isinstance(self.knees, tuple) else self.knees

    def replace(self, **changes: Any) -> Gait:
        """Return a modified, checked copy."""
        fields = [f.name for f in dataclasses.fields(self)]
        for key in changes:
            if key not in fields:
                if key in hints.GAIT_PARTS:
                    raise InputError(f"a gait has no parameter {key!r}: it is {hints.GAIT_PARTS[key]}")
                raise unknown("parameter of a gait", key, fields, "choose from")
        return dataclasses.replace(self, **changes)


def clock_phase(gait: Gait, t: float) -> Float[ndarray, "4"]:
    """Return the phases of the legs, frac(t / T - delay): a foot is in stance while its phase is below the duty factor.

    Args:
        gait: The gait.
        t: Time [s].

    Returns:
        Phase of each leg [cycles].
    """
    cycles = t / gait.period - np.array(gait.delays)
    return cycles - np.floor(cycles)


def stance(gait: Gait, phase: Float[ndarray, "4"]) -> Float[ndarray, "4"]:
    """Return which feet should be in stance: 1 or 0 per leg."""
    return np.where(phase < gait.duty, 1.0, 0.0)


def names() -> tuple[str, ...]:
    """Return the names of all gait patterns.

    Returns:
        Names for ``named``.
    """
    return tuple(PATTERNS)


def named(name: str, **changes: Any) -> Gait:
    """Return a gait by the name of its pattern: ``named("trot", period=0.4, stride=0.08)``.

    Args:
        name: One of ``names()``.
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    if name not in PATTERNS:
        raise unknown("gait", name, PATTERNS, "choose from")
    pattern = PATTERNS[name]
    return Gait(name=name, delays=pattern.delays, duty=pattern.duty, period=pattern.period).replace(**changes)


def walk(**changes: Any) -> Gait:
    """Return a lateral-sequence walk: LH, LF, RH, RF, with three feet in contact.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("walk", **changes)


def amble(**changes: Any) -> Gait:
    """Return an amble, a fast walk: four beats, two or three feet in contact.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("amble", **changes)


def trot(**changes: Any) -> Gait:
    """Return a trot: diagonal pairs alternate.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("trot", **changes)


def pace(**changes: Any) -> Gait:
    """Return a pace: the two legs of a side together.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("pace", **changes)


def canter(**changes: Any) -> Gait:
    """Return a canter, three beats: one fore foot, a diagonal pair, the other hind foot.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("canter", **changes)


def transverse_gallop(**changes: Any) -> Gait:
    """Return a transverse gallop: fore pair, then hind pair, leading on the same side.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("transverse_gallop", **changes)


def rotary_gallop(**changes: Any) -> Gait:
    """Return a rotary gallop: fore pair, then hind pair, leading on opposite sides.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("rotary_gallop", **changes)


def half_bound(**changes: Any) -> Gait:
    """Return a half bound: both hind feet, then one fore foot after the other.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("half_bound", **changes)


def bound(**changes: Any) -> Gait:
    """Return a bound: both fore feet, then both hind feet.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("bound", **changes)


def pronk(**changes: Any) -> Gait:
    """Return a pronk: all four feet at once.

    Args:
        **changes: Fields of ``Gait`` to change: ``period=0.4, stride=0.08``.

    Returns:
        The gait.
    """
    return named("pronk", **changes)


def _knees(value: Given, what: str) -> tuple[int, ...] | int | None:
    if value is None:
        return None
    given = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    if len(given) not in (1, len(LEGS)) or any(k not in (1, -1) for k in given):
        raise InputError(f"knees {what} must be +1 (behind the hips) or -1 (in front), one or four, got {value!r}")
    return tuple(int(k) for k in given) if len(given) > 1 else int(given[0])

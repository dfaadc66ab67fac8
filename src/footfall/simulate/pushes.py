"""Pushes on the trunk: forces for a while, whose impulse is force times duration whatever the controller's rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError
from footfall.recording.recording_writer import Event
from footfall.robot.model.description import Robot

_SLACK = 1e-6  # of a tick: rounding in a time that is meant to fall on one


@dataclass(frozen=True)
class Push:
    """A force [N] on the base for a while, in world axes, at its origin; ``moment`` [N m] as well if given."""

    start: float
    duration: float
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moment: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        try:
            numbers = np.array([self.start, self.duration, *self.force, *self.moment], dtype=float)
        except (TypeError, ValueError):
            numbers = np.array([np.nan])
        if numbers.shape != (8,) or not np.isfinite(numbers).all() or self.duration <= 0 or self.start < 0:
            raise InputError(f"a push needs a start >= 0, a duration > 0 and finite forces along x, y, z, got {self}")

    @property
    def event(self) -> Event:
        """What a recording says of it."""
        return Event(self.start, "push", f"{np.round(self.force, 3).tolist()} N for {self.duration:g} s")

    @property
    def wrench(self) -> Float[ndarray, "6"]:
        return np.array([*self.moment, *self.force], dtype=float)


def check_pushes(pushes: Sequence[Push], robot: Robot) -> None:
    """Refuse what is no push, and pushes on a base that cannot move."""
    wrong = [push for push in pushes if not isinstance(push, Push)] if isinstance(pushes, (list, tuple)) else [pushes]
    if wrong:
        raise InputError(f"pushes must be a list of Push(start, duration, force), got {type(wrong[0]).__name__}")
    if pushes and not robot.floating:
        raise InputError(f"a push acts on the base, which is fixed for robot '{robot.name}'")


def mean_wrench(pushes: Sequence[Push], tick: float, period: float) -> Float[ndarray, "6"]:
    """The pushes' mean over a tick: one that ends within it counts for the part of it that it lasts."""
    total = np.zeros(6)
    for push in pushes:
        start, end = push.start / period - tick, (push.start + push.duration) / period - tick
        part = min(end, 1.0) - max(start, 0.0)
        if part > _SLACK:
            total += push.wrench * (part if part < 1.0 - _SLACK else 1.0)
    return total


def ticks_to_change(pushes: Sequence[Push], tick: float, period: float, most: int) -> int:
    """How many ticks from here on, at most ``most``, feel the same mean wrench."""
    count = most
    for push in pushes:
        for edge in (push.start / period - tick, (push.start + push.duration) / period - tick):
            for ahead in (np.floor(edge + _SLACK), np.ceil(edge - _SLACK)):  # a tick cut by the edge stands alone
                if 0 < ahead < count:
                    count = int(ahead)
    return count

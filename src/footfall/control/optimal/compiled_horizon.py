"""The base class of horizons with a compiled rollout: variable goals, and one call per trajectory."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Self

import numpy as np
from numpy import ndarray

from footfall.control.optimal.knot import Goal
from footfall.errors import InputError
from nptrace._types import PyTree


def check_finite(goals: Goal) -> None:
    for entry in fields(Goal):
        if not np.isfinite(np.asarray(getattr(goals, entry.name))).all():
            raise InputError(f"{entry.name} of the goals of a horizon is not finite")


class CompiledHorizon:
    """A ``trajectory.RollingProblem`` without its quadratic model; ``goals`` has knots as the first axis of every
    array, with one more for the last state.
    """

    goals: Goal
    _roll: PyTree  # compiled: (states after each knot, inputs, cost)
    _error: PyTree  # compiled: the deviations of states from others, in rows

    @property
    def knots(self) -> int:
        return len(self.goals.interval) - 1

    def aim(self, goals: Goal) -> None:
        """Set other goals for the same horizon; nothing is recompiled."""
        check_finite(goals)
        self.goals = goals

    def aiming_at(self, goals: Goal) -> Self:
        """Return a copy of this horizon with other goals."""
        other = copy.copy(self)
        other.aim(goals)
        return other

    def roll(
        self, start: ndarray, x: ndarray, u: ndarray, changes: ndarray, gains: ndarray, length: float
    ) -> tuple[ndarray, ndarray, float]:
        """Return (states, inputs, cost) from ``start`` under u + length changes + gains (state - x), in one call."""
        after, done, total = self._roll(start, x[: len(u)], u, changes, gains, np.array(float(length)), self.goals)
        return np.concatenate([start[None], after]), done, float(total)

    def difference(self, x_from: ndarray, x_to: ndarray) -> ndarray:
        return self._error(x_from, x_to)


__all__ = ["CompiledHorizon", "check_finite"]

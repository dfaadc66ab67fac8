"""Switching to a new plan in the middle of another, for a robot that replans while it walks (Yan et al. 2021).

Positions and velocities are continuous. Stance feet stay in place, swing feet finish their step, and the new plan lifts
each of them from there. The body reaches the new plan's path along a curve that starts at the position and velocity of
the old plan. The new plan starts where the body would come to rest, with its heading: this is the frame in which it was
planned, from standing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from footfall.checks import is_number
from footfall.errors import InputError
from footfall.gait.pattern import LEGS
from footfall.gait.planner import MotionPlan, PlannedPose, PosturePlan, WalkPlan
from nptrace import select, smoothstep
from nptrace._types import Given, Operand, Scalar
from nptrace.array_types import Float

_VELOCITY_INTERVAL = 1e-6  # [s] over which the old plan's velocity is differenced
_SEARCH_INTERVAL = 1e-3  # [s] between checks for a landing
_LIFTED_HEIGHT = 1e-9  # [m] above its position on the ground: beyond this a foot is in swing


@dataclass(frozen=True, eq=False)
class Anchored:
    """A plan that starts at a time [s] and at a position x, y [m], rotated by a yaw [rad]."""

    plan: WalkPlan | PosturePlan
    anchor: tuple[float, float, float]
    begin: float

    @property
    def duration(self) -> float:
        return self.begin + self.plan.duration

    def at(self, t: Scalar) -> PlannedPose:
        pose, (x, y, yaw) = self.plan.at(t - self.begin), self.anchor
        c, s = math.cos(yaw), math.sin(yaw)

        def put(p: Operand) -> list[Operand]:
            return [x + c * p[0] - s * p[1], y + s * p[0] + c * p[1], p[2]]

        feet = [np.stack(put(pose.feet[k])) for k in range(len(LEGS))]
        euler = [pose.euler[0] + yaw, pose.euler[1], pose.euler[2]]
        return PlannedPose(np.stack(put(pose.position)), np.stack(euler), np.stack(feet), pose.load)

    def stands(self, t: Scalar) -> Float[ndarray, "4"]:
        return _stance_of(self.plan, t - self.begin)


@dataclass(frozen=True, eq=False, kw_only=True)
class Takeover:
    """A plan followed until ``when`` [s], and then another, whose time starts there.

    The second plan must rest for longer than a swing of the first, since feet in the air land during that rest.
    """

    first: MotionPlan
    second: WalkPlan | PosturePlan
    when: float
    landings: Float[ndarray, "4"] = field(init=False)  # last touchdown of each foot before the new plan lifts it [s]
    _anchor: tuple[float, float, float] = field(init=False)  # x, y [m], yaw [rad] of the new plan's frame
    # start of the body's transition to the new path: position and velocity
    _begin: Float[ndarray, "2 6"] = field(init=False)
    _moved: WalkPlan | PosturePlan = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.second, WalkPlan | PosturePlan):
            raise InputError(f"the second plan must be a WalkPlan or a PosturePlan, got {type(self.second).__name__}")
        if not is_number(self.when) or self.when < 0.0:
            raise InputError(f"the time of the takeover must be 0 or more, got {self.when!r}")
        object.__setattr__(self, "landings", np.array([self._landing(k) for k in range(len(LEGS))]))
        last_landing = float(self.landings.max()) - self.when
        if last_landing > self._pause + 1e-9:
            raise InputError(
                f"a foot lands {last_landing:.3g} s after the takeover, but the new plan rests only for"
                f" {self._pause:g} s: give it a longer rest"
            )
        at, ahead = (self.first.at(self.when + dt) for dt in (0.0, _VELOCITY_INTERVAL))
        pose = np.concatenate([at.position, at.euler])
        speed = (np.concatenate([ahead.position, ahead.euler]) - pose) / _VELOCITY_INTERVAL
        rest_pose = pose + speed * self._pause / 3.0  # with this, a cubic comes to rest without reversing
        x, y, yaw = float(rest_pose[0]), float(rest_pose[1]), float(rest_pose[3])
        object.__setattr__(self, "_anchor", (x, y, yaw))
        feet = np.stack([self.first.at(float(t)).feet[k] for k, t in enumerate(self.landings)])
        moved = self.second.from_feet(self._in_new_frame(feet))
        object.__setattr__(self, "_moved", moved)
        anchored = self._anchored(0.0)
        object.__setattr__(
            self, "_begin", np.stack([pose - np.concatenate([anchored.position, anchored.euler]), speed])
        )

    @property
    def duration(self) -> float:
        """Return the duration [s]."""
        return self.when + self.second.duration

    def at(self, t: Scalar) -> PlannedPose:
        """Return body and feet at time t [s]; can be traced."""
        old, new, since = self.first.at(np.minimum(t, self.when)), self._anchored(t - self.when), t - self.when
        s = np.clip(since / self._pause, 0.0, 1.0)
        fades, leaves = (1.0 + 2.0 * s) * (1.0 - s) ** 2, s * (1.0 - s) ** 2 * self._pause  # cubic Hermite
        back = [fades * a + leaves * b for a, b in zip(*self._begin)]
        position = [select(since < 0.0, old.position[k], new.position[k] + back[k]) for k in range(3)]
        euler = [select(since < 0.0, old.euler[k], new.euler[k] + back[3 + k]) for k in range(3)]
        feet, load = [], []
        for k in range(len(LEGS)):
            lands = float(self.landings[k])
            last = old if lands == self.when else self.first.at(np.minimum(t, lands))
            feet.append([select(t < lands, last.feet[k, c], new.feet[k, c]) for c in range(3)])
            taken = smoothstep((t - lands) / (0.5 * self._pause))
            before = old.load[k] if lands == self.when else 0.0
            later = np.minimum(before + (1.0 - before) * taken, new.load[k])
            load.append(select(since < 0.0, old.load[k], later))
        return PlannedPose(
            np.stack(position), np.stack(euler), np.stack([np.stack(foot) for foot in feet]), np.stack(load)
        )

    def stands(self, t: Scalar) -> Float[ndarray, "4"]:
        """Return which feet are in stance at time t: 1 or 0."""
        before, after = _stance_of(self.first, np.minimum(t, self.when)), _stance_of(self._moved, t - self.when)
        out = []
        for k in range(len(LEGS)):
            landed = select(t < float(self.landings[k]), 0.0, after[k])
            out.append(select(t < self.when, before[k], landed))
        return np.stack(out)

    @property
    def _pause(self) -> float:
        """Return the time in the new plan before its first foot lifts or its body moves [s]."""
        return self.second.rest if isinstance(self.second, WalkPlan) else self.second.hold

    def _landing(self, leg: int) -> float:
        """Return when a foot in swing at the takeover lands, to a millionth of a second."""
        ground = min(float(self.first.at(t).feet[leg, 2]) for t in (self.when, self.first.duration))

        def swings(t: float) -> bool:
            return float(self.first.at(t).feet[leg, 2]) > ground + _LIFTED_HEIGHT

        t = self.when
        if not swings(t):
            return t
        while swings(t) and t < self.first.duration:
            t += _SEARCH_INTERVAL
        low, high = t - _SEARCH_INTERVAL, min(t, self.first.duration)
        while high - low > 1e-9:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if swings(middle) else (low, middle)
        return high

    def _anchored(self, t: Scalar) -> PlannedPose:
        """Return the new plan in the world, in its own time."""
        return Anchored(self._moved, self._anchor, 0.0).at(t)

    @property
    def settled(self) -> Anchored:
        """Return the new plan alone, from the takeover on."""
        return Anchored(self._moved, self._anchor, self.when)

    def _in_new_frame(self, feet: Float[ndarray, "4 3"]) -> Float[ndarray, "4 3"]:
        """Return feet of the world in the new plan's frame."""
        x, y, yaw = self._anchor
        c, s = math.cos(yaw), math.sin(yaw)
        d = feet - np.array([x, y, 0.0])
        return np.column_stack([c * d[:, 0] + s * d[:, 1], c * d[:, 1] - s * d[:, 0], d[:, 2]])


def take_over(plan: MotionPlan, new: MotionPlan, when: float) -> Takeover:
    """Switch from ``plan`` to ``new`` at a time [s]; of completed takeovers, only the last plan is kept."""
    if isinstance(plan, Takeover) and when >= plan.when + plan._pause:
        plan = plan.settled
    return Takeover(first=plan, second=new, when=when)  # type: ignore[arg-type]  # which it checks itself


def _stance_of(plan: Given, t: Scalar) -> Float[ndarray, "4"]:
    return plan.stands(t) if not isinstance(plan, PosturePlan) else np.ones(len(LEGS))

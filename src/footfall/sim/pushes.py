"""Pushes on the trunk or any link for some time: the impulse is force times duration, at any controller rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.contact.points import Sphere
from footfall.dynamics.parallel_joints import PosedRobot
from footfall.errors import InputError
from footfall.hints import PUSH, names_arguments
from footfall.kinematics.forward import poses_in_base
from footfall.kinematics.frames import frame_in_body, frame_jacobian
from footfall.kinematics.jacobian import point_jacobian
from footfall.recording.recording_writer import Event
from footfall.robot.model.description import Robot
from footfall.spatial import Transform
from nptrace.array_types import Float

_SLACK = 1e-6  # fraction of a tick: rounding of a time that is meant to coincide with one


Place = tuple[str | None, tuple[float, ...]]  # a link and a point of it


@names_arguments("argument of Push", PUSH)
@dataclass(frozen=True, kw_only=True)
class Push:
    """A force [N], and moment [N m], on the robot for some time, in world axes.

    It acts on the base at its origin, or on a named ``link`` at a ``point`` [m] in its own axes.
    """

    start: float
    duration: float
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moment: tuple[float, float, float] = (0.0, 0.0, 0.0)
    link: str | None = None
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        try:
            numbers = np.array([self.start, self.duration, *self.force, *self.moment, *self.point], dtype=float)
        except (TypeError, ValueError):
            numbers = np.array([np.nan])
        if numbers.shape != (11,) or not np.isfinite(numbers).all() or self.duration <= 0 or self.start < 0:
            raise InputError(f"a push needs a start >= 0, a duration > 0 and finite forces along x, y, z, got {self}")

    @property
    def event(self) -> Event:
        """Return the push as an event of a recording."""
        where = "" if self.link is None else f" on {self.link}"
        return Event(self.start, "push", f"{np.round(self.force, 3).tolist()} N for {self.duration:g} s{where}")

    @property
    def place(self) -> Place | None:
        """Return the point at which it acts; None for the origin of the base."""
        return None if self.link is None and not any(self.point) else (self.link, tuple(map(float, self.point)))

    @property
    def wrench(self) -> Float[ndarray, "6"]:
        return np.array([*self.moment, *self.force], dtype=float)


def check_pushes(pushes: Sequence[Push], robot: Robot) -> None:
    """Raise for objects that are not pushes, and for pushes on a base that cannot move."""
    wrong = [push for push in pushes if not isinstance(push, Push)] if isinstance(pushes, (list, tuple)) else [pushes]
    if wrong:
        raise InputError(f"pushes must be a list of Push(start, duration, force), got {type(wrong[0]).__name__}")
    for push in pushes:
        if push.link is None and not robot.floating:
            raise InputError(f"a push acts on the base, which is fixed for robot '{robot.name}': name a link")
        if push.place is not None:
            frame_in_body(robot, _link_of(push.place, robot))


def _link_of(place: Place, robot: Robot) -> str:
    return robot.tree.bodies[0].name if place[0] is None else place[0]


def parse_pushes(text: str | None) -> tuple[Push, ...]:
    """Parse pushes such as ``"1.0, 0.1, 0, 60, 0"`` [s, s, N], then a link's name; several are separated by ";"."""
    pushes = []
    for entry in (entry for entry in (text or "").split(";") if entry.strip()):
        cells = [cell.strip() for cell in entry.split(",")]
        try:
            start, duration, x, y, z = (float(cell) for cell in cells[:5])
        except ValueError:
            raise InputError(
                f"a push is 'start, duration, x, y, z' and optionally a link, got {entry.strip()!r}"
            ) from None
        if len(cells) > 6:
            raise InputError(f"a push is 'start, duration, x, y, z' and optionally a link, got {entry.strip()!r}")
        pushes.append(Push(start=start, duration=duration, force=(x, y, z), link=cells[5] if len(cells) == 6 else None))
    return tuple(pushes)


def places_of(pushes: Sequence[Push]) -> tuple[Place, ...]:
    """Return the points where pushes act besides the base's origin, each once."""
    return tuple(dict.fromkeys(push.place for push in pushes if push.place is not None))


def pushed_points(robot: Robot, places: Sequence[Place]) -> tuple[Sphere, ...]:
    """Return the pushed points of the robot's bodies, as input of a step."""
    points = []
    for place in places:
        body, X_BF = frame_in_body(robot, _link_of(place, robot), place[1])
        points.append(Sphere(name=f"push on {_link_of(place, robot)}", body=body, center=X_BF.p, radius=0.0))
    return tuple(points)


def mean_wrench(
    pushes: Sequence[Push], tick: float, period: float, places: Sequence[Place] = ()
) -> Float[ndarray, "wrenches"]:
    """Return the pushes' mean over a tick: one that ends within it counts for its fraction of the tick.

    Six numbers for the base's origin, then six for every one of ``places``.
    """
    everywhere, total = (None, *places), np.zeros((1 + len(places), 6))
    for push in pushes:
        start, end = push.start / period - tick, (push.start + push.duration) / period - tick
        share = min(end, 1.0) - max(start, 0.0)
        if share > _SLACK:
            total[everywhere.index(push.place)] += push.wrench * (share if share < 1.0 - _SLACK else 1.0)
    return total.ravel()


def generalised_push(
    robot: Robot, q: Float[ndarray, "nq"], pushes: Sequence[Push], tick: float, period: float
) -> Float[ndarray, "nv"]:
    """Return the effect of a tick's pushes on a robot at q, as generalised forces."""
    places, base = places_of(pushes), robot.tree.bodies[0].name
    wrenches = mean_wrench(pushes, tick, period, places).reshape(-1, 6)
    total = np.zeros(robot.nv)
    for (link, point), wrench in zip(((None, (0.0, 0.0, 0.0)), *places), wrenches):
        total += frame_jacobian(robot, q, base if link is None else link, point).T @ wrench
    return total


def generalised_pushes(
    at_q: PosedRobot, places: Sequence[Sphere], push: Float[ndarray, "wrenches"]
) -> Float[ndarray, "nv"]:
    """Return wrenches in world axes, at the base's origin and at ``places``, as generalised forces."""
    robot, X = at_q.robot, at_q.X
    total = np.zeros(robot.nv)
    if robot.floating:
        total = np.concatenate([X[0].R.T @ push[:3], X[0].R.T @ push[3:6], np.zeros(robot.nj)])
    for k, place in enumerate(places, start=1):
        R_WB = (X[0] @ poses_in_base(robot, X)[place.body]).R
        at_place = Transform(R_WB.T, at_q.point(place.body, place.center))
        total = total + point_jacobian(robot, X, place.body, at_place).T @ push[6 * k : 6 * k + 6]
    return total


def ticks_to_change(pushes: Sequence[Push], tick: float, period: float, most: int) -> int:
    """Return for how many ticks from now on, at most ``most``, the mean wrench is constant."""
    count = most
    for push in pushes:
        for edge in (push.start / period - tick, (push.start + push.duration) / period - tick):
            # a tick cut by the end of a push is separate
            for ahead in (np.floor(edge + _SLACK), np.ceil(edge - _SLACK)):
                if 0 < ahead < count:
                    count = int(ahead)
    return count

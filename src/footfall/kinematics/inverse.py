"""Inverse kinematics in one call: closed form where a leg has one, otherwise FABRIK, always within the joint limits.

    found = ff.kinematics.inverse(robot, {"LF": (0.2, 0.1, -0.25)}, frame="trunk")
    found.joints, found.residual, found.reachable, found.why

Out of reach, a foot is placed at the nearest point within the limits, as far as local search finds it, and ``why``
names the obstacle. In a trace there is only one iteration from one start, and ``why`` is empty: see ``_traced``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import body_poses, check_shape, foot_positions
from footfall.kinematics.iterative.fabrik import fabrik
from footfall.kinematics.iterative.fabrik_leg import Reached, bent, contact_angle, distance, fabrik_leg
from footfall.kinematics.iterative.resolved_rate import resolved_rate_leg
from footfall.kinematics.leg_chain import LegChain, foot_position, leg_chain
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import branches, knee_direction, leg_inverse
from footfall.robot.model.description import Robot
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

METHODS = ("auto", "closed", "fabrik", "resolved_rate")
FRAMES = ("world", "trunk")
TOLERANCE = 1e-7  # [m], distance at which a foot counts as at its target
_ANGLE = 1e-3  # [rad], tolerance of a contact angle
_CRAWLS = 0.02  # fraction of a leg's reach: this close, FABRIK is merely slow
_AGAIN = 40  # iterations from a start after the first
_STARTS = 12  # maximum number of initial postures


@dataclass(frozen=True, eq=False, kw_only=True)
class Inverse:
    """Joint positions for foot targets; one entry per foot, in the order of ``feet``."""

    q: Float[ndarray, "nq"]  # the base as given
    joints: Float[ndarray, "nj"]  # [rad], within their limits for the given feet
    feet: tuple[str, ...]
    residual: Float[ndarray, "n"]  # distance of a foot from its target [m]
    reachable: ndarray  # whether that is below the tolerance
    iterations: ndarray  # 0 for a closed form
    method: tuple[str, ...]  # method that found it: closed, fabrik, resolved_rate
    why: tuple[str, ...]  # why a foot does not reach its target; otherwise empty


def inverse(
    robot: Robot,
    targets: Operand,
    method: str = "auto",
    *,
    q: Float[ndarray, "nq"] | None = None,
    frame: str = "world",
    knee: int | Mapping[str, int] | None = None,
    foot_pitch: float | Mapping[str, float] | None = None,
    tolerance: float = TOLERANCE,
    iterations: int = 200,
    shared: bool = False,
    finish: bool = True,
) -> Inverse:
    """Solve the inverse kinematics of the feet, with a fixed base.

    Args:
        robot: The robot.
        targets: Centres of feet [m]: an array (nf, 3), or ``{foot: (x, y, z)}`` for some of them.
        method: ``closed``, ``fabrik``, ``resolved_rate``; ``auto`` uses the closed form, or FABRIK for legs without
            one.
        q: Pose of the base, and the posture to stay near; the pose ``stand`` at the origin unless given.
        frame: Frame of the targets: ``world``, or ``trunk`` (the base).
        knee: +1 behind the hips, -1 in front, or ``{foot: ±1}``; None prefers the side that the posture has.
        foot_pitch: Contact angle of a redundant last link [rad], or ``{foot: angle}``. None keeps that of the posture
        if the target is reachable with it.
        tolerance: Distance at which a foot counts as at its target [m].
        iterations: Maximum number of iterations from each of a few starts.
        shared: Joints that carry several feet (a spine) may move too: FABRIK with several end effectors.
        finish: Finish with damped least squares if the iteration converges slowly near the target.

    Returns:
        Joint positions of the whole robot, and per foot whether and how it was reached (``Inverse``).
    """
    if isinstance(targets, str):
        raise InputError(
            f"inverse takes targets of feet, {{{targets!r}: (x, y, z)}} or an array ({robot.nf}, 3), got {targets!r}"
        )
    if method not in METHODS:
        raise unknown("method of inverse kinematics", method, METHODS)
    if frame not in FRAMES:
        raise unknown("frame of foot targets", frame, FRAMES)
    if not tolerance > 0 or iterations < 1:
        raise InputError(f"tolerance and iterations must be positive, got {tolerance} and {iterations}")
    if nptrace.is_tracing():
        return _traced(robot, targets, method, q, frame, knee, foot_pitch, tolerance, iterations, shared)
    q = posture_of(robot, q)
    wanted = targets_of(robot, targets)
    if frame == "trunk":
        X_WB = body_poses(robot, q)[0]
        wanted = {foot: X_WB.point(p) for foot, p in wanted.items()}
    together = 0
    if shared:
        q, together = _with_shared(robot, q, wanted, foot_pitch, tolerance, iterations)
    found, rows = q.copy(), list[tuple[Reached, str, str]]()
    carriers = body_poses(robot, q)
    for foot, p_W in wanted.items():
        leg = leg_chain(robot, foot)
        side, pitch = _of(knee, foot), _of(foot_pitch, foot)
        at = robot.nq - robot.nj + np.array(leg.joints)
        search = _Search(
            robot=robot,
            leg=leg,
            target=carriers[leg.carrier].inverse().point(p_W),
            posture=q[at],
            knee=side,
            foot_pitch=pitch,
            tolerance=tolerance,
            iterations=iterations,
            finish=finish,
        )
        row = search.run(method)
        found[at] = row[0].joints
        rows.append(row)
    reached = [row[0] for row in rows]
    residual = np.array([float(r.residual) for r in reached])
    return Inverse(
        q=found,
        joints=found[robot.nq - robot.nj :].copy(),
        feet=tuple(wanted),
        residual=residual,
        reachable=residual <= tolerance,
        iterations=np.array([together + int(r.iterations) for r in reached]),
        method=tuple(row[1] for row in rows),
        why=tuple(row[2] for row in rows),
    )


def _traced(
    robot: Robot,
    targets: Operand,
    method: str,
    q: Operand,
    frame: str,
    knee: Operand,
    foot_pitch: Operand,
    tolerance: float,
    iterations: int,
    shared: bool,
) -> Inverse:
    """Solve without known numbers: nothing is tried twice, and the knee is that of the stand unless given.

    Legs with a closed form use it, clipped to their limits; others use FABRIK from the posture, or from the stand
    without one.
    """
    if shared or method == "resolved_rate":
        raise InputError(
            f"inverse can be traced only for single legs, with the method 'closed' or 'fabrik', got {method!r},"
            f" shared={shared}"
        )
    stand = posture_of(robot, None)
    q = stand if q is None else q
    joints_from, wanted = robot.nq - robot.nj, _by_foot(robot, targets)
    poses = body_poses(robot, q)
    found, rows = [q[k] for k in range(robot.nq)], list[tuple[Operand, Operand, str]]()
    for foot, target in wanted.items():
        leg, side, pitch = leg_chain(robot, foot), _of(knee, foot), _of(foot_pitch, foot)
        p_W = poses[0].point(np.array(target)) if frame == "trunk" else np.array(target)
        p = poses[leg.carrier].inverse().point(p_W)
        start = [stand[joints_from + j] for j in leg.joints]
        closed = method != "fabrik" and has_closed_form(robot, foot)
        if closed:
            bend = knee_direction(leg_geometry(robot, foot), np.array(start)) if side is None else side
            angles = leg_inverse(robot, foot, p, bend, foot_pitch=0.0 if pitch is None else pitch).joints
            inside = np.stack([screw.within(angle) for screw, angle in zip(leg.screws, angles)])
            reached = Reached(inside, distance(foot_position(leg, list(inside)), p), 0.0)
        else:
            chain = leg if side is None else bent(leg, side)
            near = [found[joints_from + j] for j in leg.joints]
            reached = fabrik_leg(chain, p, near, pitch, iterations, tolerance)
        for j, value in zip(leg.joints, reached.joints):
            found[joints_from + j] = value
        rows.append((reached.residual, reached.iterations, "closed" if closed else "fabrik"))
    residual = np.stack([row[0] for row in rows])
    whole = np.stack(found)
    return Inverse(
        q=whole,
        joints=whole[joints_from:],
        feet=tuple(wanted),
        residual=residual,
        reachable=residual <= tolerance,
        iterations=np.stack([r[1] for r in rows]),
        method=tuple(row[2] for row in rows),
        why=("",) * len(rows),
    )


def has_closed_form(robot: Robot, foot: str) -> bool:
    """Return whether a leg's joints have a closed form."""
    try:
        leg_geometry(robot, foot)
    except InputError:
        return False
    return True


@dataclass(kw_only=True)
class _Search:
    """The search for one leg and one target in its carrier's frame."""

    robot: Robot
    leg: LegChain
    target: Float[ndarray, "3"]
    posture: Float[ndarray, "n"]
    knee: int | None
    foot_pitch: float | None
    tolerance: float
    iterations: int
    finish: bool

    def __post_init__(self) -> None:
        self.whole = self.leg
        if self.knee is not None:
            self.leg = bent(self.leg, self.knee)

    def run(self, method: str) -> tuple[Reached, str, str]:
        if method == "auto":
            if self._has_closed_form() and (branch := self.closed()).residual <= self.tolerance:
                return branch, "closed", ""
            method = "fabrik"
        if method == "closed":
            leg_geometry(self.robot, self.leg.name)  # raises with the reason, if it has none
            found = self.closed()
            if found.residual > self.tolerance:
                found = self.resolved_rate([found.joints, *self.starts()])
        elif method == "fabrik":
            found = self.fabrik()
        else:
            found = self.resolved_rate(self.starts())
        return found, method, self._why(found)

    def closed(self) -> Reached:
        """Return the branch within the limits nearest to the posture; otherwise one clipped to them."""
        pitch = self.foot_pitch
        if pitch is None:
            pitch = float(contact_angle(self.whole, self.posture)) if self._has_ankle() else 0.0
        found = [
            self._measured(pose.joints) for pose in branches(self.robot, self.leg.name, self.target, foot_pitch=pitch)
        ]
        there = [f for f in found if f.residual <= self.tolerance]
        return min(there, key=self._away) if there else min(found, key=lambda f: f.residual)

    def fabrik(self) -> Reached:
        pitches: list[float | None] = [self.foot_pitch]
        if self.foot_pitch is None and self._has_ankle() and self._has_closed_form():
            pitches = [float(contact_angle(self.whole, self.posture)), None]
        best, used = None, 0
        for pitch in pitches:
            for k, start in enumerate(self.starts()):
                count = self.iterations if k == 0 else min(self.iterations, _AGAIN)
                found = fabrik_leg(self.leg, self.target, start, pitch, count, self.tolerance)
                used += int(found.iterations)
                if self.finish and self.tolerance < found.residual < _CRAWLS * self.leg.reach:
                    found = self.resolved_rate([found.joints])
                    used += int(found.iterations)
                best = found if best is None or found.residual < best.residual else best
                if best.residual <= self.tolerance:
                    return Reached(best.joints, best.residual, used)
                if pitch is not None and self.foot_pitch is None:
                    break  # the posture's angle is only a preference
        assert best is not None
        last = self.resolved_rate([best.joints, *self.starts()]) if self.finish else best
        return Reached(last.joints, last.residual, used + int(last.iterations) * self.finish)

    def resolved_rate(self, starts: Sequence[PyTree]) -> Reached:
        best, used = None, 0
        for start in starts:
            found = resolved_rate_leg(
                self.leg, self.target, start, iterations=self.iterations, tolerance=self.tolerance
            )
            used += int(found.iterations)
            best = found if best is None or found.residual < best.residual else best
            if best.residual <= self.tolerance:
                break
        assert best is not None
        return Reached(best.joints, best.residual, used)

    def starts(self) -> list[Float[ndarray, "n"]]:
        """Return the posture, the posture with its last joints reversed, and some spread over the limits."""
        lower, upper = np.maximum(self.leg.lower, -np.pi), np.minimum(self.leg.upper, np.pi)
        upper = np.maximum(upper, lower)
        flipped = np.array([*self.posture[: self.leg.tail], *-self.posture[self.leg.tail :]])
        parts = np.modf(np.arange(1, _STARTS - 1)[:, None] * np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0]))[0]
        spread = [lower + (upper - lower) * np.resize(part, len(self.leg)) for part in parts]
        return [np.clip(start, self.leg.lower, self.leg.upper) for start in (self.posture, flipped, *spread)]

    def _measured(self, joints: Operand) -> Reached:
        inside = np.array([float(screw.within(value)) for screw, value in zip(self.leg.screws, joints)])
        return Reached(inside, float(distance(foot_position(self.leg, inside), self.target)), 0)

    def _away(self, found: Reached) -> float:
        """Return the distance from the posture; a different knee direction counts more than any distance."""
        other = 0.0
        if self.knee is None:
            leg = leg_geometry(self.robot, self.leg.name)
            other = 100.0 * (knee_direction(leg, found.joints) != knee_direction(leg, self.posture))
        return other + float(np.abs(found.joints - self.posture).max())

    def _has_closed_form(self) -> bool:
        return has_closed_form(self.robot, self.leg.name)

    def _has_ankle(self) -> bool:
        return self._has_closed_form() and leg_geometry(self.robot, self.leg.name).foot is not None

    def _why(self, found: Reached) -> str:
        name, short = self.leg.name, f"{1e3 * float(found.residual):.3g} mm"
        if found.residual <= self.tolerance:
            if self.foot_pitch is None or not self._has_ankle():
                return ""
            angle = float(contact_angle(self.whole, found.joints))
            requested = f"stands at {angle:.4g} rad, not at {self.foot_pitch:.4g}"
            return "" if abs(angle - self.foot_pitch) < _ANGLE else f"{name} is in place, but its last link {requested}"
        stuck = [
            f"{self.robot.joint_names[j]} at {value:.4g} rad"
            for j, value, screw in zip(self.leg.joints, found.joints, self.leg.screws)
            if min(value - screw.lower, screw.upper - value) < 1e-9
        ]
        beyond = self._has_closed_form() and self.foot_pitch is None and not self._has_ankle()
        if beyond and not leg_inverse(self.robot, name, self.target).reachable:
            return f"{name} is {short} short of its target, which is out of the leg's reach"
        limits = f", at the limit: {', '.join(stuck)}" if stuck else ""
        return f"{name} is {short} short of its target{limits}"


def _with_shared(
    robot: Robot, q: ndarray, wanted: Mapping[str, ndarray], foot_pitch: Operand, tolerance: float, iterations: int
) -> tuple[ndarray, int]:
    """Return q with the joints that carry several feet where they help most; feet without a target keep their
    position.
    """
    X_BW = body_poses(robot, q)[0].inverse()
    now = foot_positions(robot, q)
    targets = np.stack([X_BW.point(wanted.get(foot, now[k])) for k, foot in enumerate(robot.foot_names)])
    pitch = foot_pitch if not isinstance(foot_pitch, Mapping) else None
    found = fabrik(robot, targets, q[robot.nq - robot.nj :], pitch, iterations, tolerance, shared=True)
    return np.concatenate([q[: robot.nq - robot.nj], found.joints]), int(found.iterations)


def posture_of(robot: Robot, q: Operand) -> Float[ndarray, "nq"]:
    """Return the posture as given, checked, or the standing one."""
    if q is None:
        q = robot.state("stand" if "stand" in robot.poses else None)[0]
    q = np.asarray(q, dtype=float)
    check_shape(robot, q=(q, robot.nq))
    if not np.isfinite(q).all():
        raise InputError(f"q of robot '{robot.name}' is not finite")
    return q


def targets_of(robot: Robot, targets: Scalar) -> dict[str, ndarray]:
    """Return targets by foot, checked."""
    wanted = {}
    for foot, target in _by_foot(robot, targets).items():
        wanted[foot] = np.asarray(target, dtype=float)
        if not np.isfinite(wanted[foot]).all():
            raise InputError(f"the target of foot {foot} is not finite: {wanted[foot].tolist()}")
    return wanted


def _by_foot(robot: Robot, targets: Operand) -> dict[str, PyTree]:
    """Return targets by foot, which may be traced."""
    if not isinstance(targets, Mapping):
        shape = np.shape(targets)
        if shape != (robot.nf, 3):
            feet = ", ".join(robot.foot_names)
            raise InputError(f"targets must have shape ({robot.nf}, 3), for {feet}, or be a mapping; got {shape}")
        targets = dict(zip(robot.foot_names, targets))
    found = {}
    for name, target in targets.items():
        foot = robot.foot(name).name
        if foot in found:
            raise InputError(f"foot {foot} has two targets")
        if np.shape(target) != (3,):
            raise InputError(f"the target of foot {foot} must be three numbers, got shape {np.shape(target)}")
        found[foot] = target
    return found


def _of(value: Operand, foot: str) -> Operand:
    return value.get(foot) if isinstance(value, Mapping) else value

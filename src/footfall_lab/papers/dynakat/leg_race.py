"""Comparison of inverse kinematics on random targets: FABRIK, CCD, the Jacobian methods, closed form.

Every method starts from the standing posture, keeps the joint limits, and gets the same reachable targets: feet of
postures drawn uniformly within the limits. All are compiled; targets are timed one by one on one core.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy import ndarray

from footfall.compiling import compile, program
from footfall.kinematics.iterative.ccd import ccd_leg
from footfall.kinematics.iterative.fabrik_leg import fabrik_leg
from footfall.kinematics.iterative.resolved_rate import resolved_rate_leg
from footfall.kinematics.leg_chain import LegChain, foot_position, leg_chain
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import branches
from footfall.robot.model.description import Robot
from footfall_lab.papers.registered import setup
from nptrace._types import Scalar
from nptrace.array_types import Float

METHODS = {
    "fabrik": "FABRIK",
    "ccd": "cyclic coordinate descent",
    "levenberg": "damped least squares, Levenberg's rule",
    "manipulability": "damped least squares, by manipulability",
    "constant": "damped least squares, constant",
    "pseudo_inverse": "pseudo-inverse",
    "transpose": "Jacobian transpose",
}
MOST = setup("dynakat")["most_iterations"]
FINE, COARSE = setup("dynakat")["tolerance"], 1e-3  # [m]: exact, and visually exact
FAN = tuple(np.radians(np.linspace(-135.0, 135.0, 9)))  # of the last of four links [rad]


@dataclass(frozen=True, kw_only=True)
class Racer:
    """The results of one method on all targets, with one tolerance."""

    method: str
    tolerance: float  # [m]
    iterations: Float[ndarray, "N"]
    residual: Float[ndarray, "N"]  # [m]
    seconds: float  # seconds per target, on one core
    violation: float  # largest violation of a joint limit [rad]

    @property
    def failures(self) -> float:
        """The fraction of targets that were not reached."""
        return float(np.mean(~(self.residual <= self.tolerance)))

    @property
    def median(self) -> float:
        return float(np.median(self.iterations))

    @property
    def mean(self) -> float:
        return float(np.mean(self.iterations))


def reach(
    robot: Robot,
    target: Float[ndarray, "3"],
    start: Float[ndarray, "n"],
    foot: str = "LF",
    method: str = "fabrik",
    iterations: int = MOST,
    tolerance: float = FINE,
) -> tuple[Scalar, ...]:
    """Move a leg to a target; return joints, remaining distance, iterations."""
    leg = leg_chain(robot, foot)
    if method == "fabrik":
        return tuple(fabrik_leg(leg, target, start, None, iterations, tolerance))
    if method == "ccd":
        return tuple(ccd_leg(leg, target, start, iterations, tolerance))
    return tuple(resolved_rate_leg(leg, target, start, method, None, iterations, tolerance))


def reach_at(
    robot: Robot, target: Float[ndarray, "3"], start: Float[ndarray, "n"], pitch: float, foot: str = "LF"
) -> tuple[Scalar, ...]:
    """Move a leg to a target by FABRIK with a contact angle."""
    return tuple(fabrik_leg(leg_chain(robot, foot), target, start, pitch, 2 * MOST, FINE))


def closed(robot: Robot, target: Float[ndarray, "3"], foot: str = "LF") -> tuple[ndarray, ndarray]:
    """Return (joints within limits, remaining distance) of the best closed-form solution."""
    leg, geometry = leg_chain(robot, foot), leg_geometry(robot, foot)
    x, _, z = (target[k] - geometry.origin[k] for k in range(3))
    pitches = [0.0] if geometry.foot is None else [np.arctan2(x, -z) + turn for turn in FAN]
    joints, left = np.zeros(len(leg)), np.array(np.inf)
    for pitch in pitches:
        for pose in branches(robot, foot, target, foot_pitch=pitch):
            kept = np.clip(pose.joints, np.array(leg.lower), np.array(leg.upper))
            off = foot_position(leg, kept) - target
            far = np.sqrt(off @ off)
            joints, left = np.where(far < left, kept, joints), np.where(far < left, far, left)
    return joints, left


def race_closed(robot: Robot, targets: Float[ndarray, "N 3"], tolerance: float = FINE, foot: str = "LF") -> Racer:
    """Run the closed form on the targets; it counts as one iteration."""
    solve = compile(closed, robot, targets[0], target="batch", lanes=1, foot=foot)
    best = np.inf
    for _ in range(5):
        began = time.process_time()
        joints, left = solve(targets)
        best = min(best, time.process_time() - began)
    beyond = violation(leg_chain(robot, foot), joints)
    return Racer(
        method="closed",
        tolerance=tolerance,
        iterations=np.ones(len(targets)),
        residual=left,
        seconds=best / len(targets),
        violation=beyond,
    )


def foot_at(robot: Robot, joints: Float[ndarray, "n"], foot: str = "LF") -> Float[ndarray, "3"]:
    """Return the foot position of one leg in its carrier's frame."""
    return foot_position(leg_chain(robot, foot), joints)


def random_targets(robot: Robot, count: int, seed: int = 0, foot: str = "LF") -> Float[ndarray, "N 3"]:
    """Return feet of random postures within the limits (one revolution for a joint without limits)."""
    leg = leg_chain(robot, foot)
    joints = np.random.default_rng(seed).uniform(
        np.maximum(leg.lower, -np.pi), np.minimum(leg.upper, np.pi), (count, len(leg))
    )
    return compile(foot_at, robot, joints[0], target="batch", foot=foot)(joints)


def standing(robot: Robot, foot: str = "LF") -> Float[ndarray, "n"]:
    return robot.poses["stand"].joints[list(leg_chain(robot, foot).joints)]


def race(robot: Robot, targets: Float[ndarray, "N 3"], tolerance: float = FINE, foot: str = "LF") -> dict[str, Racer]:
    """Run all methods on the targets."""
    return {method: _entry(robot, targets, standing(robot, foot), method, tolerance, foot) for method in METHODS}


def _entry(robot: Robot, targets: ndarray, start: ndarray, method: str, tolerance: float, foot: str) -> Racer:
    solve = compile(
        reach, robot, targets[0], start, target="batch", lanes=1, foot=foot, method=method, tolerance=tolerance
    )
    starts = np.tile(start, (len(targets), 1))
    best = np.inf
    for _ in range(5):
        began = time.process_time()  # of this process, independent of other load
        joints, residual, iterations = solve(targets, starts)
        best = min(best, time.process_time() - began)
    return Racer(
        method=method,
        tolerance=tolerance,
        iterations=iterations,
        residual=residual,
        seconds=best / len(targets),
        violation=violation(leg_chain(robot, foot), joints),
    )


def violation(leg: LegChain, joints: Float[ndarray, "N n"]) -> float:
    """Return the largest violation of joint limits [rad]; 0 without any."""
    return float(max(0.0, (np.array(leg.lower) - joints).max(), (joints - np.array(leg.upper)).max()))


def error_curves(
    robot: Robot, targets: Float[ndarray, "N 3"], counts: tuple[int, ...], foot: str = "LF"
) -> dict[str, Float[ndarray, "k 3"]]:
    """Return quartiles of the remaining distance [m] over the number of iterations, by method."""
    starts = np.tile(standing(robot, foot), (len(targets), 1))
    curves = {}
    for method in METHODS:
        rows = []
        for count in counts:
            solve = compile(
                reach,
                robot,
                targets[0],
                starts[0],
                target="batch",
                foot=foot,
                method=method,
                iterations=count,
                tolerance=1e-14,
            )
            rows.append(np.percentile(solve(targets, starts)[1], (25, 50, 75)))
        curves[method] = np.array(rows)
    return curves


@cache
def operations(robot: Robot, method: str, foot: str = "LF") -> int:
    """Return the number of operations of one iteration in the traced program."""
    leg = leg_chain(robot, foot)
    sizes = [
        program(reach, robot, np.zeros(3), np.zeros(len(leg)), foot=foot, method=method, iterations=n, tolerance=0.0)
        for n in (0, 1)
    ]
    return int(sizes[1].size - sizes[0].size)


def best_time(call: Callable[[], object], least: float = 0.02) -> float:
    """Return the processor time per call [s]: the best of a few rounds of at least ``least`` seconds each."""
    count, best = 1, math.inf
    for _ in range(5):
        while True:
            began = time.process_time()
            for _ in range(count):
                call()
            took = time.process_time() - began
            if took >= least:
                break
            count *= 4
        best = min(best, took / count)
    return best

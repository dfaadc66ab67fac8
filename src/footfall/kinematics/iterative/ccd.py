"""Cyclic coordinate descent (Wang and Chen 1991): one joint after another, last first, rotates the end to its target.

In a leg every hinge rotates to bring the foot as near as possible; in a chain of points every ball joint rotates the
end onto the line to the target. It is the classic alternative to FABRIK. Plain NumPy that can be traced.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.kinematics.iterative.fabrik_chain import ITERATIONS, TOLERANCE, ReachedChain, check_chain, length_of
from footfall.kinematics.iterative.fabrik_leg import Reached, distance, joint_by_joint
from footfall.kinematics.leg_chain import LegChain, Values, foot_position
from footfall.spatial.vector import cross
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

_TINY = 1e-30
_OPPOSITE = 1e-9  # bound on 1 + cos: a half turn has no axis, and stays approximate


def ccd_leg(
    leg: LegChain,
    target: Float[ndarray, "3"],
    start: Values,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> Reached:
    """Solve the inverse kinematics of a leg by cyclic coordinate descent, within the joint limits.

    Args:
        leg: Chain of the leg (``leg_chain``).
        target: Position of the foot's centre in the frame of the body that carries the leg [m].
        start: Joint values to start from.
        iterations: Maximum number of iterations.
        tolerance: Distance at which the target counts as reached [m].

    Returns:
        Joint values, remaining distance [m], and iterations used.
    """

    def body(_: Scalar, carry: tuple[PyTree, PyTree, PyTree]) -> tuple[PyTree, PyTree, PyTree]:
        joints, far, used = carry
        done = far <= tolerance
        moved = np.stack(joint_by_joint(leg, target, list(joints)))
        left = distance(foot_position(leg, list(moved)), target)
        return np.where(done, joints, moved), np.where(done, far, left), used + np.where(done, 0.0, 1.0)

    first = np.stack([screw.within(value) for screw, value in zip(leg.screws, start)])
    carry = (first, distance(foot_position(leg, list(first)), target), 0.0)
    return Reached(*nptrace.repeat(iterations, body, carry, until=lambda c: c[1] <= tolerance))


def ccd_chain(
    points: Float[ndarray, "n 3"],
    target: Float[ndarray, "3"],
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> ReachedChain:
    """Reach for a target with a chain of ball joints, by cyclic coordinate descent.

    Args:
        points: Joints of the chain, root first [m].
        target: Target of its end [m].
        iterations: Largest number of iterations.
        tolerance: Distance at which the target counts as reached [m].

    Returns:
        Points of the chain, remaining distance [m], and iterations used.
    """
    check_chain(points, target)

    def body(_: Scalar, carry: tuple[PyTree, PyTree, PyTree]) -> tuple[PyTree, PyTree, PyTree]:
        now, far, used = carry
        done = far <= tolerance
        moved = [now[k] for k in range(len(points))]
        for k in reversed(range(len(points) - 1)):
            moved[k + 1 :] = _turned(moved[k], moved[k + 1 :], target)
        left = length_of(moved[-1] - target)
        return np.where(done, now, np.stack(moved)), np.where(done, far, left), used + np.where(done, 0.0, 1.0)

    start = (points, length_of(points[-1] - target), 0.0)
    return ReachedChain(*nptrace.repeat(iterations, body, start, until=lambda c: c[1] <= tolerance))


def _turned(joint: Operand, carried: list[Operand], target: Operand) -> list[Operand]:
    """Return the points below a ball joint, under the smallest rotation that puts the last of them on the line to
    the target.
    """
    a, b = _unit(carried[-1] - joint), _unit(target - joint)
    w, c = cross(a, b), np.sum(a * b)
    twice = 1.0 / np.maximum(1.0 + c, _OPPOSITE)
    out = []
    for point in carried:
        r = point - joint
        out.append(joint + c * r + cross(w, r) + (np.sum(w * r) * twice) * w)  # Rodrigues' formula
    return out


def _unit(v: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    return v / np.sqrt(np.sum(np.square(v)) + _TINY)

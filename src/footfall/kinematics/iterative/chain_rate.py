"""Resolved rate for a chain of points with ball joints: the Jacobian methods with which FABRIK is compared.

The end moves by ω × r for a rotation ω of the ball joint at -r from it, so that J Jᵀ = Σ (r² I - r rᵀ) is three by
three for any length of the chain, and the rotations for a force f at the end are r × f. Plain NumPy that can be traced.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import unknown
from footfall.kinematics.iterative.fabrik_chain import (
    ITERATIONS,
    TOLERANCE,
    ReachedChain,
    check_chain,
    length_of,
    link_lengths,
)
from footfall.kinematics.iterative.resolved_rate import DAMPING, TURN, solve_small
from footfall.spatial.quaternion import rotated, to_rotation
from footfall.spatial.vector import cross
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

CHAIN_RULES = ("pseudo_inverse", "damped", "transpose")
_TINY = 1e-12  # fraction of the squared reach: avoids a division by zero for a straight chain pulled along itself


def resolved_rate_chain(
    points: Float[ndarray, "n 3"],
    target: Float[ndarray, "3"],
    rule: str = "damped",
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> ReachedChain:
    """Reach for a target with a chain of ball joints, by steps of its Jacobian.

    No joint rotates by more than half a radian in a step.

    Args:
        points: Joints of the chain, root first [m].
        target: Where its end should be [m].
        rule: ``pseudo_inverse``; ``damped`` least squares, with a tenth of the reach as damping; or the ``transpose``
            of the Jacobian with the step that is best for the linear model.
        iterations: Largest number of iterations.
        tolerance: Distance at which the target counts as reached [m].

    Returns:
        Points of the chain, distance left [m], and iterations used.
    """
    if rule not in CHAIN_RULES:
        raise unknown("rule of a chain's resolved rate", rule, CHAIN_RULES)
    check_chain(points, target)
    reach = sum(link_lengths(points))

    def body(_: Scalar, carry: tuple[PyTree, PyTree, PyTree]) -> tuple[PyTree, PyTree, PyTree]:
        now, far, used = carry
        done = far <= tolerance
        moved = _step(now, target, rule, reach)
        left = length_of(moved[-1] - target)
        return np.where(done, now, moved), np.where(done, far, left), used + np.where(done, 0.0, 1.0)

    start = (points, length_of(points[-1] - target), 0.0)
    return ReachedChain(*nptrace.repeat(iterations, body, start, until=lambda c: c[1] <= tolerance))


def _step(points: Operand, target: Operand, rule: str, reach: Operand) -> Float[ndarray, "n 3"]:
    balls, end = len(points) - 1, points[-1]
    behind = [end - points[k] for k in range(balls)]
    A = sum((np.sum(r * r) * np.eye(3) - r[:, None] * r[None, :] for r in behind), start=np.zeros((3, 3)))
    miss = target - end
    if rule == "transpose":
        along = A @ miss
        force = miss * (np.sum(miss * along) / (np.sum(along * along) + 1e-30))
    else:
        square = (DAMPING * reach) ** 2 if rule == "damped" else _TINY * reach**2
        force = solve_small(A + square * np.eye(3), miss)
    turns = [cross(r, force) for r in behind]
    most = np.max(np.stack([length_of(turn) for turn in turns]))
    scale = TURN / np.maximum(most, TURN)
    moved, quat = [points[0]], np.array([1.0, 0.0, 0.0, 0.0])
    for k, turn in enumerate(turns):
        quat = rotated(quat, scale * turn)
        moved.append(moved[k] + to_rotation(quat) @ (points[k + 1] - points[k]))
    return np.stack(moved)

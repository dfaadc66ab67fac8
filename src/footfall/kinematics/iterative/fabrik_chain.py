"""FABRIK as published: Algorithm 1 of Aristidou and Lasenby 2011, described in the DynaKat report.

The chain consists of points joined by links of fixed length, with unlimited ball joints. The end is placed on the
target and the points before it are pulled along, one by one, keeping the lengths; then the first is put back at the
root and the chain is pulled in the other direction. A target out of reach straightens the chain towards it.
``fabrik_leg`` is its adaptation to legs, whose joints are hinges. Plain NumPy that can be traced.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import InputError
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

ITERATIONS, TOLERANCE = 200, 1e-7  # maximum iterations; distance of the chain's end [m]
_TINY = 1e-30


class ReachedChain(NamedTuple):
    """Points of a chain [m], the distance of its end from the target [m], iterations used."""

    points: Float[ndarray, "n 3"]
    residual: Scalar
    iterations: Scalar


def fabrik_chain(
    points: Float[ndarray, "n 3"],
    target: Float[ndarray, "3"],
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
) -> ReachedChain:
    """Reach for a target with a chain of ball joints, by FABRIK.

    A chain that is too short is straightened towards the target.

    Args:
        points: Joints of the chain, root first [m].
        target: Where its end should be [m].
        iterations: Largest number of iterations.
        tolerance: Distance at which the target counts as reached [m].

    Returns:
        Points of the chain, distance left [m], and iterations used.
    """
    check_chain(points, target)
    lengths = link_lengths(points)
    root = points[0]
    beyond = length_of(target - root) > sum(lengths)

    def body(_: Scalar, carry: tuple[PyTree, PyTree, PyTree]) -> tuple[PyTree, PyTree, PyTree]:
        now, far, used = carry
        done = far <= tolerance
        moved = reached_backward(reached_forward(now, lengths, target), lengths, root)
        left = length_of(moved[-1] - target)
        return np.where(done, now, moved), np.where(done, far, left), used + np.where(done, 0.0, 1.0)

    straight = reached_backward(np.stack([target] * len(points)), lengths, root, towards=target)
    first = np.where(beyond, straight, points)
    start = (first, np.where(beyond, 0.0, length_of(points[-1] - target)), 0.0)  # a straight chain is finished
    found, _, used = nptrace.repeat(iterations, body, start, until=lambda carry: carry[1] <= tolerance)
    return ReachedChain(found, length_of(found[-1] - target), used)


def reached_forward(
    points: Float[ndarray, "n 3"], lengths: list[Scalar], target: Float[ndarray, "3"], links: int | None = None
) -> Float[ndarray, "n 3"]:
    """Run stage 1: the end to the target, the points before it follow; ``links``: only this many, from the end."""
    moved = [points[k] for k in range(len(points))]
    moved[-1] = target
    count = len(lengths) if links is None else links
    for k in reversed(range(len(lengths) - count, len(lengths))):
        moved[k] = _pulled(moved[k + 1], moved[k], lengths[k])
    return np.stack(moved)


def reached_backward(
    points: Float[ndarray, "n 3"],
    lengths: list[Scalar],
    root: Float[ndarray, "3"],
    links: int | None = None,
    towards: Float[ndarray, "3"] | None = None,
) -> Float[ndarray, "n 3"]:
    """Run stage 2: the first point back to the root, the others follow; or all ``towards`` one point."""
    moved = [points[k] for k in range(len(points))]
    moved[0] = root
    count = len(lengths) if links is None else links
    for k in range(count):
        moved[k + 1] = _pulled(moved[k], moved[k + 1] if towards is None else towards, lengths[k])
    return np.stack(moved)


def _pulled(fixed: Operand, free: Operand, length: Operand) -> Float[ndarray, "3"]:
    """Return the free end of a link, moved along its line to the fixed end."""
    return fixed + (length / np.maximum(length_of(free - fixed), _TINY)) * (free - fixed)


def link_lengths(points: Float[ndarray, "n 3"]) -> list[Scalar]:
    return [length_of(points[k + 1] - points[k]) for k in range(len(points) - 1)]


def length_of(v: Float[ndarray, "3"]) -> Scalar:
    return np.sqrt(np.sum(np.square(v)))


def check_chain(points: Scalar, target: Scalar) -> None:
    shape = np.shape(points)
    if len(shape) != 2 or shape[1] != 3 or shape[0] < 2 or np.shape(target) != (3,):
        raise InputError(
            f"a chain needs at least two points of shape (n, 3) and a target of three, got {shape}, {np.shape(target)}"
        )

"""Free boxes that start across what is narrower than they are: boxes touch with their corners, and would fall through.

Seen from above, they overlap with no corner of either that touches over the other.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.boxes import Boxes
from footfall.contact.free_bodies import FreeBody, FreeBox
from footfall.errors import callers_level
from footfall.spatial import Transform
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_axis

if TYPE_CHECKING:
    from footfall.simulate.world import World

_SAMPLES = 41  # along an edge
_PLACED = tuple[Float[ndarray, "3"], Transform]  # half sides and where its middle is


def warn_of_bridges(world: World, solids: Sequence[_PLACED], spheres: Float[ndarray, "n 3"]) -> None:
    """A warning for every box that lies across something; ``solids`` are the links', ``spheres`` the centres of those
    with which the robot touches, all in the world."""
    free = [
        (body.solid.half, Transform(to_rotation(body.start[3:7]), body.start[:3]))
        if isinstance(body, FreeBox)
        else None
        for body in world.objects
    ]
    below: dict[str, tuple[list[_PLACED], Float[ndarray, "n 3"]]] = {}
    for link, solid in zip(world.solids, solids):
        at = [k for k, sphere in enumerate(world.spheres) if sphere.body == link.body]
        below.setdefault(f"{world.robot.name} {link.name}", ([], spheres[at]))[0].append(solid)
    for body, placed in zip(world.objects, free):
        if placed is not None:
            below[body.name] = ([placed], _touching(body, placed))
    for k, box in enumerate(world.ground.boxes if isinstance(world.ground, Boxes) else ()):
        R = about_axis(np.array([0.0, 0.0, 1.0]), box.yaw)
        below[f"box {k} of the ground"] = (
            [(0.5 * np.array(box.size), Transform(R, np.array(box.center)))],
            np.zeros((0, 3)),
        )
    for body, placed in zip(world.objects, free):
        for name, (others, points) in below.items():
            if (
                placed is not None
                and name != body.name
                and lies_across(placed, _touching(body, placed), others, points)
            ):
                warnings.warn(
                    f"{body.name} starts across {name} and would fall through it: boxes touch with their corners,"
                    " and no corner of the one is over the other (docs: beyond-four-feet)",
                    stacklevel=callers_level(),
                )


def lies_across(
    box: _PLACED, corners: Float[ndarray, "m 3"], others: Sequence[_PLACED], points: Float[ndarray, "n 3"]
) -> bool:
    """Whether a box is above others and over them without a corner; ``points`` are what of them touches it."""
    above = [other for other in others if box[1].p[2] > other[1].p[2]]
    if _hits(*box, points).any() or any(_hits(*other, corners).any() for other in above):
        return False
    return any(_hits(*other, _edges(*box)).any() or _hits(*box, _edges(*other)).any() for other in above)


def _start(body: FreeBox) -> _PLACED:
    return body.solid.half, Transform(to_rotation(body.start[3:7]), body.start[:3])


def _touching(body: FreeBody, box: _PLACED) -> Float[ndarray, "n 3"]:
    """The middles of the rounded corners of a box."""
    return np.array([box[1].point(sphere.center) for sphere in body.spheres])


def _corners(half: Float[ndarray, "3"], X: Transform) -> Float[ndarray, "8 3"]:
    signs = np.array([[x, y, z] for x in (1, -1) for y in (1, -1) for z in (1, -1)])
    return X.p + (signs * half) @ X.R.T


def _edges(half: Float[ndarray, "3"], X: Transform) -> Float[ndarray, "n 3"]:
    """Points along the twelve edges."""
    corners = _corners(half, X)
    ends = [(a, b) for a in range(8) for b in (a ^ 1, a ^ 2, a ^ 4) if a < b]
    along = np.linspace(0.0, 1.0, _SAMPLES)[:, None]
    return np.concatenate([corners[a] + along * (corners[b] - corners[a]) for a, b in ends])


def _hits(half: Float[ndarray, "3"], X: Transform, points: Float[ndarray, "n 3"]) -> ndarray:
    """Of every point whether the vertical line through it meets a box: slabs, Ericson, Real-Time Collision, 5.3.3."""
    way, start = X.R[2], (points - X.p) @ X.R
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(side * half - start) / way for side in (-1.0, 1.0)])
    flat = np.abs(way) < 1e-9
    first = np.where(flat, -np.inf, ends.min(axis=0)).max(axis=1)
    last = np.where(flat, np.inf, ends.max(axis=0)).min(axis=1)
    return (first <= last) & (~flat | (np.abs(start) <= half)).all(axis=1)

"""Closed loops: constraints between links besides the joints of the tree (five-bar legs, rods, belts, coupled joints).

A loop is cut open somewhere, so that the joints are a tree, and closed again by a ``Loop``: two points of two links
coincide, two frames coincide, or one joint's position is a polynomial of another's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.errors import ModelError
from footfall.robot.model.parts import MOST_LENGTH, array_of, name_of
from footfall.robot.model.tree import Tree
from footfall.spatial.rotation import about_axis, is_rotation, snapped
from footfall.spatial.transform import Transform
from nptrace.array_types import Float

if TYPE_CHECKING:
    from footfall.robot.model.description import Robot

LOOP_KINDS = ("point", "frame", "joint")
_POSTURES = 24  # random states at which the freedom of a loop's ends is determined
_STILL = 1e-9  # [m] or [rad]: less is rounding


@dataclass(frozen=True, eq=False, kw_only=True)
class Loop:
    """A constraint that closes a kinematic loop.

    ``point``: the point ``at`` [m] of link ``first`` coincides with the point ``to`` [m] of link ``second``: a pin or
    ball joint. ``frame``: additionally, the axes of ``second`` stay rotated by ``rotation`` relative to those of
    ``first``: a weld. ``joint``: ``first`` and ``second`` are joints, q_first = c_0 + c_1 q_second + c_2 q_second² +
    ...: a belt, a gear.
    """

    name: str
    kind: str
    first: str
    second: str
    at: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    to: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    rotation: Float[ndarray, "3 3"] = field(default_factory=lambda: np.eye(3))
    coefficients: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self) -> None:
        what = f"loop '{name_of(self.name, 'a loop')}'"
        if self.kind not in LOOP_KINDS:
            raise ModelError(f"{what} has the kind '{self.kind}': choose {', '.join(LOOP_KINDS)}")
        if self.first == self.second:
            raise ModelError(f"{what} ties '{self.first}' to itself")
        rotation = snapped(array_of(self.rotation, (3, 3), f"rotation of {what}"))
        if not is_rotation(rotation):
            raise ModelError(f"rotation of {what} is not a rotation matrix: {rotation.tolist()}")
        rotation.setflags(write=False)
        if not 1 <= len(self.coefficients) <= 8:
            raise ModelError(f"{what} must have 1 to 8 coefficients, got {len(self.coefficients)}")
        coefficients = array_of(self.coefficients, (len(self.coefficients),), f"coefficients of {what}")
        values = {
            "at": array_of(self.at, (3,), f"point of {what}", MOST_LENGTH),
            "rotation": rotation,
            "to": array_of(self.to, (3,), f"point of {what}", MOST_LENGTH),
            "coefficients": tuple(coefficients.tolist()),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    def error(self, X_A: Transform, X_B: Transform) -> Float[ndarray, "rows"]:
        """Return the distance of the ends in the axes of ``first``, from the poses of both links in any frame: three
        numbers [m], and for a frame three more, approximately [rad].
        """
        p: ndarray = X_A.R.T @ (X_B.point(self.to) - X_A.point(self.at))
        if self.kind == "point":
            return p
        R = X_A.R.T @ X_B.R @ self.rotation.T
        turn = 0.5 * np.stack([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
        return np.concatenate([p, turn])


def check_loops(robot: Robot, tree: Tree) -> None:
    """Raise for loops of unknown links or joints, between fixed parts, and those that cannot be closed."""
    names = [loop.name for loop in robot.loops]
    for loop in robot.loops:
        if names.count(loop.name) > 1:
            raise ModelError(f"robot '{robot.name}' has two loops named '{loop.name}'")
        known = list(tree.joint_names) if loop.kind == "joint" else list(tree.frames)
        for end in (loop.first, loop.second):
            if end not in known:
                kind = "joint" if loop.kind == "joint" else "link"
                raise ModelError(
                    f"loop '{loop.name}' ties the unknown {kind} '{end}': this robot has {', '.join(known)}"
                )
        if loop.kind != "joint" and tree.frames[loop.first][0] == tree.frames[loop.second][0]:
            raise ModelError(f"loop '{loop.name}' ties '{loop.first}' to '{loop.second}', which do not move apart")


def loop_axes(tree: Tree, loops: tuple[Loop, ...]) -> tuple[ndarray, ...]:
    """Return the directions (columns) in which the ends of every loop can move apart, in the axes of its first link.

    The ends of a planar linkage cannot leave its plane: a row for that would be zero, and its force undetermined.
    Directions are coordinate axes wherever possible.
    """
    rng = np.random.default_rng(0)
    postures = [_poses(tree, rng.uniform(-1.0, 1.0, len(tree.bodies) - 1)) for _ in range(_POSTURES)]
    found = []
    for loop in loops:
        if loop.kind == "joint":
            found.append(np.eye(1))
            continue
        (a, X_A), (b, X_B) = tree.frames[loop.first], tree.frames[loop.second]
        errors = np.stack([loop.error(X[a] @ X_A, X[b] @ X_B) for X in postures])
        parts = [_moving(errors[:, :3], loop.name)]
        if loop.kind == "frame":
            parts.append(_moving(errors[:, 3:], loop.name))
        axes = np.zeros((errors.shape[1], sum(part.shape[1] for part in parts)))
        axes[:3, : parts[0].shape[1]] = parts[0]
        if loop.kind == "frame":
            axes[3:, parts[0].shape[1] :] = parts[1]
        found.append(axes)
    return tuple(found)


def _moving(errors: Float[ndarray, "n 3"], name: str) -> Float[ndarray, "3 k"]:
    """Return directions in which errors vary; the errors must vanish in the others."""
    mean = errors.mean(axis=0)
    _, sizes, rows = np.linalg.svd(errors - mean)
    directions, moves = rows.T, sizes > _STILL
    apart = np.abs(directions[:, ~moves].T @ mean)
    if apart.max(initial=0.0) > 1e3 * _STILL:
        raise ModelError(
            f"loop '{name}' cannot be closed: its ends remain {apart.max():.3g} apart for all joint positions"
        )
    still = directions[:, ~moves]
    for count in range(3):  # coordinate axes, if the rest is spanned by the others
        if still.shape[1] == count:
            plain = np.flatnonzero(np.abs(still).max(axis=1, initial=0.0) < 1e-9)
            if len(plain) == 3 - count:
                return np.eye(3)[:, plain]
    return directions[:, moves]


def _poses(tree: Tree, joints: ndarray) -> list[Transform]:
    X = [Transform.identity()]
    for body, q in zip(tree.bodies[1:], joints):
        R = body.X_PJ.R @ about_axis(body.axis, q) if body.kind == "revolute" else body.X_PJ.R
        p = body.X_PJ.p + (0.0 if body.kind == "revolute" else q) * (body.X_PJ.R @ body.axis)
        X.append(X[body.parent] @ Transform(R, p))
    return X

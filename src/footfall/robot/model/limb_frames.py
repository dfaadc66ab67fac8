"""Frames in which like limbs look alike: what a compiled step needs to run four legs as the lanes of one program.

A model file may turn the frames of each leg as it likes. The numbers of its legs then have their zeros and ones in
different places, a trace simplifies each leg in its own way, and no two legs are one program any more. Here the bodies
of like limbs are given other frames. Their axes are those of their parent, turned no further than it takes for their
joint's axis to be the same coordinate axis in all of them; their origin slides along that axis to where the next joint,
or the foot, is beside it. Joints keep their angles, senses and order, so that q, v, torques and forces are the robot's
own; the robot's links are not touched, and nothing outside of a step sees these frames.

Where a number is zero or one in some of the limbs only, it is marked, for a trace to keep it as it is in all of them
(``nptrace.no_fold``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

import nptrace
from footfall.robot.model.tree import Tree
from footfall.spatial.inertia import Inertia
from footfall.spatial.transform import Transform
from footfall.spatial.vector import cross, skew, symmetric

_ROUNDING = 8 * np.finfo(float).eps  # a rotation leaves so much of a vector's length where a component was zero

Limb = tuple[int, ...]  # its bodies, root first


@dataclass(frozen=True)
class LimbFrames:
    """How the bodies of like limbs are given like frames, and which of their numbers a trace must not simplify."""

    new_axes: dict[int, Float[ndarray, "3 3"]] = field(default_factory=dict)  # R_BN: the new axes of a body in its own
    rotations: dict[int, Float[ndarray, "3 3"]] = field(default_factory=dict)  # of its joint's frame in its parent
    axes: dict[int, Float[ndarray, "3"]] = field(default_factory=dict)  # of its joint, in the new axes
    slides: dict[int, Float[ndarray, "3"]] = field(default_factory=dict)  # of its origin, in the new axes
    marks: dict[tuple[int, str], ndarray] = field(default_factory=dict)  # (body, part): which numbers are opaque

    @staticmethod
    def of(tree: Tree) -> LimbFrames:
        """Return the frames for a robot: its own ones for limbs that are alike already, or that have no twin."""
        frames = LimbFrames()
        for limbs in like_limbs(tree):
            frames |= _best(tree, limbs)
        return frames

    def __or__(self, other: LimbFrames) -> LimbFrames:
        """Both; they are about different limbs."""
        return LimbFrames(*(getattr(self, f.name) | getattr(other, f.name) for f in fields(LimbFrames)))

    def __bool__(self) -> bool:
        """Whether they differ from the robot's own."""
        return bool(self.new_axes or self.marks)

    def into(self, body: int, vector: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return a vector in a body's own axes, in its new axes."""
        return _clean(self.new_axes[body].T @ vector) if body in self.new_axes else vector

    def point(self, body: int, point: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return a point of a body in its new frame."""
        moved = self.into(body, point)
        return _clean(moved - self.slides[body], moved) if body in self.slides else moved

    def place(self, body: int, point: Float[ndarray, "3"], name: object) -> Float[ndarray, "3"]:
        """Return a point of a body in its new frame, opaque where the feet of like limbs are."""
        moved, which = self.point(body, point), self.marks.get((body, "foot 0"))
        return moved if which is None else nptrace.no_fold(moved, which, name)

    def apply(self, tree: Tree) -> Tree:
        """Return the same robot in these frames; in a trace the marked numbers are opaque."""
        rotated = self._rotated_tree(tree)
        parts = {i: _parts(rotated, i) for i in {i for i, _ in self.marks}}
        for (i, part), which in self.marks.items():
            parts[i][part] = nptrace.no_fold(parts[i][part], which, (i, part))
        return _with_parts(rotated, parts)

    def _rotated_tree(self, tree: Tree) -> Tree:
        bodies = list(tree.bodies)
        for i, R_BN in self.new_axes.items():
            body = tree.bodies[i]
            own = body.inertia
            rotated = Inertia(own.m, self.into(i, own.h), _clean(symmetric(R_BN.T @ own.J @ R_BN)))
            bodies[i] = replace(
                body,
                axis=self.axes[i],
                X_PJ=Transform(self.rotations[i], self._origin(tree, i)),
                inertia=rotated.to_parent(Transform(np.eye(3), -self.slides[i])) if i in self.slides else rotated,
                spins=tuple(replace(spin, momentum=self.into(i, spin.momentum)) for spin in body.spins),
            )
        feet = tuple(self.point(i, p) for i, p in zip(tree.feet, tree.foot_positions))
        frames = {
            name: (i, Transform(self.new_axes[i].T @ X.R, self.point(i, X.p)) if i in self.new_axes else X)
            for name, (i, X) in tree.frames.items()
        }
        return replace(tree, bodies=tuple(bodies), foot_positions=feet, frames=frames)

    def _origin(self, tree: Tree, i: int) -> Float[ndarray, "3"]:
        """Return the origin of a joint's frame, in the new frame of the body that carries it."""
        p = self.into(tree.parent[i], tree.bodies[i].X_PJ.p)
        if i in self.slides:
            p = p + self.rotations[i] @ self.slides[i]
        return _clean(p - self.slides[tree.parent[i]], p) if tree.parent[i] in self.slides else p


def like_limbs(tree: Tree) -> list[list[Limb]]:
    """Return limbs that have the same joints and feet in the same order, two or more a group.

    A limb is all that hangs on the trunk by one joint; the trunk is the base, and every body with two feet behind it.
    """
    trunk = [i for i, below in enumerate(tree.subtree) if i == 0 or sum(foot in below for foot in tree.feet) > 1]
    groups: dict[tuple[object, ...], list[Limb]] = defaultdict(list)
    for i in range(1, len(tree.bodies)):
        if i not in trunk and tree.parent[i] in trunk:
            limb = tree.subtree[i]
            parents = (0, *(tree.parent[k] - i for k in limb[1:]))
            kinds = tuple((tree.bodies[k].kind, len(tree.bodies[k].spins), tree.feet.count(k)) for k in limb)
            groups[parents, kinds].append(limb)
    return [limbs for limbs in groups.values() if len(limbs) > 1]


def _best(tree: Tree, limbs: Sequence[Limb]) -> LimbFrames:
    """Frames for like limbs that leave least to be multiplied, their own ones if nothing stands against them."""
    products, own = _marked(LimbFrames(), tree, limbs)
    axes = [np.stack([tree.bodies[i].axis for i in twins]) for twins in zip(*limbs)]
    same_axes = all((a == a[0]).all() for a in axes)
    if same_axes and not own.marks:
        return own
    fewer, rotated = _marked(_rotated(tree, limbs), tree, limbs)
    return rotated if fewer < products or not same_axes else own


def _rotated(tree: Tree, limbs: Sequence[Limb]) -> LimbFrames:
    """Each body's axes are its parent's, turned no further than its joint needs to be about a coordinate axis."""
    frames = LimbFrames()
    for twins in zip(*limbs):
        axes_P = [frames.into(tree.parent[i], tree.bodies[i].X_PJ.R @ tree.bodies[i].axis) for i in twins]
        k = int(np.argmax(np.abs(axes_P).sum(axis=0)))
        sign = -1.0 if all(axis[k] < 0 for axis in axes_P) else 1.0
        for i, axis_P in zip(twins, axes_P):
            frames.axes[i] = sign * np.eye(3)[k]
            frames.rotations[i] = R_PN = _least_rotation(k, sign * axis_P)
            R_BP = tree.bodies[i].X_PJ.R.T
            frames.new_axes[i] = R_BP @ frames.new_axes.get(tree.parent[i], np.eye(3)) @ R_PN
    for i in reversed([i for limb in limbs for i in limb]):  # from the feet, for what they hang on to follow
        beside = [frames._origin(tree, k) for k in tree.children[i]]
        beside += [frames.into(i, p) for foot, p in zip(tree.feet, tree.foot_positions) if foot == i]
        if beside:
            frames.slides[i] = np.abs(frames.axes[i]) * beside[0]
    return frames


def _least_rotation(k: int, axis: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
    """The least rotation that takes coordinate axis k to ``axis``, after half a turn where the two are opposed."""
    if axis[k] < -0.9:
        half_turn = -np.eye(3)
        half_turn[(k + 1) % 3, (k + 1) % 3] = 1.0
        return _least_rotation(k, -axis) @ half_turn
    v = cross(np.eye(3)[k], axis)
    return _clean(np.eye(3) + skew(v) + skew(v) @ skew(v) / (1.0 + axis[k]))


# -- marks -------------------------------------------------------------------------------------------------------------
def _marked(frames: LimbFrames, tree: Tree, limbs: Sequence[Limb]) -> tuple[int, LimbFrames]:
    """(numbers that cost a product, the frames with marks where like limbs differ in zeros and ones)."""
    tree, products = frames._rotated_tree(tree), 0
    marks: dict[tuple[int, str], ndarray] = {}
    for twins in zip(*limbs):
        parts = [_parts(tree, i) for i in twins]
        for part in parts[0]:
            kinds = np.stack([_kind(p[part]) for p in parts])
            differ = (kinds != kinds[0]).any(axis=0)
            products += int((differ | (kinds[0] == _OTHER)).sum())
            if differ.any():
                marks |= {(i, part): differ for i in twins}
    return products, replace(frames, marks=marks)


_OTHER = 9.0


def _kind(x: ndarray) -> ndarray:
    """Return what a trace would do with a number: drop it (0), pass it on (1), change a sign (-1), multiply."""
    return np.where(np.isin(x, (-1.0, 0.0, 1.0)), x, _OTHER)


_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _parts(tree: Tree, i: int) -> dict[str, ndarray]:
    """The numbers of a body, by name; of its second moment the upper triangle."""
    body, feet = tree.bodies[i], [p for foot, p in zip(tree.feet, tree.foot_positions) if foot == i]
    parts = {"rotation": body.X_PJ.R, "origin": body.X_PJ.p, "moment": body.inertia.h}
    parts["second moment"] = np.stack([body.inertia.J[row, column] for row, column in _UPPER])
    parts |= {f"spin {k}": spin.momentum for k, spin in enumerate(body.spins)}
    return parts | {f"foot {k}": p for k, p in enumerate(feet)}


def _with_parts(tree: Tree, parts: dict[int, dict[str, ndarray]]) -> Tree:
    """The tree with other numbers in some of its bodies: the inverse of ``_parts``."""
    bodies, feet = list(tree.bodies), list(tree.foot_positions)
    for i, new in parts.items():
        body = bodies[i]
        a, b, c, d, e, f = new["second moment"]
        bodies[i] = replace(
            body,
            X_PJ=Transform(new["rotation"], new["origin"]),
            inertia=Inertia(body.inertia.m, new["moment"], np.array([[a, b, c], [b, d, e], [c, e, f]])),
            spins=tuple(replace(spin, momentum=new[f"spin {k}"]) for k, spin in enumerate(body.spins)),
        )
        for k, place in enumerate(place for place, foot in enumerate(tree.feet) if foot == i):
            feet[place] = new[f"foot {k}"]
    return replace(tree, bodies=tuple(bodies), foot_positions=tuple(feet))


def _clean(x: ndarray, size: ndarray | None = None) -> ndarray:
    """Numbers with what rounding has left of zeros removed, for numbers of that size; traced ones as they are."""
    size = x if size is None else size
    if any(type(v) not in (float, np.float64) for v in (*x.ravel(), *size.ravel())):
        return x
    return np.where(np.abs(x) < _ROUNDING * np.sqrt((size * size).sum()), 0.0, x)

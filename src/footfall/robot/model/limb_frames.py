"""Frames in which equal limbs have equal numbers, so that a compiled step can run four legs as lanes of one program.

A model file may orient the frames of each leg arbitrarily. The numbers of its legs then have their zeros and ones in
different positions, a trace simplifies each leg differently, and no two legs share a program. Here the bodies of equal
limbs are given new frames. Their axes are those of their parent under the smallest rotation that makes their joint's
axis the same coordinate axis in all of them; their origin is moved along that axis to the foot of the perpendicular
from the next joint, or the foot. Joints keep their angles, signs and order, so that q, v, torques and forces are
unchanged; the robot's links are not modified, and these frames are used only inside a step.

A number that is zero or one in only some of the limbs is marked, so that a trace keeps it in all of them
(``nptrace.no_fold``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy import ndarray

import nptrace
from footfall.robot.model.tree import Tree
from footfall.spatial.inertia import Inertia
from footfall.spatial.transform import Transform
from footfall.spatial.vector import cross, skew, symmetric
from nptrace.array_types import Float

_ROUNDING = 8 * np.finfo(float).eps  # rounding of a rotation: fraction of a vector's length where a component was zero

Limb = tuple[int, ...]  # its bodies, root first


@dataclass(frozen=True)
class LimbFrames:
    """The new frames of the bodies of equal limbs, and which of their numbers a trace must not simplify."""

    # R_BN: the new axes of a body in its old ones
    new_axes: dict[int, Float[ndarray, "3 3"]] = field(default_factory=dict)
    # rotation of its joint's frame in its parent
    rotations: dict[int, Float[ndarray, "3 3"]] = field(default_factory=dict)
    axes: dict[int, Float[ndarray, "3"]] = field(default_factory=dict)  # axis of its joint, in the new axes
    slides: dict[int, Float[ndarray, "3"]] = field(default_factory=dict)  # position of its origin, in the new axes
    marks: dict[tuple[int, str], ndarray] = field(default_factory=dict)  # (body, part): which numbers are opaque

    @staticmethod
    def of(tree: Tree) -> LimbFrames:
        """Return the frames for a robot: its own for limbs that are already equal, or that have no counterpart."""
        frames = LimbFrames()
        for limbs in like_limbs(tree):
            frames |= _best(tree, limbs)
        return frames

    def __or__(self, other: LimbFrames) -> LimbFrames:
        """Combine frames of different limbs."""
        return LimbFrames(*(getattr(self, f.name) | getattr(other, f.name) for f in fields(LimbFrames)))

    def __bool__(self) -> bool:
        """Return whether they differ from the robot's own."""
        return bool(self.new_axes or self.marks)

    def into(self, body: int, vector: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return a vector in a body's own axes, in its new axes."""
        return _clean(self.new_axes[body].T @ vector) if body in self.new_axes else vector

    def point(self, body: int, point: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return a point of a body in its new frame."""
        moved = self.into(body, point)
        return _clean(moved - self.slides[body], moved) if body in self.slides else moved

    def place(self, body: int, point: Float[ndarray, "3"], name: object) -> Float[ndarray, "3"]:
        """Return a point of a body in its new frame, opaque where the feet of equal limbs are."""
        moved, which = self.point(body, point), self.marks.get((body, "foot 0"))
        return moved if which is None else nptrace.no_fold(moved, which, name)

    def apply(self, tree: Tree) -> Tree:
        """Return the robot in these frames; in a trace the marked numbers are opaque."""
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
    """Return groups of two or more limbs that have equal joints and feet in equal order.

    A limb is everything below one joint of the trunk; the trunk is the base, and every body that carries two feet.
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
    """Return the frames for equal limbs with the fewest multiplications; their own ones if equally good."""
    products, own = _marked(LimbFrames(), tree, limbs)
    axes = [np.stack([tree.bodies[i].axis for i in twins]) for twins in zip(*limbs)]
    same_axes = all((a == a[0]).all() for a in axes)
    if same_axes and not own.marks:
        return own
    fewer, rotated = _marked(_rotated(tree, limbs), tree, limbs)
    return rotated if fewer < products or not same_axes else own


def _rotated(tree: Tree, limbs: Sequence[Limb]) -> LimbFrames:
    """Return each body's axes: its parent's, under the smallest rotation that puts its joint's axis along a
    coordinate axis.
    """
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
    for i in reversed([i for limb in limbs for i in limb]):  # from the feet, for their parents to follow
        beside = [frames._origin(tree, k) for k in tree.children[i]]
        beside += [frames.into(i, p) for foot, p in zip(tree.feet, tree.foot_positions) if foot == i]
        if beside:
            frames.slides[i] = np.abs(frames.axes[i]) * beside[0]
    return frames


def _least_rotation(k: int, axis: Float[ndarray, "3"]) -> Float[ndarray, "3 3"]:
    """Return the smallest rotation that maps coordinate axis k to ``axis``, after half a turn where the two are
    opposed.
    """
    if axis[k] < -0.9:
        half_turn = -np.eye(3)
        half_turn[(k + 1) % 3, (k + 1) % 3] = 1.0
        return _least_rotation(k, -axis) @ half_turn
    v = cross(np.eye(3)[k], axis)
    return _clean(np.eye(3) + skew(v) + skew(v) @ skew(v) / (1.0 + axis[k]))


# -- marks -------------------------------------------------------------------------------------------------------------
def _marked(frames: LimbFrames, tree: Tree, limbs: Sequence[Limb]) -> tuple[int, LimbFrames]:
    """Return (numbers that cost a product, the frames with marks where equal limbs differ in zeros and ones)."""
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
    """Return how a trace treats a number: drop it (0), pass it on (1), change a sign (-1), multiply."""
    return np.where(np.isin(x, (-1.0, 0.0, 1.0)), x, _OTHER)


_UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _parts(tree: Tree, i: int) -> dict[str, ndarray]:
    """Return the numbers of a body, by name; the upper triangle of its second moment."""
    body, feet = tree.bodies[i], [p for foot, p in zip(tree.feet, tree.foot_positions) if foot == i]
    parts = {"rotation": body.X_PJ.R, "origin": body.X_PJ.p, "moment": body.inertia.h}
    parts["second moment"] = np.stack([body.inertia.J[row, column] for row, column in _UPPER])
    parts |= {f"spin {k}": spin.momentum for k, spin in enumerate(body.spins)}
    return parts | {f"foot {k}": p for k, p in enumerate(feet)}


def _with_parts(tree: Tree, parts: dict[int, dict[str, ndarray]]) -> Tree:
    """Return the tree with other numbers in some of its bodies: the inverse of ``_parts``."""
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
    """Return numbers with rounding residues set to zero, for numbers of that size; traced ones unchanged."""
    size = x if size is None else size
    if any(type(v) not in (float, np.float64) for v in (*x.ravel(), *size.ravel())):
        return x
    return np.where(np.abs(x) < _ROUNDING * np.sqrt((size * size).sum()), 0.0, x)

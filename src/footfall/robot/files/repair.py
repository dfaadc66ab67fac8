"""Detection of impossible inertias by the link's size, and their replacement by those of its shape on request.

Files of hobby robots contain placeholders (100 kg m² for a trunk of 2 kg), tensors in grams and millimetres, and
tensors whose principal moments violate the triangle inequality. Their masses and lengths are right, which is all that
the inertia of a shape needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy import ndarray

from footfall.robot.files.draft import Draft, Shape
from footfall.robot.files.feet import points_of
from footfall.robot.files.guard import POINT_SIZE, shown
from footfall.robot.model.parts import Link
from footfall.robot.model.shapes import box_inertia, capsule_inertia, cylinder_inertia
from footfall.spatial.transform import Transform

REMEDY = "repair_inertia=True (--repair-inertia) replaces such tensors by those of the links' shapes"
_TIMES = 5.0  # radius of gyration over the furthest point of a link: at most 1, or slightly more with a rotor in it
_FELT = 1e-3  # fraction of the robot's inertia: a smaller one changes no motion
_HEAVY = 0.05  # fraction of the robot's mass, ...
_THIN = 0.1  # ... and radius of gyration over its size: below that it is not a point mass on a larger body
_SLENDER = 0.2  # shortest over longest side of a box around points
_DENSITY = 1000.0  # [kg/m³] for a link of known mass only
_LISTED = 6  # names listed in a message


def impossible(draft: Draft) -> dict[str, str]:
    """Return links with a radius of gyration many times their size, or of zero, and a description of both."""
    X_RL = draft.placements()
    whole = float(np.linalg.norm(np.ptp([X.p for X in X_RL.values()], axis=0)))
    welded, by_name = _welded(draft), {link.name: link for link in draft.links}
    mass = sum(link.mass for link in draft.links)
    found = {}
    for link in draft.links:
        if link.mass <= 0:
            continue
        most = float(np.linalg.eigvalsh(link.inertia)[-1])
        gyration = math.sqrt(max(most, 0.0) / link.mass)
        corners = [X_RL[name].point(p) for name in welded[link.name] for p in _points(draft, name)]
        size = float(np.linalg.norm(np.array(corners) - X_RL[link.name].point(link.com), axis=1).max()) or whole
        if gyration > _TIMES * size and most > _FELT * mass * whole**2:
            found[link.name] = f"a radius of gyration of {gyration:.3g} m on a link of {size:.2g} m"
        elif most <= 2 * link.mass * POINT_SIZE**2 and link.mass > _HEAVY * mass:
            others = sum(float(by_name[name].inertia.trace()) for name in welded[link.name] if name not in found)
            if others < 2 * link.mass * (_THIN * size) ** 2:
                found[link.name] = f"{link.mass:g} kg and no inertia on a link of {size:.2g} m"
    return found


def repaired(draft: Draft, names: Iterable[str]) -> Draft:
    """Return the draft with the inertias of some links replaced by those of their shapes."""
    wanted = set(names)
    return replace(draft, links=[_of_shape(draft, link) if link.name in wanted else link for link in draft.links])


def listed(names: list[str]) -> str:
    """Name links in a message."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"link{'s' if len(names) > 1 else ''} {', '.join(shown(name) for name in names[:_LISTED])}{more}"


def is_broken(tensor: ndarray) -> bool:
    """Return whether no body can have this tensor."""
    a, b, c = np.linalg.eigvalsh(tensor)
    return bool(a <= 0 or a + b < c * (1 - 1e-6))


def _of_shape(draft: Draft, link: Link) -> Link:
    """Return a link with the inertia of its shapes at uniform density, about their common centre; otherwise of a box
    around its joints.
    """
    parts = [part for shape in _shapes(draft, link.name) if (part := _solid(shape)) is not None]
    if not parts:
        points = _points(draft, link.name)
        sides = np.ptp(points, axis=0)
        longest = float(sides.max()) or (link.mass / _DENSITY) ** (1.0 / 3.0)
        tensor = box_inertia(link.mass, np.maximum(sides, _SLENDER * longest).tolist())
    else:
        masses = np.array([volume for volume, _, _ in parts])
        masses *= link.mass / masses.sum()
        centre = sum(m * X.p for m, (_, _, X) in zip(masses, parts)) / link.mass
        tensor = np.zeros((3, 3))
        for m, (_, unit, X) in zip(masses, parts):
            arm = X.p - centre
            tensor += X.R @ (m * unit) @ X.R.T + m * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))
    return Link(name=link.name, mass=link.mass, com=link.com, inertia=(tensor + tensor.T) / 2, box=link.box)


def _solid(shape: Shape) -> tuple[float, ndarray, Transform] | None:
    """Return (volume, inertia per kilogram about its centre, position of the centre) of a shape; for a mesh, of its
    bounding box.
    """
    if shape.kind == "mesh":
        points = points_of(shape)
        if points is None:
            return None
        low, high = points.min(axis=0), points.max(axis=0)
        sides = np.maximum(high - low, 1e-6)
        X = Transform(shape.X_LS.R, shape.X_LS.point((low + high) / 2))
        return float(np.prod(sides)), box_inertia(1.0, sides.tolist()), X
    size = shape.size
    if not size.size or size.min() <= 0:
        return None
    if shape.kind == "sphere":
        r = float(size[0])
        return 4 / 3 * math.pi * r**3, 0.4 * r * r * np.eye(3), shape.X_LS
    if shape.kind in ("capsule", "cylinder"):
        r, length = float(size[0]), 2.0 * float(size[1])
        made = capsule_inertia if shape.kind == "capsule" else cylinder_inertia
        ends = 4 / 3 * math.pi * r**3 if shape.kind == "capsule" else 0.0
        return math.pi * r * r * length + ends, made(1.0, r, length), shape.X_LS
    if len(size) != 3:
        return None
    if shape.kind == "ellipsoid":
        a, b, c = (size**2).tolist()
        return 4 / 3 * math.pi * float(np.prod(size)), np.diag([b + c, a + c, a + b]) / 5.0, shape.X_LS
    return 8.0 * float(np.prod(size)), box_inertia(1.0, (2.0 * size).tolist()), shape.X_LS


def _shapes(draft: Draft, name: str) -> list[Shape]:
    """Return collision shapes; visual ones if there are none."""
    shapes = draft.shapes.get(name, [])
    return [s for s in shapes if not s.visual] or shapes


def _points(draft: Draft, name: str) -> ndarray:
    """Return the origins of the link and its joints, and the corners of its shapes, in the link's frame."""
    found = [np.zeros(3), *(np.asarray(joint.origin) for joint in draft.joints if joint.parent == name)]
    for shape in draft.shapes.get(name, []):
        if shape.kind == "mesh":
            points = points_of(shape)
            if points is None:
                continue
            low, high = points.min(axis=0), points.max(axis=0)
        elif shape.size.size:
            r = float(shape.size[0])
            sizes = {"sphere": [r, r, r], "capsule": [r, r, r + shape.size[-1]], "cylinder": [r, r, shape.size[-1]]}
            high = np.array(sizes.get(shape.kind, shape.size if len(shape.size) == 3 else [r, r, r]), dtype=float)
            low = -high
        else:
            continue
        found += [shape.X_LS.point(np.where(mask, low, high)) for mask in np.ndindex(2, 2, 2)]
    return np.array(found)


def _welded(draft: Draft) -> dict[str, list[str]]:
    """Return the links welded to a link, including itself."""
    groups = {link.name: [link.name] for link in draft.links}
    for joint in draft.joints:
        one, other = groups[joint.parent], groups[joint.child]
        if joint.kind == "fixed" and one is not other:
            one += other
            groups |= dict.fromkeys(other, one)
    return groups


__all__ = ["REMEDY", "impossible", "is_broken", "listed", "repaired"]

"""Solids that draw a robot: the meshes of its model file if any, otherwise capsules and boxes of its links.

Web pages, replays and pictures use the same solids. A body of the tree has a few meshes in its own axes and moves as
one.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from footfall.errors import FootfallError, InputError, ModelError
from footfall.robot.files.draft import Shape
from footfall.robot.files.guard import ModelWarning
from footfall.robot.files.mesh import Color, Mesh, read_mesh, simplified
from footfall.robot.model.description import Robot
from footfall.robot.model.placement import body_poses
from nptrace.array_types import Float, Int

TRUNK, LEFT, RIGHT, FOOT = (92, 104, 120), (46, 117, 182), (214, 110, 40), (40, 46, 54)
MOST_TRIANGLES = 60_000  # for a robot drawn from meshes
_SMALL = 60  # triangles that a mesh keeps, however many others there are


class Triangles(NamedTuple):
    """Corners [m] and which of them make a triangle."""

    vertices: Float[ndarray, "n 3"]
    faces: Int[ndarray, "m 3"]


@dataclass(frozen=True)
class ColoredMesh:
    """Triangles of one body in its own axes, of one colour; ``sharp`` if edges are to be seen."""

    vertices: Float[ndarray, "n 3"]
    faces: Int[ndarray, "m 3"]
    color: Color
    sharp: bool = False


@dataclass(frozen=True)
class Look:
    """The solids of every body of the tree; ``note`` says in a sentence what could not be drawn as in the model."""

    bodies: tuple[tuple[ColoredMesh, ...], ...]
    note: str = ""

    @property
    def triangles(self) -> int:
        return sum(len(solid.faces) for body in self.bodies for solid in body)


# -- simple shapes -----------------------------------------------------------------------------------------------------
def capsule(
    start: Float[ndarray, "3"], end: Float[ndarray, "3"], radius: float, around: int = 14, flat: bool = False
) -> Triangles:
    """Return a capsule between two points [m]; a ball if they coincide, a cylinder if its ends are ``flat``."""
    axis = np.asarray(end, dtype=float) - np.asarray(start, dtype=float)
    length = float(np.linalg.norm(axis))
    z = axis / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    x = np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.9 else [0.0, 1.0, 0.0])
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    half = np.linspace(0.0, np.pi / 2, max(3, around // 3 + 1))
    if flat:
        rings = [(0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, length), (0.0, 0.0, length)]
    else:
        rings = [(-np.cos(a), np.sin(a), 0.0) for a in half] + [(np.sin(a), np.cos(a), length) for a in half]
    turn = np.linspace(0.0, 2 * np.pi, around, endpoint=False)
    points = [
        np.stack([radius * wide * np.cos(turn), radius * wide * np.sin(turn), np.full(around, at + radius * up)], 1)
        for up, wide, at in rings
    ]
    k = np.arange(around)
    a, b = k, (k + 1) % around
    ring = np.concatenate([np.stack([a, b, a + around], 1), np.stack([b, b + around, a + around], 1)])
    faces = np.concatenate([ring + n * around for n in range(len(rings) - 1)])
    return Triangles(np.concatenate(points) @ R.T + start, faces)


def box(center: Float[ndarray, "3"], size: Sequence[float] | ndarray) -> Triangles:
    """Return a box; corners are not shared, so that its edges look sharp."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.asarray(size) / 2 + center
    sides = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    vertices = np.concatenate([corners[list(side)] for side in sides])
    faces = np.array([(4 * k + a, 4 * k + b, 4 * k + c) for k in range(6) for a, b, c in ((0, 1, 2), (0, 2, 3))])
    return Triangles(vertices, faces)


def size_of(robot: Robot) -> float:
    """Return the largest dimension of the standing robot [m]."""
    q = robot.state("stand" if "stand" in robot.poses else None)[0]
    poses, tree = body_poses(robot, q), robot.tree
    points = [pose.p for pose in poses] + [poses[b].point(p) for b, p in zip(tree.feet, tree.foot_positions)]
    return max(float(np.ptp(np.array(points), axis=0).max()), 0.05)


# -- robots ------------------------------------------------------------------------------------------------------------
def look_of(robot: Robot, most: int = MOST_TRIANGLES, around: int = 14) -> Look:
    """Return the drawn robot with about a given maximum of triangles; capsules have ``around`` sides."""
    return _look(robot, most, around)


def dressed(robot: Robot, file: str | Path) -> Robot:
    """Return a robot, as stored in recordings, with the meshes of the model file that it came from."""
    from footfall.robot.files.urdf_mjcf import load_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # reported when the robot was first read
        model = load_model(file, floating=robot.floating)
    places = [{j.name: j.origin for j in each.joints} for each in (robot, model)]
    same = places[0].keys() == places[1].keys() and all(np.allclose(p, places[1][k]) for k, p in places[0].items())
    if not same:
        raise InputError(f"{file} is not the recorded robot '{robot.name}': their joints differ")
    return robot.replace(model_file=Path(file))


@functools.lru_cache(maxsize=8)
def _look(robot: Robot, most: int, around: int) -> Look:
    plain = link_solids(robot, around)
    if robot.model_file is None:
        return Look(plain)
    try:
        meshes, note, as_it_collides = _visuals(robot, most, around)
    except (FootfallError, OSError) as error:  # a file that was removed or changed since
        return Look(plain, f"drawn from its links: {error}")
    if not any(meshes):
        return Look(plain, note)
    feet, bare = set(robot.tree.feet), _bare_bodies(robot, meshes) if as_it_collides else set()
    drawn = [
        (*(m for m in made if m.color != FOOT or not own), *own) if i in bare else own or (made if i in feet else ())
        for i, (own, made) in enumerate(zip(meshes, plain))
    ]
    return Look(tuple(drawn), note)


def _bare_bodies(robot: Robot, meshes: Sequence[Sequence[ColoredMesh]]) -> set[int]:
    """Return moving bodies whose shapes span less than half of the way to the next joint or foot."""
    tree = robot.tree
    ends = [(tree.parent[i], body.X_PJ.p) for i, body in enumerate(tree.bodies) if i]
    ends += list(zip(tree.feet, tree.foot_positions))
    reach = np.zeros(len(tree.bodies))
    for at, p in ends:
        reach[at] = max(reach[at], float(np.sqrt(p @ p)))
    span = [max((float(np.ptp(mesh.vertices, axis=0).max()) for mesh in own), default=0.0) for own in meshes]
    return {i for i in range(1, len(tree.bodies)) if span[i] < 0.5 * reach[i]}


def link_solids(robot: Robot, around: int = 14) -> tuple[tuple[ColoredMesh, ...], ...]:
    """Return boxes of the links, capsules to every joint and foot: a robot needs no mesh files."""
    tree, thin = robot.tree, 0.028 * size_of(robot)
    found: list[list[ColoredMesh]] = [[] for _ in tree.bodies]
    boxed = set()
    for link in robot.links:
        if link.box is not None:
            at, X_BL = tree.frames[link.name]
            vertices, faces = box(link.com, link.box)
            color = body_color(robot, at)
            found[at].append(ColoredMesh(vertices @ X_BL.R.T + X_BL.p, faces, color, color == TRUNK))
            boxed.add(at)
    for i, body in enumerate(tree.bodies[1:], start=1):
        parent, joint = tree.parent[i], body.X_PJ.p
        if parent not in boxed or body_color(robot, parent) != TRUNK:
            shape = capsule(np.zeros(3), joint, thin, around)
            found[parent].append(ColoredMesh(*shape, body_color(robot, parent), body_color(robot, parent) == TRUNK))
        shape = capsule(np.zeros(3), np.zeros(3), 1.3 * thin, around)
        found[i].append(ColoredMesh(*shape, body_color(robot, i), body_color(robot, i) == TRUNK))
    for foot, at, place in zip(robot.feet, tree.feet, tree.foot_positions):
        found[at].append(ColoredMesh(*capsule(np.zeros(3), place, 0.8 * thin, around), body_color(robot, at)))
        found[at].append(ColoredMesh(*capsule(place, place, max(foot.radius, 0.8 * thin), around), FOOT))
    return tuple(tuple(_merged(solids)) for solids in found)


def body_color(robot: Robot, body: int) -> Color:
    """Return a body's colour: left legs blue, right legs orange, grey if it carries several feet."""
    feet = [k for k, at in enumerate(robot.tree.feet) if at in robot.tree.subtree[body]]
    if body == 0 or len(feet) != 1:
        return TRUNK
    return RIGHT if robot.feet[feet[0]].name.upper().startswith(("R", "FR", "HR")) else LEFT


def _merged(solids: list[ColoredMesh]) -> list[ColoredMesh]:
    """Return one solid per colour."""
    merged = []
    for key in dict.fromkeys((solid.color, solid.sharp) for solid in solids):
        same = [solid for solid in solids if (solid.color, solid.sharp) == key]
        offsets = np.cumsum([0, *(len(solid.vertices) for solid in same)])
        faces = np.concatenate([solid.faces + at for solid, at in zip(same, offsets)])
        merged.append(ColoredMesh(np.concatenate([solid.vertices for solid in same]), faces, *key))
    return merged


# -- meshes of a model -------------------------------------------------------------------------------------------------
def _visuals(robot: Robot, most: int, around: int) -> tuple[list[tuple[ColoredMesh, ...]], str, bool]:
    """Return the visual shapes of the model file on the robot's bodies, a sentence on missing ones, and whether
    there are none, so that the collision shapes are used.
    """
    from footfall.robot.files.urdf_mjcf import draft_of

    assert robot.model_file is not None
    draft, package = draft_of(robot)
    seen = any(shape.visual for shapes in draft.shapes.values() for shape in shapes)
    placed: list[tuple[int, Mesh, Shape]] = []
    wrong: dict[str, str] = {}
    read: dict[str, tuple[Mesh, ...]] = {}
    for name, shapes in draft.shapes.items():
        for shape in shapes if name in robot.tree.frames else ():
            if shape.visual == seen:  # a model without visual shapes is drawn with its collision shapes
                X_BS = robot.tree.frames[name][1] @ shape.X_LS
                at, moved = robot.tree.frames[name][0], replace(shape, X_LS=X_BS)
                placed += [(at, mesh, moved) for mesh in _shape_meshes(shape, around, read, wrong)]
    fewer = _fewer([mesh for _, mesh, _ in placed], most)
    found: list[list[ColoredMesh]] = [[] for _ in robot.tree.bodies]
    for at, mesh, shape in placed:
        scale, X_BS = shape.size if shape.kind == "mesh" else np.ones(3), shape.X_LS
        vertices, faces = fewer[id(mesh)]
        faces = faces[:, ::-1] if np.prod(scale) < 0 else faces  # mirroring flips triangles
        color = mesh.color or shape.color or body_color(robot, at)
        found[at].append(ColoredMesh((vertices * scale) @ X_BS.R.T + X_BS.p, faces, color, shape.kind != "sphere"))
    note = _note(robot, len(package.missing) + len(package.outside), wrong, bool(placed))
    return [tuple(_merged(solids)) for solids in found], note, not seen


def _shape_meshes(
    shape: Shape, around: int, read: dict[str, tuple[Mesh, ...]], wrong: dict[str, str]
) -> tuple[Mesh, ...]:
    if shape.kind == "mesh":
        if shape.mesh is None:
            return ()
        key = str(shape.mesh)
        if key not in read and key not in wrong:
            try:
                read[key] = read_mesh(shape.mesh)
            except ModelError as error:
                wrong[key] = str(error)
        return read.get(key, ())
    if shape.kind == "box":
        return (Mesh(*box(np.zeros(3), 2.0 * shape.size)),)
    if shape.kind in ("sphere", "capsule", "cylinder"):
        half = np.array([0.0, 0.0, shape.size[1] if shape.kind != "sphere" else 0.0])
        return (Mesh(*capsule(-half, half, float(shape.size[0]), around, shape.kind == "cylinder")),)
    return ()


def _fewer(meshes: list[Mesh], most: int) -> dict[int, Triangles]:
    """Return, by identity, meshes thinned to a total number of triangles, shared in proportion; each file is thinned
    once.
    """
    total = sum(len(mesh.faces) for mesh in meshes)
    found: dict[int, Triangles] = {}
    for mesh in meshes:
        if id(mesh) not in found:
            share = max(_SMALL, int(len(mesh.faces) * most / max(total, 1)))
            thin = simplified(mesh, share) if total > most else mesh
            found[id(mesh)] = Triangles(thin.vertices, thin.faces)
    return found


def _note(robot: Robot, missing: int, wrong: dict[str, str], drawn: bool) -> str:
    if not missing and not wrong and drawn:
        return ""
    instead = "they are left out" if drawn else "it is drawn from its links as capsules"
    if missing:
        return f"{missing} of the mesh files that '{robot.name}' names are not in its package folder: {instead}"
    if wrong:
        return f"{next(iter(wrong.values()))}: {instead}"
    return f"the model of '{robot.name}' has no meshes: {instead}"


__all__ = [
    "FOOT",
    "LEFT",
    "RIGHT",
    "TRUNK",
    "ColoredMesh",
    "Look",
    "Triangles",
    "box",
    "capsule",
    "dressed",
    "look_of",
    "size_of",
]

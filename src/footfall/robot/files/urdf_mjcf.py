"""Robots from URDF and MJCF files, and back: the front door.

``load_model`` reads a file that nobody vouches for (``guard``), by its root element: ``<robot>`` is URDF (``urdf``),
``<mujoco>`` is MJCF (``mjcf``). The feet are found (``feet``) and the legs put in the order LF, RF, LH, RH.
``to_urdf``, ``to_mjcf`` and ``write`` go the other way (``export``).
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from footfall.errors import ModelError, callers_level
from footfall.robot.files.draft import Draft, tensor_about_com
from footfall.robot.files.export import to_mjcf, to_urdf, write
from footfall.robot.files.feet import FeetGiven, FootFinder, in_leg_order
from footfall.robot.files.guard import ModelWarning, Package, parse_xml, read_bytes, shown
from footfall.robot.files.urdf import POINT_SIZE, read_urdf
from footfall.robot.model.description import Pose, Provenance, Robot
from footfall.robot.model.parts import Foot, Joint

_TRIANGLE_SLACK = 1e-6
GROUND_FRICTION = 0.8  # of ``contact.ground.Plane`` and of the command line
_LARGE = 20.0  # [m] no robot is longer, but one in millimetres is

__all__ = ["ModelWarning", "load_model", "read_draft", "to_mjcf", "to_urdf", "write"]


def load_model(
    path: str | os.PathLike[str],
    feet: FeetGiven = None,
    name: str | None = None,
    floating: bool | None = None,
    lock_wheels: bool = True,
) -> Robot:
    """Return the robot of a URDF or MJCF file.

    ``feet``: None finds them; or a list of link (or collision shape) names, a dictionary {foot: link}, or ``Foot``
    objects; an empty list for none. ``floating``: None means a floating base for URDF, and for MJCF what the file says.
    ``lock_wheels``: a robot on wheels stands on them as on feet; False lets them turn, for the controller ``Wheels``.
    Meshes are not needed and not read, a foot's apart; one ``ModelWarning`` lists what is assumed or left out.
    """
    try:
        file = Path(path).expanduser()
    except (TypeError, RuntimeError):
        raise ModelError(f"a model's path must be a path, got {path!r}") from None
    draft, package = read_draft(file, floating)
    if floating is not None:
        draft.floating = floating
    if name is not None:
        draft.name = name
    robot, remarks = _assemble(draft, feet, file, lock_wheels)
    if floating is None and draft.floating and draft.root() == "world":
        remarks.append("its root 'world' floats with the rest: floating=False fixes it")
    if package.missing:
        remarks.insert(0, _missing(list(package.missing)))
    if remarks:
        warnings.warn(f"{file.name}: {'; '.join(remarks)}", ModelWarning, stacklevel=callers_level())
    return robot


def read_draft(file: Path, floating: bool | None = None) -> tuple[Draft, Package]:
    """Return what a URDF or MJCF file states, and the folder it may refer to."""
    root = parse_xml(read_bytes(file), file.name)
    package = Package(file)
    if root.tag == "robot":
        draft = read_urdf(root, package)
    elif root.tag == "mujoco":
        from footfall.robot.files.mjcf import read_mjcf  # needs MuJoCo, an optional package

        draft = read_mjcf(root, package, floating)
    else:
        raise ModelError(
            f"{file.name}: the root element is {shown(root.tag)}: 'robot' (URDF) or 'mujoco' (MJCF) is wanted"
        )
    return draft, package


def _assemble(draft: Draft, given: FeetGiven, file: Path, lock_wheels: bool) -> tuple[Robot, list[str]]:
    where = file.name
    draft.check(where)
    odd = [link.name for link in draft.links if link.as_published]
    finder = FootFinder(draft)
    feet = finder.found() if given is None else finder.given(given)
    finder.check_mirrored(feet)
    if finder.wheels and lock_wheels:
        _lock(draft, finder.wheels)
        feet = [Foot(name=foot.name, link=foot.link, position=foot.position, radius=foot.radius) for foot in feet]
        finder.remarks.append(f"its wheels are locked and stand as feet do: {', '.join(finder.wheels)}")
    joints = in_leg_order(draft, feet)
    notes = f"read from {where}"
    if feet and not finder.assumed:
        notes += "; its feet are spheres of the file" if given is None else "; its feet were given"
    if odd:
        notes += f"; tensors that no single body can have, but the bodies they are welded into: {', '.join(odd)}"
    robot = Robot(
        name=draft.name,
        links=draft.links,
        joints=joints,
        feet=feet,
        actuators=draft.actuators,
        floating=draft.floating,
        poses={key: _pose(joints, *pose) for key, pose in draft.poses.items()},
        provenance={"*": Provenance("imported", where), **_assumed(feet, finder)},
        notes=notes,
        model_file=file,
        loops=draft.loops,
    )
    _check_bodies(robot, odd)
    feet_of: dict[str, list[str]] = {}
    for foot_name, assumption in finder.assumed.items():
        feet_of.setdefault(assumption, []).append(foot_name)
    assumed = [f"foot {', '.join(names)}: {assumption}" for assumption, names in feet_of.items()]
    size = float(np.ptp([X_RL.p for X_RL in finder.X_RL.values()], axis=0).max())
    large = [f"it is {size:.0f} m long: lengths in a model file are metres"] if size > _LARGE else []
    return robot, [*draft.remarks, *_frictions(draft, feet), *large, *finder.remarks, *assumed]


def _frictions(draft: Draft, feet: list[Foot]) -> list[str]:
    """Return the friction of the feet in the file, unless that is what grounds have anyway."""
    said = sorted({value for foot in feet for value in draft.frictions.get(foot.link, ())} - {GROUND_FRICTION})
    if not said:
        return []
    values = ", ".join(f"{value:g}" for value in said)
    return [f"friction {values} of its feet is left out: grounds have it, {GROUND_FRICTION} unless told otherwise"]


def _lock(draft: Draft, names: list[str]) -> None:
    """Make joints fixed at zero."""
    draft.joints = [
        Joint(
            name=joint.name,
            kind="fixed",
            parent=joint.parent,
            child=joint.child,
            origin=joint.origin,
            rotation=joint.rotation,
        )
        if joint.name in names
        else joint
        for joint in draft.joints
    ]
    draft.actuators = [actuator for actuator in draft.actuators if actuator.joint not in names]
    draft.loops = [loop for loop in draft.loops if loop.kind != "joint" or not {loop.first, loop.second} & set(names)]


def _pose(joints: list[Joint], positions: dict[str, float], height: float) -> Pose:
    """``joints`` are depth first already, as Robot numbers them."""
    return Pose(np.array([positions.get(joint.name, 0.0) for joint in joints if joint.kind != "fixed"]), height)


def _assumed(feet: list[Foot], finder: FootFinder) -> dict[str, Provenance]:
    """Feet whose sphere was fitted or stated, not read."""
    return {
        f"{foot.name}.{key}": Provenance("chosen", finder.assumed[foot.name])
        for foot in feet
        if foot.name in finder.assumed
        for key in ("position", "radius")
    }


def _check_bodies(robot: Robot, odd: list[str]) -> None:
    """Links are allowed odd tensors; the moving bodies that they are welded into are not."""
    for body in robot.tree.bodies:
        if body.inertia.m <= 0:
            continue
        members = [link for link in odd if robot.tree.bodies[robot.tree.frames[link][0]] is body]
        if not members:
            continue
        a, b, c = np.linalg.eigvalsh(tensor_about_com(body.inertia.m, body.inertia.h, body.inertia.I))
        culprit = f"inertia of link '{members[0]}'"
        least = (
            2 * body.inertia.m * POINT_SIZE**2 + 1e-14 * np.abs(body.inertia.I).max()
        )  # and what rounding makes of it
        if c <= least or a < -1e-9 * c:  # nothing but point masses at one place
            raise ModelError(
                f"{culprit} is not positive: principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m² of its body"
            )
        if a + b < c * (1 - _TRIANGLE_SLACK):
            raise ModelError(
                f"{culprit} is not realisable: principal moments {a:.4g} + {b:.4g} < {c:.4g} kg m² of its body"
            )


def _missing(references: list[str]) -> str:
    first = shown(references[0])
    if len(references) == 1:
        return f"{first} was not found and is left out (dynamics needs no meshes)"
    return f"{len(references)} meshes, {first} first, were not found and are left out (dynamics needs no meshes)"

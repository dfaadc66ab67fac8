"""Robots from URDF and MJCF files, and export to them: the public functions.

``load_model`` reads an untrusted file (``guard``), by its root element: ``<robot>`` is URDF (``urdf``), ``<mujoco>`` is
MJCF (``mjcf``). The feet are found (``feet``) and the legs put in the order LF, RF, LH, RH. ``to_urdf``, ``to_mjcf``
and ``write`` export a robot (``export``).
"""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from footfall.errors import InputError, ModelError, callers_level
from footfall.robot.files.draft import FACING, FACINGS, Draft, tensor_about_com
from footfall.robot.files.export import to_mjcf, to_urdf, write
from footfall.robot.files.feet import FeetGiven, FootFinder, in_leg_order
from footfall.robot.files.guard import POINT_SIZE, ModelWarning, Package, parse_xml, read_bytes, shown
from footfall.robot.files.repair import REMEDY, impossible, listed, repaired
from footfall.robot.files.urdf import read_urdf
from footfall.robot.model.description import Pose, Provenance, Robot
from footfall.robot.model.parts import Foot, Joint

_TRIANGLE_SLACK = 1e-6
GROUND_FRICTION = 0.8  # as in ``contact.ground.Plane`` and on the command line
_LARGE = 20.0  # [m]: a longer robot is probably in millimetres

__all__ = ["ModelWarning", "draft_of", "load_model", "read_draft", "to_mjcf", "to_urdf", "write"]


def load_model(
    path: str | os.PathLike[str],
    feet: FeetGiven = None,
    name: str | None = None,
    floating: bool | None = None,
    lock_wheels: bool = True,
    root: str | None = None,
    forward: str | None = None,
    repair_inertia: bool = False,
) -> Robot:
    """Return the robot of a URDF or MJCF file.

    ``feet``: None finds them; or a list of link (or collision shape) names, a dictionary {foot: link}, or ``Foot``
    objects; an empty list for none. ``floating``: None means a floating base for URDF, and as in the file for MJCF.
    ``lock_wheels``: a robot on wheels stands on them as on feet; False lets them rotate, for the controller ``Wheels``.
    ``root``: the root link or body of the robot, if the file has several. ``forward``: the axis of the base along which
    the robot faces, x, -x, y or -y; found by the names of its legs unless given. ``repair_inertia``: impossible
    inertias are replaced by those of the links' shapes. Meshes are not read, except for a foot's; one ``ModelWarning``
    lists assumptions and omissions.
    """
    try:
        file = Path(path).expanduser()
    except (TypeError, RuntimeError):
        raise ModelError(f"the path of a model must be a string or a Path, got {path!r}") from None
    if forward is not None and forward not in FACINGS:
        raise InputError(f"the forward axis of a robot is one of {', '.join(FACINGS)}, not {forward!r}")
    draft, package = read_draft(file, floating, root, repair_inertia)
    if floating is not None:
        draft.floating = floating
    if name is not None:
        draft.name = name
    robot, remarks = _assemble(draft, feet, file, lock_wheels, forward, repair_inertia)
    if floating is None and draft.floating and draft.root() == "world":
        remarks.append("its root 'world' floats with the rest: floating=False fixes it")
    remarks[:0] = _not_read(package)
    if remarks:
        warnings.warn(f"{file.name}: {'; '.join(remarks)}", ModelWarning, stacklevel=callers_level())
    return robot


def read_draft(
    file: Path, floating: bool | None = None, base: str | None = None, repair: bool = False
) -> tuple[Draft, Package]:
    """Return the draft of a URDF or MJCF file, and its package; ``base``: the robot's root, if there are several."""
    root = parse_xml(read_bytes(file), file.name)
    package = Package(file)
    if root.tag == "robot":
        draft = read_urdf(root, package, repair)
        draft = draft if base is None else draft.only(base)
    elif root.tag == "mujoco":
        from footfall.robot.files.mjcf import read_mjcf  # needs MuJoCo, an optional package

        draft = read_mjcf(root, package, floating, base, repair)
    else:
        raise ModelError(
            f"{file.name}: the root element is {shown(root.tag)}: 'robot' (URDF) or 'mujoco' (MJCF) is required"
        )
    return draft, package


def draft_of(robot: Robot) -> tuple[Draft, Package]:
    """Return the contents of a robot file; if it has several roots, those of the robot."""
    assert robot.model_file is not None
    try:
        return read_draft(robot.model_file)
    except ModelError:
        base = next((link.name for link in robot.links if link.name != FACING), None)
        return read_draft(robot.model_file, base=base)


def _assemble(
    draft: Draft, given: FeetGiven, file: Path, lock_wheels: bool, forward: str | None, repair: bool
) -> tuple[Robot, list[str]]:
    where = file.name
    draft.check(where)
    turned = None if draft.floating else "x"  # objects on the ground keep their placement
    turned = forward or turned or FootFinder(draft).facing()
    if turned != "x":
        draft = draft.facing(turned)
        if forward is None:
            words = f"it faces {turned} by the names of its legs, and is rotated to face x (forward='x' if it does not)"
            draft.remarks.append(words)
    wrong = impossible(draft)
    odd = [link.name for link in draft.links if link.as_published]
    if wrong and not repair:
        first = next(iter(wrong))
        draft.remarks.append(f"the inertia of {listed(list(wrong))} is impossible: {wrong[first]}; {REMEDY}")
    replaced = list(dict.fromkeys([*draft.broken, *wrong])) if repair else []
    robot, finder = _built(repaired(draft, replaced), given, file, lock_wheels, odd)
    failing = _failing(robot, odd)
    if failing and repair:
        replaced += [name for names, _ in failing for name in names if name not in replaced]
        robot, finder = _built(repaired(draft, replaced), given, file, lock_wheels, odd)
        failing = _failing(robot, [name for name in odd if name not in replaced])
    if failing:
        names, words = failing[0]
        more = listed([name for others, _ in failing for name in others])
        also = f" (in all: {more})" if len(failing) > 1 else ""
        raise ModelError(f"inertia of link '{names[0]}' {words}{also}; {REMEDY}")
    if replaced:
        draft.remarks.append(f"the inertia of {listed(replaced)} was impossible and is replaced by that of its shape")
        chosen = Provenance("chosen", f"of its shape, as {where} has none that can be")
        of_links = {f"{name}.inertia": chosen for name in replaced}
        robot = robot.replace(provenance={**robot.provenance, **of_links})
    feet = list(robot.feet)
    feet_of: dict[str, list[str]] = {}
    for foot_name, assumption in finder.assumed.items():
        feet_of.setdefault(assumption, []).append(foot_name)
    assumed = [f"foot {', '.join(names)}: {assumption}" for assumption, names in feet_of.items()]
    size = float(np.ptp([X_RL.p for X_RL in finder.X_RL.values()], axis=0).max())
    large = [f"it is {size:.0f} m long: lengths in a model file are metres"] if size > _LARGE else []
    return robot, [*draft.remarks, *_frictions(draft, feet), *large, *finder.remarks, *assumed]


def _built(draft: Draft, given: FeetGiven, file: Path, lock_wheels: bool, odd: list[str]) -> tuple[Robot, FootFinder]:
    """Return the robot of a draft, and the finder of its feet."""
    finder = FootFinder(draft)
    feet = finder.found() if given is None else finder.given(given)
    finder.check_mirrored(feet)
    if finder.wheels and lock_wheels:
        draft = _locked(draft, finder.wheels)
        feet = [Foot(name=foot.name, link=foot.link, position=foot.position, radius=foot.radius) for foot in feet]
        finder.remarks.append(f"its wheels are locked and serve as feet: {', '.join(finder.wheels)}")
    joints = in_leg_order(draft, feet)
    notes = f"read from {file.name}"
    if feet and not finder.assumed:
        notes += "; its feet are spheres of the file" if given is None else "; its feet were given"
    if odd:
        notes += "; tensors impossible for a single body, but possible for the bodies into which they are welded: "
        notes += ", ".join(odd)
    robot = Robot(
        name=draft.name,
        links=draft.links,
        joints=joints,
        feet=feet,
        actuators=draft.actuators,
        floating=draft.floating,
        poses={key: _pose(joints, *pose) for key, pose in draft.poses.items()},
        provenance={"*": Provenance("imported", file.name), **_assumed(feet, finder)},
        notes=notes,
        model_file=file,
        loops=draft.loops,
    )
    return robot, finder


def _frictions(draft: Draft, feet: list[Foot]) -> list[str]:
    """Return the friction of the feet in the file, unless it is the grounds' default."""
    reported = sorted({value for foot in feet for value in draft.frictions.get(foot.link, ())} - {GROUND_FRICTION})
    if not reported:
        return []
    values = ", ".join(f"{value:g}" for value in reported)
    return [f"friction {values} of its feet is left out: grounds have it, {GROUND_FRICTION} by default"]


def _locked(draft: Draft, names: list[str]) -> Draft:
    """Return the draft with some joints fixed at zero."""
    joints = [
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
    actuators = [actuator for actuator in draft.actuators if actuator.joint not in names]
    loops = [loop for loop in draft.loops if loop.kind != "joint" or not {loop.first, loop.second} & set(names)]
    return replace(draft, joints=joints, actuators=actuators, loops=loops)


def _pose(joints: list[Joint], positions: dict[str, float], height: float) -> Pose:
    """``joints`` are depth first already, as Robot numbers them."""
    return Pose(np.array([positions.get(joint.name, 0.0) for joint in joints if joint.kind != "fixed"]), height)


def _assumed(feet: list[Foot], finder: FootFinder) -> dict[str, Provenance]:
    """Return feet whose sphere was fitted or assumed, not read."""
    return {
        f"{foot.name}.{key}": Provenance("chosen", finder.assumed[foot.name])
        for foot in feet
        if foot.name in finder.assumed
        for key in ("position", "radius")
    }


def _failing(robot: Robot, odd: list[str]) -> list[tuple[list[str], str]]:
    """Return (links, fault) of every body that is physically impossible. Links may have odd tensors, but not the
    moving bodies into which they are welded.
    """
    found = []
    for body in robot.tree.bodies:
        if body.inertia.m <= 0:
            continue
        members = [link for link in odd if robot.tree.bodies[robot.tree.frames[link][0]] is body]
        if not members:
            continue
        a, b, c = np.linalg.eigvalsh(tensor_about_com(body.inertia.m, body.inertia.h, body.inertia.I))
        least = 2 * body.inertia.m * POINT_SIZE**2 + 1e-14 * np.abs(body.inertia.I).max()  # tolerance for rounding
        if c <= least or a < -1e-9 * c:  # only point masses at one position
            found.append((members, f"is not positive: principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m² of its body"))
        elif a + b < c * (1 - _TRIANGLE_SLACK):
            found.append(
                (members, f"is not realisable: principal moments {a:.4g} + {b:.4g} < {c:.4g} kg m² of its body")
            )
    return found


def _not_read(package: Package) -> list[str]:
    """Return warnings about referenced files that are missing or may not be opened."""
    outside, missing, remarks = list(package.outside), list(package.missing), []
    if outside:
        more = "" if len(outside) == 1 else f", as are {len(outside) - 1} more like it"
        why = package.outside[outside[0]]
        remarks.append(f"{shown(outside[0])} is left out{more}: it {why} (dynamics needs no meshes)")
    if len(missing) == 1:
        remarks.append(f"{shown(missing[0])} was not found and is left out (dynamics needs no meshes)")
    elif missing:
        first = shown(missing[0])
        remarks.append(
            f"{len(missing)} meshes, {first} first, were not found and are left out (dynamics needs no meshes)"
        )
    return remarks

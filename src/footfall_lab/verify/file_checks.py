"""Comparison of our reading of a model file with that of MuJoCo (MJCF) or Pinocchio (URDF), for ``verify``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.robot.files.draft import FACING, tensor_about_com
from footfall.robot.files.guard import parse_xml, read_bytes
from footfall.robot.files.urdf import UNLIMITED, joint_range
from footfall.robot.model.description import Robot
from footfall.robot.model.placement import body_poses, foot_centres
from footfall_lab.verify.report import NOT_FINITE, Check
from nptrace._types import Json

TOLERANCE = 1e-9
CHOSEN_FOOT = 0.005  # [m], tolerance of a ball that replaces another shape
_PATIENCE = 60.0  # [s]


def file_checks(robot: Robot, file: Path) -> tuple[list[Check], dict[str, str]]:
    """Return (checks, what could not be compared and why)."""
    robot = _as_in_file(robot)
    kind = "urdf" if parse_xml(read_bytes(file), file.name).tag == "robot" else "mjcf"
    other = {"urdf": "pinocchio", "mjcf": "mujoco"}[kind]
    joints = robot.poses["stand"].joints if "stand" in robot.poses else np.zeros(robot.nj)
    request = {
        "format": kind,
        "joints": dict(zip(robot.joint_names, joints.tolist())),
        "feet": [f.link for f in robot.feet],
    }
    command = [sys.executable, "-m", "footfall_lab.verify.file_reading", str(file.resolve())]
    try:
        done = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return [], {f"the file in {other}": f"no answer within {_PATIENCE:g} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"it exited with status {done.returncode}"]
        return [], {f"the file in {other}": last[0][:200]}
    reading = json.loads(done.stdout.splitlines()[-1])  # mesh readers may print other lines first
    checks = [*_bodies(robot, reading, kind, other), *_joints(robot, reading, other), *_feet(robot, reading, other)]
    skipped = {f"feet of the file in {other}": reading["no_soles"]} if "no_soles" in reading else {}
    if _is_repaired(robot):
        skipped[f"inertias of the file in {other}"] = "some were replaced by those of the links' shapes"
    return checks, skipped


def _as_in_file(robot: Robot) -> Robot:
    """Return the robot on the base of its file, which may not face along x."""
    if FACING not in {link.name for link in robot.links}:
        return robot
    links = [link for link in robot.links if link.name != FACING]
    return robot.replace(links=links, joints=[joint for joint in robot.joints if joint.parent != FACING])


def _is_repaired(robot: Robot) -> bool:
    return any(key.endswith(".inertia") and reported.status == "chosen" for key, reported in robot.provenance.items())


def _bodies(robot: Robot, reading: dict[str, Json], kind: str, other: str) -> Iterator[Check]:
    """Check mass, centre of mass and inertia tensor of every link of an MJCF, or moving body of a URDF."""
    ours: dict[str, ndarray] = {}
    if kind == "mjcf":
        ours = {link.name: np.array([link.mass, *link.com, *link.inertia.ravel()]) for link in robot.links}
    else:
        for i, body in enumerate(robot.tree.bodies):
            m, h = body.inertia.m, body.inertia.h
            name = "" if i == 0 else robot.joint_names[i - 1]
            com = h / m if m > 0 else np.zeros(3)
            tensor = tensor_about_com(m, h, body.inertia.I) if m > 0 else np.zeros((3, 3))
            ours[name] = np.array([m, *com, *tensor.ravel()])
    both = [(name, ours[name], np.array(theirs)) for name, theirs in reading["bodies"].items() if name in ours]
    lost = [name for name in reading["bodies"] if name not in ours and reading["bodies"][name][0] > 0]
    size = max(np.abs([b[4:] for _, _, b in both]).max(initial=0.0), 1e-12)
    parts = (
        ("mass", slice(0, 1), robot.mass),
        ("center_of_mass", slice(1, 4), 1.0),
        ("inertia", slice(4, 13), size),
    )
    for word, part, scale in parts[:2] if _is_repaired(robot) else parts:
        heavy = [(n, a, b) for n, a, b in both if b[0] > 0 or word == "mass"]
        yield _check(f"file_{word}", other, [(n, a[part] / scale, b[part] / scale) for n, a, b in heavy], lost)


def _joints(robot: Robot, reading: dict[str, Json], other: str) -> Iterator[Check]:
    """Check joint axes and positions in the base frame at zero, limits, losses."""
    poses = body_poses(robot)
    actuators = {actuator.joint: actuator.torque_limit for actuator in robot.actuators}
    pairs: dict[str, list[tuple[str, Json, Json]]] = {}
    for name, theirs in reading["joints"].items():
        if name not in robot.joint_names:
            continue
        i = robot.joint_names.index(name) + 1
        joint = robot.joint(name)
        ours = {
            "axis": poses[i].R @ joint.axis,
            "place": poses[i].p,
            "limits": [joint.lower, joint.upper],
            "damping": joint.damping,
            "armature": joint.armature,
            "dry_friction": joint.dry_friction,
            "stiffness": joint.stiffness,
            "torque": actuators.get(name, np.inf),
        }
        for word, value in theirs.items():
            if word == "limits":  # some tens of revolutions mean no limit
                value = joint_range(joint.kind, *_bounded(value).tolist())
            if word == "torque" and (value == 0 or not np.isfinite(ours["torque"])):
                continue  # zero effort means no limit, as does one that cannot carry the robot
            pairs.setdefault(word, []).append((name, _bounded(ours[word]), _bounded(value)))
    lost = [name for name in robot.joint_names if name not in reading["joints"]]
    for word, both in pairs.items():
        yield _check(f"file_{word}", other, both, lost)


def _feet(robot: Robot, reading: dict[str, Json], other: str) -> Iterator[Check]:
    """Check the sole of every foot in the stand: exact for a sphere in the file, otherwise approximate."""
    q, _ = robot.state("stand" if "stand" in robot.poses else None, height=0.0)
    soles = foot_centres(robot, q)[:, 2] - np.array([foot.radius for foot in robot.feet])
    both = [
        (foot.name, sole, reading["soles"][foot.link])
        for foot, sole in zip(robot.feet, soles)
        if foot.link in reading["soles"]
    ]
    if both:
        chosen = any(f"{name}.position" in robot.provenance for name, _, _ in both)
        yield _check("file_soles", other, both, [], CHOSEN_FOOT if chosen else TOLERANCE)


def _bounded(value: object) -> ndarray:
    """Clip numbers so large that they mean no limit."""
    array = np.nan_to_num(np.asarray(value, dtype=float), posinf=UNLIMITED, neginf=-UNLIMITED)
    return np.clip(array, -UNLIMITED, UNLIMITED)


def _check(
    quantity: str, other: str, both: list[tuple[str, Json, Json]], lost: list[str], tolerance: float = TOLERANCE
) -> Check:
    """Compare absolutely, in units in which 1 is large; ``lost`` are names that one side lacks."""
    errors = {}
    for name, ours, theirs in both:
        x, y = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
        errors[name] = float(np.max(np.abs(x - y) / np.maximum(1.0, np.abs(y))))
    worst = max(errors, key=lambda name: errors[name], default="")
    most = NOT_FINITE if lost else errors.get(worst, 0.0)
    note = f"one side lacks {', '.join(lost[:3])}" if lost else f"at {worst}" if most > tolerance else ""
    median = float(np.median(list(errors.values()))) if errors else 0.0
    return Check(
        quantity=quantity,
        left="file",
        right=other,
        max_rel_error=most,
        median_rel_error=median,
        tolerance=tolerance,
        samples=len(both),
        note=note,
    )

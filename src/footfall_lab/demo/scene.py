"""Animated robots in an HTML page: one canvas and a few lines of JavaScript, nothing to fetch.

A robot is a box and chains of links; positions of all frames are millimetres in 16 bits. The first robot of a pair is
drawn solid, the second as a ghost on top of it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.robot.model.placement import body_poses
from nptrace.array_types import Float

FRAMES = 30.0  # per second
_SCRIPT = Path(__file__).with_name("scene.js")
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2


@dataclass(frozen=True)
class Pair:
    """The run of a robot in footfall and in MuJoCo."""

    name: str
    ours: Recording
    theirs: Recording


def scene(pairs: Sequence[Pair]) -> str:
    """Return the canvas with its script; robots walk side by side, the first of ``pairs`` on the left."""
    robots = []
    lanes = 0.42 * (len(pairs) - 1)
    for k, pair in enumerate(pairs):
        across = lanes - 0.84 * k
        for rec, ghost in ((pair.theirs, True), (pair.ours, False)):
            points = _points(rec) + np.array([0.0, across, 0.0])
            robots.append(
                {
                    "name": "" if ghost else pair.name,
                    "ghost": ghost,
                    "chains": _chains(rec.robot),
                    "radius": round(1e3 * 0.028 * _size(rec.robot)),
                    "count": points.shape[1],
                    "frames": base64.b64encode(np.rint(1e3 * points).astype("<i2").tobytes()).decode("ascii"),
                }
            )
    text = json.dumps({"rate": FRAMES, "robots": robots}, separators=(",", ":"))
    return f"""<div class="scene"><canvas id="scene" role="img"
 aria-label="Two robots walk; a ghost of each shows MuJoCo's run"></canvas>
<button id="play" type="button" aria-label="pause">❚❚</button></div>
<script>const SCENE = {text};\n{_SCRIPT.read_text(encoding="utf-8")}</script>"""


def _size(robot: Robot) -> float:
    from footfall.draw.solids import size_of

    return size_of(robot)


def _chains(robot: Robot) -> list[list[int]]:
    """Return the indices of points that form each leg; the first eight points are the corners of the trunk."""
    chains, at = [], 8
    for foot in robot.tree.feet:
        count = len(_bodies_to(robot, foot)) + 1
        chains.append(list(range(at, at + count)))
        at += count
    return chains


def _bodies_to(robot: Robot, body: int) -> list[int]:
    """Return the bodies from the trunk (excluded) to one that carries a foot."""
    found: list[int] = []
    while body > 0:
        found.insert(0, body)
        body = robot.tree.parent[body]
    return found


def _points(rec: Recording) -> Float[ndarray, "frames points 3"]:
    """Return corners of the trunk, joints and feet in every frame [m]."""
    robot, tree = rec.robot, rec.robot.tree
    times = np.arange(float(rec.time[0]), float(rec.time[-1]), 1.0 / FRAMES)
    rows = np.minimum(np.searchsorted(rec.time, times), len(rec) - 1)
    corners = _CORNERS * _trunk(robot)
    frames = []
    for row in rows:
        poses = body_poses(robot, rec.q[row])
        points = [poses[0].point(corner) for corner in corners]
        for foot, at in zip(tree.feet, tree.foot_positions):
            points += [poses[body].p for body in _bodies_to(robot, foot)]
            points.append(poses[foot].point(at))
        frames.append(points)
    return np.array(frames)


def _trunk(robot: Robot) -> Float[ndarray, "3"]:
    """Return the size of the box drawn as the trunk [m]."""
    link = robot.link(robot.trunk)
    if link.box is not None:
        return np.asarray(link.box)
    hips = np.array([body.X_PJ.p for body, parent in zip(robot.tree.bodies[1:], robot.tree.parent[1:]) if parent == 0])
    reach = np.abs(hips).max(axis=0)
    return np.array([2.12 * reach[0], 1.5 * reach[1], 0.25 * reach[0] + 0.05])

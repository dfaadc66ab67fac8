"""Flat feet by their corners: what contact laws of points need of a robot with soles."""

from __future__ import annotations

import numpy as np

from footfall.robot.model.description import Robot
from footfall.robot.model.parts import FlatFoot, Foot

CORNERS = {"front_left": (1, 1), "front_right": (1, -1), "hind_left": (-1, 1), "hind_right": (-1, -1)}


def by_corners(robot: Robot) -> Robot:
    """The robot with four point feet in place of every sole: ``L_front_left``, and so on; other feet stay."""
    feet: list[Foot] = []
    for foot in robot.feet:
        if not isinstance(foot, FlatFoot):
            feet.append(foot)
            continue
        half = np.array([0.5 * foot.sole[0], 0.5 * foot.sole[1]])
        for name, signs in CORNERS.items():
            place = foot.position + np.concatenate([half * np.array(signs), np.zeros(1)])
            feet.append(Foot(f"{foot.name}_{name}", foot.link, place))
    return robot.replace(feet=feet)


def by_middles(robot: Robot) -> Robot:
    """The robot with a point foot in the middle of every sole; other feet stay."""
    feet = [Foot(f.name, f.link, f.position) if isinstance(f, FlatFoot) else f for f in robot.feet]
    return robot.replace(feet=feet) if any(isinstance(f, FlatFoot) for f in robot.feet) else robot

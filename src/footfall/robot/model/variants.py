"""Variants of a robot: point feet instead of soles, and a payload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import FlatFoot, Foot, Joint, Link
from footfall.robot.model.shapes import box_inertia

CORNERS = {"front_left": (1, 1), "front_right": (1, -1), "hind_left": (-1, 1), "hind_right": (-1, -1)}


def by_corners(robot: Robot) -> Robot:
    """Return the robot with four point feet at the corners of each flat sole: ``L_front_left``, and so on.

    Args:
        robot: The robot.

    Returns:
        The changed robot; other feet stay.
    """
    feet: list[Foot] = []
    for foot in robot.feet:
        if not isinstance(foot, FlatFoot):
            feet.append(foot)
            continue
        half = np.array([0.5 * foot.sole[0], 0.5 * foot.sole[1]])
        for name, signs in CORNERS.items():
            place = foot.position + np.concatenate([half * np.array(signs), np.zeros(1)])
            feet.append(Foot(name=f"{foot.name}_{name}", link=foot.link, position=place))
    return robot.replace(feet=feet)


def by_middles(robot: Robot) -> Robot:
    """Return the robot with a point foot in the middle of every sole; other feet stay."""
    feet = [Foot(name=f.name, link=f.link, position=f.position) if isinstance(f, FlatFoot) else f for f in robot.feet]
    return robot.replace(feet=feet) if any(isinstance(f, FlatFoot) for f in robot.feet) else robot


# -- a load on a robot: an extra link on a fixed joint, so that every algorithm takes it into account -----------------
def with_payload(
    robot: Robot,
    mass: float,
    position: Sequence[float] = (0.0, 0.0, 0.0),
    link: str | None = None,
    size: Sequence[float] = (0.1, 0.1, 0.1),
    name: str = "payload",
) -> Robot:
    """Return the robot with a box fixed to a link.

    Args:
        robot: The robot.
        mass: Mass of the box [kg].
        position: Position of its centre in the frame of the link [m].
        link: Name of the link; the base unless given.
        size: Size of the box [m].
        name: Name of the new link.

    Returns:
        The changed robot.
    """
    carrier = robot.tree.bodies[0].name if link is None else robot.link(link).name
    if name in {part.name for part in robot.links}:
        raise InputError(f"robot '{robot.name}' already has a link '{name}': give the payload another name")
    load = Link(
        name=name, mass=mass, inertia=box_inertia(mass, size), box=(float(size[0]), float(size[1]), float(size[2]))
    )
    bolt = Joint(
        name=f"{name}_mount", kind="fixed", parent=carrier, child=name, origin=np.asarray(position, dtype=float)
    )
    return robot.replace(links=(*robot.links, load), joints=(*robot.joints, bolt))

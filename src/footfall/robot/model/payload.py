"""A load on a robot: an extra link on a fixed joint, so that every algorithm takes it into account."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Joint, Link
from footfall.robot.model.shapes import box_inertia


def with_payload(
    robot: Robot,
    mass: float,
    position: Sequence[float] = (0.0, 0.0, 0.0),
    link: str | None = None,
    size: Sequence[float] = (0.1, 0.1, 0.1),
    name: str = "payload",
) -> Robot:
    """The robot with a box of ``mass`` [kg] and ``size`` [m] centred at ``position`` [m] on a link (the base)."""
    carrier = robot.tree.bodies[0].name if link is None else robot.link(link).name
    if name in {part.name for part in robot.links}:
        raise InputError(f"robot '{robot.name}' already has a link '{name}': give the payload another name")
    load = Link(name, mass, inertia=box_inertia(mass, size), box=(float(size[0]), float(size[1]), float(size[2])))
    bolt = Joint(f"{name}_mount", "fixed", carrier, name, np.asarray(position, dtype=float))
    return robot.replace(links=(*robot.links, load), joints=(*robot.joints, bolt))

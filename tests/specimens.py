"""Small robots that together use every branch of the algorithms: all joint kinds, rotors, springs, a fork."""

from __future__ import annotations

import numpy as np
from random_trees import random_link, random_rotation

from footfall.robot import Foot, Joint, Robot, Rotor


def specimen(floating: bool = True, rotors: str = "exact", seed: int = 0) -> Robot:
    """Six moving bodies: a chain of three with a fork after its first, another limb, and a link fixed at an end."""
    rng = np.random.default_rng(seed)
    rows = [
        ("a", "revolute", "base", (1.0, 0.0, 0.0), True),
        ("b", "prismatic", "a", (0.6, -0.3, 0.8), True),
        ("c", "revolute", "b", (0.0, -1.0, 0.0), False),
        ("d", "revolute", "a", (0.0, 0.0, 1.0), True),
        ("e", "revolute", "base", (0.3, 0.5, -0.7), False),
        ("tip", "fixed", "c", (0.0, 0.0, 1.0), False),
    ]
    links = [random_link(rng, name) for name in ("base", *(row[0] for row in rows))]
    joints = [
        Joint(
            name=f"to {child}",
            kind=kind,
            parent=parent,
            child=child,
            origin=0.3 * rng.normal(size=3),
            rotation=random_rotation(rng),
            axis=np.array(axis),
            armature=float(rng.uniform(0.01, 0.1)),
            stiffness=float(rng.uniform(1.0, 5.0)),
            rest=float(rng.normal()),
            damping=0.3,
            dry_friction=0.2,
            rotor=_rotor(rng) if geared else None,
        )
        for child, kind, parent, axis, geared in rows
    ]
    feet = [
        Foot(name="far", link="tip", position=0.2 * rng.normal(size=3), radius=0.05),
        Foot(name="near", link="d", position=0.2 * rng.normal(size=3), radius=0.03),
    ]
    return Robot(name="specimen", links=links, joints=joints, feet=feet, floating=floating, rotors=rotors)


def _rotor(rng: np.random.Generator) -> Rotor:
    return Rotor(
        mass=0.1,
        position=0.1 * rng.normal(size=3),
        spin_inertia=2e-3,
        transverse_inertia=1.2e-3,
        gear=float(rng.uniform(4.0, 8.0)),
    )

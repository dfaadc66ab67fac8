"""Robots that nobody would build: random trees to test laws on, which real robots' symmetry could hide errors from."""

from __future__ import annotations

import numpy as np

from footfall.robot import Foot, Joint, Link, Robot, Rotor
from footfall.spatial.quaternion import to_rotation


def random_tree(
    rng: np.random.Generator, bodies: int = 8, floating: bool | None = None, rotors: str | None = None
) -> Robot:
    """``bodies`` links in random topology: revolute, prismatic, fixed joints, any axes and frames, realisable tensors.

    Some joints have armature, springs, limits or rotors; some inner links have no mass; feet sit anywhere.
    """
    parents = [int(rng.integers(0, k)) for k in range(1, bodies)]
    links = []
    for k in range(bodies):
        inner = k > 0 and k in parents
        links.append(Link.massless(f"link{k}") if inner and rng.random() < 0.15 else random_link(rng, f"link{k}"))
    joints = [_random_joint(rng, k + 1, parent, links[k + 1].mass == 0) for k, parent in enumerate(parents)]
    if floating is None:
        floating = bool(rng.random() < 0.6)
    if not floating and all(joint.kind == "fixed" for joint in joints):
        floating = True  # else nothing moves
    feet = [
        Foot(
            name=f"foot{k}",
            link=f"link{rng.integers(0, bodies)}",
            position=0.2 * rng.normal(size=3),
            radius=float(rng.uniform(0.0, 0.05)),
        )
        for k in range(int(rng.integers(1, 4)))
    ]
    mode = rotors or str(rng.choice(["none", "armature", "exact"]))
    return Robot(name=f"random tree of {bodies}", links=links, joints=joints, feet=feet, floating=floating, rotors=mode)


def random_link(rng: np.random.Generator, name: str) -> Link:
    """A cloud of point masses: its tensor is realisable by construction."""
    masses = rng.uniform(0.1, 1.0, 6)
    points = 0.2 * rng.normal(size=(6, 3))
    com = masses @ points / masses.sum()
    r = points - com
    tensor = np.einsum("k,k,ij->ij", masses, (r**2).sum(axis=1), np.eye(3)) - np.einsum("k,ki,kj->ij", masses, r, r)
    return Link(name=name, mass=float(masses.sum()), com=com, inertia=0.5 * (tensor + tensor.T))


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    quat = rng.normal(size=4)
    return to_rotation(quat / np.linalg.norm(quat))


def _random_joint(rng: np.random.Generator, child: int, parent: int, massless: bool) -> Joint:
    kind = str(rng.choice(["revolute", "prismatic", "fixed"], p=[0.6, 0.2, 0.2]))
    aligned = rng.random() < 0.3
    axis = np.eye(3)[rng.integers(0, 3)] * rng.choice([-1.0, 1.0]) if aligned else rng.normal(size=3)
    limited = rng.random() < 0.5
    with_rotor = kind != "fixed" and rng.random() < 0.3
    return Joint(
        name=f"joint{child}",
        kind=kind,
        parent=f"link{parent}",
        child=f"link{child}",
        origin=0.3 * rng.normal(size=3),
        rotation=random_rotation(rng) if rng.random() < 0.8 else np.eye(3),
        axis=axis,
        lower=-1.0 if limited else -np.inf,
        upper=1.5 if limited else np.inf,
        armature=float(rng.uniform(0.01, 0.1)) if massless or rng.random() < 0.4 else 0.0,
        stiffness=float(rng.uniform(0.0, 5.0)) if rng.random() < 0.2 else 0.0,
        rest=float(rng.normal()),
        rotor=_random_rotor(rng) if with_rotor else None,
    )


def _random_rotor(rng: np.random.Generator) -> Rotor:
    spin = float(rng.uniform(1e-4, 1e-3))
    return Rotor(
        mass=float(rng.uniform(0.05, 0.2)),
        position=0.1 * rng.normal(size=3),
        spin_inertia=spin,
        transverse_inertia=float(rng.uniform(0.5, 1.5)) * spin,
        gear=float(rng.uniform(-10.0, 10.0)),
    )

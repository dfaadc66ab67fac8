"""The state of a simulation between two steps, and the forces that acted during one."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxtyping import Float
from numpy import ndarray

from footfall.nests import Nest


@dataclass(frozen=True)
class State:
    """Configuration, velocity, and what the contact model remembers (empty: it starts afresh in every step), with the
    rotors of joints behind belts."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    memory: dict[str, ndarray] = field(default_factory=dict)
    objects: Nest = ()  # of free bodies: rows of position, quaternion, and (ω, v) in their own axes


@dataclass(frozen=True)
class Acted:
    """The forces that acted during a step, implicit parts included."""

    motor: Float[ndarray, "nj"]  # joint torques of the motors [N m]
    passive: Float[ndarray, "nj"]  # joint torques of springs, damping, friction and end stops [N m]
    forces: Float[ndarray, "ns 3"]  # on the spheres and the first links of pairs, world axes [N]
    generalised: Float[ndarray, "4 nv"]  # of motors, losses, contact and pushes, whose work is audited
    memory: dict[str, ndarray] = field(default_factory=dict)  # of the contact model, for the next step
    objects: Nest = ()  # accelerations of free bodies, rows of six

"""The tick of many robots: only what the next tick needs is carried, so that nothing else is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.simulate.tick import Body, Carried, Inputs, Rig, tick


@dataclass(frozen=True)
class Lean:
    """State of one robot in a batch. ``forces`` are those on the spheres, kept for controllers that feel them."""

    tick: float
    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    forces: Float[ndarray, "ns 3"]
    contact: Any  # memory of the contact model
    memory: Any  # of the controller


def lean_of(carried: Carried, feels: bool) -> Lean:
    """``feels``: whether the controller looks at the forces; without, none are carried."""
    body = carried.body
    forces = body.forces if feels else body.forces[:0]
    return Lean(carried.tick, body.q, body.v, forces, body.memory, carried.memory)


def lean_tick(rig: Rig, lean: Lean, inputs: Inputs) -> Lean:
    """One tick of the controller and the physics below it."""
    spheres, feels = len(rig.world.spheres), len(lean.forces) > 0
    forces = lean.forces if feels else np.zeros((spheres, 3))
    body = Body(lean.q, lean.v, np.zeros(rig.world.robot.nj), forces, np.zeros(4), lean.contact)
    after, _ = tick(rig, Carried(lean.tick, body, lean.memory), inputs)
    return lean_of(after, feels)

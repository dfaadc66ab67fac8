"""The tick of many robots: only what the next tick needs is carried, so that nothing else is computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import DTypeLike

from footfall.simulate.tick import Body, Carried, Inputs, Rig, tick
from footfall.trace.face import tree


@dataclass(frozen=True)
class Lean:
    """State of one robot in a batch. ``forces`` are those on the spheres, kept for controllers that feel them."""

    tick: float
    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    forces: Float[ndarray, "ns 3"]
    contact: Any  # memory of the contact model
    memory: Any  # of the controller


def lean_of(carried: Carried, uses_foot_forces: bool) -> Lean:
    """``uses_foot_forces``: whether the controller looks at the forces; without, none are carried."""
    body = carried.body
    forces = body.forces if uses_foot_forces else body.forces[:0]
    return Lean(carried.tick, body.q, body.v, forces, body.memory, carried.memory)


def full_tick(rig: Rig, lean: Lean, inputs: Inputs) -> Carried:
    """One tick of the controller and the physics below it, with all that a tick knows: for meters."""
    forces = lean.forces if len(lean.forces) else np.zeros((len(rig.world.spheres), 3))
    body = Body(lean.q, lean.v, np.zeros(rig.world.robot.nj), forces, np.zeros(5), lean.contact)
    return tick(rig, Carried(lean.tick, body, lean.memory), inputs)[0]


def lean_tick(rig: Rig, lean: Lean, inputs: Inputs) -> Lean:
    """One tick of the controller and the physics below it."""
    return lean_of(full_tick(rig, lean, inputs), len(lean.forces) > 0)


def repeated(nest: Any, n: int, dtype: DTypeLike = np.float64) -> Any:
    """A nest of one robot as one of n: every array with a robot axis first."""
    leaves, rebuild = tree.flatten(nest)
    return rebuild([np.tile(np.asarray(x, dtype), (n, *(1,) * np.ndim(x))) for x in leaves])

"""The tick of many robots with a meter: the work that their motors do, counted in the tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.batch.lean import Lean, lean_of
from footfall.kinematics.forward import joint_rates
from footfall.simulate.tick import Body, Carried, Inputs, Rig, tick


@dataclass(frozen=True)
class Metered:
    """State of one robot, and the positive mechanical work of its motors so far [J]."""

    lean: Lean
    work: float


def metered_tick(rig: Rig, metered: Metered, inputs: Inputs) -> Metered:
    """One tick; motors that brake give nothing back, as in ``Recording.cost_of_transport``."""
    robot, lean = rig.world.robot, metered.lean
    spheres, feels = len(rig.world.spheres), len(lean.forces) > 0
    forces = lean.forces if feels else np.zeros((spheres, 3))
    body = Body(lean.q, lean.v, np.zeros(robot.nj), forces, np.zeros(4), lean.contact)
    after, _ = tick(rig, Carried(lean.tick, body, lean.memory), inputs)
    power = np.sum(np.maximum(after.body.motor * joint_rates(robot, after.body.v), 0.0))
    return Metered(lean_of(after, feels), metered.work + rig.period * power)

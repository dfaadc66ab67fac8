"""The tick of many robots with a meter: the work that their motors do, counted in the tick."""

from __future__ import annotations

from dataclasses import dataclass

from footfall.batch.lean import Lean, full_tick, lean_of
from footfall.simulate.tick import Inputs, Rig


@dataclass(frozen=True)
class Metered:
    """State of one robot, and the positive mechanical work of its motors so far [J]."""

    lean: Lean
    work: float


def metered_tick(rig: Rig, metered: Metered, inputs: Inputs) -> Metered:
    """One tick; motors that brake give nothing back, as in ``Recording.cost_of_transport``."""
    after = full_tick(rig, metered.lean, inputs)
    return Metered(lean_of(after, len(metered.lean.forces) > 0), metered.work + after.body.work[4])

"""Why a run ends early: detectors that look at every piece of it, each for one kind of end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from footfall.simulate.arguments import over_hole
from footfall.simulate.falls import Falls
from footfall.simulate.rows import Rows
from footfall.simulate.self_collision import Watcher
from footfall.simulate.stop import Stop
from footfall.simulate.tick import RunState, SimulationModel


@dataclass(frozen=True)
class Piece:
    """Some ticks of a run: the state before and after them, their rows, and what the controller did wrong."""

    before: RunState
    after: RunState
    rows: Rows
    trouble: Stop | None


class StopDetector(Protocol):
    def find(self, piece: Piece, kept: int) -> tuple[int, Stop] | None:
        """(how many rows remain, why) if the run ends within the first ``kept`` rows of a piece, or right after."""
        ...


@dataclass(frozen=True)
class Divergence:
    """A number that is no longer finite."""

    model: SimulationModel

    def find(self, piece: Piece, kept: int) -> tuple[int, Stop] | None:
        rows, good = piece.rows, piece.rows.finite()
        if good == len(rows) and (piece.trouble is not None or is_finite(piece.after)):
            return None
        bad = min(good, len(rows) - 1)
        when = float(rows.time[bad]) if len(rows) else float(piece.before.tick) * self.model.period
        culprit = rows.culprit(bad, self.model) if len(rows) else "the state of the base"
        last = rows.state.q[bad - 1] if bad > 0 else piece.before.q
        culprit = over_hole(self.model.world, last) or culprit
        return good, Stop(when, "diverged", f"the run diverged at {when:.4f} s: {culprit}")


@dataclass(frozen=True)
class Fall:
    """A base that leans too far or lies on the ground."""

    falls: Falls

    def find(self, piece: Piece, kept: int) -> tuple[int, Stop] | None:
        row = self.falls.first(piece.rows.state.q[:kept]) if kept else None
        if row is None:
            return None
        when = float(piece.rows.time[row])
        return row + 1, Stop(when, "fell", f"the robot fell at {when:.3f} s")


@dataclass(frozen=True)
class Collision:
    """Two links of the robot that meet."""

    watch: Watcher

    def find(self, piece: Piece, kept: int) -> tuple[int, Stop] | None:
        q = piece.rows.state.q
        row = self.watch.first(q[:kept])
        if row is None or row >= kept:
            return None
        when = float(piece.rows.time[row])
        message = f"the run stopped at {when:.3f} s: {self.watch.words(q[row])} met"
        return row + 1, Stop(when, "self_collision", message)


def is_finite(state: RunState) -> bool:
    return bool(np.isfinite(state.q).all() and np.isfinite(state.v).all())

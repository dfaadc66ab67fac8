"""One run of a simulation, piece by piece: what a piece starts from, and what is made of the ticks that came of it.

A piece has one command, and ends at the first tick at which a detector stops the run; pushes may come and go within
it. Who computes its ticks is left open: the simulation's own backend (``Simulation.run``), or one for many simulations
at once (``run_batched``).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from footfall.recording.force_mean import window_stride
from footfall.recording.recording import Recording
from footfall.recording.recording_writer import Event
from footfall.sim.commanding import ticks_to_command
from footfall.sim.pushes import ticks_to_change
from footfall.sim.recorder import Recorder
from footfall.sim.rollouts import Ask, CompiledEngine, Rolled, Rows
from footfall.sim.stopping import Piece, Stop, is_finite

if TYPE_CHECKING:
    from footfall.sim.simulation import Simulation


_CHUNK_SECONDS = 0.25  # of simulated time between looks at the state


class Running:
    """A run that is under way; it ends when its ticks are done or the simulation has stopped."""

    def __init__(self, simulation: Simulation, ticks: int, recorder: Recorder | None) -> None:
        self.simulation, self.left, self.recorder = simulation, ticks, recorder
        self.every = simulation.rows_every if recorder is None else recorder.every

    @property
    def ended(self) -> bool:
        return self.left <= 0 or self.simulation.stopped is not None

    def pieces(self) -> Iterator[int]:
        """To the end on the simulation's own engine; gives the ticks of each piece when it is done."""
        while not self.ended:
            ask = self.ask(self.most())
            began = time.perf_counter()
            found = self._rolled(ask)
            self.take(ask, found, time.perf_counter() - began)
            yield ask.count

    def most(self) -> int:
        """How many ticks have the same command, as far as one looks ahead."""
        simulation, every = self.simulation, self.every
        period, tick = simulation.model.period, simulation.state.tick
        count = min(self.left, max(every, int(_CHUNK_SECONDS / period) // every * every))
        return ticks_to_command(simulation.command, float(np.round(tick)), period, count)

    def ask(self, count: int) -> Ask:
        """For so many ticks; the rows that are recorded and those between that mean forces need, or all of them where
        that does not come out even."""
        simulation, before, spans, at = self.simulation, self.simulation.state, [], 0
        tick, every = float(np.round(before.tick)), window_stride(self.every, simulation.model.period)
        while at < count:
            spans.append((at, simulation.inputs_at(tick + at)))
            at += ticks_to_change(simulation.pushes, tick + at, simulation.model.period, count - at)
        aligned = before.tick % every == 0 and count % every == 0 and not any(start % every for start, _ in spans)
        return Ask(before, spans, count, every if aligned else 1)

    def _rolled(self, ask: Ask) -> Rolled:
        """On the simulation's own engine."""
        state, rows, trouble = ask.before, list[Rows](), None
        for (start, inputs), end in zip(ask.spans, [*(start for start, _ in ask.spans[1:]), ask.count]):
            if trouble is None:
                state, some, trouble = self.simulation.engine.roll(state, inputs, end - start, ask.every)
                rows.append(some)
        return state, Rows.joined(rows), trouble

    def take(self, ask: Ask, found: Rolled, seconds: float) -> None:
        """Go on with what was computed, to the first tick at which a detector stops the run."""
        simulation = self.simulation
        piece = Piece(ask.before, *self._in_detail(ask, found))
        rows, kept, simulation.stopped = piece.rows, len(piece.rows), piece.trouble
        for detector in simulation.stop_detectors():
            stop = detector.find(piece, kept)
            if stop is not None:
                kept, simulation.stopped = stop
        thrown = self._thrown(piece, ask.count)
        simulation.state = piece.after
        if simulation.stopped is not piece.trouble:  # what is past the stop is not shown
            simulation.state = rows.state_after(kept - 1, piece.before) if kept else piece.before
        self.left -= ask.count
        if self.recorder is None:
            return
        self.recorder.wall_seconds += seconds
        if thrown is not None:
            self.recorder.say(thrown)
        self.recorder.add(rows[:kept], simulation.stopped, simulation.time)

    def finish(self) -> Recording:
        """The recording; it says at the end if the robot lay on the ground all the time."""
        assert self.recorder is not None
        simulation = self.simulation
        if simulation.stopped is None and (lying := simulation.lying) is not None:
            self.recorder.never_stood(Stop(simulation.time, "fell", lying))
        return self.recorder.finish()

    def interrupted(self, error: BaseException) -> None:
        """Close the recording's file so that what there is can be read."""
        if self.recorder is not None:
            self.recorder.interrupted(error)

    def _in_detail(self, ask: Ask, found: Rolled) -> Rolled:
        """The same ticks with all their rows where some number is not finite: to find the tick."""
        engine = self.simulation.engine
        fine = found[2] is not None or is_finite(found[0])
        if ask.every == 1 or fine or not isinstance(engine, CompiledEngine):
            return found
        return self._rolled(replace(ask, every=1))

    def _thrown(self, piece: Piece, count: int) -> Event | None:
        """The event of an emergency stop that was thrown in a piece."""
        simulation, stop = self.simulation, self.simulation.emergency_stop
        if stop is None or not piece.before.memory["latched"] < piece.after.memory["latched"]:
            return None
        now = simulation.time
        scheduled = now <= stop.at < now + count * simulation.model.period
        return Event(stop.at if scheduled else now, "emergency_stop", f"the motors {stop.kind}")


# -- how far a run has come --------------------------------------------------------------------------------------------
Progress = bool | Callable[[str, int, int], None]


class ProgressBar:
    """A bar on standard error, or calls of a user's function, or nothing."""

    def __init__(self, wanted: Progress, total: int) -> None:
        self.wanted, self.total, self.done = wanted, total, 0

    def _report(self, count: int) -> None:
        self.done += count
        if callable(self.wanted):
            self.wanted("simulating", self.done, self.total)

    def __enter__(self) -> Callable[[int], None]:
        if self.wanted is not True:
            return self._report
        from rich.console import Console
        from rich.progress import Progress as Bar

        self.progress = Bar(console=Console(stderr=True), transient=True)
        self.progress.start()
        task = self.progress.add_task("simulating", total=self.total)
        return lambda count: self.progress.advance(task, count)

    def __exit__(self, *_: object) -> None:
        if self.wanted is True:
            self.progress.stop()

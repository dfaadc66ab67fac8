"""One run of a simulation, batch by batch: the next ticks, and the handling of rolled-out ones.

A batch of ticks has one command, and ends at the first tick at which a detector stops the run; pushes may come and go
within it. It may be rolled out by the simulation's own backend (``Simulation.run``), or one for many simulations
at once (``run_batched``).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from footfall.errors import FootfallError
from footfall.recording.force_mean import window_stride
from footfall.recording.recording import Recording
from footfall.recording.recording_writer import Event
from footfall.sim.commanding import ticks_to_command
from footfall.sim.pushes import ticks_to_change
from footfall.sim.recorder import Recorder
from footfall.sim.rollouts import TickBatch
from footfall.sim.stopping import Stop, is_finite
from nptrace._types import PyTree

if TYPE_CHECKING:
    from footfall.sim.simulation import Simulation


_CHUNK_SECONDS = 0.25  # simulated time between checks of the state [s]


class Running:
    """A run in progress; it ends when its ticks are done or the simulation has stopped."""

    def __init__(self, simulation: Simulation, ticks: int, recorder: Recorder | None) -> None:
        self.simulation, self.left, self.recorder = simulation, ticks, recorder
        self.every = simulation.rows_every if recorder is None else recorder.every

    @property
    def ended(self) -> bool:
        return self.left <= 0 or self.simulation.stopped is not None

    def advance(self) -> Iterator[int]:
        """Run to the end on the simulation's own backend; yield the ticks of each batch when it is done."""
        while not self.ended:
            with self._alone():
                batch = self.next_batch(self.ticks_ahead())
                began = time.perf_counter()
                done = self.simulation.backend.rollout(batch)
                self.take(done, time.perf_counter() - began)
            yield batch.count

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Raise if another thread is advancing the simulation: both would continue from the same state."""
        own, attributes = threading.get_ident(), self.simulation.__dict__
        if attributes.setdefault("_advancing", own) != own:  # one atomic operation, which no other thread can interrupt
            raise FootfallError("another thread is running this simulation: give each thread its own (copy.copy)")
        try:
            yield
        finally:
            del attributes["_advancing"]

    def ticks_ahead(self) -> int:
        """Return for how many of the next ticks the command is known to be constant."""
        simulation, every = self.simulation, self.every
        period, tick = simulation.model.period, simulation.state.tick
        count = min(self.left, max(every, int(_CHUNK_SECONDS / period) // every * every))
        return ticks_to_command(simulation.command, float(np.round(tick)), period, count)

    def next_batch(self, count: int) -> TickBatch:
        """Return the next ticks, with the recorded rows and those in between that mean forces need.

        If the intervals do not divide, every tick has a row; also with an estimator, which keeps a history at its own
        times.
        """
        simulation, before, spans, at = self.simulation, self.simulation.state, [], 0
        tick, every = float(np.round(before.tick)), window_stride(self.every, simulation.model.period)
        while at < count:
            spans.append((at, simulation.inputs_at(tick + at)))
            at += ticks_to_change(simulation.pushes, tick + at, simulation.model.period, count - at)
        aligned = simulation.model.acting.estimates is None
        aligned &= before.tick % every == 0 and count % every == 0 and not any(start % every for start, _ in spans)
        return TickBatch.of(before, spans, count=count, every=every if aligned else 1, model=simulation.model)

    def take(self, done: TickBatch, seconds: float) -> None:
        """Process rolled-out ticks, up to the first at which a detector stops the run."""
        simulation, batch = self.simulation, self._in_detail(done)
        kept, simulation.stopped = len(batch), batch.trouble
        for detector in simulation.stop_detectors():
            stop = detector.find(batch, kept)
            if stop is not None:
                kept, simulation.stopped = stop
        pressed = self._stop_pressed(batch)
        simulation.state = batch.after
        if simulation.stopped is not batch.trouble:  # ticks after the stop are not shown
            simulation.state = batch.state_after(kept - 1) if kept else batch.before
        self.left -= batch.count
        if self.recorder is None:
            return
        self.recorder.wall_seconds += seconds
        if pressed is not None:
            self.recorder.add_event(pressed)
        self.recorder.add(batch.select(slice(kept)), simulation.stopped, simulation.time)

    def finish(self) -> Recording:
        """Return the recording, with an event if the robot lay on the ground all the time."""
        assert self.recorder is not None
        simulation = self.simulation
        if simulation.stopped is None and (lying := simulation.lying) is not None:
            self.recorder.add_never_stood(Stop(simulation.time, "fell", lying))
        return self.recorder.finish()

    def interrupted(self, error: BaseException) -> None:
        """Close the recording's file so that its content can be read."""
        if self.recorder is not None:
            self.recorder.interrupted(error)

    def _in_detail(self, batch: TickBatch) -> TickBatch:
        """Return the ticks with all their rows if some number is not finite, to find the tick."""
        backend = self.simulation.backend
        fine = batch.trouble is not None or is_finite(batch.after)
        if batch.every == 1 or fine or not backend.repeatable:
            return batch
        return backend.rollout(replace(batch, every=1))

    def _stop_pressed(self, batch: TickBatch) -> Event | None:
        """Return the event of an emergency stop that was pressed in a batch."""
        if self.simulation.emergency_stop is None:
            return None
        return pressed_in(self.simulation, batch.before.memory, batch.after.memory, batch.count)


def pressed_in(simulation: Simulation, before: PyTree, after: PyTree, ticks: int) -> Event | None:
    """Return the event of an emergency stop pressed in the next ticks, from the memories before and after."""
    stop = simulation.emergency_stop
    if stop is None or not before["latched"] < after["latched"]:
        return None
    now = simulation.time
    scheduled = now <= stop.at < now + ticks * simulation.model.period
    return Event(stop.at if scheduled else now, "emergency_stop", f"the motors {stop.kind}")


# -- how far a run has come --------------------------------------------------------------------------------------------
Progress = bool | Callable[[str, int, int], None]


class ProgressBar:
    """A bar on standard error, calls of a user's function, or nothing."""

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

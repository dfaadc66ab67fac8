"""Items on this machine: worker processes that may die without ending the study."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from footfall.errors import FootfallError
from footfall.plugins import USER_FOLDERS
from footfall.sweep.item import FAILED
from footfall.sweep.study import SIMULATE, Item, Study
from nptrace._types import Json

TRIES = 3  # attempts for an item whose worker dies
TOGETHER = 16  # largest number of simulations that a worker gets at once: these are repeated if it dies
_COMMAND = (sys.executable, "-P", "-m", "footfall.sweep.worker")
Answer = tuple[Item, dict[str, Json]]


def run_local(items: Sequence[Item], study: Study, workers: int, log: Path) -> Iterator[Answer]:
    """Yield results as they arrive, in any order. ``log``: file for the workers' output."""
    common = {"function": study.function, "folder": str(study.folder), "numbers": study.numbers()}
    waiting = deque(groups(items, study, workers))
    deaths = dict.fromkeys((item.digest for item in items), 0)
    events: queue.Queue[tuple[_Worker, str | None]] = queue.Queue()
    crew: list[_Worker] = []
    with log.open("ab") as output:
        try:
            for _ in range(min(workers, len(waiting))):
                crew.append(_Worker(common, events, output))
            left = len(items)
            while left:
                worker, line = events.get()
                if line is None:
                    crew.remove(worker)
                    how = worker.ended()
                    if not worker.ready:
                        raise FootfallError(f"a worker process could not start ({how}): see {log}")
                    again, lost = _after_death(worker.items, deaths)
                    waiting.extendleft(again)
                    for item in lost:
                        left -= 1
                        yield item, died(f"its worker process died {TRIES} times ({how})")
                    if waiting:
                        crew.append(_Worker(common, events, output))
                    continue
                answers = json.loads(line)
                if not worker.ready:
                    worker.ready = True
                else:
                    done, worker.items = worker.items, []
                    left -= len(done)
                    yield from zip(done, answers, strict=True)
                if waiting:
                    worker.give(waiting.popleft())
        finally:
            for worker in crew:
                worker.end()


def groups(items: Sequence[Item], study: Study, workers: int) -> list[list[Item]]:
    """Return groups of items for one worker: simulations that differ only in numbers, which may run in lanes."""
    if study.function != SIMULATE:
        return [[item] for item in items]
    numbers, by_program = study.numbers(), dict[str, list[Item]]()
    for item in items:
        rest = {name: value for name, value in item.parameters.items() if name not in numbers}
        by_program.setdefault(json.dumps(rest, default=str), []).append(item)
    most = max(1, min(TOGETHER, -(-len(items) // workers)))  # first, work for every worker
    found: list[list[Item]] = []
    for some in by_program.values():
        size = -(-len(some) // -(-len(some) // most))  # of equal size, so that none is left over
        found += [some[k : k + size] for k in range(0, len(some), size)]
    return found


def _after_death(items: list[Item], deaths: dict[str, int]) -> tuple[list[list[Item]], list[Item]]:
    """Return (groups to be retried, items given up). The faulty item of a group is found by running each separately."""
    if len(items) > 1:
        return [[item] for item in reversed(items)], []
    for item in items:
        deaths[item.digest] += 1
        if deaths[item.digest] >= TRIES:
            return [], [item]
    return [items] if items else [], []


def died(message: str) -> dict[str, Json]:
    """Return the result of an item whose worker died."""
    return {"status": FAILED, "result": {}, "message": message, "seconds": None}


class _Worker:
    """One worker process, and its present items."""

    def __init__(
        self, common: dict[str, Json], events: queue.Queue[tuple[_Worker, str | None]], output: IO[bytes]
    ) -> None:
        self.common, self.events = common, events
        self.items: list[Item] = []
        self.ready = False
        paths = os.pathsep.join(path for path in sys.path if path and path not in USER_FOLDERS)  # found as here
        self.process = subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C is handled by the sweep
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as answers:
            for line in answers:
                if line.endswith("\n"):
                    self.events.put((self, line))
        self.events.put((self, None))

    def give(self, items: list[Item]) -> None:
        """Send items; a worker that has just died is detected by its silence."""
        self.items = items
        task = {**self.common, "parameters": [dict(item.parameters) for item in items]}
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()

    def ended(self) -> str:
        """Wait for a process that has closed its output, and return how it ended as text."""
        self.end()
        code = self.process.returncode
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def end(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

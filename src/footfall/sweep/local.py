"""Items on this machine: worker processes that may die without taking the study with them."""

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
from typing import IO, Any

from footfall.errors import FootfallError
from footfall.sweep.item import FAILED
from footfall.sweep.study import Item, Study

TRIES = 3  # of an item whose worker dies
_COMMAND = (sys.executable, "-P", "-m", "footfall.sweep.worker")
Answer = tuple[Item, dict[str, Any]]


def run_local(items: Sequence[Item], study: Study, workers: int, log: Path) -> Iterator[Answer]:
    """Answers as they come, in any order. ``log``: where the workers' own output goes."""
    common = {"function": study.function, "folder": str(study.folder), "numbers": study.numbers()}
    waiting = deque(items)
    deaths = dict.fromkeys((item.digest for item in items), 0)
    events: queue.Queue[tuple[_Worker, str | None]] = queue.Queue()
    crew: list[_Worker] = []
    with log.open("ab") as output:
        try:
            for _ in range(min(workers, len(waiting))):
                crew.append(_Worker(common, events, output))
            left = len(waiting)
            while left:
                worker, line = events.get()
                if line is None:
                    item = worker.item
                    crew.remove(worker)
                    how = worker.ended()
                    if not worker.ready:
                        raise FootfallError(f"a worker process could not start ({how}): see {log}")
                    if item is not None:
                        deaths[item.digest] += 1
                        if deaths[item.digest] < TRIES:
                            waiting.appendleft(item)
                        else:
                            left -= 1
                            yield item, died(f"its worker process died {TRIES} times ({how})")
                    if left > len([w for w in crew if w.item is not None]):
                        crew.append(_Worker(common, events, output))
                    continue
                answer = json.loads(line)
                if not worker.ready:
                    worker.ready = True
                else:
                    item, worker.item = worker.item, None
                    assert item is not None
                    left -= 1
                    yield item, answer
                if waiting:
                    worker.give(waiting.popleft())
        finally:
            for worker in crew:
                worker.end()


def died(message: str) -> dict[str, Any]:
    """The answer of an item that never came to answer."""
    return {"status": FAILED, "result": {}, "message": message, "seconds": None}


class _Worker:
    """One worker process, and the item that it has in hand."""

    def __init__(
        self, common: dict[str, Any], events: queue.Queue[tuple[_Worker, str | None]], output: IO[bytes]
    ) -> None:
        self.common, self.events = common, events
        self.item: Item | None = None
        self.ready = False
        paths = os.pathsep.join(path for path in sys.path if path)
        self.process = subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, text=True, encoding="utf-8",
            env={**os.environ, "PYTHONPATH": paths}, start_new_session=True,  # Ctrl-C is the sweep's own business
        )  # fmt: skip
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as answers:
            for line in answers:
                if line.endswith("\n"):
                    self.events.put((self, line))
        self.events.put((self, None))

    def give(self, item: Item) -> None:
        """Hand over an item; a worker that has just died is noticed by its silence."""
        self.item = item
        task = {**self.common, "parameters": dict(item.parameters)}
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(task) + "\n")
            self.process.stdin.flush()

    def ended(self) -> str:
        """Wait for a process that has closed its output, and say how it ended."""
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

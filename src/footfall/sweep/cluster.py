"""Items on a Dask cluster, by the address of its scheduler: ``tcp://host:8786``.

When a worker dies, the scheduler reassigns its items, each up to three times. The number of items submitted at once is
limited by the workers' capacity, so that a study of any size is a small load for the scheduler.
"""

from __future__ import annotations

import asyncio
import queue
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import TYPE_CHECKING

from footfall.errors import FootfallError, InputError, MissingExtraError
from footfall.sweep.item import evaluate
from footfall.sweep.local import TRIES, Answer, died
from footfall.sweep.study import Item, Study
from nptrace._types import Json

if TYPE_CHECKING:
    from distributed import Future

PATIENCE = 20.0  # [s] after which a cluster without a response or without workers is given up
_AHEAD = 4  # submitted items per thread of the workers
_LOOK = 2.0  # [s] between checks of a busy cluster


class Cluster:
    """A connection to a scheduler with at least one worker; raises in one sentence otherwise."""

    def __init__(self, address: str, patience: float = PATIENCE) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("a sweep on a cluster", "cluster", "dask and distributed") from None
        if "://" not in address:
            raise InputError(f"the address of a cluster looks like tcp://host:8786, got {address!r}")
        self.address, self.patience = address, patience
        _quiet()
        try:
            with ThreadPoolExecutor(1) as apart:  # the caller may have an event loop
                apart.submit(asyncio.run, _greeted(address, patience)).result()
            self.client = Client(address, timeout=patience, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise FootfallError(f"no Dask scheduler responds at {address} within {patience:g} s ({why})") from None
        try:
            self.client.wait_for_workers(1, timeout=patience)
        except TimeoutError:
            self.close()
            raise FootfallError(
                f"the Dask cluster at {address} has no workers, and none came within {patience:g} s: start some with"
                f"  dask worker {address}"
            ) from None

    def threads(self) -> int:
        """Return the number of threads of all workers; 0 if there are none, or the scheduler does not respond."""
        try:
            scheduler = self.client.scheduler
            if scheduler is None:
                return 0
            return sum(self.client.sync(scheduler.ncores, callback_timeout=self.patience).values())
        except (OSError, TimeoutError, RuntimeError):
            return 0

    def run(self, items: Sequence[Item], study: Study) -> Iterator[Answer]:
        """Yield results as they arrive, in any order."""
        function, folder, numbers = study.function, str(study.folder), study.numbers()
        waiting = deque(items)
        inside: dict[str, tuple[Item, Future[Json]]] = {}
        losses = dict.fromkeys((item.digest for item in items), 0)
        done: queue.Queue[str] = queue.Queue()
        most, silent = max(_AHEAD * self.threads(), 1), 0.0
        while waiting or inside:
            while waiting and len(inside) < most:
                item = waiting.popleft()
                # equal items have equal names: one left behind by a sweep is not run twice
                key = f"footfall-{item.digest}-{losses[item.digest]}"
                task = (function, folder, dict(item.parameters), numbers)
                future = self.client.submit(evaluate, *task, key=key, pure=False)
                inside[item.digest] = item, future
                future.add_done_callback(lambda _, digest=item.digest: done.put(digest))
            try:
                item, future = inside.pop(done.get(timeout=_LOOK))
            except queue.Empty:
                threads = self.threads()
                most, silent = max(_AHEAD * threads, most), 0.0 if threads else silent + _LOOK
                self._check_alive(silent)
                continue
            answer = self._answer(future)
            future.release()
            if answer is None:  # its worker died after finishing it, before passing on the result
                self._check_alive(0.0)
                losses[item.digest] += 1
                if losses[item.digest] < TRIES:
                    waiting.appendleft(item)
                    continue
                answer = died(f"its answer was lost with its worker {TRIES} times")
            yield item, answer

    def _check_alive(self, silent: float) -> None:
        if self.client.status != "running" or silent >= self.patience:
            raise FootfallError(
                f"the Dask cluster at {self.address} has had no worker for {self.patience:g} s, or its scheduler has"
                " gone: finished items are kept, continue with --resume when it is back"
            )

    def _answer(self, future: Future[Json]) -> dict[str, Json] | None:
        """Return the result of an item; None if that is lost."""
        from distributed.scheduler import KilledWorker

        try:
            if future.status == "finished":
                return future.result(timeout=self.patience)
            error = future.exception(timeout=self.patience) if future.status == "error" else None
        except (CancelledError, TimeoutError, OSError):
            return None
        if isinstance(error, KilledWorker):
            return died(f"its workers died {error.allowed_failures + 1} times")
        return died(" ".join(f"{type(error).__name__}: {error}".split())) if error is not None else None

    def close(self) -> None:
        self.client.close(timeout=2.0)


async def _greeted(address: str, patience: float) -> None:
    """Perform one handshake: a Dask client would wait forever for a server that accepts but does not respond."""
    from distributed.comm import connect

    comm = await asyncio.wait_for(connect(address, timeout=patience), patience + 1.0)
    await comm.close()


def _quiet() -> None:
    """Silence the cluster's own messages: errors are reported in one sentence."""
    import logging

    for name in ("distributed.client", "distributed.comm", "distributed.core", "distributed.utils_perf"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

"""How far a run has come, for whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable

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

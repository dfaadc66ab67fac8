"""Run a study from start to end, or continue it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from footfall.errors import InputError
from footfall.recording.recording import versions
from footfall.sim.cores import cores
from footfall.sweep import plot as plots
from footfall.sweep import table as tables
from footfall.sweep.cluster import PATIENCE, Cluster
from footfall.sweep.item import DONE, FAILED, check_names
from footfall.sweep.journal import Journal
from footfall.sweep.local import Answer, run_local
from footfall.sweep.permission import allow, is_allowed
from footfall.sweep.study import Item, Study, read_study
from nptrace._types import Json

if TYPE_CHECKING:
    import xarray

STUDY, LOG, PLOT = "study.toml", "workers.log", "summary.png"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """The result of a study, and the paths of its files."""

    study: Study
    folder: Path
    items: list[Item]
    entries: dict[str, dict[str, Json]]  # by digest
    table: Path
    plot: Path
    dropped: int  # lines of the journal that could not be read

    def count(self, status: str) -> int:
        return sum(self.entries[item.digest]["status"] == status for item in self.items)

    @property
    def done(self) -> int:
        return self.count(DONE)

    @property
    def failed(self) -> int:
        return self.count(FAILED)

    def failures(self) -> list[tuple[dict[str, Json], str]]:
        """Failed items, as (parameters, message)."""
        found = []
        for item in self.items:
            entry = self.entries[item.digest]
            if entry["status"] == FAILED:
                own = {key: item.parameters[key] for key in self.study.varying}
                found.append((own, str(entry.get("message"))))
        return found

    def load(self) -> xarray.Dataset:
        """Return the table, loaded into memory."""
        return tables.read(self.table)


def run(
    study: Study | str | Path,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    retry_failed: bool = False,
    cluster: str | None = None,
    workers: int | None = None,
    patience: float = PATIENCE,
    progress: Progress | None = None,
    allow_code: bool = False,
) -> StudyResult:
    """Run every unfinished item of a study, then write its table and its plot.

    Args:
        study: A study, or its file.
        out: Folder; ``out/NAME`` unless given.
        resume: Continue with the results in the folder.
        retry_failed: Run failed items again.
        cluster: Address of a Dask scheduler; local processes otherwise.
        workers: Number of local processes; one per core unless given.
        patience: Time to wait for a cluster that does not respond or has no workers [s].
        progress: Called with the number of finished items and the total.
        allow_code: Allow the study's ``function`` to run, here and on the workers. The permission is stored in the
            user's state folder for ``resume``, until the code in the study's folder changes.

    Returns:
        Table, counts and paths.
    """
    if not isinstance(study, Study | str | Path):
        raise InputError(f"sweep.run takes a study's file or parse_study(text), got {type(study).__name__}")
    study = study if isinstance(study, Study) else read_study(study)
    if workers is not None and workers < 1:
        raise InputError(f"a sweep needs at least one worker, got {workers}")
    tables.check_installed()
    folder = Path(out) if out is not None else Path("out") / study.name
    resume = resume or retry_failed
    if study.runs_code and not allow_code and not (resume and is_allowed(study.function, study.folder)):
        raise InputError(
            f"the function {study.function!r} of the study '{study.name}' is code, which would run with your rights:"
            " if you trust it, add  --allow-code  (allow_code=True in Python)"
        )
    check_names(study)
    items = study.items()
    report = progress or (lambda what, done, of: None)
    with contextlib.ExitStack() as stack:
        journal = stack.enter_context(contextlib.closing(Journal(folder, study.name, resume, dict(versions()))))
        if study.runs_code and allow_code:
            allow(study.function, study.folder)
        pending = _pending(items, journal, retry_failed)
        far = stack.enter_context(contextlib.closing(Cluster(cluster, patience))) if cluster and pending else None
        (folder / STUDY).write_text(study.text, encoding="utf-8")
        finished = len(items) - len(pending)
        report("starting", finished, len(items))
        for item, answer in _answers(study, pending, folder, far, workers):
            journal.append(item.digest, dict(item.parameters), answer)
            finished += 1
            report(answer["status"], finished, len(items))
        entries, dropped = journal.entries, journal.dropped
    table = tables.to_xarray(study, items, entries)
    written = tables.write(table, folder / tables.FILE)
    return StudyResult(
        study=study,
        folder=folder,
        items=items,
        entries=entries,
        table=written,
        plot=plots.write(table, study, folder / PLOT),
        dropped=dropped,
    )


def _pending(items: list[Item], journal: Journal, retry_failed: bool) -> list[Item]:
    """Return items without a result, each once, however often it was drawn."""
    again = (FAILED,) if retry_failed else ()
    left = {item.digest: item for item in items}
    return [
        item
        for digest, item in left.items()
        if digest not in journal.entries or journal.entries[digest]["status"] in again
    ]


def _answers(
    study: Study, pending: list[Item], folder: Path, far: Cluster | None, workers: int | None
) -> Iterator[Answer]:
    if not pending:
        return iter(())
    if far is not None:
        return far.run(pending, study)
    return run_local(pending, study, workers or cores(), folder / LOG)

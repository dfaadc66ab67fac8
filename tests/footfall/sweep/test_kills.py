"""Studies that are killed: workers by kill -9, the sweep by kill -9. No finished item is lost or done again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from footfall import sweep
from footfall.sweep.run import StudyResult

HERE = Path(__file__).parent
ITEMS, WORKERS = 28, 2
GATES = 8, 20  # items that may finish before the death of a worker, and before that of the sweep


def write_study(folder: Path, count: int, seconds: float) -> Path:
    (folder / "traces").mkdir()
    (folder / "gate").write_text(str(count))
    study = folder / "killed.toml"
    study.write_text(
        f'function = "sweep_items:traced"\n[run]\nfolder = "{folder / "traces"}"\nseconds = {seconds}\n'
        f'gate = "{folder / "gate"}"\n'
        f"[grid]\nk = {list(range(count))}\n"
    )
    return study


def start(study: Path, *options: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "footfall.cli.main",
        "sweep",
        str(study),
        "--out",
        str(study.parent / "out"),
        *options,
    ]
    paths = os.pathsep.join([str(HERE), *(path for path in sys.path if path)])
    return subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": paths}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def lines(study: Path) -> list[str]:
    """Digests of the items that the journal holds in whole lines, in order."""
    file = study.parent / "out" / "journal.jsonl"
    text = file.read_text() if file.exists() else ""
    whole = text[: text.rfind("\n") + 1].splitlines()[1:]
    return [json.loads(line)["item"] for line in whole]


def until(what: Callable[[], bool], seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def running(study: Path, since: float = 0.0) -> dict[int, int]:
    """Process by item, of items that were started so many seconds ago, or more, and have not ended."""
    found = {}
    for file in (study.parent / "traces").iterdir():
        said = file.read_text().split("\n")[:-1]
        if said and said[-1].startswith("start") and time.time() - file.stat().st_mtime >= since:
            found[int(file.stem)] = int(said[-1].split()[1])
    return found


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def traces(study: Path, items: set[int]) -> dict[int, str]:
    """What items have said of themselves so far."""
    return {k: (study.parent / "traces" / f"{k}.log").read_text() for k in items}


def finished(study: Path) -> set[int]:
    number = {item.digest: item.parameters["k"] for item in sweep.read_study(study).items()}
    return {number[digest] for digest in lines(study)}


def check_nothing_is_lost_or_repeated(folder: Path, *options: str) -> None:
    """Kill a worker in the middle of an item, later the sweep, then resume.

    What the journal held at either death is never touched again. What it did not hold may be done twice: items in
    hand, answers on their way, items that a scheduler hands out before it notices. These are few, whatever the study.
    A gate lets only so many items through before each death, however long this process is kept waiting.
    """
    study = write_study(folder, ITEMS, 0.1)
    (folder / "gate").write_text(str(GATES[0]))
    sweeping = start(study, *options, "--allow-code")
    seen: dict[int, int] = {}
    until(lambda: len(lines(study)) >= 3 and bool(seen.update(running(study, 0.05)) or seen))
    at_first_death = traces(study, finished(study))
    in_hand, process = seen.popitem()
    os.kill(process, signal.SIGKILL)
    interrupted = not traces(study, {in_hand})[in_hand].endswith("end\n")
    (folder / "gate").write_text(str(GATES[1]))
    until(lambda: len(lines(study)) >= len(at_first_death) + 3)
    sweeping.kill()
    sweeping.wait()
    kept = lines(study)
    at_second_death = traces(study, finished(study))
    assert 6 <= len(kept) < ITEMS

    (folder / "gate").write_text(str(ITEMS))
    resumed = start(study, *options, "--resume", "--json")
    said, errors = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, errors
    assert json.loads(said)["done"] == ITEMS
    after = lines(study)
    assert after[: len(kept)] == kept
    assert len(after) == len(set(after)) == ITEMS
    assert traces(study, set(at_first_death)) == at_first_death
    assert traces(study, set(at_second_death)) == at_second_death
    at_the_end = traces(study, set(range(ITEMS)))
    assert all(text.count("end") >= 1 for text in at_the_end.values())
    assert all(at_the_end[k].count("start") == 1 for k in at_first_death)
    assert at_the_end[in_hand].count("start") >= (2 if interrupted else 1)
    repeated = [k for k, text in at_the_end.items() if text.count("start") > 1]
    assert len(repeated) <= 1 + 4 * WORKERS


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_local_study_survives_kill_9_of_a_worker_and_of_itself(tmp_path: Path) -> None:
    check_nothing_is_lost_or_repeated(tmp_path, "--workers", str(WORKERS))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_workers_end_with_the_sweep_in_the_middle_of_an_item(tmp_path: Path) -> None:
    study = write_study(tmp_path, 2, 60.0)
    process = start(study, "--workers", "2", "--allow-code")
    until(lambda: len(running(study)) == 2)
    process.kill()
    process.wait()
    left = list(running(study).values())
    until(lambda: not any(map(alive, left)), 50.0)  # before the items would end by themselves


def test_a_dask_study_survives_kill_9_of_a_worker_and_of_itself(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        check_nothing_is_lost_or_repeated(tmp_path, "--cluster", cluster.scheduler_address)


def deadly(tmp_path: Path, **options: object) -> StudyResult:
    study = sweep.parse_study('function = "sweep_items:picky"\n[grid]\nk = [0, 1, 2, 3, 4]', HERE)
    return sweep.run(study, tmp_path / "out", allow_code=True, **options)  # type: ignore[arg-type]


def check_only_the_deadly_item_fails(outcome: StudyResult) -> None:
    assert (outcome.done, outcome.failed) == (3, 2)
    (two, raised), (three, died) = outcome.failures()
    assert two == {"k": 2}
    assert raised == "ValueError: two is not liked"
    assert three == {"k": 3}
    assert "died" in died


def test_an_item_that_kills_its_worker_again_and_again_is_recorded_and_the_rest_go_on(tmp_path: Path) -> None:
    outcome = deadly(tmp_path, workers=2)
    check_only_the_deadly_item_fails(outcome)
    assert "SIGKILL" in outcome.failures()[1][1]


@pytest.mark.slow
def test_an_item_that_kills_dask_workers_is_recorded_and_the_rest_go_on(tmp_path: Path) -> None:
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        check_only_the_deadly_item_fails(deadly(tmp_path, cluster=cluster.scheduler_address))

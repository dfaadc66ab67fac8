"""Simulations of a study that one worker gets at once: their answers are those of single items, and none is lost."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from footfall.sweep import local as local_runs
from footfall.sweep import parse_study
from footfall.sweep.item import DONE, FAILED, evaluate, evaluate_together
from footfall.sweep.local import TOGETHER, TRIES, _after_death, groups, run_local

HERE = Path(__file__).parent
RUN = {"robot": "mini_cheetah", "controller": "hold", "duration": 0.12}
NUMBERS = {"kp": [40.0, 60.0], "friction": [0.8, 0.4]}


def study_of(text: str) -> Any:
    return parse_study(text, HERE, "grouped")


def without_time(answer: dict[str, Any]) -> dict[str, Any]:
    result = {key: value for key, value in answer["result"].items() if key != "wall_seconds"}
    return {**answer, "result": result, "seconds": None}


def test_answers_of_a_group_are_those_of_its_items() -> None:
    items = [{**RUN, "kp": kp, "friction": mu} for kp in (40.0, 60.0) for mu in (0.8, 0.4)]
    items[2]["friction"] = -1.0  # this one cannot even be planned
    together = evaluate_together("simulate", str(HERE), items, NUMBERS)
    alone = [evaluate("simulate", str(HERE), item, NUMBERS) for item in items]
    assert [answer["status"] for answer in together] == [DONE, DONE, FAILED, DONE]
    assert [without_time(a) for a in together] == [without_time(a) for a in alone]


def test_a_group_in_which_something_goes_wrong_is_done_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from footfall.sweep import item as items

    def fails(*arguments: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(items, "run_batched", fails)
    asked = [{**RUN, "kp": kp} for kp in (40.0, 60.0)]
    found = evaluate_together("simulate", str(HERE), asked, {"kp": [40.0, 60.0]})
    assert [answer["status"] for answer in found] == [DONE, DONE]


def test_groups_hold_what_differs_in_numbers_and_leave_work_for_everybody() -> None:
    study = study_of(
        '[run]\nrobot = "mini_cheetah"\n[grid]\ngait = ["trot", "walk"]\nkp = '
        + json.dumps([float(k) for k in range(40, 80)])
    )
    items = study.items()
    found = groups(items, study, 2)
    assert sorted(i.digest for group in found for i in group) == sorted(i.digest for i in items)
    assert [len(group) for group in found] == [14, 14, 12, 14, 14, 12]  # forty of each gait, none left alone
    assert max(map(len, found)) <= TOGETHER
    assert all(len({item.parameters["gait"] for item in group}) == 1 for group in found)
    assert len(groups(items[:4], study, 4)) == 4
    own = study_of('function = "sweep_items:traced"\n[grid]\nk = [1, 2, 3]')
    assert [len(group) for group in groups(own.items(), own, 1)] == [1, 1, 1]


def test_after_a_death_a_group_is_tried_one_by_one_and_only_who_is_to_blame_is_given_up() -> None:
    items = study_of('[run]\nrobot = "mini_cheetah"\n[grid]\nkp = [40.0, 50.0, 60.0]').items()
    deaths = dict.fromkeys((item.digest for item in items), 0)
    again, lost = _after_death(list(items), deaths)
    assert [group[0].digest for group in reversed(again)] == [item.digest for item in items]
    assert not lost
    assert set(deaths.values()) == {0}
    for attempt in range(1, TRIES + 1):
        again, lost = _after_death([items[1]], deaths)
        assert (lost == [items[1]]) == (attempt == TRIES)
    assert deaths[items[0].digest] == 0


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle_of_a_group_loses_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of('[run]\nrobot = "mini_cheetah"\nduration = 60.0\n[grid]\nkp = [40.0, 45.0, 50.0, 55.0]')
    workers: list[Any] = []
    made = local_runs._Worker

    def keep(*arguments: Any) -> Any:
        workers.append(made(*arguments))
        return workers[-1]

    def kill_the_first() -> None:
        while not (workers and workers[0].items):
            time.sleep(0.01)
        assert len(workers[0].items) == 4
        os.kill(workers[0].process.pid, signal.SIGKILL)

    monkeypatch.setattr(local_runs, "_Worker", keep)
    killer = threading.Thread(target=kill_the_first)
    killer.start()
    found = list(run_local(study.items(), study, 1, tmp_path / "log"))
    killer.join()
    assert len(workers) == 2
    assert sorted(item.digest for item, _ in found) == sorted(item.digest for item in study.items())
    assert {answer["status"] for _, answer in found} == {DONE}

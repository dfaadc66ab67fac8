"""The demo: its robot file, its runs shortened, and the page that it writes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall_lab.demo import page, runs, scene

HOUND = Path(runs.ROBOTS["hound.urdf"])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """One robot, and runs of a second, in this process."""
    for module in (runs, page):
        monkeypatch.setattr(module, "ROBOTS", {"Mini Cheetah": "mini_cheetah"})
    monkeypatch.setattr(runs, "DURATION", 1.2)
    monkeypatch.setattr(runs, "TROT", dataclasses.replace(runs.TROT, duration=1.2))
    monkeypatch.setattr(runs, "TROT_IN_MUJOCO", dataclasses.replace(runs.TROT_IN_MUJOCO, duration=1.2))
    monkeypatch.setattr(runs, "MANY", 16)
    monkeypatch.setattr(runs, "MANY_DURATION", 0.2)
    monkeypatch.setattr(runs, "MANY_SAMPLES", 5)
    monkeypatch.setattr(runs, "SAMPLES", 2)
    kept = tuple(run for run in runs.RUNS if run.subject != "hound.urdf")
    monkeypatch.setattr(runs, "RUNS", kept)


def test_the_file_of_the_demo_is_a_robot_without_warnings(recwarn: pytest.WarningsRecorder) -> None:
    robot = ff.load(HOUND)
    assert (robot.nj, robot.foot_names) == (12, ("LF", "RF", "LH", "RH"))
    assert 14.0 < robot.mass < 16.0
    assert not [str(each.message) for each in recwarn]


def test_the_report_has_the_runs_and_needs_no_network(
    short: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("footfall.sim.cores.cores", lambda: 1)
    assert cli.run(["demo", "--out", str(tmp_path / "demo"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {
        "report", "claims", "dynamics_checks", "dynamics_worst", "overlay", "speedup", "fell",
    }  # fmt: skip
    assert found["dynamics_checks"] > 10
    assert found["dynamics_worst"] < 1e-9
    assert found["overlay"]["contact_agreement"] > 0.9
    assert max(found["overlay"]["position_difference_mm"]) < 10.0
    assert found["speedup"]["over_mujoco"] > 1.0
    text = Path(found["report"]).read_text(encoding="utf-8")
    outside = text.replace("http://www.w3.org", "")
    assert "http://" not in outside
    assert "https://" not in outside
    assert text.count('<img src="data:image/png') == 4
    assert text.count('<figure class="fits">') == 1  # times, which a narrow window shows whole
    assert {path.name for path in (tmp_path / "demo").iterdir()} >= {"report.html", "overlay.png", "many.png"}


def test_positions_in_the_scene_are_those_of_the_recording() -> None:
    robot = ff.load("mini_cheetah")
    hold = ff.control.Hold("stand", kp=45.0, kd=1.1)
    rec = ff.Simulation(robot, hold, start="stand").run(0.1)
    points = scene._points(rec)
    feet = [chain[-1] for chain in scene._chains(robot)]
    expected = ff.kinematics.foot_positions(robot, rec.q[0])
    np.testing.assert_allclose(points[0][feet], expected, atol=1e-9)
    np.testing.assert_allclose(points[0][:8].mean(axis=0), rec.q[0, :3], atol=1e-9)


@pytest.mark.slow
def test_the_whole_demo_walks_with_both_robots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo", "--out", str(tmp_path / "demo"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["fell"] == []
    assert np.abs(np.array(found["overlay"]["speeds"]) - 0.5).max() < 0.1

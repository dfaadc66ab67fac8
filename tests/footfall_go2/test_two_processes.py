"""``footfall drive`` against ``footfall serve``, two processes on loopback, in real time, for minutes.

They ask for real-time priority, so that a busy machine does not matter; docs/guides/robot-interface.md states figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from processes import QUIET, Served, drive

pytest.importorskip("cyclonedds", reason="two processes on DDS need cyclonedds: pip install 'footfall[dds]'")
from footfall.recording.recording import Recording

pytestmark = pytest.mark.slow
DOMAIN = str(100 + os.getpid() % 100)
HERE = ("--domain", DOMAIN)


def said(process: subprocess.Popen[str], word: str) -> None:
    """Wait for a line of standard error with a word in it."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if word in line:
            return
    pytest.fail("".join(seen))


def test_sixty_seconds_of_walk_keep_time_and_speed(tmp_path):
    with Served(*HERE, "--start", "lying") as served:
        driver = drive(*HERE, "--forward", "0.3", "--duration", "60", "--out", str(tmp_path / "run.mcap"))
        out, err = driver.communicate(timeout=300)
        assert driver.returncode == 0, err
    report = json.loads(out)
    for clock in (report["clock"], served.report["clock"]):
        assert clock["late_share"] <= 0.01, clock
        first, second = clock["median_halves"]
        assert second < first + 5e-4, clock  # [s]: no lag grows
    assert report["clock"]["ticks"] + report["clock"]["skipped"] == pytest.approx(500 * report["seconds"], abs=30)
    assert served.report["place"][0] == pytest.approx(0.3 * 60, rel=0.1)
    recorded = Recording.load(tmp_path / "run.mcap")
    assert recorded.between(10.0, 60.0).mean_speed(10.0) == pytest.approx(0.3, rel=0.1)
    assert len(recorded) > 0.95 * 500 * 65


def test_killed_driver_leaves_a_damped_robot_that_serves_the_next_one():
    with Served(*HERE, "--start", "lying") as served:
        driver = drive(*HERE, "--forward", "0.3", "--duration", "60")
        said(driver, "takes over")
        driver.kill()
        driver.communicate()
        again = drive(*HERE, "--forward", "0.2", "--duration", "2")
        _, err = again.communicate(timeout=200)
        assert again.returncode == 0, err
    assert served.report["watchdog"] >= 1
    assert np.isfinite(served.report["place"]).all()


def test_killed_robot_ends_the_driver_with_a_reason():
    with Served(*HERE, "--start", "lying") as served:
        driver = drive(*HERE, "--forward", "0.3", "--duration", "60")
        said(driver, "takes over")
        served.kill()
        out, _ = driver.communicate(timeout=60)
    assert driver.returncode == 1
    assert "no state" in json.loads(out)["damped"]


def test_key_stops_the_robot():
    with Served(*HERE, "--start", "lying"):
        driver = drive(*HERE, "--duration", "60")
        said(driver, "standing up")
        out, _ = driver.communicate(" ", timeout=60)
    assert driver.returncode == 1
    assert json.loads(out)["damped"] == "emergency stop"


_START = """
import sys, time
from footfall.control.posture import with_stand
from footfall_go2.client import DdsConnection
from footfall.loading import load
robot = with_stand(load("go2"))
began = time.perf_counter()
connection = DdsConnection(robot, int(sys.argv[1]))
connection.wait_for_state()
assert connection.switcher.call(1001)[0] == 0
print(time.perf_counter() - began)
"""


def test_ten_starts_of_ten_connect_within_three_seconds():
    took = []
    with Served(*HERE):
        for _ in range(10):
            start = subprocess.run(
                [sys.executable, "-c", _START, DOMAIN], capture_output=True, text=True, timeout=120, env=QUIET
            )
            assert start.returncode == 0, start.stderr
            took.append(float(start.stdout))
    assert max(took) < 3.0, took


def test_learned_policy_drives_its_robot():
    with Served(*HERE, "--start", "lying", robot="mini_cheetah") as served:
        driver = drive(*HERE, "--controller", "learned", "--forward", "0.4", "--duration", "4", robot="mini_cheetah")
        _, err = driver.communicate(timeout=200)
        assert driver.returncode == 0, err
    assert served.report["place"][0] > 0.8

"""Served robot, bad link and driver: three processes in real time. Simulated time: test_drive.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import QUIET, Served, drive

pytest.importorskip("cyclonedds", reason="a link between processes needs cyclonedds: pip install 'footfall[dds]'")
pytestmark = pytest.mark.slow
ROBOT = 100 + os.getpid() % 50
DRIVER = ROBOT + 50


@pytest.mark.parametrize("fault", ["drop", "delay", "reorder", "forge", "nan"])
def test_bad_link_leaves_a_robot_that_walks_or_is_damped(fault):
    script = [sys.executable, str(Path(__file__).parent / "relay.py"), str(ROBOT), str(DRIVER), fault]
    with Served("--domain", str(ROBOT), "--start", "lying") as served:
        relay = subprocess.Popen(script, stdout=subprocess.PIPE, text=True, env=QUIET)
        try:
            assert relay.stdout.readline().strip() == "relaying"
            driver = drive("--domain", str(DRIVER), "--forward", "0.3", "--duration", "4")
            out, err = driver.communicate(timeout=200)
        finally:
            relay.kill()
            relay.wait()
    report, counts = json.loads(out), served.report["commands"]
    assert "Traceback" not in err
    assert np.isfinite(served.report["place"]).all()
    assert served.report["watchdog"] >= 1  # nobody commands it any more
    assert max(served.report["heights"]) < 0.5  # it never leapt
    if fault in ("delay", "nan"):  # 40 ms there and back are too much for our controllers: it must give up, not go wild
        assert driver.returncode == 1
        assert not report["ok"]
        assert report["phases"][-2:][0][1] == "walk", report
        assert ("turns at" in report["damped"] or "leans" in report["damped"]) == (fault == "delay")
        assert ("not finite" in report["damped"]) == (fault == "nan")
        return
    assert driver.returncode == 0, err
    assert served.report["place"][0] > 0.6
    if fault == "forge":
        assert counts["bad checksum"] > 20
        assert counts["not finite"] > 20
        assert counts["kp out of bounds"] > 20
        assert report["states"]["bad checksum"] > 20
    if fault == "reorder":
        assert counts["out of order"] > 100

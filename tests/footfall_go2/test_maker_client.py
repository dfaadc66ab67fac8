"""The maker's unmodified Python client against ``footfall serve``: real time, about two minutes.

Runs where two environment variables say what is not ours to ship: ``FOOTFALL_UNITREE_SDK``, the folder of
unitree_sdk2_python, and ``FOOTFALL_UNITREE_PYTHON``, an interpreter with that SDK's packages (Python 3.10,
``cyclonedds==0.10.2 numpy``). The same calls by our own client are in test_serve.py and run everywhere.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from processes import Served

SDK, PYTHON = os.environ.get("FOOTFALL_UNITREE_SDK", ""), os.environ.get("FOOTFALL_UNITREE_PYTHON", "")
HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (SDK and PYTHON),
        reason="the maker's client was not run: set FOOTFALL_UNITREE_SDK and FOOTFALL_UNITREE_PYTHON to run it",
    ),
]


def client(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PYTHON, *arguments], capture_output=True, text=True, timeout=200, cwd=HERE, **options)


def test_maker_stand_example_stands_and_sits_the_robot():
    example = Path(SDK) / "example/go2/low_level/go2_stand_example.py"
    with Served("--start", "standing") as served:
        ran = client(str(HERE / "run_maker_example.py"), SDK, str(example), "lo", input="\n")
        assert "Done!" in ran.stdout, ran.stderr
        assert ran.returncode == 255  # as it ends when all went well
    counts = served.report["commands"]
    assert counts["taken"] > 2500
    assert "bad checksum" not in counts
    heights = served.report["heights"]  # of the trunk, every tenth of a second
    low = [k for k, z in enumerate(heights) if z < 0.15]
    stood = [k for k, z in enumerate(heights) if z > 0.3]
    assert any(a < b for a in low for b in stood), "it lay down, then stood up"
    assert max(stood) < max(low), "and sat down again"


def test_maker_high_level_client_stands_up_moves_as_asked_stops_and_sits_down():
    with Served("--start", "lying"):
        ran = client(str(HERE / "maker_calls.py"), SDK, "walk")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.strip().splitlines()[-1])
    assert [found[key] for key in ("up", "stop", "euler", "level", "balance", "damp", "recovery", "down")] == [0] * 8
    assert found["standing"] > 0.3
    assert found["forward"][0] == pytest.approx(0.3, rel=0.1)
    assert found["lateral"][1] == pytest.approx(0.3, rel=0.1)
    assert found["turn"][2] == pytest.approx(0.5, rel=0.1)
    assert np.abs(found["turn"][:2]).max() < 0.05
    assert found["damped"] < 0.2 < 0.3 < found["recovered"]
    assert found["stopped"] < 0.02
    assert found["flips"] == [3203] * 4
    assert found["lying"] < 0.15
    assert found["wrong"] == 0
    assert found["states"] > 5000


def test_ten_starts_of_ten_of_the_maker_client_connect_within_three_seconds():
    took = []
    with Served():
        for _ in range(10):
            ran = client(str(HERE / "maker_calls.py"), SDK, "start")
            assert ran.returncode == 0, ran.stderr
            found = json.loads(ran.stdout.strip().splitlines()[-1])
            assert found["mode"]["name"]
            took.append(max(found["state"], found["answer"]))
    assert max(took) < 3.0, took

"""SIGTERM, as from a batch system or a service manager: recordings get their end, and the process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import until

import footfall as ff
from footfall.recording import termination
from footfall.recording.recording_writer import RecordingWriter

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGTERM there")
RUN = """
import sys, footfall as ff
from footfall.sim.simulation import Simulation
sim = Simulation(ff.load("dynakat"), record_rate=1000.0)
_ = sim.backend
print("ready", flush=True)
while True:
    sim.reset()
    sim.run(1000.0, sys.argv[1])
"""
BARE = """
import sys, time, numpy as np, footfall as ff
from footfall.recording.recording_writer import RecordingWriter
robot = ff.load("dynakat")
writer = RecordingWriter(sys.argv[1], robot)
q, v = robot.state("stand")
for k in range(1000):
    writer.append({"time": np.array([k * 1e-3]), "q": q[None], "v": v[None]})
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


def terminated(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=300)
    assert process.returncode == termination.STATUS
    return said


@pytest.mark.parametrize("script", [RUN, BARE], ids=["run", "writer that nobody closes"])
def test_a_script_that_is_told_to_end_closes_its_recording(tmp_path, script):
    path = tmp_path / "run.mcap"
    process = start("-c", script, str(path))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    until(lambda: path.exists() and path.stat().st_size > 20_000)
    assert "Traceback" not in terminated(process)
    rec = ff.Recording.load(path)  # refuses a file without its end
    assert len(rec) > 100
    assert "SystemExit" in rec.meta["interrupted"] or "SIGTERM" in rec.meta["interrupted"]


def test_footfall_simulate_closes_its_recording_and_says_so(tmp_path):
    path = tmp_path / "run.mcap"
    process = start(
        "-m",
        "footfall.cli.main",
        "simulate",
        "mini_cheetah",
        "--controller",
        "hold",
        "--duration",
        "2000",
        "--out",
        str(path),
    )
    until(lambda: path.exists() and path.stat().st_size > 50_000)
    said = terminated(process).strip().splitlines()
    assert said[-1] == "footfall: terminated by SIGTERM"
    assert len(ff.Recording.load(path)) > 10


def test_the_signal_is_answered_as_before_when_no_recording_is_open(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    robot = ff.load("dynakat")
    first, second = (RecordingWriter(tmp_path / f"{k}.mcap", robot) for k in range(2))
    if before is signal.SIG_DFL:
        assert signal.getsignal(signal.SIGTERM) is termination._told
    first.close()
    second.close()
    assert signal.getsignal(signal.SIGTERM) is before


def test_whoever_answers_the_signal_already_is_left_alone(tmp_path):
    def mine(number, frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, mine)
    try:
        with RecordingWriter(tmp_path / "a.mcap", ff.load("dynakat")):
            assert signal.getsignal(signal.SIGTERM) is mine
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_a_child_process_dies_of_it_and_leaves_its_parents_recording_alone(tmp_path):
    script = """
import os, signal, sys, time, footfall as ff
from footfall.recording.recording_writer import RecordingWriter
writer = RecordingWriter(sys.argv[1], ff.load("dynakat"))
child = os.fork()
if child == 0:
    while True:
        time.sleep(0.01)
time.sleep(0.2)
os.kill(child, signal.SIGTERM)
_, status = os.waitpid(child, 0)
assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM, status
assert not writer.closed
writer.close()
"""
    path: Path = tmp_path / "run.mcap"
    process = start("-c", script, str(path))
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    ff.Recording.load(path)

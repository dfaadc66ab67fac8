"""Bit for bit: the same run again, in a fresh process, and after a checkpoint; a killed run can be read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.errors import FootfallError, InputError
from footfall.recording import recording_file

CHEETAH = ff.load("mini_cheetah")
TROT = """
import sys
import footfall as ff

gait = ff.gait.trot(period=0.5, stride=0.1, height=0.05)
sim = ff.Simulation(
    ff.load("mini_cheetah"), controller=ff.control.JointPD(gait=gait, kp=60, kd=2), stop_on_fall=False,
    pushes=[ff.Push(start=0.3, duration=0.1, force=(20.0, 5.0, 0.0))], seed=7,
)
"""
DIGEST = """
import hashlib
rec = sim.run(1.0)
print(hashlib.sha256(b"".join(rec[k].tobytes() for k in ("time", "q", "v", "force", "torque", "work"))).hexdigest())
"""


def trot(**options) -> ff.Simulation:
    gait = ff.gait.trot(period=0.5, stride=0.1, height=0.05)
    return ff.Simulation(
        CHEETAH,
        ff.control.JointPD(gait=gait, kp=60, kd=2),
        stop_on_fall=False,
        seed=7,
        pushes=[ff.Push(start=0.3, duration=0.1, force=(20.0, 5.0, 0.0))],
        **options,
    )


def fresh(code: str, *arguments: str) -> str:
    """What a new interpreter prints; hashes of strings differ from process to process."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "random"},
    )
    return done.stdout.strip()


def same(a: ff.Recording, b: ff.Recording) -> None:
    assert a.columns.keys() == b.columns.keys()
    for key in a.columns:
        np.testing.assert_array_equal(a[key], b[key], err_msg=key)


def test_same_run_is_the_same_bit_for_bit_again_and_after_reset():
    first, second = trot(), trot()
    a, b = first.run(0.5), second.run(0.5)
    same(a, b)
    first.reset()
    same(a, first.run(0.5))


def test_same_run_is_the_same_bit_for_bit_in_fresh_processes():
    digests = {fresh(TROT + DIGEST) for _ in range(3)}
    assert len(digests) == 1


@pytest.mark.slow
def test_same_run_is_the_same_bit_for_bit_over_twenty_restarts():
    assert len({fresh(TROT + DIGEST) for _ in range(20)}) == 1


def test_run_in_parts_is_the_whole_run():
    whole, parts = trot(), trot()
    rec = whole.run(0.6)
    pieces = [parts.run(duration) for duration in (0.013, 0.25, 0.337)]
    np.testing.assert_array_equal(np.concatenate([piece.q for piece in pieces]), rec.q)
    np.testing.assert_array_equal(whole.v, parts.v)


@pytest.mark.parametrize("compiled", [None, False], ids=["compiled", "in Python"])
def test_checkpoint_and_resume_go_on_bit_for_bit(compiled, tmp_path):
    whole = trot(compile_controller=compiled)
    whole.run(0.35)
    whole.checkpoint(tmp_path / "half.npz")
    rest = whole.run(0.3)
    resumed = trot(compile_controller=compiled)
    resumed.resume(tmp_path / "half.npz")
    assert resumed.time == pytest.approx(0.35)
    np.testing.assert_array_equal(resumed.run(0.3).q, rest.q)
    np.testing.assert_array_equal(resumed.v, whole.v)


def test_checkpoint_resumes_in_another_process_bit_for_bit(tmp_path):
    sim = trot()
    sim.run(0.4)
    sim.checkpoint(tmp_path / "half.npz")
    sim.run(0.2)
    there = fresh(
        TROT + "sim.resume(sys.argv[1]); sim.run(0.2); print(sim.q.tobytes().hex())", str(tmp_path / "half.npz")
    )
    assert there == sim.q.tobytes().hex()


def test_checkpoint_of_another_simulation_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    trot().checkpoint(path)
    others = [
        trot(dt=5e-4),
        trot(ground=ff.contact.Plane(friction=0.3)),
        trot(integrator="semi_implicit_euler"),
        ff.Simulation(CHEETAH),
        ff.Simulation(ff.load("xiling")),
    ]
    for other in others:
        with pytest.raises(InputError, match="belongs to another simulation"):
            other.resume(path)


def test_checkpoint_knows_the_world_of_a_users_controller(tmp_path):
    @ff.controller(rate=1000)
    def own(t, robot, sensed, command, memory):
        return ff.JointCommand(robot.poses["stand"].joints, kp=40.0, kd=1.0), memory

    path = tmp_path / "run.npz"
    ff.Simulation(CHEETAH, own).checkpoint(path)
    ff.Simulation(CHEETAH, own).resume(path)
    with pytest.raises(InputError, match="belongs to another simulation"):
        ff.Simulation(CHEETAH, own, ground=ff.contact.Plane(friction=0.3)).resume(path)


def test_file_that_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    for content in (b"", b"not a checkpoint", b"PK\x03\x04broken"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="not a checkpoint"):
            trot().resume(path)
    with pytest.raises(InputError, match="cannot read the checkpoint"):
        trot().resume(tmp_path / "missing.npz")
    np.savez(path, other=np.zeros(3))
    with pytest.raises(InputError, match="not a checkpoint"):
        trot().resume(path)
    with pytest.raises(InputError, match="cannot write the checkpoint"):
        trot().checkpoint(tmp_path / "no" / "such" / "folder.npz")


# -- killed and interrupted ------------------------------------------------------------------------------------------
ENDLESS = TROT + "print('running', flush=True)\nsim.run(3600.0, path=sys.argv[1])\n"


def test_killed_run_leaves_a_recording_that_can_be_recovered(tmp_path):
    path = tmp_path / "run.mcap"
    run = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE)
    try:
        assert run.stdout is not None
        run.stdout.readline()
        grown(path, 500_000)
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    with pytest.raises(FootfallError, match="recover"):
        ff.Recording.load(path)
    found = recording_file.read(path)
    times, q = found.columns["time"], found.columns["q"]
    assert len(times) > 100
    np.testing.assert_allclose(times, 1e-3 * np.arange(1, len(times) + 1), atol=1e-9)
    again = trot().run(min(len(times) * 1e-3, 0.5))
    np.testing.assert_array_equal(q[: len(again)], again.q)


def test_interrupted_run_closes_its_file_and_says_so(tmp_path):
    path = tmp_path / "run.mcap"
    run = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert run.stdout is not None
    run.stdout.readline()
    grown(path, 100_000)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=300)
    assert b"KeyboardInterrupt" in errors
    rec = ff.Recording.load(path)
    assert "KeyboardInterrupt" in rec.meta["interrupted"]
    assert len(rec) > 100


def grown(path: Path, size: int) -> None:
    """Wait until a file has grown to a size."""
    deadline = time.monotonic() + 300.0
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < deadline, "the run does not write"
        time.sleep(0.05)

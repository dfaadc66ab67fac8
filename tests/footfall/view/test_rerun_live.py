"""Rerun's viewer: its server is on this machine alone, has the page, and gets what a simulation shows."""

import re
import subprocess
import urllib.parse
import urllib.request

import pytest

import footfall as ff
from footfall.errors import FootfallError

pytest.importorskip("rerun", reason="needs rerun-sdk")
from footfall.view.rerun_live import RerunLive, frame_of, program


@pytest.fixture
def sim():
    robot = ff.load("dynakat")
    return ff.Simulation(robot, ff.control.JointPD.tuned(robot, "trot"))


def test_a_simulation_arrives_at_the_viewers_server(sim, tmp_path):
    live = RerunLive(sim)
    try:
        assert live.address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(live.address, timeout=20.0) as page:
            assert "rerun" in page.read().decode().lower()
        data = urllib.parse.parse_qs(urllib.parse.urlparse(live.address).query)["url"][0]
        saved = tmp_path / "live.rrd"
        saving = subprocess.Popen(
            [program(), "--port", "auto", "--save", str(saved), data],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for _ in range(40):
                if live._ended.wait(2.0) or "/world/base" in entities(saved):
                    break
        finally:
            saving.terminate()
            saving.wait(10.0)
        joints = {f"/joints/position/{name}" for name in sim.robot.joint_names}
        assert joints | {"/world/base", "/world/base/legs", "/world/forces"} <= entities(saved)
    finally:
        live.stop()
    assert live._server.poll() is not None


def entities(path):
    if not path.is_file():
        return set()
    printed = subprocess.run([program(), "rrd", "print", str(path)], capture_output=True, text=True)
    return set(re.findall(r"/[\w/]+", printed.stdout))


def test_a_frame_is_the_state_of_its_simulation(sim):
    sim.step(40)
    frame = frame_of(sim)
    assert frame.stamp == round(sim.time * 1e9)
    assert frame.q.tolist() == sim.q.tolist()
    assert frame.force.shape == (sim.robot.nf, 3)


def test_an_address_that_is_not_this_machines_is_refused(sim):
    with pytest.raises(FootfallError, match=r"cannot listen at '203\.0\.113\.1'"):
        RerunLive(sim, host="203.0.113.1")

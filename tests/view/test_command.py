"""``footfall view`` from the outside: its first line, its end, and its sentences for bad input."""

import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from footfall.report.replay import Replay, embedded, replay_page
from footfall.robot import library
from footfall.robot.solids import look_of
from footfall.simulate.recording import Recording
from footfall.simulate.simulation import Simulation


def run(*arguments, timeout=60):
    command = [sys.executable, "-m", "footfall.cli", "view", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def one_sentence(done):
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("view") / "stand.mcap"
    Simulation(library.load("mini_cheetah"), record_rate=100.0).run(0.3, path)
    return path


def test_the_first_line_is_the_address_and_ctrl_c_ends_it(recording):
    command = [sys.executable, "-m", "footfall.cli", "view", str(recording), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=20) as page:
            assert page.status == 200
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode in (0, 130)
        assert out == ""
        assert "Traceback" not in err
    finally:
        process.kill()


def test_a_port_in_use_is_said_in_one_sentence(recording):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = one_sentence(run(str(recording), "--port", str(port)))
    assert f"port {port} is in use" in said
    assert "--port" in said


def test_a_truncated_recording_is_said_in_one_sentence(recording, tmp_path):
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(recording.read_bytes()[:-400])
    assert "footfall recover" in one_sentence(run(str(cut)))


def test_unknown_robots_and_missing_files_are_said_in_one_sentence(tmp_path):
    assert "mini_cheetah" in one_sentence(run("mini_cheeta"))
    one_sentence(run(str(tmp_path / "none.mcap")))
    assert "cannot listen" in one_sentence(run("mini_cheetah", "--host", "203.0.113.1"))


@pytest.mark.parametrize("name", library.names())
def test_every_robot_is_drawn_from_its_own_links(name):
    robot = library.load(name)
    look = look_of(robot)
    assert look.note == ""
    assert len(look.bodies) == len(robot.tree.bodies)
    assert all(look.bodies), "a body without a shape"
    for mesh in (mesh for body in look.bodies for mesh in body):
        assert mesh.faces.max() < len(mesh.vertices)


def test_a_replay_is_one_page_that_fetches_nothing(recording):
    rec = Recording.load(recording)
    page = replay_page(Replay("a stand", {"footfall": rec}), frames=10.0)
    assert page.count("<script") >= 1
    assert 'src="http' not in page
    assert 'href="http' not in page
    inside = embedded(page, 'a "stand" & more')
    assert inside.startswith('<iframe title="a &quot;stand&quot; &amp; more"')

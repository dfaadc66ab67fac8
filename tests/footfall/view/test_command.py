"""``footfall view`` from the outside: its first line, its end, and its sentences for bad input."""

import json
import socket
import subprocess
import sys
import urllib.request

import pytest
from waiting import interrupt, until

from footfall.draw.solids import look_of
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.sim.simulation import Simulation
from footfall.view.replay import ReplayPage, embedded, replay_page


def run(*arguments, timeout=300):
    command = [sys.executable, "-m", "footfall.cli.main", "view", *arguments]
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
    command = [sys.executable, "-m", "footfall.cli.main", "view", str(recording), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=120) as page:
            assert page.status == 200
        out, err = interrupt(process)
        assert process.returncode in (0, 130, -2)  # a repeated Ctrl-C may find Python on its way out
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
    page = replay_page(ReplayPage("a stand", {"footfall": rec}), frames=10.0)
    assert page.count("<script") >= 1
    assert 'src="http' not in page
    assert 'href="http' not in page
    inside = embedded(page, 'a "stand" & more')
    assert inside.startswith('<iframe title="a &quot;stand&quot; &amp; more"')


def test_a_recording_becomes_a_video(recording, tmp_path, capsys):
    from footfall.cli.main import run as command

    out = tmp_path / "a.gif"
    assert command(["video", str(recording), "--out", str(out), "--width", "96", "--fps", "10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"video": str(out), "bytes": out.stat().st_size}
    assert command(["video", str(recording), "--out", str(tmp_path / "a.mov")]) == 2
    assert "choose a name that ends in .gif, .mp4" in capsys.readouterr().err
    assert command(["video", str(tmp_path / "none.mcap")]) == 2
    assert command(["video", str(recording), "--out", str(out), "--model", "none.urdf"]) == 2
    assert command(["view", "mini_cheetah", "--model", "x.urdf"]) == 2
    assert "--model is for recordings" in capsys.readouterr().err


def test_a_model_without_its_meshes_is_shown_and_said_once(tmp_path):
    from footfall.robot.files.urdf_mjcf import load_model
    from footfall.view.show import show

    solid = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    shape = '<visual><geometry><mesh filename="gone.stl"/></geometry></visual>'
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint>'
    file = tmp_path / "arm.urdf"
    file.write_text(
        f'<robot name="arm"><link name="a">{solid}{shape}</link><link name="b">{solid}</link>{joint}</robot>'
    )
    with pytest.warns(UserWarning, match="was not found"):
        robot = load_model(file, feet=[])
    shown = show(robot, browse=False, block=False)
    try:
        assert shown.note.count("not in its package folder") == 1
        assert "drawn from its links" in shown.note
        assert "held still" in shown.note
        assert shown.page.sim.time == 0.0  # nobody watches
        shown.page.watched = lambda: True
        until(lambda: shown.page.sim.time > 0.1)
        assert shown.page.sim.stopped is None
        assert shown.page.message == ""
    finally:
        shown.stop()

"""``footfall identify`` from the command line: motors, inertia and friction."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli

GO2 = str(files("footfall_lab.reality") / "data" / "go2_joints.npz")


@pytest.mark.slow
def test_the_motors_of_a_real_go2_follow_the_half_held_out_three_times_as_well(tmp_path, capsys):
    """Eight seconds of the recording, by gradients: the whole is 'footfall reproduce reality'."""
    with np.load(GO2) as archive:
        content = {key: archive[key][900:2500] for key in archive}
    np.savez(tmp_path / "part.npz", **content)
    out = tmp_path / "motors.json"
    arguments = ["identify", "motors", str(tmp_path / "part.npz"), "--robot", "go2", "--method", "gradients"]
    assert cli.run([*arguments, "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads(out.read_text())
    assert said["rms_after"] < said["rms_before"] / 3.0
    assert said["columns"] == list(range(12))
    assert len(said["orders_alike"]) == 4
    assert np.shape(said["table"]) == (12, 7)
    verdicts = np.array(said["methods"]["gradients"]["verdicts"])
    assert any("not identifiable" in word for word in verdicts.ravel())
    assert (verdicts == "").any()


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A trot of a Mini Cheetah with half a kilogram more on its trunk and more friction in one knee."""
    believed = ff.load("mini_cheetah")
    real = believed.replace({"trunk.mass": 3.795, "LF_knee.damping": 0.05})
    tuned = ff.gait.for_robot(believed, "trot")
    out = tmp_path_factory.mktemp("loaded") / "loaded.mcap"
    ff.Simulation(real, ff.control.JointPD(gait=tuned.gait, kp=tuned.kp, kd=tuned.kd)).run(1.5, out)
    return out


def test_a_load_on_the_trunk_is_found_by_command(loaded, tmp_path, capsys):
    out = tmp_path / "found.json"
    words = ["identify", "inertia", str(loaded), "--robot", "mini_cheetah", "--acceleration", "step"]
    assert cli.run([*words, "--parameters", "trunk.mass, LF_knee.damping", "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads(out.read_text())
    assert said["parameters"]["trunk.mass"] == pytest.approx(3.795, abs=2e-3)
    assert said["believed"]["trunk.mass"] == pytest.approx(3.3)
    assert said["parameters"]["LF_knee.damping"] == pytest.approx(0.05, abs=2e-3)


def test_friction_of_every_joint_is_found_by_command(loaded, capsys):
    assert cli.run(["identify", "friction", str(loaded), "--acceleration", "step", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["parameters"]) == 24
    for name, value in said["parameters"].items():
        assert value == pytest.approx(said["believed"][name], abs=5e-3), name
    assert cli.run(["identify", "friction", str(loaded), "--acceleration", "step"]) == 0
    assert "LF_knee.damping" in capsys.readouterr().out


def test_all_inertias_that_can_exist_are_found_by_command(loaded, capsys):
    """A trot tells little of how mass is shared between trunk and hips, but all of it is carried."""
    assert cli.run(["identify", "inertia", str(loaded), "--acceleration", "step", "--json"]) == 0
    links = json.loads(capsys.readouterr().out)["links"]
    assert sum(link["mass"] for link in links.values()) == pytest.approx(ff.Recording.load(loaded).robot.mass, rel=0.01)
    assert all(np.linalg.eigvalsh(link["inertia"]).min() > 0.0 for link in links.values())


def test_a_recording_that_shows_nothing_is_refused(tmp_path, capsys):
    out = tmp_path / "stand.mcap"
    ff.Simulation(ff.load("mini_cheetah")).run(0.3, out)
    assert cli.run(["identify", "inertia", str(out)]) == 2
    assert "does not excite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["identify", "motors", GO2, "--robot", "go2", "--parameters", "trunk.mass"], "inertia does"),
        (["identify", "friction", "nowhere.mcap"], "nowhere.mcap"),
        (["identify", "inertia", GO2], "go2_joints.npz"),
        (["identify", "engines", GO2, "--robot", "go2"], "unknown thing to identify"),
        (["identify", "motors", "nowhere.npz", "--robot", "go2"], "nowhere.npz"),
        (["identify", "motors", GO2, "--robot", "spined"], "spined"),
        (["identify", "motors", GO2, "--robot", "go2", "--method", "guess"], "unknown method"),
        (["identify", "motors", GO2], "--robot"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, words, capsys):
    assert cli.run(arguments) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "a mesh, taken" not in line]
    assert len(said) == 1
    assert words in said[0]

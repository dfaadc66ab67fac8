"""Command lines that a newcomer types: robots of their own, absurd numbers, folders for files, closed pipes."""

import json
import subprocess
import sys

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall.control.posture import with_stand
from footfall.robot.files.urdf_mjcf import write


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A Mini Cheetah as a stranger's file, which has no postures."""
    robot = ff.load("mini_cheetah").replace(name="stranger", poses={})
    return write(robot, "urdf", tmp_path_factory.mktemp("models"))


def said(capsys, *arguments):
    """(exit status, standard output, standard error) of a command line."""
    status = cli.run([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def refused(capsys, *arguments):
    status, out, err = said(capsys, *arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1
    return err


@pytest.mark.parametrize("controller", ["pd", "hold", "gravity"])
def test_a_robot_of_ones_own_walks_without_further_options(capsys, imported, controller):
    status, out, _ = said(capsys, "simulate", imported, "--controller", controller, "--duration", "1", "--json")
    assert status == 0
    assert not json.loads(out)["fell"]


def test_an_imported_robot_stands_by_default(imported):
    rec = ff.Simulation(ff.load(imported)).run(0.5)
    joints = with_stand(ff.load(imported)).poses["stand"].joints
    assert np.abs(rec.joint_position[-1] - joints).max() < 0.1
    assert rec.force[-1, :, 2].sum() == pytest.approx(9.81 * rec.robot.mass, rel=0.05)


def test_a_robot_without_legs_that_tell_how_to_stand_stays_as_it_is():
    ball = ff.Robot(
        name="ball",
        links=[ff.Link(name="ball", mass=1.0, com=[0, 0, 0], inertia=0.1 * np.eye(3))],
        feet=[ff.Foot(name="ball", link="ball", position=[0, 0, 0], radius=0.1)],
    )
    assert with_stand(ball) is ball


def test_a_fixed_base_is_held_and_does_not_walk(capsys, tmp_path):
    path = tmp_path / "bench.xml"
    path.write_text("""<mujoco model="bench"><worldbody><body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="1"/></body></worldbody></mujoco>""")
    status, out, _ = said(capsys, "simulate", path, "--controller", "hold", "--duration", "0.2", "--json")
    assert status == 0
    assert json.loads(out)["mean_speed"] is None
    status, _, err = said(capsys, "simulate", path)
    assert status == 2
    assert "choose the controller 'hold'" in err


@pytest.mark.parametrize("key", ["speed", "turn", "friction", "drop", "kp", "kd"])
def test_a_number_past_all_sense_is_refused(capsys, key):
    assert f"{key} must be at most" in refused(capsys, "simulate", "mini_cheetah", f"--{key}", "1e99")


def test_a_run_that_no_memory_holds_is_refused_at_once(capsys):
    assert "would record more than 1e+07 rows" in refused(capsys, "simulate", "mini_cheetah", "--duration", "1e99")
    with pytest.raises(ff.InputError, match="lower record_rate, or run it in pieces"):
        ff.Simulation(ff.load("mini_cheetah")).run(1e5)


def test_a_turn_names_the_controllers_that_take_it(capsys):
    assert "takes no turn: balance, mpc, whole_body, nmpc, learned, wheels, sampling do" in refused(
        capsys, "simulate", "mini_cheetah", "--turn", "0.3"
    )


def test_a_run_whose_energy_does_not_add_up_says_so(capsys):
    status, _, err = said(
        capsys, "simulate", "mini_cheetah", "--dt", "0.01", "--kp", "1e5", "--duration", "0.1", "--json"
    )
    assert status in (0, 1)
    assert "the energy balance is off by" in err


def test_folders_and_files_in_each_others_place_are_one_sentence(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert "Is a directory" in refused(capsys, "recover", ".")
    message = refused(capsys, "export", "mini_cheetah", "urdf", "--out", tmp_path / "file")
    assert message == f"footfall: error: {tmp_path / 'file'}: File exists\n"


def test_a_closed_standard_output_is_no_trouble():
    code = "import sys; sys.stdout = None; from footfall.cli.main import main; main(['robots'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_conversion_never_writes_over_its_recording(capsys, tmp_path):
    path, link = tmp_path / "run.mcap", tmp_path / "link.mcap"
    ff.Simulation(ff.load("mini_cheetah")).run(0.01).save(path)
    link.symlink_to(path)
    before = path.read_bytes()
    for source, out in ((path, path), (path, link), (link, path)):
        for form in ("foxglove", "ros2"):
            assert "choose another --out" in refused(capsys, "convert", source, "--format", form, "--out", out)
    assert path.read_bytes() == before


@pytest.mark.parametrize("duration", ["nan", "inf", "-1"])
def test_a_robot_is_served_for_a_time_that_ends(capsys, duration):
    assert "--duration must be finite and not negative" in refused(capsys, "serve", "xiling", "--duration", duration)


@pytest.mark.parametrize("name", ["x.txt", "nowhere/x.mcap"])
def test_a_recording_that_cannot_be_is_refused_before_a_robot_is_driven(capsys, tmp_path, name):
    assert ".mcap file" in refused(capsys, "drive", "go2", "--out", tmp_path / name)


@pytest.mark.parametrize(
    "word", ["position=1e300,0,1", "position=0,0,1 velocity=1e9,0,0", "position=0,0,1 omega=0,1e200,0"]
)
def test_an_object_past_all_sense_is_refused(capsys, word):
    ball = f"ball radius=0.1 mass=1 {word}"
    assert "must lie within" in refused(capsys, "simulate", "mini_cheetah", "--objects", ball)

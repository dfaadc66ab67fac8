"""Recordings say how they were made, and the command line makes them again."""

import json
import shlex

import numpy as np
import pytest

import footfall as ff
from footfall.cli.main import run
from footfall.recording.provenance import _revision

ROBOT = ff.load("mini_cheetah")
OPTIONS = {
    "whole_body": "--controller whole_body --speed 0.3 --ground rough:0.02 --seed 3",
    "estimate": "--controller balance --estimate --push '0.1, 0.05, 0, 20, 0'",
    "schedule": "--controller mpc --schedule '0: forward=0.1; 0.1: forward=0.3, turn=0.2'",
    "pd": "--gait walk --oscillator hopf --touchdown --dt 5e-4 --contact complementarity",
}


@pytest.mark.parametrize("case", OPTIONS)
def test_a_recorded_run_is_repeated_bit_for_bit(case, tmp_path, capsys):
    first, second, third = (str(tmp_path / f"{k}.mcap") for k in range(3))
    assert run(["simulate", "mini_cheetah", *shlex.split(OPTIONS[case]), "--duration", "0.3", "--out", first]) == 0
    assert run(["simulate", "--like", first, "--out", second]) == 0
    rec, again = ff.Recording.load(first), ff.Recording.load(second)
    assert rec.meta["command_line"].startswith("footfall simulate mini_cheetah")
    assert run([*shlex.split(rec.rerun_command())[1:], "--out", third]) == 0
    for other in (again, ff.Recording.load(third)):
        assert other.columns.keys() == rec.columns.keys()
        for name in rec.columns:
            np.testing.assert_array_equal(other[name], rec[name])
        assert other.meta["options"] == {**rec.meta["options"], "out": other.meta["options"]["out"]}


def test_options_win_over_those_of_the_recording_and_what_cannot_be_repeated_is_said(tmp_path, capsys):
    file = str(tmp_path / "a.mcap")
    assert run(["simulate", "mini_cheetah", "--speed", "0.3", "--duration", "0.1", "--out", file]) == 0
    capsys.readouterr()
    assert run(["simulate", "--like", file, "--speed", "0.2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["commanded_speed"] == 0.2
    assert ff.Recording.load(file).meta["options"]["speed"] == 0.3  # not written over
    by_program = str(ff.Simulation(ROBOT).run(0.02).save(tmp_path / "b.mcap"))
    for line, said in (
        (["--like", by_program], "made by a Python program"),
        (["mini_cheetah", "--like", file], "takes one of: a robot, a run file"),
        ([], "takes one of: a robot, a run file"),
    ):
        assert run(["simulate", *line]) == 2
        assert said in capsys.readouterr().err


def test_code_is_run_when_the_command_line_names_it_and_not_when_a_file_does(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_my_own.py").write_text(
        "import footfall as ff\n"
        "def stand(robot):\n    return ff.control.Hold('stand', 60.0, 2.0, rate=500.0)\n"
        "def wrong(robot):\n    return 3\n"
    )
    assert (
        run(["simulate", "mini_cheetah", "--controller", "of_my_own:stand", "--duration", "0.1", "--out", "a.mcap"])
        == 0
    )
    assert ff.Recording.load("a.mcap").meta["controller_settings"]["kp"] == 60.0
    (tmp_path / "run.toml").write_text('robot = "mini_cheetah"\ncontroller = "of_my_own:stand"\nduration = 0.1\n')
    for line, said in (
        (["--like", "a.mcap"], "is code, which a run file may not run"),
        (["run.toml"], "is code, which a run file may not run"),
        (["mini_cheetah", "--controller", "of_my_own:wrong"], "of_my_own:wrong: a controller needs a rate"),
        (["mini_cheetah", "--controller", "of_my_own:stnd"], "did you mean 'stand'"),
        (["mini_cheetah", "--controller", "not_there:stand"], "cannot import the module"),
    ):
        capsys.readouterr()
        assert run(["simulate", *line]) == 2
        assert said in capsys.readouterr().err
    assert run(["simulate", "--like", "a.mcap", "--controller", "of_my_own:stand"]) == 0


def test_gait_gains_stage_command_and_sensors_are_in_the_recording():
    schedule = ff.sim.Schedule.parse("0: forward=0.1; 0.05: forward=0.3, turn=0.2")
    sim = ff.Simulation(
        ROBOT, ff.control.on_command("mpc"), command=schedule, sensors=ff.sensing.Sensors.realistic(2), seed=5
    )
    rec = sim.run(0.1)
    made = rec.meta["controller_settings"]
    assert (made["class"], made["stage"], made["gait"]["name"], made["gait"]["duty"]) == (
        "Locomotion",
        "mpc",
        "trot",
        0.6,
    )
    assert rec.meta["command"] == str(schedule)
    assert rec.meta["sensors"]["gyro"]["noise"] > 0
    assert rec.meta["versions"]["footfall"] == ff.__version__
    np.testing.assert_array_equal(np.unique(rec["command"][:, 0]), [0.1, 0.3])
    assert rec["command"][-1, 2] == 0.2
    json.dumps(rec.meta, allow_nan=False)
    tuned = ff.Simulation(ROBOT, ff.control.JointPD.tuned(ROBOT)).run(0.02)
    assert tuned.meta["controller_settings"]["speed_feedback"] == 0.5
    assert tuned.meta["command"] == {"forward": 0.4}


def test_feet_and_world_velocity_are_those_of_the_motion():
    rec = ff.Simulation(ROBOT, ff.control.on_command("whole_body"), command=ff.Command(forward=0.3, turn=0.4)).run(1.0)
    q, v = rec.q[777], rec.v[777]
    np.testing.assert_allclose(rec.foot_positions[777], ff.kinematics.foot_positions(ROBOT, q), atol=1e-12)
    np.testing.assert_allclose(rec.foot_velocities[777], ff.kinematics.foot_velocities(ROBOT, q, v)[:, 3:], atol=1e-10)
    moved = np.trapezoid(rec.trunk_velocity, rec.time, axis=0)
    np.testing.assert_allclose(moved, rec.trunk_position[-1] - rec.trunk_position[0], atol=2e-3)
    turned = np.trapezoid(rec.trunk_angular_velocity[:, 2], rec.time)
    assert turned == pytest.approx(rec.trunk_euler()[-1, 0] - rec.trunk_euler()[0, 0], abs=5e-3)
    table = rec.to_pandas(derived=True)
    np.testing.assert_array_equal(table["foot_positions.LF.z"], rec.foot_positions[:, 0, 2])
    np.testing.assert_array_equal(table["trunk_velocity.x"], rec.trunk_velocity[:, 0])
    np.testing.assert_array_equal(table["command.turn"], 0.4)


def test_the_revision_of_a_repository_is_read_as_git_keeps_it(tmp_path):
    assert _revision(tmp_path / "sub") is None or not (tmp_path / ".git").exists()
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs\naaaa refs/heads/other\nbbbb refs/heads/main\n")
    assert _revision(tmp_path) == "bbbb"
    (git / "refs" / "heads" / "main").write_text("cccc\n")
    (tmp_path / "sub").mkdir()
    assert _revision(tmp_path / "sub") == "cccc"
    (git / "HEAD").write_text("dddd\n")
    assert _revision(tmp_path) == "dddd"

"""A sceptic's first hour: README's ten lines and the environment on robots of other makers (friction F2)."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from third_party_models import THIRD_PARTY, third_party_path

import footfall as ff

README = (Path(__file__).parents[1] / "README.md").read_text()
(TEN_LINES,) = re.findall(r"## Ten lines\n\n```python\n(.*?)```", README, re.DOTALL)
QUICK = "solo12"
ROBOTS = [name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in THIRD_PARTY]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_ten_lines_of_the_readme_run_on_a_file_of_another_maker(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = TEN_LINES.replace('"mini_cheetah"', repr(str(third_party_path(name))))
    assert code != TEN_LINES
    space: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an import assumed
        exec(compile(code, "README.md", "exec"), space)
    rec, robot = space["rec"], space["robot"]
    assert not rec.meta["fell"], rec
    assert len(rec) == 2000
    assert np.abs(rec.q[:, 2] / rec.q[0, 2] - 1.0).max() < 0.15  # it sways on its feet
    assert np.ptp(rec.q[:, 1]) > 0.01
    assert (tmp_path / "sway.png").stat().st_size > 1000
    q, v = robot.state("stand")
    tau = np.zeros(robot.nj)
    np.testing.assert_allclose(
        space["fd"](q, v, tau), ff.dynamics.forward_dynamics(robot, q, v, tau), rtol=1e-8, atol=1e-8
    )
    assert space["J"](q, v, tau).shape == (robot.nv, robot.nq)


@pytest.mark.slow
@pytest.mark.parametrize("name", THIRD_PARTY)
def test_the_environment_takes_a_file_of_another_maker(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = ff.learn.WalkEnv(str(third_party_path(name)))
    seen, _ = env.reset(seed=0)
    for _ in range(10):
        seen, _, fell, *_ = env.step(np.zeros(env.action_space.shape, np.float32))
    assert np.isfinite(seen).all()
    assert not fell


def test_the_trunk_of_any_robot_answers_to_that_name():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ff.load(third_party_path("anymal_c"))
    assert robot.trunk != "trunk"
    assert "trunk" not in {link.name for link in robot.links}
    own, load = robot.parameter("trunk.mass"), 7.0
    assert own == robot.link(robot.trunk).mass > 0
    assert robot.replace({"trunk.mass": own + load}).mass == pytest.approx(robot.mass + load)
    batch = ff.Batch(robot, 2, free=["trunk.mass"])
    batch.set({"trunk.mass": np.array([own, own + 30.0])})
    batch.run(300)
    assert batch.q[1, 2] < batch.q[0, 2] - 1e-3
    with pytest.raises(ff.InputError, match=f"did you mean '{robot.trunk}.mass'"):
        robot.parameter("trunk.mas")


def test_an_action_that_is_no_number_is_told_from_one_of_another_length():
    env = ff.learn.WalkEnv("xiling")
    env.reset(seed=0)
    with pytest.raises(ff.InputError, match="actions must be finite numbers"):
        env.step(np.full(12, np.nan))
    with pytest.raises(ff.InputError, match=r"of shape \(1, 12\), got \(1, 8\)"):
        env.step(np.zeros(8))


def test_words_that_newcomers_try_first_are_answered_with_the_right_one():
    robot = ff.load("xiling")
    rec = ff.Simulation(robot).run(0.01)
    with pytest.raises(AttributeError, match="did you mean 'torque'"):
        _ = rec.torques
    assert not hasattr(rec, "joint_torque")
    with pytest.raises(ff.InputError, match=r"given by two times \[s\], got '1'"):
        rec.mean_speed(after="1")
    with pytest.raises(ff.InputError, match="use a Schedule or a function of time for one that changes"):
        ff.Simulation(robot, command={0.0: ff.Command(forward=0.3)})


def test_names_where_objects_are_wanted_are_answered_with_how_to_make_one():
    robot = ff.load("xiling")
    with pytest.raises(ff.InputError, match=r"not the name 'mpc': ff\.control\.on_command"):
        ff.Simulation(robot, "mpc")
    with pytest.raises(ff.InputError, match=r"unknown pose 'stnd' \(did you mean 'stand'\?\)"):
        _ = robot.poses["stnd"]
    with pytest.raises(
        ff.InputError, match=r"takes a robot as the next argument: ff\.compile\(forward_dynamics, robot\)"
    ):
        ff.compile(ff.dynamics.forward_dynamics)
    with pytest.raises(ff.InputError, match=r"heights of a grid are a contact\.Heightfield"):
        ff.Simulation(robot, ground=np.zeros((5, 5)))
    with pytest.raises(ff.InputError, match=r"by= and the others are for a step at a state"):
        ff.linearize(ff.Simulation(robot), by="trunk.mass")


def test_a_table_is_not_loaded_and_says_what_is(tmp_path):
    ff.Simulation(ff.load("xiling")).run(0.01).save(tmp_path / "a.csv")
    with pytest.raises(ff.InputError, match=r"a table for other programs: recordings are loaded from \.mcap and \.nc"):
        ff.Recording.load(tmp_path / "a.csv")


def test_memory_that_changes_its_form_is_told_where_to_say_the_first():
    @ff.controller(rate=500)
    def counted(t, robot, sensed, command, memory):
        return ff.JointCommand(kd=1.0), {"ticks": memory.get("ticks", 0.0) + 1.0}

    with pytest.warns(UserWarning, match=r"its memory .*, as in @ff\.controller\(rate=\.\.\., memory="):
        ff.Simulation(ff.load("xiling"), counted).run(0.004)

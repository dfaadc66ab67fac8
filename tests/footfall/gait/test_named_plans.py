"""Plans by name, from the command line to the recording."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import footfall as ff
from footfall.cli.main import app
from footfall.errors import InputError
from footfall.gait.named_plans import PLANS, named_plan
from footfall.gait.takeover import Takeover


def simulated(*words: str) -> dict:
    answer = CliRunner().invoke(app, ["simulate", *words, "--json"])
    assert answer.exit_code == 0, answer.output
    return json.loads(answer.stdout)


@pytest.mark.parametrize("name", PLANS)
def test_every_plan_begins_and_ends_standing_within_its_time(name):
    for robot in (ff.load("spined"), ff.load("xiling")):
        plan = named_plan(robot, name, duration=9.0)
        first, last = plan.at(0.0), plan.at(plan.duration)
        assert (first.load == 1.0).all()
        assert (last.load == 1.0).all()
        assert plan.duration <= 9.0 or name == "postures"


def test_a_speed_is_the_walks_own_and_later_plans_take_over_at_their_times():
    robot = ff.load("xiling")
    plan = named_plan(robot, "trot; 3.1: walk; 7: yaw", speed=0.2, duration=12.0)
    assert isinstance(plan, Takeover)
    assert (plan.when, plan.first.when) == (7.0, 3.1)
    t = np.array([1.5, 2.5])
    gone = np.diff(plan.at(t).position[0])
    assert gone == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(
    "said",
    [{"step": 0.12}, {"side": 0.06}, {"turn": 0.2}, {"height": 0.07}, {"time": 0.5}, {"step": -0.1, "turn": -0.1}],
)
def test_words_are_the_arguments_of_plan_walk(said):
    robot = ff.load("xiling")
    words = " ".join(f"{key}={value}" for key, value in said.items())
    plan = named_plan(robot, f"trot {words} cycles=4")
    arguments = {"swing_time" if key == "time" else key: value for key, value in said.items()}
    usual = {"swing_time": plan.swing_time, "height": plan.height, "rest": plan.rest, "step": plan.step}
    other = ff.gait.plan_walk(robot, "trot", **{**usual, "cycles": 4, **arguments})
    for t in np.linspace(0.0, plan.duration, 7):
        for part in ("position", "euler", "feet", "load"):
            np.testing.assert_allclose(getattr(plan.at(t), part), getattr(other.at(t), part), atol=1e-12)
    assert np.allclose([getattr(plan, "swing_time" if k == "time" else k) for k in said], list(said.values()))


def test_a_plan_without_a_time_begins_where_the_one_before_rests():
    robot = ff.load("xiling")
    plan = named_plan(robot, "walk step=0.1 cycles=2; yaw degrees=5; trot cycles=2", duration=60.0)
    walk, yaw = plan.first.first, plan.first
    assert yaw.when == pytest.approx(walk.duration)
    assert plan.when == pytest.approx(yaw.duration)
    assert walk.cycles == 2


def test_plans_run_from_the_command_line(tmp_path):
    out = tmp_path / "plan.mcap"
    found = simulated(
        "xiling", "--controller", "plan", "--plan", "trot; 2.2: yaw", "--duration", "5", "--out", str(out)
    )
    assert found["controller"] == "plan"
    assert not found["fell"]
    assert found["distance"] > 0.1
    yaw = np.degrees(ff.Recording.load(out).trunk_euler()[:, 0])
    assert yaw.max() > 12.0
    assert yaw.min() < -12.0


@pytest.mark.parametrize("inverse", ["fabrik", "resolved_rate"])
def test_kinematics_of_pd_are_chosen_on_the_command_line(inverse):
    closed = simulated("mini_cheetah", "--duration", "1.2")
    other = simulated("mini_cheetah", "--duration", "1.2", "--inverse", inverse)
    assert not other["fell"]
    assert other["distance"] == pytest.approx(closed["distance"], abs=0.02)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--controller", "plan", "--plan", "gallop"], "walk, trot, postures, yaw"),
        (["--controller", "plan", "--plan", "walk; late: trot"], "a name followed by others with their times"),
        (["--controller", "plan", "--plan", "walk stp=0.1"], "did you mean 'step'"),
        (["--controller", "plan", "--plan", "walk step"], "needs a number"),
        (["--controller", "plan", "--plan", "walk time=1e-9"], "at most 10000 cycles"),
        (["--controller", "plan", "--plan", "walk step=0.1", "--speed", "0.1"], "remove the speed"),
        (["--controller", "plan", "--plan", "walk; 4: trot; 3: walk"], "a name followed by others with their times"),
        (["--controller", "plan", "--speed", "9"], "out of reach"),
        (["--controller", "plan", "--gait", "trot"], "takes no gait"),
        (["--controller", "mpc", "--plan", "walk"], "takes no plan"),
        (["--controller", "mpc", "--inverse", "fabrik"], "takes no inverse"),
        (["--inverse", "newton"], "closed, fabrik, resolved_rate"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(words, says):
    answer = CliRunner().invoke(app, ["simulate", "xiling", *words])
    assert isinstance(answer.exception, InputError) or answer.exit_code == 2
    assert says in (str(answer.exception) + answer.output)

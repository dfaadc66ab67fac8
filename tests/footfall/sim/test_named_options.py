"""Options of a run that change what touches and what a spine is made of: command line, run file and sweep alike."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import footfall as ff
from footfall.cli.main import app
from footfall.errors import InputError
from footfall.robot.model.spine import KINDS, SPRUNG, named_spine, with_spine
from footfall.sim.run_options import page_choices, page_options
from footfall.sim.runfile import options_of, plan, read_run_file


@pytest.mark.parametrize("kind", KINDS)
def test_a_spine_in_words_is_with_spine(kind: str) -> None:
    robot = ff.load("spined")
    assert named_spine(robot, kind).digest == with_spine(robot, kind).digest
    if kind in SPRUNG:
        assert named_spine(robot, f"{kind}:300").digest == with_spine(robot, kind, stiffness=300.0).digest
        assert named_spine(robot, f"{kind}:300").digest != named_spine(robot, kind).digest
    assert named_spine(robot, "own") is robot


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("pasive", "did you mean 'passive'"),
        ("rigid:300", "no spring"),
        ("passive:soft", "KIND:STIFFNESS"),
        ("passive:-1", "positive"),
        ("passive:nan", "positive"),
    ],
)
def test_a_spine_that_cannot_be_is_refused_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        named_spine(ff.load("spined"), text)


def test_a_robot_without_a_spine_is_given_none() -> None:
    with pytest.raises(InputError, match="has no spine"):
        named_spine(ff.load("xiling"), "passive")


def test_whole_body_control_refuses_joints_without_torque() -> None:
    with pytest.raises(InputError, match="mpc and balance"):
        plan(ff.load("spined"), options_of({"robot": "spined", "spine": "passive", "controller": "whole_body"}))


@pytest.mark.parametrize(
    ("given", "argument", "value"),
    [
        ({"collisions": "all"}, "collisions", True),
        ({"collisions": "trunk,knees"}, "collisions", "trunk,knees"),
        ({"collisions": "none"}, "collisions", False),
        ({"self_collision": "report"}, "self_collision", "report"),
        ({"self_collision": "force"}, "self_collision", "force"),
        ({"self_collision": "none"}, "self_collision", None),
    ],
)
def test_collisions_by_name_are_the_simulations_own(given: dict[str, str], argument: str, value: object) -> None:
    made = plan(ff.load("mini_cheetah"), options_of({"robot": "mini_cheetah", **given})).simulation
    assert getattr(made, argument) == value
    assert bool(made.model.world.pairs) == (value == "force")
    assert (len(made.model.world.spheres) > 4) == (argument == "collisions" and value is not False)


def test_a_run_file_holds_them_and_a_recording_repeats_them(tmp_path: Path) -> None:
    file, out = tmp_path / "run.toml", tmp_path / "run.mcap"
    file.write_text(
        'robot = "spined"\nspine = "passive:600"\ncollisions = "trunk"\nself_collision = "report"\nduration = 0.2\n'
    )
    # the robot is looked for beside the file unless it is one of the library's
    options = options_of({**read_run_file(file), "out": None})
    robot = plan(ff.load("spined"), options).simulation.robot
    assert {j.stiffness for j in robot.joints if j.name.startswith("spine")} == {600.0}
    runner = CliRunner()
    assert runner.invoke(app, ["simulate", str(file), "--out", str(out), "--json"]).exit_code == 0
    again = runner.invoke(app, ["simulate", "--like", str(out), "--out", str(tmp_path / "again.mcap"), "--json"])
    assert again.exit_code == 0, again.output
    np.testing.assert_array_equal(ff.Recording.load(out).q, ff.Recording.load(tmp_path / "again.mcap").q)


def test_a_sweep_takes_spines(tmp_path: Path) -> None:
    study = tmp_path / "spines.toml"
    study.write_text(
        'name = "spines"\n[run]\nrobot = "spined"\nduration = 0.1\n[grid]\nspine = ["rigid", "passive:300"]\n'
    )
    answer = CliRunner().invoke(app, ["sweep", str(study), "--out", str(tmp_path / "table.csv"), "--json"])
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["done"] == 2


def test_the_page_offers_them() -> None:
    menus = page_choices()
    assert set(KINDS) <= set(menus["spine"])
    assert "force" in menus["self_collision"]
    assert "trunk" in menus["collisions"]
    first = page_options()
    assert dataclasses.replace(first, collisions=None, self_collision=None, spine=None).robot == first.robot
    simulation = plan(
        ff.load("mini_cheetah"), dataclasses.replace(first, gait=None, oscillator=None, plan=None, task=None)
    ).simulation
    assert (simulation.collisions, simulation.self_collision) == (False, None)

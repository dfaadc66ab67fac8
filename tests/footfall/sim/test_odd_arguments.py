"""Arguments as a newcomer gives them: names, texts, single things for lists; copies of a simulation."""

import copy
import pickle

import numpy as np
import pytest

import footfall as ff
from footfall.sim.joints import JointModel

ROBOT = ff.load("mini_cheetah")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dt": "1e-3"}, "dt must lie between"),
        ({"dt": None}, "dt must lie between"),
        ({"gravity": "moon"}, "gravity must be three finite numbers"),
        ({"joints": 3}, "joints must be a JointModel, got int"),
        ({"pushes": 3}, "pushes must be a list of Push"),
        ({"pushes": ff.Push(start=0.0, duration=0.1, force=(1.0, 0.0, 0.0))}, "pushes must be a list of Push"),
        ({"touching": 3}, "touching must be a list of Foot"),
        ({"record_rate": "fast"}, "record rate must lie between"),
        ({"seed": "x"}, "seed must be a whole number"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"ground": "slop:5"}, "unknown ground 'slop:5'"),
        ({"ground": 3}, "a ground needs"),
    ],
)
def test_a_wrong_argument_is_one_sentence(options, words):
    with pytest.raises(ff.InputError, match=words):
        ff.Simulation(ROBOT, **options).run(0.01)


@pytest.mark.parametrize("duration", ["1", None, [1.0], -1, np.nan])
def test_a_duration_is_a_positive_number(duration):
    with pytest.raises(ff.InputError, match=r"duration of a run must be (a number|positive and finite)"):
        ff.Simulation(ROBOT).run(duration)


def test_a_name_in_place_of_a_robot_is_told_how_to_load_it():
    with pytest.raises(ff.InputError, match=r"needs a Robot, such as ff.load\('mini_cheetah'\), got str"):
        ff.Simulation("mini_cheetah")


def test_a_ground_goes_by_its_name_as_a_contact_model_does():
    named = ff.Simulation(ROBOT, ground="slope:5", contact="stance").run(0.05)
    built = ff.Simulation(ROBOT, ground=ff.contact.terrain.named("slope:5"), contact="stance").run(0.05)
    np.testing.assert_array_equal(named.q, built.q)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda sim: pickle.loads(pickle.dumps(sim))])
def test_a_copy_of_a_simulation_goes_on_alike_and_apart(copied):
    sim = ff.Simulation(ROBOT)
    sim.run(0.05)
    other = copied(sim)
    ahead = other.run(0.05)
    assert sim.time == pytest.approx(0.05)
    np.testing.assert_array_equal(sim.run(0.05).q, ahead.q)


def test_a_recording_is_asked_by_name():
    rec = ff.Simulation(ROBOT).run(0.01)
    with pytest.raises(ff.InputError, match="selected by its name"):
        rec[3:5]
    with pytest.raises(ff.InputError, match="unknown column"):
        rec["nope"]


def test_what_is_no_checkpoint_is_one_sentence(tmp_path):
    sim = ff.Simulation(ROBOT)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ff.InputError, match=r"is not a checkpoint, or damaged$"):
        sim.resume(tmp_path / "text")
    with pytest.raises(ff.InputError, match=r"cannot read the checkpoint .*: No such file or directory$"):
        sim.resume(tmp_path / "none")


def test_a_fall_without_work_keeps_its_energy_and_says_so():
    """The residual of a run that moves energy from one kind to another alone is not one of 0 by 0."""

    @ff.controller
    def limp(t, robot, sensed, command, memory):
        return ff.JointCommand(), memory

    start = ROBOT.state("stand", height=50.0)
    sim = ff.Simulation(ROBOT, limp, start=start, integrator="rk4", joints=JointModel.ideal())
    assert sim.run(0.5).energy_residual() < 1e-10

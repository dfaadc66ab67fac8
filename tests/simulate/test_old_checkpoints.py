"""Checkpoints that older footfalls wrote go on here, or a sentence says what they lack.

The files in ``checkpoints/`` are of Mini Cheetah on flat ground after 0.05 s (``pd``: 0.3 s): from before the rooms
moved, from before wheels and oscillators were added, and from before the work of braking motors was counted. Two are of
robots from files, held still for 0.05 s, from before right angles in the digits of a file were exact.
"""

from pathlib import Path

import numpy as np
import pytest
from third_party_models import third_party_path

import footfall as ff
from footfall.contact.points import Sphere
from footfall.errors import InputError
from footfall.identity import digest_of

FILES = Path(__file__).parent / "checkpoints"
CHEETAH = ff.load("mini_cheetah")


def simulation(kind):
    controller = {"hold": None, "pd": ff.control.JointPD.tuned(CHEETAH, "trot"), "locomotion": ff.control.Locomotion()}
    return ff.Simulation(CHEETAH, controller[kind])


@pytest.mark.parametrize("era", ["before_rooms", "before_wheels"])
@pytest.mark.parametrize("kind", ["hold", "pd"])
def test_a_run_goes_on_from_where_an_older_footfall_left_it(era, kind):
    path = FILES / f"{era}_{kind}.npz"
    run = simulation(kind)
    run.resume(path)
    with np.load(path) as stored:
        np.testing.assert_array_equal(run.q, stored["leaf1"])
        np.testing.assert_array_equal(run.v, stored["leaf2"])
        start = float(stored["leaf0"])
    assert run.time == start * 1e-3 > 0.0
    recording = run.run(0.02)
    assert run.stopped is None
    assert np.abs(recording.q[-1, :3] - recording.q[0, :3]).max() < 0.02  # it walks on, and neither falls nor jumps


@pytest.mark.parametrize("name", ["anymal_c", "hyq"])
@pytest.mark.filterwarnings("ignore::footfall.robot.files.guard.ModelWarning")
def test_a_run_of_a_file_goes_on_from_before_its_right_angles_were_exact(name):
    path, robot = FILES / f"before_right_angles_{name}.npz", ff.load(third_party_path(name))
    run = ff.Simulation(robot)
    run.resume(path)
    with np.load(path) as stored:
        np.testing.assert_array_equal(run.q, stored["leaf1"])
    heavier = ff.Simulation(robot.replace({"trunk.mass": 1.01 * robot.parameter("trunk.mass")}))
    with pytest.raises(InputError, match="belongs to another simulation"):
        heavier.resume(path)


def test_an_older_run_with_other_numbers_is_still_refused():
    """What was added does not count at its default; all else does."""
    run = ff.Simulation(CHEETAH, ff.control.JointPD.tuned(CHEETAH, "trot", touchdown=True))
    with pytest.raises(InputError, match="belongs to another simulation"):
        run.resume(FILES / "before_wheels_pd.npz")
    stiction = ff.Simulation(CHEETAH, joints=ff.simulate.JointModel(static_ratio=1.5))
    with pytest.raises(InputError, match="belongs to another simulation"):
        stiction.resume(FILES / "before_rooms_hold.npz")


def test_a_controller_that_remembers_other_numbers_now_is_named():
    with pytest.raises(InputError, match="when a Locomotion remembered other numbers, and such a run begins anew"):
        simulation("locomotion").resume(FILES / "before_wheels_locomotion.npz")


def test_a_run_that_lacks_the_work_of_braking_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="written before the work of braking motors was counted"):
        simulation("hold").resume(FILES / "before_braking_hold.npz")


def test_fields_that_were_added_count_once_they_are_used():
    plain, wheel = (Sphere("LF", 3, np.zeros(3), 0.1, axis) for axis in (None, np.array([0.0, 1.0, 0.0])))
    other = Sphere("LF", 3, np.zeros(3), 0.1, np.array([0.0, 0.0, 1.0]))
    assert len({digest_of(plain), digest_of(wheel), digest_of(other)}) == 3

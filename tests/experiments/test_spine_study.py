"""The spine study: what the spine's gains and motion do, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.control.joint.spine import RIGID, Spine
from footfall.errors import FootfallError
from footfall.experiments.adak2021.spine_study import FIGURES, case, gaits

ROBOT = ff.load("spined")


def test_a_stiffer_spine_bends_less_and_a_moved_one_follows_its_swing():
    gait, kp, kd = gaits()["trot"]
    pitch = 7 + ROBOT.joint_names.index("spine_pitch")
    bend = {}
    for name, options in {
        "rigid": {},
        "soft": {"kp": 300.0, "kd": 3.0},
        "moved": {"kp": RIGID[0], "kd": 20.0, "swing": 0.1, "phase": 0.25},
    }.items():
        rec = ff.Simulation(ROBOT, Spine(ff.control.JointPD(gait, kp, kd), **options)).run(3.0)
        bend[name] = float(np.ptp(rec.between(1.5, None).q[:, pitch]))
    assert bend["rigid"] < 0.01 < bend["soft"]
    assert bend["moved"] == pytest.approx(0.2, rel=0.15)


def test_a_case_depends_on_what_its_mode_has():
    rigid = case("trot", "rigid", 100.0, 0.1)
    assert rigid == case("trot", "rigid", 3000.0, 0.9)
    assert rigid["survived"] == 1.0
    assert 0.4 < rigid["speed"] < 0.7
    assert set(rigid) == {"survived", *FIGURES}
    stiff = case("trot", "passive", 2e4)
    assert stiff["speed"] == pytest.approx(rigid["speed"], rel=0.05)
    assert case("trot", "passive", 300.0)["tilt"] > 1.5 * rigid["tilt"]


def test_a_spine_moved_in_the_right_phase_lengthens_the_strides_of_a_bound():
    rigid, moved = case("bound", "rigid"), case("bound", "actuated", 800.0, 0.5)
    assert moved["survived"] >= rigid["survived"]
    assert moved["stride_length"] > 1.08 * rigid["stride_length"]
    assert moved["cost_of_transport"] < 0.9 * rigid["cost_of_transport"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: case("trott"),
        lambda: case("trot", "stiff"),
        lambda: case("trot", "passive", -1.0),
        lambda: case("trot", "actuated", 800.0, swing=float("nan")),
        lambda: ff.Simulation(ff.load("mini_cheetah"), Spine(ff.control.JointPD.tuned("mini_cheetah"))),
    ],
)
def test_what_no_spine_can_do_is_refused(ask):
    with pytest.raises(FootfallError):
        ask()

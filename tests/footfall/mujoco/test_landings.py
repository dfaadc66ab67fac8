"""Why largest forces differ between two simulators: how long a contact takes to stop a landing foot."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.mujoco.comparing import compare, why_peaks_differ
from footfall.recording.landings import Landings
from footfall.recording.recording import Recording


@pytest.fixture(scope="module")
def compared():
    robot = ff.load("mini_cheetah")
    return compare(ff.Simulation(robot, ff.control.JointPD.tuned(robot, "trot")), 1.5)


def test_the_stiffer_contact_stops_a_foot_sooner(compared):
    ours, theirs = (Landings.of(rec) for rec in (compared.footfall, compared.mujoco))
    assert min(ours.count, theirs.count) >= 3
    assert ours.stop_time <= 0.2 * theirs.stop_time
    # MuJoCo's contact forgets a speed within some of its shorter time constants
    short, long = compared.mujoco.meta["contact_times"]
    assert 0.5 * short < theirs.stop_time < 2.0 * long


def test_the_time_constants_are_those_of_the_documented_spring(compared):
    rates = 1.0 / np.array(compared.mujoco.meta["contact_times"])
    most = 0.95  # solimp's default
    assert rates.sum() == pytest.approx(100.0 / most)
    assert rates.prod() == pytest.approx(1600.0 / most**2)


def test_the_sentence_has_the_figures_of_the_run(compared):
    words, result = why_peaks_differ(compared.footfall, compared.mujoco), compared.to_json()
    assert words == result["why_peaks_differ"]
    assert words in repr(compared)
    for value, form in ((result["landing_speed"][0], ".2f"), (1e3 * result["stop_time"][1], ".3g")):
        assert format(value, form) in words
    ratio = result["peak_force"][0] / result["peak_force"][1]
    assert f"{ratio:.2g} times MuJoCo's" in words


def test_a_speed_that_halves_each_row_is_stopped_after_four_rows(compared):
    robot, rows = compared.footfall.robot, 60
    rec = compared.footfall.between(0.0, 1e-3 * rows)
    q, v = np.repeat(rec.q[:1], rows, axis=0), np.zeros((rows, robot.nv))
    q[:, 3:7] = [1.0, 0.0, 0.0, 0.0]
    v[:40, 5] = -0.8
    v[40:, 5] = -0.8 * 0.5 ** np.arange(1, rows - 39)
    contact = np.repeat(np.arange(rows)[:, None] >= 40, robot.nf, axis=1)
    made = {"time": 1e-3 * np.arange(1, rows + 1), "q": q, "v": v, "contact": contact}
    found = Landings.of(Recording(robot, {name: rec[name] for name in rec.columns} | made))
    assert found == Landings(count=4, speed=pytest.approx(0.8), stop_time=pytest.approx(4e-3))


def test_a_robot_that_stands_has_no_landing():
    robot = ff.load("mini_cheetah")
    kp, kd = ff.control.stand_gains(robot)
    stand = robot.poses["stand"].joints

    @ff.controller(rate=1000)
    def hold(t, robot, sensed, command, memory):
        return ff.JointCommand(position=stand, kp=kp, kd=kd), memory

    rec = ff.Simulation(robot, hold).run(0.1)
    assert Landings.of(rec) is None
    assert "stance" in why_peaks_differ(rec, rec)

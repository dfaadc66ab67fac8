"""Times of a log without time stamps, rebuilt from joint angles and rates: what is planted is found."""

import numpy as np
import pytest

import footfall as ff
from footfall.analysis.row_times import rebuild_times

ANGLE, RATE = 2.45e-4, 0.02  # [rad] of an encoder's step, [rad/s] of noise


def log(seed, lost=0.25, still=False, joints=12):
    """Joints that swing, read about every 2 ms with some readings lost, each repeated over one to five rows."""
    rng = np.random.default_rng(seed)
    tick = np.where(rng.random(1500) < 0.15, rng.uniform(1.4e-3, 4e-3, 1500), 2e-3)
    time = np.cumsum(tick)[rng.random(1500) > lost]
    rate, phase = rng.uniform(1.0, 3.0, joints), rng.uniform(0.0, 6.3, joints)
    size = np.zeros(joints) if still else rng.uniform(0.2, 0.6, joints)
    angle = 2.0 * np.pi * rate * time[:, None] + phase
    q = ANGLE * np.round(size * np.sin(angle) / ANGLE)
    v = 2.0 * np.pi * rate * size * np.cos(angle) + rng.normal(0.0, RATE, angle.shape)
    repeated = np.repeat(np.arange(len(time)), rng.choice([1, 2, 5], len(time), p=[0.3, 0.5, 0.2]))
    return time, q[repeated], v[repeated], repeated


@pytest.mark.parametrize("seed", range(6))
def test_times_of_readings_are_found_within_their_deviations(seed):
    time, q, v, repeated = log(seed)
    found = rebuild_times(q, v)
    np.testing.assert_array_equal(repeated[found.rows], np.arange(len(time)))
    error = np.diff(found.time) - np.diff(time)
    assert 0.5 < np.sqrt(np.mean((error / found.deviation) ** 2)) < 1.5
    biased = 6e-4 * found.time[-1]  # noise of the rates makes joints seem faster than they are
    assert np.abs(found.time - (time - time[0])).max() < 3.0 * found.span_deviation + biased
    assert np.sqrt(np.mean(error**2)) < 0.1e-3
    np.testing.assert_array_equal(found.at(found.rows), found.time)


def test_more_joints_say_the_time_more_precisely():
    _, q, v, _ = log(0)
    few, all_of_them = rebuild_times(q, v, np.arange(3)), rebuild_times(q, v)
    assert np.median(few.deviation) > 1.5 * np.median(all_of_them.deviation)


def test_a_simulation_that_loses_readings_gets_its_time_back():
    robot = ff.load("mini_cheetah")
    rec = ff.Simulation(robot, ff.control.JointPD.tuned(robot, "trot"), record_rate=500).run(2.0).between(0.5)
    kept = np.flatnonzero(np.random.default_rng(1).random(len(rec)) > 0.3)
    rows = np.repeat(kept, 2)
    found = rebuild_times(rec.q[rows, 7:], rec.v[rows, 6:])
    assert np.abs(found.time - (rec.time[kept] - rec.time[kept[0]])).max() < 5e-3
    assert "times of" in repr(found)


def test_logs_that_say_nothing_are_refused_in_a_sentence():
    _, q, v, _ = log(0)
    for wrong, words in (
        ((q, v[:-1]), "same shape"),
        ((q[:1], v[:1]), "at least three readings"),
        ((np.full_like(q, np.nan), v), "must be finite"),
        ((q, 0.0 * v), "do not move"),
    ):
        with pytest.raises(ff.InputError, match=words):
            rebuild_times(*wrong)

"""Distances between two runs, on recordings whose distance is known."""

from __future__ import annotations

import numpy as np
import pytest

from footfall.errors import InputError
from footfall.recording import metrics
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.spatial.quaternion import from_rotation
from footfall.spatial.rotation import about_z

ROBOT = library.load("mini_cheetah")


def recording(times: np.ndarray, x: float = 0.0, yaw: float = 0.0, force: float = 0.0, **meta: float) -> Recording:
    q = np.tile(ROBOT.state("stand")[0], (len(times), 1))
    q[:, 0], q[:, 3:7] = x, from_rotation(about_z(yaw))
    forces = np.zeros((len(times), 4, 3))
    forces[:, 0, 2] = force
    columns = {
        "time": times,
        "q": q,
        "v": np.zeros((len(times), ROBOT.nv)),
        "force": forces,
        "contact": forces[..., 2] > 0,
    }
    return Recording(ROBOT, columns, [], meta)


TIMES = np.arange(1, 101) * 1e-2


def test_a_run_is_at_no_distance_from_itself() -> None:
    rec = recording(TIMES, x=0.3, yaw=0.2, force=20.0)
    assert not metrics.position_mae(rec, rec).any()
    assert not metrics.euler_mae_deg(rec, rec).any()
    assert metrics.force_mae(rec, rec) == 0.0
    assert metrics.contact_agreement(rec, rec) == 1.0


def test_errors_are_means_of_absolute_differences() -> None:
    a, b = recording(TIMES, x=0.5, yaw=0.1, force=30.0), recording(TIMES, x=0.2, yaw=0.3, force=10.0)
    np.testing.assert_allclose(metrics.position_mae(a, b), [0.3, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(metrics.euler_mae_deg(a, b), [np.degrees(0.2), 0.0, 0.0], atol=1e-9)
    assert metrics.force_mae(a, b, "LF") == pytest.approx(20.0)
    assert metrics.force_mae(a, b, "RH") == 0.0
    assert metrics.force_mae(a, b) == pytest.approx(5.0)
    np.testing.assert_allclose(metrics.position_mae(a, b), metrics.position_mae(b, a))


def test_angles_differ_the_short_way_round() -> None:
    a, b = recording(TIMES, yaw=np.radians(179.0)), recording(TIMES, yaw=np.radians(-179.0))
    np.testing.assert_allclose(metrics.euler_mae_deg(a, b), [2.0, 0.0, 0.0], atol=1e-9)


def test_contact_agrees_where_both_say_the_same() -> None:
    a, b = recording(TIMES, force=5.0), recording(TIMES)
    assert metrics.contact_agreement(a, b, "LF") == 0.0
    assert metrics.contact_agreement(a, b) == 0.75


def test_only_shared_times_are_compared() -> None:
    long, short = recording(TIMES, x=1.0), recording(TIMES[4:60:5], x=0.0)
    np.testing.assert_allclose(metrics.position_mae(long, short), [1.0, 0.0, 0.0])
    assert [len(rows) for rows in metrics.shared_rows(long, short)] == [12, 12]
    with pytest.raises(InputError, match="share no times"):
        metrics.position_mae(long, recording(TIMES + 3e-3))


def test_percentiles_leave_out_spikes() -> None:
    rec = recording(np.arange(1, 2001) * 1e-3, force=50.0)
    rec.force[7, 0, 2] = 900.0
    assert metrics.peak_force(rec) == 900.0
    assert metrics.peak_force(rec, "LF", 99.9) == pytest.approx(50.0)
    with pytest.raises(InputError, match="percentile"):
        metrics.peak_force(rec, percentile=101.0)


def test_refusals_name_the_culprit() -> None:
    rec = recording(TIMES)
    with pytest.raises(InputError, match=r"unknown foot 'FX'.*LF, RF, LH, RH"):
        metrics.force_mae(rec, rec, "FX")
    with pytest.raises(InputError, match="how long it took"):
        metrics.wall_seconds(rec)
    assert metrics.wall_seconds(recording(TIMES, wall_seconds=0.25)) == 0.25
    other = library.load("xiling")
    stand = np.tile(other.state("stand")[0], (3, 1))
    dog = Recording(other, {"time": TIMES[:3], "q": stand, "v": np.zeros((3, other.nv))})
    if other.nq != ROBOT.nq:
        with pytest.raises(InputError, match="differ"):
            metrics.position_mae(rec, dog)

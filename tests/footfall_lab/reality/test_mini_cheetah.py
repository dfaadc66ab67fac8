"""Recordings of a real Mini Cheetah, where somebody has them; and what is refused where not."""

import os
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.analysis.row_times import RowTimes
from footfall_lab import papers
from footfall_lab.reality import mini_cheetah_air as air
from footfall_lab.reality.mini_cheetah import LEG_ORDER, Log, read, timing

FOLDER = Path(os.environ.get("FOOTFALL_MINI_CHEETAH", Path(__file__).parents[4] / "shared" / "data" / "mini_cheetah"))
recorded = pytest.mark.skipif(not FOLDER.is_dir(), reason="no recordings (FOOTFALL_MINI_CHEETAH)")


def written(path, rows=50, **changes):
    rng = np.random.default_rng(0)
    columns = {"dt": 1e-3, **{key: rng.normal(size=(rows, 12)) for key in ("q", "v", "torques")}}
    columns |= {key: rng.normal(size=(rows, 3)) for key in ("imu_acc", "imu_ori", "imu_ang_vel")}
    np.savez(path, **{**columns, **changes})
    return columns


def test_a_folder_is_read_in_our_order_and_acceptance_data_is_not_opened(tmp_path):
    columns = written(tmp_path / "air_walking.npz")
    (tmp_path / "air_walking-test.npz").write_bytes(b"not to be read")
    (log,) = read(tmp_path)
    np.testing.assert_array_equal(log.q, columns["q"][:, LEG_ORDER])
    assert log.hangs


def test_what_is_no_recording_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(ff.InputError, match="there are no recordings"):
        read(tmp_path)
    written(tmp_path / "a.npz", q=np.zeros((50, 11)))
    with pytest.raises(ff.InputError, match="q must be finite and of shape"):
        read(tmp_path)
    (tmp_path / "a.npz").write_bytes(b"PK junk")
    with pytest.raises(ff.InputError, match="is not a recording of a Mini Cheetah"):
        read(tmp_path)
    with pytest.raises(ff.InputError, match="needs the folder of its recordings"):
        papers.run("mini_cheetah")
    with pytest.raises(ff.InputError, match="takes no recordings"):
        papers.run("reality", recordings=tmp_path)


@recorded
def test_the_rebuilt_time_of_a_real_robot_agrees_with_what_it_was_not_made_from():
    log = next(log for log in read(FOLDER) if log.name == "air_walking_gait")
    found = timing(log)
    assert abs(found.gyro_scale[0] - 1.0) < 0.03
    assert abs(found.file_ratio - 1.0) < 0.02
    assert found.by_rows < 0.7
    assert found.by_readings > 0.97
    assert found.halves < 1.5
    assert found.imu_lag is not None
    assert abs(found.imu_lag[0]) < 5e-3


def swinging():
    """Legs that a controller swings in the air for a second: angles, rates and times as of a recording."""
    time = 2e-3 * np.arange(400)
    rng = np.random.default_rng(3)
    rate, phase = 2.0 * np.pi * rng.uniform(2.0, 5.0, 12), rng.uniform(0.0, 6.3, 12)
    size, stand = rng.uniform(0.1, 0.4, 12), ff.load("mini_cheetah").poses["stand"].joints
    angle = rate * time[:, None] + phase
    log = Log(
        name="air_planted",
        row_time=2e-3,
        q=stand + size * np.sin(angle),
        v=size * rate * np.cos(angle),
        command=np.zeros((400, 12)),
        gyroscope=np.zeros((400, 3)),
        attitude=np.zeros((400, 3)),
    )
    log.__dict__["times"] = RowTimes(rows=np.arange(400), time=time, deviation=np.zeros(399))
    return log


def test_known_responses_of_simulated_legs_are_recovered():
    planted = np.array([[6.0, 0.8, 1.0, 30.0, 0.1], [8.0, 0.7, 2.0, 50.0, 0.2], [10.0, 0.6, 1.5, 40.0, 0.3]])
    made = air.simulated(swinging(), planted, noise=0.0)
    windows = air.windows(made, 0.05, "all")
    model = air.Ours()
    found = air.fit(model, [windows])
    np.testing.assert_allclose(found.parameters, planted, rtol=0.1, atol=0.05)
    errors = [np.sqrt(np.mean(air.residuals(model, [windows], p) ** 2)) for p in (found.parameters, air.NOMINAL)]
    assert errors[0] < 0.05 * errors[1]

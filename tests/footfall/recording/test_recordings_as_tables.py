"""Recordings as people use them: one row per time, formats by suffix, two runs side by side (frictions F3, F5, F10)."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas
import pytest

import footfall as ff
from footfall.cli import main as cli

ROBOT = ff.load("xiling")


@pytest.fixture(scope="module")
def rec() -> ff.Recording:
    return ff.Simulation(ROBOT, pushes=[ff.Push(start=0.1, duration=0.1, force=(0.0, 30.0, 0.0))]).run(0.4)


@pytest.fixture(scope="module")
def other() -> ff.Recording:
    return ff.Simulation(ROBOT, record_rate=500.0).run(0.4)


def test_a_pandas_table_has_one_row_per_time_and_every_number_by_name(rec):
    table = rec.to_pandas()
    assert len(table) == len(rec)
    np.testing.assert_array_equal(table.index, rec.time)
    np.testing.assert_array_equal(table["force.RH.z"], rec.force[:, 3, 2])
    np.testing.assert_array_equal(table["q.quat_w"], rec.q[:, 3])
    np.testing.assert_array_equal(table[f"torque.{ROBOT.joint_names[4]}"], rec.torque[:, 4])
    assert table.shape[1] == sum(int(np.prod(a.shape[1:])) for k, a in rec.columns.items() if k != "time")
    units = table.attrs["units"]
    assert (units["q.x"], units["v.omega_x"], units["v.v_x"], units["force.LF.x"]) == ("m", "rad/s", "m/s", "N")


def test_a_csv_file_is_text_with_all_digits(rec, tmp_path):
    with open(rec.save(tmp_path / "run.csv"), newline="") as file:
        head, *rows = csv.reader(file)
    assert head[0] == "time"
    assert len(rows) == len(rec)
    numbers = np.array(rows, dtype=float)
    np.testing.assert_array_equal(numbers[:, head.index("spent")], rec["spent"])
    np.testing.assert_array_equal(numbers[:, head.index("contact.LF")], rec.contact[:, 0])


def test_a_parquet_file_keeps_numbers_units_and_settings(rec, tmp_path):
    import pyarrow.parquet as parquet

    table = parquet.read_table(rec.save(tmp_path / "run.parquet"))
    np.testing.assert_array_equal(table["force.LF.z"].to_numpy(), rec.force[:, 0, 2])
    assert table.schema.field("force.LF.z").metadata == {b"units": b"N"}
    assert json.loads(table.schema.metadata[b"meta"])["dt"] == rec.meta["dt"]


def test_netcdf_and_mcap_are_loaded_again_by_their_suffix(rec, tmp_path):
    for name in ("run.nc", "run.mcap"):
        again = ff.Recording.load(rec.save(tmp_path / name))
        np.testing.assert_array_equal(again.q, rec.q)


@pytest.mark.parametrize("name", ["run.xlsx", "run", "run.mcap.gz", "run.CSV"])
def test_a_suffix_that_names_no_format_is_refused(name, rec, tmp_path):
    with pytest.raises(ff.InputError, match=r"names no format of a recording: choose from \.mcap, \.csv"):
        rec.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("form", "suffix"), [("csv", ".csv"), ("parquet", ".parquet"), ("netcdf", ".nc")])
def test_a_command_makes_a_table_of_a_recording(form, suffix, rec, tmp_path, capsys):
    rec.save(tmp_path / "run.mcap")
    assert cli.run(["convert", str(tmp_path / "run.mcap"), "--format", form]) == 0
    assert f"{len(rec)} rows" in "".join(capsys.readouterr())
    rec.save(tmp_path / f"same{suffix}")
    kept = {"csv": pandas.read_csv, "parquet": pandas.read_parquet}.get(form, lambda file: ff.Recording.load(file).q)
    np.testing.assert_array_equal(kept(tmp_path / f"run{suffix}"), kept(tmp_path / f"same{suffix}"))
    assert cli.run(["convert", str(tmp_path / "run.mcap"), "--format", form, "--out", str(tmp_path / "run.txt")]) == 2
    assert cli.run(["convert", str(tmp_path / "run.mcap"), "--format", form, "--rate", "50"]) == 2


def test_a_run_is_not_written_to_a_table_as_it_goes(tmp_path):
    with pytest.raises(ff.InputError, match=r"to an \.mcap file"):
        ff.Simulation(ROBOT).run(0.1, tmp_path / "run.csv")


def test_runs_are_laid_over_each_other_under_names_that_tell_them_apart(rec, other):
    figure = rec.plot("trunk", other)
    assert [line.get_label() for line in figure.axes[0].lines] == ["this", "other"]
    longer = ff.Simulation(ROBOT, dt=5e-4).run(0.05)
    assert [x.get_label() for x in rec.plot("trunk", longer).axes[0].lines] == ["dt 0.001", "dt 0.0005"]
    named = rec.plot("contact", other, labels=["pushed", "left alone"])
    assert {text.get_text() for text in named.legends[0].get_texts()} == {"pushed", "left alone"}
    with pytest.raises(ff.InputError, match="as many labels"):
        rec.plot("trunk", other, labels=["one"])
    with pytest.raises(ff.InputError, match=r"Recording .* got str"):
        rec.plot("trunk", "other.mcap")


def test_differences_are_those_of_the_rows_that_both_have(rec, other):
    table = rec.compare(other)
    assert (table.shared, table.start, table.end) == (len(other), other.time[0], other.time[-1])
    apart = np.abs(rec.q[1::2, 1] - other.q[:, 1])
    row = table["trunk y"]
    assert row.largest == apart.max() > 1e-3
    assert row.mean == pytest.approx(apart.mean())
    assert row.rms == pytest.approx(np.sqrt((apart**2).mean()))
    assert row.at == other.time[apart.argmax()]
    assert table["torque"].unit == "N m"
    assert list(table.to_pandas().index) == [row.quantity for row in table]
    assert "trunk y" in repr(table)
    assert all(row.largest == 0.0 for row in rec.compare(rec))
    with pytest.raises(ff.InputError, match="no quantity 'trunk w'"):
        table["trunk w"]


def test_the_command_compares_two_recordings(rec, other, tmp_path, capsys):
    a, b = str(rec.save(tmp_path / "a.mcap")), str(other.save(tmp_path / "b.nc"))
    assert cli.run(["compare", a, b, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["position_mae"][1] == pytest.approx(rec.compare(other)["trunk y"].mean)
    assert found["window"] == [other.time[0], other.time[-1]]
    assert {row["quantity"] for row in found["differences"]} >= {"trunk x", "torque", "force", "spent"}
    assert cli.run(["compare", a, b]) == 0
    assert "trunk y" in capsys.readouterr().out
    for wrong, words in (
        ([a], "takes a second one"),
        ([a, b, "--dt", "1e-4"], "--dt is for runs"),
        (["xiling", b], "xiling is not one"),
    ):
        assert cli.run(["compare", *wrong]) == 2
        assert words in capsys.readouterr().err


def test_a_batch_records_torque_force_contact_and_work_as_a_simulation_does():
    alone = ff.Simulation(ROBOT).run(0.2)
    batch = ff.Batch(ROBOT, 3)
    (one,) = batch.run(200, record=[1], every=4)
    assert one.contact.any()
    for name in ("torque", "force", "contact", "spent", "work", "contact_work", "command_position"):
        np.testing.assert_allclose(one[name], alone[name][3::4], rtol=1e-9, atol=1e-9, err_msg=name)
    assert one.spent() > 0
    np.testing.assert_array_equal(one.q[-1], batch.q[1])


def test_the_cost_of_transport_is_the_audited_work_of_its_window():
    tuned = ff.gait.for_robot(ROBOT, "trot")
    rec = ff.Simulation(ROBOT, ff.control.JointPD(gait=tuned.gait, kp=tuned.kp, kd=tuned.kd)).run(2.5)
    part = rec.between(1.5, 2.5)
    work = part["spent"][-1] - part["spent"][0]
    expected = work / (ROBOT.mass * 9.81 * part.distance)
    assert rec.cost_of_transport(1.5, 2.5) == pytest.approx(expected, rel=1e-12)


def test_a_run_says_over_which_window_its_means_are(capsys):
    assert cli.run(["simulate", "xiling", "--duration", "3", "--json"]) in (0, 1)
    found = json.loads(capsys.readouterr().out)
    start, end = found["averaged_over"]
    assert 0.0 < start < end == found["duration"]

"""Columns of a run, what is derived from them, and their tables."""

import builtins
import json

import numpy as np
import pytest
from made_up_trot import ROBOT, made_up_columns, made_up_trot

from footfall.errors import FootfallError, InputError, MissingExtraError, ModelError
from footfall.recording.recording import Event, Recording
from footfall.robot import library
from footfall.robot.model.description import Joint, Link, Robot
from footfall.robot.model.json_form import robot_from_json, robot_to_json
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import to_euler


@pytest.fixture(scope="module")
def rec() -> Recording:
    return made_up_trot()


# -- columns -----------------------------------------------------------------------------------------------------------
def test_columns_are_found_by_name_and_by_attribute(rec):
    assert rec["q"] is rec.q
    assert rec.contact.dtype == bool
    assert "torque" in rec
    assert "nonsense" not in rec
    assert len(rec) == 2001


def test_an_unknown_column_lists_the_known_ones(rec):
    with pytest.raises(
        InputError, match=r"unknown column 'torqe' \(did you mean 'torque'\?\): this recording has time"
    ):
        rec["torqe"]


def test_telemetry_of_any_shape_is_kept():
    columns = made_up_columns(0.1)
    rows = len(columns["time"])
    rec = Recording(
        ROBOT, {**columns, "phase": np.zeros((rows, 4)), "gait": np.arange(rows), "M": np.ones((rows, 2, 5))}
    )
    assert rec["gait"].dtype == np.int64
    assert rec["M"].shape == (rows, 2, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros((101, 7))}, r"column 'q' of mini_cheetah must have shape \(T, 19\), got \(T, 7\)"),
        ({"torque": np.zeros((100, 12))}, "column 'torque' has 100 rows, 'time' has 101"),
        ({"time": np.linspace(1, 0, 101)}, "must not decrease"),
        ({"time": np.full(101, np.nan)}, "must be finite"),
        ({"a b": np.zeros(101)}, "a column's name must be a plain word, got 'a b'"),
        ({"words": np.array(["x"] * 101)}, "column 'words' must hold numbers"),
        ({"number": 3.0}, "column 'number' must hold numbers along time"),
    ],
)
def test_a_bad_column_is_named(change, message):
    with pytest.raises(InputError, match=message):
        Recording(ROBOT, {**made_up_columns(0.1), **change})


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="a recording needs the column 'v': it has time, q"):
        Recording(ROBOT, {"time": np.zeros(1), "q": np.zeros((1, 19))})


def test_a_diverged_last_row_is_kept():
    columns = made_up_columns(0.1)
    columns["v"][-1] = np.inf
    assert np.isinf(Recording(ROBOT, columns).v[-1]).all()


# -- derived -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", ["zyx", "xyz"])
def test_euler_angles_agree_with_the_rotation_matrix_of_each_row(rec, order):
    angles = rec.trunk_euler(order)
    for k in (0, 500, 2000):
        np.testing.assert_allclose(angles[k], to_euler(to_rotation(rec.q[k, 3:7]), order), atol=1e-14)
    with pytest.raises(InputError, match="unknown order of Euler angles 'abc': choose zyx, xyz"):
        rec.trunk_euler("abc")


def circle(rate: float = 0.5, speed: float = 0.3, left: float = 0.1) -> Recording:
    """Walks in a circle: constant velocity in axes that turn."""
    columns = made_up_columns(4.0)
    t, q = columns["time"], np.zeros_like(columns["q"])
    yaw = rate * t + 1.0
    world = np.stack([speed * np.cos(yaw) - left * np.sin(yaw), speed * np.sin(yaw) + left * np.cos(yaw)], axis=1)
    q[1:, :2] = np.cumsum((world[1:] + world[:-1]) / 2 * np.diff(t)[:, None], axis=0)
    q[:, 3], q[:, 6] = np.cos(yaw / 2), np.sin(yaw / 2)
    return Recording(ROBOT, {"time": t, "q": q, "v": columns["v"]})


def test_mean_velocity_is_seen_from_the_turning_trunk():
    np.testing.assert_allclose(circle().mean_velocity(after=1.0), (0.3, 0.1, 0.5), rtol=1e-6)


def test_mean_speed_is_forward_displacement_over_time_after_the_ramp():
    straight = circle(rate=0.0, left=0.0)
    assert straight.mean_speed(after=1.0) == pytest.approx(0.3)
    assert straight.distance == pytest.approx(1.2)
    assert straight.duration == pytest.approx(4.0)
    assert circle(rate=0.0, speed=-0.2).mean_speed() == pytest.approx(-0.2)


def test_energy_residual_is_relative_to_the_energy_moved(rec):
    assert rec.energy_residual() < 1e-12
    columns = dict(rec.columns)
    moved = np.abs(rec.energy - rec.energy[0]) + sum(
        np.abs(rec[k] - rec[k][0]) for k in ("work", "contact_work", "friction_work")
    )
    columns["work"] = columns["work"] + np.linspace(0, 0.01, len(rec))
    leaky = Recording(ROBOT, columns)
    assert leaky.energy_residual() == pytest.approx(0.01 / moved.max(), rel=0.02)
    with pytest.raises(InputError, match="unknown column 'work'"):
        Recording(ROBOT, {k: rec[k] for k in ("time", "q", "v", "kinetic", "potential")}).energy_residual()


def test_cost_of_transport_of_a_motor_that_does_all_the_lifting():
    t = np.linspace(0, 2, 201)
    q, v = np.zeros((201, 19)), np.zeros((201, 18))
    q[:, 0], q[:, 3], v[:, 6] = 0.5 * t, 1.0, 2.0
    torque = np.zeros((201, 12))
    torque[:, 0] = 3.0  # 6 W for 2 s over 1 m
    rec = Recording(ROBOT, {"time": t, "q": q, "v": v, "torque": torque})
    assert rec.cost_of_transport() == pytest.approx(12.0 / (ROBOT.mass * 9.81))


def test_between_keeps_rows_and_events_of_a_span(rec):
    part = rec.between(0.5, 1.0)
    assert part.time[0] == 0.5
    assert part.time[-1] == 1.0
    assert part.events == [Event(0.5, "push", "10 N to the left")]
    assert part.meta == rec.meta
    with pytest.raises(InputError, match="nothing was recorded from 5 s: the recording covers 0 to 2 s"):
        rec.between(5, None)


def test_meta_names_robot_digest_and_versions(rec):
    assert rec.meta["robot"] == "mini_cheetah"
    assert rec.meta["digest"] == ROBOT.digest
    assert set(rec.meta["versions"]) == {"footfall", "numpy", "python"}


def test_html_summary_escapes_what_it_shows(rec):
    shown = Recording(ROBOT, rec.columns, [Event(0.1, "<b>", "a & b")])._repr_html_()
    assert "&lt;b&gt;: a &amp; b" in shown
    assert "2001 rows" in shown
    assert "<b>" not in shown


def test_a_fixed_base_has_no_trunk_to_follow():
    arm = Robot(
        name="arm",
        links=[Link(name="base", mass=1.0, inertia=np.eye(3)), Link(name="rod", mass=1.0, inertia=np.eye(3))],
        joints=[Joint(name="hinge", kind="revolute", parent="base", child="rod")],
        floating=False,
    )
    rec = Recording(arm, {"time": np.zeros(2), "q": np.zeros((2, 1)), "v": np.zeros((2, 1))})
    with pytest.raises(InputError, match="'arm' has a fixed base"):
        _ = rec.trunk_position
    assert "arm" in rec._repr_html_()


# -- the robot as JSON -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", library.names())
def test_a_robot_survives_json(name):
    robot = library.load(name)
    text = robot_to_json(robot)
    again = robot_from_json(text)
    assert again.digest == robot.digest
    assert again.joint_names == robot.joint_names
    assert again.notes == robot.notes
    assert dict(again.provenance) == dict(robot.provenance)
    assert {k: p.height for k, p in again.poses.items()} == {k: p.height for k, p in robot.poses.items()}
    assert robot_to_json(again) == text
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "the robot's JSON is not an object"),
        ('{"format": 1, "name": "x", "links": 3}', "'links' of the robot's JSON must be a list"),
        ('{"format": 1, "name": "x", "links": [{"name": "a", "mas": 1}]}', "unknown entry of a link 'mas'"),
        ('{"format": 1, "name": "x", "links": [{"name": "a", "mass": -1}]}', "mass of link 'a' must be positive"),
        ('{"format": 1, "name": "x", "links": [{"mass": 1}]}', "a link of the robot's JSON is malformed"),
        ('{"format": 1, "name": "x", "links": [], "poses": []}', "'poses' of the robot's JSON must be an object"),
    ],
)
def test_a_bad_robot_in_json_is_refused(text, message):
    with pytest.raises(ModelError, match=message):
        robot_from_json(text)


# -- tables ------------------------------------------------------------------------------------------------------------
def test_xarray_has_named_dimensions_and_units(rec):
    pytest.importorskip("xarray")
    table = rec.to_xarray()
    assert table["force"].dims == ("time", "foot", "axis")
    assert table["torque"].attrs["units"] == "N m"
    np.testing.assert_array_equal(table["torque"].sel(joint="LF_knee"), rec.torque[:, 2])
    np.testing.assert_array_equal(table["force"].sel(foot="RH", axis="z"), rec.force[:, 3, 2])
    np.testing.assert_array_equal(table["q"].sel(coordinate="z"), rec.q[:, 2])
    assert table["time"].attrs["units"] == "s"


def test_netcdf_brings_everything_back(rec, tmp_path):
    pytest.importorskip("h5py")
    again = Recording.from_netcdf(rec.to_netcdf(tmp_path / "run.nc"))
    for name in rec.columns:
        np.testing.assert_array_equal(again[name], rec[name])
        assert again[name].dtype == rec[name].dtype
    assert again.events == rec.events
    assert again.meta == rec.meta
    assert again.robot.digest == rec.robot.digest
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]


def test_tables_say_what_is_missing(rec, monkeypatch, tmp_path):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "xarray":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr("importlib.import_module", without)
    with pytest.raises(MissingExtraError, match=r"needs xarray: install it with  pip install 'footfall\[tables\]'"):
        rec.to_xarray()


def test_a_table_that_is_none_of_ours_is_refused(tmp_path):
    pytest.importorskip("h5py")
    xarray = pytest.importorskip("xarray")
    with pytest.raises(FootfallError, match="cannot read the table"):
        Recording.from_netcdf(tmp_path / "none.nc")
    xarray.Dataset({"time": ("time", [0.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(FootfallError, match="is not a recording of footfall"):
        Recording.from_netcdf(tmp_path / "other.nc")

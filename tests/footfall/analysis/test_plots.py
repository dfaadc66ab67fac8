"""Figures of recordings: every kind draws what its columns hold, with units, alone and laid over each other."""

import io

import numpy as np
import pytest
from made_up_trot import ROBOT, made_up_trot

from footfall.analysis.plots import KINDS, limbs, plot_compare, spans
from footfall.errors import InputError
from footfall.recording.recording import Recording
from footfall.robot import library


@pytest.fixture(scope="module")
def rec() -> Recording:
    return made_up_trot(1.0)


@pytest.fixture(scope="module")
def other() -> Recording:
    return made_up_trot(1.2, period=0.4)


def labels(figure) -> str:
    return " ".join(text for a in figure.axes for text in (a.get_ylabel(), a.get_xlabel(), a.get_title(loc="left")))


@pytest.mark.parametrize(
    ("kind", "units", "panels"),
    [
        ("trunk", ("position [m]", "[deg]", "time [s]"), 6),
        ("contact", ("[N]", "contact activation", "time [s]"), 5),
        ("torque", ("torque [N m]", "time [s]"), 4),
        ("joints", ("position [deg]", "time [s]"), 4),
        ("energy", ("energy [J]", "balance [J]", "time [s]"), 2),
    ],
)
def test_every_kind_has_its_panels_and_units(rec, other, kind, units, panels):
    for figure in (rec.plot(kind), plot_compare({"footfall": rec, "MuJoCo": other}, kind)):
        assert len(figure.axes) == panels
        for unit in units:
            assert unit in labels(figure)
        figure.savefig(io.BytesIO(), dpi=30)


def test_every_kind_is_tested():
    assert set(KINDS) == {"trunk", "contact", "torque", "joints", "energy"}


def test_an_unknown_kind_lists_the_choices(rec):
    with pytest.raises(InputError, match="no plot 'forces': it is 'contact'"):
        rec.plot("forces")
    with pytest.raises(InputError, match="unknown plot 'smell': choose trunk, contact, torque, joints, energy"):
        rec.plot("smell")


def test_trunk_panels_show_position_and_angles_in_degrees(rec):
    axes = rec.plot("trunk").axes
    np.testing.assert_array_equal(axes[2].lines[0].get_ydata(), rec.trunk_position[:, 2])
    np.testing.assert_allclose(axes[4].lines[0].get_ydata(), np.degrees(rec.trunk_euler()[:, 1]), atol=1e-12)


def test_yaw_beyond_half_a_turn_does_not_jump(rec):
    q = rec.q.copy()
    yaw = np.linspace(0, 5, len(q))
    q[:, 3:7] = np.stack([np.cos(yaw / 2), 0 * yaw, 0 * yaw, np.sin(yaw / 2)], axis=1)
    turning = Recording(ROBOT, {**rec.columns, "q": q})
    np.testing.assert_allclose(turning.plot("trunk").axes[3].lines[0].get_ydata(), np.degrees(yaw), atol=1e-9)


def test_a_comparison_names_its_recordings_and_takes_one_robot(rec, other):
    figure = plot_compare({"footfall": rec, "MuJoCo": other}, "trunk")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["footfall", "MuJoCo"]
    robot = library.load("spined")
    alien = Recording(robot, {"time": np.zeros(1), "q": robot.state()[0][None], "v": np.zeros((1, robot.nv))})
    with pytest.raises(InputError, match="robots 'mini_cheetah' and 'spined' differ in their joints or feet"):
        plot_compare({"a": rec, "b": alien})
    with pytest.raises(InputError, match="a plot shows 1 to 4 recordings, got 0"):
        plot_compare({})


def test_a_part_of_a_run_can_be_drawn(rec):
    assert rec.plot("torque", between=(0.2, 0.4)).axes[-1].get_xlim() == (0.2, 0.4)


def test_a_run_that_diverged_can_be_drawn(rec):
    columns = {k: a.copy() for k, a in rec.columns.items()}
    for name in ("q", "v", "force", "torque", "kinetic"):
        columns[name][-1] = np.inf
    with np.errstate(all="ignore"):
        for kind in KINDS:
            Recording(ROBOT, columns).plot(kind).savefig(io.BytesIO(), dpi=30)


def test_spans_are_the_times_of_contact():
    time = np.arange(6) * 0.1
    assert spans(time, np.array([1, 1, 0, 0, 1, 1])) == [(0.0, time[2]), (time[4], time[5])]
    assert spans(time, np.zeros(6)) == []
    assert spans(time[:0], np.zeros(0)) == []


@pytest.mark.parametrize("name", library.names())
def test_limbs_share_out_all_joints(name):
    robot = library.load(name)
    groups = limbs(robot)
    assert sorted(j for joints in groups.values() for j in joints) == list(range(robot.nj))
    assert [robot.joint_names[j].split("_")[0] for j in groups["LF"]] == ["LF"] * len(groups["LF"])
    assert ("spine" in groups) == (name == "spined")


def test_a_plot_without_its_columns_says_which_is_missing(rec):
    with pytest.raises(InputError, match="unknown column 'kinetic'"):
        Recording(ROBOT, {k: rec[k] for k in ("time", "q", "v")}).plot("energy")

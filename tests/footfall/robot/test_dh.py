"""Denavit-Hartenberg tables: forward kinematics of a table against the robot that is built from it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall.errors import InputError, ModelError
from footfall.robot import Link, library
from footfall.robot.library.dynakat import table
from footfall.robot.library.spined import leg_table
from footfall.robot.model.dh import Limb, Row, chain, forward, robot, row_transform
from footfall.robot.model.placement import body_poses, foot_centres
from footfall.spatial.rotation import is_rotation
from footfall.spatial.transform import Transform

BAR = Link(name="bar", mass=1.0, inertia=np.eye(3) * 0.01)
FORWARD = [
    ((0, 0, 0, 0), (0, -0.03, -0.225)),
    ((np.pi / 2, 0, -np.pi / 2, -np.pi / 2), (0.05, -0.03, -0.075)),
    ((0.3, 0.2, -0.4, 0.5), (0.040246, -0.073475, -0.212045)),
]

angles = st.floats(-3.2, 3.2)
lengths = st.floats(-0.5, 0.5)
rows = st.builds(Row, theta=angles, d=lengths, a=lengths, alpha=angles)


@st.composite
def tables(draw):
    """A table with one to five joints, constant rows between them, and values for the joints."""
    out, count = [], draw(st.integers(1, 5))
    for k in range(count):
        if draw(st.booleans()):
            out.append(draw(rows))
        row = draw(rows)
        out.append(
            Row(
                theta=row.theta,
                d=row.d,
                a=row.a,
                alpha=row.alpha,
                joint=f"j{k}",
                kind=draw(st.sampled_from(["revolute", "prismatic"])),
            )
        )
    return out, draw(st.lists(angles, min_size=count, max_size=count))


@pytest.mark.parametrize(("q", "foot"), FORWARD)
def test_dynakat_table_reaches_its_reference_points(q, foot):
    np.testing.assert_allclose(forward(table(), q)[-1].p, foot, atol=5e-7)


def test_dynakat_knee_and_ankle_of_the_papers_figure():
    frames = forward(table(), FORWARD[1][0])
    np.testing.assert_allclose(frames[3].p, (0.1, -0.03, 0), atol=1e-15)
    np.testing.assert_allclose(frames[4].p, (0.1, -0.03, -0.075), atol=1e-15)


@pytest.mark.parametrize("legs", ["mirrored", "identical"])
def test_dynakat_robot_equals_its_table(legs):
    made = library.dynakat(legs)
    q = np.random.default_rng(1).uniform(-1, 1, 16)
    feet = foot_centres(made, made.state(q)[0])
    for k, (name, side) in enumerate((("LF", 1), ("RF", -1), ("LH", 1), ("RH", -1))):
        rows = table(name, side if legs == "mirrored" else -1)
        expected = made.joint(f"{name}_hip").origin + forward(rows, q[4 * k : 4 * k + 4])[-1].p
        np.testing.assert_allclose(feet[k], expected, atol=1e-15)


@pytest.mark.parametrize(("q", "foot"), FORWARD)
def test_dynakat_right_legs_reach_the_reference_points(q, foot):
    made = library.dynakat()
    feet = foot_centres(made, made.state(np.tile(q, 4))[0])
    for k, name in ((1, "RF"), (3, "RH")):
        np.testing.assert_allclose(feet[k] - made.joint(f"{name}_hip").origin, foot, atol=5e-7)


def test_dynakat_first_joint_pitches_and_second_rolls():
    made = library.dynakat()
    axes = [made.joint(f"LF_{j}").axis.tolist() for j in ("hip", "abad", "knee", "ankle")]
    assert axes == [[0, -1, 0], [-1, 0, 0], [0, -1, 0], [0, -1, 0]]


def test_spined_robot_equals_the_papers_transforms():
    """Eqs. (1), (3) and (4) of Adak et al. with Table 1 in the modified convention, legs on both spine bodies."""
    made = library.spined()
    q = np.random.default_rng(2).uniform(-0.6, 0.6, 14)
    value = dict(zip(made.joint_names, q))
    c, s = np.cos(value["spine_pitch"]), np.sin(value["spine_pitch"])
    front = Transform(np.array([[c, -s, 0], [0, 0, -1], [s, c, 0]]), np.array([0.12, 0, 0]))
    c, s = np.cos(value["spine_roll"]), np.sin(value["spine_roll"])
    hind = Transform(np.array([[0, 0, 1], [s, c, 0], [-c, s, 0]]), np.array([-0.12, 0, 0]))
    turn = np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
    hips = {
        "LF": front @ Transform(turn, np.array([0.24, -0.06, -0.12])),
        "RF": front @ Transform(turn, np.array([0.24, -0.06, 0.12])),
        "LH": hind @ Transform(np.eye(3), np.array([0.06, 0.12, -0.24])),
        "RH": hind @ Transform(np.eye(3), np.array([0.06, -0.12, -0.24])),
    }
    feet = foot_centres(made, made.state(q)[0])
    for k, (leg, X_BH) in enumerate(hips.items()):
        angles = [value[f"{leg}_{j}"] for j in ("abad", "hip", "knee")]
        expected = (X_BH @ forward(leg_table(leg), angles, "modified")[-1]).p
        np.testing.assert_allclose(feet[k], expected, atol=1e-15)


@given(rows, angles, st.sampled_from(["standard", "modified"]))
def test_every_row_is_a_rigid_motion(row, value, convention):
    X = row_transform(Row(theta=row.theta, d=row.d, a=row.a, alpha=row.alpha, joint="q"), value, convention)
    assert is_rotation(X.R, 1e-12)
    assert np.linalg.norm(X.p) == pytest.approx(np.hypot(row.a, row.d), abs=1e-12)


@given(rows, angles)
def test_standard_row_as_printed(row, value):
    t, d, a, alpha = row.theta + value, row.d, row.a, row.alpha
    ct, st_, ca, sa = np.cos(t), np.sin(t), np.cos(alpha), np.sin(alpha)
    printed = [[ct, -st_ * ca, st_ * sa, a * ct], [st_, ct * ca, -ct * sa, a * st_], [0, sa, ca, d]]
    X = row_transform(Row(theta=row.theta, d=d, a=a, alpha=alpha, joint="q"), value)
    np.testing.assert_allclose(np.column_stack([X.R, X.p]), printed, atol=1e-14)


@given(rows, angles)
def test_modified_row_as_printed_in_equation_1(row, value):
    t, d, a, alpha = row.theta + value, row.d, row.a, row.alpha
    ct, st_, ca, sa = np.cos(t), np.sin(t), np.cos(alpha), np.sin(alpha)
    printed = [[ct, -st_, 0, a], [st_ * ca, ct * ca, -sa, -sa * d], [st_ * sa, ct * sa, ca, ca * d]]
    X = row_transform(Row(theta=row.theta, d=d, a=a, alpha=alpha, joint="q"), value, "modified")
    np.testing.assert_allclose(np.column_stack([X.R, X.p]), printed, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from(["standard", "modified"]), st.sampled_from(["aligned", "dh"]))
def test_a_robot_built_from_any_table_moves_as_the_table_does(made, convention, frames):
    rows, values = made
    links = {row.joint: BAR for row in rows if row.joint}
    mount = Transform(row_transform(Row(theta=0.3, alpha=0.7)).R, np.array([0.1, 0.2, 0.3]))
    arm = robot(
        "arm",
        Link(name="base", mass=1.0, inertia=np.eye(3)),
        [Limb(name="tip", mount=mount, rows=rows, links=links)],
        floating=False,
        convention=convention,
        frames=frames,
    )
    expected = mount @ forward(rows, values, convention)[-1]
    np.testing.assert_allclose(foot_centres(arm, np.array(values))[0], expected.p, atol=1e-11)
    X_LT = chain(rows, "base", links, mount, convention=convention, frames=frames).X_LT
    np.testing.assert_allclose((body_poses(arm, np.array(values))[-1] @ X_LT).R, expected.R, atol=1e-11)
    for joint in arm.joints:
        assert (
            np.array_equal(joint.rotation, np.eye(3)) if frames == "aligned" else np.array_equal(joint.axis, [0, 0, 1])
        )


def test_a_table_gives_exact_offsets_where_its_axes_are_coordinate_axes():
    origins = [library.dynakat().joint(f"RF_{j}").origin.tolist() for j in ("abad", "knee", "ankle")]
    assert origins == [[0, -0.03, 0], [0, 0, -0.1], [0, 0, -0.075]]


@pytest.mark.parametrize(
    ("call", "message", "error"),
    [
        (
            lambda: Row(theta=float("nan"), joint="a"),
            "theta of the Denavit-Hartenberg row 'a' is not finite",
            ModelError,
        ),
        (lambda: Row(d="long"), "d of the Denavit-Hartenberg row .* must be a number", ModelError),
        (lambda: Row(joint="a", kind="ball"), "row 'a' has the kind 'ball': choose revolute, prismatic", ModelError),
        (
            lambda: row_transform(Row(), 0.0, "craig"),
            "unknown convention 'craig': choose standard, modified",
            InputError,
        ),
        (lambda: chain([Row(joint="a")], "base", {"a": BAR}, frames="own"), "choose aligned, dh", InputError),
        (lambda: forward([Row(joint="a"), Row(joint="b")], [0.1]), "has 2 joints, got 1 values", InputError),
        (lambda: chain([Row(joint="a")], "base", {}), "no link given for joint 'a'", ModelError),
        (lambda: chain([Row(joint="a")], "base", {"a": BAR, "b": BAR}), "link for the unknown joint 'b'", ModelError),
        (
            lambda: chain([Row(joint="a")], "base", {"a": BAR}, settings={"c": {}}),
            "settings for the unknown joint 'c'",
            ModelError,
        ),
        (lambda: chain([Row(joint="a"), Row(joint="a")], "base", {"a": BAR}), "has a joint twice: a, a", ModelError),
        (lambda: chain([Row(a=1.0)], "base", {}), "needs at least one joint", ModelError),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(call, message, error):
    with pytest.raises(error, match=message):
        call()

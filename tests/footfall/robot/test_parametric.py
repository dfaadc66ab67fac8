"""The parametric quadruped and the inertias of simple solids."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall.errors import FootfallError, InputError, ModelError
from footfall.robot import Link
from footfall.robot.model.parametric import box_inertia, capsule_inertia, cylinder_inertia, quadruped, rod_inertia
from footfall.robot.model.placement import body_poses, foot_centres
from footfall.robot.model.shapes import mirrored, tensor

LEGS = ("LF", "RF", "LH", "RH")
sizes = st.floats(0.005, 2.0)
masses = st.floats(0.01, 50.0)


# -- solids ----------------------------------------------------------------------------------------------------------
@given(masses, sizes, sizes, sizes)
def test_a_box_is_always_realisable(mass, x, y, z):
    Link(name="box", mass=mass, inertia=box_inertia(mass, (x, y, z)))


@given(masses, sizes, sizes, st.sampled_from("xyz"))
def test_cylinders_and_capsules_are_always_realisable(mass, radius, length, axis):
    for solid in (cylinder_inertia, capsule_inertia):
        Link(name="solid", mass=mass, inertia=solid(mass, radius, length, axis))


def test_solids_against_textbook_values():
    np.testing.assert_allclose(box_inertia(12.0, (1, 2, 3)), np.diag([13.0, 10.0, 5.0]))
    np.testing.assert_allclose(cylinder_inertia(12.0, 1.0, 2.0, "x"), np.diag([6.0, 7.0, 7.0]))
    np.testing.assert_allclose(rod_inertia(12.0, 2.0), np.diag([4.03, 4.03, 0.06]))


def test_a_capsule_lies_between_a_ball_and_a_rod():
    np.testing.assert_allclose(capsule_inertia(1.0, 0.5, 1e-9), 0.4 * 0.25 * np.eye(3), rtol=1e-6)
    np.testing.assert_allclose(capsule_inertia(1.0, 1e-6, 2.0), np.diag([1 / 3, 1 / 3, 0]), atol=1e-6)


def test_a_capsule_by_summing_small_grains():
    radius, length, step = 0.1, 0.3, 0.005
    side, height = np.arange(-0.1 + step / 2, 0.1, step), np.arange(-0.25 + step / 2, 0.25, step)
    x, y, z = np.meshgrid(side, side, height, indexing="ij")
    beyond = np.maximum(np.abs(z) - length / 2, 0.0)
    inside = x**2 + y**2 + beyond**2 <= radius**2
    x, y, z = x[inside], y[inside], z[inside]
    grain = 1.0 / x.size
    summed = np.diag([np.sum(y**2 + z**2), np.sum(x**2 + z**2), np.sum(x**2 + y**2)]) * grain
    np.testing.assert_allclose(capsule_inertia(1.0, radius, length), summed, rtol=5e-3, atol=1e-12)


def test_mirroring_changes_the_signs_of_ixy_and_iyz():
    np.testing.assert_array_equal(mirrored(tensor(1, 2, 3, 0.1, 0.2, 0.3)), tensor(1, 2, 3, -0.1, 0.2, -0.3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: box_inertia(0, (1, 1, 1)), "mass of a box must be positive and finite, got 0"),
        (lambda: box_inertia(1, (1, -1, 1)), "size of a box must be positive"),
        (lambda: box_inertia(1, (1, 1)), "a box has three lengths along x, y, z, got 2"),
        (lambda: cylinder_inertia(1, float("nan"), 1), "must be positive and finite, got nan"),
        (lambda: cylinder_inertia(1, 1, "long"), "must be a number, got 'long'"),
        (lambda: capsule_inertia(1, 1, 1, "w"), "unknown axis 'w': choose x, y, z"),
    ],
)
def test_bad_solids_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


# -- the quadruped ---------------------------------------------------------------------------------------------------
def test_the_default_quadruped_stands_on_its_feet():
    robot = quadruped()
    assert (robot.nv, robot.foot_names) == (18, LEGS)
    q = robot.state("stand")[0]
    np.testing.assert_allclose(foot_centres(robot, q)[:, 2], 0.02, atol=1e-12)
    assert robot.poses["stand"].height == pytest.approx(0.85 * 0.4 + 0.02)
    assert robot.mass == pytest.approx(6.0 + 4 * 1.25)


@pytest.mark.parametrize(
    ("spine", "root_at"), [((), 0.0), (("pitch",), -0.1), (("pitch", "roll"), 0.0), (("yaw", "pitch", "roll"), -0.05)]
)
def test_spine_joints_cut_the_trunk_without_moving_its_hips(spine, root_at):
    robot = quadruped(spine=spine)
    assert robot.nv == 18 + len(spine)
    assert robot.mass == pytest.approx(11.0)
    feet = foot_centres(robot) + np.array([root_at, 0.0, 0.0])
    np.testing.assert_allclose(feet, foot_centres(quadruped()), atol=1e-15)
    centre = sum(b.inertia.to_parent(X).h for b, X in zip(robot.tree.bodies, body_poses(robot))) / robot.mass
    assert centre[0] + root_at == pytest.approx(0.0, abs=1e-15)
    for k, axis in enumerate(spine):
        assert robot.joint(f"spine_{k + 1}").axis.tolist() == [axis == "roll", axis == "pitch", axis == "yaw"]


@pytest.mark.parametrize(
    ("axes", "names"),
    [
        (("pitch", "pitch"), ["hip", "knee"]),
        (("roll", "pitch"), ["abad", "hip"]),
        (("roll", "pitch", "pitch"), ["abad", "hip", "knee"]),
        (("yaw", "roll", "pitch"), ["yaw", "abad", "hip"]),
        (("pitch", "roll", "pitch", "pitch"), ["hip", "abad", "knee", "ankle"]),
        (("roll", "roll", "pitch", "pitch"), ["abad", "abad_2", "hip", "knee"]),
    ],
)
def test_two_to_four_joints_a_leg(axes, names):
    n = len(axes)
    robot = quadruped(axes=axes, segments=(0.1,) * n, segment_masses=(0.2,) * n)
    assert robot.nv == 6 + 4 * n
    assert list(robot.joint_names[:n]) == [f"LF_{name}" for name in names]
    np.testing.assert_allclose(foot_centres(robot, robot.state("stand")[0])[:, 2], 0.02, atol=1e-12)


def test_knees_stand_on_the_side_asked_for():
    robot = quadruped(knees={"LF": "behind", "RF": "behind", "LH": "front", "RH": "front"})
    poses = body_poses(robot, robot.state("stand")[0])
    index = {joint: i + 1 for i, joint in enumerate(robot.joint_names)}
    sides = [np.sign(poses[index[f"{leg}_knee"]].p[0] - poses[index[f"{leg}_hip"]].p[0]) for leg in LEGS]
    assert sides == [-1, -1, 1, 1]


def test_hips_may_be_given_for_each_leg():
    hips = {"LF": (0.3, 0.1, 0.0), "RF": (0.3, -0.1, 0.0), "LH": (-0.2, 0.12, 0.01), "RH": (-0.2, -0.12, 0.01)}
    robot = quadruped(hips=hips)
    for leg in LEGS:
        np.testing.assert_allclose(robot.joint(f"{leg}_abad").origin, hips[leg])


def test_a_slanted_segment_has_its_inertia_across_itself():
    vector = np.array([0.06, 0.0, -0.08])
    link = quadruped(segments=((0.0, 0.05, 0.0), vector, 0.2), shape="rod").link("LF_hip_link")
    along = vector / 0.1
    assert along @ link.inertia @ along == pytest.approx(0.6 / 2 * 0.015**2)
    np.testing.assert_allclose(link.com, vector / 2)
    assert link.box is None


def test_every_number_is_marked_chosen():
    robot = quadruped(spine=("pitch",))
    assert {robot.provenance_of(path).status for path in robot.parameter_names()} == {"chosen"}


def test_joint_options_reach_every_joint():
    robot = quadruped(
        damping=0.1, armature=0.01, torque_limit=20.0, limits=((-1, 1), (-2, 2), (-2.5, 0)), spine=("yaw",)
    )
    assert {(j.damping, j.armature) for j in robot.joints} == {(0.1, 0.01)}
    assert {a.torque_limit for a in robot.actuators} == {20.0}
    assert (robot.joint("RH_knee").lower, robot.joint("RH_knee").upper) == (-2.5, 0.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.integers(0, 3), st.data())
def test_any_sensible_quadruped_is_a_robot(dof, spines, data):
    kinds = st.sampled_from(["roll", "pitch", "yaw"])
    axes = data.draw(st.lists(kinds, min_size=dof, max_size=dof).filter(lambda a: a.count("roll") < 3 > a.count("yaw")))
    lengths = data.draw(st.lists(st.floats(0.02, 0.5), min_size=dof, max_size=dof))
    weights = data.draw(st.lists(st.floats(0.05, 5), min_size=dof, max_size=dof))
    spine = data.draw(st.lists(kinds, min_size=spines, max_size=spines))
    robot = quadruped(
        axes=axes,
        segments=lengths,
        segment_masses=weights,
        spine=spine,
        crouch=data.draw(st.floats(0.01, 1)),
        shape=data.draw(st.sampled_from(["box", "rod"])),
    )
    assert robot.nv == 6 + 4 * dof + spines
    assert robot.mass == pytest.approx(6.0 + 4 * sum(weights))
    bottoms = foot_centres(robot, robot.state("stand")[0])[:, 2]
    np.testing.assert_allclose(bottoms, 0.02, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message", "error"),
    [
        ({"axes": ("pitch",)}, "a leg has 2 to 4 joints", InputError),
        ({"axes": ("pitch",) * 5}, "a leg has 2 to 4 joints", InputError),
        ({"axes": "pitch"}, "a leg has 2 to 4 joints, got the axes 'pitch'", InputError),
        (
            {"axes": ("roll", "pitch", "bend")},
            "unknown axis of a leg joint 'bend': choose roll, pitch, yaw",
            InputError,
        ),
        ({"axes": ("roll", "roll", "roll")}, "a leg may have at most 2 roll joints, got 3", InputError),
        ({"spine": ("bend",)}, "unknown axis of a spine joint 'bend': choose roll, pitch, yaw", InputError),
        ({"segments": (0.2, 0.2)}, "a leg of 3 joints needs as many segments, got 2", InputError),
        ({"segment_masses": (0.2, 0.2)}, "a leg of 3 joints needs as many segment masses, got 2", InputError),
        ({"limits": ((0, 1),)}, "a leg of 3 joints needs as many limits, got 1", InputError),
        (
            {"segments": (0.1, -0.2, 0.2)},
            "length of the segment at hip must be positive and finite, got -0.2",
            InputError,
        ),
        ({"segments": (0.1, (0.1, 0.2), 0.2)}, "segment at hip must be three finite numbers", InputError),
        ({"segments": (0.1, "long", 0.2)}, "segment at hip must be three finite numbers", InputError),
        (
            {"segment_masses": (0.1, 0.0, 0.2)},
            "mass of the segment at hip must be positive and finite, got 0",
            InputError,
        ),
        ({"trunk_mass": float("nan")}, "mass of the trunk must be positive and finite", InputError),
        ({"trunk_mass": "six"}, "mass of the trunk must be a number, got 'six'", InputError),
        ({"trunk_size": (1.0, 1.0)}, "size of the trunk must be three finite numbers", InputError),
        ({"trunk_size": (1.0, 0.0, 1.0)}, "a length of the trunk must be positive", InputError),
        ({"thickness": 0.0}, "thickness of the segments must be positive", InputError),
        ({"shape": "ball"}, "unknown shape of segments 'ball': choose box, rod", InputError),
        ({"crouch": 1.2}, r"crouch must lie in \(0, 1\], got 1.2", InputError),
        ({"knees": "up"}, "unknown knees 'up': choose behind, front", InputError),
        (
            {"knees": {"LF": "front"}},
            "no knee direction given for leg RF: give one each for LF, RF, LH, RH",
            InputError,
        ),
        ({"hips": {"FL": (0, 0, 0)}}, "unknown leg 'FL'.*a quadruped has LF, RF, LH, RH", InputError),
        ({"hips": {"LF": (0, 0, 0)}}, "no hip position given for leg RF", InputError),
        ({"hips": (0.1, 0.2)}, "hip position must be three finite numbers", InputError),
        ({"foot_radius": -0.1}, "radius of foot 'LF' must lie in", ModelError),
        ({"damping": -1.0}, "damping of joint 'LF_abad' must lie in", ModelError),
        ({"limits": ((1, -1), (-1, 1), (-1, 1))}, "limits of joint 'LF_abad' are reversed", ModelError),
        ({"name": ""}, "a robot needs a name", ModelError),
    ],
)
def test_bad_choices_are_refused_in_one_sentence(change, message, error):
    with pytest.raises(error, match=message) as caught:
        quadruped(**change)
    assert "\n" not in str(caught.value)
    assert issubclass(error, FootfallError)

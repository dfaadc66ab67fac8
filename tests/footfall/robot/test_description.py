"""Parts and descriptions: what is refused and in which words, changed copies, provenance, digests."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from footfall.errors import InputError, ModelError
from footfall.kinematics import foot_positions, frame_pose, inverse
from footfall.robot import Actuator, Foot, Joint, Link, Pose, Provenance, Robot, Rotor, library
from footfall.robot.model.shapes import tensor

GOOD = np.diag([0.02, 0.03, 0.04])
NAN, INF = math.nan, math.inf


def arm(**changes):
    parts = {
        "name": "arm",
        "links": [
            Link(name="base", mass=2.0, inertia=GOOD),
            Link(name="rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=GOOD),
        ],
        "joints": [Joint(name="elbow", kind="revolute", parent="base", child="rod", axis=(0.0, 1.0, 0.0))],
        "feet": [Foot(name="tip", link="rod", position=(0.0, 0.0, -1.0), radius=0.02)],
        "actuators": [Actuator(joint="elbow", torque_limit=10.0, speed_limit=5.0)],
    }
    return Robot(**{**parts, **changes})


# -- parts -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Link(name="", mass=1.0, inertia=GOOD), "a link needs a name"),
        (lambda: Link(name="a", mass=0.0, inertia=GOOD), "mass of link 'a' must be positive, got 0"),
        (lambda: Link(name="a", mass=-1.0, inertia=GOOD), "mass of link 'a' must be positive, got -1"),
        (lambda: Link(name="a", mass=NAN, inertia=GOOD), "mass of link 'a' is not finite"),
        (lambda: Link(name="a", mass="heavy", inertia=GOOD), "mass of link 'a' must be a number, got 'heavy'"),
        (
            lambda: Link(name="a", mass=1.0, com=(0.0, NAN, 0.0), inertia=GOOD),
            "centre of mass of link 'a' has a value that is not finite",
        ),
        (
            lambda: Link(name="a", mass=1.0, com=(0.0, 0.0), inertia=GOOD),
            r"centre of mass of link 'a' must have shape \(3,\), got \(2,\)",
        ),
        (
            lambda: Link(name="a", mass=1.0, inertia=[1.0, 2.0]),
            r"inertia of link 'a' must have shape \(3, 3\), got \(2,\)",
        ),
        (
            lambda: Link(name="a", mass=1.0, inertia=np.full((3, 3), INF)),
            "inertia of link 'a' has a value that is not finite",
        ),
        (lambda: Link(name="a", mass=1.0, inertia=GOOD + np.triu(GOOD[::-1])), "inertia of link 'a' is not symmetric"),
        (lambda: Link(name="a", mass=1.0, inertia=-GOOD), "inertia of link 'a' is not positive: principal moments"),
        (
            lambda: Link(name="a", mass=1.0, inertia=np.diag([1, 1, 3])),
            r"inertia of link 'a' is not realisable: .* 1 \+ 1 < 3",
        ),
        (
            lambda: Joint(name="j", kind="ball", parent="a", child="b"),
            "joint 'j' has the kind 'ball': choose revolute, prismatic, fixed",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", axis=(0, 0, 0)),
            "axis of joint 'j' has no direction",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", axis=(NAN, 0, 1)),
            "axis of joint 'j' has a value that is not finite",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", axis=(0, 1)),
            r"axis of joint 'j' must have shape \(3,\)",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", rotation=2 * np.eye(3)),
            "of joint 'j' is not a rotation matrix",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", rotation=np.diag([1, 1, -1])),
            "is not a rotation matrix",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", lower=1, upper=-1),
            "of joint 'j' are reversed: lower 1 > upper -1",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", lower=NAN),
            "lower limit of joint 'j' is not finite",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", damping=-0.1),
            r"damping of joint 'j' must lie in \[0, inf\], got -0.1",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", dry_friction=-1),
            "dry friction of joint 'j' must lie in",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", armature=-1),
            "armature of joint 'j' must lie in",
        ),
        (
            lambda: Joint(name="j", kind="revolute", parent="a", child="b", stiffness=INF),
            "stiffness of joint 'j' is not finite",
        ),
        (
            lambda: Foot(name="f", link="a", position=(0, 0, 0), radius=-0.1),
            r"radius of foot 'f' must lie in \[0, inf\]",
        ),
        (
            lambda: Foot(name="f", link="a", position=(0, 0, NAN)),
            "position of foot 'f' has a value that is not finite",
        ),
        (lambda: Rotor(-1, (0, 0, 0), 0, 0, 6), "mass of a rotor must lie in"),
        (lambda: Rotor(1, (0, 0, 0), 0, 0, NAN), "gear of a rotor is not finite"),
        (lambda: Actuator(joint="j", torque_limit=-1), "torque limit of the actuator at joint 'j' must lie in"),
        (lambda: Actuator(joint="j", resistance=NAN), "resistance of the actuator at joint 'j' is not finite"),
        (
            lambda: Provenance("guessed", "?"),
            "unknown provenance 'guessed': choose published, derived, chosen, imported",
        ),
    ],
)
def test_bad_parts_are_refused_in_one_sentence(make, message):
    with pytest.raises(ModelError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


@given(hnp.arrays(float, (6, 3), elements=st.floats(-1, 1)))
def test_the_tensor_of_any_cloud_of_points_is_realisable(points):
    """A tensor from real masses is always accepted: points of equal mass, with a grain of size to keep it positive."""
    points = points - points.mean(axis=0)
    cloud = np.einsum("ij,ij->", points, points) * np.eye(3) - points.T @ points + 1e-6 * np.eye(3)
    Link(name="cloud", mass=6.0, inertia=cloud)


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(1e-3, 1))
def test_a_tensor_beyond_the_triangle_inequality_is_refused(a, b, excess):
    moments = np.diag([a, b, (a + b) * (1 + excess)])
    with pytest.raises(ModelError, match="not realisable"):
        Link(name="odd", mass=1.0, inertia=moments)
    assert Link(name="odd", mass=1.0, inertia=moments, as_published=True).as_published


def test_parts_are_read_only_and_frozen():
    link = Link(name="a", mass=1.0, inertia=GOOD)
    with pytest.raises(ValueError, match="read-only"):
        link.inertia[0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        link.mass = 2.0


def test_an_axis_is_normalised():
    assert Joint(name="j", kind="revolute", parent="a", child="b", axis=(0, -3, 0)).axis.tolist() == [0, -1, 0]


# -- robots ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": " "}, "a robot needs a name"),
        ({"links": []}, "robot 'arm' has no links"),
        ({"rotors": "welded"}, "unknown rotor mode 'welded': choose none, armature, exact"),
        (
            {
                "links": [
                    Link(name="base", mass=1.0, inertia=GOOD),
                    Link(name="rod", mass=1.0, inertia=GOOD),
                    Link(name="rod", mass=1.0, inertia=GOOD),
                ]
            },
            "robot 'arm' has two links named 'rod'",
        ),
        (
            {
                "feet": [
                    Foot(name="tip", link="rod", position=(0, 0, 0)),
                    Foot(name="tip", link="base", position=(0, 0, 0)),
                ]
            },
            "two feet named 'tip'",
        ),
        (
            {"feet": [Foot(name="tip", link="toe", position=(0, 0, 0))]},
            "foot 'tip' is on the unknown link 'toe': this robot has base, rod",
        ),
        ({"actuators": [Actuator(joint="knee")]}, "an actuator drives the unknown joint 'knee': .*elbow"),
        ({"poses": {"up": Pose(np.zeros(2))}}, r"pose 'up' must have shape \(1,\), got \(2,\)"),
        ({"poses": {"up": Pose(np.array([NAN]))}}, "pose 'up' has a value that is not finite"),
    ],
)
def test_bad_robots_are_refused_in_one_sentence(change, message):
    with pytest.raises(ModelError, match=message) as caught:
        arm(**change)
    assert "\n" not in str(caught.value)


def test_two_joints_of_one_name_are_refused():
    links = [Link(name=name, mass=1.0, inertia=GOOD) for name in "abc"]
    with pytest.raises(ModelError, match="two joints named 'j'"):
        Robot(
            name="r",
            links=links,
            joints=[
                Joint(name="j", kind="revolute", parent="a", child="b"),
                Joint(name="j", kind="revolute", parent="a", child="c"),
            ],
        )


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda r: r.link("trnk"),
            r"unknown link 'trnk' \(did you mean 'trunk'\?\): this robot has trunk, LF_abad_link",
        ),
        (lambda r: r.joint("LF_ankle"), "unknown joint 'LF_ankle'.*: this robot has LF_abad, LF_hip, LF_knee"),
        (lambda r: r.foot("FX"), "unknown foot 'FX'.*: this robot has LF, RF, LH, RH"),
        (lambda r: r.foot_index("FX"), "unknown foot 'FX'"),
        (lambda r: r.state("sit"), "unknown pose 'sit'.*: robot 'mini_cheetah' has stand, fold"),
        (lambda r: r.state(np.zeros(3)), r"joint positions must have shape \(12,\), got \(3,\)"),
        (lambda r: r.parameter("trunk.weight"), r"unknown parameter 'trunk.weight'.*: robot 'mini_cheetah' has trunk"),
        (lambda r: r.replace({"LF_knee.mass": 1.0}), "unknown parameter 'LF_knee.mass'"),
        (lambda r: r.provenance_of("tail.mass"), "unknown parameter 'tail.mass'"),
    ],
)
def test_unknown_names_list_the_known_ones(ask, message):
    with pytest.raises(InputError, match=message):
        ask(library.mini_cheetah())


def test_sizes_of_floating_and_fixed_robots():
    robot = library.mini_cheetah()
    assert (robot.nj, robot.nv, robot.nq, robot.nf) == (12, 18, 19, 4)
    fixed = arm(floating=False)
    assert (fixed.nj, fixed.nv, fixed.nq, fixed.nf) == (1, 1, 1, 1)
    assert repr(robot) == "Robot('mini_cheetah': 18 DOF, 13 bodies, 8.912 kg, 4 feet)"


def test_state_is_level_and_at_rest():
    robot = library.mini_cheetah()
    q, v = robot.state("stand", height=0.5)
    assert q[:7].tolist() == [0, 0, 0.5, 1, 0, 0, 0]
    assert q[7:10].tolist() == [0, -0.8, 1.6]
    assert v.shape == (18,)
    assert not v.any()
    assert arm(floating=False).state()[0].tolist() == [0.0]


# -- changing --------------------------------------------------------------------------------------------------------
def test_replace_changes_a_copy():
    robot = library.mini_cheetah()
    heavier = robot.replace({"trunk.mass": 4.0, "LF_knee.damping": 0.1, "LF.radius": 0.02})
    assert robot.mass == pytest.approx(8.912)
    assert heavier.mass == pytest.approx(9.612)
    assert heavier.parameter("LF_knee.damping") == 0.1
    assert heavier.parameter("RF_knee.damping") == 0.01
    assert heavier.foot("LF").radius == 0.02
    assert robot.replace(rotors="none").mass == pytest.approx(8.252)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trunk.mass": -1.0}, "mass of link 'trunk' must be positive"),
        ({"LF_knee.upper": -5.0}, "limits of joint 'LF_knee' are reversed"),
        ({"LF_hip_link.inertia": tensor(1.0, 1.0, 3.0)}, "inertia of link 'LF_hip_link' is not realisable"),
        ({"LF.position": (0.0, 0.0)}, "position of foot 'LF' must have shape"),
    ],
)
def test_replace_checks_again(change, message):
    with pytest.raises(ModelError, match=message):
        library.mini_cheetah().replace(change)


def test_replace_checks_the_whole_robot_again():
    robot = library.mini_cheetah()
    with pytest.raises(ModelError, match="is on the unknown link 'tail'"):
        robot.replace(feet=[Foot(name="F", link="tail", position=(0, 0, 0))])
    with pytest.raises(ModelError, match="unknown rotor mode"):
        robot.replace(rotors="some")


def test_with_parameters_takes_anything_and_the_tree_follows():
    robot = library.mini_cheetah()
    free = robot.with_parameters({"trunk.mass": np.float64(5.0), "LF_abad.origin": np.array([0.2, 0.05, 0.0])})
    assert free.tree.bodies[0].inertia.m == pytest.approx(5.22)
    assert free.tree.bodies[1].X_PJ.p.tolist() == [0.2, 0.05, 0.0]
    assert robot.tree.bodies[1].X_PJ.p.tolist() == [0.19, 0.049, 0.0]
    assert robot.with_parameters({"trunk.mass": -1.0}).parameter("trunk.mass") == -1.0  # unchecked, as it says
    with pytest.raises(InputError, match="unknown parameter"):
        robot.with_parameters({"tail.mass": 1.0})


def test_every_parameter_can_be_read_and_set_to_itself():
    robot = library.dynakat()
    same = robot.replace({path: robot.parameter(path) for path in robot.parameter_names()})
    assert same.digest == robot.digest


# -- provenance and identity -----------------------------------------------------------------------------------------
def test_the_last_pattern_that_fits_counts():
    rules = {"*": Provenance("chosen", "a guess"), "rod.*": Provenance("published", "the paper")}
    robot = arm(provenance=rules)
    assert robot.provenance_of("rod.mass").status == "published"
    assert robot.provenance_of("base.mass").status == "chosen"


def test_a_robot_without_provenance_says_so():
    with pytest.raises(InputError, match=r"robot 'arm' has no provenance for 'rod.mass'"):
        arm().provenance_of("rod.mass")


@pytest.mark.parametrize("name", library.names())
def test_digest_is_that_of_the_numbers(name):
    robot = library.load(name)
    assert robot.digest == library.load(name).digest
    assert robot.digest == robot.replace(notes="other words", name="other", poses={}, provenance={}).digest


@pytest.mark.parametrize("name", library.names())
def test_digest_changes_with_any_number(name):
    robot = library.load(name)
    seen = {robot.digest}
    for path in robot.parameter_names():
        value = robot.parameter(path)
        if path.endswith(".rotation"):
            continue  # covered by the axis: a rotation must stay one
        if path.endswith(".axis"):
            changed = np.roll(value, 1)
        elif path.endswith(".inertia"):
            changed = value * (1 + 1e-15 * 4)
        else:
            changed = value + 1e-15 * 64
        seen.add(robot.with_parameters({path: changed}).digest)
    rotations = sum(path.endswith(".rotation") for path in robot.parameter_names())
    infinite = sum(np.isinf(robot.parameter(p)).any() for p in robot.parameter_names() if not p.endswith(".rotation"))
    assert len(seen) == 1 + len(robot.parameter_names()) - rotations - infinite
    modes = {robot.replace(rotors=mode).digest for mode in ("none", "armature", "exact")}
    assert len(modes) == 3
    assert robot.replace(floating=False).digest not in seen


@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", "dynakat"])
def test_feet_are_found_by_the_spellings_of_other_makers_and_links_are_never_taken_for_feet(name):
    robot = library.load(name)
    q, _ = robot.state("stand")
    spellings = {
        "LF": ("FL", "fl", "FL_foot", "front_left", "LF_FOOT"),
        "RF": ("FR", "front-right", "toe_fr"),
        "LH": ("RL", "HL", "rear_left_foot", "hind_left"),
        "RH": ("RR", "HR", "back_right_paw"),
    }
    for foot, others in spellings.items():
        for other in others:
            assert robot.foot_index(other) == robot.foot_names.index(foot)
            np.testing.assert_array_equal(frame_pose(robot, q, other).p, frame_pose(robot, q, foot).p)
        assert robot.foot(robot.foot(foot).link).name == foot
    for nothing in ("FL_hip", "left", "front", "foot", "", "FL2", 3, None):
        with pytest.raises(InputError, match="unknown foot"):
            robot.foot(nothing)
    with pytest.raises(InputError, match="unknown link or foot"):
        frame_pose(robot, q, "FL_hip_nowhere")
    np.testing.assert_array_equal(frame_pose(robot, q, "base").p, q[:3])
    trunk = frame_pose(robot, q, robot.trunk)
    np.testing.assert_array_equal(frame_pose(robot, q, "trunk").p, trunk.p)
    raised = foot_positions(robot, q)[2] + [0.0, 0.0, 0.03]
    found = [inverse(robot, {key: raised}, q=q).joints for key in ("LH", "RL")]
    np.testing.assert_array_equal(*found)
    with pytest.raises(InputError, match="foot LH has two targets"):
        inverse(robot, {"LH": raised, "RL": raised}, q=q)


def test_parts_are_found_by_number_and_by_name():
    robot = library.load("mini_cheetah")
    assert robot.joints["LF_knee"] is robot.joint("LF_knee")
    assert robot.links["trunk"] is robot.links[0]
    assert robot.joints[:2] == tuple(robot.joints)[:2]
    assert type(robot.replace({"trunk.mass": 4.0}).links) is type(robot.links)
    with pytest.raises(InputError, match="unknown joint 'FL_knee'"):
        robot.joints["FL_knee"]

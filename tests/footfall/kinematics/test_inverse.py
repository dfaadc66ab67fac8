"""Laws of inverse kinematics behind one call: there and back, limits, nearest poses, knees, plain refusals."""

import warnings
from functools import cache

import numpy as np
import pytest
from third_party_models import third_party_path

import footfall as ff
from footfall.errors import InputError
from footfall.kinematics import contact_angle, foot_positions, inverse, leg_chain
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import knee_direction, leg_inverse
from footfall.robot import library
from footfall.robot.files.urdf_mjcf import load_model

ROBOTS = [*library.names(), "a1", "go2", "anymal_c"]
ITERATIVE = ("fabrik", "resolved_rate")


@cache
def robot_of(name):
    if name in library.names():
        return library.load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(third_party_path(name), name=name)


def limits(robot):
    joints = [body.joint for body in robot.tree.bodies[1:]]
    return np.array([j.lower for j in joints]), np.array([j.upper for j in joints])


def random_pose(robot, random):
    """A pose within the limits, and where to start from: the same base and spine, legs standing or half way."""
    lower, upper = limits(robot)
    lower, upper = np.maximum(lower, -np.pi), np.minimum(upper, np.pi)
    q = robot.state(random.uniform(lower, upper))[0]
    q[:3] = random.normal(size=3)
    q[3:7] = random.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    start = robot.state("stand" if "stand" in robot.poses else 0.5 * (lower + upper))[0]
    start[:7] = q[:7]
    own = {j for foot in robot.foot_names for j in leg_chain(robot, foot).joints}
    for j in set(range(robot.nj)) - own:
        start[7 + j] = q[7 + j]
    return q, start


@pytest.mark.parametrize("name", ROBOTS)
def test_closed_form_after_forward_kinematics_is_the_identity(name):
    robot, random = robot_of(name), np.random.default_rng(0)
    lower, upper = limits(robot)
    for _ in range(25):
        q, start = random_pose(robot, random)
        pitch = None
        if name == "dynakat":
            chains = {foot: leg_chain(robot, foot) for foot in robot.foot_names}
            pitch = {foot: float(contact_angle(leg, q[7 + np.array(leg.joints)])) for foot, leg in chains.items()}
        targets = foot_positions(robot, q)
        found = inverse(robot, targets, "closed", q=start, foot_pitch=pitch)
        assert found.reachable.all(), found.why
        assert np.abs(foot_positions(robot, found.q) - targets).max() < 1e-9
        assert (found.iterations == 0).all()
        assert (lower <= found.joints).all()
        assert (found.joints <= upper).all()


@pytest.mark.parametrize("method", ["auto", *ITERATIVE])
@pytest.mark.parametrize("name", ROBOTS)
def test_iterations_after_forward_kinematics_come_back_to_a_micrometre(name, method):
    robot, random = robot_of(name), np.random.default_rng(1)
    lower, upper = limits(robot)
    for _ in range(4):
        q, start = random_pose(robot, random)
        targets = foot_positions(robot, q)
        found = inverse(robot, targets, method, q=start)
        assert found.reachable.all(), found.why
        assert np.abs(foot_positions(robot, found.q) - targets).max() < 1e-6
        assert (lower <= found.joints).all()
        assert (found.joints <= upper).all()
        assert (found.q[:7] == start[:7]).all()


@pytest.mark.parametrize("method", ["closed", *ITERATIVE])
@pytest.mark.parametrize("name", ["mini_cheetah", "spined", "dynakat"])
def test_out_of_reach_the_pose_is_as_near_as_any_within_the_limits_and_says_so(name, method):
    robot, random = robot_of(name), np.random.default_rng(2)
    lower, upper = limits(robot)
    q = robot.state("stand")[0]
    leg, at = leg_chain(robot, "LF"), 7 + np.array(leg_chain(robot, "LF").joints)
    cloud = []
    for _ in range(1500):
        other = q.copy()
        other[at] = random.uniform(np.maximum(leg.lower, -np.pi), np.minimum(leg.upper, np.pi))
        cloud.append(foot_positions(robot, other)[0])
    for away in ((2.0, 0.3, -1.0), (0.1, 1.0, -0.5), (-0.2, -0.4, 1.0)):
        found = inverse(robot, {"LF": away}, method, q=q)
        assert not found.reachable[0]
        assert "LF" in found.why[0]
        assert found.residual[0] <= np.linalg.norm(np.array(cloud) - away, axis=1).min() + 1e-6
        assert (lower <= found.joints).all()
        assert (found.joints <= upper).all()
        assert np.isclose(np.linalg.norm(foot_positions(robot, found.q)[0] - away), found.residual[0])


def test_a_target_that_only_the_limits_forbid_names_the_joint_in_the_way():
    robot = library.load("xiling")
    target = foot_positions(robot, robot.state(np.tile([1.2, 0.3, -1.0], 4))[0])[0]  # rolls to 1.2, may to 0.8
    found = inverse(robot, {"LF": target}, q=robot.state()[0])
    assert not found.reachable[0]
    assert "LF_abad at 0.8 rad" in found.why[0]


@pytest.mark.parametrize("method", ["closed", *ITERATIVE])
def test_knees_stay_on_the_posture_s_side_or_go_where_they_are_asked(method):
    robot = library.load("mini_cheetah")
    q = robot.state("stand")[0]
    targets = foot_positions(robot, q) + np.array([0.03, 0.01, 0.02])
    leg = leg_geometry(robot, "RH")
    usual = knee_direction(leg, q[7:][list(leg.joints)])
    for asked in (None, 1, -1):
        found = inverse(robot, targets, method, q=q, knee=asked)
        assert found.reachable.all()
        assert knee_direction(leg, found.joints[list(leg.joints)]) == (asked or usual)
    mixed = inverse(robot, targets, method, q=q, knee={"LF": -usual})
    sides = [knee_direction(g, mixed.joints[list(g.joints)]) for g in (leg_geometry(robot, f) for f in ("LF", "RH"))]
    assert sides == [-usual, usual]


def test_only_the_feet_that_have_a_target_move():
    robot = library.load("dynakat")
    q = robot.state("stand")[0]
    target = foot_positions(robot, q)[1] + [0.02, 0.0, 0.01]
    found = inverse(robot, {"RF": target}, q=q)
    moved = np.flatnonzero(found.joints != q[7:])
    assert set(moved) <= set(leg_chain(robot, "RF").joints)
    assert found.feet == ("RF",)
    assert found.reachable.all()


def test_targets_may_be_given_in_the_trunk():
    robot, random = library.load("mini_cheetah"), np.random.default_rng(3)
    q, start = random_pose(robot, random)
    level = robot.state(q[7:])[0]
    found = inverse(robot, foot_positions(robot, level), q=start, frame="trunk")
    assert np.abs(foot_positions(robot, found.q) - foot_positions(robot, q)).max() < 1e-9


def test_auto_takes_the_closed_form_and_fabrik_where_the_contact_angle_must_give():
    robot = library.load("dynakat")
    q = robot.state("stand")[0]
    near = inverse(robot, foot_positions(robot, q) + np.array([0.01, 0.0, 0.0]), q=q)
    assert near.method == ("closed",) * 4
    stretched = q.copy()
    stretched[7:] = np.tile([0.9, 0.0, 0.05, 0.05], 4)  # straight and leaning: not with a hanging foot
    far = inverse(robot, foot_positions(robot, stretched), q=q)
    assert far.method == ("fabrik",) * 4
    assert far.reachable.all()


def test_a_leg_without_a_closed_form_is_reached_all_the_same():
    from footfall.robot.model.parametric import quadruped

    robot = quadruped("odd", axes=("yaw", "pitch", "pitch"))
    q = robot.state(np.tile([0.1, 0.4, -0.9], 4))[0]
    targets = foot_positions(robot, robot.state(np.tile([-0.3, 0.7, -1.2], 4))[0])
    found = inverse(robot, targets, q=q)
    assert found.reachable.all()
    assert found.method == ("fabrik",) * 4
    with pytest.raises(InputError, match="the joint axes YPP"):
        inverse(robot, targets, "closed", q=q)


@pytest.mark.parametrize(("name", "most"), [("mini_cheetah", 260), ("xiling", 260), ("spined", 300), ("dynakat", 560)])
def test_closed_form_of_four_legs_is_a_microsecond_s_worth_of_operations(name, most):
    """Timed apart, 0.2 to 0.5 µs; operations do not depend on what else the machine does."""
    robot = library.load(name)

    def four(p):
        return np.concatenate([leg_inverse(robot, foot, p[k]).joints for k, foot in enumerate(robot.foot_names)])

    size = ff.program(four, None, np.tile([0.01, 0.02, -0.2], (4, 1))).size
    assert size <= most


@pytest.mark.parametrize(
    ("targets", "options", "said"),
    [
        ({"LF": (0.0, np.nan, -0.2)}, {}, "the target of foot LF is not finite"),
        (np.full((4, 3), np.inf), {}, "the target of foot LF is not finite"),
        ({"LF": (0.0, -0.2)}, {}, r"foot LF must be three numbers, got shape \(2,\)"),
        (np.zeros((3, 3)), {}, r"shape \(4, 3\), for LF, RF, LH, RH"),
        ({"FX": np.zeros(3)}, {}, "LF, RF, LH, RH"),
        ({"LF": np.zeros(3)}, {"method": "magic"}, "auto, closed, fabrik, resolved_rate"),
        ({"LF": np.zeros(3)}, {"frame": "moon"}, "world, trunk"),
        ({"LF": np.zeros(3)}, {"q": np.zeros(5)}, r"q of robot 'spined' must have shape \(21,\), got \(5,\)"),
        ({"LF": np.zeros(3)}, {"q": np.full(21, np.nan)}, "q of robot 'spined' is not finite"),
        ({"LF": np.zeros(3)}, {"knee": 0}, "knee must be"),
        ({"LF": np.zeros(3)}, {"knee": -1}, "limits -2.5 to -0.2 rad of the knee of leg LF .* in front of the hip"),
        ({"LF": np.zeros(3)}, {"tolerance": 0.0}, "tolerance and iterations must be positive"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(targets, options, said):
    with pytest.raises(InputError, match=said):
        inverse(library.load("spined"), targets, **options)

"""Laws of the closed-form inverse kinematics, on every leg of every robot."""

import math
import warnings
from functools import cache

import numpy as np
import pytest
from third_party_models import robot_data

from footfall.errors import InputError
from footfall.kinematics import body_poses, foot_positions
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import branches, knee_direction, leg_inverse, planar_inverse, within_limits
from footfall.robot import library
from footfall.robot.files.urdf_mjcf import load_model
from footfall.robot.model.parametric import quadruped
from nptrace import compile as compiled

MODELS = {
    "a1": "a1_description/urdf/a1.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
}
MADE = {
    "two_joints": {"axes": ("pitch", "pitch"), "segments": (0.2, 0.2), "segment_masses": (0.5, 0.2)},
    "ankle": {
        "axes": ("roll", "pitch", "pitch", "pitch"),
        "segments": ((0.01, 0.06, -0.02), (0.01, 0.02, -0.2), 0.18, 0.08),
        "segment_masses": (0.5, 0.6, 0.2, 0.1),
    },
    "crooked": {"segments": ((0.03, 0.05, 0.02), (0.02, 0.03, -0.2), (0.03, -0.01, -0.19))},
}
ROBOTS = [*library.names(), *MADE, *MODELS]


@cache
def robot_of(name):
    if name in MADE:
        return quadruped(name, **MADE[name])
    if name not in MODELS:
        return library.load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(robot_data(MODELS[name]))


def foot_in_carrier(robot, leg, joints, elsewhere=None):
    """The foot's centre in the frame of the body that carries the leg, by forward kinematics."""
    geometry = leg_geometry(robot, leg)
    q = robot.state()[0] if elsewhere is None else elsewhere.copy()
    q[robot.nq - robot.nj + np.array(geometry.joints)] = joints
    X_WM = body_poses(robot, q)[geometry.carrier]
    return X_WM.inverse().point(foot_positions(robot, q)[robot.foot_index(leg)])


def random_joints(robot, leg, random):
    return random.uniform(-1.2, 1.2, len(leg_geometry(robot, leg).joints))


@pytest.mark.parametrize("name", ROBOTS)
def test_foot_reaches_every_reachable_target_on_every_branch(name):
    robot, random = robot_of(name), np.random.default_rng(0)
    for leg in robot.foot_names:
        solved = 0
        for _ in range(60):
            target = foot_in_carrier(robot, leg, random_joints(robot, leg, random))
            for pose in branches(robot, leg, target, foot_pitch=0.2):
                if pose.reachable:
                    solved += 1
                    assert np.abs(foot_in_carrier(robot, leg, pose.joints) - target).max() < 1e-9
        assert solved > 60


@pytest.mark.parametrize("name", [n for n in ROBOTS if n not in ("dynakat", "ankle")])
def test_one_of_the_branches_is_the_pose_that_the_target_came_from(name):
    robot, random = robot_of(name), np.random.default_rng(1)
    for leg in robot.foot_names:
        for _ in range(40):
            joints = random_joints(robot, leg, random)
            found = branches(robot, leg, foot_in_carrier(robot, leg, joints))
            distances = [np.abs(np.sin((pose.joints - joints) / 2)).max() for pose in found if pose.reachable]
            assert min(distances) < 1e-7


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("knee", [1, -1])
def test_knee_bends_to_the_side_that_was_asked(name, knee):
    robot, random = robot_of(name), np.random.default_rng(2)
    for leg in robot.foot_names:
        geometry = leg_geometry(robot, leg)
        drop = 0.8 * geometry.stretch + (geometry.foot.length if geometry.foot else 0.0)
        x = 0.2 * geometry.stretch * random.uniform(-1, 1)
        pose = planar_inverse(geometry, x, -drop, knee)
        assert pose.reachable
        assert knee_direction(geometry, pose.joints) == knee
        # the knee itself, from the hip, is behind the line to the ankle for +1
        pitches = [s * q for s, q, letter in zip(geometry.signs, pose.joints, geometry.kind) if letter == "P"]
        thigh, shank = pitches[0] + geometry.thigh.angle, pitches[0] + pitches[1] + geometry.shank.angle
        assert np.sign(math.sin(shank - thigh)) == knee


@pytest.mark.parametrize("name", ROBOTS)
def test_planar_leg_is_the_leg_with_its_roll_at_zero(name):
    robot = robot_of(name)
    for leg in robot.foot_names:
        geometry = leg_geometry(robot, leg)
        reach = geometry.stretch + (geometry.foot.length if geometry.foot else 0.0)
        target = np.array([0.1 * reach, 0.0, -0.8 * reach])
        planar = planar_inverse(geometry, target[0], target[2], knee=-1, foot_pitch=0.1)
        full = leg_inverse(robot, leg, target, knee=-1, foot_pitch=0.1, frame="hip")
        assert planar.reachable
        assert full.reachable
        assert np.abs(planar.joints - full.joints).max() < 1e-12


def test_mini_cheetah_follows_the_printed_planar_formulas():
    robot, H, r, l2, l3 = library.load("mini_cheetah"), 0.28, 0.015, 0.209, 0.180
    leg = leg_geometry(robot, "LF")
    for k in (1, -1):
        for X in (-0.05, 0.0, 0.03):
            Z = -(H - r)
            q3 = k * math.acos((X**2 + Z**2 - l2**2 - l3**2) / (2 * l2 * l3))
            q2 = math.atan2(X, -Z) - math.atan2(l3 * math.sin(q3), l2 + l3 * math.cos(q3))
            assert np.allclose(planar_inverse(leg, X, Z, k).joints, [0.0, q2, q3], atol=1e-14)


def test_dynakat_holds_its_foot_at_the_pitch():
    robot = library.load("dynakat")
    for leg in robot.foot_names:
        hip, roll, knee, ankle = planar_inverse(leg_geometry(robot, leg), 0.01, -0.17, 1, foot_pitch=-0.2).joints
        assert roll == 0.0
        assert math.isclose(hip + knee + ankle, -0.2)


@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", "spined", "a1", "anymal_c", "hyq"])
def test_an_unreachable_target_gives_a_pose_as_near_as_any(name):
    robot, random = robot_of(name), np.random.default_rng(3)
    leg = "LF"
    geometry = leg_geometry(robot, leg)
    poses = random.uniform(-math.pi, math.pi, (2000, len(geometry.joints)))
    cloud = np.array([foot_in_carrier(robot, leg, joints) for joints in poses])
    for _ in range(10):
        direction = random.normal(size=3)
        direction[2] = -abs(direction[2]) - 0.5
        target = np.array(geometry.origin) + 2.0 * direction / np.linalg.norm(direction)
        pose = leg_inverse(robot, leg, target)
        assert not pose.reachable
        assert np.isfinite(pose.joints).all()
        distance = np.linalg.norm(foot_in_carrier(robot, leg, pose.joints) - target)
        assert distance <= np.linalg.norm(cloud - target, axis=1).min() + 1e-9


@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", "a1"])
def test_nearest_pose_looks_straight_at_the_target(name):
    robot, random = robot_of(name), np.random.default_rng(4)
    geometry = leg_geometry(robot, "RH")
    for _ in range(20):
        away = random.normal(size=3)
        away[2] = -abs(away[2]) - 1.0
        target = np.array(geometry.origin) + away
        foot = foot_in_carrier(robot, "RH", leg_inverse(robot, "RH", target).joints)
        line = foot - np.array(geometry.origin)
        assert np.linalg.norm(np.cross(line, away)) < 1e-7 * np.linalg.norm(away)


def test_dynakat_stretches_towards_a_target_out_of_reach():
    robot = library.load("dynakat")
    target = np.array([0.2, 0.1, -1.0])
    hip, _, knee, ankle = (pose := leg_inverse(robot, "LF", target)).joints
    assert not pose.reachable
    assert abs(knee) < 1e-6
    assert abs(ankle + hip) < 0.05  # the foot's link still hangs


def test_target_inside_the_hip_is_flagged_and_finite():
    robot = library.load("mini_cheetah")
    hip = np.array(leg_geometry(robot, "LF").origin)
    for away in ((0.0, 0.0, 0.0), (0.1, 0.0, -0.01), (0.0, 0.066, -0.01)):
        pose = leg_inverse(robot, "LF", hip + np.array(away))
        assert not pose.reachable
        assert np.isfinite(pose.joints).all()


def test_spined_legs_are_solved_in_the_body_that_carries_them_whatever_the_spine_does():
    robot, random = library.load("spined"), np.random.default_rng(5)
    bent = robot.state()[0]
    bent[robot.nq - robot.nj :] = random.uniform(-0.3, 0.3, robot.nj)
    for leg in robot.foot_names:
        joints = random_joints(robot, leg, random)
        target = foot_in_carrier(robot, leg, joints, bent)
        found = leg_inverse(robot, leg, target).joints
        assert np.abs(foot_in_carrier(robot, leg, found, bent) - target).max() < 1e-9


def test_standing_poses_of_the_library_are_recovered():
    for name in library.names():
        robot = library.load(name)
        for leg in robot.foot_names:
            geometry = leg_geometry(robot, leg)
            joints = robot.poses["stand"].joints[list(geometry.joints)]
            pose = leg_inverse(robot, leg, foot_in_carrier(robot, leg, joints), knee_direction(geometry, joints))
            assert np.abs(pose.joints - joints).max() < 1e-9
            assert within_limits(robot, leg, pose.joints)


@pytest.mark.parametrize("name", ROBOTS)
def test_compiled_inverse_is_the_numpy_one(name):
    robot, random = robot_of(name), np.random.default_rng(6)
    target = foot_in_carrier(robot, "RF", random_joints(robot, "RF", random))
    fast = compiled(lambda p: tuple(leg_inverse(robot, "RF", p)), target, target="interpret")
    for scale in (1.0, 1.05, 3.0):
        joints, reachable = fast(scale * target)
        expected = leg_inverse(robot, "RF", scale * target)
        assert np.abs(joints - expected.joints).max() < 1e-12
        assert bool(reachable) == bool(expected.reachable)


def test_a_leg_without_a_closed_form_says_so():
    sideways = quadruped("odd", axes=("yaw", "pitch", "pitch"))
    with pytest.raises(
        InputError, match=r"leg LF of robot 'odd' has the joint axes YPP .* supports revolute legs of roll"
    ):
        leg_inverse(sideways, "LF", np.zeros(3))
    with pytest.raises(InputError, match="LF, RF, LH, RH"):
        leg_inverse(library.load("mini_cheetah"), "FX", np.zeros(3))


def test_bad_targets_are_refused():
    robot = library.load("mini_cheetah")
    with pytest.raises(InputError, match="three numbers"):
        leg_inverse(robot, "LF", np.zeros(2))
    with pytest.raises(InputError, match="choose carrier, hip"):
        leg_inverse(robot, "LF", np.zeros(3), frame="world")
    with pytest.raises(InputError, match="finite"):
        leg_inverse(robot, "LF", np.array([0.0, math.nan, -0.3]))
    with pytest.raises(InputError, match="knee"):
        leg_inverse(robot, "LF", np.zeros(3), knee=0)

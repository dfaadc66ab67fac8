"""Laws of forward and backward reaching, on legs of every kind."""

import math

import numpy as np
import pytest

import footfall as ff
import nptrace as trace
from footfall.errors import InputError
from footfall.kinematics import contact_angle, fabrik, fabrik_leg, foot_position, foot_positions, leg_chain
from footfall.kinematics.iterative.fabrik_leg import bent
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import knee_direction, leg_inverse
from footfall.robot import library
from footfall.robot.model.parametric import quadruped

MADE = {
    "two_joints": {"axes": ("pitch", "pitch"), "segments": (0.2, 0.2), "segment_masses": (0.5, 0.2)},
    "ankle": {
        "axes": ("roll", "pitch", "pitch", "pitch"),
        "segments": ((0.01, 0.06, -0.02), (0.01, 0.02, -0.2), 0.18, 0.08),
        "segment_masses": (0.5, 0.6, 0.2, 0.1),
    },
    "yaw_first": {"axes": ("yaw", "pitch", "pitch")},
    "yaw_second": {
        "axes": ("roll", "yaw", "pitch", "pitch"),
        "segments": ((0.02, 0.05, 0.0), (0.0, 0.0, -0.05), 0.15, 0.15),
        "segment_masses": (0.4, 0.3, 0.5, 0.3),
    },
    "crooked": {"segments": ((0.03, 0.05, 0.02), (0.02, 0.03, -0.2), (0.03, -0.01, -0.19))},
}


def robot_of(name):
    return quadruped(name, **MADE[name]) if name in MADE else library.load(name)


def near_and_far(leg, random):
    """Joints to start from, and a target that others reach."""
    lower, upper = np.maximum(leg.lower, -1.3), np.minimum(leg.upper, 1.3)
    return random.uniform(lower, upper), foot_position(leg, random.uniform(lower, upper))


@pytest.mark.parametrize("name", [*library.names(), *MADE])
def test_most_random_targets_are_reached_and_all_limits_are_kept(name):
    robot, random = robot_of(name), np.random.default_rng(0)
    leg = leg_chain(robot, "LF")
    pairs = [near_and_far(leg, random) for _ in range(400)]
    start, targets = np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs])
    fast = trace.compile(
        lambda t, s: tuple(fabrik_leg(leg, t, s)), targets[0], start[0], target="batch", cache=None, verify=False
    )
    joints, residual, _ = fast(targets, start)
    assert np.mean(residual <= 1e-7) > (0.75 if name in ("two_joints", "yaw_second") else 0.85)
    assert (joints >= np.array(leg.lower)).all()
    assert (joints <= np.array(leg.upper)).all()
    feet = np.stack([foot_position(leg, j) for j in joints[:50]])
    assert np.allclose(np.linalg.norm(feet - targets[:50], axis=1), residual[:50], atol=1e-12)


@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_every_iterate_is_a_pose_within_the_limits(iterations):
    leg, random = leg_chain(library.load("dynakat"), "RH"), np.random.default_rng(1)
    for _ in range(40):
        start, _ = near_and_far(leg, random)
        target = 0.5 * random.normal(size=3)  # mostly out of reach
        found = fabrik_leg(leg, target, 4.0 * start, iterations=iterations)  # and from outside the limits
        assert (found.joints >= np.array(leg.lower)).all()
        assert (found.joints <= np.array(leg.upper)).all()
        assert np.isfinite(found.joints).all()


@pytest.mark.parametrize("target", ["interpret", "native"])
@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat", "yaw_second"])
def test_compiled_reaching_is_the_numpy_one(name, target):
    robot, random = robot_of(name), np.random.default_rng(2)
    leg = leg_chain(robot, "RF")
    start, goal = near_and_far(leg, random)
    fast = trace.compile(lambda t, s: tuple(fabrik_leg(leg, t, s)), goal, start, target=target, cache=None)
    for _ in range(20):
        start, goal = near_and_far(leg, random)
        expected, got = fabrik_leg(leg, goal, start), fast(goal, start)
        if expected.residual <= 1e-7:
            assert abs(float(got[2]) - expected.iterations) <= 1
            assert np.abs(got[0] - expected.joints).max() < 1e-4
        assert abs(float(got[1]) - expected.residual) < 1e-6


def test_whole_robots_compile_and_stop_early():
    robot = library.load("dynakat")
    q = robot.state("stand")[0]
    feet = foot_positions(robot, robot.state(q[7:])[0])
    fast = ff.compile(fabrik, robot, feet, q[7:])
    joints, residual, iterations = fast(feet + np.array([0.01, 0.01, 0.02]), q[7:])
    assert residual.max() <= 1e-7
    assert 0 < iterations.max() < 30
    assert np.abs(foot_positions(robot, robot.state(joints)[0]) - feet - np.array([0.01, 0.01, 0.02])).max() < 1e-6


@pytest.mark.parametrize("name", ["dynakat", "ankle"])
@pytest.mark.parametrize("pitch", [-0.4, 0.0, 0.3])
def test_redundant_link_takes_the_contact_angle_as_the_closed_form_does(name, pitch):
    robot, random = robot_of(name), np.random.default_rng(3)
    for foot in robot.foot_names:
        leg, geometry = leg_chain(robot, foot), leg_geometry(robot, foot)
        start = np.array([0.0, -0.6, 1.2, -0.6] if geometry.kind == "RPPP" else [-0.6, 0.0, 1.2, -0.6])
        start = start * np.array(geometry.signs)
        drop = 0.8 * geometry.stretch + geometry.foot.length
        for _ in range(5):
            away = random.uniform(-0.15, 0.15, 3) * geometry.stretch
            place = foot_position(leg, np.zeros(len(leg))) + np.array(
                [0, 0, geometry.stretch + geometry.foot.length - drop]
            )
            found = fabrik_leg(leg, place + away, start, pitch, iterations=500)
            expected = leg_inverse(robot, foot, place + away, 1, foot_pitch=pitch)
            assert expected.reachable
            assert found.residual <= 1e-7
            assert math.isclose(contact_angle(leg, found.joints), pitch, abs_tol=1e-5)
            assert np.abs(found.joints - expected.joints).max() < 1e-4


def test_contact_angle_is_what_the_closed_form_was_asked_for():
    for name in ("dynakat", "ankle"):
        robot, random = robot_of(name), np.random.default_rng(4)
        for foot in robot.foot_names:
            leg = leg_chain(robot, foot)
            reach = foot_position(leg, np.zeros(len(leg))) * [1.0, 1.0, 0.8] + random.uniform(-0.02, 0.02, 3)
            pose = leg_inverse(robot, foot, reach, foot_pitch=0.25)
            assert pose.reachable
            assert math.isclose(contact_angle(leg, pose.joints), 0.25, abs_tol=1e-9)


@pytest.mark.parametrize("knee", [1, -1])
@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat", "crooked", "ankle"])
def test_knee_stays_on_the_side_it_is_kept_to(name, knee):
    robot, random = robot_of(name), np.random.default_rng(5)
    leg, geometry = bent(leg_chain(robot, "LH"), knee), leg_geometry(robot, "LH")
    for _ in range(30):
        start, target = near_and_far(leg, random)
        joints = fabrik_leg(leg, target, start, iterations=50).joints
        inside = joints - 1e-6 * knee * np.array(geometry.signs)  # a straight knee is on neither side
        assert knee in (knee_direction(geometry, joints), -knee_direction(geometry, inside))


def test_stretched_leg_is_left_and_a_target_on_the_edge_is_come_near_to():
    leg = leg_chain(library.load("mini_cheetah"), "LF")
    straight = np.zeros(3)
    foot = foot_position(leg, straight)
    aside = fabrik_leg(leg, foot + np.array([0.02, 0.0, 0.05]), straight)
    assert aside.residual <= 1e-7
    edge = fabrik_leg(leg, foot_position(leg, [0.0, 0.3, 1e-4]), np.array([0.0, -0.8, 1.6]))
    assert edge.residual < 1e-3  # slowly: damped least squares finishes it in ``inverse``


def test_a_spine_helps_feet_that_legs_alone_do_not_bring_there():
    robot = library.load("spined")
    q = robot.state("stand")[0]
    bent_pose = q.copy()
    for j, name in enumerate(robot.joint_names):
        if name.startswith("spine"):
            bent_pose[7 + j] = 0.3
        elif name[0] in "LR" and name.endswith("knee"):
            bent_pose[7 + j] = -0.25
        elif name.endswith("hip"):
            bent_pose[7 + j] = 0.12
    targets = foot_positions(robot, robot.state(bent_pose[7:])[0])
    alone = fabrik(robot, targets, q[7:])
    helped = fabrik(robot, targets, q[7:], iterations=2000, shared=True)
    assert alone.residual.max() > 1e-3
    assert helped.residual.max() < 0.1 * alone.residual.max()
    found = ff.kinematics.inverse(robot, targets, "fabrik", q=robot.state(q[7:])[0], shared=True, iterations=2000)
    assert found.residual.max() < 1e-6


def test_wrong_shapes_and_legs_without_knees_are_refused():
    robot = library.load("dynakat")
    with pytest.raises(InputError, match=r"targets of robot 'dynakat' must have shape \(4, 3\), got \(3, 3\)"):
        fabrik(robot, np.zeros((3, 3)), np.zeros(16))
    with pytest.raises(InputError, match=r"joints of robot 'dynakat' must have shape \(16,\)"):
        fabrik(robot, np.zeros((4, 3)), np.zeros(12))
    with pytest.raises(InputError, match="knee must be"):
        bent(leg_chain(robot, "LF"), 2)
    odd = quadruped("odd", axes=("pitch", "roll"), segments=(0.2, 0.2), segment_masses=(0.5, 0.2))
    with pytest.raises(InputError, match="has no knee"):
        bent(leg_chain(odd, "LF"), 1)

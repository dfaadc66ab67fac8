"""Legs whose axes are askew: their feet come to where they should be, in NumPy, in machine code, and on their way."""

import dataclasses

import numpy as np
import pytest

import footfall as ff
from footfall.control.joint.joint_pd import joint_targets, planar_targets
from footfall.control.posture import standing_joints
from footfall.gait.pattern import LEGS
from footfall.kinematics.iterative.numerical_leg import numerical_leg
from footfall.kinematics.leg_chain import foot_position, leg_chain
from footfall.kinematics.leg_geometry import has_closed_form
from footfall.kinematics.leg_inverse import leg_inverse
from footfall.spatial.rotation import about_axis


def canted(degrees=17.0, name="mini_cheetah"):
    """A library robot whose knees are turned in about its legs' long axes, left and right mirrored."""
    robot = ff.load(name)
    joints = []
    for joint in robot.joints:
        if joint.name.endswith("_knee"):
            side = 1.0 if joint.name[0] == "L" else -1.0
            turn = about_axis(np.array([0.0, 0.0, 1.0]), side * np.deg2rad(degrees))
            joint = dataclasses.replace(joint, axis=turn @ joint.axis)
        joints.append(joint)
    return robot.replace(joints=joints, name=f"canted_{name}")


def test_a_canted_knee_has_no_closed_form_and_its_foot_is_put_all_the_same():
    robot, rng = canted(), np.random.default_rng(3)
    for foot in LEGS:
        leg = leg_chain(robot, foot)
        assert not has_closed_form(robot, foot)
        for _ in range(10):
            joints = np.array([0.2, -0.8, 1.6]) + rng.uniform(-0.3, 0.3, 3)
            place = foot_position(leg, joints)
            found = leg_inverse(robot, foot, place, nearly=True)
            assert found.reachable
            np.testing.assert_allclose(foot_position(leg, found.joints), place, atol=1e-9)


def test_a_place_out_of_reach_is_said_to_be():
    leg = leg_chain(canted(), "LF")
    joints, there = numerical_leg(leg, np.array([0.2, 0.1, -2.0]), [0.0, -0.8, 1.6])
    assert not there
    assert np.isfinite(joints).all()
    assert foot_position(leg, joints)[2] < -0.35  # stretched towards it


def test_a_gait_puts_feet_of_canted_legs_where_those_of_straight_legs_are_put():
    straight, askew = ff.load("mini_cheetah"), canted(20.0)
    gait = ff.gait.trot(period=0.45, stride=0.07, height=0.04, hip_height=0.27)
    phase = np.array([0.1, 0.35, 0.62, 0.9])
    for robot in (straight, askew):
        joints = joint_targets(robot, gait, phase)
        feet = [foot_position(leg_chain(robot, k), [joints[j] for j in leg_chain(robot, k).joints]) for k in LEGS]
        if robot is straight:
            wanted = feet
    np.testing.assert_allclose(feet, wanted, atol=1e-9)


def test_machine_code_and_its_derivative_are_those_of_the_solution():
    robot, gait = canted(), ff.gait.trot(hip_height=0.27)
    x, z = np.array([0.01, -0.02, 0.03, 0.0]), np.array([0.0, 0.01, 0.0, 0.02])
    compiled = ff.compile(planar_targets, robot, gait, x, z)
    np.testing.assert_allclose(compiled(gait, x, z), planar_targets(robot, gait, x, z), atol=1e-9)

    def last(x):
        return planar_targets(robot, gait, x, z)

    slope = ff.jacobian(last, None, x, wrt="x")(x)
    h = 1e-5
    by_hand = np.stack([(last(x + h * e) - last(x - h * e)) / (2 * h) for e in np.eye(4)], axis=1)
    np.testing.assert_allclose(slope, by_hand, atol=1e-5)


@pytest.mark.parametrize("degrees", [9.0, 22.0])
def test_a_robot_with_canted_knees_stands_and_trots(degrees):
    robot = canted(degrees)
    assert np.isfinite(standing_joints(robot, 0.27)).all()
    controller = ff.control.JointPD(gait=ff.gait.trot(hip_height=0.28), kp=40, kd=1)
    recording = ff.Simulation(robot, controller=controller).run(4.0)
    assert recording.q[-1][0] > 0.3
    assert recording.q[-1][2] > 0.2

"""Screws: exponential and logarithm, adjoints, reciprocity of constraints and motions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from footfall.kinematics import body_poses, feet_jacobian, foot_positions
from footfall.kinematics.forward import base_pose
from footfall.kinematics.iterative.product_of_exponentials import (
    home_position,
    screw_feet_jacobian,
    screw_foot_positions,
    screw_poses,
)
from footfall.robot import Robot
from footfall.spatial import Transform, screw, skew
from footfall.spatial.rotation import about_axis

RNG = np.random.default_rng(0)
AXES = [np.eye(3)[0], -np.eye(3)[1], np.array([0.36, 0.48, 0.8]), np.array([-0.6, 0.0, 0.8])]


def random_twist(angle: float) -> np.ndarray:
    twist = RNG.normal(size=6)
    twist[:3] *= angle / np.linalg.norm(twist[:3])
    return twist


@pytest.mark.parametrize("angle", [1e-12, 1e-9, 1e-6, 1e-3, 0.5, 2.0, 3.1])
def test_exponential_is_that_of_the_homogeneous_matrix(angle: float) -> None:
    for _ in range(5):
        twist = random_twist(angle)
        matrix = expm(np.block([[skew(twist[:3]), twist[3:, None]], [np.zeros((1, 4))]]))
        X = screw.exponential(twist)
        assert np.abs(X.R - matrix[:3, :3]).max() < 1e-14
        assert np.abs(X.p - matrix[:3, 3]).max() < 1e-13


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.5, 2.0, 3.14159])
def test_logarithm_undoes_exponential(angle: float) -> None:
    for _ in range(5):
        twist = random_twist(angle)
        assert np.abs(screw.logarithm(screw.exponential(twist)) - twist).max() < 1e-13


def test_screw_motions_with_pitch_add_up() -> None:
    axis = np.array([0.48, -0.6, 0.64])
    S = np.concatenate([axis, np.cross(RNG.normal(size=3), axis) + 0.3 * axis])  # pitch 0.3 m/rad
    both = screw.screw_motion(S, 0.4) @ screw.screw_motion(S, 0.9)
    assert np.abs(both.R - screw.screw_motion(S, 1.3).R).max() < 1e-15
    assert np.abs(both.p - screw.screw_motion(S, 1.3).p).max() < 1e-15


def test_adjoints_of_a_product_multiply_and_keep_power() -> None:
    X, Y = (Transform(about_axis(AXES[2], a), RNG.normal(size=3)) for a in (0.7, -1.1))
    assert np.abs(screw.adjoint(X @ Y) - screw.adjoint(X) @ screw.adjoint(Y)).max() < 1e-14
    assert np.abs(screw.coadjoint(X).T @ screw.adjoint(X) - np.eye(6)).max() < 1e-15


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_constraints_are_reciprocal_to_the_motion_wherever_they_are_carried(kind: str, axis: np.ndarray) -> None:
    X = Transform(about_axis(AXES[3], 0.8), RNG.normal(size=3))
    motion = (screw.adjoint(X) @ screw.motion_screw(kind, axis))[:, None]
    held = screw.coadjoint(X) @ screw.constraint_screws(kind, axis)
    drive = (screw.coadjoint(X) @ screw.drive_screw(kind, axis))[:, None]
    assert np.abs(screw.reciprocal(held, motion)).max() < 1e-15
    assert screw.reciprocal(drive, motion)[0, 0] == pytest.approx(1.0)
    assert np.linalg.matrix_rank(np.concatenate([held, drive], axis=1)) == 6


def test_erratum_of_eq_13_the_printed_first_half_is_not_reciprocal() -> None:
    """J = T_f M_cmo would make the motor's wrench the constraint: it works in the motion, and is one of five."""
    X = Transform(about_axis(AXES[2], 0.5), np.array([0.3, -0.2, 0.1]))
    motion = (screw.adjoint(X) @ screw.motion_screw("revolute", AXES[0]))[:, None]
    printed = (screw.coadjoint(X) @ screw.drive_screw("revolute", AXES[0]))[:, None]
    assert screw.reciprocal(printed, motion)[0, 0] == pytest.approx(1.0)
    assert printed.shape != screw.constraint_screws("revolute", AXES[0]).shape


def test_a_spherical_joint_stops_its_point_and_lets_it_turn() -> None:
    p = RNG.normal(size=3)
    W = screw.spherical_screws(p)
    turns = np.stack([np.concatenate([w, np.cross(p, w)]) for w in np.eye(3)], axis=1)
    assert np.abs(screw.reciprocal(W, turns)).max() < 1e-15
    velocity = RNG.normal(size=6)
    assert np.allclose(W.T @ velocity, velocity[3:] + np.cross(velocity[:3], p), atol=1e-15)


def test_product_of_exponentials_places_bodies_and_feet_as_the_joints_do(robot: Robot, states) -> None:
    for q in states.q:
        chain = body_poses(robot, q)
        for X_0B, X_WB in zip(screw_poses(robot, q), chain):
            placed = base_pose(robot, q) @ X_0B
            assert np.abs(placed.R - X_WB.R).max() < 1e-14
            assert np.abs(placed.p - X_WB.p).max() < 1e-14
        assert np.abs(screw_foot_positions(robot, q) - foot_positions(robot, q)).max() < 1e-14
        assert np.abs(screw_feet_jacobian(robot, q) - feet_jacobian(robot, q)).max() < 1e-14


def test_home_position_is_where_all_joints_are_at_zero(robot: Robot) -> None:
    q = robot.state()[0]
    for X, X_WB in zip(home_position(robot).poses, body_poses(robot, q)):
        assert np.abs(X.p - X_WB.p).max() < 1e-15

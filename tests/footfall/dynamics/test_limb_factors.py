"""Limbs that touch the ground, eliminated behind their first joints: the same as a dense solver finds."""

from dataclasses import replace

import numpy as np
import pytest

import footfall as ff
from footfall.contact.points import ContactPoint, contact_points, spheres_of, trunk_corners
from footfall.dynamics.factor import factor_unsymmetric, solve_unsymmetric
from footfall.errors import InputError
from footfall.kinematics.forward import base_joint_twists, joint_transforms, poses_in_base
from footfall.robot import library

CHEETAH = ff.load("mini_cheetah")
ROBOTS = [
    *(pytest.param(ff.load(name), id=name) for name in library.names()),
    pytest.param(replace(CHEETAH, rotors="exact"), id="exact rotors"),
    pytest.param(replace(CHEETAH, floating=False), id="fixed base"),
]


def touching(robot, q) -> list[ContactPoint]:
    """The feet, and the corners of a trunk that has a box: points of the base itself."""
    try:
        extra = trunk_corners(robot) if robot.floating else []
    except InputError:
        extra = []
    X = joint_transforms(robot, q)
    return contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot, extra), ff.contact.Plane.slope(12.0))


def somewhere(robot, random):
    q = robot.state()[0]
    return ff.dynamics.integrate(robot, np.array(q, dtype=float), 0.6 * random.normal(size=robot.nv), 1.0)


@pytest.mark.parametrize("robot", ROBOTS)
def test_factors_solve_what_unsymmetric_contacts_add_to_the_mass_matrix(robot):
    random = np.random.default_rng(21)
    q = somewhere(robot, random)
    M, points = ff.dynamics.mass_matrix(robot, q), touching(robot, q)
    contacts, dense = [], M
    for point in points:
        D = 30.0 * np.eye(3) + 12.0 * random.normal(size=(3, 3))
        contacts.append((point.J, D, point.dofs))
        dense = dense + point.J.T @ D @ point.J
    b = random.normal(size=(robot.nv, 2))
    for coupled in (False, True):
        x = solve_unsymmetric(robot, *factor_unsymmetric(robot, M, contacts, coupled), b, coupled)
        np.testing.assert_allclose(dense @ x, b, atol=1e-9)
    assert np.abs(dense - dense.T).max() > 1.0


@pytest.mark.parametrize("robot", ROBOTS)
def test_what_is_behind_a_joint_on_the_base_meets_it_as_it_meets_the_base(robot):
    q = somewhere(robot, np.random.default_rng(4))
    M, twists = ff.dynamics.mass_matrix(robot, q), base_joint_twists(robot)
    assert bool(twists) == robot.floating
    for i in range(1, len(robot.tree.bodies)):
        k, first = robot.tree.dof(i), robot.tree.dof(robot.tree.support[i][0])
        if robot.floating and k != first:
            assert M[k, first] == pytest.approx(twists[first] @ M[k, :6], rel=1e-12, abs=1e-14)

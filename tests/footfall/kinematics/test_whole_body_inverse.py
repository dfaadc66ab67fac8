"""Laws of inverse kinematics that moves the trunk."""

import numpy as np
import pytest

from footfall.errors import InputError
from footfall.kinematics import body_poses, center_of_mass, com_jacobian, foot_positions, whole_body_inverse
from footfall.robot import library
from footfall.spatial import quaternion
from footfall.spatial.rotation import from_euler


def test_center_of_mass_jacobian_is_the_derivative(robot, states):
    q = states.q[0]
    J, h = com_jacobian(robot, q), 1e-6
    R_WB = body_poses(robot, q)[0].R
    for k in range(robot.nv):
        moved = []
        for s in (h, -h):
            v = s * np.eye(robot.nv)[k]
            place, turn = q[:3] + R_WB @ v[3:6], quaternion.rotated(q[3:7], v[:3])
            moved.append(center_of_mass(robot, np.concatenate([place, turn, q[7:] + v[6:]])))
        assert np.abs((moved[0] - moved[1]) / (2 * h) - J[:, k]).max() < 1e-8


def test_trunk_goes_where_it_is_asked_and_the_feet_stay(robot):
    q = robot.state("stand")[0]
    feet = foot_positions(robot, q)
    place, R = np.array([0.01, 0.005, 0.97 * q[2]]), from_euler(np.array([0.1, 0.05, -0.04]))
    found = whole_body_inverse(robot, feet, trunk_position=place, trunk_rotation=R, q=q)
    X_WB = body_poses(robot, found.q)[0]
    assert found.reached
    assert np.abs(foot_positions(robot, found.q) - feet).max() < 1e-7
    assert np.abs(X_WB.p - place).max() < 1e-7
    assert np.abs(X_WB.R - R).max() < 1e-6
    assert abs(np.linalg.norm(found.q[3:7]) - 1.0) < 1e-12


def test_center_of_mass_comes_over_a_point_and_its_height_is_free(robot):
    q = robot.state("stand")[0]
    feet, before = foot_positions(robot, q), center_of_mass(robot, q)
    wanted = before + np.array([0.01, -0.015, np.nan])
    found = whole_body_inverse(robot, feet, com=wanted, q=q)
    assert found.reached
    assert np.abs(center_of_mass(robot, found.q) - wanted)[:2].max() < 1e-7
    assert found.com_residual < 1e-7


def test_wishes_that_exclude_each_other_cost_the_trunk_and_keep_the_limits(robot):
    q = robot.state("stand")[0]
    feet = foot_positions(robot, q)
    found = whole_body_inverse(robot, feet, trunk_position=(0.0, 0.0, 3.0 * q[2]), q=q)
    assert not found.reached
    assert found.trunk_position_residual > 10.0 * found.foot_residual.max()
    lower, upper = (np.array([getattr(b.joint, k) for b in robot.tree.bodies[1:]]) for k in ("lower", "upper"))
    assert (found.q[7:] >= lower).all()
    assert (found.q[7:] <= upper).all()


def test_some_feet_alone_and_nothing_to_do():
    robot = library.load("mini_cheetah")
    q = robot.state("stand")[0]
    same = whole_body_inverse(robot, foot_positions(robot, q), q=q)
    assert (same.iterations, same.reached) == (0, True)
    assert (same.q == q).all()
    one = whole_body_inverse(robot, {"RF": foot_positions(robot, q)[1] + np.array([0.0, 0.0, 0.05])}, q=q)
    assert one.feet == ("RF",)
    assert one.reached


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trunk_position": (0.0, 0.3)}, "trunk_position must be three numbers"),
        ({"com": (np.inf, 0.0, 0.0)}, "com must be three numbers"),
        ({"trunk_rotation": 2.0 * np.eye(3)}, "must be a rotation matrix"),
        ({"q": np.zeros(4)}, r"must have shape \(19,\)"),
    ],
)
def test_bad_wishes_are_refused(options, said):
    robot = library.load("mini_cheetah")
    with pytest.raises(InputError, match=said):
        whole_body_inverse(robot, np.zeros((4, 3)), **options)


def test_a_fixed_base_has_no_trunk_to_move():
    robot = library.load("mini_cheetah").replace(floating=False)
    with pytest.raises(InputError, match="fixed base"):
        whole_body_inverse(robot, np.zeros((4, 3)))

"""Planes, contact frames and where spheres meet the ground: eqs. (31)-(33), (36)-(37)."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.contact.ground import Plane
from footfall.contact.points import contact_points, knees, spheres_of, trunk_corners
from footfall.dynamics.random_states import random_states
from footfall.errors import InputError
from footfall.kinematics.forward import body_velocities, foot_positions, joint_transforms, poses_in_base
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot import library
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import is_rotation

NORMALS = [np.array(n) for n in ((0, 0, 1.0), (0.3, 0, 0.9), (0, -0.4, 0.8), (-0.5, 0.6, 0.3), (2.0, 1.0, 5.0))]
PLANE = Plane(0.7, np.array([-0.3, 0.4, 0.9]), np.array([0.1, -0.2, 0.3]))


# -- planes ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("normal", NORMALS)
def test_contact_frame_is_a_rotation_with_the_normal_last_and_x_ahead(normal):
    axes = Plane(normal=normal).frame(np.zeros(3))
    assert is_rotation(axes, 1e-12)
    np.testing.assert_allclose(axes[:, 2], normal / np.linalg.norm(normal))
    assert axes[0, 0] > 0


def test_level_ground_has_the_axes_of_the_world():
    np.testing.assert_array_equal(Plane().frame(np.zeros(3)), np.eye(3))


@pytest.mark.parametrize("normal", NORMALS)
def test_distance_is_zero_on_the_plane_and_grows_along_the_normal(normal):
    plane = Plane(normal=normal, point=np.array([1.0, 2.0, 3.0]))
    on = plane.point + plane.axes @ np.array([0.7, -1.3, 0.0])
    assert plane.distance(on) == pytest.approx(0.0, abs=1e-12)
    assert plane.distance(on + 0.25 * plane.normal) == pytest.approx(0.25)
    assert plane.distance(on - 0.1 * plane.normal) == pytest.approx(-0.1)


@pytest.mark.parametrize("degrees", [-30.0, 0.0, 12.0, 60.0])
def test_slope_rises_along_x_by_its_angle(degrees):
    plane = Plane.slope(degrees)
    ahead = plane.axes[:, 0]
    assert np.degrees(np.arctan2(ahead[2], ahead[0])) == pytest.approx(degrees)
    assert plane.distance(np.zeros(3)) == 0.0


def test_planes_that_face_down_sideways_or_nowhere_are_refused():
    for normal in ((0, 0, -1.0), (1.0, 0, 0), (0, 0, 0), (0, 0), (0, np.nan, 1.0)):
        with pytest.raises(InputError, match="normal of the plane"):
            Plane(normal=np.array(normal, dtype=float))
    for degrees in (80.0, -85.0, np.nan):
        with pytest.raises(InputError, match="between -80 and 80"):
            Plane.slope(degrees)
    for friction in (-0.1, np.nan, np.inf, "rough", None):
        with pytest.raises(InputError, match="friction"):
            Plane(friction=friction)


def test_axes_follow_a_normal_that_is_changed():
    world = ff.sim.world.World(robot=ff.load("mini_cheetah"))
    normal = np.array([-0.6, 0.0, 0.8])
    tilted = world.with_parameters({"ground.normal": normal}).ground
    np.testing.assert_allclose(tilted.frame(np.zeros(3)), Plane(normal=normal).axes)


# -- spheres on the ground -------------------------------------------------------------------------------------------
def points_of(robot, q, ground=PLANE, extra=()):
    X = joint_transforms(robot, q)
    return contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot, extra), ground)


@pytest.mark.parametrize("name", library.names())
def test_distance_of_a_foot_is_that_of_its_centre_less_its_radius(name):
    robot = ff.load(name)
    q = random_states(robot, 1, seed=1).q[0]
    for point, p_WF, foot in zip(points_of(robot, q), foot_positions(robot, q), robot.feet):
        assert point.distance == pytest.approx(PLANE.distance(p_WF) - foot.radius)
        assert point.friction == 0.7


@pytest.mark.parametrize("name", library.names())
def test_jacobian_gives_the_velocity_of_the_lowest_point_of_the_sphere(name):
    robot = ff.load(name)
    states = random_states(robot, 1, seed=3)
    q, v = states.q[0], states.v[0]
    linear = feet_jacobian(robot, q, "contact", PLANE.axes)[:, 3:]
    for point, J in zip(points_of(robot, q), linear):
        np.testing.assert_allclose(point.R_BC.T @ (point.J @ v), J @ v, atol=1e-12)


def test_contact_axes_in_base_axes_turn_back_into_the_grounds():
    robot = ff.load("mini_cheetah")
    q = random_states(robot, 1, seed=4).q[0]
    for point in points_of(robot, q):
        np.testing.assert_allclose(to_rotation(q[3:7]) @ point.R_BC, PLANE.axes, atol=1e-12)


def test_columns_of_the_jacobian_beyond_the_base_and_its_leg_are_zero():
    robot = ff.load("mini_cheetah")
    q = random_states(robot, 1, seed=5).q[0]
    for k, point in enumerate(points_of(robot, q)):
        assert point.dofs == (0, 1, 2, 3, 4, 5, *range(6 + 3 * k, 9 + 3 * k))
        others = [j for j in range(robot.nv) if j not in point.dofs]
        assert not point.J[:, others].any()


def test_rolling_ball_has_a_contact_point_at_rest():
    ball = ff.Robot(
        name="ball",
        links=[ff.Link(name="ball", mass=1.0, inertia=np.eye(3))],
        feet=[ff.Foot(name="skin", link="ball", position=np.zeros(3), radius=0.2)],
    )
    (point,) = points_of(ball, ball.state(height=0.2)[0], Plane())
    np.testing.assert_allclose(point.J @ np.array([0.0, 3.0, 0.0, 0.6, 0.0, 0.0]), 0.0, atol=1e-15)


def test_extra_spheres_come_after_the_feet_and_ride_on_their_links():
    robot = ff.load("mini_cheetah")
    extra = [*trunk_corners(robot), *knees(robot, 0.02)]
    spheres = spheres_of(robot, extra)
    assert [s.name for s in spheres[:4]] == ["LF", "RF", "LH", "RH"]
    assert len(spheres) == 4 + 8 + 4
    corners = np.array([s.center for s in spheres[4:12]])
    np.testing.assert_allclose(np.ptp(corners, axis=0), [0.38, 0.098, 0.10])
    states = random_states(robot, 1, seed=6)
    q, v = states.q[0], states.v[0]
    V = body_velocities(robot, q, v)
    for sphere, point in zip(spheres[4:], points_of(robot, q, extra=extra)[4:]):
        R = poses_in_base(robot, joint_transforms(robot, q))[sphere.body].R
        low = sphere.center - sphere.radius * R.T @ point.R_BC[:, 2]
        np.testing.assert_allclose(
            point.J @ v, R @ (V[sphere.body, 3:] + np.cross(V[sphere.body, :3], low)), atol=1e-12
        )

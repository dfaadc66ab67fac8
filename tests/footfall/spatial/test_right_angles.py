"""Right angles that a model file writes with eleven digits become exact; no other rotation changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footfall as ff
from footfall.kinematics.forward import foot_positions
from footfall.spatial.rotation import about_x, about_y, about_z, from_euler, right_angled, snapped

quarters = st.integers(-4, 4)
residues = st.floats(-5e-11, 5e-11)
angles = st.floats(-3.0, 3.0)


def defect(R):
    return np.abs(R @ R.T - np.eye(3)).max()


@settings(max_examples=30, deadline=None)
@given(st.tuples(quarters, quarters, quarters), st.tuples(residues, residues, residues))
def test_turns_by_right_angles_are_signed_permutations(turns, off):
    angles = np.array(turns) * np.pi / 2
    exact = right_angled(snapped(from_euler(angles + 0.5 * np.array(off))))
    np.testing.assert_array_equal(exact, np.round(from_euler(angles)))
    np.testing.assert_array_equal(exact @ exact.T, np.eye(3))


@settings(max_examples=30, deadline=None)
@given(angles, quarters, residues)
def test_a_free_angle_beside_a_right_one_keeps_its_value(angle, turns, off):
    written, meant = (about_z(angle) @ about_x(turns * np.pi / 2 + e) for e in (off, 0.0))
    exact = right_angled(snapped(written))
    assert defect(exact) < 1e-14
    assert np.abs(exact - meant).max() < 1e-14 or np.abs(np.sin(angle)) < 1e-9 or np.abs(np.cos(angle)) < 1e-9


@settings(max_examples=30, deadline=None)
@given(angles, angles, angles, residues)
def test_a_rotation_stays_one_to_rounding_whatever_it_is(a, b, c, off):
    for R in (about_z(a) @ about_y(b) @ about_x(c), about_z(a) @ about_y(b) @ about_x(np.pi / 2 + off)):
        exact = right_angled(R)
        assert defect(exact) < 1e-14
        assert np.abs(exact - R).max() < 1e-10


@pytest.mark.parametrize("angle", [2e-10, 1e-9, 1e-6, 1e-3])
def test_small_angles_are_angles(angle):
    R = about_y(angle)
    np.testing.assert_array_equal(right_angled(R), R)
    R = about_z(0.3) @ about_y(np.pi / 2 - angle)
    np.testing.assert_array_equal(right_angled(R), R)


def test_a_joint_keeps_the_digits_of_its_file_and_the_tree_has_the_right_angle():
    cheetah = ff.load("mini_cheetah")
    name, written = cheetah.joint_names[0], about_z(1.57079632679)
    robot = cheetah.replace({f"{name}.rotation": written})
    np.testing.assert_array_equal(robot.parameter(f"{name}.rotation"), written)
    np.testing.assert_array_equal(robot.tree.bodies[1].X_PJ.R, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    exact = cheetah.replace({f"{name}.rotation": about_z(np.pi / 2)})
    assert exact.digest != robot.digest
    q, _ = robot.state("stand")
    np.testing.assert_array_equal(foot_positions(robot, q), foot_positions(exact, q))

"""The regressor is inverse dynamics, and base parameters are all that it shows."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.passive import damping_torques, friction_torques
from footfall.dynamics.random_states import States, random_states
from footfall.dynamics.regressor import (
    JOINT_COLUMNS,
    base_parameters,
    inertia_of,
    inertia_parameters,
    parameter_names,
    parameters,
    pseudo_inertia,
    regressor,
)
from footfall.errors import InputError
from footfall.robot import Robot, library

CHEETAH = library.load("mini_cheetah")


def behind_base(robot: Robot, joints: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(robot.nv - robot.nj), joints])


def test_regressor_times_parameters_is_inverse_dynamics(robot: Robot, states: States) -> None:
    theta = parameters(robot, ["armature"])
    for q, v, a in zip(states.q, states.v, states.a):
        wanted = inverse_dynamics(robot, q, v, a)
        Y = regressor(robot, q, v, a, joint_columns=["armature"])
        assert Y.shape == (robot.nv, len(theta))
        np.testing.assert_allclose(Y @ theta, wanted, rtol=0, atol=1e-10 * max(1.0, np.abs(wanted).max()))
        armature = behind_base(robot, theta[-robot.nj :] * a[robot.nv - robot.nj :])
        plain = regressor(robot, q, v, a) @ parameters(robot)
        np.testing.assert_allclose(plain, wanted - armature, rtol=0, atol=1e-10 * max(1.0, np.abs(wanted).max()))


def test_joint_columns_are_the_losses_of_the_joints() -> None:
    states = random_states(CHEETAH, 3, seed=5)
    columns = ["damping", "dry_friction"]
    for q, v, a in zip(states.q, 0.02 * states.v, states.a):
        Y = regressor(CHEETAH, q, v, a, joint_columns=columns, stick_rate=0.02)
        lost = damping_torques(CHEETAH, v) + friction_torques(CHEETAH, v, 0.02)
        inertial = Y[:, :130] @ parameters(CHEETAH)
        all_of_it = Y @ parameters(CHEETAH, columns)
        np.testing.assert_allclose(all_of_it - inertial, -behind_base(CHEETAH, lost), rtol=0, atol=1e-12)


def test_a_compiled_regressor_is_the_same() -> None:
    fast = ff.compile(regressor, CHEETAH, joint_columns=JOINT_COLUMNS, target="interpret", cache=False)
    states = random_states(CHEETAH, 2, seed=6)
    for q, v, a in zip(states.q, states.v, states.a):
        wanted = regressor(CHEETAH, q, v, a, joint_columns=JOINT_COLUMNS)
        np.testing.assert_allclose(fast(q, v, a), wanted, rtol=0, atol=1e-11)


def test_regressor_is_the_derivative_by_a_mass() -> None:
    """Without its com moving: d(forces)/d(mass) = column m + com · columns h + com comᵀ · columns J."""
    states = random_states(CHEETAH, 1, seed=8)
    q, v, a = states.q[0], states.v[0], states.a[0]
    link = CHEETAH.link("LF_hip_link")
    body = CHEETAH.tree.frames["LF_hip_link"][0]
    heavier = CHEETAH.replace({"LF_hip_link.mass": link.mass + 1.0})
    change = inverse_dynamics(heavier, q, v, a) - inverse_dynamics(CHEETAH, q, v, a)
    x, y, z = link.com
    ten = np.array([1.0, x, y, z, x * x, x * y, x * z, y * y, y * z, z * z])
    np.testing.assert_allclose(regressor(CHEETAH, q, v, a)[:, 10 * body : 10 * body + 10] @ ten, change, atol=1e-10)


def test_base_parameters_carry_all_forces(robot: Robot, states: States) -> None:
    base, theta = base_parameters(robot), parameters(robot)
    for q, v, a in zip(states.q, states.v, states.a):
        Y = regressor(robot, q, v, a)
        wanted = Y @ theta
        scale = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(Y[:, base.independent] @ base.of(theta), wanted, rtol=0, atol=1e-8 * scale)


def test_a_floating_base_shows_all_of_the_trunk_and_seven_numbers_a_revolute_joint(robot: Robot) -> None:
    base = base_parameters(robot)
    kinds = [body.kind for body in robot.tree.bodies[1:]]
    if robot.floating and set(kinds) == {"revolute"}:
        assert base.count == 10 + 7 * len(kinds)
        assert base.independent[:10] == tuple(range(10))
        assert not base.unseen


def test_a_fixed_base_hides_its_own_inertia() -> None:
    fixed = CHEETAH.replace(floating=False)
    base = base_parameters(fixed)
    assert base.count < base_parameters(CHEETAH).count
    assert {f"trunk.{key}" for key in ("m", "h_x", "J_xx", "J_zz")} <= set(base.unseen)


def test_losses_and_armature_of_joints_can_all_be_told() -> None:
    base = base_parameters(CHEETAH, JOINT_COLUMNS)
    assert base.count == 10 + 7 * 12 + 3 * 12
    assert set(range(130, 166)) <= set(base.independent)


def test_the_first_base_parameter_is_the_mass_of_all() -> None:
    base = base_parameters(CHEETAH)
    assert base.of(parameters(CHEETAH))[0] == pytest.approx(CHEETAH.mass, rel=1e-9)
    assert base.descriptions()[0].startswith("trunk.m + ")
    assert len(base.descriptions()) == base.count


def test_names_and_ten_numbers() -> None:
    names = parameter_names(CHEETAH, ["damping"])
    assert names[0] == "trunk.m"
    assert names[-1] == "RH_knee.damping"
    assert len(names) == len(parameters(CHEETAH, ["damping"]))
    for body in CHEETAH.tree.bodies:
        ten = inertia_parameters(body.inertia)
        np.testing.assert_array_equal(inertia_parameters(inertia_of(ten)), ten)
        assert np.linalg.eigvalsh(pseudo_inertia(ten))[0] > 0


def test_an_unknown_joint_column_is_refused() -> None:
    q, v = CHEETAH.state("stand")
    with pytest.raises(InputError, match=r"unknown joint column 'damp'.*dry_friction"):
        regressor(CHEETAH, q, v, v, joint_columns=["damp"])
    with pytest.raises(InputError, match="unknown joint column"):
        parameters(CHEETAH, ["friction"])

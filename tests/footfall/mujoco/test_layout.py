"""Converters between layouts: both ways, and against what the engines themselves make of the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from footfall.dynamics.random_states import random_states
from footfall.mujoco import MuJoCo, layout
from footfall.robot import Link, Robot, library
from footfall_lab.verify import Pinocchio


@pytest.fixture(params=[True, False], ids=["floating", "fixed"])
def some_robot(request: pytest.FixtureRequest) -> Robot:
    robot = library.load("mini_cheetah")
    return robot if request.param else robot.replace(floating=False)


def test_pinocchio_converters_undo_each_other(some_robot: Robot) -> None:
    state = random_states(some_robot, 1)
    q, v, tau = state.q[0], state.v[0], state.tau[0]
    assert np.array_equal(layout.from_pinocchio_q(some_robot, layout.to_pinocchio_q(some_robot, q)), q)
    assert np.array_equal(layout.from_pinocchio_v(some_robot, layout.to_pinocchio_v(some_robot, v)), v)
    assert np.array_equal(layout.from_pinocchio_tau(some_robot, layout.to_pinocchio_tau(some_robot, tau)), tau)


def test_mujoco_converters_undo_each_other(some_robot: Robot) -> None:
    state = random_states(some_robot, 1)
    q, v, a, tau = state.q[0], state.v[0], state.a[0], state.tau[0]
    assert np.array_equal(layout.from_mujoco_q(some_robot, layout.to_mujoco_q(some_robot, q)), q)
    assert np.allclose(layout.from_mujoco_v(some_robot, q, layout.to_mujoco_v(some_robot, q, v)), v, atol=1e-14)
    assert np.allclose(layout.from_mujoco_a(some_robot, q, v, layout.to_mujoco_a(some_robot, q, v, a)), a, atol=1e-14)
    assert np.allclose(layout.from_mujoco_tau(some_robot, q, layout.to_mujoco_tau(some_robot, q, tau)), tau, rtol=1e-13)


def test_converters_keep_power(some_robot: Robot) -> None:
    """τ·v is the same number in every layout."""
    state = random_states(some_robot, 1)
    q, v, tau = state.q[0], state.v[0], state.tau[0]
    pinocchio = layout.to_pinocchio_tau(some_robot, tau) @ layout.to_pinocchio_v(some_robot, v)
    mujoco = layout.to_mujoco_tau(some_robot, q, tau) @ layout.to_mujoco_v(some_robot, q, v)
    assert [pinocchio, mujoco] == pytest.approx([tau @ v] * 2, rel=1e-12)


def test_base_layouts_are_those_of_the_engines() -> None:
    """Quaternion order, angular or linear first, world or base axes: the facts, spelled out on one state."""
    robot = library.load("mini_cheetah")
    q, v = robot.state()
    q[:7] = [1.0, 2.0, 3.0, np.cos(np.pi / 4), 0.0, 0.0, np.sin(np.pi / 4)]  # a quarter turn left
    v[:6] = [0.1, 0.2, 0.3, 5.0, 0.0, 0.0]  # 5 m/s forward, which is +y of the world
    s = np.sqrt(0.5)
    assert layout.to_pinocchio_q(robot, q)[:7] == pytest.approx([1.0, 2.0, 3.0, 0.0, 0.0, s, s])
    assert layout.to_pinocchio_v(robot, v)[:6] == pytest.approx([5.0, 0.0, 0.0, 0.1, 0.2, 0.3])
    assert layout.to_mujoco_q(robot, q)[:7] == pytest.approx([1.0, 2.0, 3.0, s, 0.0, 0.0, s])
    assert layout.to_mujoco_v(robot, q, v)[:6] == pytest.approx([0.0, 5.0, 0.0, 0.1, 0.2, 0.3])
    still = layout.to_mujoco_a(robot, q, v, np.zeros(robot.nv))[:3]  # ω x v in world axes
    assert still == pytest.approx([-1.5, 0.0, -1.0])


def test_jacobian_converters_give_the_referees_jacobians() -> None:
    robot = library.load("mini_cheetah")
    q = random_states(robot, 1).q[0]
    pinocchio, mujoco = Pinocchio(robot), MuJoCo(robot)
    pin = pinocchio.pin
    pin.computeJointJacobians(pinocchio.model, pinocchio.data, layout.to_pinocchio_q(robot, q))
    pin.updateFramePlacements(pinocchio.model, pinocchio.data)
    frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    raw = pin.getFrameJacobian(pinocchio.model, pinocchio.data, pinocchio.feet[2], frame)
    assert np.allclose(layout.from_pinocchio_jacobian(robot, raw), pinocchio.feet_jacobian(q)[2], atol=1e-15)
    mujoco.data.qpos[:] = layout.to_mujoco_q(robot, q)
    mujoco.mj.mj_forward(mujoco.model, mujoco.data)
    linear, angular = np.zeros((2, 3, robot.nv))
    body, _ = mujoco.feet[2]
    mujoco.mj.mj_jac(mujoco.model, mujoco.data, linear, angular, mujoco.foot_positions(q)[2], body)
    found = layout.from_mujoco_jacobian(robot, q, linear, angular)
    assert np.allclose(found, mujoco.feet_jacobian(q)[2], atol=1e-15)


def test_a_single_free_body_falls_alike_in_both_engines() -> None:
    robot = Robot(
        name="brick",
        links=[Link(name="brick", mass=2.0, com=np.array([0.1, 0.0, 0.0]), inertia=np.diag([0.02, 0.03, 0.04]))],
    )
    state = random_states(robot, 1)
    q, v, zero = state.q[0], state.v[0], np.zeros(6)
    theirs = [engine(robot).forward_dynamics(q, v, zero) for engine in (Pinocchio, MuJoCo)]
    assert np.allclose(theirs[0], theirs[1], atol=1e-13)

"""Converters between layouts: both ways, and against what the engines themselves make of the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall import conversions as layout
from footfall.dynamics.random_states import random_states
from footfall.mujoco import MuJoCo
from footfall.robot import Link, Robot, library
from footfall.robot.files.export import to_mjcf, to_urdf
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


# -- states in the layout of a user's own model ------------------------------------------------------------------------
def _their_pinocchio(robot: Robot, tmp_path):
    """A model that Pinocchio itself reads: its joints come in its own order."""
    import pinocchio as pin

    (tmp_path / "robot.urdf").write_text(to_urdf(robot))
    root = [pin.JointModelFreeFlyer()] if robot.floating else []
    return pin, pin.buildModelFromUrdf(str(tmp_path / "robot.urdf"), *root)


def test_pinocchio_finds_the_same_feet_velocities_and_jacobians(some_robot: Robot, tmp_path) -> None:
    pin, model = _their_pinocchio(some_robot, tmp_path)
    data, state = model.createData(), random_states(some_robot, 1)
    q, v = state.q[0], state.v[0]
    their_q, their_v = ff.conversions.to_pinocchio(some_robot, q, v, model)
    assert [str(name) for name in model.names][-some_robot.nj :] != list(some_robot.joint_names)
    back_q, back_v = ff.conversions.from_pinocchio(some_robot, their_q, their_v, model)
    assert np.array_equal(back_q, q)
    assert np.array_equal(back_v, v)
    pin.forwardKinematics(model, data, their_q, their_v)
    pin.computeJointJacobians(model, data, their_q)
    pin.updateFramePlacements(model, data)
    for link in (some_robot.feet[1].link, some_robot.links[0].name):
        frame = model.getFrameId(link)
        assert np.allclose(data.oMf[frame].translation, ff.kinematics.frame_pose(some_robot, q, link).p, atol=1e-12)
        for name in ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"):
            reference = getattr(pin.ReferenceFrame, name)
            twist = pin.getFrameVelocity(model, data, frame, reference)
            found = ff.kinematics.frame_velocity(some_robot, q, v, link, reference=name)
            assert np.allclose(found, np.r_[twist.angular, twist.linear], atol=1e-10)
            J = ff.kinematics.frame_jacobian(some_robot, q, link, reference=str(reference))
            theirs = pin.getFrameJacobian(model, data, frame, reference)
            assert np.allclose(J @ v, np.r_[theirs[3:] @ their_v, theirs[:3] @ their_v], atol=1e-10)


def test_mujoco_finds_the_same_bodies_beside_other_joints() -> None:
    import mujoco

    robot = library.load("mini_cheetah")
    spec = mujoco.MjSpec.from_string(to_mjcf(robot))
    ball = spec.worldbody.add_body(
        name="ball", pos=[1.0, 0.0, 0.5], mass=0.5, inertia=[1e-3] * 3, explicitinertial=True
    )
    ball.add_freejoint()
    ball.add_geom(size=[0.1, 0.0, 0.0])
    model = spec.compile()
    data, state = mujoco.MjData(model), random_states(robot, 1)
    q, v = state.q[0], state.v[0]
    data.qpos[:], data.qvel[:] = ff.conversions.to_mujoco(robot, q, v, model)
    back_q, back_v = ff.conversions.from_mujoco(robot, data.qpos, data.qvel, model)
    assert np.array_equal(back_q, q)
    assert np.allclose(back_v, v, atol=1e-14)
    mujoco.mj_forward(model, data)
    link = robot.feet[2].link
    twist = np.zeros(6)
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_XBODY, link)
    assert np.allclose(data.xpos[body], ff.kinematics.frame_pose(robot, q, link).p, atol=1e-12)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 0)
    assert np.allclose(twist, ff.kinematics.frame_velocity(robot, q, v, link), atol=1e-12)


def test_joints_may_come_in_any_order_by_name(some_robot: Robot) -> None:
    names = sorted(some_robot.joint_names, reverse=True)
    state = random_states(some_robot, 1)
    for to, back in (
        (ff.conversions.to_pinocchio, ff.conversions.from_pinocchio),
        (ff.conversions.to_mujoco, ff.conversions.from_mujoco),
    ):
        theirs = to(some_robot, state.q[0], state.v[0], names)
        at = some_robot.joint_names.index(names[0])
        assert theirs[0][-some_robot.nj] == state.q[0][some_robot.nq - some_robot.nj + at]
        q, v = back(some_robot, *theirs, names)
        assert np.array_equal(q, state.q[0])
        assert np.allclose(v, state.v[0], atol=1e-14)
        with pytest.raises(ff.InputError, match="lacks the joint"):
            to(some_robot, state.q[0], None, names[1:])
        with pytest.raises(ff.InputError, match="unknown joint of the order of joints 'tail'"):
            to(some_robot, state.q[0], None, ["tail", *names[1:]])
        with pytest.raises(ff.InputError, match="must have shape"):
            to(some_robot, np.zeros(3))

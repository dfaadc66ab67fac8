"""Frames of like limbs: a step computes in frames of its own choice, and nothing that it gives back shows them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from third_party_models import third_party_path

import footfall as ff
from footfall import compiling
from footfall.control.interface import JointCommand
from footfall.control.posture import with_stand
from footfall.dynamics.forward_dynamics import bias_terms, forward_dynamics
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.kinematics.forward import body_velocities, foot_positions
from footfall.robot.model.description import Robot
from footfall.robot.model.limb_frames import LimbFrames, like_limbs
from footfall.robot.model.parts import Joint, Link
from footfall.sim.equations_of_motion import State
from footfall.sim.step import step
from footfall.sim.world import World
from footfall.spatial.rotation import about_axis
from footfall_lab.bench import subject
from nptrace.ir.program import walk
from nptrace.passes import reductions, slp

FILES = ("anymal_c", "hyq")
HOW_MANY_MORE = 1.2  # statements per degree of freedom


@pytest.fixture(scope="module", params=FILES)
def robot(request: pytest.FixtureRequest) -> Robot:
    """A robot whose file turns the frames of its legs differently."""
    return with_stand(ff.load(third_party_path(request.param)))


def state_of(robot: Robot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state about the stand, in the air, and joint torques."""
    random = np.random.default_rng(seed)
    q, _ = robot.state("stand")
    q = q + np.concatenate([random.normal(size=2), [1.0], 0.3 * random.normal(size=robot.nq - 3)])
    q[3:7] /= np.sqrt(q[3:7] @ q[3:7])
    return q, random.normal(size=robot.nv), 10 * random.normal(size=robot.nj)


def close(a: np.ndarray, b: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


def packed_step(robot: Robot) -> slp.Program:
    """The implicit step as ``native`` emits it: legs in lanes where they are alike."""
    code = reductions.reassociated(subject.program(implicit=True, model=robot))
    return slp.vectorised(code) or code


def wide_operations(code: slp.Program) -> int:
    return sum(1 for o in walk(code.body) if o.result in code.wide and o.op not in ("const", "input", "item"))


# -- the same robot ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(3))
def test_dynamics_are_the_same_in_both_frames(robot: Robot, seed: int) -> None:
    other = robot.in_limb_frames()
    assert other is not robot
    q, v, tau = state_of(robot, seed)
    close(foot_positions(other, q), foot_positions(robot, q), 1e-14)
    close(mass_matrix(other, q), mass_matrix(robot, q), 1e-14)
    close(bias_terms(other, q, v), bias_terms(robot, q, v), 1e-13)
    close(forward_dynamics(other, q, v, tau), forward_dynamics(robot, q, v, tau), 1e-12)


def test_a_standing_step_is_the_same_to_rounding(robot: Robot) -> None:
    """On stiff ground, where 1e-13 m of a foot's position would show."""
    q, v = robot.state("stand")
    q[2] -= 1e-4
    command = JointCommand(q[7:], 0.0, 100.0, 2.0, 0.0).broadcast(robot.nj)
    world = World(robot=robot)
    own, acted, done = step(world, State(q, v), command, np.zeros(6), 1e-3)
    other, there, done_there = step(world.in_limb_frames(), State(q, v), command, np.zeros(6), 1e-3)
    np.testing.assert_allclose(other.q, own.q, rtol=0, atol=1e-12)
    close(other.v, own.v, 1e-12)
    close(there.forces, acted.forces, 1e-10)
    close(there.motor, acted.motor, 1e-12)
    close(done_there.work, done.work, 1e-10)
    close(done_there.impulse, done.impulse, 1e-13)


def test_a_compiled_step_is_the_numpy_step_in_the_own_frames(robot: Robot) -> None:
    q, v, _ = state_of(robot, 7)
    targets, (kp, kd) = q[7:] + 0.1, subject.gains(robot)
    own, _, _ = step(
        subject.world(True, model=robot), State(q, v), JointCommand(targets, 0.0, kp, kd, 0.0), np.zeros(6), subject.DT
    )
    for limbs in (True, False):
        compiled = subject.compiled_step(True, robot, vectorize=limbs)(State(q, v), targets)
        close(compiled.q, own.q, 1e-13)
        close(compiled.v, own.v, 1e-12)


def test_lanes_change_no_bit_of_a_turned_robot(robot: Robot) -> None:
    state, targets = subject.standing(robot)
    lanes, plain = (subject.compiled_step(True, robot, vectorize=limbs) for limbs in (True, False))
    one, other = lanes.advance(50, state, targets), plain.advance(50, state, targets)
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.v, other.v)


def test_results_that_name_a_frame_are_in_the_frames_of_the_file(robot: Robot) -> None:
    q, v, _ = state_of(robot, 1)
    before = [body.X_PJ.R.copy() for body in robot.tree.bodies]
    subject.compiled_step(True, robot)
    close(compiling.compile(body_velocities, robot)(q, v), body_velocities(robot, q, v), 1e-13)
    for body, rotation in zip(robot.tree.bodies, before):
        np.testing.assert_array_equal(body.X_PJ.R, rotation)
        assert body.joint is None or (body.axis == body.joint.axis).all()


def test_free_parameters_of_limbs_reach_the_turned_frames(robot: Robot) -> None:
    shank = robot.tree.bodies[3].name
    path = f"{shank}.com"
    q, v, _ = state_of(robot, 2)
    targets = q[7:] + 0.1
    world = subject.world(True, model=robot)
    free = compiling.compile(subject.held_step, world, State(q, v), targets, dt=1e-3, free=[path])
    com = np.array([0.01, -0.02, -0.13])
    heavier = subject.world(True, model=robot.replace({path: com}))
    expected = subject.held_step(heavier, State(q, v), targets, 1e-3)
    close(free(State(q, v), targets, {path: com}).v, expected.v, 1e-11)


def test_frames_that_a_trace_asks_for_first_outlive_it_as_plain_numbers() -> None:
    robot = with_turned_links(subject.robot(), 8)
    subject.program(implicit=True, model=robot)
    frames = vars(robot)["limb_frames"]
    assert all(type(turn) is np.ndarray for turn in frames.new_axes.values())


# -- legs side by side -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["anymal_c", "go2", "hyq", "solo12"])
def test_turned_legs_run_side_by_side(name: str) -> None:
    cheetah, robot = subject.robot(), subject.robot(str(third_party_path(name)))
    first, code = packed_step(cheetah), packed_step(robot)
    assert code.lanes == 4
    assert code.operations()["extract"] <= first.operations()["extract"]
    assert code.size / robot.nv <= HOW_MANY_MORE * first.size / cheetah.nv


def test_robots_whose_legs_are_alike_keep_their_frames() -> None:
    for name in ff.robot.library.names():
        robot = ff.load(name)
        assert robot.in_limb_frames() is robot
        assert World(robot=robot).in_limb_frames().robot is robot


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_turn_of_link_frames_takes_the_lanes_away(seed: int) -> None:
    """The Mini Cheetah with every frame of its legs turned anyhow: the same motion, and legs in lanes again."""
    cheetah = subject.robot()
    turned = with_turned_links(cheetah, seed)
    state, targets = subject.standing(cheetah)
    moved = State(state.q + np.concatenate([np.zeros(7), 0.1 * np.sin(np.arange(12.0))]), np.cos(np.arange(18.0)))
    a = subject.held_step(subject.world(True, model=cheetah), moved, targets, 1e-4)
    b = subject.held_step(subject.world(True, model=turned), moved, targets, 1e-4)
    close(b.v, a.v, 1e-9)
    code, first = packed_step(turned), packed_step(cheetah)
    assert code.lanes == 4
    assert code.operations()["extract"] <= first.operations()["extract"] + 12
    assert code.size <= 1.5 * first.size


def test_an_arm_does_not_take_the_lanes_of_the_legs() -> None:
    turned = with_turned_links(subject.robot(), 5)
    armed = with_arm(turned)
    assert [len(limbs) for limbs in like_limbs(armed.tree)] == [4]
    alike = subject.robot()
    assert wide_operations(packed_step(with_arm(alike))) >= wide_operations(packed_step(alike))
    assert wide_operations(packed_step(armed)) >= 0.8 * wide_operations(packed_step(turned))  # turned legs lose some


def test_two_arms_have_frames_of_their_own_and_leave_alike_legs_as_they_are() -> None:
    cheetah = subject.robot()
    armed = with_arm(with_arm(cheetah, "left", [0.0, 1.0, 0.0]), "right", [0.0, -1.0, 0.0])
    legs, arms = sorted(like_limbs(armed.tree), key=len, reverse=True)
    assert (len(legs), len(arms)) == (4, 2)
    turned = {i for limb in arms for i in limb}
    assert set(armed.limb_frames.new_axes) == turned


def test_exact_rotors_spin_the_same_in_both_frames() -> None:
    cheetah = ff.load("mini_cheetah", rotors="exact")
    robot = with_turned_links(cheetah, 3)
    assert any(body.spins for body in robot.tree.bodies)
    q, v, tau = state_of(robot, 4)
    close(forward_dynamics(robot.in_limb_frames(), q, v, tau), forward_dynamics(cheetah, q, v, tau), 1e-9)


def test_a_robot_without_twins_has_no_frames_to_change() -> None:
    links = [Link(name="base", mass=1.0, inertia=np.eye(3)), Link(name="arm", mass=1.0, inertia=np.eye(3))]
    robot = Robot(
        name="one arm",
        links=links,
        joints=[Joint(name="hinge", kind="revolute", parent="base", child="arm", axis=np.array([0.0, 1.0, 0.0]))],
    )
    assert robot.limb_frames == LimbFrames()
    assert robot.in_limb_frames() is robot


# -- robots made here --------------------------------------------------------------------------------------------------
def with_turned_links(robot: Robot, seed: int) -> Robot:
    """The same robot, the frame of every link that moves turned about its origin by a rotation of its own."""
    random = np.random.default_rng(seed)
    turns = {link.name: np.eye(3) for link in robot.links}
    for joint in robot.joints:
        axis = random.normal(size=3)
        turns[joint.child] = about_axis(axis / np.sqrt(axis @ axis), random.uniform(-3.0, 3.0))
    links = [_turned_link(link, turns[link.name]) for link in robot.links]
    joints = [_turned_joint(joint, turns[joint.parent], turns[joint.child]) for joint in robot.joints]
    feet = [dataclasses.replace(f, position=turns[f.link].T @ f.position) for f in robot.feet]
    return robot.replace(links=links, joints=joints, feet=feet)


def _turned_link(link: Link, R: np.ndarray) -> Link:
    if link.mass == 0:
        return link
    return dataclasses.replace(link, com=R.T @ link.com, inertia=R.T @ link.inertia @ R, box=None)


def _turned_joint(joint: Joint, R_P: np.ndarray, R_C: np.ndarray) -> Joint:
    rotor = joint.rotor and dataclasses.replace(joint.rotor, position=R_P.T @ joint.rotor.position)
    rotation, axis = R_P.T @ joint.rotation @ R_C, R_C.T @ joint.axis
    return dataclasses.replace(joint, origin=R_P.T @ joint.origin, rotation=rotation, axis=axis, rotor=rotor)


def with_arm(robot: Robot, name: str = "arm", axis: list[float] | None = None) -> Robot:
    """The robot with two more joints on its trunk, and no foot behind them."""
    trunk = robot.tree.bodies[0].name
    upper, lower = (
        Link(name=f"{name} {part}", mass=0.3, com=np.array([0.1, 0.0, 0.0]), inertia=1e-3 * np.eye(3))
        for part in ("one", "two")
    )
    turn = np.array([0.0, 0.0, 1.0] if axis is None else axis)
    joints = [
        Joint(
            name=f"{name} yaw",
            kind="revolute",
            parent=trunk,
            child=upper.name,
            origin=np.array([0.2, 0.0, 0.1]),
            axis=turn,
        ),
        Joint(
            name=f"{name} pitch",
            kind="revolute",
            parent=upper.name,
            child=lower.name,
            origin=np.array([0.2, 0.0, 0.0]),
            axis=turn,
        ),
    ]
    poses = {
        key: dataclasses.replace(pose, joints=np.concatenate([pose.joints, [0.0, 0.0]]))
        for key, pose in robot.poses.items()
    }
    return robot.replace(links=[*robot.links, upper, lower], joints=[*robot.joints, *joints], poses=poses)


def test_a_joint_parallel_in_some_like_limbs_only_counts_as_one_in_none():
    """Barkour v0: the knees of its left legs are canted; the four legs still have one program."""
    robot = ff.load("mini_cheetah")
    turn = np.array([0.08, 0.0, 0.0])
    joints = [
        dataclasses.replace(joint, axis=joint.axis + turn) if joint.name in ("LF_knee", "LH_knee") else joint
        for joint in robot.joints
    ]
    assert len(robot.parallel_joints) == 4
    assert robot.replace(joints=joints).parallel_joints == {}

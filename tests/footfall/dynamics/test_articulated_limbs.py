"""Limbs that touch nothing are folded into the base: the same motion as with rows of their own."""

from dataclasses import replace

import numpy as np
import pytest

import footfall as ff
from footfall.contact.points import Sphere
from footfall.control.interface import JointCommand
from footfall.dynamics.forward_dynamics import bias_forces
from footfall.kinematics.forward import joint_transforms
from footfall.robot.model.parts import Joint, Link
from footfall.sim.equations_of_motion import State, accelerate
from footfall.sim.joints import JointModel
from footfall.sim.world import World
from footfall.spatial.rotation import from_euler

SLANTED = np.array([0.6, 0.0, 0.8])


def with_arm() -> ff.Robot:
    """A Mini Cheetah with an arm of all kinds of joints, two fingers, and a tail of one joint."""
    robot = ff.load("mini_cheetah")
    trunk, random = robot.tree.bodies[0].name, np.random.default_rng(3)
    links, joints = [], []

    def add(name, parent, axis, origin, kind="revolute", rotation=None):
        inertia = np.diag(random.uniform(1.0, 1.4, 3)) * 2e-3
        links.append(Link(name=name, mass=random.uniform(0.1, 0.4), com=0.05 * random.normal(size=3), inertia=inertia))
        turn = np.eye(3) if rotation is None else rotation
        joints.append(
            Joint(
                name=f"{name}_joint",
                kind=kind,
                parent=parent,
                child=name,
                origin=np.array(origin),
                rotation=turn,
                axis=np.array(axis),
            )
        )

    add("shoulder", trunk, (0.0, 0.0, 1.0), (0.15, 0.0, 0.08))
    add("upper", "shoulder", (0.0, -1.0, 0.0), (0.0, 0.0, 0.0))
    add("slide", "upper", (1.0, 0.0, 0.0), (0.2, 0.0, 0.0), "prismatic")
    add("fore", "slide", SLANTED, (0.1, 0.0, 0.05), rotation=from_euler(np.array([0.3, -0.2, 0.5])))
    add("wrist", "fore", (1.0, 0.0, 0.0), (0.15, 0.0, 0.0), rotation=from_euler(np.array([0.1, 0.4, -0.3])))
    add("finger", "wrist", (0.0, 1.0, 0.0), (0.1, 0.02, 0.0))
    add("thumb", "wrist", (0.0, 1.0, 0.0), (0.1, -0.02, 0.0))
    add("tail", trunk, (0.0, 1.0, 0.0), (-0.2, 0.0, 0.05))
    poses = {
        name: replace(pose, joints=np.concatenate([pose.joints, np.full(len(joints), 0.2)]))
        for name, pose in robot.poses.items()
    }
    return replace(robot, links=[*robot.links, *links], joints=[*robot.joints, *joints], poses=poses)


ROBOT = with_arm()


def somewhere(random, height):
    q = ROBOT.state("stand")[0]
    q = ff.dynamics.integrate(ROBOT, np.array(q, dtype=float), 0.3 * random.normal(size=ROBOT.nv), 1.0)
    q[2] = height
    return q, random.normal(size=ROBOT.nv)


def in_world_terms(v, a):
    """Classical accelerations of the base, as a step has them."""
    return a + np.concatenate([np.zeros(3), np.cross(v[:3], v[3:6]), np.zeros(ROBOT.nj)])


def test_limbs_without_a_foot_are_free_and_those_that_touch_are_not():
    tree, world = ROBOT.tree, World(robot=ROBOT)
    names = [tree.bodies[i].name for i in world.free_limbs]
    assert names == ["shoulder", "upper", "slide", "fore", "wrist", "finger", "thumb", "tail"]
    assert World(robot=ff.load("mini_cheetah")).free_limbs == ()
    assert World(robot=replace(ROBOT, floating=False)).free_limbs == ()
    hand = Sphere(name="hand", body=[body.name for body in tree.bodies].index("thumb"), center=np.zeros(3), radius=0.01)
    touching = World(robot=ROBOT, spheres=(*world.spheres, hand))
    assert [tree.bodies[i].name for i in touching.free_limbs] == ["tail"]


@pytest.mark.parametrize("gravity", [(0.0, 0.0, -9.81), (1.0, -2.0, 0.5)])
def test_a_robot_in_the_air_moves_as_articulated_bodies_and_as_its_mass_matrix_say(gravity):
    random = np.random.default_rng(11)
    world = World(robot=ROBOT, joints=JointModel.ideal(), gravity=gravity)
    for _ in range(3):
        (q, v), tau = somewhere(random, 3.0), random.normal(size=ROBOT.nj)
        command = JointCommand(0.0, 0.0, 0.0, 0.0, tau).broadcast(ROBOT.nj)
        a, _ = accelerate(world, State(q, v), command, np.zeros(6), 1e-3)
        for referee in (ff.dynamics.articulated_body, ff.dynamics.forward_dynamics):
            expected = in_world_terms(v, referee(ROBOT, q, v, tau, gravity))
            np.testing.assert_allclose(a, expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("contact", ["compliant", "complementarity"])
def test_forces_that_acted_move_the_whole_mass_matrix(contact):
    """M a + bias = motors + losses + contact + pushes, on the ground, with implicit gains."""
    random, dt = np.random.default_rng(5), 1e-3
    world = World(robot=ROBOT, contact=ff.contact.named(contact), joints=JointModel.ideal())
    q, v = (np.array(x, dtype=float) for x in ROBOT.state("stand"))
    q[2] -= 1e-4
    v = 0.2 * random.normal(size=ROBOT.nv)
    command = JointCommand(q[7:] + 0.1, 0.0, 40.0, 1.0, random.normal(size=ROBOT.nj)).broadcast(ROBOT.nj)
    a, acted = accelerate(world, State(q, v), command, random.normal(size=6), dt)
    M = ff.dynamics.mass_matrix(ROBOT, q)
    bias = bias_forces(ROBOT, joint_transforms(ROBOT, q), v, classical=True)
    left = M @ a + bias - np.sum(acted.generalised, axis=0)
    assert np.abs(acted.forces).max() > 1.0
    np.testing.assert_allclose(left, 0.0, atol=1e-8 * max(1.0, float(np.abs(M @ a).max())))


@pytest.mark.slow
def test_a_traced_step_with_an_arm_is_the_one_in_numbers():
    world = World(robot=ROBOT, joints=JointModel.ideal())
    q, v = (np.array(x, dtype=float) for x in ROBOT.state("stand"))
    v = v + 0.1 * np.random.default_rng(8).normal(size=ROBOT.nv)
    command = JointCommand(q[7:] + 0.1, 0.0, 40.0, 1.0, 0.0).broadcast(ROBOT.nj)

    def found(world, q, v):
        return accelerate(world, State(q, v), command, np.zeros(6), 1e-3)[0]

    traced = ff.compile(found, world, q, v, target="interpret")(q, v)
    np.testing.assert_allclose(traced, found(world, q, v), rtol=1e-8, atol=1e-8)

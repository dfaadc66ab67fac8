"""Links that push each other apart: nothing passes through, and nothing comes of it for the robot as a whole."""

import numpy as np
import pytest

import footfall as ff
from footfall.contact.pairs import frame_about, nearest, pair_points, squared_distance
from footfall.dynamics.energy import kinetic_energy
from footfall.dynamics.momentum import momentum
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.robot import Foot, Joint, Link, Robot
from footfall.robot.library import load
from footfall.robot.model.shapes import box_inertia, rod_inertia
from footfall.sim.self_collision import SelfCollision, colliding_pairs

LENGTH, RADIUS = 0.3, 0.02


def tweezers(skew: float = 0.0) -> Robot:
    """Two rods side by side that hang from a box and swing towards each other, about axes that need not be parallel."""
    links, joints, feet = [Link(name="box", mass=2.0, inertia=box_inertia(2.0, (0.1, 0.4, 0.1)))], [], []
    for name, side in (("left", 1.0), ("right", -1.0)):
        links.append(Link(name=name, mass=0.4, com=np.array([0.0, 0.0, -LENGTH / 2]), inertia=rod_inertia(0.4, LENGTH)))
        axis = np.array([1.0, 0.0, side * skew])
        joints.append(
            Joint(
                name=f"{name}_hinge",
                kind="revolute",
                parent="box",
                child=name,
                origin=np.array([0.0, 0.1 * side, 0.0]),
                axis=axis,
            )
        )
        feet.append(Foot(name=name, link=name, position=np.array([0.0, 0.0, -LENGTH]), radius=RADIUS))
    return Robot(name="tweezers", links=links, joints=joints, feet=feet)


def closed(robot: Robot, **options):
    """Free in space, its rods driven towards each other, and past each other if nothing stops them."""
    q, v = robot.state(height=2.0)
    hold = ff.control.Hold(np.array([-0.8, 0.8]), kp=20.0, kd=0.3)
    return ff.Simulation(robot, hold, start=(q, v), gravity=(0, 0, 0), stop_on_fall=False, **options)


@pytest.mark.parametrize("skew", [0.0, 0.3])
def test_links_that_meet_stop_and_the_robot_gains_no_momentum(skew):
    robot = tweezers(skew)
    free, held = closed(robot), closed(robot, self_collision="force")
    watch = SelfCollision.of(robot)
    free.run(1.0)
    deep = watch.distances(free.q).min()
    rec = held.run(1.0)
    assert deep < -0.01  # they pass
    depth = -np.array([watch.distances(q).min() for q in rec.q])
    fastest = 2.0 * LENGTH * np.abs(rec.v[:, 6:]).max()  # of the tips towards each other
    assert depth.max() < fastest * 1e-3  # what they travel in a step
    assert depth[len(depth) // 2 :].max() < 1e-3
    carried = 0.4 * 0.5 * LENGTH * np.abs(rec.v[:, 6:]).max()  # by one rod at its fastest [kg m/s]
    assert np.abs(momentum(robot, held.q, held.v)).max() < 1e-3 * carried  # steps of 1 ms keep it no better
    assert np.abs(held.v[6:]).max() < 1e-3


def test_a_pair_moves_as_its_distance_does_and_its_force_is_none_on_the_base():
    robot, rng = load("xiling"), np.random.default_rng(6)
    pairs = colliding_pairs(robot, "force", ff.contact.Plane())
    q, _ = robot.state("stand")
    for _ in range(5):
        q[7:] = robot.poses["stand"].joints + 0.3 * rng.normal(size=robot.nj)
        v = np.concatenate([np.zeros(6), rng.normal(size=robot.nj)])
        h, found = 1e-6, []
        for side in (-h, 0.0, h):
            moved = q + side * np.concatenate([np.zeros(7), v[6:]])
            found.append(pair_points(robot, poses_in_base(robot, joint_transforms(robot, moved)), pairs))
        for before, now, after in zip(*found):
            assert (now.J[:, :6] == 0.0).all()
            rate = (after.distance - before.distance) / (2 * h)
            assert now.R_BC[:, 2] @ (now.J @ v) == pytest.approx(rate, abs=1e-6)


def test_links_at_rest_press_as_hard_as_their_motors():
    robot = tweezers()
    sim = closed(robot, self_collision="force")
    sim.run(2.0)
    force = float(np.linalg.norm(sim.state.forces[2:], axis=1).max())
    angle = sim.q[7:]
    torque = 20.0 * (np.array([-0.8, 0.8]) - angle)
    lever = LENGTH * np.cos(angle)  # of the tips, which meet
    assert force * lever == pytest.approx(np.abs(torque), rel=0.02)


def test_a_blow_between_links_takes_energy_and_gives_none():
    robot = tweezers()
    q, v = robot.state(height=2.0)
    v[6:] = -3.0, 2.0
    sim = ff.Simulation(
        robot,
        ff.control.Hold(np.zeros(2), kp=0.0, kd=0.0),
        start=(q, v),
        gravity=(0, 0, 0),
        stop_on_fall=False,
        self_collision="force",
        joints=ff.sim.JointModel.ideal(),
    )
    rec = sim.run(0.3)
    energies = np.array([kinetic_energy(robot, q, v) for q, v in zip(rec.q, rec.v)])
    assert np.diff(energies).max() < 1e-3 * energies[0]
    assert energies[-1] < 0.9 * energies[0]


def test_nearest_points_of_segments_are_nearer_than_any_other():
    rng = np.random.default_rng(4)
    s, t = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41))
    for _ in range(50):
        a, b, c, d = rng.normal(size=(4, 3))
        some = a + s[..., None] * (b - a) - c - t[..., None] * (d - c)
        assert squared_distance(a, b, c, d) <= (some**2).sum(axis=-1).min() + 1e-12
        one, other = nearest(a, b, c, d)
        assert 0.0 <= one <= 1.0
        assert 0.0 <= other <= 1.0


def test_axes_about_a_normal_are_a_rotation():
    rng = np.random.default_rng(5)
    for n in [*rng.normal(size=(20, 3)), np.array([0.0, 0.0, -1.0]), np.array([0.0, 1.0, 0.0])]:
        R = frame_about(n / np.linalg.norm(n))
        assert np.allclose(R.T @ R, np.eye(3))
        assert np.linalg.det(R) == pytest.approx(1.0)
        assert np.allclose(R[:, 2], n / np.linalg.norm(n))

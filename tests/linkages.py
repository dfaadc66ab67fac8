"""Machines with closed loops that no library robot is: for tests of loops."""

import numpy as np

from footfall.kinematics.forward import body_poses
from footfall.robot.model.description import Actuator, Joint, Link, Loop, Pose, Robot
from footfall.robot.model.shapes import box_inertia
from footfall.spatial.rotation import about_axis


def _bar(name, mass, length, direction=(0.0, 0.0, -1.0)):
    com = 0.5 * length * np.array(direction)
    return Link(name, mass, com, box_inertia(mass, (0.03, 0.02, 0.04 + length)))


def five_bar(floating=False, tilt=0.3):
    """Two motors 70 mm apart, bars of four lengths, pinned at the end, in a plane that is no coordinate plane."""
    R = about_axis(np.array([0.6, 0.0, 0.8]), tilt)
    axis, down = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -1.0])
    links = [Link("body", 2.0, np.array([0.01, 0.0, 0.02]), box_inertia(2.0, (0.2, 0.1, 0.1))), _bar("a", 0.3, 0.13),
             _bar("b", 0.2, 0.21), _bar("c", 0.25, 0.11), _bar("d", 0.15, 0.24)]  # fmt: skip
    joints = [Joint("m1", "revolute", "body", "a", np.array([0.035, 0.0, 0.0]), R, axis, armature=0.002),
              Joint("k1", "revolute", "a", "b", 0.13 * down, axis=axis),
              Joint("m2", "revolute", "body", "c", np.array([0.035, 0.0, 0.0]) - 0.07 * R[:, 0], R, axis),
              Joint("k2", "revolute", "c", "d", 0.11 * down, axis=axis)]  # fmt: skip
    loop = Loop("pin", "point", "b", "d", 0.21 * down, 0.24 * down)
    return Robot("five_bar", links, joints, actuators=[Actuator("m1", 10.0), Actuator("m2", 10.0)], floating=floating,
                 loops=[loop])  # fmt: skip


def welded_ring():
    """A spatial chain of seven hinges about skew axes whose last link is welded back to the first: one freedom."""
    rng = np.random.default_rng(5)
    links, joints = [Link("base", 3.0, np.zeros(3), box_inertia(3.0, (0.2, 0.2, 0.1)))], []
    for k in range(7):
        parent = f"l{k - 1}" if k else "base"
        size, place = rng.uniform(0.05, 0.15, 3), rng.uniform(0.05, 0.2, 3)
        links.append(Link(f"l{k}", 0.3 + 0.1 * k, 0.3 * place, box_inertia(0.3 + 0.1 * k, tuple(size))))
        joints.append(Joint(f"j{k}", "revolute", parent, f"l{k}", place, axis=rng.normal(size=3)))
    # the weld is where the chain ends with its joints at these angles
    tree = Robot("ring", links, joints, floating=True)
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0], rng.uniform(-0.4, 0.4, 7)])
    X = body_poses(tree, q)
    end = X[7].point(np.array([0.05, 0.02, -0.03]))
    loop = Loop("weld", "frame", "base", "l6", end, np.array([0.05, 0.02, -0.03]), X[7].R)
    return Robot("ring", links, joints, floating=True, loops=[loop], poses={"stand": Pose(q[7:])})


def geared():
    """Two arms on one base: the second joint is a cubic of the first, a slide follows an arm in proportion."""
    axis = np.array([0.0, 1.0, 0.0])
    base = Link("base", 1.0, np.zeros(3), box_inertia(1.0, (0.2, 0.2, 0.1)))
    links = [base, _bar("a", 0.4, 0.2), _bar("b", 0.3, 0.2), _bar("s", 0.2, 0.1)]  # fmt: skip
    joints = [Joint("qa", "revolute", "base", "a", axis=axis), Joint("qb", "revolute", "base", "b", axis=axis),
              Joint("slide", "prismatic", "b", "s", axis=np.array([0.0, 0.0, 1.0]))]  # fmt: skip
    loops = [Loop("gear", "joint", "qb", "qa", coefficients=(0.1, -0.8, 0.05, 0.3)),
             Loop("rack", "joint", "slide", "qa", coefficients=(0.0, 0.04))]  # fmt: skip
    return Robot("geared", links, joints, actuators=[Actuator("qa", 5.0)], floating=False, loops=loops)

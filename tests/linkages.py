"""Machines with closed loops that no library robot is: for tests of loops."""

import numpy as np

from footfall.kinematics.forward import body_poses
from footfall.robot.model.description import Actuator, Joint, Link, Loop, Pose, Robot
from footfall.robot.model.shapes import box_inertia
from footfall.spatial.rotation import about_axis


def _bar(name, mass, length, direction=(0.0, 0.0, -1.0)):
    com = 0.5 * length * np.array(direction)
    return Link(name=name, mass=mass, com=com, inertia=box_inertia(mass, (0.03, 0.02, 0.04 + length)))


def five_bar(floating=False, tilt=0.3):
    """Two motors 70 mm apart, bars of four lengths, pinned at the end, in a plane that is no coordinate plane."""
    R = about_axis(np.array([0.6, 0.0, 0.8]), tilt)
    axis, down = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -1.0])
    links = [
        Link(name="body", mass=2.0, com=np.array([0.01, 0.0, 0.02]), inertia=box_inertia(2.0, (0.2, 0.1, 0.1))),
        _bar("a", 0.3, 0.13),
        _bar("b", 0.2, 0.21),
        _bar("c", 0.25, 0.11),
        _bar("d", 0.15, 0.24),
    ]
    joints = [
        Joint(
            name="m1",
            kind="revolute",
            parent="body",
            child="a",
            origin=np.array([0.035, 0.0, 0.0]),
            rotation=R,
            axis=axis,
            armature=0.002,
        ),
        Joint(name="k1", kind="revolute", parent="a", child="b", origin=0.13 * down, axis=axis),
        Joint(
            name="m2",
            kind="revolute",
            parent="body",
            child="c",
            origin=np.array([0.035, 0.0, 0.0]) - 0.07 * R[:, 0],
            rotation=R,
            axis=axis,
        ),
        Joint(name="k2", kind="revolute", parent="c", child="d", origin=0.11 * down, axis=axis),
    ]
    loop = Loop(name="pin", kind="point", first="b", second="d", at=0.21 * down, to=0.24 * down)
    return Robot(
        name="five_bar",
        links=links,
        joints=joints,
        actuators=[Actuator(joint="m1", torque_limit=10.0), Actuator(joint="m2", torque_limit=10.0)],
        floating=floating,
        loops=[loop],
    )


def welded_ring():
    """A spatial chain of seven hinges about skew axes whose last link is welded back to the first: one freedom."""
    rng = np.random.default_rng(5)
    links, joints = [Link(name="base", mass=3.0, com=np.zeros(3), inertia=box_inertia(3.0, (0.2, 0.2, 0.1)))], []
    for k in range(7):
        parent = f"l{k - 1}" if k else "base"
        size, place = rng.uniform(0.05, 0.15, 3), rng.uniform(0.05, 0.2, 3)
        links.append(
            Link(name=f"l{k}", mass=0.3 + 0.1 * k, com=0.3 * place, inertia=box_inertia(0.3 + 0.1 * k, tuple(size)))
        )
        joints.append(
            Joint(name=f"j{k}", kind="revolute", parent=parent, child=f"l{k}", origin=place, axis=rng.normal(size=3))
        )
    # the weld is where the chain ends with its joints at these angles
    tree = Robot(name="ring", links=links, joints=joints, floating=True)
    q = np.concatenate([[0, 0, 0, 1, 0, 0, 0], rng.uniform(-0.4, 0.4, 7)])
    X = body_poses(tree, q)
    end = X[7].point(np.array([0.05, 0.02, -0.03]))
    loop = Loop(
        name="weld", kind="frame", first="base", second="l6", at=end, to=np.array([0.05, 0.02, -0.03]), rotation=X[7].R
    )
    return Robot(name="ring", links=links, joints=joints, floating=True, loops=[loop], poses={"stand": Pose(q[7:])})


def geared():
    """Two arms on one base: the second joint is a cubic of the first, a slide follows an arm in proportion."""
    axis = np.array([0.0, 1.0, 0.0])
    base = Link(name="base", mass=1.0, com=np.zeros(3), inertia=box_inertia(1.0, (0.2, 0.2, 0.1)))
    links = [base, _bar("a", 0.4, 0.2), _bar("b", 0.3, 0.2), _bar("s", 0.2, 0.1)]
    joints = [
        Joint(name="qa", kind="revolute", parent="base", child="a", axis=axis),
        Joint(name="qb", kind="revolute", parent="base", child="b", axis=axis),
        Joint(name="slide", kind="prismatic", parent="b", child="s", axis=np.array([0.0, 0.0, 1.0])),
    ]
    loops = [
        Loop(name="gear", kind="joint", first="qb", second="qa", coefficients=(0.1, -0.8, 0.05, 0.3)),
        Loop(name="rack", kind="joint", first="slide", second="qa", coefficients=(0.0, 0.04)),
    ]
    return Robot(
        name="geared",
        links=links,
        joints=joints,
        actuators=[Actuator(joint="qa", torque_limit=5.0)],
        floating=False,
        loops=loops,
    )

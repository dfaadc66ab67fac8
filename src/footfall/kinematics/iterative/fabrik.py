"""FABRIK for a whole robot: several end effectors, after section 4.3 of Aristidou and Lasenby 2011.

Each leg reaches for its foot's target. Joints that carry several feet (a spine), if they may move, rotate all of these
feet towards their targets together: this is the paper's sub-base, which moves to the mean of the positions required by
its chains.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import InputError
from footfall.kinematics.forward import check_shape, joint_transforms, poses_in_base
from footfall.kinematics.iterative.fabrik_leg import (
    ITERATIONS,
    TOLERANCE,
    Reached,
    distance,
    fabrik_leg,
    sweep,
    towards,
)
from footfall.kinematics.leg_chain import LegChain, Screw, foot_position, leg_chain
from footfall.robot.model.description import Robot
from footfall.spatial.transform import Transform
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float


def fabrik(
    robot: Robot,
    targets: Float[ndarray, "nf 3"],
    joints: Float[ndarray, "nj"],
    foot_pitch: Scalar | None = None,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    shared: bool = False,
) -> Reached:
    """Solve the inverse kinematics of all legs by FABRIK.

    Args:
        robot: The robot.
        targets: Positions of the feet's centres in the frame of the base [m].
        joints: Joint values to start from.
        foot_pitch: Contact angle of a redundant last link [rad]; None keeps it near the start's.
        iterations: Largest number of iterations.
        tolerance: Distance at which the target counts as reached [m].
        shared: Also move joints that carry several feet (a spine).

    Returns:
        All joint values, remaining distances [m], and iterations used.
    """
    _check(robot, targets, joints)
    legs = [leg_chain(robot, name) for name in robot.foot_names]
    if not shared:
        carriers = _carriers(robot, legs, joints)
        found, far, used = list(joints), list[Operand](), list[Operand]()
        for k, (leg, X_0C) in enumerate(zip(legs, carriers)):
            start = [joints[j] for j in leg.joints]
            reached = fabrik_leg(leg, X_0C.inverse().point(targets[k]), start, foot_pitch, iterations, tolerance)
            for j, value in zip(leg.joints, reached.joints):
                found[j] = value
            far.append(reached.residual)
            used.append(reached.iterations)
        return Reached(np.stack(found), np.stack(far), np.stack(used))

    def body(_: Scalar, carry: tuple[PyTree, PyTree, PyTree]) -> tuple[PyTree, PyTree, PyTree]:
        now, far, used = carry
        better = _sweep_all(robot, legs, targets, list(now), foot_pitch)
        done = np.max(far) <= tolerance
        left = _misses(robot, legs, targets, better)
        return np.where(done, now, better), np.where(done, far, left), used + np.where(done, 0.0, 1.0)

    limits = [_screw_of(robot, j) for j in range(robot.nj)]
    first = np.stack([screw.within(value) for screw, value in zip(limits, joints)])
    carry = (first, _misses(robot, legs, targets, first), 0.0)
    return Reached(*nptrace.repeat(iterations, body, carry, until=lambda c: np.max(c[1]) <= tolerance))


# -- several feet ------------------------------------------------------------------------------------------------------
def _sweep_all(
    robot: Robot, legs: list[LegChain], targets: Operand, joints: list[Operand], foot_pitch: Operand
) -> Float[ndarray, "nj"]:
    """Run one iteration over the tree: the legs reach, then shared joints rotate their feet towards the targets
    together.
    """
    for k, (leg, X_0C) in enumerate(zip(legs, _carriers(robot, legs, np.stack(joints)))):
        swept = sweep(leg, X_0C.inverse().point(targets[k]), [joints[j] for j in leg.joints], foot_pitch)
        for j, value in zip(leg.joints, swept):
            joints[j] = value
    own = {j for leg in legs for j in leg.joints}
    for j in (j for j in range(robot.nj) if j not in own):
        served = [k for k, f in enumerate(robot.tree.feet) if j + 1 in robot.tree.support[f]]
        if served:
            screw, poses = _screw_of(robot, j), _poses(robot, np.stack(joints))
            X = (poses[robot.tree.parent[j + 1]] @ robot.tree.bodies[j + 1].X_PJ).inverse()
            feet = [poses[robot.tree.feet[k]].point(robot.tree.foot_positions[k]) for k in served]
            by = towards(screw, [X.point(foot) for foot in feet], [X.point(targets[k]) for k in served])
            joints[j] = screw.within(joints[j] + by)
    return np.stack(joints)


def _screw_of(robot: Robot, j: int) -> Screw:
    """Return a joint's screw in its own frame."""
    body = robot.tree.bodies[j + 1]
    assert body.joint is not None
    x, y, z = (float(a) for a in body.axis)
    return Screw(body.kind, (x, y, z), (0.0, 0.0, 0.0), body.joint.lower, body.joint.upper)


def _poses(robot: Robot, joints: Scalar) -> list[Transform]:
    base = [np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])] if robot.floating else []
    return poses_in_base(robot, joint_transforms(robot, np.concatenate([*base, joints])))


def _carriers(robot: Robot, legs: list[LegChain], joints: Scalar) -> list[Transform]:
    if all(leg.carrier == 0 for leg in legs):
        return [Transform.identity()] * len(legs)
    poses = _poses(robot, joints)
    return [poses[leg.carrier] for leg in legs]


def _misses(robot: Robot, legs: list[LegChain], targets: Operand, joints: Operand) -> Float[ndarray, "nf"]:
    carriers = _carriers(robot, legs, joints)
    return np.stack(
        [
            distance(X_0C.point(foot_position(leg, [joints[j] for j in leg.joints])), targets[k])
            for k, (leg, X_0C) in enumerate(zip(legs, carriers))
        ]
    )


def _check(robot: Robot, targets: Operand, joints: Operand) -> None:
    check_shape(robot, joints=(joints, robot.nj))
    if np.shape(targets) != (robot.nf, 3):
        raise InputError(f"targets of robot '{robot.name}' must have shape ({robot.nf}, 3), got {np.shape(targets)}")

"""Robots with closed loops in the coordinates of their motors, for the whole-body QP.

Loops couple joints without a motor to those with one: G a = -γ, so that a = N a_d + n, and loop-closure forces do no
work on motions N (Featherstone 2008, section 8.5: Nᵀ Gᵀ = 0). The QP of a tree,

    M a - Jᵀ f = S τ - bias,   becomes   NᵀMN a_d - (JN)ᵀ f = τ - Nᵀ(bias + M n),

that of a robot with as many joints as motors: nothing else in it changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy import ndarray

import nptrace
from footfall.control.posture import standing_state
from footfall.errors import InputError
from footfall.kinematics.closed_loops import loop_drift, loop_joints, loop_map
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Foot, Joint, Link, Robot
from nptrace.array_types import Bool, Float

_ZERO_COLUMN = 1e-9  # fraction of a column: a joint below it does not move a foot


@dataclass(frozen=True, eq=False)
class ActuatedJoints:
    """Which joints of a robot have motors, and which follow them.

    ``serial_robot`` has the motors' joints alone, in serial chains to the feet that they move: it defines which joint
    moves which foot, the motors' strength and the robot's weight. Its inertias are never used.
    """

    joints: tuple[int, ...]
    serial_robot: Robot

    def all_joints(self, values: Float[ndarray, "nd"], count: int) -> Float[ndarray, "nj"]:
        """Return numbers of the driven joints in the order of all joints, zero for the others."""
        full = np.zeros(count)
        for value, j in zip(values, self.joints):
            full[j] = value
        return full


@dataclass(frozen=True)
class Reduced:
    """The terms of the whole-body QP in the coordinates of the motors."""

    M: Float[ndarray, "n n"]
    bias: Float[ndarray, "n"]
    J: Float[ndarray, "4 3 n"]
    rate_J: Float[ndarray, "4 3"]


@lru_cache(maxsize=16)
def actuated_joints(robot: Robot) -> ActuatedJoints | None:
    """Return the actuated joints; None for a robot without loops."""
    if not robot.loops:
        return None
    joints, motors = loop_joints(robot).independent, {actuator.joint for actuator in robot.actuators}
    if {robot.joint_names[j] for j in joints} != motors:
        raise InputError(
            f"locomotion needs as many motors as the loops of robot '{robot.name}' leave degrees of freedom: it has"
            f" {len(motors)} motors and {len(joints)} degrees of freedom"
        )
    q, _ = standing_state(robot)
    with nptrace.untraced():
        J = feet_jacobian(robot, q)[:4, 3:] @ loop_map(robot, q)
    return ActuatedJoints(joints, _serial_robot(robot, joints, np.abs(J[:, :, 6:]).max(axis=1) > _ZERO_COLUMN))


def reduced(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    M: ndarray,
    bias: ndarray,
    J: ndarray,
    rate_J: ndarray,
) -> Reduced:
    """Return the reduced terms: see the module docstring."""
    N, n = loop_map(robot, q), loop_drift(robot, q, v)
    return Reduced(
        N.T @ (M @ N),
        N.T @ (bias + M @ n),
        np.stack([J_k @ N for J_k in J]),
        np.stack([rate + J_k @ n for rate, J_k in zip(rate_J, J)]),
    )


def _serial_robot(robot: Robot, joints: tuple[int, ...], moves_foot: Bool[ndarray, "4 nd"]) -> Robot:
    """Return a robot with the motors' joints in serial chains, each to the foot that it moves."""
    mass = robot.mass / (len(joints) + 1)
    links, joints_made, feet = [Link(name="base", mass=mass, inertia=mass * np.eye(3))], [], []
    ends = dict.fromkeys(range(4), "base")
    for column, j in enumerate(joints):
        moved_feet = np.flatnonzero(moves_foot[:, column])
        if len(moved_feet) > 1:
            raise InputError(
                f"locomotion supports only loops within legs: joint '{robot.joint_names[j]}' of robot"
                f" '{robot.name}' moves"
                f" {len(moved_feet)} feet"
            )
        name = robot.joint_names[j]
        links.append(Link(name=f"{name}_serial_robot", mass=mass, inertia=mass * np.eye(3)))
        parent = ends[int(moved_feet[0])] if len(moved_feet) else "base"
        joints_made.append(Joint(name=name, kind="revolute", parent=parent, child=f"{name}_serial_robot"))
        if len(moved_feet):
            ends[int(moved_feet[0])] = f"{name}_serial_robot"
    for k, foot in enumerate(robot.feet[:4]):
        feet.append(Foot(name=foot.name, link=ends[k], position=np.zeros(3), radius=foot.radius))
    motors = [actuator for actuator in robot.actuators if actuator.joint in {joint.name for joint in joints_made}]
    serial = Robot(name=f"{robot.name}_driven", links=links, joints=joints_made, feet=feet, actuators=motors)
    if serial.joint_names != tuple(robot.joint_names[j] for j in joints):
        raise InputError(f"locomotion needs the motors of robot '{robot.name}' leg by leg, not {serial.joint_names}")
    return serial

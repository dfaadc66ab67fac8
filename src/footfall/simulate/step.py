"""One step of the simulation: the whole architecture on one page, as in sections 4-6 of de Paula et al. 2024.

    joint command -> joint torques -> bias forces and mass matrix -> contact -> accelerations -> next state

Follow any call down to an equation of a paper. Called with symbols, this page is what gets compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.compliant import Compliant
from footfall.contact.ground import Ground, Plane
from footfall.contact.points import Sphere, contact_points, spheres_of
from footfall.control.interface import JointCommand
from footfall.dynamics.forward_dynamics import bias_forces
from footfall.dynamics.gravity_terms import GRAVITY
from footfall.dynamics.mass_matrix import composite_mass_matrix
from footfall.kinematics.forward import joint_positions, joint_rates, joint_transforms, poses_in_base
from footfall.robot.description import Robot
from footfall.simulate.actuators import JointModel, joint_forces
from footfall.spatial import Transform, cross
from footfall.spatial.quaternion import rotated, to_rotation


@dataclass(frozen=True)
class World:
    """Everything that does not change during a run."""

    robot: Robot
    ground: Ground = field(default_factory=Plane)
    contact: Any = field(default_factory=Compliant)
    joints: JointModel = field(default_factory=JointModel)
    gravity: tuple[float, float, float] = GRAVITY
    spheres: tuple[Sphere, ...] = ()

    def __post_init__(self) -> None:
        if not self.spheres:
            object.__setattr__(self, "spheres", spheres_of(self.robot))


@dataclass(frozen=True)
class State:
    """Configuration and velocity."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]


@dataclass(frozen=True)
class Happened:
    """What acted during a step."""

    torque: Float[ndarray, "nj"]  # of the motors [N m]
    forces: Float[ndarray, "ns 3"]  # on the spheres, world axes [N]
    power: Float[ndarray, "4"]  # of motors, passive joint torques, contact, pushes [W]


def step(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "6"], dt: float
) -> tuple[State, Happened]:
    """The state after dt. ``push``: a wrench (n, f) on the base at its origin, in world axes.

    The linear velocity advances in world axes and is rotated back, so that turning does not feed the speed.
    """
    a, happened = accelerate(world, state, command, push, dt)
    return advance(world.robot, state, a, dt), happened


def accelerate(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "6"], dt: float
) -> tuple[Float[ndarray, "nv"], Happened]:
    """Classical accelerations of the base and accelerations of the joints, and what caused them.

    With an implicit contact law joint feedback is implicit as well.
    """
    robot, v = world.robot, state.v
    X = joint_transforms(robot, state.q)
    rates = joint_rates(robot, v)
    ahead = dt if world.contact.implicit else 0.0

    torques = joint_forces(robot, world.joints, joint_positions(robot, state.q), rates, command, ahead)
    M = composite_mass_matrix(robot, X)
    if world.contact.implicit:
        M = M + np.diag(_behind_base(robot, dt * torques.slope))
    force = _behind_base(robot, torques.total) + _pushed(robot, X[0], push)
    force = force - bias_forces(robot, X, v, world.gravity, classical=True)

    points = contact_points(robot, X, poses_in_base(robot, X), world.spheres, world.ground)
    a, forces_C = world.contact.accelerate(robot, M, force, points, v, dt)

    forces_W = [X[0].R @ (point.R_BC @ f) for point, f in zip(points, forces_C)]
    power = np.stack(
        [
            torques.motor @ rates,
            torques.passive @ rates,
            sum(f @ (point.R_BC.T @ (point.J @ v)) for point, f in zip(points, forces_C)),
            _pushed(robot, X[0], push) @ v,
        ]
    )
    return a, Happened(torques.motor, np.stack(forces_W) if forces_W else np.zeros((0, 3)), power)


def advance(robot: Robot, state: State, a: Float[ndarray, "nv"], dt: float) -> State:
    """Semi-implicit Euler: velocities first, then positions with the new velocities."""
    q, v = state.q, state.v
    if not robot.floating:
        rates = v + dt * a
        return State(q + dt * rates, rates)
    v_W = to_rotation(q[3:7]) @ (v[3:6] + dt * a[3:6])
    omega, rates = v[:3] + dt * a[:3], v[6:] + dt * a[6:]
    quat = rotated(q[3:7], dt * omega)
    return State(
        np.concatenate([q[:3] + dt * v_W, quat, q[7:] + dt * rates]),
        np.concatenate([omega, to_rotation(quat).T @ v_W, rates]),
    )


def _behind_base(robot: Robot, joints: Float[ndarray, "nj"]) -> Float[ndarray, "nv"]:
    """Sᵀ: joint quantities behind six zeros of a floating base."""
    return np.concatenate([np.zeros(6), joints]) if robot.floating else joints


def _pushed(robot: Robot, X_WB: Transform, push: Float[ndarray, "6"]) -> Float[ndarray, "nv"]:
    if not robot.floating:
        return np.zeros(robot.nv)
    return np.concatenate([X_WB.R.T @ push[:3], X_WB.R.T @ push[3:], np.zeros(robot.nj)])


__all__ = ["Happened", "State", "World", "accelerate", "advance", "cross", "step"]

"""The robot as a system x' = f(x, u), y = g(x, u): section 6.1, eqs. (39)-(43), of de Paula et al. 2024, with contact.

    block = ff.Block(robot)
    rate = ff.compile(ff.Block.f, block)          # x' for your own solver
    x = block.state(*robot.state("stand"))

u are the joint torques [N m]. x is that of ``state_space`` (ZYX angles), or with a quaternion instead, which has no
singular attitude. y contains ideal sensor readings: joint angles and rates, specific force and angular velocity of the
base in its axes, force on every foot in world axes. g has direct feedthrough: accelerations depend on u. The contact
model is evaluated explicitly, as printed; a hard one gives impulses instead of rates, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.contact.compliant import Compliant
from footfall.contact.ground import Ground, Plane
from footfall.contact.model import ContactModel, as_contact_model
from footfall.control.interface import JointCommand
from footfall.dynamics.coordinates import to_euler_coordinates
from footfall.errors import InputError, unknown
from footfall.identity import digest_of
from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.parameters import replaced
from footfall.robot.model.description import Robot
from footfall.sim.arguments import check_robot
from footfall.sim.equations_of_motion import Acted, State, accelerate
from footfall.sim.joints import JointModel
from footfall.sim.step import match_implicitness
from footfall.sim.world import World
from footfall.spatial import cross
from footfall.spatial.gravity import GRAVITY
from footfall.spatial.quaternion import from_zyx, rate, to_rotation
from nptrace._types import Scalar
from nptrace.array_types import Float

COORDINATES = ("euler", "quaternion")
_AXES = ("x", "y", "z")


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """A robot on a ground as a system x' = f(x, u), y = g(x, u), for other solvers.

    Both compile: ``ff.compile(ff.Block.f, block)``.
    """

    robot: Robot
    contact: ContactModel = field(default_factory=Compliant.as_printed)
    ground: Ground = field(default_factory=Plane)
    joints: JointModel = field(default_factory=JointModel)
    gravity: tuple[float, float, float] = GRAVITY
    coordinates: str = "euler"

    def __post_init__(self) -> None:
        check_robot(self.robot)
        if self.coordinates not in COORDINATES:
            raise unknown("coordinates of a block", self.coordinates, COORDINATES)
        contact = as_contact_model(self.contact)
        if contact.hard:
            raise InputError(
                "a block is a differential equation, and hard contact gives impulses: choose compliant contact"
            )
        object.__setattr__(self, "contact", contact)

    # -- sizes and names ---------------------------------------------------------------------------------------------
    @property
    def nx(self) -> int:
        return len(self.state_names)

    @property
    def nu(self) -> int:
        return self.robot.nj

    @property
    def ny(self) -> int:
        return len(self.output_names)

    @property
    def state_names(self) -> list[str]:
        joints = self.robot.joint_names
        base, motion = [], []
        if self.robot.floating:
            angles = ("yaw", "pitch", "roll") if self.coordinates == "euler" else ("qw", "qx", "qy", "qz")
            positions = [f"position.{axis}" for axis in _AXES]
            base = [*angles, *positions] if self.coordinates == "euler" else [*positions, *angles]
            motion = [f"{what}.{axis}" for what in ("angular_velocity", "velocity") for axis in _AXES]
        return [*base, *(f"angle.{j}" for j in joints), *motion, *(f"rate.{j}" for j in joints)]

    @property
    def input_names(self) -> list[str]:
        return [f"torque.{joint}" for joint in self.robot.joint_names]

    @property
    def output_names(self) -> list[str]:
        joints = self.robot.joint_names
        inertial = ("specific_force", "angular_velocity") if self.robot.floating else ()
        return [
            *(f"angle.{j}" for j in joints),
            *(f"rate.{j}" for j in joints),
            *(f"{what}.{axis}" for what in inertial for axis in _AXES),
            *(f"force.{foot.name}.{axis}" for foot in self.robot.feet for axis in _AXES),
        ]

    # -- states ------------------------------------------------------------------------------------------------------
    def state(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> ndarray:
        """Return x for footfall's own (q, v)."""
        if self.coordinates == "euler" and self.robot.floating:
            return np.concatenate([to_euler_coordinates(self.robot, q, "zyx"), v])
        return np.concatenate([q, v])

    def configuration(self, x: Float[ndarray, "nx"]) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
        """Return (q, v) of x; the quaternion is normalised."""
        robot, split = self.robot, len(x) - self.robot.nv
        if not robot.floating:
            return x[:split], x[split:]
        if self.coordinates == "euler":
            return np.concatenate([x[3:6], from_zyx(x[:3]), x[6:split]]), x[split:]
        quat = x[3:7] / np.sqrt(x[3:7] @ x[3:7])
        return np.concatenate([x[:3], quat, x[7:split]]), x[split:]

    # -- the equations -----------------------------------------------------------------------------------------------
    def f(self, x: Float[ndarray, "nx"], u: Float[ndarray, "nu"]) -> Float[ndarray, "nx"]:
        """Return x' = f(x, u), eq. (43)."""
        q, v = self.configuration(x)
        a, _ = self._accelerated(q, v, u)
        if not self.robot.floating:
            return np.concatenate([v, a])
        velocity, rates = to_rotation(q[3:7]) @ v[3:6], v[6:]
        if self.coordinates == "euler":
            motion = [_angle_rates(x, v[:3]), velocity, rates]
        else:
            motion = [velocity, rate(x[3:7], v[:3]), rates]
        return np.concatenate([*motion, a[:3], a[3:6] - cross(v[:3], v[3:6]), a[6:]])

    def g(self, x: Float[ndarray, "nx"], u: Float[ndarray, "nu"]) -> Float[ndarray, "ny"]:
        """Return y = g(x, u): see ``output_names``."""
        robot = self.robot
        q, v = self.configuration(x)
        a, acted = self._accelerated(q, v, u)
        inertial = []
        if robot.floating:
            inertial = [a[3:6] - to_rotation(q[3:7]).T @ np.array(self.gravity), v[:3]]
        feet = np.reshape(acted.forces[: robot.nf], 3 * robot.nf)
        return np.concatenate([joint_positions(robot, q), joint_rates(robot, v), *inertial, feet])

    def contact_forces(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nf 3"]:
        """Evaluate the contact model alone: the force on every foot, world axes [N]."""
        return self._accelerated(q, v, np.zeros(self.robot.nj))[1].forces

    def _accelerated(self, q: ndarray, v: ndarray, u: ndarray) -> tuple[Float[ndarray, "nv"], Acted]:
        return accelerate(self.world, State(q, v), JointCommand(torque=u).broadcast(self.robot.nj), np.zeros(6), 0.0)

    @property
    def world(self) -> World:
        """Return the world of the equations, with the contact model evaluated explicitly."""
        world = World(
            robot=self.robot, ground=self.ground, contact=self.contact, joints=self.joints, gravity=self.gravity
        )
        return match_implicitness("rk4", world)

    # -- named parameters, as of a world -----------------------------------------------------------------------------
    def parameter(self, path: str) -> Scalar:
        """Return ``"ground.friction"``, ``"contact.stiffness"``, or a parameter of the robot."""
        return self.world.parameter(path)

    def with_parameters(self, parameters: Mapping[str, Scalar]) -> Block:
        """Return an unchecked copy with the named parameters set; values may be traced."""
        world, block = self.world.with_parameters(parameters), self
        for part in ("robot", "contact", "ground", "joints"):
            block = replaced(block, part, getattr(world, part))
        return block

    @cached_property
    def digest(self) -> str | None:
        """Return the digest; None if a part is user-defined, since only its code describes it."""
        return digest_of(self)


def _angle_rates(angles: ndarray, omega: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Return the rates of (yaw, pitch, roll) of a base that rotates at omega in its own axes: eq. (41), corrected."""
    pitch, roll = angles[1], angles[2]
    yawing = (np.sin(roll) * omega[1] + np.cos(roll) * omega[2]) / np.cos(pitch)
    return np.stack([yawing, np.cos(roll) * omega[1] - np.sin(roll) * omega[2], omega[0] + np.sin(pitch) * yawing])

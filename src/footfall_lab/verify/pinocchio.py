"""Pinocchio as an independent reference: the robot rebuilt joint by joint in its model, results in our coordinates.

Rotors of mode ``exact`` become bodies with separate joints. Their rates follow the robot's, v_theirs = G v with a
constant G that also carries the change of layout, and every result is projected by it: M = Gᵀ M G, b = Gᵀ b, J = J G.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy import ndarray

from footfall.conversions import pinocchio_map, to_pinocchio_q
from footfall.errors import MissingExtraError
from footfall.mujoco.assembly import Part, parts_of, spring_energy
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY
from nptrace._types import Foreign
from nptrace.array_types import Float


def library() -> ModuleType:
    """Return the pinocchio module, or raise MissingExtraError."""
    try:
        import pinocchio
    except ImportError:
        raise MissingExtraError("comparing with Pinocchio", "compare", "pin") from None
    if not hasattr(pinocchio, "crba"):  # on PyPI, pinocchio is a different project
        raise MissingExtraError("comparing with Pinocchio", "compare", "pin")
    return pinocchio


class Pinocchio:
    """A robot in Pinocchio. Arguments and results are in footfall's layout."""

    def __init__(self, robot: Robot, gravity: tuple[float, float, float] = GRAVITY) -> None:
        self.pin = library()
        self.robot = robot
        self.parts = parts_of(robot)
        self.model, self.joint_ids = _build(self.pin, robot, self.parts)
        self.model.gravity.linear = np.array(gravity, dtype=float)
        self.bare = self.model.copy()  # without armature
        self.bare.armature = np.zeros(self.model.nv)
        self.data = self.model.createData()
        order = {name: k for k, name in enumerate(robot.joint_names)}
        self.followers = [
            (self.model.idx_vs[i], self.model.idx_qs[i], order[part.joint], part.gear)
            for i, part in zip(self.joint_ids, self.parts)
            if part.joint
        ]  # (index in their v, index in their q, number of our joint, gear) for each of their one-axis joints
        self.G = self._velocity_map()
        self.feet = [self.model.getFrameId(f"foot {name}") for name in robot.foot_names]

    # -- coordinates ---------------------------------------------------------------------------------------------------
    def q_of(self, q: Float[ndarray, "nq"]) -> ndarray:
        """Return their q; a rotor's position is gear times its joint's."""
        plain = to_pinocchio_q(self.robot, q)
        base = 7 if self.robot.floating else 0
        out = np.zeros(self.model.nq)
        out[:base] = plain[:base]
        joints = plain[base:]
        for _, at_q, joint, gear in self.followers:
            out[at_q] = gear * joints[joint]
        return out

    def v_of(self, v: Float[ndarray, "nv"]) -> ndarray:
        """Return their v, or accelerations."""
        return self.G @ v

    # -- dynamics ------------------------------------------------------------------------------------------------------
    def mass_matrix(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv nv"]:
        upper = np.triu(self.pin.crba(self.model, self.data, self.q_of(q)))
        return self.G.T @ (upper + np.triu(upper, 1).T) @ self.G

    def bias(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
        return self.G.T @ self.pin.nonLinearEffects(self.model, self.data, self.q_of(q), self.v_of(v))

    def velocity_terms(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
        return self.G.T @ (
            self.pin.computeCoriolisMatrix(self.model, self.data, self.q_of(q), self.v_of(v)) @ self.v_of(v)
        )

    def gravity(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv"]:
        return self.G.T @ self.pin.computeGeneralizedGravity(self.model, self.data, self.q_of(q))

    def inverse_dynamics(
        self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], a: Float[ndarray, "nv"]
    ) -> Float[ndarray, "nv"]:
        return self.G.T @ self.pin.rnea(self.model, self.data, self.q_of(q), self.v_of(v), self.v_of(a))

    def forward_dynamics(
        self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], tau: Float[ndarray, "nv"]
    ) -> Float[ndarray, "nv"]:
        """Compute with their articulated-body algorithm or, for geared rotors, which it lacks, from M a = τ - b."""
        if self.model.nv != self.robot.nv:
            return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, v))
        return self.G.T @ self.pin.aba(self.model, self.data, self.q_of(q), self.v_of(v), self.G @ tau)

    def momentum_matrix(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "6 nv"]:
        """Return rows (angular about the centre of mass, linear), world axes.

        Theirs is about the centre of mass of the moving bodies: a fixed base shifts ours.
        """
        A = self._rows(self.pin.computeCentroidalMap(self.model, self.data, self.q_of(q)))
        shift = self.data.com[0] - self.center_of_mass(q)
        angular = A[3:] + np.cross(shift, A[:3], axisb=0).T
        return np.concatenate([angular, A[:3]]) @ self.G

    def center_of_mass(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "3"]:
        """Return the centre of mass of all links; theirs leaves out a fixed base."""
        moving = np.array(self.pin.centerOfMass(self.model, self.data, self.q_of(q)))
        base = self.model.inertias[0]
        mass = self.data.mass[0]
        return (mass * moving + base.mass * base.lever) / (mass + base.mass)

    def kinetic_energy(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> float:
        """Compute from their mass matrix, since their kinetic energy omits the armature of some joint types."""
        v_theirs = self.v_of(v)
        bodies = self.pin.computeKineticEnergy(self.bare, self.data, self.q_of(q), v_theirs)
        return bodies + 0.5 * float(self.model.armature @ v_theirs**2)

    def potential_energy(self, q: Float[ndarray, "nq"]) -> float:
        """Return the energy in gravity, a fixed base included, and in joint springs, which Pinocchio lacks."""
        base = self.model.inertias[0]
        still = -base.mass * float(self.model.gravity.linear @ base.lever)
        return (
            self.pin.computePotentialEnergy(self.model, self.data, self.q_of(q)) + still + spring_energy(self.robot, q)
        )

    # -- kinematics ----------------------------------------------------------------------------------------------------
    def body_velocities(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nb 6"]:
        """Return the twists of the moving bodies at their origins, in their axes."""
        self.pin.forwardKinematics(self.model, self.data, self.q_of(q), self.v_of(v))
        carriers = self._carriers()
        found = [self.data.v[carriers[body.name]] for body in self.robot.tree.bodies]
        return np.array([np.concatenate([V.angular, V.linear]) for V in found])

    def foot_positions(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "nf 3"]:
        self.pin.framesForwardKinematics(self.model, self.data, self.q_of(q))
        return np.array([self.data.oMf[foot].translation for foot in self.feet]).reshape(-1, 3)

    def feet_jacobian(self, q: Float[ndarray, "nq"], frame: str = "world") -> Float[ndarray, "nf 6 nv"]:
        """Return the Jacobian at the feet's centres, rows (angular, linear), in world or foot axes."""
        self.pin.computeJointJacobians(self.model, self.data, self.q_of(q))
        self.pin.updateFramePlacements(self.model, self.data)
        J = [
            self._rows(self.pin.getFrameJacobian(self.model, self.data, foot, self._axes(frame))) for foot in self.feet
        ]
        return np.array([np.concatenate([j[3:], j[:3]]) @ self.G for j in J]).reshape(-1, 6, self.robot.nv)

    def jacobian_rate(
        self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], frame: str = "world"
    ) -> Float[ndarray, "nf 6"]:
        """Return dJ/dt v: the feet's accelerations for dv/dt = 0."""
        rest = np.zeros(self.model.nv)
        self.pin.forwardKinematics(self.model, self.data, self.q_of(q), self.v_of(v), rest)
        self.pin.updateFramePlacements(self.model, self.data)
        requested = self.pin.getFrameClassicalAcceleration if frame == "world" else self.pin.getFrameAcceleration
        found = [requested(self.model, self.data, foot, self._axes(frame)) for foot in self.feet]
        return np.array([np.concatenate([a.angular, a.linear]) for a in found]).reshape(-1, 6)

    def external_terms(self, q: Float[ndarray, "nq"], wrenches: Float[ndarray, "nb 6"]) -> Float[ndarray, "nv"]:
        """Return the joint-space forces of wrenches (moment, force) at the moving bodies' origins, in their axes."""
        forces = self.pin.StdVec_Force()
        forces.extend(self.pin.Force.Zero() for _ in range(self.model.njoints))
        carriers = self._carriers()
        for body, wrench in zip(self.robot.tree.bodies, wrenches):
            if carriers[body.name]:
                forces[carriers[body.name]] = self.pin.Force(np.array(wrench[3:]), np.array(wrench[:3]))
        none = np.zeros(self.model.nv)
        with_them = self.pin.rnea(self.model, self.data, self.q_of(q), none, none, forces).copy()
        return self.G.T @ (self.pin.computeGeneralizedGravity(self.model, self.data, self.q_of(q)) - with_them)

    def _carriers(self) -> dict[str, int]:
        return {part.name: joint for part, joint in zip(self.parts, self.joint_ids)}

    def _velocity_map(self) -> ndarray:
        """Return G with v_theirs = G v_ours."""
        base = 6 if self.robot.floating else 0
        G = np.zeros((self.model.nv, self.robot.nv))
        G[:base, :base] = pinocchio_map(self.robot)[:base, :base]
        for at_v, _, joint, gear in self.followers:
            G[at_v, base + joint] = gear
        return G

    def _rows(self, A: ndarray) -> ndarray:
        """Return a 6 x nv matrix of theirs: with one degree of freedom the binding returns six plain numbers."""
        return np.reshape(A, (6, self.model.nv))

    def _axes(self, frame: str) -> Foreign:
        frames = self.pin.ReferenceFrame
        return frames.LOCAL_WORLD_ALIGNED if frame == "world" else frames.LOCAL


def _build(pin: ModuleType, robot: Robot, parts: list[Part]) -> tuple[Foreign, list[int]]:
    """Return the model, and the joint that carries each part. Pinocchio merges links with fixed joints."""
    model = pin.Model()
    model.name = robot.name
    joints: list[int] = []  # the joint that carries part k
    places: list[Foreign] = []  # the pose of part k in that joint's frame
    armatures: list[tuple[int, float]] = []
    for part in parts:
        carrier, place = (joints[part.parent], places[part.parent]) if part.parent >= 0 else (0, pin.SE3.Identity())
        place = place * pin.SE3(np.array(part.rotation), np.array(part.origin))
        if part.motion != "fixed":
            carrier = model.addJoint(carrier, _joint(pin, part), place, f"joint of {part.name}")
            place = pin.SE3.Identity()
            armatures.append((carrier, part.armature))
        joints.append(carrier)
        places.append(place)
        if part.mass > 0 or part.inertia.any():
            model.appendBodyToJoint(carrier, pin.Inertia(part.mass, np.array(part.com), np.array(part.inertia)), place)
        for foot in robot.feet:
            if foot.link == part.name:
                at = pin.SE3(np.eye(3), place.act(np.array(foot.position)))  # foot axes are those of the moving body
                model.addFrame(pin.Frame(f"foot {foot.name}", carrier, at, pin.FrameType.OP_FRAME))
        for loop in (loop for loop in robot.loops if loop.kind != "joint"):
            for end, link, p, turn in (
                ("first", loop.first, loop.at, np.eye(3)),
                ("second", loop.second, loop.to, loop.rotation.T),
            ):
                if link == part.name:
                    at = place * pin.SE3(np.array(turn), np.array(p))
                    model.addFrame(pin.Frame(f"loop {loop.name} {end}", carrier, at, pin.FrameType.OP_FRAME))
    armature = np.zeros(model.nv)
    for joint, value in armatures:
        if model.nvs[joint] == 1:
            armature[model.idx_vs[joint]] = value
    model.armature = armature
    return model, joints


def _joint(pin: ModuleType, part: Part) -> Foreign:
    if part.motion == "free":
        return pin.JointModelFreeFlyer()
    axis = np.array(part.axis)
    return (
        pin.JointModelRevoluteUnaligned(axis) if part.motion == "revolute" else pin.JointModelPrismaticUnaligned(axis)
    )

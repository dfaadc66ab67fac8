"""Sides with contact modes: the screw system, constrained and reduced dynamics, and Pinocchio as reference.

The three derive stance dynamics in different ways (Yan 2021, and both halves of the slides); in flight they agree with
every other formalism.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy import ndarray

from footfall.dynamics.formalisms import constrained, reduced, screw_system
from footfall.kinematics.iterative import product_of_exponentials
from footfall.robot.model.description import Robot
from footfall_lab.verify.pinocchio import Pinocchio
from nptrace._types import Foreign, PyTree
from nptrace.array_types import Float

Side = dict[str, Callable[..., PyTree]]

STANCE_QUANTITIES: dict[str, tuple[str, ...]] = {
    "stance_acceleration": ("q", "v", "tau", "mode"),
    "contact_forces": ("q", "v", "tau", "mode"),
    "joint_reactions": ("q", "v", "tau", "mode"),
    "touchdown_velocity": ("q", "v", "mode"),
    "touchdown_impulses": ("q", "v", "mode"),
    "delassus_matrix": ("q",),
}


def screw(robot: Robot) -> Side:
    """All links and constraint screws in one system (Yan et al. 2021), solved as printed."""
    solved = _remembered(partial(screw_system.screw_forward_dynamics, robot, solver="dense"))
    return {
        "forward_dynamics": lambda q, v, tau: screw_system.screw_forward_dynamics(robot, q, v, tau, solver="dense").a,
        "inverse_dynamics": partial(_screw_inverse, robot),
        "foot_positions": partial(product_of_exponentials.screw_foot_positions, robot),
        "feet_jacobian": partial(product_of_exponentials.screw_feet_jacobian, robot),
        "stance_acceleration": lambda q, v, tau, mode: solved(q, v, tau, mode).a,
        "contact_forces": lambda q, v, tau, mode: solved(q, v, tau, mode).foot_forces,
        "joint_reactions": lambda q, v, tau, mode: solved(q, v, tau, mode).reactions,
    }


def _screw_inverse(robot: Robot, q: ndarray, v: ndarray, a: ndarray) -> Float[ndarray, "nv"]:
    """Return base wrench and torques, with the base acceleration as from an IMU."""
    base = robot.nv - robot.nj
    given = a[:6] if base else None
    found = screw_system.screw_inverse_dynamics(robot, q, v, a[base:], base_acceleration=given, solver="dense")
    return np.concatenate([found.reactions[0][:base], found.torques])


def excess(robot: Robot) -> Side:
    """KKT with stance constraints (the lecture slides, excess coordinates); traceable, the mode is data."""
    flight = np.zeros(robot.nf)
    return {
        "forward_dynamics": lambda q, v, tau: constrained.constrained_dynamics(robot, q, v, tau, flight)[0],
        "stance_acceleration": lambda q, v, tau, mode: constrained.constrained_dynamics(robot, q, v, tau, mode)[0],
        "contact_forces": lambda q, v, tau, mode: constrained.constrained_dynamics(robot, q, v, tau, mode)[1],
        "touchdown_velocity": lambda q, v, mode: constrained.impact_map(robot, q, v, mode)[0],
        "touchdown_impulses": lambda q, v, mode: constrained.impact_map(robot, q, v, mode)[1],
        "delassus_matrix": partial(constrained.delassus_matrix, robot),
    }


def minimal(robot: Robot) -> Side:
    """The coordinates of each mode (the lecture slides, minimal coordinates)."""
    flight = np.zeros(robot.nf)
    solved = _remembered(partial(reduced.reduced_dynamics, robot))
    return {
        "forward_dynamics": lambda q, v, tau: reduced.reduced_dynamics(robot, q, v, tau, flight)[0],
        "stance_acceleration": lambda q, v, tau, mode: solved(q, v, tau, mode)[0],
        "contact_forces": lambda q, v, tau, mode: solved(q, v, tau, mode)[1],
        "touchdown_velocity": partial(reduced.reduced_touchdown, robot),
    }


def _remembered(function: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """Cache the last evaluation, so that several quantities at a state cost one evaluation."""
    known: dict[bytes, PyTree] = {}

    def call(*arrays: ndarray) -> PyTree:
        key = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
        if key not in known:
            known[key] = function(*arrays)
        return known[key]

    return call


class PinocchioStance:
    """Pinocchio's constrained dynamics: three-dimensional rigid contacts at the centres of the standing feet.

    For exact rotors, Pinocchio's model has separate joints, which its contact solver cannot gear to the robot's: then
    its mass matrix, bias and Jacobians are put into the KKT system directly.
    """

    def __init__(self, referee: Pinocchio) -> None:
        self.referee, self.pin, self.robot = referee, referee.pin, referee.robot
        self.solved = _remembered(self._solve)
        self.models: dict[bytes, Foreign] = {}

    def side(self) -> Side:
        return {
            "stance_acceleration": lambda q, v, tau, mode: self.solved(q, v, tau, mode)[0],
            "contact_forces": lambda q, v, tau, mode: self.solved(q, v, tau, mode)[1],
            "joint_reactions": self.joint_reactions,
            "touchdown_velocity": lambda q, v, mode: self._impact(q, v, mode)[0],
            "touchdown_impulses": lambda q, v, mode: self._impact(q, v, mode)[1],
            "delassus_matrix": self.delassus_matrix,
        }

    def joint_reactions(self, q: ndarray, v: ndarray, tau: ndarray, mode: ndarray) -> Float[ndarray, "nb 6"]:
        """Return the wrenches across the joints by Pinocchio's inverse dynamics, accelerations and contact forces."""
        ref, pin = self.referee, self.pin
        a, feet = self.solved(q, v, tau, mode)
        forces = pin.StdVec_Force()
        forces.extend(pin.Force.Zero() for _ in range(ref.model.njoints))
        pin.framesForwardKinematics(ref.model, ref.data, ref.q_of(q))
        for foot, force in zip(ref.feet, feet):
            frame, R_WJ = ref.model.frames[foot], ref.data.oMf[foot].rotation
            local = frame.placement.act(pin.Force(R_WJ.T @ force, np.zeros(3)))
            forces[frame.parentJoint] = forces[frame.parentJoint] + local
        pin.rnea(ref.model, ref.data, ref.q_of(q), ref.v_of(v), ref.v_of(a), forces)
        carriers = {part.name: joint for part, joint in zip(ref.parts, ref.joint_ids)}
        found = [ref.data.f[carriers[body.name]] for body in self.robot.tree.bodies]
        out = np.array([np.concatenate([f.angular, f.linear]) for f in found])
        if self.robot.floating:
            out[0] = 0.0  # there is no joint: Pinocchio reports the generalised force of its free-flyer
        else:
            out[0] = self._weld(q, v, a, feet, out)
        return out

    def _weld(self, q: ndarray, v: ndarray, a: ndarray, feet: ndarray, reactions: ndarray) -> Float[ndarray, "6"]:
        """Return the wrench at the weld of a fixed base: the rest of the load on its joints, feet and weight."""
        ref, robot = self.referee, self.robot
        base, total = ref.model.inertias[0], np.zeros(6)
        weight = base.mass * np.array(ref.model.gravity.linear)
        total[:3] -= np.cross(base.lever, weight)
        total[3:] -= weight
        for joint in range(1, ref.model.njoints):
            if ref.model.parents[joint] == 0:  # of the robot or of a rotor: the base carries both
                wrench = ref.data.liMi[joint].act(ref.data.f[joint])
                total += np.concatenate([wrench.angular, wrench.linear])
        for i, p, force in zip(robot.tree.feet, robot.tree.foot_positions, feet):
            if i == 0:
                total -= np.concatenate([np.cross(p, force), force])
        return total

    def delassus_matrix(self, q: ndarray) -> Float[ndarray, "3nf 3nf"]:
        J = self._jacobian(q, np.ones(self.robot.nf))
        return J @ np.linalg.solve(self.referee.mass_matrix(q), J.T)

    def _jacobian(self, q: ndarray, mode: ndarray) -> Float[ndarray, "m nv"]:
        return self.referee.feet_jacobian(q)[np.asarray(mode) > 0, 3:].reshape(-1, self.robot.nv)

    def _impact(self, q: ndarray, v: ndarray, mode: ndarray) -> tuple[ndarray, ndarray]:
        found = self._kkt(q, self.referee.mass_matrix(q) @ v, np.zeros(3 * int(np.sum(mode))), mode)
        return found[0], found[1]

    def _solve(self, q: ndarray, v: ndarray, tau: ndarray, mode: ndarray) -> tuple[ndarray, ndarray]:
        ref, standing = self.referee, np.asarray(mode) > 0
        if ref.model.nv != self.robot.nv:
            turning = ref.jacobian_rate(q, v)[standing, 3:].reshape(-1)
            return self._kkt(q, tau - ref.bias(q, v), -turning, mode)
        if not standing.any():
            return ref.forward_dynamics(q, v, tau), np.zeros((self.robot.nf, 3))
        data, models, datas, settings = self._contacts(mode)
        theirs = self.pin.constraintDynamics(
            ref.model, data, ref.q_of(q), ref.v_of(v), ref.G @ tau, models, datas, settings
        )
        forces = np.zeros((self.robot.nf, 3))
        forces[standing] = [one.contact_force.linear for one in datas]
        return ref.G.T @ theirs, forces

    def _contacts(self, mode: ndarray) -> Foreign:
        key = np.asarray(mode).tobytes()
        if key not in self.models:
            ref, pin = self.referee, self.pin
            models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
            axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            for foot, stands in zip(ref.feet, mode):
                if stands:
                    frame = ref.model.frames[foot]
                    at = (frame.parentJoint, frame.placement, axes)
                    models.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, ref.model, *at))
                    datas.append(models[len(models) - 1].createData())
            data = ref.model.createData()
            pin.initConstraintDynamics(ref.model, data, models, datas)
            self.models[key] = data, models, datas, pin.ProximalSettings(1e-14, 0.0, 1)
        return self.models[key]

    def _kkt(self, q: ndarray, force: ndarray, wanted: ndarray, mode: ndarray) -> tuple[ndarray, ndarray]:
        """Return (x, f) of M x - Jᵀ f = force, J x = wanted."""
        M, J = self.referee.mass_matrix(q), self._jacobian(q, mode)
        n, m = len(M), len(J)
        x = np.linalg.solve(np.block([[M, -J.T], [J, np.zeros((m, m))]]), np.concatenate([force, wanted]))
        forces = np.zeros((self.robot.nf, 3))
        forces[np.asarray(mode) > 0] = x[n:].reshape(-1, 3)
        return x[:n], forces

"""Generalised-momentum observer: forces at the feet without force sensors (De Luca and Mattone 2003).

The momentum p = M(q) v of the whole robot obeys dp/dt = Sᵀτ + C(q, v)ᵀ v - g(q) + Jᵀf. Any change beyond the first
three terms is due to the ground, found without differentiating a velocity:

    r = K (p - ∫ (Sᵀτ + Cᵀv - g + r) dt),   dr/dt = K (Jᵀf - r),

the true external forces after a low-pass filter of K [1/s]. The joints that carry only one foot give the force at that
foot: r_leg = J_legᵀ f. Plain NumPy, functional.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.posture import own_joints
from footfall.dynamics.coriolis_matrix import coriolis_matrix
from footfall.dynamics.factor import dense_factor, dense_solve
from footfall.dynamics.forward_dynamics import generalised
from footfall.dynamics.gravity_terms import gravity_terms
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.passive import damping_torques, friction_torques, spring_torques
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial import cross, skew
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float

# conditioning below which a leg does not measure force along itself, and the damping added then
_STRETCHED, _DAMPING = 0.01, 3e-3
_STICK_RATE = 0.05  # [rad/s], over which dry friction reverses: rates from encoders are not more accurate


@dataclass(frozen=True)
class ObserverMemory:
    """The integral in the observer, and the external forces of the last tick."""

    integral: Float[ndarray, "nv"]
    external: Float[ndarray, "nv"]  # r
    started: float

    @staticmethod
    def at_start(robot: Robot) -> ObserverMemory:
        return ObserverMemory(np.zeros(robot.nv), np.zeros(robot.nv), 0.0)


def observe_momentum(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    dt: float,
    gain: float,
    memory: ObserverMemory,
    gravity: tuple[float, float, float] = GRAVITY,
) -> ObserverMemory:
    """Run one tick: ``tau`` [N m] are the motor torques over the period dt [s] that ends in (q, v); ``gain`` K
    [1/s].
    """
    momentum = mass_matrix(robot, q) @ v
    joints = tau + spring_torques(robot, q) + damping_torques(robot, v) + friction_torques(robot, v, _STICK_RATE)
    known = generalised(robot, joints) + coriolis_matrix(robot, q, v).T @ v - gravity_terms(robot, q, gravity)
    before = memory.integral + dt * known
    before = np.where(memory.started > 0.5, before, momentum)  # nothing is known of the past
    external = gain / (1.0 + gain * dt) * (momentum - before)  # implicit in r: stable at any gain
    integral = before + dt * external
    return ObserverMemory(integral, external, 1.0 + 0.0 * memory.started)


def foot_forces(robot: Robot, q: Float[ndarray, "nq"], external: Float[ndarray, "nv"]) -> Float[ndarray, "nf 3"]:
    """Forces on the feet [N], world axes, from external generalised forces, leg by leg.

    They act where the foot's sphere meets level ground. Legs near a singularity give the smallest consistent force.
    """
    J = feet_jacobian(robot, q)
    forces = []
    for k, foot in enumerate(robot.feet):
        lowest = J[k, 3:] + foot.radius * skew(np.array([0.0, 0.0, 1.0])) @ J[k, :3]
        own = [robot.nv - robot.nj + j for j in own_joints(robot, k)]
        J_leg = lowest[:, own]
        forces.append(_explained(J_leg, external[own]) if own else np.zeros(3))
    return np.stack(forces)


def _explained(J_leg: Float[ndarray, "3 n"], torques: Float[ndarray, "n"]) -> Float[ndarray, "3"]:
    """Return the force with J_legᵀ f = torques: exactly, or by least squares for more than three joints; damped near a
    singularity.

    Damping elsewhere would bias every force: 3 % of DynaKat's.
    """
    few = J_leg.shape[1] < 3  # then it is the smallest force
    A = J_leg.T @ J_leg if few else J_leg @ J_leg.T
    n = len(A)
    mean = sum((A[k, k] for k in range(n)), start=0.0) / n
    conditioning = _determinant(A) / mean**n  # 1: the same in all directions, 0: singular
    short = np.maximum(1.0 - conditioning / _STRETCHED, 0.0)
    factored = dense_factor(A + _DAMPING * mean * short * short * np.eye(n))
    return J_leg @ dense_solve(*factored, torques) if few else dense_solve(*factored, J_leg @ torques)


def _determinant(A: Float[ndarray, "n n"]) -> float:
    if len(A) == 3:
        return A[0] @ cross(A[1], A[2])
    return A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0] if len(A) == 2 else A[0, 0]

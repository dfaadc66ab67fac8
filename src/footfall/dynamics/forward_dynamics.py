"""Forward dynamics by the inertia-matrix method: eqs. (29)-(30) of de Paula et al. 2024, M a + c + g = Sᵀτ + τ_e."""

import numpy as np
from numpy import ndarray

from footfall.dynamics.composite_bias import composite_bias
from footfall.dynamics.factor import solution
from footfall.dynamics.gravity_terms import upward
from footfall.dynamics.mass_matrix import composite_bodies, composite_mass_matrix
from footfall.dynamics.parallel_joints import posture
from footfall.dynamics.propagate import joint_space_forces
from footfall.dynamics.velocity_terms import velocity_wrenches
from footfall.errors import InputError
from footfall.kinematics.forward import base_twist, joint_transforms
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, cross
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float


def generalised(robot: Robot, tau: Float[ndarray, "nj"] | Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Return joint torques (nj) as generalised forces (nv): Sᵀτ. Forces that are already generalised pass unchanged."""
    if np.shape(tau) == (robot.nv,):
        return tau
    if np.shape(tau) != (robot.nj,):
        raise InputError(
            f"tau of robot '{robot.name}' must have shape ({robot.nj},) or ({robot.nv},), got {np.shape(tau)}"
        )
    return np.concatenate([np.zeros(6), tau])


def bias_forces(
    robot: Robot,
    X: list[Transform],
    v: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
    classical: bool = False,
) -> Float[ndarray, "nv"]:
    """Return c + g: Algorithms 2 and 3 in one pass outward and one inward, since the base's accelerations add up."""
    wrenches, spin_torques = velocity_wrenches(robot, X, v, classical, upward(X[0], gravity))
    return joint_space_forces(robot, X, wrenches) + spin_torques


def bias_terms(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
    classical: bool = False,
) -> Float[ndarray, "nv"]:
    """Return the bias forces c(q, v) + g(q): Coriolis, centrifugal and gravity terms (RNEA with a = 0).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].
        gravity: Acceleration of gravity in world axes [m/s²].
        classical: Whether accelerations of the base are those of its origin, not rates of the components of v.

    Returns:
        c + g [N m, N].
    """
    return bias_forces(robot, joint_transforms(robot, q), v, gravity, classical)


def forward_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
    external: Float[ndarray, "nv"] | None = None,
    classical: bool = False,
) -> Float[ndarray, "nv"]:
    """Return accelerations for given joint torques, by composite rigid bodies and branch-sparse factorization (CRBA).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        tau: Joint torques [N m], or generalized forces of length nv with the wrench on the base first.
        gravity: Acceleration of gravity in world axes [m/s²].
        external: Further generalized forces [N m, N].
        classical: Return the acceleration of the base's origin, not the rate of change of the components of v.

    Returns:
        a = dv/dt: angular, then linear acceleration of the base in base axes; joint accelerations.
    """
    at_q = posture(robot, q)
    standing, X = at_q.robot, at_q.X
    composite = composite_bodies(standing, X)
    # a floating robot falls as a whole: gravity acts only on its base's acceleration
    applied_gravity = np.zeros(3) if robot.floating else gravity
    force = generalised(robot, tau) - composite_bias(standing, X, composite, v, applied_gravity, at_q.still)
    if external is not None:
        force = force + external
    a = solution(standing, composite_mass_matrix(standing, X, composite), force)
    if not robot.floating:
        return a
    linear = a[3:6] - upward(X[0], gravity)
    if not classical:
        V_0 = base_twist(robot, v)
        linear = linear - cross(V_0[:3], V_0[3:])
    return np.concatenate([a[:3], linear, a[6:]])

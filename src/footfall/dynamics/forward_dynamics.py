"""Forward dynamics by the inertia-matrix method: eqs. (29)-(30) of de Paula et al. 2024, M a + c + g = Sᵀτ + τ_e."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.factor import factor, solve_factored
from footfall.dynamics.gravity_terms import upward
from footfall.dynamics.mass_matrix import composite_mass_matrix
from footfall.dynamics.propagate import joint_space_forces
from footfall.dynamics.velocity_terms import velocity_wrenches
from footfall.errors import InputError
from footfall.gravity import GRAVITY
from footfall.kinematics.forward import base_twist, joint_transforms
from footfall.robot.model.description import Robot
from footfall.spatial import Transform, cross


def generalised(robot: Robot, tau: Float[ndarray, "nj"] | Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Joint torques (nj) as generalised forces (nv): Sᵀτ. Already generalised forces pass unchanged."""
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
    """c + g: Algorithms 2 and 3 in one pass outward and one inward, for the base's accelerations add up."""
    wrenches, spin_torques = velocity_wrenches(robot, X, v, classical, upward(X[0], gravity))
    return joint_space_forces(robot, X, wrenches) + spin_torques


def bias_terms(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
    classical: bool = False,
) -> Float[ndarray, "nv"]:
    """c(q, v) + g(q): velocity terms plus gravity terms [N m, N]."""
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
    """Accelerations a = dv/dt for joint torques τ and, if given, generalised external forces τ_e.

    ``tau`` of length nv is taken for generalised forces, the base's wrench first; any other length is refused.
    ``classical``: the base's linear part is then the acceleration of its origin, not the rate of the components of v.
    """
    X = joint_transforms(robot, q)
    force = generalised(robot, tau) - bias_forces(robot, X, v, gravity, classical=True)
    if external is not None:
        force = force + external
    L, d = factor(robot, composite_mass_matrix(robot, X))
    a = solve_factored(robot, L, d, force)
    if classical or not robot.floating:
        return a
    V_0 = base_twist(robot, v)
    return np.concatenate([a[:3], a[3:6] - cross(V_0[:3], V_0[3:]), a[6:]])

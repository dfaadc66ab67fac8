"""The state space of section 6.1, eqs. (39)-(43), of de Paula et al. 2024, with the paper's Euler angles.

x = (ξ, p_W, q; ω_0, v_0, q̇) with ZYX angles ξ = (ψ, θ, φ), ω_0 and v_0 in *base* axes. Errata: eq. (41) maps to world
ω, so the body map is used; eq. (42) lacks R for the position; row 2 of eq. (43) is q̇, not q̈; and the classical
acceleration that is the unknown of Algorithm 2 is the rate of v_0 only in world axes: ω_0 x v_0 is subtracted here.
"""

import numpy as np
from numpy import ndarray

from footfall.dynamics.coordinates import from_euler_coordinates, to_euler_coordinates
from footfall.dynamics.forward_dynamics import forward_dynamics
from footfall.robot.model.description import Robot
from footfall.spatial import cross, rotation
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float


def euler_state(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> ndarray:
    """Return x of eq. (39) for footfall's own (q, v)."""
    return np.concatenate([to_euler_coordinates(robot, q, "zyx"), v])


def from_euler_state(robot: Robot, x: ndarray) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
    """Return (q, v) of eq. (39)'s x."""
    return from_euler_coordinates(robot, x[: robot.nv], "zyx"), x[robot.nv :]


def euler_state_rate(
    robot: Robot,
    x: ndarray,
    tau: Float[ndarray, "nj"],
    external: Float[ndarray, "nv"] | None = None,
    gravity: tuple[float, float, float] = GRAVITY,
) -> ndarray:
    """Return dx/dt, eq. (43) with its errata corrected."""
    angles, v = x[:3], x[robot.nv :]
    q, _ = from_euler_state(robot, x)
    a = forward_dynamics(robot, q, v, tau, gravity, external, classical=True)
    rates = np.linalg.solve(rotation.euler_rates_to_body(angles, "zyx"), v[:3])
    spatial = a[3:6] - cross(v[:3], v[3:6])
    return np.concatenate([rates, rotation.from_euler(angles, "zyx") @ v[3:6], v[6:], a[:3], spatial, a[6:]])

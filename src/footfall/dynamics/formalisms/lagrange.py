"""Euler-Lagrange: eqs. (12)-(27) of Adak 2021 and the M, C, G of DynaKat, an independent reference for all dynamics.

From the energies K = ẋᵀ M ẋ / 2 and P of ``link_jacobians``, in coordinates x = (ξ, p_WB, joints) with the Euler
angles of a paper, everything follows by differentiation, which the tracer does exactly:

    M ẍ + C ẋ + G = F,    C = (dM/dt + A - Aᵀ) / 2,  A = ∂(M ẋ)/∂x at constant ẋ,    G = ∂P/∂x

C is the matrix of Christoffel symbols c_kji = (∂M_kj/∂x_i + ∂M_ki/∂x_j - ∂M_ij/∂x_k) / 2, summed with ẋ_i. Erratum of
the DynaKat paper: it prints the sum without the half. C ẋ alone (``euler_coriolis_terms``) is eq. (27) of Adak 2021.

The functions without ``euler_`` use footfall's coordinates: v = N ẋ, N = diag(E, R_BW, 1). Erratum of Adak 2021, below
eq. (27): it corrects the finished C by E_t. That alone counts ω x I ω twice: the velocities ω are not rates of
coordinates, so eq. (27) does not hold for them. Derive in x, then map, the rate of N included:

    M_v = N⁻ᵀ M N⁻¹,    C_v = N⁻ᵀ (C - M N⁻¹ dN/dt) N⁻¹,    G_v = N⁻ᵀ G

Derivatives need a trace. Called with numbers, the few functions that need them are traced once for each robot, cached,
and interpreted; all others are plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

import nptrace
from footfall.dynamics import coordinates
from footfall.dynamics.formalisms import link_jacobians
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from footfall.spatial import cross, rotation
from footfall.spatial.gravity import GRAVITY
from footfall.spatial.quaternion import to_rotation
from nptrace.array_types import Float
from nptrace.autodiff import nested
from nptrace.frontend import notation, tracer

ORDERS = ("best", *rotation.EULER_ORDERS)
_MOST_PROGRAMS = 64  # traces kept in memory

Gravity = tuple[float, float, float]


# -- in the coordinates of the papers --------------------------------------------------------------------------------
def euler_mass_matrix(robot: Robot, x: Float[ndarray, "nv"], order: str = "xyz") -> Float[ndarray, "nv nv"]:
    """Return M of x = (ξ, p_WB, joints): eq. (20) of Adak et al. 2021."""
    _check(robot, order, x=x)
    return link_jacobians.mass_matrix(robot, x, order)


def euler_feet_jacobian(robot: Robot, x: Float[ndarray, "nv"], order: str = "xyz") -> Float[ndarray, "nf 6 nv"]:
    """Return J_C of Adak et al. 2021: twists (ω, v) of the feet in world axes by dx/dt; all feet stacked, its 24 x
    20.
    """
    _check(robot, order, x=x)
    return link_jacobians.feet_jacobian(robot, x, order)


def euler_gravity_terms(
    robot: Robot, x: Float[ndarray, "nv"], gravity: Gravity = GRAVITY, order: str = "xyz"
) -> Float[ndarray, "nv"]:
    """Return G = ∂P/∂x of eq. (27) of Adak et al. 2021."""
    _check(robot, order, x=x)

    def derivative(x: ndarray, gravity: ndarray) -> ndarray:
        return nested.gradient(partial(link_jacobians.potential_energy, robot, order=order), (x, gravity))

    return _evaluated(derivative, "G", robot, order, x, np.asarray(gravity))


def euler_coriolis_terms(
    robot: Robot, x: Float[ndarray, "nv"], rate: Float[ndarray, "nv"], order: str = "xyz"
) -> Float[ndarray, "nv"]:
    """Return C ẋ, the vector C(q, q̇) of eq. (27) of Adak 2021: d/dt (∂K/∂ẋ) - ∂K/∂x less M ẍ, which is (dM/dt) ẋ -
    ∂K/∂x.
    """
    _check(robot, order, x=x, rate=rate)

    def terms(x: ndarray, rate: ndarray) -> ndarray:
        _, changing = nested.push(partial(link_jacobians.momenta, robot, order=order), (x, rate), (rate, None))
        return changing - nested.gradient(partial(link_jacobians.kinetic_energy, robot, order=order), (x, rate))

    return _evaluated(terms, "C rate", robot, order, x, rate)


def euler_coriolis_matrix(
    robot: Robot, x: Float[ndarray, "nv"], rate: Float[ndarray, "nv"], order: str = "xyz"
) -> Float[ndarray, "nv nv"]:
    """Return C = (dM/dt + A - Aᵀ) / 2 by Christoffel symbols, summed with ẋ before they are written out (DynaKat)."""
    _check(robot, order, x=x, rate=rate)

    def matrix(x: ndarray, rate: ndarray) -> ndarray:
        _, M_rate = nested.push(partial(link_jacobians.mass_matrix, robot, order=order), (x,), (rate,))
        A = nested.jacobian(partial(link_jacobians.momenta, robot, order=order), (x, rate))
        return 0.5 * (M_rate + A - A.T)

    return _evaluated(matrix, "C", robot, order, x, rate)


# -- in footfall's own -----------------------------------------------------------------------------------------------
def mass_matrix(robot: Robot, q: Float[ndarray, "nq"], order: str = "best") -> Float[ndarray, "nv nv"]:
    """Return M(q) for v = (ω, v of the base in its axes, joint rates): N⁻ᵀ M N⁻¹.

    ``order``: the order of the Euler angles used in the derivation; ``best`` is the one farther from its singularity,
    or in a trace, where that is unknown, ``zyx``.
    """
    x, order = _coordinates(robot, q, order)
    back = _inverse_map(robot, x, order)
    return back.T @ (euler_mass_matrix(robot, x, order) @ back)


def coriolis_matrix(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], order: str = "best"
) -> Float[ndarray, "nv nv"]:
    """Return C(q, v) = N⁻ᵀ (C - M N⁻¹ dN/dt) N⁻¹: dM/dt - 2 C is skew-symmetric. (C is not unique, only C v is.)"""
    x, order = _coordinates(robot, q, order, v=v)
    back = _inverse_map(robot, x, order)
    rate = back @ v
    M, N_rate = euler_mass_matrix(robot, x, order), _map_rate(robot, x, rate, order)
    return back.T @ ((euler_coriolis_matrix(robot, x, rate, order) - M @ (back @ N_rate)) @ back)


def velocity_terms(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], order: str = "best"
) -> Float[ndarray, "nv"]:
    """Return c(q, v) = N⁻ᵀ (C ẋ - M N⁻¹ dN/dt ẋ), for spatial accelerations of the base."""
    x, order = _coordinates(robot, q, order, v=v)
    back = _inverse_map(robot, x, order)
    rate = back @ v
    bent = back @ (_map_rate(robot, x, rate, order) @ rate)  # with the opposite sign, ẍ of a robot with constant v
    return back.T @ (euler_coriolis_terms(robot, x, rate, order) - link_jacobians.momenta(robot, x, bent, order))


def gravity_terms(
    robot: Robot, q: Float[ndarray, "nq"], gravity: Gravity = GRAVITY, order: str = "best"
) -> Float[ndarray, "nv"]:
    """Return g(q) = N⁻ᵀ G, the forces that hold the robot against gravity."""
    x, order = _coordinates(robot, q, order)
    return _inverse_map(robot, x, order).T @ euler_gravity_terms(robot, x, gravity, order)


def bias_terms(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], gravity: Gravity = GRAVITY, order: str = "best"
) -> Float[ndarray, "nv"]:
    """Return c(q, v) + g(q)."""
    return velocity_terms(robot, q, v, order) + gravity_terms(robot, q, gravity, order)


def inverse_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    a: Float[ndarray, "nv"],
    gravity: Gravity = GRAVITY,
    order: str = "best",
) -> Float[ndarray, "nv"]:
    """Return generalised forces M a + c + g."""
    return mass_matrix(robot, q, order) @ a + bias_terms(robot, q, v, gravity, order)


def forward_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    gravity: Gravity = GRAVITY,
    order: str = "best",
) -> Float[ndarray, "nv"]:
    """Return spatial accelerations for joint torques (nj) or generalised forces (nv).

    Solved in Euler coordinates, M ẍ = Nᵀτ - C ẋ - G; then a = N ẍ + dN/dt ẋ.
    """
    if np.shape(tau) == (robot.nj,) and robot.floating:
        tau = np.concatenate([np.zeros(6), tau])
    x, order = _coordinates(robot, q, order, v=v, tau=tau)
    N, rate = _velocity_map(robot, x, order), _inverse_map(robot, x, order) @ v
    bias = euler_coriolis_terms(robot, x, rate, order) + euler_gravity_terms(robot, x, gravity, order)
    acceleration = _solved(euler_mass_matrix(robot, x, order), N.T @ tau - bias)
    return N @ acceleration + _map_rate(robot, x, rate, order) @ rate


def feet_jacobian(robot: Robot, q: Float[ndarray, "nq"], order: str = "best") -> Float[ndarray, "nf 6 nv"]:
    """Return twists (ω, v) of the feet in world axes by v: J_C with the correction of eq. (8) of Adak et al. 2021."""
    x, order = _coordinates(robot, q, order)
    return euler_feet_jacobian(robot, x, order) @ _inverse_map(robot, x, order)


def kinetic_energy(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], order: str = "best") -> float:
    """Return K = ẋᵀ M ẋ / 2, eq. (19) of Adak et al. 2021 [J]."""
    x, order = _coordinates(robot, q, order, v=v)
    return link_jacobians.kinetic_energy(robot, x, _inverse_map(robot, x, order) @ v, order)


# -- between the coordinates -----------------------------------------------------------------------------------------
def _coordinates(robot: Robot, q: ndarray, order: str, **others: ndarray) -> tuple[ndarray, str]:
    """Return (x of q, the order of its Euler angles); raise near their singularity, naming the angle."""
    if order not in ORDERS:
        raise unknown("order of Euler angles", order, ORDERS)
    traced = nptrace.is_tracing()
    _check(robot, "zyx", q=q, **others)
    if not robot.floating:
        return q, "zyx" if order == "best" else order
    R_WB = to_rotation(q[3:7])
    if order == "best":
        middle = {one: 0.0 if traced else abs(rotation.to_euler(R_WB, one)[1]) for one in rotation.EULER_ORDERS}
        order = min(rotation.EULER_ORDERS, key=lambda one: middle[one])
    if not traced:
        coordinates.to_euler_coordinates(robot, q, order)  # raises too close to the singularity
    return np.concatenate([rotation.to_euler(R_WB, order), q[:3], q[7:]]), order


def _velocity_map(robot: Robot, x: ndarray, order: str) -> ndarray:
    """Return N with v = N ẋ: E of eq. (7) of Adak et al. 2021 for the rotation, R_BW for the base's velocity."""
    N = np.eye(robot.nv)
    if robot.floating:
        N[:3, :3] = rotation.euler_rates_to_body(x[:3], order)
        N[3:6, 3:6] = rotation.from_euler(x[:3], order).T
    return N


def _inverse_map(robot: Robot, x: ndarray, order: str) -> ndarray:
    """Return N⁻¹: E⁻¹ by cofactors (E_t R_WB of eq. 8), singular at a middle angle of 90 degrees."""
    N = np.eye(robot.nv)
    if robot.floating:
        E = rotation.euler_rates_to_body(x[:3], order)
        rows = [cross(E[:, 1], E[:, 2]), cross(E[:, 2], E[:, 0]), cross(E[:, 0], E[:, 1])]
        N[:3, :3] = np.stack(rows) / (E[:, 0] @ rows[0])
        N[3:6, 3:6] = rotation.from_euler(x[:3], order)
    return N


def _map_rate(robot: Robot, x: ndarray, rate: ndarray, order: str) -> ndarray:
    """Return dN/dt along ẋ."""

    def derivative(x: ndarray, rate: ndarray) -> ndarray:
        return nested.push(partial(_velocity_map, robot, order=order), (x,), (rate,))[1]

    return _evaluated(derivative, "dN/dt", robot, order, x, rate)


def _solved(A: ndarray, b: ndarray) -> ndarray:
    """Solve A y = b for a symmetric positive A, eliminating the last unknown first: legs do not couple, so no
    fill-in.
    """
    n, A, y = len(b), A.copy(), [b[k] for k in range(len(b))]
    for k in reversed(range(n)):
        for i in range(k):
            share = A[k, i] / A[k, k]
            A[i, : i + 1] = A[i, : i + 1] - share * A[k, : i + 1]
            y[i] = y[i] - share * y[k]
    for k in range(n):
        y[k] = (y[k] - sum(A[k, i] * y[i] for i in range(k))) / A[k, k]
    return np.stack(y)


# -- for people ------------------------------------------------------------------------------------------------------
def euler_foot_poses(robot: Robot, x: Float[ndarray, "nv"], order: str = "xyz") -> Float[ndarray, "..."]:
    """Return the positions of the feet in the world, one per row, or the homogeneous transform of a single foot."""
    placed = link_jacobians.placed_links(robot, x, order)
    if robot.nf == 1:
        foot = robot.feet[0]
        T = placed[foot.link].T
        return link_jacobians.homogeneous(T[:3, :3], placed[foot.link].point(foot.position))
    return np.stack([placed[foot.link].point(foot.position) for foot in robot.feet])


def euler_stacked_jacobian(robot: Robot, x: Float[ndarray, "nv"], order: str = "xyz") -> Float[ndarray, "6nf nv"]:
    """Return J_C as a matrix: rows (ω, v) of the feet in world axes by dx/dt."""
    return link_jacobians.feet_jacobian(robot, x, order).reshape(6 * robot.nf, robot.nv)


def euler_contact_jacobian(robot: Robot, x: Float[ndarray, "nv"], order: str = "xyz") -> Float[ndarray, "3nf nv"]:
    """Return the rows of J_C for point contacts: velocities of the feet in world axes by dx/dt."""
    J = link_jacobians.feet_jacobian(robot, x, order).reshape(robot.nf, 6, robot.nv)
    return np.concatenate([J[k, 3:] for k in range(robot.nf)])


_WRITTEN: dict[str, tuple[Callable[..., ndarray], str, tuple[str, ...]]] = {  # (function, symbol, arguments)
    "forward_kinematics": (euler_foot_poses, "T", ("x",)),
    "jacobian": (euler_stacked_jacobian, "J", ("x",)),
    "contact_jacobian": (euler_contact_jacobian, "J", ("x",)),
    "mass_matrix": (euler_mass_matrix, "M", ("x",)),
    "coriolis_matrix": (euler_coriolis_matrix, "C", ("x", "rate")),
    "coriolis_terms": (euler_coriolis_terms, "c", ("x", "rate")),
    "gravity_terms": (euler_gravity_terms, "G", ("x",)),
}
QUANTITIES = tuple(_WRITTEN)
FORMS = ("latex", "python", "c")


def written(robot: Robot, quantity: str, form: str = "latex", order: str = "xyz", digits: int = 4) -> str:
    """Write a quantity of a small robot in full: LaTeX to read, or a function of x (and rate) in Python or C.

    x = (ξ, p_WB, joints) is called q_1, q_2, ...; for a fixed base these are the joints in order.
    """
    return write_trace(trace_of(robot, quantity, order), robot, quantity, form, digits)


def trace_of(robot: Robot, quantity: str, order: str = "xyz") -> tracer.Trace:
    """Trace one of ``QUANTITIES`` of a robot in x."""
    if quantity not in _WRITTEN:
        raise unknown("quantity", quantity, _WRITTEN)
    function, _, arguments = _WRITTEN[quantity]
    return tracer.trace(partial(function, robot, order=order), *(np.zeros(robot.nv) for _ in arguments))


def write_trace(traced: tracer.Trace, robot: Robot, quantity: str, form: str = "latex", digits: int = 4) -> str:
    """Write a trace from ``trace_of`` in a format."""
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    _, symbol, arguments = _WRITTEN[quantity]
    numbers = range(1, robot.nv + 1)
    names = notation.Names(
        (*(f"q{k}" for k in numbers), *(f"v{k}" for k in numbers)),
        (*(f"q_{{{k}}}" for k in numbers), *(f"\\dot{{q}}_{{{k}}}" for k in numbers)),
    )
    if form == "latex":
        return notation.latex(traced, symbol, names, digits)
    about = f"{symbol} of robot '{robot.name}' by Euler-Lagrange, SI units."
    write = notation.python_text if form == "python" else notation.c_text
    return write(traced, quantity, arguments, names, about)


# -- numbers ---------------------------------------------------------------------------------------------------------
_programs: dict[tuple[str, str, str], nested.interpreted] = {}


def _evaluated(formula: Callable[..., ndarray], name: str, robot: Robot, order: str, *arrays: ndarray) -> ndarray:
    """Evaluate a formula with derivatives: inside the running trace, or for numbers by a trace cached for each
    robot.
    """
    if nptrace.is_tracing():
        return formula(*arrays)
    key = (name, order, robot.digest)
    if key not in _programs:
        if len(_programs) >= _MOST_PROGRAMS:
            _programs.pop(next(iter(_programs)))
        _programs[key] = nested.interpreted(formula, *arrays)
    return _programs[key](*arrays)


def forget() -> None:
    """Drop all traces kept in memory."""
    _programs.clear()


def _check(robot: Robot, order: str, **arrays: Any) -> None:
    """Raise for arrays of the wrong shape or, for numbers, not finite, naming them."""
    if order not in rotation.EULER_ORDERS:
        raise unknown("order of Euler angles", order, rotation.EULER_ORDERS)
    for name, array in arrays.items():
        size = robot.nq if name == "q" else robot.nv
        if np.shape(array) != (size,):
            raise InputError(f"{name} of robot '{robot.name}' must have shape ({size},), got {np.shape(array)}")
        if not nptrace.is_tracing() and not np.isfinite(np.asarray(array, dtype=float)).all():
            raise InputError(f"{name} of robot '{robot.name}' has a value that is not finite")


__all__ = [
    "FORMS",
    "ORDERS",
    "QUANTITIES",
    "Gravity",
    "bias_terms",
    "coriolis_matrix",
    "euler_coriolis_matrix",
    "euler_coriolis_terms",
    "euler_feet_jacobian",
    "euler_gravity_terms",
    "euler_mass_matrix",
    "feet_jacobian",
    "forget",
    "forward_dynamics",
    "gravity_terms",
    "inverse_dynamics",
    "kinetic_energy",
    "mass_matrix",
    "velocity_terms",
    "written",
]


def __dir__() -> list[str]:
    return sorted(__all__)

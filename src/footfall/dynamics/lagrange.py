"""Euler-Lagrange: eqs. (12)-(27) of seed 001 and the M, C, G of seed 004, an independent witness for all dynamics.

From the energies K = ẋᵀ M ẋ / 2 and P of ``link_jacobians``, in coordinates x = (ξ, p_WB, joints) with the Euler
angles of a paper, everything follows by differentiation, which the tracer does exactly:

    M ẍ + C ẋ + G = F,    C = (dM/dt + A - Aᵀ) / 2,  A = ∂(M ẋ)/∂x with ẋ held,    G = ∂P/∂x

C is the matrix of Christoffel symbols c_kji = (∂M_kj/∂x_i + ∂M_ki/∂x_j - ∂M_ij/∂x_k) / 2, summed with ẋ_i. Erratum of
seed 004: it prints the sum without the half. C ẋ alone (``euler_coriolis_terms``) is eq. (27) of seed 001.

The functions without ``euler_`` speak footfall's coordinates: v = N ẋ, N = diag(E, R_BW, 1). Erratum of seed 001,
below eq. (27): it corrects the finished C by E_t. That alone counts ω x I ω twice: the velocities ω are no rates of
coordinates, so eq. (27) does not hold in them. Derive in x, then map, the rate of N included:

    M_v = N⁻ᵀ M N⁻¹,    C_v = N⁻ᵀ (C - M N⁻¹ dN/dt) N⁻¹,    G_v = N⁻ᵀ G

Called with numbers, what is defined by differentiation is traced once for each robot and evaluated step by step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.dynamics import coordinates, link_jacobians
from footfall.errors import InputError, unknown
from footfall.robot.description import Robot
from footfall.spatial import cross, rotation
from footfall.spatial.quaternion import to_rotation
from footfall.trace import nested

GRAVITY = (0.0, 0.0, -9.81)  # in world axes [m/s²]
ORDERS = ("best", *rotation.EULER_ORDERS)
_MOST_PROGRAMS = 64  # kept in memory

Gravity = tuple[float, float, float]


# -- in the coordinates of the papers --------------------------------------------------------------------------------
def euler_mass_matrix(robot: Robot, x: Float[ndarray, "nv"], order: str = "xyz") -> Float[ndarray, "nv nv"]:
    """M of x = (ξ, p_WB, joints): eq. (20) of seed 001."""
    return _evaluated(link_jacobians.mass_matrix, robot, _Settings(_checked(order)), plain=True, x=x)


def euler_coriolis_matrix(
    robot: Robot, x: Float[ndarray, "nv"], rate: Float[ndarray, "nv"], order: str = "xyz"
) -> Float[ndarray, "nv nv"]:
    """C by Christoffel symbols (seed 004, with the half it forgets): dM/dt - 2 C is skew-symmetric."""
    return _evaluated(_christoffel, robot, _Settings(_checked(order)), x=x, rate=rate)


def euler_coriolis_terms(
    robot: Robot, x: Float[ndarray, "nv"], rate: Float[ndarray, "nv"], order: str = "xyz"
) -> Float[ndarray, "nv"]:
    """C ẋ: the vector C(q, q̇) of eq. (27) of seed 001."""
    return _evaluated(_coriolis_terms, robot, _Settings(_checked(order)), x=x, rate=rate)


def euler_gravity_terms(
    robot: Robot, x: Float[ndarray, "nv"], gravity: Gravity = GRAVITY, order: str = "xyz"
) -> Float[ndarray, "nv"]:
    """G = ∂P/∂x of eq. (27) of seed 001."""
    return _evaluated(_gravity_terms, robot, _Settings(_checked(order), _vector(gravity)), x=x)


def euler_feet_jacobian(robot: Robot, x: Float[ndarray, "nv"], order: str = "xyz") -> Float[ndarray, "nf 6 nv"]:
    """J_C of seed 001: twists (ω, v) of the feet in world axes by dx/dt; all feet stacked, its 24 x 20."""
    return _evaluated(link_jacobians.feet_jacobian, robot, _Settings(_checked(order)), plain=True, x=x)


def christoffel_symbols(robot: Robot, x: Float[ndarray, "nv"], order: str = "xyz") -> Float[ndarray, "nv nv nv"]:
    """c[k, j, i] = (∂M_kj/∂x_i + ∂M_ki/∂x_j - ∂M_ij/∂x_k) / 2, one by one: for small robots, and to see them."""
    return _evaluated(_symbols, robot, _Settings(_checked(order)), x=x)


# -- in footfall's own -----------------------------------------------------------------------------------------------
def mass_matrix(robot: Robot, q: Float[ndarray, "nq"], order: str = "best") -> Float[ndarray, "nv nv"]:
    """M(q) for v = (ω, v of the base in its axes, joint rates).

    ``order``: of the Euler angles it is derived in. ``best``: the one that is farther from its singularity; in a
    trace, where that is not known, ``zyx``.
    """
    return _evaluated(_mapped_mass_matrix, robot, _Settings(_order_at(robot, q, order)), plain=True, q=q)


def coriolis_matrix(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], order: str = "best"
) -> Float[ndarray, "nv nv"]:
    """C(q, v), with C v = c and dM/dt - 2 C skew-symmetric. (Such a C is not unique: only C v is.)"""
    return _evaluated(_mapped_coriolis_matrix, robot, _Settings(_order_at(robot, q, order)), q=q, v=v)


def velocity_terms(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], order: str = "best"
) -> Float[ndarray, "nv"]:
    """c(q, v), for spatial accelerations of the base."""
    return _evaluated(_mapped_velocity_terms, robot, _Settings(_order_at(robot, q, order)), q=q, v=v)


def gravity_terms(
    robot: Robot, q: Float[ndarray, "nq"], gravity: Gravity = GRAVITY, order: str = "best"
) -> Float[ndarray, "nv"]:
    """g(q): what holds the robot against gravity."""
    settings = _Settings(_order_at(robot, q, order), _vector(gravity))
    return _evaluated(_mapped_gravity_terms, robot, settings, q=q)


def bias_terms(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], gravity: Gravity = GRAVITY, order: str = "best"
) -> Float[ndarray, "nv"]:
    """c(q, v) + g(q)."""
    settings = _Settings(_order_at(robot, q, order), _vector(gravity))
    return _evaluated(_mapped_bias_terms, robot, settings, q=q, v=v)


def inverse_dynamics(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], a: Float[ndarray, "nv"],
    gravity: Gravity = GRAVITY, order: str = "best",
) -> Float[ndarray, "nv"]:  # fmt: skip
    """Generalised forces M a + c + g."""
    settings = _Settings(_order_at(robot, q, order), _vector(gravity))
    return _evaluated(_mapped_inverse_dynamics, robot, settings, q=q, v=v, a=a)


def forward_dynamics(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], tau: Float[ndarray, "nj"],
    gravity: Gravity = GRAVITY, order: str = "best",
) -> Float[ndarray, "nv"]:  # fmt: skip
    """Spatial accelerations for joint torques (nj) or generalised forces (nv), solved for ẍ in Euler coordinates."""
    if np.shape(tau) == (robot.nj,) and robot.floating:
        tau = np.concatenate([np.zeros(6), tau])
    settings = _Settings(_order_at(robot, q, order), _vector(gravity))
    return _evaluated(_mapped_forward_dynamics, robot, settings, q=q, v=v, tau=tau)


def feet_jacobian(robot: Robot, q: Float[ndarray, "nq"], order: str = "best") -> Float[ndarray, "nf 6 nv"]:
    """Twists (ω, v) of the feet in world axes by v: J_C with the correction of eq. (8) of seed 001."""
    return _evaluated(_mapped_feet_jacobian, robot, _Settings(_order_at(robot, q, order)), plain=True, q=q)


def kinetic_energy(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], order: str = "best") -> float:
    """K = ẋᵀ M ẋ / 2, eq. (19) of seed 001 [J]."""
    return _evaluated(_mapped_kinetic_energy, robot, _Settings(_order_at(robot, q, order)), plain=True, q=q, v=v)


# -- by differentiation (in a trace) ---------------------------------------------------------------------------------
def _coriolis_terms(robot: Robot, x: ndarray, rate: ndarray, order: str) -> ndarray:
    """d/dt (∂K/∂ẋ) - ∂K/∂x less M ẍ, eq. (25): (dM/dt) ẋ - ∂K/∂x."""
    momenta = partial(link_jacobians.momenta, robot, order=order)
    energy = partial(link_jacobians.kinetic_energy, robot, order=order)
    _, changing = nested.push(momenta, (x, rate), (rate, None))
    return changing - nested.gradient(energy, (x, rate))


def _christoffel(robot: Robot, x: ndarray, rate: ndarray, order: str) -> ndarray:
    """(dM/dt + A - Aᵀ) / 2: the Christoffel symbols, summed with ẋ before they are written out."""
    _, M_rate = nested.push(partial(link_jacobians.mass_matrix, robot, order=order), (x,), (rate,))
    A = nested.jacobian(partial(link_jacobians.momenta, robot, order=order), (x, rate))
    return 0.5 * (M_rate + A - A.T)


def _symbols(robot: Robot, x: ndarray, order: str) -> ndarray:
    slope = nested.jacobian(partial(link_jacobians.mass_matrix, robot, order=order), (x,))  # [k, j, i]
    return 0.5 * (slope + np.transpose(slope, (0, 2, 1)) - np.transpose(slope, (2, 1, 0)))


def _gravity_terms(robot: Robot, x: ndarray, gravity: Gravity, order: str) -> ndarray:
    potential = partial(link_jacobians.potential_energy, robot, gravity=gravity, order=order)
    return nested.gradient(potential, (x,))


# -- mapped to body velocities ---------------------------------------------------------------------------------------
def _coordinates(robot: Robot, q: ndarray, order: str) -> ndarray:
    """x of q."""
    if not robot.floating:
        return q
    return np.concatenate([rotation.to_euler(to_rotation(q[3:7]), order), q[:3], q[7:]])


def _velocity_map(robot: Robot, x: ndarray, order: str) -> ndarray:
    """N with v = N ẋ: E of eq. (7) of seed 001 for the turning, R_BW for the base's velocity."""
    N = np.eye(robot.nv)
    if robot.floating:
        N[:3, :3] = rotation.euler_rates_to_body(x[:3], order)
        N[3:6, 3:6] = rotation.from_euler(x[:3], order).T
    return N


def _inverse_map(robot: Robot, x: ndarray, order: str) -> ndarray:
    """N⁻¹: E⁻¹ by cofactors (E_t R_WB of eq. 8), singular at a middle angle of 90 degrees."""
    N = np.eye(robot.nv)
    if robot.floating:
        E = rotation.euler_rates_to_body(x[:3], order)
        rows = [cross(E[:, 1], E[:, 2]), cross(E[:, 2], E[:, 0]), cross(E[:, 0], E[:, 1])]
        N[:3, :3] = np.stack(rows) / (E[:, 0] @ rows[0])
        N[3:6, 3:6] = rotation.from_euler(x[:3], order)
    return N


def _map_rate(robot: Robot, x: ndarray, rate: ndarray, order: str) -> ndarray:
    """dN/dt along ẋ."""
    return nested.push(partial(_velocity_map, robot, order=order), (x,), (rate,))[1]


def _mapped_mass_matrix(robot: Robot, q: ndarray, order: str) -> ndarray:
    x = _coordinates(robot, q, order)
    back = _inverse_map(robot, x, order)
    return back.T @ (link_jacobians.mass_matrix(robot, x, order) @ back)


def _mapped_feet_jacobian(robot: Robot, q: ndarray, order: str) -> ndarray:
    x = _coordinates(robot, q, order)
    return link_jacobians.feet_jacobian(robot, x, order) @ _inverse_map(robot, x, order)


def _mapped_kinetic_energy(robot: Robot, q: ndarray, v: ndarray, order: str) -> float:
    x = _coordinates(robot, q, order)
    return link_jacobians.kinetic_energy(robot, x, _inverse_map(robot, x, order) @ v, order)


def _mapped_gravity_terms(robot: Robot, q: ndarray, gravity: Gravity, order: str) -> ndarray:
    x = _coordinates(robot, q, order)
    return _inverse_map(robot, x, order).T @ _gravity_terms(robot, x, gravity, order)


def _mapped_velocity_terms(robot: Robot, q: ndarray, v: ndarray, order: str) -> ndarray:
    """N⁻ᵀ (C ẋ - M N⁻¹ dN/dt ẋ)."""
    x = _coordinates(robot, q, order)
    back = _inverse_map(robot, x, order)
    rate = back @ v
    bent = back @ (_map_rate(robot, x, rate, order) @ rate)  # ẍ of a robot whose v is constant, with the sign turned
    return back.T @ (_coriolis_terms(robot, x, rate, order) - link_jacobians.momenta(robot, x, bent, order))


def _mapped_coriolis_matrix(robot: Robot, q: ndarray, v: ndarray, order: str) -> ndarray:
    """N⁻ᵀ (C - M N⁻¹ dN/dt) N⁻¹."""
    x = _coordinates(robot, q, order)
    back = _inverse_map(robot, x, order)
    rate = back @ v
    M, turning = link_jacobians.mass_matrix(robot, x, order), _map_rate(robot, x, rate, order)
    return back.T @ ((_christoffel(robot, x, rate, order) - M @ (back @ turning)) @ back)


def _mapped_bias_terms(robot: Robot, q: ndarray, v: ndarray, gravity: Gravity, order: str) -> ndarray:
    return _mapped_velocity_terms(robot, q, v, order) + _mapped_gravity_terms(robot, q, gravity, order)


def _mapped_inverse_dynamics(
    robot: Robot, q: ndarray, v: ndarray, a: ndarray, gravity: Gravity, order: str
) -> ndarray:  # fmt: skip
    return _mapped_mass_matrix(robot, q, order) @ a + _mapped_bias_terms(robot, q, v, gravity, order)


def _mapped_forward_dynamics(
    robot: Robot, q: ndarray, v: ndarray, tau: ndarray, gravity: Gravity, order: str
) -> ndarray:  # fmt: skip
    """M ẍ = Nᵀτ - C ẋ - G, then a = N ẍ + dN/dt ẋ."""
    x = _coordinates(robot, q, order)
    N, rate = _velocity_map(robot, x, order), _inverse_map(robot, x, order) @ v
    force = N.T @ tau - _coriolis_terms(robot, x, rate, order) - _gravity_terms(robot, x, gravity, order)
    M = link_jacobians.mass_matrix(robot, x, order)
    return N @ _solved(M, force) + _map_rate(robot, x, rate, order) @ rate


def _solved(A: ndarray, b: ndarray) -> ndarray:
    """y of A y = b for a symmetric positive A, the last unknown eliminated first: legs never meet, so no fill-in."""
    n, A, y = len(b), A.copy(), [b[k] for k in range(len(b))]
    for k in reversed(range(n)):
        for i in range(k):
            share = A[k, i] / A[k, k]
            A[i, : i + 1] = A[i, : i + 1] - share * A[k, : i + 1]
            y[i] = y[i] - share * y[k]
    for k in range(n):
        y[k] = (y[k] - sum(A[k, i] * y[i] for i in range(k))) / A[k, k]
    return np.stack(y)


# -- numbers ---------------------------------------------------------------------------------------------------------
class _Settings(NamedTuple):
    """What is fixed while a formula is traced."""

    order: str
    gravity: Gravity | None = None

    def given(self) -> dict[str, Any]:
        return {"order": self.order} if self.gravity is None else self._asdict()


def _evaluated(
    formula: Callable[..., Any], robot: Robot, settings: _Settings, plain: bool = False, **inputs: Any
) -> Any:
    """The formula as part of a running trace; outside of one in numbers, directly if it is ``plain``, else traced."""
    if numeric.tracer.get() is not None:
        return formula(robot, *inputs.values(), **settings.given())
    numbers = []
    for name, value in inputs.items():
        array, size = np.asarray(value, dtype=float), robot.nq if name == "q" else robot.nv
        if array.shape != (size,):
            raise InputError(f"{name} of robot '{robot.name}' must have shape ({size},), got {array.shape}")
        if not np.isfinite(array).all():
            raise InputError(f"{name} of robot '{robot.name}' holds a value that is not finite")
        numbers.append(array)
    if plain:
        return formula(robot, *numbers, **settings.given())
    return _traced(formula, robot, settings, numbers)(*numbers)


_programs: dict[tuple, nested.interpreted] = {}


def _traced(
    formula: Callable[..., Any], robot: Robot, settings: _Settings, examples: list[ndarray]
) -> nested.interpreted:
    """The traced formula, from memory if this robot has been here before."""
    key = (formula.__name__, robot.digest, settings)
    if key not in _programs:
        if len(_programs) >= _MOST_PROGRAMS:
            _programs.pop(next(iter(_programs)))
        _programs[key] = nested.interpreted(partial(formula, robot, **settings.given()), *examples)
    return _programs[key]


def forget() -> None:
    """Drop all traces kept in memory."""
    _programs.clear()


def _vector(gravity: Gravity) -> Gravity:
    """Gravity as plain numbers, which a trace can be filed under."""
    x, y, z = (float(component) for component in gravity)
    return x, y, z


def _checked(order: str) -> str:
    if order not in rotation.EULER_ORDERS:
        raise unknown("order of Euler angles", order, rotation.EULER_ORDERS)
    return order


def _order_at(robot: Robot, q: ndarray, order: str) -> str:
    """The order to derive in; near the singularity of a given one an error that names the angle."""
    if order not in ORDERS:
        raise unknown("order of Euler angles", order, ORDERS)
    if numeric.tracer.get() is not None or not robot.floating or np.shape(q) != (robot.nq,):
        return "zyx" if order == "best" else order
    if order == "best":
        R_WB = to_rotation(np.asarray(q, dtype=float)[3:7])
        order = min(rotation.EULER_ORDERS, key=lambda one: abs(rotation.to_euler(R_WB, one)[1]))
    coordinates.to_euler_coordinates(robot, np.asarray(q, dtype=float), order)  # refuses near the singularity
    return order

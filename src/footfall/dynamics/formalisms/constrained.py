"""Excess coordinates: one floating robot, and contact as constraints on it (lecture slides on floating-base robots).

    [ M  -Jᵀ ] [ a ]   [ Sᵀτ - h            ]
    [ J   0  ] [ f ] = [ -dJ/dt v - feedback ]

J has three rows for every stance foot. The system is solved by its Schur complement, the Delassus matrix A = J M⁻¹ Jᵀ
(the inverse inertia at the feet), built from the branch-sparse factor of M. The rows of other feet become rows of the
identity, so that one traced program serves all 2ⁿ modes: the mode is data.

A foot is constrained at the centre of its sphere (frame ``world``: the spherical joint of Yan 2021), or rolls on the
ground without slipping (frame ``contact`` with the ground's axes ``R_WC``).
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.dynamics.factor import dense_factor, dense_solve, factor, solve_inward, solve_outward
from footfall.dynamics.forward_dynamics import bias_terms, generalised
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.errors import InputError
from footfall.kinematics.forward import foot_positions
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import FlatFoot
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float

Gravity = Float[ndarray, "3"] | tuple[float, float, float]


def constrained_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    mode: Float[ndarray, "nf"],
    gravity: Gravity = GRAVITY,
    stabilisation: tuple[float, float] = (0.0, 0.0),
    anchors: Float[ndarray, "nf 3"] | None = None,
    damping: float = 0.0,
    frame: str = "world",
    R_WC: Float[ndarray, "3 3"] | None = None,
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "nf 3"]]:
    """Return accelerations and contact forces with the feet of a contact mode held, by Lagrange multipliers (KKT).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        tau: Joint torques [N m].
        mode: One number per foot, 1 in contact, 0 otherwise; it may be traced (``mode_of`` makes it from names). Three
            numbers per foot hold each direction separately: (0, 0, 1) is a foot sliding on level ground without
            friction.
        gravity: Acceleration of gravity in world axes [m/s²].
        stabilisation: Baumgarte gains (k_p [1/s²], k_d [1/s]): J a + dJ/dt v = -k_d J v - k_p (p - anchor).
        anchors: Positions at which the feet are held [m]; without them k_p has no effect.
        damping: Added to the diagonal of the contact matrix, as a fraction of its mean: makes redundant sets of feet
            solvable, with slightly compliant feet. ``contact_set`` shows whether it is needed.
        frame: Axes of the contact frames: ``world``, ``contact`` or ``foot``.
        R_WC: Axes of the contact frame, normal last, for ``contact``; level ground unless given.

    Returns:
        Accelerations a = dv/dt, and forces of the ground on the feet [N], zero at feet not in contact.
    """
    _check_mode(robot, mode)
    L, d, Y, J = feet_in_factor(robot, q, frame, R_WC)
    free = solve_outward(robot, L, generalised(robot, tau) - bias_terms(robot, q, v, gravity))
    wanted = -feet_bias_acceleration(robot, q, v, frame, R_WC)[:, 3:].reshape(-1)
    stiffness, rate = stabilisation
    if rate:
        wanted = wanted - rate * (J @ v)
    if stiffness and anchors is not None:
        wanted = wanted - stiffness * _drift(robot, q, anchors, R_WC if frame == "contact" else None)
    f = contact_solve(d, Y, mode, wanted - Y.T @ (free / d), damping)
    return solve_inward(robot, L, (free + Y @ f) / d), f.reshape(-1, 3)


def impact_map(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    mode: Float[ndarray, "nf"],
    damping: float = 0.0,
    frame: str = "world",
    R_WC: Float[ndarray, "3 3"] | None = None,
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "nf 3"]]:
    """Return the velocity after a touchdown without rebound.

    The feet of the new mode stop, q does not change, and momentum is transferred by the feet alone. Among all
    velocities that the mode permits, the result is the closest to v in the metric of M.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        mode: 1 for each foot in contact after the touchdown.
        damping: Damping as in ``constrained_dynamics``.
        frame: Axes of the contact frames: ``world``, ``contact`` or ``foot``.
        R_WC: Axes of the contact frame, normal last, for ``contact``; level ground unless given.

    Returns:
        Velocity after the touchdown, and impulses on the feet [N s].
    """
    _check_mode(robot, mode)
    L, d, Y, J = feet_in_factor(robot, q, frame, R_WC)
    impulse = contact_solve(d, Y, mode, -(J @ v), damping)
    return v + solve_inward(robot, L, (Y @ impulse) / d), impulse.reshape(-1, 3)


def delassus_matrix(
    robot: Robot, q: Float[ndarray, "nq"], frame: str = "world", R_WC: Float[ndarray, "3 3"] | None = None
) -> Float[ndarray, "rows rows"]:
    """Return the Delassus matrix J M⁻¹ Jᵀ of all feet.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        frame: Axes of the contact frames: ``world``, ``contact`` or ``foot``.
        R_WC: Axes of the contact frame, normal last, for ``contact``; level ground unless given.

    Returns:
        Accelerations of the feet per unit of force on the feet [1/kg].
    """
    _, d, Y, _ = feet_in_factor(robot, q, frame, R_WC)
    return Y.T @ _divided(Y, d)


def contact_jacobian(
    robot: Robot, q: Float[ndarray, "nq"], frame: str = "world", R_WC: Float[ndarray, "3 3"] | None = None
) -> Float[ndarray, "rows nv"]:
    """Return the Jacobian of all feet: their velocities are J v.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        frame: Axes of the contact frames: ``world``, ``contact`` or ``foot``.
        R_WC: Axes of the contact frame, normal last, for ``contact``; level ground unless given.

    Returns:
        Three rows per foot (a point contact transmits no moment).
    """
    return feet_jacobian(robot, q, frame, R_WC)[:, 3:].reshape(3 * robot.nf, robot.nv)


# -- the factor of M, by halves ----------------------------------------------------------------------------------------
def feet_in_factor(
    robot: Robot, q: Float[ndarray, "nq"], frame: str = "world", R_WC: ndarray | None = None
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return (L, d, Y, J) with M = Lᵀ D L and Y = L⁻ᵀ Jᵀ, so that A = Yᵀ D⁻¹ Y. Y has the zeros of Jᵀ."""
    L, d = factor(robot, mass_matrix(robot, q))
    J = contact_jacobian(robot, q, frame, R_WC)
    return L, d, solve_outward(robot, L, J.T), J


def _divided(Y: Float[ndarray, "nv m"], d: Float[ndarray, "nv"]) -> Float[ndarray, "nv m"]:
    return Y * (1.0 / d)[:, None]


def contact_solve(
    d: Float[ndarray, "nv"],
    Y: Float[ndarray, "nv m"],
    mode: Float[ndarray, "nf"],
    b: Float[ndarray, "m"],
    damping: float,
) -> Float[ndarray, "m"]:
    """Return f with A f = b in the rows of stance feet, and f = 0 in the others."""
    stands = held_rows(mode)
    A = (Y.T @ _divided(Y, d)) * (stands[:, None] * stands[None, :])
    slack = damping * sum(A[k, k] for k in range(len(stands))) / max(len(stands), 1)
    for k in range(len(stands)):
        A[k, k] = A[k, k] + slack + (1.0 - stands[k])
    return dense_solve(*dense_factor(A), stands * b)


def held_rows(mode: Float[ndarray, "nf"] | Float[ndarray, "nf 3"]) -> Float[ndarray, "rows"]:
    """Return 1 for every row of J that a mode constrains."""
    if not len(mode):
        return np.zeros(0)
    return np.concatenate([np.stack([m, m, m]) if np.ndim(m) == 0 else m for m in mode])


def _drift(
    robot: Robot, q: Float[ndarray, "nq"], anchors: Float[ndarray, "nf 3"], R_WC: ndarray | None
) -> Float[ndarray, "rows"]:
    """Return the displacements of the feet from their anchors, in the axes of the constraint rows."""
    away = foot_positions(robot, q) - anchors
    return (away if R_WC is None else away @ R_WC).reshape(-1)


def _check_mode(robot: Robot, mode: Float[ndarray, "nf"]) -> None:
    if np.shape(mode) not in ((robot.nf,), (robot.nf, 3)):
        raise InputError(
            f"a mode of robot '{robot.name}' is {robot.nf} numbers, 1 for each foot in contact; got shape"
            f" {np.shape(mode)}"
        )
    check_points(robot, mode)


def check_points(robot: Robot, mode: Float[ndarray, "nf"]) -> None:
    """Raise where soles would be constrained as points: one number per foot is a mode of points, three number its
    rows.
    """
    flat = [foot.name for foot in robot.feet if isinstance(foot, FlatFoot)]
    if not flat or np.ndim(mode) == 2:
        return
    if nptrace.is_tracing() or np.any(mode):
        raise InputError(
            f"foot '{flat[0]}' of robot '{robot.name}' has a sole, which is constrained by six rows instead of the"
            " three of a point:"
            " use flat_dynamics and flat_impact, or a mode of three numbers per foot, which constrains its centre"
        )

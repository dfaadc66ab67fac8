"""Resolved rate: joint rates from the leg's Jacobian, and joint angles by many small steps.

Rates by the pseudo-inverse, as the DynaKat report has them (section III-E), damped near singular postures after
Nakamura and Hanafusa 1986, with a posture task in the null space of redundant legs. Angles by repeating it (damped
least squares, Wampler 1986), by Levenberg's rule of accepting steps that improve, or by the Jacobian's transpose, the
baseline. A joint that would leave its limits is removed from the step and the others are solved again. Plain NumPy that
can be traced.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.errors import InputError, unknown
from footfall.kinematics.iterative.fabrik_leg import Reached, distance
from footfall.kinematics.leg_chain import LegChain, Values, foot_jacobian, foot_position
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

RULES = ("levenberg", "manipulability", "constant", "transpose", "pseudo_inverse")
DAMPING = 0.1  # damping of a singular leg, as a fraction of its reach; also that of the constant rule
NEAR = 0.1  # manipulability, as a fraction of the cubed reach, below which damping sets in
_PROJECTS = 1e-6  # damping of the null space's projector, as a fraction of the reach: more would leak into the foot
_PSEUDO = 1e-6  # damping of the pseudo-inverse, as a fraction of the reach: above rounding, to stay finite
HOPELESS = 1e3  # damping of the Levenberg rule at which no step improves
TURN = 0.5  # largest rotation of a joint in a step [rad]


def leg_rates(
    leg: LegChain,
    joints: Values,
    velocity: Float[ndarray, "3"],
    toward: Values | None = None,
    gain: float = 1.0,
    damping: float = DAMPING,
) -> Float[ndarray, "n"]:
    """Return joint velocities of a leg that move its foot with a velocity, by damped least squares.

    Args:
        leg: Chain of the leg (``leg_chain``).
        joints: Joint values of the leg.
        velocity: Velocity of the foot, in the frame of the body that carries the leg [m/s].
        toward: Posture to which a redundant leg drifts in the null space of its foot.
        gain: Rate of that drift [1/s].
        damping: Damping of the least squares, relative to the leg's reach.

    Returns:
        Joint velocities [rad/s].
    """
    _, J = foot_jacobian(leg, joints)
    square = _damping(leg, J, damping)
    rates = _damped_inverse(J, velocity, square)
    if toward is not None:
        drift = np.stack([gain * (wanted - value) for wanted, value in zip(toward, joints)])
        rates = rates + drift - _damped_inverse(J, J @ drift, (_PROJECTS * leg.reach) ** 2)
    return rates


def manipulability(J: Float[ndarray, "3 n"]) -> Scalar:
    """Return the manipulability sqrt(det(J Jᵀ)) (Yoshikawa 1985).

    Args:
        J: Jacobian of a point.

    Returns:
        Zero in a singular configuration.
    """
    return np.sqrt(np.maximum(_determinant(J @ J.T), 0.0))


def resolved_rate_leg(
    leg: LegChain,
    target: Float[ndarray, "3"],
    start: Values,
    rule: str = "levenberg",
    toward: Values | None = None,
    iterations: int = 200,
    tolerance: float = 1e-7,
) -> Reached:
    """Solve the inverse kinematics of a leg by steps of its Jacobian (resolved rates).

    Args:
        leg: Chain of the leg (``leg_chain``).
        target: Position of the foot's centre in the frame of the body that carries the leg [m].
        start: Joint values to start from.
        rule: ``levenberg`` accepts only steps that reduce the error, and adapts its damping; ``manipulability`` and
            ``constant`` are damped least squares; ``pseudo_inverse`` is not damped; ``transpose`` is gradient descent
            with the step that is best for the linear model.
        toward: Posture for redundant joints; not with ``levenberg`` and ``transpose``.
        iterations: Largest number of iterations.
        tolerance: Distance at which the target counts as reached [m].

    Returns:
        Joint values, distance left [m], and iterations used.
    """
    if rule not in RULES:
        raise unknown("rule of the resolved rate", rule, RULES)
    if toward is not None and rule in ("levenberg", "transpose"):
        raise InputError(f"the rule '{rule}' has no posture task: choose manipulability or constant")

    def body(_: Operand, carry: tuple[PyTree, PyTree, PyTree, PyTree]) -> tuple[PyTree, PyTree, PyTree, PyTree]:
        joints, far, used, effort = carry
        done = (far <= tolerance) | (effort >= HOPELESS)
        moved = _step(leg, target, joints, rule, toward, effort)
        left = distance(foot_position(leg, list(moved)), target)
        better = (left < (1.0 - 1e-6) * far) if rule == "levenberg" else np.logical_not(done)
        keep = better & np.logical_not(done)
        if rule == "levenberg":
            effort = np.where(done, effort, np.clip(np.where(better, 0.2, 4.0) * effort, 1e-12, HOPELESS))
        return np.where(keep, moved, joints), np.where(keep, left, far), used + np.where(done, 0.0, 1.0), effort

    first = np.stack([np.clip(value, screw.lower, screw.upper) for screw, value in zip(leg.screws, start)])
    carry = (first, distance(foot_position(leg, list(first)), target), 0.0, 1e-3)
    found = nptrace.repeat(iterations, body, carry, until=lambda c: (c[1] <= tolerance) | (c[3] >= HOPELESS))
    return Reached(found[0], found[1], found[2])


def _step(
    leg: LegChain, target: Operand, joints: Operand, rule: str, toward: Operand, effort: Operand
) -> Float[ndarray, "n"]:
    """Return the joints after one step within their limits: solved, and solved again without blocked joints."""
    foot, J = foot_jacobian(leg, list(joints))
    miss = target - foot
    lower, upper = np.array(leg.lower), np.array(leg.upper)
    free = np.ones(len(leg))
    step = free
    for _ in range(2):
        J_free = J * free
        if rule == "transpose":
            back = J_free.T @ miss
            along = J_free @ back
            step = back * (np.sum(miss * along) / (np.sum(along * along) + 1e-30))
        else:
            scale = leg.reach**2
            if rule == "levenberg":
                square = effort * scale
            elif rule == "constant":
                square = DAMPING**2 * scale
            elif rule == "pseudo_inverse":
                square = _PSEUDO**2 * scale
            else:
                square = _damping(leg, J_free, DAMPING)
            step = _damped_inverse(J_free, miss, square)
            if toward is not None:
                drift = np.stack([0.2 * (wanted - joints[k]) for k, wanted in enumerate(toward)]) * free
                step = step + drift - _damped_inverse(J_free, J_free @ drift, _PROJECTS**2 * scale)
        step = step * (TURN / np.maximum(np.max(np.abs(step)), TURN))
        out = (joints + step < lower) | (joints + step > upper)
        free = np.where(out, 0.0, free)
    return np.clip(joints + step, lower, upper)


def _damping(leg: LegChain, J: Operand, most: float) -> Operand:
    """Return λ² [m²]: zero in good postures, (largest damping)² at a singular one (Nakamura and Hanafusa 1986)."""
    scale = leg.reach
    if len(leg) < 3:
        return (1e-3 * most * scale) ** 2
    lack = np.maximum(1.0 - manipulability(J) / (NEAR * scale**3), 0.0)
    return (most * scale * lack) ** 2 + (1e-9 * scale) ** 2


def _damped_inverse(J: Operand, velocity: Operand, square: Operand) -> Operand:
    """Return Jᵀ (J Jᵀ + λ² I)⁻¹ times a velocity, by the smaller of J Jᵀ and Jᵀ J."""
    rows, columns = np.shape(J)
    if columns < rows:
        return solve_small(J.T @ J + square * np.eye(columns), J.T @ velocity)
    return J.T @ solve_small(J @ J.T + square * np.eye(rows), velocity)


def solve_small(A: Operand, b: Operand) -> Float[ndarray, "n"]:
    """Return A⁻¹ b for a small symmetric positive definite matrix, by Cholesky, with loops unrolled in a trace."""
    n = len(b)
    L: list[list[Operand]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = A[i, j] - sum(L[i][k] * L[j][k] for k in range(j))
            L[i][j] = np.sqrt(np.maximum(rest, 1e-300)) if i == j else rest / L[j][j]
    y: list[Operand] = []
    for i in range(n):
        y.append((b[i] - sum(L[i][k] * y[k] for k in range(i))) / L[i][i])
    x: list[Operand] = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (y[i] - sum(L[k][i] * x[k] for k in range(i + 1, n))) / L[i][i]
    return np.stack(x)


def _determinant(A: Operand) -> Operand:
    return (
        A[0, 0] * (A[1, 1] * A[2, 2] - A[1, 2] * A[2, 1])
        - A[0, 1] * (A[1, 0] * A[2, 2] - A[1, 2] * A[2, 0])
        + A[0, 2] * (A[1, 0] * A[2, 1] - A[1, 1] * A[2, 0])
    )

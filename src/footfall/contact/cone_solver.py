"""Contact impulses by block Gauss-Seidel: each contact in turn satisfies the exact friction cone, with the others
fixed.

A single contact is a problem in one unknown. Sliding with V_T = -α λ_T and V_N = 0 gives

    (Ã + α 1) λ_T = -b̃,   λ_N = -(b_N + a · λ_T) / a_N,     Ã = A_TT - a aᵀ / a_N,  b̃ = b_T - a b_N / a_N

α = 0 sticks; else α is the root of μ λ_N / |λ_T| = 1, which Newton's method finds as in a trust region, where the
quotient is nearly a straight line. The root is followed from sweep to sweep, two Newton steps at every visit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

import nptrace
from footfall.contact.coulomb import _TINY, ContactProblem, largest, length
from nptrace import select
from nptrace.array_types import Float

# fraction of the block's trace: prevents division by zero for a contact that cannot move; does not change solutions
_PROXIMAL = 1e-9
_NEWTON_STEPS = 2


@dataclass(frozen=True, kw_only=True)
class _Block:
    """The 3 x 3 block of A of one contact, with the effect of the normal on the tangents eliminated."""

    t_00: float  # Ã
    t_01: float
    t_11: float
    k_0: float  # a / a_N
    k_1: float
    reciprocal: float  # 1 / a_N
    proximal: float


def solve_by_contact(
    problem: ContactProblem,
    impulses: Float[ndarray, "nc"],
    slips: Float[ndarray, "ns"],
    sweeps: int,
    tolerance: float,
    unsolved: float = np.inf,
) -> tuple[Float[ndarray, "nc"], Float[ndarray, "ns"], float]:
    """Return (impulses, slip coefficients α [1/kg], sweeps), iterated until no velocity changes by ``tolerance``.

    ``unsolved`` is the residual of the guess [m/s]: at or below the tolerance, the guess is returned unchanged.

    The result lies in the cone, converged or not.
    """
    blocks = [_block(problem, k) for k in range(problem.contacts)]
    V_free = problem.V_free - problem.floors
    scale = problem.scale

    def sweep(_: float, carry: tuple[ndarray, ndarray, float, float]) -> tuple[ndarray, ndarray, float, float]:
        before, alphas, change, made = carry
        now, slips = [before[i] for i in range(len(before))], []
        for k, block in enumerate(blocks):
            i, guess = 3 * k, np.stack(now)
            b = [
                V_free[i + r]
                + problem.A[i + r] @ guess
                - sum(_own(problem, block, i, r, c) * now[i + c] for c in range(3))
                for r in range(3)
            ]
            *now[i : i + 3], alpha = _one_contact(block, b, problem.friction[k], alphas[k])
            slips.append(alpha)
        after = np.stack(now)
        moved = largest([scale[i] * np.abs(after[i] - before[i]) for i in range(len(now))])
        done = change <= tolerance  # frozen, while other robots in the same lanes continue
        return (
            select(done, before, after),
            select(done, alphas, np.stack(slips)),
            select(done, change, moved),
            select(done, made, made + 1.0),
        )

    start = (impulses, slips, unsolved, 0.0)
    out, alphas, _, made = nptrace.repeat(
        sweeps, sweep, start, until=lambda carry: carry[2] <= tolerance, check_first=True
    )
    return out, alphas, made


def _block(problem: ContactProblem, k: int) -> _Block:
    A, i = problem.A, 3 * k
    proximal = _PROXIMAL * (A[i, i] + A[i + 1, i + 1] + A[i + 2, i + 2])
    reciprocal = 1.0 / (A[i + 2, i + 2] + proximal)
    k_0, k_1 = A[i, i + 2] * reciprocal, A[i + 1, i + 2] * reciprocal
    return _Block(
        t_00=A[i, i] + proximal - k_0 * A[i, i + 2],
        t_01=A[i, i + 1] - k_0 * A[i + 1, i + 2],
        t_11=A[i + 1, i + 1] + proximal - k_1 * A[i + 1, i + 2],
        k_0=k_0,
        k_1=k_1,
        reciprocal=reciprocal,
        proximal=proximal,
    )


def _own(problem: ContactProblem, block: _Block, i: int, r: int, c: int) -> float:
    """Return the contact's diagonal block of A."""
    return problem.A[i + r, i + c] + (block.proximal if r == c else 0.0)


def _one_contact(block: _Block, b: list[float], mu: float, alpha: float) -> tuple[float, float, float, float]:
    """Return (λ_T twice, λ_N, α) of one contact whose velocity without it is b."""
    pressed = -block.reciprocal * b[2]
    c_0, c_1 = b[0] - block.k_0 * b[2], b[1] - block.k_1 * b[2]
    for _ in range(_NEWTON_STEPS):
        alpha = _newton(block, c_0, c_1, pressed, mu, alpha)
    x_0, x_1 = _tangential(block, alpha, -c_0, -c_1)
    normal = pressed - block.k_0 * x_0 - block.k_1 * x_1
    share = _share(mu, normal, x_0, x_1)
    x_0, x_1 = share * x_0, share * x_1
    normal = np.maximum(pressed - block.k_0 * x_0 - block.k_1 * x_1, 0.0)  # V_N = 0 with the present friction
    share = _share(mu, normal, x_0, x_1)
    open = b[2] >= 0.0
    return (
        select(open, 0.0, share * x_0),
        select(open, 0.0, share * x_1),
        select(open, 0.0, normal),
        select(open, 0.0, alpha),
    )


def _newton(block: _Block, c_0: float, c_1: float, pressed: float, mu: float, alpha: float) -> float:
    """Take one Newton step towards μ λ_N / |λ_T| = 1, or a leap outwards where that has no derivative."""
    x_0, x_1 = _tangential(block, alpha, -c_0, -c_1)
    s_0, s_1 = _tangential(block, alpha, -x_0, -x_1)  # dλ_T / dα
    normal = pressed - block.k_0 * x_0 - block.k_1 * x_1
    size_2 = x_0 * x_0 + x_1 * x_1
    size = np.sqrt(size_2)
    slope = mu * (-(block.k_0 * s_0 + block.k_1 * s_1) * size_2 - normal * (x_0 * s_0 + x_1 * s_1))
    leap = 4.0 * alpha + block.t_00 + block.t_11
    step = (size - mu * normal) * size_2 / np.maximum(slope, _TINY)
    return np.maximum(select(slope > 0.0, np.minimum(alpha + step, 16.0 * leap), leap), 0.0)


def _tangential(block: _Block, alpha: float, y_0: float, y_1: float) -> tuple[float, float]:
    """Return (Ã + α 1)⁻¹ y."""
    g_0, g_1 = block.t_00 + alpha, block.t_11 + alpha
    reciprocal = 1.0 / (g_0 * g_1 - block.t_01 * block.t_01)
    return reciprocal * (g_1 * y_0 - block.t_01 * y_1), reciprocal * (g_0 * y_1 - block.t_01 * y_0)


def _share(mu: float, normal: float, x_0: float, x_1: float) -> float:
    """Return the fraction of a tangential impulse that fits into the cone."""
    return np.minimum(1.0, mu * np.maximum(normal, 0.0) / (length(x_0, x_1) + _TINY))

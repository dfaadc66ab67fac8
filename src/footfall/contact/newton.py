"""Impulses of redundant contacts by Newton's method on F(x) of ``least_squares``.

A box resting on a face touches with more corners than determine its load. Gaps that differ by rounding decide which of
them carry, and sweeps over the contacts transfer load only in proportion to the residual velocity, without converging.
Newton's method solves for all corners at once; with A + ρ D in place of the singular A its steps stay bounded, and the
root is the same, since ρ is in the matrix and not in F. ρ decreases from iteration to iteration and is reset where that
did not converge. Full steps are taken: with a line search they would stop at the first kink.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.contact.coulomb import ContactProblem, cone_radius
from footfall.contact.least_squares import impulses_of, slip_coefficients, slopes_of, solved_for, start_from
from nptrace import select
from nptrace.array_types import Float

_MOST, _FALL = 0.1, 0.5  # ρ: initial value, factor per iteration
_Carry = tuple[ndarray, ndarray, float, float, float]  # x, best x so far, its |F|, iterations, ρ
_ANEW = 1e-10  # ρ is reset once it would have fallen so far, after 30 iterations


def solve_by_newton(
    problem: ContactProblem,
    impulses: Float[ndarray, "nc"],
    slips: Float[ndarray, "ns"],
    iterations: int,
    tolerance: float,
    unsolved: float,
    least: float,
) -> tuple[Float[ndarray, "nc"], Float[ndarray, "ns"], float, float]:
    """Return (impulses, slip coefficients α [1/kg], largest |F| [m/s], iterations), as ``solve_by_contact``.

    ``unsolved`` is the residual of the guess [m/s]: at or below the tolerance no iteration is made. ``least``: the
    smallest ρ.
    """
    scale, V_free = problem.scale, problem.V_free - problem.floors
    radii = [cone_radius(problem, k) for k in range(problem.contacts)]
    A = problem.A * (1.0 / scale)[None, :]
    first = start_from(problem, impulses, slips, V_free)

    def misfit(x: ndarray) -> ndarray:
        scaled = impulses_of(x, radii)
        return A @ scaled - scaled - x + V_free

    def iterate(_: float, carry: _Carry) -> _Carry:
        x, best, size, made, damping = carry
        closer = x + solved_for(A, slopes_of(x, radii), misfit(x), np.maximum(damping, least))
        reached = np.max(np.abs(misfit(closer)))
        done, better, lost = size <= tolerance, reached < size, ~np.isfinite(reached)
        taken = better & ~done
        return (
            select(lost, best, closer),
            select(taken, closer, best),
            select(taken, reached, size),
            select(done, made, made + 1.0),
            select(lost | (damping < _ANEW), _MOST, _FALL * damping),
        )

    _, x, size, made, _ = nptrace.repeat(
        iterations,
        iterate,
        (first, first, unsolved, 0.0, _MOST),
        until=lambda carry: carry[2] <= tolerance,
        check_first=True,
    )
    return impulses_of(x, radii) / scale, slip_coefficients(problem, x, radii), size, made

"""Contact impulses as an unconstrained least-squares problem: eqs. (33)-(37) of Adak et al. 2021.

One number x per row encodes both an impulse and a velocity, only one of which can be nonzero:

    λ_N = max(0, -x_N),  V_N = max(0, x_N),  s = min(1, μ λ_N / |x_T|),  λ_T = -s x_T,  V_T = x_T - s x_T,   V = λ + x

so that all laws hold for any x, and only A λ(x) + V_0 = V(x) remains: minimise the square of its residual,

    F(x) = (A D⁻¹ - 1) λ(x) - x + V_0

Erratum: eq. (34) prints S_11 = 1, which contradicts eq. (33) for x_N > 0: here 1 only for x_N < 0. D scales impulses
(``coulomb``); with D = 1, as in eq. (37), the solutions are the same. The result is "almost always" the exact solution:
the residual is therefore reported, and where it is too large ``cone_solver`` continues.

F is linear where no contact changes between sticking, sliding and open, so that Gauss-Newton steps with the Jacobian
-H, H = 1 - Q + A D⁻¹ Q, Q = -dλ/dx, are exact there; each is shortened until the residual falls.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

import nptrace
from footfall.contact.coulomb import _TINY, ContactProblem, cone_radius, length
from nptrace import select
from nptrace.array_types import Float

_DAMPING = 1e-9  # added to A D⁻¹ in H alone: redundant contacts make A singular
_SHORTER = 0.4  # factor for a step that increased the residual
_Carry = tuple[ndarray, ndarray, float, float, float]  # x, F, |F|, remaining fraction of a step, iterations


def solve_by_least_squares(
    problem: ContactProblem,
    impulses: Float[ndarray, "nc"],
    slips: Float[ndarray, "ns"],
    iterations: int,
    tolerance: float,
) -> tuple[Float[ndarray, "nc"], Float[ndarray, "ns"], float, float]:
    """Return (impulses, slip coefficients α [1/kg], |F| [m/s], iterations), from a guess as in ``solve_by_contact``."""
    scale, V_free = problem.scale, problem.V_free - problem.floors
    radii = [cone_radius(problem, k) for k in range(problem.contacts)]
    A = problem.A * (1.0 / scale)[None, :]

    def misfit(x: ndarray) -> ndarray:
        scaled = impulses_of(x, radii)
        return A @ scaled - scaled - x + V_free

    def iterate(_: float, carry: _Carry) -> _Carry:
        x, F, size, fraction, made = carry
        trial = x + fraction * solved_for(A, slopes_of(x, radii), F)
        trial_F = misfit(trial)
        trial_size = np.sqrt(trial_F @ trial_F)
        done, better = size <= tolerance, trial_size < size  # false for NaN
        taken = better & ~done
        return (
            select(taken, trial, x),
            select(taken, trial_F, F),
            select(taken, trial_size, size),
            select(better, 1.0, _SHORTER * fraction),
            select(done, made, made + 1.0),
        )

    first = start_from(problem, impulses, slips, V_free)
    F = misfit(first)
    carry = (first, F, np.sqrt(F @ F), 1.0, 0.0)
    x, _, size, _, made = nptrace.repeat(
        iterations, iterate, carry, until=lambda carry: carry[2] <= tolerance, check_first=True
    )
    scaled = impulses_of(x, radii)
    return scaled / scale, slip_coefficients(problem, x, radii), size, made


def impulses_of(x: Float[ndarray, "nc"], radii: list[float]) -> Float[ndarray, "nc"]:
    """Return λ(x) of eq. (33), scaled: inside the cone for any x."""
    out = []
    for k, radius in enumerate(radii):
        share, normal = _share(x, k, radius)
        out += [-share * x[3 * k], -share * x[3 * k + 1], normal]
    return np.stack(out)


def _share(x: ndarray, k: int, radius: float) -> tuple[float, float]:
    """Return (s, λ_N) of one contact."""
    normal = np.maximum(-x[3 * k + 2], 0.0)
    return np.minimum(1.0, radius * normal / (length(x[3 * k], x[3 * k + 1]) + _TINY)), normal


def slopes_of(x: ndarray, radii: list[float]) -> list[ndarray]:
    """Return Q, one 3 x 3 block per contact."""
    blocks = []
    for k, radius in enumerate(radii):
        i = 3 * k
        share, _ = _share(x, k, radius)
        pressed = select(x[i + 2] < 0.0, 1.0, 0.0)
        slides = select(share < 1.0, 1.0, 0.0)
        reciprocal = 1.0 / (length(x[i], x[i + 1]) + _TINY)
        u_0, u_1 = x[i] * reciprocal, x[i + 1] * reciprocal
        across, along = share, slides * share  # part of the derivative that sliding removes along the slip
        turn = -radius * slides * pressed
        blocks.append(
            np.array(
                [
                    [across - along * u_0 * u_0, -along * u_0 * u_1, turn * u_0],
                    [-along * u_0 * u_1, across - along * u_1 * u_1, turn * u_1],
                    [0.0, 0.0, pressed],
                ]
            )
        )
    return blocks


def solved_for(A: ndarray, Q: list[ndarray], F: ndarray, damping: float = _DAMPING) -> ndarray:
    """Return H⁻¹ F by elimination without pivots: the diagonal of H is 1 where a contact is open or sticks."""
    n = len(F)
    H = np.concatenate([A[:, 3 * k : 3 * k + 3] @ block for k, block in enumerate(Q)], axis=1)
    rows = [[H[i, j] for j in range(n)] for i in range(n)]
    for k, block in enumerate(Q):
        for r in range(3):
            for c in range(3):
                i, j = 3 * k + r, 3 * k + c
                rows[i][j] = rows[i][j] - (1.0 - damping) * block[r, c] + (1.0 if r == c else 0.0)
    b = [F[i] for i in range(n)]
    for k in range(n):
        reciprocal = 1.0 / rows[k][k]
        for i in range(k + 1, n):
            factor = rows[i][k] * reciprocal
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
            b[i] = b[i] - factor * b[k]
        rows[k][k] = reciprocal
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            b[k] = b[k] - rows[k][j] * b[j]
        b[k] = b[k] * rows[k][k]
    return np.stack(b)


def start_from(problem: ContactProblem, impulses: ndarray, slips: ndarray, V_free: ndarray) -> ndarray:
    """Return x for a guess: from its impulses in contact, otherwise from the velocity without contact."""
    scale, out = problem.scale, []
    for k in range(problem.contacts):
        i = 3 * k
        touched = impulses[i + 2] > 0.0
        for r in range(3):
            weight = scale[i + r] + (slips[k] if r < 2 else 0.0)
            out.append(select(touched, -weight * impulses[i + r], V_free[i + r]))
    return np.stack(out)


def slip_coefficients(problem: ContactProblem, x: ndarray, radii: list[float]) -> ndarray:
    """Return α with V_T = -α λ_T."""
    scale, out = problem.scale, []
    for k, radius in enumerate(radii):
        share, normal = _share(x, k, radius)
        out.append(select(normal > 0.0, (1.0 - share) / np.maximum(share, 1e-9) * scale[3 * k], 0.0))
    return np.stack(out)


# -- how the impulses of hard contact move with the problem, at its solution: the implicit function theorem -----------
# A warm-started solver may have nothing left to do, and its iterations then carry no derivative of the problem. But
# F(x) of ``least_squares`` is zero at the solution for every problem nearby, whichever solver found it, and where no
# contact changes between sticking, sliding and open it has a derivative:
#
#     x = V - D λ,    H dx = dF at constant x,    d(D λ) = -Q dx + the change of the cone's radius for a sliding contact
def newton_impulses(problem: ContactProblem, impulses: Float[ndarray, "nc"]) -> Float[ndarray, "nc"]:
    """Return the impulses after one Newton step, differentiated as ``nptrace.custom_fixed_point`` requires."""
    still = nptrace.stop_gradient(problem)
    scaled = still.scale * impulses
    x = still.velocities(impulses) - scaled
    radii = [cone_radius(still, k) for k in range(problem.contacts)]
    Q = slopes_of(x, radii)
    moved = scaled + _by_radius(problem, x, scaled, radii)
    reciprocal = 1.0 / problem.scale
    F = (problem.A * reciprocal[None, :]) @ moved - moved - x + problem.V_free - problem.floors
    A = still.A * (1.0 / still.scale)[None, :]
    dx = solved_for(A, Q, F)
    turned = _turned(Q, dx)
    dx = dx + solved_for(A, Q, F - dx + turned - A @ turned)  # once more, to correct for the damping of H
    return reciprocal * (moved - _turned(Q, dx))


def _turned(Q: list[ndarray], dx: ndarray) -> ndarray:
    return np.concatenate([block @ dx[3 * k : 3 * k + 3] for k, block in enumerate(Q)])


def _by_radius(problem: ContactProblem, x: ndarray, scaled: ndarray, radii: list[float]) -> ndarray:
    """Return -λ_N u (radius - its value) of every contact that slides along u: zero, with a derivative."""
    out = []
    for k, radius in enumerate(radii):
        i = 3 * k
        size = length(x[i], x[i + 1])
        wider = (cone_radius(problem, k) - radius) * scaled[i + 2] / (size + _TINY)
        wider = select(size > radius * scaled[i + 2], wider, 0.0)
        out += [-x[i] * wider, -x[i + 1] * wider, 0.0]
    return np.stack(out)

"""How the impulses of hard contact move with the problem, at its solution: the implicit function theorem.

A solver that starts from the impulses of the step before may find nothing left to do, and its turns then know nothing
of how the problem moved. But F(x) of ``least_squares`` is zero at the solution for every problem nearby, whichever
solver got there, and where no contact changes between sticking, sliding and open it has a slope:

    x = V - D λ,    H dx = dF with x held,    d(D λ) = -Q dx + what the cone's own radius adds to a sliding contact
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.contact.coulomb import _TINY, Problem, cone_radius, length
from footfall.contact.least_squares import slopes_of, solved_for
from footfall.numeric import select


def newton_impulses(problem: Problem, impulses: Float[ndarray, "nc"]) -> Float[ndarray, "nc"]:
    """Impulses after one Newton step whose matrix is held, from held ones: see ``numeric.solved``."""
    still = numeric.held(problem)
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
    dx = dx + solved_for(A, Q, F - dx + turned - A @ turned)  # once more, against the damping of H
    return reciprocal * (moved - _turned(Q, dx))


def _turned(Q: list[ndarray], dx: ndarray) -> ndarray:
    return np.concatenate([block @ dx[3 * k : 3 * k + 3] for k, block in enumerate(Q)])


def _by_radius(problem: Problem, x: ndarray, scaled: ndarray, radii: list[float]) -> ndarray:
    """-λ_N u (radius less what it is) of every contact that slides along u: zero, with a slope."""
    out = []
    for k, radius in enumerate(radii):
        i = 3 * k
        size = length(x[i], x[i + 1])
        wider = (cone_radius(problem, k) - radius) * scaled[i + 2] / (size + _TINY)
        wider = select(size > radius * scaled[i + 2], wider, 0.0)
        out += [-x[i] * wider, -x[i + 1] * wider, 0.0]
    return np.stack(out)

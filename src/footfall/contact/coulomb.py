"""Signorini's and Coulomb's laws between contact impulses λ and velocities V: eqs. (31)-(33) of Adak et al.

    λ_N >= 0,  V_N >= floor,  λ_N (V_N - floor) = 0,    |λ_T| <= μ λ_N,  λ_T opposes V_T with all of μ λ_N if it slips

``floor`` is 0 for a foot on the ground. Over a gap it is -gap / dt, so that a foot comes down to the ground and no
farther; below ground it is 0, which stops the foot where it is. Such impulses never add energy: at the end of a step
λ_N V_N is 0, and -λ_N gap / dt over a gap.

Impulses are compared with velocities through a scale of 1/kg, the diagonal of A. Eqs. (35)-(37) compare them as they
are, A - I; with the scale D it is A D⁻¹ - I, which has the same solutions and is better conditioned. Both tangents
share one scale, which keeps the cone round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float

_TINY = 1e-30  # avoids 0 / 0 in the direction of zero slip; negligible otherwise


@dataclass(frozen=True)
class ContactProblem:
    """A λ + V_0 = V with the laws above; contact k has rows 3 k to 3 k + 2, its normal last."""

    A: Float[ndarray, "nc nc"]  # [1/kg]
    V_free: Float[ndarray, "nc"]  # V_0 [m/s]
    floor: Float[ndarray, "ns"]  # least normal velocity [m/s]
    friction: Float[ndarray, "ns"]

    @property
    def contacts(self) -> int:
        return len(self.floor)

    @property
    def scale(self) -> Float[ndarray, "nc"]:
        """Return the diagonal scale D: per contact, one number for the tangents and one for the normal [1/kg]."""
        return np.stack([d for k in range(self.contacts) for d in self._scales(k)])

    def _scales(self, k: int) -> tuple[float, float, float]:
        A, i = self.A, 3 * k
        tangent = 0.5 * (A[i, i] + A[i + 1, i + 1])
        return tangent, tangent, A[i + 2, i + 2]

    def velocities(self, impulses: Float[ndarray, "nc"]) -> Float[ndarray, "nc"]:
        """Return V with ``floor`` subtracted: its normal component is then 0 or more."""
        return self.V_free + self.A @ impulses - self.floors

    @property
    def floors(self) -> Float[ndarray, "nc"]:
        return np.stack([x for k in range(self.contacts) for x in (0.0, 0.0, self.floor[k])])


def residuals(problem: ContactProblem, impulses: Float[ndarray, "nc"]) -> Float[ndarray, "3"]:
    """Return the largest violations of the laws, as velocities [m/s]: Signorini, cone, maximum dissipation.

    Signorini: |min(V_N, λ_N)|. Cone: the part of λ_T beyond μ λ_N. Maximum dissipation: the distance of λ_T from what
    opposes the slip, -λ_T being the point of the disc μ λ_N nearest to V_T - λ_T. Impulses are scaled by D.
    """
    V, scaled = problem.velocities(impulses), problem.scale * impulses
    signorini, cone, dissipation = [], [], []
    for k in range(problem.contacts):
        i = 3 * k
        radius = cone_radius(problem, k) * np.maximum(scaled[i + 2], 0.0)
        signorini.append(np.abs(np.minimum(V[i + 2], scaled[i + 2])))
        cone.append(np.maximum(length(scaled[i], scaled[i + 1]) - radius, 0.0))
        z_0, z_1 = V[i] - scaled[i], V[i + 1] - scaled[i + 1]
        share = np.minimum(1.0, radius / (length(z_0, z_1) + _TINY))
        dissipation.append(length(scaled[i] + share * z_0, scaled[i + 1] + share * z_1))
    return np.stack([largest(signorini), largest(cone), largest(dissipation)])


def cone_radius(problem: ContactProblem, k: int) -> float:
    """Return μ between scaled impulses."""
    tangent, _, normal = problem._scales(k)
    return problem.friction[k] * tangent / normal


def length(x: float, y: float) -> float:
    return np.sqrt(x * x + y * y)


def largest(values: list[float]) -> float:
    out = values[0]
    for value in values[1:]:
        out = np.maximum(out, value)
    return out

"""Contact-space dynamics: A λ + V_0 = V, eqs. (28)-(30) of Adak et al. 2021.

A = J M⁻¹ Jᵀ is the Delassus matrix, the inverse inertia at the contact points; λ are impulses, V velocities at the end
of the step, V_0 those without contact. Erratum: the paper counts a full wrench at every foot, 24 rows for 20 degrees of
freedom, which makes A singular; a point contact has three rows, 12 for four feet.

With M = Lᵀ D L (``dynamics.factor``) half of the solve is used three times: Y = L⁻ᵀ Jᵀ and y = L⁻ᵀ force give
A = Yᵀ D⁻¹ Y, V_0 = J v + dt Yᵀ D⁻¹ y and, once λ is known, a = L⁻¹ D⁻¹ (y + Y λ / dt).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.contact.points import ContactPoint
from footfall.dynamics.closed_loops import LoopConstraint, closed_halves
from footfall.dynamics.factor import factor, solve_inward, solve_outward
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class ContactSpace:
    """A λ + V_0 = V for all spheres, three rows each in contact axes (tangents, then normal)."""

    A: Float[ndarray, "nc nc"]  # [1/kg]
    V_before: Float[ndarray, "nc"]  # at the beginning of the step [m/s]
    V_free: Float[ndarray, "nc"]  # V_0: at its end, without contact
    gap: Float[ndarray, "ns"]  # distance of every sphere from the ground [m]
    friction: Float[ndarray, "ns"]
    _L: Float[ndarray, "nv nv"]
    _weights: Float[ndarray, "nv"]  # D⁻¹
    _Y: Float[ndarray, "nv nc"]
    _y: Float[ndarray, "nv"]

    def accelerations(self, robot: Robot, forces: Float[ndarray, "nc"]) -> Float[ndarray, "nv"]:
        """Return accelerations under the step's forces and contact forces [N]."""
        return solve_inward(robot, self._L, self._weights * (self._y + self._Y @ forces))


def contact_space(
    robot: Robot,
    M: Float[ndarray, "nv nv"],
    force: Float[ndarray, "nv"],
    points: Sequence[ContactPoint],
    v: Float[ndarray, "nv"],
    dt: float,
    loops: LoopConstraint | None = None,
) -> ContactSpace:
    """Return eqs. (28)-(30) for a robot under ``force`` with velocity v; its loops stay closed."""
    if not points:
        raise InputError(
            f"hard contact needs a contact sphere, and robot '{robot.name}' has no feet: give it feet=[...] or"
            " contact spheres, or choose compliant contact, which lets it move freely"
        )
    L, d = factor(robot, M)
    weights = 1.0 / d
    y = solve_outward(robot, L, force)
    J = np.concatenate([point.R_BC.T @ point.J for point in points])
    Y = open_Y = solve_outward(robot, L, J.T)
    if loops is not None:
        Y, y = closed_halves(open_Y, y, weights, solve_outward(robot, L, loops.G.T), loops.wanted)
    WY = weights[:, None] * Y
    V = J @ v
    return ContactSpace(
        A=_symmetric_product(Y, WY),
        V_before=V,
        V_free=V + dt * ((weights[:, None] * open_Y).T @ y),
        gap=np.stack([point.distance for point in points]),
        friction=np.stack([point.friction for point in points]),
        _L=L,
        _weights=weights,
        _Y=Y,
        _y=y,
    )


def _symmetric_product(Y: ndarray, WY: ndarray) -> ndarray:
    """Return Yᵀ WY, computing only the lower triangle."""
    n = Y.shape[1]
    A = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = A[j, i] = Y[:, i] @ WY[:, j]
    return A

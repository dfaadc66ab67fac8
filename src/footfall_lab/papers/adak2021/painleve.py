"""Painlevé's rod: a state with Coulomb friction in which no finite force satisfies the laws, but an impulse does.

A slender rod slides on its lower end. A normal force rotates it so that friction drives the end into the ground: in
continuous time no force satisfies the laws. In discrete time, eqs. (28)-(32), an impulse stops the end.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.contact.coulomb import ContactProblem, residuals
from footfall.contact.least_squares import solve_by_least_squares
from footfall.spatial.gravity import STANDARD
from footfall_lab.papers.claims import Claim, assess
from nptrace.array_types import Float

NAME = "adak2021"
FRICTION, STEP = 2.0, 1e-3  # registered
MASS, HALF, ANGLE, SLIP = 1.0, 0.5, np.radians(60.0), 1.0  # [kg], [m], angle of the rod to the ground, [m/s]


def inverse_inertia() -> Float[ndarray, "3 3"]:
    """Return A of the touching end: along the ground, across the rod's plane, along the normal [1/kg]."""
    x, z = HALF * np.cos(ANGLE), -HALF * np.sin(ANGLE)  # of the end, relative to the centre of mass
    turn = 3.0 / (MASS * HALF * HALF)  # angular acceleration per torque about an axis across a slender rod
    A = np.eye(3) / MASS
    A[0, 0] += turn * z * z
    A[1, 1] += turn * HALF * HALF
    A[2, 2] += turn * x * x
    A[0, 2] = A[2, 0] = -turn * x * z
    return A


def claim() -> Claim:
    A = inverse_inertia()
    free = -STANDARD  # normal acceleration of the end without a force, for a rod that does not rotate
    sliding = A[2, 2] - FRICTION * A[2, 0]  # normal acceleration per normal force N, with friction -mu N along the slip
    # N >= 0, a >= 0, N a = 0 with a = sliding N + free: separation needs free >= 0, contact sliding > 0; it cannot
    # stick, since it slides at this instant
    solvable = free >= 0.0 or sliding > 0.0
    V_free = np.array([SLIP, 0.0, STEP * free])
    problem = ContactProblem(A, V_free, np.zeros(1), np.array([FRICTION]))
    impulse = -np.linalg.solve(A, V_free)  # stops the end
    left = float(np.max(residuals(problem, impulse)))
    found, *_ = solve_by_least_squares(problem, np.zeros(3), np.zeros(1), 200, 1e-12)
    missed = float(np.max(residuals(problem, found)))
    return assess(
        NAME,
        "coulomb_may_have_no_solution",
        left,
        f"Painlevé's rod, {np.degrees(ANGLE):.0f} degrees over the ground, sliding at {SLIP:g} m/s, friction"
        f" {FRICTION:g}: the end's normal acceleration is {sliding:.2f}/kg times the normal force, less g, so that it"
        " penetrates the ground whether it separates or slides. In a step of 1 ms an impulse of"
        f" {impulse[2]:.2f} N s, with {abs(impulse[0]):.2f} N s of friction, stops it. Least squares from zero impulse"
        f" do not find it: {missed:.1e} m/s remain.",
        holds=not solvable and left <= 1e-9,
    )

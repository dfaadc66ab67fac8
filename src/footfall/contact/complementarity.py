"""Hard contact by time stepping: Stewart and Trinkle's scheme, section 3.2 of Adak et al. 2021.

    M v⁺ = M v + dt (Sᵀτ - c - g) + Jᵀ λ,     A λ + V_0 = V

with λ and V subject to Signorini's and Coulomb's laws (``coulomb``), solved in impulses, so that a landing foot needs
no small step. Joint feedback and damping are implicit, in M, as with compliant contact. There are two solvers: the
paper's least-squares form (``least_squares``), which falls back on the second where it does not converge, and one that
satisfies the cone of one contact after the other (``cone_solver``). Both are warm-started from the previous step. Where
redundant contacts support a body, a third continues from there (``newton``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy import ndarray

import nptrace
from footfall.checks import checked_number
from footfall.contact.cone_solver import solve_by_contact
from footfall.contact.coulomb import ContactProblem, residuals
from footfall.contact.delassus import ContactSpace, contact_space
from footfall.contact.impact import bounce_floor, without_gain
from footfall.contact.least_squares import newton_impulses, solve_by_least_squares
from footfall.contact.model import ContactModel, Memory
from footfall.contact.newton import solve_by_newton
from footfall.contact.points import ContactPoint, Sphere
from footfall.dynamics.closed_loops import LoopConstraint
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from nptrace import select
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

METHODS = ("auto", "least_squares", "cone")
_FEW = 6  # contacts: beyond this number, the dense least-squares system costs more than sweeps over the contacts
_MANY = 10  # contacts: beyond this number, Newton's dense system would take longer to compile than the rest of a robot
_ROUNDS = 4  # rounds of least squares and sweeps
_ITERATIONS = 90  # maximum iterations of Newton's method for all contacts at once
_STOP = 0.01  # fraction of the tolerance: a solver continues until an iteration changes velocities by less


@dataclass(frozen=True, kw_only=True)
class Complementarity(ContactModel):
    """Hard contact: rigid spheres on rigid ground with Coulomb friction.

    restitution: e in [0, 1] of Newton's law, for impacts faster than ``slowest_bounce``, never with a gain of energy.
    method: ``least_squares``, ``cone``, or ``auto``: least squares for up to six spheres, otherwise the cone,
    followed for up to ten by Newton's method if it does not converge.
    tolerance: the required residual [m/s]; a step that exceeds it is counted (column ``contact_misses``) and reported
    as an event. In single precision, choose at least 1e-5.
    """

    restitution: float = 0.0
    method: str = "auto"
    tolerance: float = 1e-8  # [m/s]
    sweeps: int = 200  # maximum sweeps of the cone solver
    iterations: int = 30  # maximum iterations of the least-squares solver
    slowest_bounce: float = 0.05  # [m/s]
    implicit: bool = True  # joint feedback is evaluated at the end of the step
    hard: ClassVar[bool] = True
    missed: ClassVar[str] = "the contact solver did not reach its tolerance; contact_residual says by how much"

    def __post_init__(self) -> None:
        if isinstance(self.restitution, (int, float)) and not 0.0 <= self.restitution <= 1.0:
            raise InputError(f"restitution must lie between 0 and 1, got {self.restitution}")
        if self.method not in METHODS:
            raise unknown("method of complementarity contact", self.method, METHODS)
        for key in ("tolerance", "slowest_bounce"):
            checked_number(getattr(self, key), f"{key.replace('_', ' ')} of complementarity contact", 0.0, above=True)
        for key in ("sweeps", "iterations"):
            if not isinstance(getattr(self, key), int) or getattr(self, key) < 1:
                raise InputError(f"{key} of complementarity contact must be at least 1, got {getattr(self, key)}")

    def start(self, spheres: Sequence[Sphere]) -> Memory:
        """Return impulses [N s] and slip coefficients to start from, residuals and iterations of the last step, and
        misses.
        """
        return {
            "impulse": np.zeros((len(spheres), 3)),
            "slip": np.zeros(len(spheres)),
            "residual": np.zeros(3),
            "iterations": np.zeros(()),
            "sweeps": np.zeros(()),
            "misses": np.zeros(()),
        }

    def columns(self, memory: Memory, feet: int) -> dict[str, ndarray]:
        """Return residuals (Signorini, cone, maximum dissipation) [m/s], iterations of the solvers, and misses so
        far.
        """
        kept = ("residual", "iterations", "sweeps", "misses")
        return {f"contact_{key}": memory[key] for key in kept}

    def respond(
        self,
        robot: Robot,
        M: Float[ndarray, "nv nv"],
        force: Float[ndarray, "nv"],
        points: Sequence[ContactPoint],
        v: Float[ndarray, "nv"],
        dt: float,
        memory: Memory,
        loops: LoopConstraint | None = None,
    ) -> tuple[Float[ndarray, "nv"], list[ndarray], Memory]:
        """Return (accelerations (v⁺ - v) / dt, forces λ / dt in base axes, memory): see ``contact.model``."""
        space = contact_space(robot, M, force, points, v, dt, loops)
        floor = -np.maximum(space.gap, 0.0) / dt
        guess = _Found(memory["impulse"].reshape(-1), memory["slip"], np.zeros(3), 0.0, 0.0)
        if type(self.restitution) in (int, float) and self.restitution == 0.0:  # a traced number passes for a float
            found = self._solve(
                ContactProblem(space.A, space.V_free, floor, space.friction), guess.impulses, guess.slips
            )
            impulses = found.impulses
        else:
            found, impulses = self._bounce(space, floor, guess)
        worst = np.max(found.residuals)
        after: Memory = {
            "impulse": found.impulses.reshape(-1, 3),
            "slip": found.slips,
            "residual": found.residuals,
            "iterations": found.iterations,
            "sweeps": found.sweeps,
            "misses": memory["misses"] + np.where(worst > self.tolerance, 1.0, 0.0),
        }
        forces = impulses * (1.0 / dt)
        a = space.accelerations(robot, forces)
        return a, [point.R_BC @ forces[3 * k : 3 * k + 3] for k, point in enumerate(points)], after

    def _bounce(self, space: ContactSpace, floor: Float[ndarray, "ns"], guess: _Found) -> tuple[_Found, ndarray]:
        """Return (results of the two solves, impulses): one solve to stop, one with the velocity bound of the
        bounce.
        """

        def once(iteration: float, carry: tuple[ndarray, ndarray, _Found]) -> tuple[ndarray, ndarray, _Found]:
            least, stopping, before = carry
            found = self._solve(
                ContactProblem(space.A, space.V_free, least, space.friction), before.impulses, before.slips
            )
            first = iteration < 0.5
            up = bounce_floor(
                floor, found.impulses, space.V_before, space.V_free, self.restitution, self.slowest_bounce
            )
            both = _Found(
                found.impulses,
                found.slips,
                np.maximum(before.residuals, found.residuals),
                before.iterations + found.iterations,
                before.sweeps + found.sweeps,
            )
            return select(first, up, least), select(first, found.impulses, stopping), both

        _, stopping, found = nptrace.repeat(2, once, (floor, guess.impulses, guess))
        return found, without_gain(space.A, space.V_before + space.V_free, stopping, found.impulses)

    def _solve(self, problem: ContactProblem, impulses: Float[ndarray, "nc"], slips: Float[ndarray, "ns"]) -> _Found:
        """Solve in stages, the first of which nearly always suffices: least squares, then sweeps where it did not
        converge.

        With many contacts: sweeps first, then all contacts together.
        """
        stop = _STOP * self.tolerance
        squares = self.method == "least_squares" or (self.method == "auto" and problem.contacts <= _FEW)
        together = self.method == "auto" and _FEW < problem.contacts <= _MANY
        rounds = _ROUNDS if squares else 2 * _ROUNDS if together else 1

        def once(iteration: float, before: _Found) -> _Found:
            guess, sliding, unsolved, iterations = before.impulses, before.slips, np.max(before.residuals), 0.0
            if squares:
                found, found_slips, unsolved, iterations = solve_by_least_squares(
                    problem, guess, sliding, self.iterations, stop
                )
                arrived = unsolved <= stop
                guess, sliding = select(arrived, found, guess), select(arrived, found_slips, sliding)
            guess, sliding, sweeps = solve_by_contact(
                problem, guess, sliding, max(self.sweeps // rounds, 1), stop, unsolved
            )
            left = residuals(problem, guess)
            if together:
                guess, sliding, left, iterations = self._together(problem, guess, sliding, left, iteration)
            done = np.max(before.residuals) <= self.tolerance  # frozen, while other robots in the same lanes continue
            return _Found(
                select(done, before.impulses, guess),
                select(done, before.slips, sliding),
                select(done, before.residuals, left),
                before.iterations + select(done, 0.0, iterations),
                before.sweeps + select(done, 0.0, sweeps),
            )

        start = _Found(impulses, slips, np.full(3, np.inf), 0.0, 0.0)
        if not squares:
            start = _Found(impulses, slips, residuals(problem, impulses), 0.0, 0.0)
        found = nptrace.repeat(rounds, once, start, until=lambda found: np.max(found.residuals) <= self.tolerance)
        return replace(
            found, impulses=nptrace.custom_fixed_point(found.impulses, lambda at: newton_impulses(problem, at))
        )

    def _together(
        self, problem: ContactProblem, impulses: ndarray, slips: ndarray, left: ndarray, iteration: float
    ) -> tuple[ndarray, ndarray, ndarray, float]:
        """Return (impulses, slips, residuals, iterations) of Newton's method, where sweeps left more than the
        tolerance.

        The first attempt starts from the result of the sweeps, the second from zero, the next two with more damping:
        where one attempt cycles, another converges.
        """
        worst = np.max(left)
        unsolved = select(worst <= self.tolerance, 0.0, worst)
        afresh, least = np.abs(iteration - 1.0) < 0.5, select(np.abs(iteration - 2.5) < 1.0, 1e-5, 1e-9)
        guess, sliding = select(afresh, 0.0, impulses), select(afresh, 0.0, slips)
        found, found_slips, _, made = solve_by_newton(
            problem, guess, sliding, _ITERATIONS, 0.1 * self.tolerance, unsolved, least
        )
        after = residuals(problem, found)
        better = (np.max(after) < worst) & (unsolved > 0.0)  # false for NaN
        return select(better, found, impulses), select(better, found_slips, slips), select(better, after, left), made


@dataclass(frozen=True)
class _Found:
    impulses: Float[ndarray, "nc"]
    slips: Float[ndarray, "ns"]
    residuals: Float[ndarray, "3"]
    iterations: Scalar
    sweeps: Operand

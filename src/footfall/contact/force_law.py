"""Contact forces from depth and velocity, evaluated at the end of the step: the base class of user-defined models.

A model is linearised about the start of the step, f⁺ = f - D (v⁺ - v), so that

    (M + dt JᵀDJ) a = F + Jᵀ f

and the branch sparsity of M survives. The nonlinearity of contact is a choice of modes: a sphere is in contact or free,
sticks or slides. The modes are guessed and the step is solved, again and again while the solution contradicts them;
``sim.equations_of_motion`` iterates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy import ndarray

import nptrace
from footfall.contact.model import ContactModel
from footfall.contact.points import ContactPoint, Sphere
from footfall.dynamics.closed_loops import LoopConstraint, solve_closed
from footfall.dynamics.factor import (
    branch_product,
    factor,
    factor_unsymmetric,
    solution,
    solve_factored,
    solve_unsymmetric,
)
from footfall.robot.model.description import Robot
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float

Modes = dict[str, PyTree]
FREEZE_AFTER = 4.0  # iterations after which modes are only tightened, so that the iteration ends


@dataclass(frozen=True)
class LinearisedForce:
    """One sphere's force at the end of a step, linear in its acceleration, all in base axes."""

    force: Float[ndarray, "3"]  # [N], at zero acceleration
    D: Float[ndarray, "3 3"]  # [kg]: dt times the decrease of the force with velocity
    modes: Modes  # modes in which it was evaluated
    parts: PyTree = None  # further data that the model needs to update its modes


@dataclass(frozen=True, kw_only=True)
class ForceLaw(ContactModel):
    """A contact force that is a function of depth and velocity. Override ``law``.

    ``implicit`` takes its derivatives at the end of the step. With ``one_solve = True`` in the class, a step has no
    modes: the force is predicted with the derivatives and limited by ``allowed``.
    """

    implicit: bool = True
    # whether D is symmetric: no force depends on the final velocity across the derivatives
    symmetric: ClassVar[bool] = True

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        """Return (force, derivatives) at a contact point of velocity v_C, both in contact axes, normal last.

        The force [N] is evaluated at the depth [m] reached after dt, and derivatives [N s/m] are its decrease with each
        component of the velocity; explicit steps use the force alone. Both must be zero where nothing touches.
        """
        raise NotImplementedError(f"{type(self).__name__} must define law(depth, v_C, friction, dt)")

    def start(self, spheres: Sequence[Sphere]) -> dict[str, ndarray]:
        """Return the memory between steps: empty."""
        return {}

    # -- what is chosen within a step --------------------------------------------------------------------------------
    def modes(self, count: int) -> Modes:
        """Return the initial modes of a step: all spheres in contact stick."""
        return {} if self.one_solve else {"holds": np.ones(count)}

    def allowed(self, point: ContactPoint, f: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
        """Return the force that acts, given the prediction of a ``one_solve`` step, in base axes; by default it does
        not pull.
        """
        return np.where(point.R_BC[:, 2] @ f > 0.0, f, 0.0)

    def linearised(
        self, robot: Robot, point: ContactPoint, v_B: Float[ndarray, "3"], dt: float, modes: Modes, iteration: float
    ) -> LinearisedForce:
        """Return the force of one sphere under its modes, from the velocity v_B of its contact point in base axes."""
        hold, R_BC = modes.get("holds", 1.0), point.R_BC
        force, derivatives = self.law(-point.distance, R_BC.T @ v_B, point.friction, dt)
        f, d = R_BC @ force, dt * derivatives
        # R diag(d) Rᵀ, of which nothing is left but two terms where a force falls alike in all tangential directions
        D = d[0] * np.eye(3) + (d[1] - d[0]) * np.outer(R_BC[:, 1], R_BC[:, 1])
        D = D + (d[2] - d[0]) * np.outer(R_BC[:, 2], R_BC[:, 2])
        return LinearisedForce(hold * f, hold * D, modes, (f, D, R_BC[:, 2], v_B))

    def update_modes(
        self, sphere: LinearisedForce, v_B: Float[ndarray, "3"], dt: float, iteration: float
    ) -> tuple[Float[ndarray, "3"], Modes, Scalar]:
        """Return (force, modes for another iteration, how much they differ) for the velocity v_B at the end.

        The ground never pulls: a sphere whose force would pull is released. One that would press after others are
        released is restored; late iterations only release.
        """
        (f, D, normal, start), hold = sphere.parts, sphere.modes["holds"]
        held = f - D @ ((v_B - start) / dt)
        holds = np.where(normal @ held < 0.0, 0.0, np.where(iteration < FREEZE_AFTER, 1.0, hold))
        return hold * held, {"holds": holds}, np.abs(holds - hold)

    def modes_for_derivative(self, point: ContactPoint, v_B: Float[ndarray, "3"], modes: Modes) -> Modes:
        """Return the final modes of a step for its derivative, which treats them as constant.

        A model whose modes contain continuous values returns their derivatives here.
        """
        return modes

    # -- the step ----------------------------------------------------------------------------------------------------
    def respond(
        self,
        robot: Robot,
        M: Float[ndarray, "nv nv"],
        force: Float[ndarray, "nv"],
        points: Sequence[ContactPoint],
        v: Float[ndarray, "nv"],
        dt: float,
        memory: Modes,
        loops: LoopConstraint | None = None,
    ) -> tuple[Float[ndarray, "nv"], list[ndarray], Modes]:
        """Return (accelerations, contact forces, memory): see ``contact.model``.

        An implicit step's memory holds the modes of all spheres and the number of the ``iteration``, and is returned
        with the modes for the next one and how many have ``changed``. ``converged`` in it marks the final ones. A model
        with ``one_solve`` has no modes: the accelerations are a prediction, the forces are those that act at the end.
        """
        if not self.implicit or not points:
            found = [self.law(-p.distance, p.R_BC.T @ (p.J @ v), p.friction, 0.0)[0] for p in points]
            forces = [point.R_BC @ f for point, f in zip(points, found)]
            pushes = [point.J.T @ f for point, f in zip(points, forces)]
            return accelerations(robot, M, sum(pushes, start=force), loops), forces, memory
        if self.one_solve:
            spheres = [self.linearised(robot, point, point.J @ v, dt, {}, 0.0) for point in points]
            a = self._solved(robot, M, force, points, spheres, loops)
            ends = [sphere.force - sphere.D @ (point.J @ a) for point, sphere in zip(points, spheres)]
            return a, [self.allowed(point, f) for point, f in zip(points, ends)], memory
        iteration = memory["iteration"]
        modes = [{key: memory[key][k] for key in self.modes(len(points))} for k in range(len(points))]
        if memory.get("converged"):
            modes = [self.modes_for_derivative(point, point.J @ v, chosen) for point, chosen in zip(points, modes)]
        spheres = [
            self.linearised(robot, point, point.J @ v, dt, chosen, iteration) for point, chosen in zip(points, modes)
        ]
        a = self._solved(robot, M, force, points, spheres, loops)
        v_end = v + dt * a
        updated = [self.update_modes(sphere, point.J @ v_end, dt, iteration) for point, sphere in zip(points, spheres)]
        after = {key: np.stack([modes[key] for _, modes, _ in updated]) for key in updated[0][1]}
        changed = sum(count for _, _, count in updated)
        return a, [f for f, _, _ in updated], {**after, "iteration": iteration + 1.0, "changed": changed}

    def _solved(
        self,
        robot: Robot,
        M: ndarray,
        force: ndarray,
        points: Sequence[ContactPoint],
        spheres: Sequence[LinearisedForce],
        loops: LoopConstraint | None = None,
    ) -> Float[ndarray, "nv"]:
        """Return a of (M + Σ JᵀDJ) a = force + Σ Jᵀ f, differentiated through both sides."""
        both, coupled = list(zip(points, spheres)), any(point.couples for point in points)
        pushed = sum((point.J.T @ sphere.force for point, sphere in both), start=force)

        def residual(a: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
            left = (point.J.T @ (sphere.force - sphere.D @ (point.J @ a)) for point, sphere in both)
            return sum(left, start=force - branch_product(robot, M, a))

        if self.symmetric:
            stiff = sum(((sphere.D.T @ point.J).T @ point.J for point, sphere in both), start=M)
            if loops is not None:
                return _closed(robot, stiff, pushed, loops, coupled)
            solve = partial(solve_factored, robot, coupled=coupled)
            return nptrace.solution(factor(robot, stiff, coupled), solve, pushed, residual)
        contacts = [(point.J, sphere.D, point.dofs) for point, sphere in both]
        factors = factor_unsymmetric(robot, M, contacts, coupled)
        if loops is not None:
            return solve_closed(lambda b: solve_unsymmetric(robot, *factors, b, coupled), pushed, loops)[0]
        return nptrace.solution(factors, partial(solve_unsymmetric, robot, coupled=coupled), pushed, residual)


def accelerations(
    robot: Robot, M: ndarray, force: ndarray, loops: LoopConstraint | None = None
) -> Float[ndarray, "nv"]:
    """Return a of M a = force, keeping closed loops closed."""
    return solution(robot, M, force) if loops is None else _closed(robot, M, force, loops)


def _closed(
    robot: Robot, M: ndarray, force: ndarray, loops: LoopConstraint, coupled: bool = False
) -> Float[ndarray, "nv"]:
    """Return a of M a = force, with loops kept closed."""
    L, d = factor(robot, M, coupled)
    return solve_closed(lambda b: solve_factored(robot, L, d, b, coupled), force, loops)[0]

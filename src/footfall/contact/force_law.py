"""Contact forces that depend on depth and velocity, taken at the end of the step: what a user's own law derives from.

A law is linearised about the start of the step, f⁺ = f - D (v⁺ - v), so that

    (M + dt JᵀDJ) a = F + Jᵀ f

and the branch sparsity of M survives. What is not linear about contact is a choice: a sphere pulls or pushes, sticks or
slides. The choice is guessed, the step is solved, and it is solved again while the solution contradicts it; ``modes``
holds the choice, and ``simulate.modes`` turns the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.contact.model import ContactModelBase
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
from footfall.nests import Nest, Scalar
from footfall.robot.model.description import Robot

Modes = dict[str, Nest]
LATE = 4.0  # turns, after which modes are only tightened, so that the turns come to an end


@dataclass(frozen=True)
class Linearised:
    """One sphere's force at the end of a step, linear in its acceleration, all in base axes."""

    force: Float[ndarray, "3"]  # [N], if nothing accelerated
    D: Float[ndarray, "3 3"]  # [kg]: dt times how the force falls with the velocity
    modes: Modes  # with which it was taken
    parts: Nest = None  # what else the law needs to judge what came out


@dataclass(frozen=True)
class ForceLaw(ContactModelBase):
    """A contact force that depends on depth and velocity. Override ``law``.

    ``implicit`` takes its slopes at the end of the step.
    """

    implicit: bool = True
    symmetric: ClassVar[bool] = True  # D is: no force depends on the end of the step across the slopes

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        """(force, slopes) at a contact point of velocity v_C, both in contact axes, normal last.

        The force [N] is that at the depth [m] reached after dt, and slopes [N s/m] say how it falls with each component
        of the velocity; explicit steps use the force alone. Both must be zero where the sphere does not touch.
        """
        raise NotImplementedError(f"{type(self).__name__} must define law(depth, v_C, friction, dt)")

    def start(self, spheres: Sequence[Sphere]) -> dict[str, ndarray]:
        """What the law remembers from step to step: nothing."""
        return {}

    # -- what is chosen within a step --------------------------------------------------------------------------------
    def modes(self, count: int) -> Modes:
        """The choice before the first turn of a step: all spheres that touch hold."""
        return {"holds": np.ones(count)}

    def linearised(
        self, robot: Robot, point: ContactPoint, v_B: Float[ndarray, "3"], dt: float, modes: Modes, turn: float
    ) -> Linearised:
        """The force of one sphere under its modes, from the velocity v_B of its contact point in base axes."""
        hold, R_BC = modes["holds"], point.R_BC
        force, slopes = self.law(-point.distance, R_BC.T @ v_B, point.friction, dt)
        f, D = R_BC @ force, (R_BC * (dt * slopes)) @ R_BC.T
        return Linearised(hold * f, hold * D, modes, (f, D, R_BC[:, 2], v_B))

    def judged(
        self, sphere: Linearised, v_B: Float[ndarray, "3"], dt: float, turn: float
    ) -> tuple[Float[ndarray, "3"], Modes, Scalar]:
        """(force, modes for another turn, in how much they differ) for the velocity v_B found at the end of the step.

        The ground never pulls: a sphere whose force would do so is let go. One that would press after all, once others
        are let go, is taken back; late turns only let go.
        """
        (f, D, normal, start), hold = sphere.parts, sphere.modes["holds"]
        held = f - D @ ((v_B - start) / dt)
        holds = np.where(normal @ held < 0.0, 0.0, np.where(turn < LATE, 1.0, hold))
        return hold * held, {"holds": holds}, np.abs(holds - hold)

    def settled(self, point: ContactPoint, v_B: Float[ndarray, "3"], modes: Modes) -> Modes:
        """The modes that a step ended with, for its derivative: choices, which do not move with the state.

        A law whose modes hold more than choices says here how that moves.
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
        """(accelerations, contact forces, memory): see ``contact.model``.

        An implicit step's memory holds the modes of all spheres, the number of the ``turn``, and comes back with the
        modes for the next one and in how much they are ``unsettled``. ``settled`` in it: these are the last.
        """
        if not self.implicit or not points:
            laws = [self.law(-p.distance, p.R_BC.T @ (p.J @ v), p.friction, 0.0)[0] for p in points]
            forces = [point.R_BC @ f for point, f in zip(points, laws)]
            pushes = [point.J.T @ f for point, f in zip(points, forces)]
            pushed = sum(pushes, start=force)
            return solution(robot, M, pushed) if loops is None else _closed(robot, M, pushed, loops), forces, memory
        turn = memory["turn"]
        modes = [{key: memory[key][k] for key in self.modes(len(points))} for k in range(len(points))]
        if memory.get("settled"):
            modes = [self.settled(point, point.J @ v, chosen) for point, chosen in zip(points, modes)]
        spheres = [self.linearised(robot, point, point.J @ v, dt, chosen, turn) for point, chosen in zip(points, modes)]
        a = self._solved(robot, M, force, points, spheres, loops)
        v_end = v + dt * a
        judged = [self.judged(sphere, point.J @ v_end, dt, turn) for point, sphere in zip(points, spheres)]
        after = {key: np.stack([modes[key] for _, modes, _ in judged]) for key in judged[0][1]}
        unsettled = sum(differs for _, _, differs in judged)
        return a, [f for f, _, _ in judged], {**after, "turn": turn + 1.0, "unsettled": unsettled}

    def _solved(
        self, robot: Robot, M: ndarray, force: ndarray, points: Sequence[ContactPoint], spheres: Sequence[Linearised],
        loops: LoopConstraint | None = None,
    ) -> Float[ndarray, "nv"]:  # fmt: skip
        """a of (M + Σ JᵀDJ) a = force + Σ Jᵀ f, and its derivative from that of the two sides."""
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
            return numeric.solution(factor(robot, stiff, coupled), solve, pushed, residual)
        contacts = [(point.J, sphere.D, point.dofs) for point, sphere in both]
        factors = factor_unsymmetric(robot, M, contacts, coupled)
        if loops is not None:
            return solve_closed(lambda b: solve_unsymmetric(robot, *factors, b, coupled), pushed, loops)[0]
        return numeric.solution(factors, partial(solve_unsymmetric, robot, coupled=coupled), pushed, residual)


def _closed(
    robot: Robot, M: ndarray, force: ndarray, loops: LoopConstraint, coupled: bool = False
) -> Float[ndarray, "nv"]:
    """a of M a = force, with loops kept closed."""
    L, d = factor(robot, M, coupled)
    return solve_closed(lambda b: solve_factored(robot, L, d, b, coupled), force, loops)[0]

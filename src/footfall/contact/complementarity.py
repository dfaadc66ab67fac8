"""Hard contact by time stepping: Stewart and Trinkle's scheme, section 3.2 of Adak et al. (seed 001).

M v⁺ = M v + dt (Sᵀτ - c - g) + Jᵀ λ,     A λ + V_0 = V,     λ and V meet Signorini's and Coulomb's laws
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from footfall.contact.cone_solver import solve_by_contact
from footfall.contact.coulomb import Problem, residuals
from footfall.contact.delassus import contact_space
from footfall.contact.model import Memory
from footfall.contact.points import ContactPoint
from footfall.robot.description import Robot


@dataclass(frozen=True)
class Complementarity:
    method: str = "cone"
    sweeps: int = 200
    tolerance: float = 1e-10
    implicit: bool = True
    hard: ClassVar[bool] = True
    missed: ClassVar[str] = "missed"

    def start(self, spheres: int) -> Memory:
        return {
            "impulse": np.zeros((spheres, 3)), "slip": np.zeros(spheres), "residual": np.zeros(3),
            "sweeps": np.zeros(()), "misses": np.zeros(()),
        }  # fmt: skip

    def columns(self, memory: Memory, feet: int) -> dict[str, ndarray]:
        return {
            "contact_residual": memory["residual"],
            "contact_sweeps": memory["sweeps"],
            "contact_misses": memory["misses"],
        }

    def respond(self, robot: Robot, M, force, points: Sequence[ContactPoint], v, dt: float, memory: Memory):
        space = contact_space(robot, M, force, points, v, dt)
        floor = -np.maximum(space.gap, 0.0) / dt
        problem = Problem(space.A, space.V_free, floor, space.friction)
        impulses, slips, sweeps = solve_by_contact(
            problem, memory["impulse"].reshape(-1), memory["slip"], self.sweeps, self.tolerance
        )
        missed = residuals(problem, impulses)
        a = space.accelerations(robot, impulses / dt)
        forces = impulses.reshape(-1, 3) / dt
        after = {
            "impulse": impulses.reshape(-1, 3),
            "slip": slips,
            "residual": missed,
            "sweeps": sweeps,
            "misses": memory["misses"] + np.where(np.max(missed) > 1e-8, 1.0, 0.0),
        }
        return a, [forces[k] for k in range(len(points))], after

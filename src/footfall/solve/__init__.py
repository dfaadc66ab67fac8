"""Solvers in plain NumPy that are traced with what needs them: factors, quadratic programs, optimal control."""

from footfall.solve import pivoted, quadratic, stagewise
from footfall.solve.factor import cholesky, cholesky_solve, ldl, ldl_solve
from footfall.solve.riccati import riccati_step

__all__ = ["cholesky", "cholesky_solve", "ldl", "ldl_solve", "pivoted", "quadratic", "riccati_step", "stagewise"]


def __dir__() -> list[str]:
    return sorted(__all__)

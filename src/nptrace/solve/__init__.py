"""Solvers in plain NumPy that can be traced: factorizations, quadratic programs, optimal control."""

from nptrace.solve import pivoted, quadratic, stagewise
from nptrace.solve.factor import cholesky, cholesky_solve, ldl, ldl_solve
from nptrace.solve.riccati import riccati_step

__all__ = ["cholesky", "cholesky_solve", "ldl", "ldl_solve", "pivoted", "quadratic", "riccati_step", "stagewise"]


def __dir__() -> list[str]:
    return sorted(__all__)

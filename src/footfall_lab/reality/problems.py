"""Published test problems: contactbench's two contact problems and two quadruped QPs of mpc_qpbenchmark.

contactbench (Le Lidec et al. 2024): A λ + b = V under Signorini's and Coulomb's laws, four corners of a sliding cube,
eight of two stacked cubes, both over-constrained. mpc_qpbenchmark: centroidal MPC of a
quadruped over 16 steps, 384 384 unknowns; the published errors of solvers are compared with ours, by the same measures.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy import ndarray

from footfall.contact.complementarity import Complementarity
from footfall.contact.cone_solver import solve_by_contact
from footfall.contact.coulomb import ContactProblem, residuals
from footfall.contact.least_squares import solve_by_least_squares
from footfall.errors import MissingExtraError
from footfall_lab.verify.daqp import solve_qp
from nptrace.solve import quadratic

CONTACT = {"sliding cube": "contactbench_sliding_cube", "two cubes": "contactbench_2cubes"}
PROGRAMS = {"QUADCMPC3": "quadcmpc3", "QUADCMPC4": "quadcmpc4"}
RIDGE = 1e-9
THEIR_STOP = 1e-6  # stopping tolerance of contactbench's tests
PRINTED_QP = {  # (primal, dual residual, duality gap), default settings, seconds
    "QUADCMPC3": {"clarabel": (3e-16, 2e-14, 2e-10, 2.6e-3), "daqp": (3e-17, 1e-7, 3e-6, 2.7e-3),
                  "osqp": (3e-4, 1e-6, 4e-5, 2.1e-3), "proxqp": (8e-7, 6e-6, 2e-3, 15e-3)},
    "QUADCMPC4": {"clarabel": (2e-15, 4e-13, 4e-11, 2.5e-3), "daqp": (6e-17, 4e-7, 1e-5, 3.4e-3),
                  "osqp": (5e-3, 2e-6, 4e-4, 2.6e-3), "proxqp": (1e-6, 6e-6, 2e-3, 16e-3)},
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ContactRow:
    """Residuals of one solver on one problem [m/s], and its iterations; λᵀV is the work of contact [J]."""

    problem: str
    solver: str
    signorini: float
    cone: float
    dissipation: float
    work: float
    iterations: int


@dataclass(frozen=True, kw_only=True)
class ProgramRow:
    """Errors of a solution by the measures of mpc_qpbenchmark, and seconds."""

    problem: str
    solver: str
    primal: float
    dual: float
    gap: float
    seconds: float


def _archive(name: str) -> dict[str, ndarray]:
    with np.load(str(files("footfall_lab.reality") / "data" / f"{name}.npz"), allow_pickle=False) as archive:
        return {key: archive[key] for key in archive}


def contact_problem(name: str) -> ContactProblem:
    """Return one of ``CONTACT``; in these files too, the normal is the last axis of a contact."""
    content = _archive(CONTACT[name])
    G = content["G"]
    return ContactProblem(0.5 * (G + G.T), content["g"].ravel(), np.zeros(len(content["mus"])), content["mus"])


def contact_rows() -> list[ContactRow]:
    rows = []
    for name in CONTACT:
        problem = contact_problem(name)
        zero, slips = np.zeros(3 * problem.contacts), np.zeros(problem.contacts)
        found, _, _, made = solve_by_least_squares(problem, zero, slips, 200, 1e-10)
        rows.append(_contact_row(name, "least squares", problem, found, made))
        found, _, made = solve_by_contact(problem, zero, slips, 1000, 1e-10)
        rows.append(_contact_row(name, "cone by cone", problem, found, made))
        both = Complementarity()._solve(problem, zero, slips)
        rows.append(_contact_row(name, "as simulated (auto)", problem, both.impulses, both.iterations + both.sweeps))
    return rows


def _contact_row(name: str, solver: str, problem: ContactProblem, impulses: ndarray, made: float) -> ContactRow:
    signorini, cone, dissipation = (float(x) for x in residuals(problem, impulses))
    V = problem.V_free + problem.A @ impulses
    return ContactRow(
        problem=name,
        solver=solver,
        signorini=signorini,
        cone=cone,
        dissipation=dissipation,
        work=float(impulses @ V),
        iterations=int(made),
    )


def program_rows(names: Sequence[str] = tuple(PROGRAMS)) -> list[ProgramRow]:
    """Return the rows of our solver, and of DAQP if installed."""
    rows = []
    for name in names:
        c = _archive(PROGRAMS[name])
        c = {**c, **_with_bounds(c)}
        for solver, (found, times) in {"nptrace.solve": (_by_ours, 1), "DAQP": (_by_daqp, 5)}.items():
            try:
                best, x = np.inf, None
                for _ in range(times):
                    began = time.perf_counter()
                    x = found(c)
                    best = min(best, time.perf_counter() - began)
            except MissingExtraError:
                continue
            errors = (np.inf,) * 3 if x is None else optimality(c, x)
            rows.append(
                ProgramRow(problem=name, solver=solver, primal=errors[0], dual=errors[1], gap=errors[2], seconds=best)
            )
    return rows


def _by_ours(c: dict[str, ndarray]) -> ndarray | None:
    """Solve by our interior point method, in plain NumPy. P is singular: ``RIDGE`` on its diagonal regularises it."""
    P, low = c["P"] + RIDGE * np.eye(len(c["q"])), np.full(len(c["h"]), -2.0 * quadratic.INFINITE)
    found = quadratic.solve(quadratic.QP.of(P, c["q"], c["G"], low, c["h"], c["A"], c["b"]), dense=True)
    return np.asarray(found.x) if found.converged > 0.5 else None


def _by_daqp(c: dict[str, ndarray]) -> ndarray | None:
    A = np.concatenate([c["G"], c["A"]])
    low = np.concatenate([np.full(len(c["h"]), -np.inf), c["b"]])
    return solve_qp(c["P"], c["q"], A, low, np.concatenate([c["h"], c["b"]])).x


def _with_bounds(c: dict[str, ndarray]) -> dict[str, ndarray]:
    """Return G x <= h with the bounds of x as further rows."""
    unit, above, below = np.eye(len(c["q"])), np.isfinite(c["ub"]), np.isfinite(c["lb"])
    G = np.concatenate([c["G"], unit[above], -unit[below]])
    return {"G": G, "h": np.concatenate([c["h"], c["ub"][above], -c["lb"][below]])}


def optimality(c: dict[str, ndarray], x: ndarray) -> tuple[float, float, float]:
    """Return (primal residual, dual residual, duality gap) with the multipliers that fit a solution best."""
    from scipy.optimize import lsq_linear

    G, h, A, b = c["G"], c["h"], c["A"], c["b"]
    slack = h - G @ x
    primal = max(float(np.abs(A @ x - b).max()), float(np.maximum(-slack, 0.0).max()))
    tight = slack < 1e-5
    columns = np.concatenate([A, G[tight]]).T
    low = np.concatenate([np.full(len(A), -np.inf), np.zeros(int(tight.sum()))])
    slope = c["P"] @ x + c["q"]
    found = lsq_linear(columns, -slope, (low, np.full(len(low), np.inf)), method="bvls", tol=1e-14)
    y, z = found.x[: len(A)], found.x[len(A) :]
    dual = float(np.abs(slope + columns @ found.x).max())
    gap = abs(float(x @ c["P"] @ x + c["q"] @ x + b @ y + h[tight] @ z))
    return primal, dual, gap

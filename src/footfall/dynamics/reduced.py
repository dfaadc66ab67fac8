"""Minimal coordinates: each contact mode as a robot of its own (lecture slides on floating-base robots).

In a mode the rates obey J v = 0. Splitting them into dependent and independent ones, J_d v_d + J_i v_i = 0, gives

    v = N v_i,   a = N a_i + c,   N = [-J_d⁻¹ J_i; 1],   c = dN/dt v_i = [-J_d⁻¹ dJ/dt v; 0],

and Nᵀ takes the contact forces out of the equations: M_r a_i + h_r = Nᵀτ with M_r = NᵀMN and h_r = Nᵀ(h + M c). Which
rates depend is chosen where the robot is, by pivoting, for J_d to be well conditioned: no one choice serves everywhere,
which is the price the slides name (other coordinates in every mode, and transitions between them).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.checks import check_finite
from footfall.dynamics.constrained import Gravity, contact_jacobian
from footfall.dynamics.contact_sets import RANK_TOLERANCE, ContactSet, contact_set, over_constrained
from footfall.dynamics.forward_dynamics import bias_terms, generalised
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.gravity import GRAVITY
from footfall.kinematics.jacobian import feet_bias_acceleration
from footfall.robot.model.description import Robot

_CONSISTENT = 1e-9  # feet of an over-constrained mode agree to this [m/s²]


@dataclass(frozen=True)
class Partition:
    """Coordinates of one mode at one configuration: the independent and the dependent entries of v, and N.

    ``rows`` are the rows of J that determine the dependent entries: all of them, unless the mode is over-constrained.
    """

    independent: list[int]
    dependent: list[int]
    rows: list[int]
    N: Float[ndarray, "nv n"]
    contacts: ContactSet


@dataclass(frozen=True)
class ReducedSystem:
    """M_r a_r + h_r = F_r in the independent coordinates of a mode, and the way back: a = N a_r + c."""

    partition: Partition
    M: Float[ndarray, "n n"]
    h: Float[ndarray, "n"]
    force: Float[ndarray, "n"]
    c: Float[ndarray, "nv"]

    def acceleration(self) -> Float[ndarray, "nv"]:
        """a of the whole robot."""
        reduced = np.linalg.solve(self.M, self.force - self.h) if len(self.force) else np.zeros(0)
        return self.partition.N @ reduced + self.c


def partition(robot: Robot, q: Float[ndarray, "nq"], mode: Float[ndarray, "nf"]) -> Partition:
    """Choose dependent coordinates: the best conditioned columns, and rows, of J, by pivoted QR."""
    found, J = contact_set(robot, q, mode), _standing(contact_jacobian(robot, q), mode)
    order = scipy.linalg.qr(J, mode="r", pivoting=True)[1] if found.rank else np.arange(robot.nv)
    dependent, independent = sorted(order[: found.rank].tolist()), sorted(order[found.rank :].tolist())
    rows = scipy.linalg.qr(J[:, dependent].T, mode="r", pivoting=True)[1] if found.rank else np.arange(0)
    chosen = sorted(rows[: found.rank].tolist())
    N = np.zeros((robot.nv, len(independent)))
    N[independent, np.arange(len(independent))] = 1.0
    if found.rank:
        N[dependent] = -np.linalg.solve(J[np.ix_(chosen, dependent)], J[np.ix_(chosen, independent)])
    return Partition(independent, dependent, chosen, N, found)


def reduced_system(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    mode: Float[ndarray, "nf"],
    gravity: Gravity = GRAVITY,
) -> ReducedSystem:
    """The equations of motion of a mode in its own minimal coordinates."""
    check_finite(robot, v=v, tau=tau)
    split = partition(robot, q, mode)
    dependent, N = split.dependent, split.N
    c = np.zeros(robot.nv)
    if dependent:
        J, turning = _standing(contact_jacobian(robot, q), mode), _standing(_turning(robot, q, v), mode)
        c[dependent] = -np.linalg.solve(J[np.ix_(split.rows, dependent)], turning[split.rows])
        if np.abs(J @ c + turning).max() > _CONSISTENT * max(float(np.abs(turning).max()), 1.0):
            raise over_constrained(split.contacts)
    M = mass_matrix(robot, q)
    h = bias_terms(robot, q, v, gravity)
    return ReducedSystem(split, N.T @ M @ N, N.T @ (h + M @ c), N.T @ generalised(robot, tau), c)


def reduced_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    mode: Float[ndarray, "nf"],
    gravity: Gravity = GRAVITY,
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "nf 3"]]:
    """(a, f) as ``constrained_dynamics`` gives them, by way of minimal coordinates.

    The forces come last: the dependent rows of M a + h - Sᵀτ = Jᵀf, the ones that N left out. Where the mode is
    over-constrained and its feet agree all the same, they are the least in norm.
    """
    system = reduced_system(robot, q, v, tau, mode, gravity)
    a, dependent = system.acceleration(), system.partition.dependent
    forces = np.zeros(3 * robot.nf)
    if dependent:
        J = _standing(contact_jacobian(robot, q), mode)
        missing = mass_matrix(robot, q) @ a + bias_terms(robot, q, v, gravity) - generalised(robot, tau)
        forces[_rows(mode)] = np.linalg.lstsq(J[:, dependent].T, missing[dependent], rcond=RANK_TOLERANCE)[0]
    return a, forces.reshape(-1, 3)


def reduced_touchdown(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], mode: Float[ndarray, "nf"]
) -> Float[ndarray, "nv"]:
    """v⁺ of a touchdown into a mode, by its own coordinates: the momentum that they know is kept, NᵀM (v⁺ - v) = 0."""
    N, M = partition(robot, q, mode).N, mass_matrix(robot, q)
    return N @ np.linalg.solve(N.T @ M @ N, N.T @ (M @ v))


def _turning(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "rows"]:
    """dJ/dt v of all feet."""
    return feet_bias_acceleration(robot, q, v)[:, 3:].reshape(-1)


def _rows(mode: Float[ndarray, "nf"]) -> ndarray:
    return np.repeat(np.asarray(mode, dtype=float), 3) > 0


def _standing(rows: ndarray, mode: Float[ndarray, "nf"]) -> ndarray:
    return np.asarray(rows[_rows(mode)], dtype=float)

"""Minimal coordinates: each contact mode as a separate system (lecture slides on floating-base robots).

In a mode the rates obey J v = 0. Splitting them into dependent and independent ones, J_d v_d + J_i v_i = 0, gives

    v = N v_i,   a = N a_i + c,   N = [-J_d⁻¹ J_i; 1],   c = dN/dt v_i = [-J_d⁻¹ dJ/dt v; 0],

and Nᵀ eliminates the contact forces from the equations: M_r a_i + h_r = Nᵀτ with M_r = NᵀMN and h_r = Nᵀ(h + M c). The
dependent rates are chosen at the present configuration, by pivoting, for J_d to be well conditioned: no single choice
works everywhere, which is the drawback named in the slides (different coordinates in every mode, and transitions
between them). Once chosen, the coordinates are data and everything after is traced; ``sim.hybrid`` runs a robot through
its modes in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.dynamics.checks import check_finite
from footfall.dynamics.factor import dense_factor, dense_solve
from footfall.dynamics.formalisms.constrained import Gravity, check_points, contact_jacobian, held_rows
from footfall.dynamics.formalisms.contact_sets import RANK_TOLERANCE, contact_set, over_constrained
from footfall.dynamics.forward_dynamics import bias_terms, generalised
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.identity import digest_of
from footfall.kinematics.jacobian import feet_bias_acceleration
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY
from nptrace._types import Scalar
from nptrace.array_types import Float

_CONSISTENT = 1e-9  # feet of an over-constrained mode agree to this [m/s²]


@dataclass(frozen=True, eq=False)
class ModeCoordinates:
    """Minimal coordinates of a contact mode: which entries of v are independent.

    They are chosen at a configuration and constant afterwards, so that everything computed with them can be traced:
    ``ff.compile(ModeCoordinates.dynamics, coordinates)``.

    ``dependent`` and ``rows`` (of J, all feet) are in the order in which they are eliminated, without pivoting.
    """

    robot: Robot
    mode: tuple[float, ...]  # one number per foot, or one per row of J
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]

    @staticmethod
    def at(robot: Robot, q: Float[ndarray, "nq"], mode: Float[ndarray, "nf"]) -> ModeCoordinates:
        """Choose coordinates by elimination with complete pivoting at a numeric configuration."""
        check_points(robot, mode)
        J = contact_jacobian(robot, q)
        pivots = _pivots(J, np.flatnonzero(_rows(mode)))
        dependent = tuple(column for _, column in pivots)
        independent = tuple(k for k in range(robot.nv) if k not in dependent)
        numbers = tuple(float(m) for m in np.ravel(mode))
        return ModeCoordinates(robot, numbers, independent, dependent, tuple(row for row, _ in pivots))

    @property
    def n(self) -> int:
        return len(self.independent)

    @property
    def nq(self) -> int:
        return self.robot.nq

    @property
    def nj(self) -> int:
        return self.robot.nj

    def basis(self, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv n"]:
        """Return N: velocities of the robot by those of the mode."""
        N = np.zeros((self.robot.nv, self.n))
        N[list(self.independent), np.arange(self.n)] = 1.0
        if self.dependent:
            J = contact_jacobian(self.robot, q)
            J_d, J_i = (J[list(self.rows)][:, list(part)] for part in (self.dependent, self.independent))
            N[list(self.dependent)] = -_eliminated(J_d, J_i)
        return N

    def worst_pivot(self, q: Float[ndarray, "nq"]) -> float:
        """Return the smallest pivot relative to the largest at a numeric configuration: near zero, choose other
        coordinates.
        """
        if not self.dependent:
            return 1.0
        A = np.array(contact_jacobian(self.robot, q)[list(self.rows)][:, list(self.dependent)], dtype=float)
        sizes = []
        for k in range(len(A)):
            sizes.append(abs(A[k, k]))
            if sizes[-1] == 0.0:
                break
            A[k + 1 :] -= np.outer(A[k + 1 :, k] / A[k, k], A[k])
        return float(min(sizes) / max(sizes))

    def system(
        self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], tau: Float[ndarray, "nj"], gravity: Gravity = GRAVITY
    ) -> ReducedSystem:
        """Return M_r a_r + h_r = F_r, and the map back to the robot."""
        robot, N = self.robot, self.basis(q)
        c = np.zeros(robot.nv)
        if self.dependent:
            J_d = contact_jacobian(robot, q)[list(self.rows)][:, list(self.dependent)]
            c[list(self.dependent)] = -_eliminated(J_d, _turning(robot, q, v)[list(self.rows)][:, None])[:, 0]
        M, h = mass_matrix(robot, q), bias_terms(robot, q, v, gravity)
        return ReducedSystem(
            coordinates=self, N=N, M=N.T @ M @ N, h=N.T @ (h + M @ c), force=N.T @ generalised(robot, tau), c=c
        )

    def dynamics(
        self, q: Float[ndarray, "nq"], rates: Float[ndarray, "n"], tau: Float[ndarray, "nj"], gravity: Gravity = GRAVITY
    ) -> tuple[Float[ndarray, "n"], Float[ndarray, "nf 3"]]:
        """Return (accelerations of the mode's coordinates, foot forces [N]) for its rates, which determine v."""
        v = self.basis(q) @ rates
        system = self.system(q, v, tau, gravity)
        reduced = system.reduced_acceleration()
        return reduced, self.forces(q, v, system.N @ reduced + system.c, tau, gravity)

    def forces(
        self,
        q: Float[ndarray, "nq"],
        v: Float[ndarray, "nv"],
        a: Float[ndarray, "nv"],
        tau: ndarray,
        gravity: Gravity = GRAVITY,
    ) -> Float[ndarray, "nf 3"]:
        """Return forces from the dependent rows of M a + h - Sᵀτ = Jᵀf, which N removed; implied rows carry nothing."""
        missing = mass_matrix(self.robot, q) @ a + bias_terms(self.robot, q, v, gravity)
        return self._at_feet(q, missing - generalised(self.robot, tau))

    def impulses(self, q: Float[ndarray, "nq"], change: Float[ndarray, "nv"]) -> Float[ndarray, "nf 3"]:
        """Return the impulses [N s] at the feet that cause a change of velocity: M (v⁺ - v) = Jᵀλ."""
        return self._at_feet(q, mass_matrix(self.robot, q) @ change)

    def _at_feet(self, q: ndarray, missing: Float[ndarray, "nv"]) -> Float[ndarray, "nf 3"]:
        """Return f with Jᵀf = missing in the dependent rows."""
        forces = np.zeros(3 * self.robot.nf)
        if self.dependent:
            J_d = contact_jacobian(self.robot, q)[list(self.rows)][:, list(self.dependent)]
            forces[list(self.rows)] = _eliminated(J_d.T, missing[list(self.dependent)][:, None])[:, 0]
        return np.reshape(forces, (self.robot.nf, 3))

    def touchdown(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "n"]:
        """Return the rates after the feet of the mode have stopped, by momentum in its coordinates: NᵀM (v⁺ - v) =
        0.
        """
        N, M = self.basis(q), mass_matrix(self.robot, q)
        return _positive_solved(N.T @ M @ N, N.T @ (M @ v))

    # -- a constant of ``ff.compile`` --------------------------------------------------------------------------------
    def parameter(self, path: str) -> Scalar:
        return self.robot.parameter(path)

    def with_parameters(self, parameters: Mapping[str, Scalar]) -> ModeCoordinates:
        robot = self.robot.with_parameters(parameters)
        return ModeCoordinates(robot, self.mode, self.independent, self.dependent, self.rows)

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


@dataclass(frozen=True, kw_only=True)
class ReducedSystem:
    """M_r a_r + h_r = F_r in the independent coordinates of a mode, and the map back: a = N a_r + c."""

    coordinates: ModeCoordinates
    N: Float[ndarray, "nv n"]
    M: Float[ndarray, "n n"]
    h: Float[ndarray, "n"]
    force: Float[ndarray, "n"]
    c: Float[ndarray, "nv"]

    def reduced_acceleration(self) -> Float[ndarray, "n"]:
        return _positive_solved(self.M, self.force - self.h)

    def acceleration(self) -> Float[ndarray, "nv"]:
        """Return a of the whole robot."""
        return self.N @ self.reduced_acceleration() + self.c


def reduced_system(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    mode: Float[ndarray, "nf"],
    gravity: Gravity = GRAVITY,
) -> ReducedSystem:
    """Return the equations of motion of a contact mode in minimal coordinates.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        tau: Joint torques [N m].
        mode: 1 for each foot in contact, 0 for the others.
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        Mass matrix, bias and forces in these coordinates.
    """
    check_finite(robot, v=v, tau=tau)
    system = ModeCoordinates.at(robot, q, mode).system(q, v, tau, gravity)
    J, turning = _standing(contact_jacobian(robot, q), mode), _standing(_turning(robot, q, v), mode)
    off = float(np.abs(J @ system.c + turning).max(initial=0.0))
    if off > _CONSISTENT * max(float(np.abs(turning).max(initial=0.0)), 1.0):
        raise over_constrained(contact_set(robot, q, mode))
    return system


def reduced_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    mode: Float[ndarray, "nf"],
    gravity: Gravity = GRAVITY,
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "nf 3"]]:
    """Return accelerations and contact forces as ``constrained_dynamics`` does, in minimal coordinates.

    The forces follow from the dependent rows of M a + h - Sᵀτ = Jᵀf. In an over-constrained but consistent mode, they
    are those of least norm.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        tau: Joint torques [N m].
        mode: 1 for each foot in contact, 0 for the others.
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        Accelerations a = dv/dt, and forces of the ground on the feet [N].
    """
    system = reduced_system(robot, q, v, tau, mode, gravity)
    a, dependent = system.acceleration(), list(system.coordinates.dependent)
    forces = np.zeros(3 * robot.nf)
    if dependent:
        J = _standing(contact_jacobian(robot, q), mode)
        missing = mass_matrix(robot, q) @ a + bias_terms(robot, q, v, gravity) - generalised(robot, tau)
        forces[_rows(mode)] = np.linalg.lstsq(J[:, dependent].T, missing[dependent], rcond=RANK_TOLERANCE)[0]
    return a, forces.reshape(-1, 3)


def reduced_touchdown(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], mode: Float[ndarray, "nf"]
) -> Float[ndarray, "nv"]:
    """Return the velocity after a touchdown, in minimal coordinates: NᵀM (v⁺ - v) = 0.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        mode: 1 for each foot in contact after the touchdown.

    Returns:
        Velocity after the touchdown.
    """
    coordinates = ModeCoordinates.at(robot, q, mode)
    return coordinates.basis(q) @ coordinates.touchdown(q, v)


# -- elimination -------------------------------------------------------------------------------------------------------
def _pivots(J: Float[ndarray, "rows nv"], rows: ndarray) -> list[tuple[int, int]]:
    """Return (row, column) of the largest remaining entry, as often as there are independent rows."""
    A, left, out = np.array(J, dtype=float), [int(row) for row in rows], []
    least = RANK_TOLERANCE * float(np.abs(A[left]).max(initial=0.0))
    while left:
        sizes = np.abs(A[left])
        at, column = np.unravel_index(int(np.argmax(sizes)), sizes.shape)
        if sizes[at, column] <= least:
            break
        row = left.pop(int(at))
        out.append((row, int(column)))
        for other in left:
            A[other] -= A[other, column] / A[row, column] * A[row]
    return out


def _eliminated(A: Float[ndarray, "n n"], B: Float[ndarray, "n m"]) -> Float[ndarray, "n m"]:
    """Return A⁻¹ B without pivoting: the rows of A are in the order of its pivots."""
    n = len(A)
    rows = [np.concatenate([A[k], B[k]]) for k in range(n)]
    for k in range(n):
        rows[k] = rows[k] * (1.0 / rows[k][k])
        for other in range(k + 1, n):
            rows[other] = rows[other] - rows[other][k] * rows[k]
    for k in reversed(range(n)):
        for other in range(k):
            rows[other] = rows[other] - rows[other][k] * rows[k]
    return np.stack([row[n:] for row in rows])


def _positive_solved(M: Float[ndarray, "n n"], b: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
    return dense_solve(*dense_factor(M), b) if len(b) else np.zeros(0)


def _turning(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "rows"]:
    """Return dJ/dt v of all feet."""
    return feet_bias_acceleration(robot, q, v)[:, 3:].reshape(-1)


def _rows(mode: Float[ndarray, "nf"]) -> ndarray:
    return held_rows(np.asarray(mode, dtype=float)) > 0


def _standing(rows: ndarray, mode: Float[ndarray, "nf"]) -> ndarray:
    return np.asarray(rows[_rows(mode)], dtype=float)

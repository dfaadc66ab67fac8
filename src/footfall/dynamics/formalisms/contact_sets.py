"""The mechanics of a set of stance feet: rank, conditioning, indeterminate force patterns.

Runs outside of traces. Two different things are called redundancy (erratum of eq. (19) of Yan et al. 2021, which claims
one solution):

- *Over-constrained*: the rows of J depend on each other, so the ground can push in a pattern that moves nothing.
  Forward dynamics then has one acceleration, or none, and never one set of forces.
- *Internal forces*: from two stance feet on, forces that cancel in the base rows can be balanced by joint torques.
  Forward dynamics is not affected (torques are given), inverse dynamics without measured foot forces is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.dynamics.checks import check_finite
from footfall.dynamics.factor import factor, solve_factored
from footfall.dynamics.formalisms.constrained import Gravity, constrained_dynamics, feet_in_factor
from footfall.dynamics.formalisms.modes import mode_name, mode_of, standing_feet
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.errors import InputError
from footfall.kinematics.jacobian import feet_bias_acceleration
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float

RANK_TOLERANCE = 1e-9  # relative to the largest singular value of J in the metric of M
_CONSISTENT = 1e-9  # feet of a redundant set agree to this [m/s²]
_TAKES_PART = 1e-3  # contribution of a foot to a pattern of unit length


@dataclass(frozen=True, kw_only=True)
class ContactSet:
    """A contact mode at one configuration.

    ``singular_values`` are those of J D^(-1/2), square roots of the eigenvalues of the Delassus matrix [1/√kg], largest
    first. ``patterns``: unit patterns of foot forces that move nothing, one (feet, 3) array each.
    """

    robot: str
    mode: str
    feet: tuple[str, ...]
    rows: int
    rank: int
    singular_values: Float[ndarray, "rows"]
    patterns: Float[ndarray, "k feet 3"]
    internal: int  # number of force patterns that cancel in the base rows
    mobility: int  # degrees of freedom left by the mode

    @property
    def redundancy(self) -> int:
        """Return the number of rows implied by the others."""
        return self.rows - self.rank

    @property
    def conditioning(self) -> float:
        """Return the ratio of largest to smallest eigenvalue of the Delassus matrix; infinite for a redundant set, 1
        in flight.
        """
        if not self.rows:
            return 1.0
        if self.redundancy:
            return float("inf")
        return float((self.singular_values[0] / self.singular_values[-1]) ** 2)

    @property
    def culprits(self) -> tuple[str, ...]:
        """Return the feet whose constraints are redundant."""
        share = np.abs(self.patterns).max(axis=(0, 2)) if len(self.patterns) else np.zeros(len(self.feet))
        return tuple(foot for foot, part in zip(self.feet, share) if part > _TAKES_PART)

    def __str__(self) -> str:
        if not self.rows:
            return f"robot '{self.robot}' in flight: {self.mobility} degrees of freedom, no contact rows"
        text = f"robot '{self.robot}' on {self.mode}: {self.rows} contact rows of rank {self.rank}"
        if self.redundancy:
            return f"{text}, over-constrained at {', '.join(self.culprits)}"
        return (
            f"{text}, conditioning {self.conditioning:.1e}, {self.internal} internal forces, mobility {self.mobility}"
        )


def contact_set(
    robot: Robot,
    q: Float[ndarray, "nq"],
    mode: Float[ndarray, "nf"],
    frame: str = "world",
    R_WC: Float[ndarray, "3 3"] | None = None,
) -> ContactSet:
    """Return rank and conditioning of a contact mode, and its internal forces.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        mode: 1 for each foot in contact, 0 for the others.
        frame: Axes of the contact frames: ``world``, ``contact`` or ``foot``.
        R_WC: Axes of the contact frame, normal last, for ``contact``; level ground unless given.

    Returns:
        The report; ``redundancy`` is the number of force patterns that move nothing.
    """
    check_finite(robot, q=q)
    mode = mode_of(robot, mode)
    rows = np.repeat(mode, 3) > 0
    feet, count = standing_feet(robot, mode), int(rows.sum())
    _, d, Y, J = feet_in_factor(robot, q, frame, R_WC)
    vectors, found, _ = np.linalg.svd((Y / np.sqrt(d)[:, None])[:, rows].T, full_matrices=True)
    sizes = np.concatenate([found, np.zeros(count - len(found))])  # more rows than degrees of freedom
    lost = sizes <= RANK_TOLERANCE * max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)
    rank = count - int(lost.sum())
    base = J[rows, : robot.nv - robot.nj]
    held = np.linalg.matrix_rank(base, tol=RANK_TOLERANCE) if base.size else 0
    return ContactSet(
        robot=robot.name,
        mode=mode_name(robot, mode),
        feet=feet,
        rows=count,
        rank=rank,
        singular_values=sizes,
        patterns=vectors[:, lost].T.reshape(count - rank, len(feet), 3),
        internal=count - int(held),
        mobility=robot.nv - rank,
    )


def check_stance(
    robot: Robot,
    q: Float[ndarray, "nq"],
    mode: Float[ndarray, "nf"],
    frame: str = "world",
    R_WC: Float[ndarray, "3 3"] | None = None,
) -> ContactSet:
    """Return the rank report of a contact mode, and refuse a mode whose forces are not unique.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        mode: 1 for each foot in contact, 0 for the others.
        frame: Axes of the contact frames: ``world``, ``contact`` or ``foot``.
        R_WC: Axes of the contact frame, normal last, for ``contact``; level ground unless given.

    Returns:
        Rank, conditioning and internal forces.
    """
    found = contact_set(robot, q, mode, frame, R_WC)
    if found.redundancy:
        raise over_constrained(found)
    return found


@dataclass(frozen=True)
class StanceDynamics:
    """Accelerations and forces of a mode. If ``contacts.redundancy`` is not zero, the forces have the least norm of
    all equivalent ones.
    """

    a: Float[ndarray, "nv"]
    forces: Float[ndarray, "nf 3"]
    contacts: ContactSet

    @property
    def unique(self) -> bool:
        return not self.contacts.redundancy


def stance_dynamics(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    standing: str | Iterable[str] | Float[ndarray, "nf"],
    gravity: Gravity = GRAVITY,
) -> StanceDynamics:
    """Return accelerations and contact forces as ``constrained_dynamics`` does, also of redundant sets of feet.

    Not for traces. An over-constrained stance whose feet cannot all follow the motion has no acceleration and is
    refused.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        tau: Joint torques [N m].
        standing: Feet in contact, by name or as a contact mode.
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        Accelerations, forces, and the rank report.
    """
    mode = mode_of(robot, standing)
    check_finite(robot, v=v, tau=tau)
    found = contact_set(robot, q, mode)
    if not found.redundancy:
        return StanceDynamics(*constrained_dynamics(robot, q, v, tau, mode, gravity), found)
    rows = np.repeat(mode, 3) > 0
    _, d, Y, J = feet_in_factor(robot, q)
    free, _ = constrained_dynamics(robot, q, v, tau, np.zeros(robot.nf), gravity)
    wanted = (-(J @ free) - feet_bias_acceleration(robot, q, v)[:, 3:].reshape(-1))[rows]
    B = (Y / np.sqrt(d)[:, None])[:, rows]
    push, *_ = np.linalg.lstsq(B.T, wanted, rcond=RANK_TOLERANCE)  # least squares of B f in the metric of M
    if np.abs(B.T @ push - wanted).max() > _CONSISTENT * max(float(np.abs(wanted).max()), 1.0):
        raise over_constrained(found)
    forces = np.zeros(3 * robot.nf)
    forces[rows] = np.linalg.lstsq(B, push, rcond=RANK_TOLERANCE)[0]
    L, d = factor(robot, mass_matrix(robot, q))
    return StanceDynamics(free + solve_factored(robot, L, d, J.T @ forces), forces.reshape(-1, 3), found)


def over_constrained(found: ContactSet) -> InputError:
    return InputError(
        f"the stance {found.mode} of robot '{found.robot}' is over-constrained: its {found.rows} contact rows have rank"
        f" {found.rank}, so the forces at {', '.join(found.culprits)} are not unique"
        " (release one of these feet, or give constrained_dynamics a damping above 0)"
    )

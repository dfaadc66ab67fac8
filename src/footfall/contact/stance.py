"""Stance feet as constraints that are added and released (lecture slides on floating-base robots).

    [ M  -Jᵀ ] [ a ]   [ Sᵀτ - h            ]
    [ J   0  ] [ f ] = [ -dJ/dt v - feedback ]

over one step, in velocities: J v⁺ = wanted, where J v⁺ = J v + dt J a takes the place of J a + dJ/dt v and needs no
dJ/dt (its drift of order dt² is fed back). A stance foot neither slips nor lifts, and its sphere rolls; ``wanted`` is 0
except for the normal, which closes any remaining gap. Which feet are in stance is data, 0 or 1, kept from step to step:

- a foot enters stance when it would penetrate the ground in this step; a fast one also stops, which is
  the impact map v⁺ = v - M⁻¹ Jᵀ A⁻¹ J v;
- a foot is released when the ground would have to pull: the worst one first, then the step is solved again. It keeps
  its normal row if it would otherwise sink, for instance when it lands so obliquely that sticking would need a pulling
  force;
- a free foot that the others push into the ground gets a normal row as well.

Friction is assumed to suffice: a step whose forces leave the cone is counted and reported, but does not slip. Redundant
feet can share the load in many ways; where the default distribution leaves a cone, feet with friction to spare take
more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

import nptrace
from footfall.contact.delassus import ContactSpace, contact_space
from footfall.contact.ground import Ground
from footfall.contact.impact import stopping_impulses
from footfall.contact.model import ContactModel, Memory
from footfall.contact.points import ContactPoint, Sphere, contact_points
from footfall.dynamics.closed_loops import LoopConstraint
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.robot.model.description import Robot
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

_NEAR, _SLOW = 1e-3, 1e-2  # [m], [m/s]: a foot in stance at the start must be this close to the ground and this slow
_EXCESS = 1e-6  # [N], of friction
_SINKING = 1e-9  # [m/s]
_SHARINGS = 12  # maximum iterations that distribute the load among the feet
_UNEQUAL = 1e4  # maximum ratio of the damping of two feet
_SAME = 1e-3  # how much redistributing a load may change the velocities, relative to what contact changes


@dataclass(frozen=True)
class Stance(ContactModel):
    """Feet in contact held by constraints, without slip.

    stands: names of feet in stance from the start, which is checked; the others once they touch. stabilisation: rate
    [1/s] at which a stance foot closes a gap. damping: share of its diagonal that is added to the
    Delassus matrix, so that feet may hold a body more than once (a block on four feet).
    """

    stands: tuple[str, ...] = ()
    stabilisation: float = 20.0
    damping: float = 1e-9
    implicit: bool = True  # joint feedback is evaluated at the end of the step
    hard: ClassVar[bool] = True
    missed: ClassVar[str] = "a stance foot needed more friction than the ground has: this contact model does not slip"

    def __post_init__(self) -> None:
        for key in ("stabilisation", "damping"):
            value = getattr(self, key)
            if isinstance(value, (int, float)) and not (np.isfinite(value) and value >= 0.0):
                raise InputError(f"{key} of stance contact must not be negative, got {value}")
        if isinstance(self.stands, str) or not all(isinstance(name, str) for name in self.stands):
            raise InputError(f"stands of stance contact must be names of feet, got {self.stands!r}")
        object.__setattr__(self, "stands", tuple(self.stands))

    def start(self, spheres: Sequence[Sphere]) -> Memory:
        """Return which spheres are in stance, friction beyond the cone in the last step [N], and the number of such
        steps.
        """
        names = [sphere.name for sphere in spheres]
        for name in self.stands:
            if name not in names:
                raise unknown("foot", name, names, "inconsistent stance: this robot touches with")
        mode = np.array([float(name in self.stands) for name in names])
        return {"mode": mode, "excess": np.zeros(()), "misses": np.zeros(())}

    def columns(self, memory: Memory, feet: int) -> dict[str, ndarray]:
        """Return the feet's modes, friction beyond the cone [N], and the number of steps so far in which there was
        some.
        """
        return {
            "mode": memory["mode"][:, :feet],
            "contact_excess": memory["excess"],
            "contact_misses": memory["misses"],
        }

    def check(self, robot: Robot, spheres: Sequence[Sphere], ground: Ground, q: ndarray, v: ndarray) -> None:
        """Raise an error if a stance foot is in the air or moves at the start."""
        X = joint_transforms(robot, q)
        for sphere, point in zip(spheres, contact_points(robot, X, poses_in_base(robot, X), spheres, ground)):
            if sphere.name not in self.stands:
                continue
            if point.distance > _NEAR:
                height = f"{1e3 * float(point.distance):.1f} mm above the ground"
                raise InputError(
                    f"inconsistent stance: '{sphere.name}' should be in contact at the start but is {height}"
                )
            speed = float(np.sqrt(np.sum((point.J @ v) ** 2)))
            if speed > _SLOW:
                raise InputError(
                    f"inconsistent stance: '{sphere.name}' should be in contact at the start but moves {speed:.3g} m/s"
                )

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
        ahead, wanted = self._plan(space, memory["mode"], dt)
        floor = -np.maximum(space.gap, 0.0) / dt

        def impulses_of(touches: ndarray, stands: ndarray) -> ndarray:
            rows = np.stack([x for k in range(len(points)) for x in (stands[k], stands[k], touches[k])])
            return stopping_impulses(space.A, space.V_free, wanted, rows, self.damping)

        def hold(_: float, carry: tuple[ndarray, ndarray, ndarray]) -> tuple[ndarray, ndarray, ndarray]:
            """Update which feet hold: release the one that pulls most and add the one that sinks most; return
            impulses.
            """
            touches, stands, before = carry
            pulls, sinks = _pulls(before), _sinks(space, before, touches, floor)
            lets_go = pulls & (stands < 0.5)
            touches = np.where(sinks & ~np.any(pulls), 1.0, np.where(lets_go, 0.0, touches))
            stands = np.where(pulls, 0.0, stands)
            return touches, stands, impulses_of(touches, stands)

        def settled(carry: tuple[ndarray, ndarray, ndarray]) -> Operand:
            touches, _, found = carry
            return ~np.any(_pulls(found) | _sinks(space, found, touches, floor))

        first = hold(0.0, (ahead, ahead, np.zeros(3 * len(points))))
        last = nptrace.repeat(4 * len(points), hold, first, until=settled, check_first=True)
        found = settled(last)
        # where feet are jammed no set of them holds without pulling: all of them do, which takes energy and gives none
        touches, mode, impulses = (np.where(found, a, b) for a, b in zip(last, first))
        rows = _rows(mode, touches)
        shared, beyond, damping = self._share(space, wanted, rows, impulses, _EXCESS * dt)

        def as_found(_: ndarray) -> ndarray:
            """Solve with the feet and the damping that were found: derivatives are taken here, not through the
            search for them.
            """
            held = nptrace.stop_gradient((rows, damping))
            return stopping_impulses(space.A, space.V_free, wanted, *held)

        impulses, excess = nptrace.custom_fixed_point(shared, as_found), nptrace.stop_gradient(beyond) * (1.0 / dt)
        missed = (excess > _EXCESS) | ~found
        after: Memory = {
            "mode": mode,
            "excess": excess,
            "misses": memory["misses"] + np.where(missed, 1.0, 0.0),
        }
        forces = impulses * (1.0 / dt)
        a = space.accelerations(robot, forces)
        return a, [point.R_BC @ forces[3 * k : 3 * k + 3] for k, point in enumerate(points)], after

    def _share(
        self,
        space: ContactSpace,
        wanted: Float[ndarray, "nc"],
        rows: Float[ndarray, "nc"],
        impulses: Float[ndarray, "nc"],
        tolerance: float,
    ) -> tuple[ndarray, Operand, ndarray]:
        """Return (impulses with the same effect, largest friction beyond the cone [N s], damping of each row).

        Damping determines the distribution where nothing else does. A foot gets more of it the more of its friction it
        uses, until all cones are kept or no iteration helps. Jammed feet, which are nearly redundant, would be released
        by so much damping: a distribution without the same effect is rejected.
        """
        effect = space.A @ impulses
        close = _SAME * np.max(np.abs(effect))

        def once(_: float, carry: tuple[PyTree, ...]) -> tuple[PyTree, ...]:
            best, least, slack, damped = carry
            slack = slack * np.clip(_used(space, best), 0.01, 100.0)
            slack = np.minimum(slack / np.min(slack), _UNEQUAL)
            damping = self.damping * np.stack([x for share in slack for x in (share, share, 1.0)])
            found = stopping_impulses(space.A, space.V_free, wanted, rows, damping)
            beyond = _excess(space, found)
            same = np.max(np.abs(space.A @ found - effect)) <= close
            better = (beyond < least) & (least > tolerance) & (np.min(_normals(found)) >= 0.0) & same
            damped = nptrace.select(better, damping, damped)
            return nptrace.select(better, found, best), np.where(better, beyond, least), slack, damped

        plain = self.damping * np.ones(len(impulses))
        start = (impulses, _excess(space, impulses), np.ones(len(space.friction)), plain)
        best, least, _, damped = nptrace.repeat(
            _SHARINGS, once, start, until=lambda carry: carry[1] <= tolerance, check_first=True
        )
        return best, least, damped

    def _plan(self, space: ContactSpace, mode: Float[ndarray, "ns"], dt: float) -> tuple[ndarray, ndarray]:
        """Return (which feet may be in stance in this step, their required velocities)."""
        stands, wanted = [], []
        for k in range(len(mode)):
            gap, approach = space.gap[k], space.V_free[3 * k + 2]
            lands = (gap + dt * approach <= 0.0) & (approach < 0.0)
            down = np.where(mode[k] > 0.5, -self.stabilisation * gap, -np.maximum(gap, 0.0) / dt)
            stands.append(np.where(lands, 1.0, mode[k]))
            wanted += [0.0, 0.0, down]
        return np.stack(stands), np.stack(wanted)


def _rows(stands: Float[ndarray, "ns"], touches: Float[ndarray, "ns"]) -> Float[ndarray, "nc"]:
    """Return the active rows of the contacts: tangents for feet in stance, normals for touching ones."""
    return np.stack([x for k in range(len(stands)) for x in (stands[k], stands[k], touches[k])])


def _pulls(impulses: Float[ndarray, "nc"]) -> ndarray:
    """Return the contact that the ground would have to pull most, if any."""
    normal = _normals(impulses)
    return (normal < 0.0) & (normal <= np.min(normal))


def _sinks(
    space: ContactSpace, impulses: Float[ndarray, "nc"], touches: Float[ndarray, "ns"], floor: Float[ndarray, "ns"]
) -> ndarray:
    """Return the free contact that would penetrate the ground fastest, if any."""
    past = np.where(touches > 0.5, 0.0, np.minimum(_normals(space.V_free + space.A @ impulses) - floor, 0.0))
    return (past < -_SINKING) & (past <= np.min(past))


def _normals(rows: Float[ndarray, "nc"]) -> Float[ndarray, "ns"]:
    return np.stack([rows[k] for k in range(2, len(rows), 3)])


def _excess(space: ContactSpace, impulses: Float[ndarray, "nc"]) -> Scalar:
    """Return the largest tangential impulse in excess of friction [N s]."""
    worst: Scalar = 0.0
    for k in range(len(space.friction)):
        x, y, normal = impulses[3 * k], impulses[3 * k + 1], impulses[3 * k + 2]
        worst = np.maximum(worst, np.sqrt(x * x + y * y) - space.friction[k] * normal)
    return worst


def _used(space: ContactSpace, impulses: Float[ndarray, "nc"]) -> Float[ndarray, "ns"]:
    """Return the fraction of its friction that each contact uses; 1 where it carries nothing."""
    shares = []
    for k in range(len(space.friction)):
        x, y, most = impulses[3 * k], impulses[3 * k + 1], space.friction[k] * impulses[3 * k + 2]
        shares.append(np.where(most > 0.0, np.sqrt(x * x + y * y) / np.where(most > 0.0, most, 1.0), 1.0))
    return np.stack(shares)

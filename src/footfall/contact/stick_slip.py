"""Dry friction that obeys Coulomb's law at the end of every step: eq. (38) of de Paula et al. 2024, taken implicitly.

    f_t = -μ(|u|) f_n u / |u|,   μ rising smoothly from 0 to μ_s over v_s, and on to μ_d over v_d

The slope μ f_n / v_s is far too steep for explicit steps, and neither f_n nor the direction of u at the end of the step
is known at its start: a landing foot's damper alone can turn thousands of newtons into zero. So a sphere is in one
of two modes, each linear in the velocity at the *end* of the step.

    sticks:    f_t = -k u⁺,                          k = μ(|u|) f_e / |u| with the elastic force f_e
    slides:    f_t = -μ f_n⁺ t - k (1 - t tᵀ) u⁺,    t the direction of slip; k rotates the force with the slip

Sliding friction grows with the normal force of the same step, f_n⁺ = f_n - k_n n·a, which makes D = ... - μ k_n t nᵀ
unsymmetric: with it a sliding foot is exactly on its cone, whatever its leg does to f_n⁺. Then its modes are updated: a
sphere that sticks outside its cone slides, one that slides against its t sticks, one whose force left the cone by
rotating takes the new direction. Where the modes cycle, late iterations keep the direction and remove most of the
friction from a sphere that would slide backwards, finally all of it: the force stays within its cone and never pushes.
Nearly every step takes one iteration (1.06 in the mean of a trot on μ = 0.8 with ideal joints).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

import nptrace
from footfall.checks import checked_number
from footfall.contact.force_law import FREEZE_AFTER, ForceLaw, LinearisedForce, Modes
from footfall.contact.points import ContactPoint
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from footfall.spatial import symmetric
from nptrace import smoothstep
from nptrace._types import Scalar
from nptrace.array_types import Float

FRICTION = ("isotropic", "per_axis")
_TINY_SPEED = 1e-8  # [m/s], avoids 0 / 0 in the direction of zero slip
_SAME = 1e-9  # rounding: fraction of a velocity, and [m/s]
_OUTSIDE = 1.005  # a force may exceed its cone by this factor before the step is solved again
# fraction of its friction that a late iteration leaves to a sphere that would slide backwards; later ones leave less
_LEFT = 0.25
_RESIDUAL_FRICTION = 1e-6  # fraction of its friction: a sphere with less counts as frictionless and is not changed
# initial guess: friction can stop this many times the slip that it would stop if the foot had the robot's mass
_STOPPED = 4.0


@dataclass(frozen=True, kw_only=True)
class StickSlip(ForceLaw):
    """A user-defined normal force with dry friction. Override ``normal``."""

    stick_speed: float = 1e-4  # v_s [m/s]
    slip_speed: float = 2e-4  # v_d [m/s]
    static_ratio: float = 1.0  # μ_s / μ_d; the ground gives μ_d
    friction: str = "isotropic"  # or per_axis, the square of eq. (38) as printed
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for key in ("stick_speed", "slip_speed", "static_ratio"):
            what = f"{key.replace('_', ' ')} of compliant contact"
            object.__setattr__(self, key, checked_number(getattr(self, key), what, 0.0, above=True))
        if self.slip_speed <= self.stick_speed:
            raise InputError(
                f"slip speed of compliant contact must exceed its stick speed {self.stick_speed}, got {self.slip_speed}"
            )
        if self.friction not in FRICTION:
            raise unknown("friction", self.friction, FRICTION)

    def normal(self, depth: float, dt: float) -> tuple[Scalar, Scalar]:
        """Return (force at rest [N], its decrease with the normal velocity over a step of dt [N s/m]).

        Both must be zero at a depth of zero; ``depth`` is never negative.
        """
        raise NotImplementedError(f"{type(self).__name__} must define normal(depth, dt)")

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        """Return (force, derivatives) at the velocity at the start of the step, as explicit steps use it."""
        elastic, slope = self.normal(np.maximum(depth, 0.0), dt)
        normal = np.maximum(elastic - slope * v_C[2], 0.0)
        drag = self._drag(self._speed(v_C[:2]), friction) * normal * np.ones(2)
        return np.array([-drag[0] * v_C[0], -drag[1] * v_C[1], normal]), np.array([drag[0], drag[1], slope])

    # -- implicit steps ----------------------------------------------------------------------------------------------
    def modes(self, count: int) -> Modes:
        """Return which spheres stick and which slide (per axis for box friction), their slip velocities, and the
        normal force with which friction rotates as the slip does.
        """
        slides, slip = ((count,), (count, 3)) if self._is_round else ((count, 2), (count, 2))
        return {"holds": np.ones(count), "slides": np.zeros(slides), "slip": np.zeros(slip), "load": np.zeros(count)}

    def linearised(
        self, robot: Robot, point: ContactPoint, v_B: Float[ndarray, "3"], dt: float, modes: Modes, iteration: float
    ) -> LinearisedForce:
        """Return the force of one sphere that sticks or slides, with guessed modes in the first iteration."""
        first, hold, n = iteration < 0.5, modes["holds"], point.R_BC[:, 2]
        at_rest, falls = self.normal(np.maximum(-point.distance, 0.0), dt)
        elastic, slope = hold * at_rest, hold * falls
        seen, slip = self._slip(point, first, v_B, modes["slip"])
        speed = self._speed(slip)
        stopped = np.maximum(_STOPPED * dt * point.friction / robot.mass * elastic, self.stick_speed)
        slides = np.where(first, np.where(speed > stopped, 1.0, 0.0), modes["slides"])
        t, moves = (slides / speed) * slip, slides > 0.0
        fast = np.maximum(speed, self.stick_speed)
        drag = np.where(moves, self._sliding(fast, point.friction) / fast, self._creep(speed, point.friction))
        drag = np.where((iteration >= FREEZE_AFTER) & moves, 0.0, drag)
        mu = self._mu(slides, speed, point, v_B)
        load = np.where(first, at_rest, modes["load"])
        pressed = np.where(moves, hold * load, elastic)
        k = drag * pressed
        on_cone = n - self._to_base(point, mu * t)  # the force of a sphere that slides, for a unit normal force
        D = self._derivatives(point, dt * k, dt * slope, on_cone, t)
        kept = {"holds": hold, "slides": slides, "slip": seen, "load": load}
        parts = (point, at_rest, falls, drag, pressed, mu, t, on_cone)
        return LinearisedForce(elastic * on_cone - D @ (v_B / dt), D, kept, parts)

    def modes_for_derivative(self, point: ContactPoint, v_B: Float[ndarray, "3"], modes: Modes) -> Modes:
        """Return the modes of a step for its derivative, with the slip at its start unless an iteration changed it.

        Held constant, that slip is only approximate: the rotation of a sliding foot's force with its slip is due to k,
        which is in D anyway.
        """
        start = v_B if self._is_round else self._tangential(point, v_B)
        last = modes["slip"]
        other = np.abs(last - start) > _SAME * (_SAME + np.abs(start))
        nptrace.mark_derivative_invalid(other)
        return {**modes, "slip": np.where(other, last, start)}

    def update_modes(
        self, sphere: LinearisedForce, v_B: Float[ndarray, "3"], dt: float, iteration: float
    ) -> tuple[Float[ndarray, "3"], Modes, Scalar]:
        """Return (force, modes for another iteration, how many changed): a sphere may pull, leave its cone or slide
        backwards.
        """
        (point, at_rest, falls, drag, pressed, mu, t, on_cone), modes = sphere.parts, sphere.modes
        slides, hold = modes["slides"], modes["holds"]
        u, presses = self._tangential(point, v_B), at_rest - falls * (point.R_BC[:, 2] @ v_B)
        f_n, along = hold * presses, self._dot(u, t)
        # a sphere released in an iteration with wrong modes is restored; late iterations only release
        holds = np.where(presses < 0.0, 0.0, np.where(iteration < FREEZE_AFTER, 1.0, hold))
        # a difference of vectors: a difference of squares would be all rounding where drag is large
        across = u - along * t
        # tangential to the last digit, otherwise its rounding times drag would be part of the normal force
        if self._is_round:
            across = self._tangential(point, across)
        across = drag * across
        turned, load = pressed * across, np.clip(f_n, 0.0, at_rest)
        # component of the cone across the direction of sliding
        room = (_OUTSIDE**2 - slides * slides) * np.square(mu * f_n)
        found = np.where(slides > 0.0, np.maximum(pressed, f_n), pressed)  # it rotates with the new load, too
        leaves = np.square(found) * self._dot(across, across) > room
        back = (slides > _RESIDUAL_FRICTION) & (along < 0.0) & (f_n > 0.0)
        after = {
            "holds": holds,
            "slides": np.where(
                back, np.where(iteration < FREEZE_AFTER, 0.0, _LEFT * slides * slides), np.where(leaves, 1.0, slides)
            ),
            "slip": np.where(leaves, u, modes["slip"]),
            "load": np.where(np.any(leaves), load, modes["load"]),
        }
        force = f_n * on_cone - self._to_base(point, turned)
        return force, after, np.abs(holds - hold) + np.sum(np.where(leaves | back, 1.0, 0.0))

    # -- slip as a vector in base axes where friction is round, as its two components in contact axes where it is not --
    @property
    def _is_round(self) -> bool:
        return self.friction == "isotropic"

    def _tangential(self, point: ContactPoint, v_B: Float[ndarray, "3"]) -> ndarray:
        n = point.R_BC[:, 2]
        return v_B - (n @ v_B) * n if self._is_round else point.R_BC[:, :2].T @ v_B

    def _slip(
        self, point: ContactPoint, first: Scalar, v_B: Float[ndarray, "3"], before: ndarray
    ) -> tuple[ndarray, ndarray]:
        """Return (its defining values, slip): from the start of the step in its first iteration, then as last found.

        The slip of a sticking sphere may be no more than the rounding of its normal velocity, and friction that is not
        tangential to the last digit would change the normal force: so it is made tangential again. A mode keeps the
        defining values: a robot at rest reproduces them bit for bit.
        """
        if self._is_round:
            seen = np.where(first, v_B, before)
            return seen, self._tangential(point, seen)
        seen = np.where(first, self._tangential(point, v_B), before)
        return seen, seen

    def _to_base(self, point: ContactPoint, tangential: ndarray) -> Float[ndarray, "3"]:
        return tangential if self._is_round else point.R_BC[:, :2] @ tangential

    def _dot(self, a: ndarray, b: ndarray) -> Scalar:
        return a @ b if self._is_round else a * b

    def _speed(self, slip: ndarray) -> Scalar:
        return np.sqrt(np.maximum(self._dot(slip, slip), _TINY_SPEED**2))

    def _derivatives(
        self, point: ContactPoint, k: Scalar, k_n: Scalar, on_cone: ndarray, t: ndarray
    ) -> Float[ndarray, "3 3"]:
        """Return D in base axes: k (1 - n nᵀ - t tᵀ) + k_n (n - μ t) nᵀ; per axis, k is two numbers and t is ±1 or
        0.
        """
        n = point.R_BC[:, 2]
        if self._is_round:
            return np.outer(k_n * on_cone - k * n, n) - symmetric(np.outer(k * t, t)) + k * np.eye(3)
        across = (point.R_BC[:, :2] * (k * (1.0 - t * t))) @ point.R_BC[:, :2].T
        return across + np.outer(k_n * on_cone, n)

    def _mu(self, slides: Scalar, speed: Scalar, point: ContactPoint, v_B: Float[ndarray, "3"]) -> Scalar:
        """Return the friction coefficient of a sliding sphere, for its faster slip of start and end, or of a
        sticking one.
        """
        if not self._has_ratio:
            return point.friction
        at = np.maximum(np.maximum(speed, self._speed(self._tangential(point, v_B))), self.stick_speed)
        return np.where(slides > 0.0, self._sliding(at, point.friction), self.static_ratio * point.friction)

    @property
    def _has_ratio(self) -> bool:
        """Return whether static friction differs from sliding friction; a traced ratio may."""
        return type(self.static_ratio) is not float or self.static_ratio != 1.0

    def _drag(self, speed: Scalar, friction: Scalar) -> Scalar:
        """Return μ(speed) / speed: the secant slope of friction for a unit normal force."""
        mu = np.minimum(speed, self.stick_speed) * self._creep(speed, friction)
        if self._has_ratio:
            mu = mu + self._sliding(speed, friction) - self.static_ratio * friction
        return mu / speed

    def _creep(self, speed: Scalar, friction: Scalar) -> Scalar:
        """Return the friction coefficient of a sticking sphere at any speed: a cubic up to v_s, then its value
        there.
        """
        s = np.minimum(speed / self.stick_speed, 1.0)
        steep = self.static_ratio * friction / self.stick_speed
        return 1.5 * steep - 0.5 * steep * (s * s)

    def _sliding(self, speed: Scalar, friction: Scalar) -> Scalar:
        """Return μ from v_s on."""
        mu_s = self.static_ratio * friction
        if not self._has_ratio:
            return mu_s
        slide = (speed - self.stick_speed) / (self.slip_speed - self.stick_speed)
        return mu_s + (friction - mu_s) * smoothstep(slide)

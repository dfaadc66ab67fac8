"""Dry friction that obeys Coulomb's law at the end of every step: eq. (38) of de Paula et al. 2024, taken implicitly.

    f_t = -μ(|u|) f_n u / |u|,   μ rising smoothly from 0 to μ_s over v_s, and on to μ_d over v_d

The slope μ f_n / v_s is far too steep for explicit steps, and neither f_n nor the direction of u at the end of the step
is known at its start: a landing foot's damper alone makes thousands of newtons of one and zero of the other. So a
sphere is in one of two modes, each linear in the velocity at the *end* of the step.

    sticks:    f_t = -k u⁺,                          k = μ(|u|) f_e / |u| with the elastic force f_e
    slides:    f_t = -μ f_n⁺ t - k (1 - t tᵀ) u⁺,    t the direction of slip; k turns the force with the slip

Sliding friction grows with the normal force of the same step, f_n⁺ = f_n - k_n n·a, which makes D = ... - μ k_n t nᵀ
unsymmetric: with it a sliding foot is on its cone exactly, whatever its leg does to f_n⁺. Then it is judged: a sphere
that sticks outside its cone slides, one that slides against its t sticks, one whose force left the cone by turning
takes the direction found. Where the modes chase each other, late turns keep the direction and take most of the friction
from a sphere that would slide backwards, in the end all of it: within its cone, and never pushing. Nearly every step is
settled at once (1.06 turns per step of a trot on μ = 0.8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.force_law import LATE, ForceLaw, Linearised, Modes
from footfall.contact.ground import checked_number
from footfall.contact.points import ContactPoint
from footfall.errors import InputError, unknown
from footfall.numeric import smoothstep
from footfall.robot.description import Robot

FRICTION = ("isotropic", "per_axis")
_TINY_SPEED = 1e-8  # [m/s], so that the direction of no slip is not 0 / 0
_OUTSIDE = 1.005  # times its cone a force may be before the step is solved again
_LEFT = 0.25  # of its friction: what a late turn leaves to a sphere that would slide backwards; later ones leave less
_HARDLY = 1e-6  # of its friction: a sphere with less has none, and is let be
_STOPPED = 4.0  # guess: friction stops this many times the slip that it would stop if the foot had the robot's mass


@dataclass(frozen=True)
class StickSlip(ForceLaw):
    """A normal force of your own, ``normal``, with dry friction: what a law with friction derives from."""

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

    def normal(self, depth: float, dt: float) -> tuple[Any, Any]:
        """(force at rest [N], how it falls with the velocity along the normal over a step of dt [N s/m]).

        Both must be zero at a depth of zero; ``depth`` is never negative.
        """
        raise NotImplementedError(f"{type(self).__name__} must define normal(depth, dt)")

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        """(force, slopes) by the velocity at the start of the step: what explicit steps use."""
        elastic, slope = self.normal(np.maximum(depth, 0.0), dt)
        normal = np.maximum(elastic - slope * v_C[2], 0.0)
        drag = self._drag(self._speed(v_C[:2]), friction) * normal * np.ones(2)
        return np.array([-drag[0] * v_C[0], -drag[1] * v_C[1], normal]), np.array([drag[0], drag[1], slope])

    # -- implicit steps ----------------------------------------------------------------------------------------------
    def modes(self, count: int) -> Modes:
        """Which spheres hold and which slide (per axis, if friction is), and the slip that gives the direction."""
        rows = (count,) if self.friction == "isotropic" else (count, 2)
        return {"holds": np.ones(count), "slides": np.zeros(rows), "slip": np.zeros((count, 2))}

    def linearised(
        self, robot: Robot, point: ContactPoint, v_C: Float[ndarray, "3"], dt: float, modes: Modes, turn: float
    ) -> Linearised:
        """The force of one sphere that sticks or slides; in the first turn of a step that is guessed."""
        first, hold = turn < 0.5, modes["holds"]
        at_rest, falls = self.normal(np.maximum(-point.distance, 0.0), dt)
        presses = at_rest - falls * v_C[2]  # if it holds
        elastic, slope, f_n = hold * at_rest, hold * falls, hold * presses
        slip = np.where(first, v_C[:2], modes["slip"])
        speed = self._speed(slip)
        stopped = np.maximum(_STOPPED * dt * point.friction / robot.mass * elastic, self.stick_speed)
        slides = np.where(first, np.where(speed > stopped, 1.0, 0.0), modes["slides"])
        t = (slides / speed) * slip
        at = np.where(slides > 0.0, np.maximum(speed, self.stick_speed), np.minimum(speed, self.stick_speed))
        drag, mu = self._drag(at, point.friction), self._mu(slides, speed, v_C, point.friction)
        k = np.where((turn < LATE) | (slides <= 0.0), drag * elastic, 0.0)
        f_t = -k * self._across(v_C[:2], t) - (mu * f_n) * t
        D = self._slopes(point.R_BC, dt * k, dt * slope, mu, t)
        kept = {"holds": hold, "slides": slides, "slip": slip}
        return Linearised(np.array([f_t[0], f_t[1], f_n]), D, v_C, kept, (k, presses, dt * falls, mu, t))

    def judged(
        self, sphere: Linearised, a_C: Float[ndarray, "3"], dt: float, turn: float
    ) -> tuple[Float[ndarray, "3"], Modes, Any]:
        """(force, modes for another turn, in how much they differ): who pulls, left its cone, or slides backwards."""
        (k, presses, falls, mu, t), slides, hold = sphere.slopes, sphere.modes["slides"], sphere.modes["holds"]
        u = sphere.v_C[:2] + dt * a_C[:2]
        pressed = presses - falls * a_C[2]
        f_n = hold * pressed
        across = k * self._across(u, t)
        f_t = -across - (mu * f_n) * t
        # let go in a turn whose other modes were wrong, it is taken back; late turns only let go
        holds = np.where(pressed < 0.0, 0.0, np.where(turn < LATE, 1.0, hold))
        most = (_OUTSIDE**2 - slides * slides) * np.square(
            mu * f_n
        )  # what is left of the cone across the direction of sliding
        leaves = self._dot(across, across) > most
        back = (slides > _HARDLY) & (self._dot(u, t) < 0.0) & (f_n > 0.0)
        after = {
            "holds": holds,
            "slides": np.where(
                back, np.where(turn < LATE, 0.0, _LEFT * slides * slides), np.where(leaves, 1.0, slides)
            ),
            "slip": np.where(leaves & ~back, u, sphere.modes["slip"]),
        }
        differs = np.abs(holds - hold) + np.sum(np.where(leaves | back, 1.0, 0.0))
        return np.array([f_t[0], f_t[1], f_n]), after, differs

    # -- friction that is the same in every direction, or acts on each axis by itself --------------------------------
    def _dot(self, a: Float[ndarray, "2"], b: Float[ndarray, "2"]) -> Any:
        return a[0] * b[0] + a[1] * b[1] if self.friction == "isotropic" else a * b

    def _speed(self, slip: Float[ndarray, "2"]) -> Any:
        return np.sqrt(np.maximum(self._dot(slip, slip), _TINY_SPEED**2))

    def _across(self, u: Float[ndarray, "2"], t: Float[ndarray, "2"]) -> Float[ndarray, "2"]:
        """What of a slip is across the direction of sliding; all of it where nothing slides."""
        return u - self._dot(u, t) * t

    def _slopes(self, R_BC: Float[ndarray, "3 3"], k: Any, k_n: Any, mu: Any, t: ndarray) -> Float[ndarray, "3 3"]:
        """D in base axes: k (1 - n nᵀ - t tᵀ) + k_n (n - μ t) nᵀ; per axis k has two values and t ±1 or 0 on each."""
        n = R_BC[:, 2]
        if self.friction == "isotropic":
            t_B = R_BC[:, :2] @ t
            return np.outer((k_n - k) * n - (k_n * mu) * t_B, n) - np.outer(k * t_B, t_B) + k * np.eye(3)
        across = (R_BC[:, :2] * (k * (1.0 - t * t))) @ R_BC[:, :2].T
        return across + np.outer(k_n * (n - R_BC[:, :2] @ (mu * t)), n)

    def _mu(self, slides: Any, speed: Any, v_C: Float[ndarray, "3"], friction: Any) -> Any:
        """Of a sphere that slides, by the faster of its slips at the start and as found; or of one that sticks."""
        if not self._has_ratio:
            return friction
        at = np.maximum(np.maximum(speed, self._speed(v_C[:2])), self.stick_speed)
        return np.where(slides > 0.0, self._drag(at, friction) * at, self.static_ratio * friction)

    @property
    def _has_ratio(self) -> bool:
        """Whether static friction differs from sliding friction; a traced ratio may."""
        return type(self.static_ratio) is not float or self.static_ratio != 1.0

    def _drag(self, speed: Any, friction: Any) -> Any:
        """μ(speed) / speed: the secant slope of friction for a unit normal force."""
        mu_s = self.static_ratio * friction
        s = np.minimum(speed / self.stick_speed, 1.0)
        mu = s * (1.5 * mu_s - 0.5 * mu_s * (s * s))
        if self._has_ratio:
            slide = (speed - self.stick_speed) / (self.slip_speed - self.stick_speed)
            mu = mu + (friction - mu_s) * smoothstep(slide)
        return mu / speed

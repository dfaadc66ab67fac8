"""Compliant contact with stick-slip friction: eqs. (34)-(38) of de Paula et al. 2024.

    f_n = max(0, K d^e + c(d) s),   c(d) = c_max smoothstep(d / w),   f_t = -μ(|u|) f_n u / |u|

d is the depth, s the closing speed, u the slip of the contact point; μ rises smoothly from 0 to μ_s over v_s, and on to
μ_d over v_d. Errata: K |δ|^e (a negative base has no power), friction opposes slip, K is read in N/mm^e (in N/m^e the
robot would sink 62 mm), the friction region is round unless ``friction="per_axis"`` asks for the square of eq. (38).

The friction slope μ f_n / v_s is so steep that explicit steps need dt near 2e-7 s. The default is *linearly implicit*:

    (M + dt JᵀDJ) a = F + Jᵀ f - dt Jᵀ K_z v_n n,   D = k_t 1 + (k_n - k_t) n nᵀ,   k_n = c + dt K_z

with the secant slope k_t of friction and K_z = dK d^e/dd. The ground never pulls: a foot whose force would do so at the
end of the step is let go and the step is solved again, until all that hold push. Friction is measured by the normal
force at the start of the step. Where a foot comes out of a dent, spring and damper nearly cancel, and the dt J̇v that
velocities gain between steps can leave no force there although the foot carries load to the end: such a step is solved
again with the force found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.ground import checked_number
from footfall.contact.points import ContactPoint, Sphere
from footfall.dynamics.factor import factor, solve_factored
from footfall.errors import InputError, unknown
from footfall.numeric import smoothstep
from footfall.robot.description import Robot

FRICTION = ("isotropic", "per_axis")
_TINY_SPEED = 1e-8  # [m/s], so that the direction of no slip is not 0 / 0


@dataclass(frozen=True)
class ForceLaw:
    """A contact force that depends on depth and velocity: what a user's own law derives from.

    Override ``law``. ``implicit`` takes its slopes at the end of the step; ``round`` says that the two tangential
    slopes are always equal, which saves work.
    """

    implicit: bool = True
    round: bool = field(default=False, init=False)
    lets_go: bool = field(default=True, init=False)  # spheres that pull are let go and the step is solved again

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        """(force, slopes) at a contact point of velocity v_C, both in contact axes, normal last.

        The force [N] is that at the depth [m] reached after dt, and slopes [N s/m] say how it falls with each component
        of the velocity; explicit steps use the force alone. Both must be zero where the sphere does not touch.

        A law that has a further argument ``press`` is asked again for spheres that carry load without friction, with
        the normal force [N] that was found for them; it is zero where none is known.
        """
        raise NotImplementedError(f"{type(self).__name__} must define law(depth, v_C, friction, dt)")

    def start(self, spheres: Sequence[Sphere]) -> dict[str, ndarray]:
        """What the law remembers from step to step: nothing."""
        return {}

    def respond(
        self,
        robot: Robot,
        M: Float[ndarray, "nv nv"],
        force: Float[ndarray, "nv"],
        points: Sequence[ContactPoint],
        v: Float[ndarray, "nv"],
        dt: float,
        memory: dict[str, ndarray],
    ) -> tuple[Float[ndarray, "nv"], list[ndarray], dict[str, ndarray]]:
        """(accelerations, contact forces, memory): see ``contact.model``.

        ``memory``, if there: ``holds`` is 1 for spheres that count and 0 for those that the step has let go, ``press``
        what presses spheres for which the law did not know. It comes back with those let go whose force pulls and
        those pressed that would slide under load without friction; ``simulate.step`` solves again until it is the same.
        """
        ahead = dt if self.implicit else 0.0
        press = memory.get("press", np.zeros(len(points)))
        told = [{"press": load} for load in press] if self._is_told else [{} for _ in points]
        laws = [
            self.law(-point.distance, point.R_BC.T @ (point.J @ v), point.friction, ahead, **known)
            for point, known in zip(points, told)
        ]
        if not self.implicit or not points:
            pushes = [point.J.T @ (point.R_BC @ f) for point, (f, _) in zip(points, laws)]
            L, d = factor(robot, M)
            return solve_factored(robot, L, d, sum(pushes, start=force)), [f for f, _ in laws], memory
        holds = memory.get("holds", np.ones(len(points)))
        held = [(holds[k] * f, dt * holds[k] * slopes) for k, (f, slopes) in enumerate(laws)]
        for point, (f, slopes) in zip(points, held):
            M = M + _damping(point, slopes, self.round)
            force = force + point.J.T @ (point.R_BC @ f)
        L, d = factor(robot, M)
        a = solve_factored(robot, L, d, force)
        forces = [f - slopes * (point.R_BC.T @ (point.J @ a)) for point, (f, slopes) in zip(points, held)]
        if "holds" in memory:
            memory = {
                "holds": np.stack([np.where(f[2] < 0.0, 0.0, hold) for f, hold in zip(forces, holds)]),
                "press": self._presses(press, forces, laws),
            }
        return a, forces, memory

    @property
    def _is_told(self) -> bool:
        return "press" in signature(self.law).parameters

    def _presses(self, press: ndarray, forces: Sequence[ndarray], laws: Sequence[tuple[ndarray, ndarray]]) -> ndarray:
        """The normal forces found for spheres without friction; what is known already for the others."""
        if not self._is_told:
            return press
        loads = zip(press, forces, laws)
        return np.stack([np.where(slopes[0] > 0.0, known, np.maximum(f[2], 0.0)) for known, f, (_, slopes) in loads])


def _damping(point: ContactPoint, slopes: Float[ndarray, "3"], round: bool) -> Float[ndarray, "nv nv"]:
    """JᵀDJ with D = R_BC diag(slopes) R_BCᵀ, which is k_t 1 + (k_n - k_t) n nᵀ when the tangential slopes are equal."""
    J = point.J
    if not round:
        J_C = point.R_BC.T @ J
        return J_C.T @ (slopes[:, None] * J_C)
    n = point.R_BC[:, 2]
    D = slopes[0] * np.eye(3) + (slopes[2] - slopes[0]) * np.outer(n, n)
    return (D @ J).T @ J  # below the diagonal, where it is read, the simple columns of the base are on the right


@dataclass(frozen=True)
class Compliant(ForceLaw):
    """Hertz stiffness, ramped damping and stick-slip friction.

    Defaults: Table I of seed 000 with K read in N/mm^2.2 and c_max in N s/mm. Printed is 10 N/(m/s), which leaves a
    standing robot's feet ringing almost undamped; explicit steps stand nothing stiffer, see ``as_printed``.
    """

    stiffness: float = 1e4 * 1e3**2.2  # K [N/m^exponent]
    exponent: float = 2.2
    damping: float = 1e4  # c_max [N s/m]
    ramp: float = 1e-4  # w [m]
    stick_speed: float = 1e-4  # v_s [m/s]
    slip_speed: float = 2e-4  # v_d [m/s]
    static_ratio: float = 1.0  # μ_s / μ_d; the ground gives μ_d
    friction: str = "isotropic"

    def __post_init__(self) -> None:
        for key in ("stiffness", "damping", "ramp", "stick_speed", "slip_speed", "static_ratio"):
            what = f"{key.replace('_', ' ')} of compliant contact"
            object.__setattr__(self, key, checked_number(getattr(self, key), what, 0.0, above=key != "damping"))
        object.__setattr__(self, "exponent", checked_number(self.exponent, "exponent of compliant contact", 1.0, 4.0))
        if self.slip_speed <= self.stick_speed:
            raise InputError(
                f"slip speed of compliant contact must exceed its stick speed {self.stick_speed}, got {self.slip_speed}"
            )
        if self.friction not in FRICTION:
            raise unknown("friction", self.friction, FRICTION)
        object.__setattr__(self, "round", self.friction == "isotropic")

    @staticmethod
    def as_printed(**others: Any) -> Compliant:
        """With c_max as Table I prints it, 10 N s/m, and explicit."""
        return Compliant(**{"damping": 10.0, "implicit": False, **others})

    @staticmethod
    def per_millimetre(stiffness: float = 1e4, exponent: float = 2.2, **others: float) -> Compliant:
        """With the stiffness in N/mm^exponent, the unit that makes sense of the paper's number."""
        return Compliant(stiffness=stiffness * 1e3**exponent, exponent=exponent, **others)  # type: ignore[arg-type]

    def law(
        self, depth: float, v_C: Float[ndarray, "3"], friction: float, dt: float, press: float = 0.0
    ) -> tuple[Float[ndarray, "3"], Float[ndarray, "3"]]:
        depth = np.maximum(depth, 0.0)
        hard = self.stiffness * depth ** (self.exponent - 1.0)
        elastic = hard * depth
        hardening = dt * self.exponent * hard  # dt K_z
        ramped = np.minimum(depth / self.ramp, 1.0)
        c = ramped * ramped * (3.0 * self.damping - 2.0 * self.damping * ramped)
        normal = elastic - (c + hardening) * v_C[2]  # if the foot went on like this; nothing where it does not touch
        if not self.implicit:
            normal = np.maximum(normal, 0.0)  # implicit: whether it pulls is known when the step is solved
        now = np.maximum(elastic - c * v_C[2], press)  # presses the sliding foot
        if self.friction == "isotropic":
            speed = np.sqrt(v_C[0] * v_C[0] + v_C[1] * v_C[1] + _TINY_SPEED**2)
            drag_x = drag_y = self._drag(speed, friction) * now
        else:
            drag_x, drag_y = (self._drag(np.sqrt(u * u + _TINY_SPEED**2), friction) * now for u in (v_C[0], v_C[1]))
        force = np.array([-drag_x * v_C[0], -drag_y * v_C[1], normal])
        return force, np.array([drag_x, drag_y, c + hardening])

    def _drag(self, speed: float, friction: float) -> float:
        """μ(speed) / speed: the secant slope of friction for a unit normal force."""
        mu_s = self.static_ratio * friction
        s = np.minimum(speed / self.stick_speed, 1.0)
        mu = s * (1.5 * mu_s - 0.5 * mu_s * (s * s))
        if type(self.static_ratio) is not float or self.static_ratio != 1.0:  # traced, or not one
            slide = (speed - self.stick_speed) / (self.slip_speed - self.stick_speed)
            mu = mu + (friction - mu_s) * smoothstep(slide)
        return mu / speed

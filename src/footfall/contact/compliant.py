"""Compliant contact with stick-slip friction: eqs. (34)-(38) of de Paula et al. 2024.

    f_n = max(0, K d^e + c(d) s),   c(d) = c_max smoothstep(d / w),   f_t = -μ(|u|) f_n u / |u|

d is the depth, s the closing speed, u the slip of the contact point. Errata: K |δ|^e (a negative base has no power),
friction opposes slip, the friction region is round unless ``friction="per_axis"`` selects the square of eq. (38). Table
I prints K in N/m, which can be read in three ways: see ``Compliant.as_printed``.

Explicit steps need dt near 2e-7 s. The default is *linearly implicit* (``force_law``): the normal force is taken at the
depth and speed at the end of the step, f_n⁺ = K d^e - (c + dt K_z) v_n⁺ with K_z = dK d^e/dd, and friction on the cone
of that force (``stick_slip``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from footfall.checks import checked_number
from footfall.contact.stick_slip import StickSlip
from footfall.hints import names_arguments
from nptrace._types import Scalar


@names_arguments("argument of Compliant", {"friction": "that of the ground: ff.contact.Plane(friction=0.6)"})
@dataclass(frozen=True, kw_only=True)
class Compliant(StickSlip):
    """Hertz stiffness, ramped damping and stick-slip friction.

    The defaults are a stiff ground, K 1e4 N/mm^2.2 and c_max 10 N s/mm, for linearly implicit steps: a standing
    quadruped's feet sink less than 0.1 mm. Table I of de Paula 2024 is ``as_printed``.
    """

    stiffness: float = 1e4 * 1e3**2.2  # K [N/m^exponent]
    exponent: float = 2.2
    damping: float = 1e4  # c_max [N s/m]
    ramp: float = 1e-4  # w [m]

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("stiffness", "damping", "ramp"):
            what = f"{key} of compliant contact"
            object.__setattr__(self, key, checked_number(getattr(self, key), what, 0.0, above=key != "damping"))
        object.__setattr__(self, "exponent", checked_number(self.exponent, "exponent of compliant contact", 1.0, 4.0))

    @staticmethod
    def as_printed(**others: Any) -> Compliant:
        """Return the ground of Table I of de Paula 2024, for explicit steps.

        K = 1e4 N/m is read as 10 N/mm with the penetration in millimetres, f = K d0 (d / d0)^2.2 with d0 = 1 mm, or 10
        N/mm^2.2: that keeps the printed unit. A standing Mini Cheetah's feet sink 1.4 mm. In N/m^2.2 it would sink 60
        mm; in N/mm^2.2, 1 000 times stiffer, no explicit scheme is stable at the paper's 1e-4 s. c_max is 10 N s/m.
        """
        return Compliant(**{"stiffness": 10.0 * 1e3**2.2, "damping": 10.0, "implicit": False, **others})

    @staticmethod
    def per_millimetre(stiffness: float = 1e4, exponent: float = 2.2, **others: float) -> Compliant:
        """Return the model with its stiffness given in N/mm^exponent."""
        return Compliant(stiffness=stiffness * 1e3**exponent, exponent=exponent, **others)  # type: ignore[arg-type]

    def normal(self, depth: float, dt: float) -> tuple[Scalar, Scalar]:
        """Return (K d^e, c + dt K_z)."""
        hard = self.stiffness * depth ** (self.exponent - 1.0)
        # 0**0 is 1: a linear spring is stiff from a depth of zero
        if not (type(self.exponent) is float and self.exponent > 1.0):
            hard = np.where(depth > 0.0, hard, 0.0)
        ramped = np.minimum(depth / self.ramp, 1.0)
        c = ramped * ramped * (3.0 * self.damping - 2.0 * self.damping * ramped)
        return hard * depth, c + dt * self.exponent * hard

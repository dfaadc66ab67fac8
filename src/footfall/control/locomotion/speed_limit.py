"""How fast a command may ask a robot to walk: by what its legs reach and how long its gait stands.

Measured under ``whole_body``, 8 s or more on the plane. Trots are limited to 1.40 m/s on Mini Cheetah (1.25 holds, 1.3
and 1.5 fall), 0.74 of DynaKat (0.85 holds, 1.0 falls), 1.48 of Go2 and 1.28 of ``spined`` (2.0 holds on both); a
walk to 0.60 of Mini Cheetah (0.5 holds, 0.66 falls), 0.31 of DynaKat (0.3 holds, 0.35 falls), 0.63 of Go2 and 0.55 of
``spined`` (1.0 holds on both). So it lies between what weak robots hold and what strong ones do.
"""

from __future__ import annotations

from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import hip_height
from footfall.nests import Scalar
from footfall.robot.model.description import Robot

REACHED = 0.75  # of what a leg reaches to either side of its hip, by a stance
UNKNOWN = 1.5  # [m/s] of legs whose reach nobody knows


def longest_step(robot: Robot, stand: Float[ndarray, "nj"]) -> float:
    """How far ahead of its hip the shortest-reaching leg puts its foot on the ground [m]; 0 where none says."""
    try:
        legs = [leg_geometry(robot, foot.name, nearly=True) for foot in robot.feet[:4]]
    except InputError:
        return 0.0
    squares = [
        (leg.stretch + (leg.foot.length if leg.foot else 0.0)) ** 2
        - (hip_height(leg, [float(stand[j]) for j in leg.joints]) - leg.radius) ** 2
        for leg in legs
    ]
    return max(0.0, min(squares)) ** 0.5


def fastest(step: float, duty: Scalar, period: Scalar) -> Scalar:
    """The forward speed at which a stance goes over as much as a leg reaches [m/s]: the shorter, the faster."""
    return 2.0 * REACHED * step / (duty * period) if step > 0.0 else UNKNOWN + 0.0 * duty


__all__ = ["REACHED", "UNKNOWN", "fastest", "longest_step"]

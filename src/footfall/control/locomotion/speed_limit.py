"""The largest walking speed that may be commanded: from the reach of legs, the stance of a gait and the speed of
swings.

Measured under ``whole_body`` for 8 s or more on the plane, from a step command. Trots keep 1.20 m/s on Mini Cheetah
(1.26 falls), 2.0 on Go2, 1.2 on ANYmal C (1.4 falls: its motors turn no faster), 2.05 on HyQ (2.17 falls), 0.70 on Solo
12 (0.74 falls: its file states 1000 N m, and a nearly straight leg catapults it), 0.85 on DynaKat, 2.0 on
``spined``; a walk 0.5 on Mini Cheetah (0.6 falls), 0.3 on DynaKat (0.35 falls). The limits lie below these: strong
robots do more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.errors import InputError
from footfall.kinematics.leg_geometry import Leg, leg_geometry
from footfall.kinematics.leg_inverse import hip_height
from footfall.robot.model.description import Robot
from nptrace._types import Scalar
from nptrace.array_types import Float

UNKNOWN_REACH_SPEED = 1.5  # [m/s] for legs of unknown reach
# fraction of the reach of a leg to either side of its hip that a stance uses; for short stances of gallops
REACH_FRACTION, MAX_REACH_FRACTION = 0.6, 0.75
# fraction of that for a file without sensible torques: nothing limits a leg that is nearly straight
NO_TORQUE_LIMIT_FRACTION = 0.7
MAX_TORQUE_PER_MASS = 20.0  # torque limits beyond this, times the mass, are ignored [N m/kg]
SWING_PEAK_RATIO = 1.875  # peak over mean speed of a minimum-jerk swing
SWING_HEIGHT = 0.8  # fraction of the hip's height at which a foot swings past it
MOTOR_SPEED_MARGIN = 1.2  # peak speed of a swing over a motor's top speed: the lag is made up later


@dataclass(frozen=True)
class LegLimits:
    """Reach and swing speed of a robot's legs, for the worst of them; 0 and infinity if the model does not define
    them.
    """

    step: float  # how far ahead of its hip a leg can place its foot on the ground [m]
    swing: float  # largest speed of a foot swinging past its hip [m/s]
    strong: bool  # whether motors have sensible torque limits
    hip: str = ""  # the joint that limits the swing, and its speed limit, as text

    @staticmethod
    def of(robot: Robot, stand: Float[ndarray, "nj"]) -> LegLimits:
        try:
            legs = [leg_geometry(robot, foot.name, nearly=True) for foot in robot.feet[:4]]
        except InputError:
            return LegLimits(0.0, math.inf, True)
        motors = {actuator.joint: actuator for actuator in robot.actuators}
        squares, swings, strong, slowest = [], [], True, ""
        for leg in legs:
            height = hip_height(leg, [float(stand[j]) for j in leg.joints])
            squares.append((leg.stretch + (leg.foot.length if leg.foot else 0.0)) ** 2 - (height - leg.radius) ** 2)
            motor = motors.get(robot.joint_names[_hip(leg)])
            swings.append(math.inf if motor is None else SWING_HEIGHT * height * motor.speed_limit)
            if motor is not None and swings[-1] < min(swings[:-1], default=math.inf):
                slowest = f"'{motor.joint}' turns at {motor.speed_limit:.3g} rad/s at most"
            strong = strong and motor is not None and motor.torque_limit < MAX_TORQUE_PER_MASS * robot.mass
        return LegLimits(max(0.0, min(squares)) ** 0.5, min(swings, default=math.inf), strong, slowest)

    def fastest(self, duty: Scalar, period: Scalar) -> Scalar:
        """Return the forward speed at which a stance uses the whole reach of a leg [m/s]; shorter stances permit more.

        Lower where a swing would exceed the speed of the hip motors.
        """
        if self.step <= 0.0:
            return UNKNOWN_REACH_SPEED + 0.0 * duty
        stepping, swinging = self._speeds(duty, period)
        return stepping if math.isinf(self.swing) else np.minimum(stepping, swinging)

    def reason(self, duty: float, period: float) -> str:
        """Return what limits ``fastest``, as text."""
        if self.step <= 0.0:
            return "how far its legs reach is not known"
        stepping, swinging = self._speeds(duty, period)
        return self.hip if swinging < stepping else f"its legs reach {self.step:.3g} m ahead of their hips"

    def _speeds(self, duty: Scalar, period: Scalar) -> tuple[Scalar, Scalar]:
        """Return the speeds limited by the reach of a stance, and by the speed of a swing."""
        # the longer feet stand, the more the body sways and gains on them meanwhile
        reached = np.clip(REACH_FRACTION + 3.0 * (0.6 - duty), REACH_FRACTION, MAX_REACH_FRACTION) * (
            1.0 if self.strong else NO_TORQUE_LIMIT_FRACTION
        )
        stepping = 2.0 * reached * self.step / (duty * period)
        # speed of a swing foot, in units of the robot's
        past_the_hip = SWING_PEAK_RATIO / np.maximum(1.0 - duty, 0.05) - 1.0
        return stepping, MOTOR_SPEED_MARGIN * self.swing / past_the_hip


def _hip(leg: Leg) -> int:
    """Return the joint that swings a leg fore and aft."""
    return leg.joints[leg.kind.index("P")]


__all__ = ["UNKNOWN_REACH_SPEED", "LegLimits"]

"""The load of every motor over a run, beside its ratings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from footfall.errors import InputError
from footfall.recording.recording import Recording


@dataclass(frozen=True, kw_only=True)
class MotorLoad:
    """The load of one motor over a run, at its joint: torques [N m] and speeds [rad/s] beside its ratings."""

    joint: str
    rms: float
    peak: float
    top_speed: float
    continuous_torque: float
    torque_limit: float
    speed_limit: float

    @property
    def overheats(self) -> bool:
        """Return whether the motor would overheat in continuous operation."""
        return self.rms > self.continuous_torque


def motor_loads(recording: Recording) -> tuple[MotorLoad, ...]:
    """Return torque, speed and power of every motor over a recording, beside its ratings.

    Gears and belt ratios are included in the ratings at the joint. Behind elastic belts (``ff.sim.Belt``), torques and
    speeds are those of the rotors.

    Args:
        recording: The recording.

    Returns:
        One load per actuator.
    """
    robot = recording.robot
    if not len(recording):
        raise InputError("the recording has no rows, so there is no load to report")
    torque, rates = recording["torque"], recording.motor_velocity
    place = {name: k for k, name in enumerate(robot.joint_names)}
    loads = []
    for actuator in robot.actuators:
        k = place[actuator.joint]
        rms, peak = float(np.sqrt(np.mean(torque[:, k] ** 2))), float(np.abs(torque[:, k]).max())
        loads.append(
            MotorLoad(
                joint=actuator.joint,
                rms=rms,
                peak=peak,
                top_speed=float(np.abs(rates[:, k]).max()),
                continuous_torque=actuator.continuous_torque,
                torque_limit=actuator.torque_limit,
                speed_limit=actuator.speed_limit,
            )
        )
    return tuple(loads)

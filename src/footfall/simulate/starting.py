"""How a simulation begins when little is said: who holds the robot, and in which state."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.control.interface import Controller, as_controller
from footfall.control.joint.joint_pd import Hold
from footfall.control.stand_gains import stand_gains
from footfall.errors import InputError
from footfall.gravity import Gravity
from footfall.hardware.emergency_stop import EmergencyStop, EmergencyStopWrapper
from footfall.hardware.sensors import Sensors, SensorWrapper
from footfall.nests import Given
from footfall.robot.model.description import Robot


def standing_controller(robot: Robot, dt: float, gravity: Gravity) -> Controller:
    """Hold the stand, at about 1 kHz in whole steps."""
    pose = "stand" if "stand" in robot.poses else np.zeros(robot.nj)
    return Hold(pose, *stand_gains(robot, gravity), rate=1.0 / (dt * max(1, round(1e-3 / dt))))


def start_state(robot: Robot, start: Given) -> tuple[ndarray, ndarray]:
    """(q, v) of a pose's name, joint positions, or (q, v) itself; the stand, or zero joints, unless given."""
    if isinstance(start, tuple) and len(start) == 2:
        try:
            q, v = (np.asarray(x, dtype=float) for x in start)
        except (TypeError, ValueError, OverflowError):
            raise InputError("the start must be a pose's name, joint positions, or (q, v) of numbers") from None
    else:
        q, v = robot.state("stand" if start is None and "stand" in robot.poses else start)
    for name, array, size in (("q", q, robot.nq), ("v", v, robot.nv)):
        if array.shape != (size,):
            raise InputError(f"{name} of robot '{robot.name}' must have shape ({size},), got {array.shape}")
        if not np.isfinite(array).all():
            raise InputError(f"the start has a value of {name} that is not finite")
    if robot.floating:
        length = np.sqrt(q[3:7] @ q[3:7])
        if abs(length - 1.0) > 1e-6:
            raise InputError(f"the quaternion of the start has length {length:.6g}, not 1")
        q = np.concatenate([q[:3], q[3:7] / length, q[7:]])
    return q, v


def behind(
    controller: Controller, sensors: Sensors | None, stop: EmergencyStop | None, gravity: tuple[float, float, float]
) -> Controller:
    """A controller that sees through sensors and acts through an emergency stop, where there are any."""
    if sensors is not None:
        controller = SensorWrapper(controller, sensors, gravity)
    elif as_controller(controller).needs_sensors:
        raise InputError("an estimator needs sensors: Simulation(..., sensors=Sensors.realistic())")
    return controller if stop is None else EmergencyStopWrapper(controller, stop)

"""Preflight checks before controlling a robot: each has a name, whether it holds, and a description."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from footfall.control.interface import Command, Controller
from footfall.control.posture import standing_state
from footfall.errors import FootfallError
from footfall.hardware.connection import Connection, RobotState, is_newer
from footfall.hardware.limits import SafetyLimits, is_finite
from footfall.spatial.gravity import STANDARD
from footfall.spatial.quaternion import to_rotation

SECONDS = 0.4  # [s] of states that are checked
SINKS = 4.0  # [s], longest wait for a robot to come to rest
_AT_REST = 1.0  # [rad/s], limit for any joint
_DRY_TICKS = 30


@dataclass(frozen=True)
class Check:
    name: str
    holds: bool
    words: str


def preflight(connection: Connection, controller: Controller, limits: SafetyLimits) -> list[Check]:
    """Observe the robot for a moment, without sending it anything, and run the controller dry."""
    _until_at_rest(connection)
    states, came = list[RobotState](), 0
    ticks = max(2, round(SECONDS / connection.clock.period))
    for _ in range(ticks):
        state = connection.read()
        came += state is not None
        states += [state] if state is not None and is_newer(state, states[-1] if states else None) else []
        connection.clock.wait()
    share = len(states) / ticks
    words = f"{len(states)} in {ticks} ticks"
    words += f"; {came - len(states)} more were no newer than the one before" if came > len(states) else ""
    checks = [Check("states", share > 0.5, words)]
    if not states:
        return checks
    return [*checks, *_of_state(states, limits), _of_controller(connection, controller, states[-1])]


def _until_at_rest(connection: Connection) -> None:
    """Wait for the robot to come to rest: without its own controller, it sinks down first."""
    still, waited = 0.0, 0.0
    while still < 0.2 and waited < SINKS:
        state = connection.read()
        if state is not None:
            still = 0.0 if not state.finite or np.abs(state.velocity).max() > _AT_REST else still
        passed = connection.clock.period * connection.clock.wait()
        still, waited = still + passed, waited + passed


def _of_state(states: list[RobotState], limits: SafetyLimits) -> list[Check]:
    last = states[-1]
    wrong = next((words for state in states if (words := limits.wrong(state))), "")
    checks = [Check("posture", not wrong, wrong or "within the limits")]
    if not last.finite:
        return checks
    fastest = max(float(np.abs(state.velocity).max()) for state in states[len(states) // 2 :])
    checks.append(Check("at rest", fastest < _AT_REST, f"fastest joint {fastest:.2f} rad/s"))
    pull = np.mean([state.imu.acceleration for state in states], axis=0)
    size = float(np.linalg.norm(pull))
    up = to_rotation(last.attitude)[2]
    apart = np.degrees(np.arccos(np.clip(pull @ up / max(size, 1e-9), -1.0, 1.0)))
    fine = bool(0.8 < size / STANDARD < 1.2 and apart < 10.0)
    checks.append(Check("IMU", fine, f"{size:.2f} m/s², {apart:.1f} degrees from the vertical of its attitude"))
    return checks


def _of_controller(connection: Connection, controller: Controller, state: RobotState) -> Check:
    """Check that the controller accepts the robot, returns finite numbers standing, and is fast enough in processor
    time.
    """
    robot = connection.robot
    q, _ = standing_state(robot)
    seen = state.sensed()
    standing = replace(seen, q=np.concatenate([q[:3], state.attitude, q[7:]]), v=np.zeros(robot.nv))
    try:
        memory, took = controller.start(robot), []
        for k in range(_DRY_TICKS):
            began = time.thread_time()
            joint_command, memory = controller(k / controller.rate, robot, standing, Command(), memory)
            took.append(time.thread_time() - began)
            if not is_finite(joint_command.broadcast(robot.nj)):
                return Check("controller", False, "it returns numbers that are not finite")
    except FootfallError as error:
        return Check("controller", False, str(error))
    median = float(np.median(took))
    return Check(
        "controller", median < 0.8 / controller.rate, f"{1e3 * median:.2f} ms per tick at {controller.rate:g} Hz"
    )


__all__ = ["Check", "preflight"]

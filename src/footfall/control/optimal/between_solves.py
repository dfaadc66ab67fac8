"""The two compiled functions that ``nmpc`` calls at every tick: follow the command, and apply the last solve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.control.optimal.horizon import error
from footfall.control.optimal.knot import KnotModel
from footfall.dynamics.passive import joint_values
from footfall.gait.pattern import Gait
from footfall.identity import digest_of
from footfall.kinematics.forward import foot_positions
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Scalar
from nptrace.array_types import Float

_MAX_POSITION_ERROR, _MAX_YAW_ERROR = 0.08, 0.3  # limits of the desired pose [m, rad]
_MAX_COMMAND_RATE = (1.0, 0.8, 2.0)  # limits of the command's rate [m/s², m/s², rad/s²]
STANDING_COMMAND = 0.02  # [m/s, rad/s]: below this command, the robot stands
_COASTING_SPEED, _PUSHED_SPEED = 0.1, 0.3  # [m/s]: a faster robot continues to step; a standing one starts to step
# fraction of the joints' losses that motors compensate; dry friction reverses over this rate [rad/s]
_LOSS_COMPENSATION, _DRY_FRICTION_RATE = 0.8, 0.05


@dataclass(frozen=True, eq=False)
class TickConstants:
    """The constants of both functions."""

    model: KnotModel
    gait: Gait
    rate: float  # [Hz]

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


def lowest_points(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "4 3"]:
    """Return the lowest points of the feet, world axes [m]."""
    radii = np.array([foot.radius for foot in robot.feet])
    return foot_positions(robot, q) - radii[:, None] * np.array([0.0, 0.0, 1.0])


def follow(
    ticks: TickConstants,
    q: ndarray,
    v: ndarray,
    velocity_command: Float[ndarray, "3"],
    velocity: Float[ndarray, "3"],
    pose_des: Float[ndarray, "3"],
    was_walking: Scalar,
    phase: Scalar,
    v_mean: Float[ndarray, "2"],
    lift_off: Float[ndarray, "4 3"],
    last_down: Float[ndarray, "4 3"],
) -> tuple[ndarray, ...]:
    """Return (velocity, desired pose, whether it walks, phase, mean velocity, lift-off and touchdown positions,
    present feet).
    """
    dt, gait = 1.0 / ticks.rate, ticks.gait
    R = to_rotation(q[3:7])
    yaw = np.arctan2(R[1, 0], R[0, 0])
    max_change = dt * np.array(_MAX_COMMAND_RATE)
    velocity = velocity + np.clip(velocity_command - velocity, -max_change, max_change)
    c, s = np.cos(pose_des[2]), np.sin(pose_des[2])
    target = pose_des + dt * np.array(
        [c * velocity[0] - s * velocity[1], s * velocity[0] + c * velocity[1], velocity[2]]
    )
    yaw_error = (target[2] - yaw + np.pi) % (2.0 * np.pi) - np.pi
    position = q[:2] + np.clip(target[:2] - q[:2], -_MAX_POSITION_ERROR, _MAX_POSITION_ERROR)
    pose_des = np.array([position[0], position[1], yaw + np.clip(yaw_error, -_MAX_YAW_ERROR, _MAX_YAW_ERROR)])
    commanded_speed = np.maximum(np.max(np.abs(velocity_command)), np.max(np.abs(velocity)))
    sliding_speed = np.max(np.abs(v[3:5]))
    coasting = np.maximum(
        was_walking * np.where(sliding_speed > _COASTING_SPEED, 1.0, 0.0),
        np.where(sliding_speed > _PUSHED_SPEED, 1.0, 0.0),
    )
    is_walking = np.maximum(np.where(commanded_speed > STANDING_COMMAND, 1.0, 0.0), coasting)
    phase = is_walking * was_walking * (phase + dt / gait.period)
    leg_phase = (phase - np.array(gait.delays)) % 1.0
    down = np.maximum(np.where(leg_phase < gait.duty, 1.0, 0.0), 1.0 - is_walking)
    feet = lowest_points(ticks.model.robot, q)
    in_stance = down[:, None] > 0.5
    v_mean = v_mean + dt / (0.5 * gait.period) * ((R @ v[3:6])[:2] - v_mean)
    return (
        velocity,
        pose_des,
        is_walking,
        phase,
        v_mean,
        np.where(in_stance, feet, lift_off),
        np.where(in_stance, feet, last_down),
        feet,
    )


def act(
    ticks: TickConstants,
    x: Float[ndarray, "nx"],
    first: Float[ndarray, "nx"],
    second: Float[ndarray, "nx"],
    u: Float[ndarray, "nj"],
    gains: Float[ndarray, "nj n"],
    fraction: Scalar,
) -> Float[ndarray, "2 nj"]:
    """Return (torques, rates) a fraction of the way from the first planned state to the second, with the gains of a
    solve.
    """
    model, robot = ticks.model, ticks.model.robot
    deviation = error(model, first, x) - fraction * error(model, first, second)
    rates, moving = x[robot.nq + 6 :], slice(robot.nq + 6, None)
    drag = joint_values(robot, "dry_friction") / np.maximum(np.abs(rates), _DRY_FRICTION_RATE)
    losses = _LOSS_COMPENSATION * (joint_values(robot, "damping") + drag) * rates
    max_torque = np.array(model.limits)
    torque = np.clip(u + gains @ deviation + losses, -max_torque, max_torque)
    return np.stack([torque, first[moving] + fraction * (second[moving] - first[moving])])


def read_between(rows: Float[ndarray, "N *any"], knots_later: float) -> Float[ndarray, "N *any"]:
    """Return the rows of a trajectory a fraction of a knot later; the last row is kept."""
    whole = int(knots_later)
    at = np.minimum(np.arange(len(rows)) + whole, len(rows) - 1)
    now, then = rows[at], rows[np.minimum(at + 1, len(rows) - 1)]
    return now + (knots_later - whole) * (then - now)

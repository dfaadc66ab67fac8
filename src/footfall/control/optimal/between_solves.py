"""What ``nmpc`` does at every tick, as two functions that are compiled: follow the command, act by the last solve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
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

_LEASH, _YAW_LEASH = 0.08, 0.3  # of the wanted pose [m, rad]
_HASTE = (1.0, 0.8, 2.0)  # by which a command is followed [m/s², m/s², rad/s²]
STILL = 0.02  # [m/s, rad/s]: a command below it stands
_COASTING, _PUSHED = 0.1, 0.3  # [m/s]: a robot that is faster steps on; one that stands begins to step
_LOSSES, _REVERSAL = 0.8, 0.05  # part of joints' losses that motors add; dry friction reverses over this [rad/s]


@dataclass(frozen=True, eq=False)
class Ticks:
    """The constants of both."""

    model: KnotModel
    gait: Gait
    rate: float  # [Hz]

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


def lowest_points(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "4 3"]:
    """Of the feet, world axes [m]."""
    radii = np.array([foot.radius for foot in robot.feet])
    return foot_positions(robot, q) - radii[:, None] * np.array([0.0, 0.0, 1.0])


def follow(
    ticks: Ticks,
    q: ndarray,
    v: ndarray,
    asked: Float[ndarray, "3"],
    velocity: Float[ndarray, "3"],
    wanted: Float[ndarray, "3"],
    going: Scalar,
    phase: Scalar,
    mean: Float[ndarray, "2"],
    lift_off: Float[ndarray, "4 3"],
    last_down: Float[ndarray, "4 3"],
) -> tuple[ndarray, ...]:
    """(velocity, wanted pose, whether it goes, phase, mean velocity, where feet left, where they were last down, where
    they are): the command smoothed and integrated into a pose, and the gait's phase."""
    dt, gait = 1.0 / ticks.rate, ticks.gait
    R = to_rotation(q[3:7])
    yaw = np.arctan2(R[1, 0], R[0, 0])
    most = dt * np.array(_HASTE)
    velocity = velocity + np.clip(asked - velocity, -most, most)
    c, s = np.cos(wanted[2]), np.sin(wanted[2])
    to = wanted + dt * np.array([c * velocity[0] - s * velocity[1], s * velocity[0] + c * velocity[1], velocity[2]])
    turn = (to[2] - yaw + np.pi) % (2.0 * np.pi) - np.pi
    place = q[:2] + np.clip(to[:2] - q[:2], -_LEASH, _LEASH)
    wanted = np.array([place[0], place[1], yaw + np.clip(turn, -_YAW_LEASH, _YAW_LEASH)])
    told = np.maximum(np.max(np.abs(asked)), np.max(np.abs(velocity)))
    slides = np.max(np.abs(v[3:5]))
    coasts = np.maximum(going * np.where(slides > _COASTING, 1.0, 0.0), np.where(slides > _PUSHED, 1.0, 0.0))
    goes = np.maximum(np.where(told > STILL, 1.0, 0.0), coasts)
    phase = goes * going * (phase + dt / gait.period)
    part = (phase - np.array(gait.delays)) % 1.0
    down = np.maximum(np.where(part < gait.duty, 1.0, 0.0), 1.0 - goes)
    feet = lowest_points(ticks.model.robot, q)
    stand = down[:, None] > 0.5
    mean = mean + dt / (0.5 * gait.period) * ((R @ v[3:6])[:2] - mean)
    return (
        velocity,
        wanted,
        goes,
        phase,
        mean,
        np.where(stand, feet, lift_off),
        np.where(stand, feet, last_down),
        feet,
    )


def act(
    ticks: Ticks,
    x: Float[ndarray, "nx"],
    first: Float[ndarray, "nx"],
    second: Float[ndarray, "nx"],
    u: Float[ndarray, "nj"],
    gains: Float[ndarray, "nj n"],
    part: Scalar,
) -> Float[ndarray, "2 nj"]:
    """(torques, rates) in a part of the way from the first planned state to the second, by the gains of a solve."""
    model, robot = ticks.model, ticks.model.robot
    off = error(model, first, x) - part * error(model, first, second)
    rates, moving = x[robot.nq + 6 :], slice(robot.nq + 6, None)
    drag = joint_values(robot, "dry_friction") / np.maximum(np.abs(rates), _REVERSAL)
    losses = _LOSSES * (joint_values(robot, "damping") + drag) * rates
    most = np.array(model.limits)
    torque = np.clip(u + gains @ off + losses, -most, most)
    return np.stack([torque, first[moving] + part * (second[moving] - first[moving])])


def read_between(rows: Float[ndarray, "N *any"], part: float) -> Float[ndarray, "N *any"]:
    """Rows of a trajectory a part of a knot later; the last stays."""
    whole = int(part)
    at = np.minimum(np.arange(len(rows)) + whole, len(rows) - 1)
    now, then = rows[at], rows[np.minimum(at + 1, len(rows) - 1)]
    return now + (part - whole) * (then - now)

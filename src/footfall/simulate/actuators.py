"""From a joint command to the torque at the joint, and how steeply it falls with speed (for implicit steps).

Motor limits follow the published Mini Cheetah model: the torque is limited by the motor's own limit and by what is left
of the voltage after back-EMF. A motor at its own limit has no slope, one short of voltage that of its back-EMF.

Gears lose and have play, if asked for (``gear_loss``, ``backlash``). Teeth rub in proportion to the torque they pass
on: dry friction of ``gear_loss`` times the motor's torque. Backlash is a dead band on the position between motor and
joint: the motor stands where it is told to, the joint is free within half the band on either side of it, and the
motor's spring takes hold where the teeth meet. This leaves out the motor's own motion within the band (and the knocks
of its rotor), and so needs no further state; damping and feed-forward torque act in the band as they do outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import JointCommand
from footfall.dynamics.passive import joint_values
from footfall.errors import InputError
from footfall.robot.description import Robot
from footfall.robot.parts import Actuator


@dataclass(frozen=True)
class JointForces:
    """Torques at the joints [N m] and their slope -dτ/dq̇ over one step [N m s/rad]."""

    motor: Float[ndarray, "nj"]  # what the motors give
    passive: Float[ndarray, "nj"]  # springs, damping, dry friction, end stops
    motor_slope: Float[ndarray, "nj"]
    passive_slope: Float[ndarray, "nj"]
    spring: Float[ndarray, "nj"]  # the springs' part of ``passive``, whose work is potential energy
    spring_slope: Float[ndarray, "nj"]


@dataclass(frozen=True)
class JointModel:
    """Which joint effects a simulation includes."""

    motor_limits: bool = True
    damping: bool = True
    dry_friction: bool = True
    springs: bool = True
    end_stops: bool = True
    stop_stiffness: float = 500.0  # [N m/rad]
    stop_damping: float = 5.0  # [N m s/rad]
    stick_rate: float = 0.05  # [rad/s], over which dry friction reverses
    backlash: float = 0.0  # [rad], play between motor and joint, from end to end
    gear_loss: float = 0.0  # of the motor's torque, lost to friction between teeth

    def __post_init__(self) -> None:
        if isinstance(self.gear_loss, Real) and not float(self.gear_loss) < 1.0:
            raise InputError(f"gear loss of a joint model must be less than 1, got {self.gear_loss!r}")
        limits = {"stop_stiffness": 0.0, "stop_damping": 0.0, "stick_rate": 1e-6, "backlash": 0.0, "gear_loss": 0.0}
        for key, least in limits.items():
            value = getattr(self, key)
            if not isinstance(value, Real) or not (np.isfinite(float(value)) and float(value) >= least):
                raise InputError(f"{key.replace('_', ' ')} of a joint model must be at least {least:g}, got {value!r}")

    @staticmethod
    def ideal() -> JointModel:
        """Motors that give what is asked, and joints without effects of their own: as in seed 000."""
        return JointModel(False, False, False, False, False)


def joint_forces(
    robot: Robot,
    model: JointModel,
    q_J: Float[ndarray, "nj"],
    rates: Float[ndarray, "nj"],
    command: JointCommand,
    dt: float,
) -> JointForces:
    """Torques for positions at the *end* of a step of length dt (dt = 0: explicit), and their slope in speed.

    PD: τ = kp (q_d - q - dt q̇) + kd (q̇_d - q̇), slope kd + dt kp: implicit Euler to first order.
    """
    if not robot.nj:
        return JointForces(*(np.zeros(0) for _ in range(6)))
    error, stiffness = command.position - q_J - dt * rates, command.kp
    if not _is_zero(model.backlash):
        play = np.clip(error, -0.5 * model.backlash, 0.5 * model.backlash)
        error, stiffness = error - play, np.where(np.abs(error) > 0.5 * model.backlash, stiffness, 0.0)
    motor = stiffness * error + command.kd * (command.velocity - rates) + command.torque
    slope = command.kd + dt * stiffness
    if model.motor_limits:
        low, high = torque_limits(robot, rates)
        free = (motor > low) & (motor < high)
        motor = np.minimum(np.maximum(motor, low), high)
        slope = np.where(free, slope, _back_emf_slopes(robot, motor))
    spring = spring_slope = np.zeros(robot.nj)
    if model.springs and any(joint_values(robot, "stiffness")):
        k = joint_values(robot, "stiffness")
        spring, spring_slope = -k * (q_J + dt * rates - joint_values(robot, "rest")), dt * k
    passive, steep = spring, spring_slope
    if model.damping:
        b = joint_values(robot, "damping")
        passive, steep = passive - b * rates, steep + b
    if model.dry_friction or not _is_zero(model.gear_loss):
        friction = joint_values(robot, "dry_friction") if model.dry_friction else np.zeros(robot.nj)
        if not _is_zero(model.gear_loss):
            friction = friction + model.gear_loss * np.abs(motor)
        drag = friction / np.maximum(np.abs(rates), model.stick_rate)  # secant slope, bounded, as for sliding feet
        passive, steep = passive - drag * rates, steep + drag
    if model.end_stops:
        passive, steep = _with_end_stops(robot, model, q_J, rates, dt, passive, steep)
    return JointForces(motor, passive, slope * np.ones(robot.nj), steep, spring, spring_slope)


def _is_zero(value: Any) -> bool:
    """Whether an effect is left out; a traced value never is."""
    return type(value) in (int, float, np.float64) and value == 0.0  # a traced one passes for a float


def _with_end_stops(
    robot: Robot, model: JointModel, q_J: ndarray, rates: ndarray, dt: float, passive: ndarray, slope: ndarray
) -> tuple[ndarray, ndarray]:
    """A stiff spring and a damper beyond each limit that only push back."""
    lower, upper = joint_values(robot, "lower"), joint_values(robot, "upper")
    out_torque, out_slope = [], []
    for k in range(robot.nj):
        torque, steep = passive[k], slope[k]
        for limit, sign in ((lower[k], 1.0), (upper[k], -1.0)):
            if not np.isfinite(limit):
                continue
            depth = sign * (limit - q_J[k])
            gradient = model.stop_damping + dt * model.stop_stiffness
            push = model.stop_stiffness * depth - gradient * sign * rates[k]
            hit = (depth > 0) & (push > 0)
            torque, steep = torque + np.where(hit, sign * push, 0.0), steep + np.where(hit, gradient, 0.0)
        out_torque.append(torque)
        out_slope.append(steep)
    return np.stack(out_torque), np.stack(out_slope)


def _back_emf_slopes(robot: Robot, motor: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """How steeply the torque of a saturated motor falls with speed: not at all at its own limit."""
    by_joint = {actuator.joint: actuator for actuator in robot.actuators}
    slopes = []
    for k, name in enumerate(robot.joint_names):
        line = _speed_line(by_joint.get(name))
        slopes.append(np.where(np.abs(motor[k]) < by_joint[name].torque_limit, line[1], 0.0) if line else 0.0)
    return np.stack(slopes)


def _speed_line(actuator: Actuator | None) -> tuple[float, float] | None:
    """(stall torque, loss of it per rate [N m s/rad]) at the joint, from the motor's electrical data."""
    if actuator is None or not (actuator.voltage and actuator.torque_constant and actuator.resistance):
        return None
    kt, g = actuator.torque_constant, actuator.gear
    per_volt = 1.5 * kt / actuator.resistance * abs(g)
    return per_volt * actuator.voltage, per_volt * 2.0 * kt * abs(g)


def torque_limits(robot: Robot, rates: Float[ndarray, "nj"]) -> tuple[Float[ndarray, "nj"], Float[ndarray, "nj"]]:
    """(lowest, highest) torque of every motor at the given rates [N m]; joints without an actuator are not limited."""
    by_joint = {actuator.joint: actuator for actuator in robot.actuators}
    low, high = [], []
    for k, name in enumerate(robot.joint_names):
        actuator = by_joint.get(name)
        limit = np.inf if actuator is None else actuator.torque_limit
        least: Any = -limit
        most: Any = limit
        line = _speed_line(actuator)
        if line is not None:
            stall, drop = line
            most = np.maximum(np.minimum(limit, stall - drop * rates[k]), -limit)
            least = np.minimum(np.maximum(-limit, -stall - drop * rates[k]), limit)
        elif actuator and np.isfinite(actuator.speed_limit):  # a rectangle: no drive beyond the speed limit
            most = np.where(rates[k] < actuator.speed_limit, limit, 0.0)
            least = np.where(rates[k] > -actuator.speed_limit, -limit, 0.0)
        low.append(least)
        high.append(most)
    return np.stack(low), np.stack(high)

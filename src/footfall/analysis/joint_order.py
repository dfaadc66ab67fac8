"""Find which column of a recording is which joint, from the recorded angles of a robot suspended at rest.

There are two criteria. Limits: an angle outside a joint's limits is not that joint's. Weight: the PD torque minus
gravity and inertia according to the robot's model must be explained by friction, damping and rotors, a sign(q̇) + b q̇
+ c q̈; with a wrong order the weight of the legs acts in the wrong direction and the residual is larger. (An offset
could explain the weight, so none is allowed here.) Orders with equal residuals cannot be distinguished.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.analysis.hanging import Encoders
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from nptrace.array_types import Float, Int

_SLACK = 0.05  # [rad] by which a recording may exceed the limits of a model file
_WINDOW = 11  # rows of the cubic fit for the rates
ALIKE = 1.02  # times the smallest residual: below it, orders are not distinguished


@dataclass(frozen=True, eq=False)
class Order:
    """An order of the columns (``columns[j]`` is the column of joint j), and the torque left unexplained."""

    columns: Int[ndarray, "nj"]
    layout: str
    remainder: float  # rms [N m]


def joint_orders(robot: Robot, encoders: Encoders, kp: float, kd: float) -> list[Order]:
    """Return the orders within the limits, best first: legs in any order, joints leg by leg or individually.

    Among orders that cannot be distinguished, the one closest to the recording's comes first.
    """
    hung = robot.replace(floating=False, feet=())
    legs, size = robot.nf, robot.nj // max(robot.nf, 1)
    if encoders.measured.shape[1] != robot.nj or not legs or legs * size != robot.nj:
        raise InputError(
            f"finding the joint order needs identical legs: robot '{robot.name}' has {robot.nj} joints and"
            f" {legs} feet, the recording {encoders.measured.shape[1]} columns"
        )
    dynamics = compiling.compile(inverse_dynamics, hung, target="batch")
    base = np.arange(robot.nj).reshape(legs, size)
    found = []
    for places in permutations(range(legs)):
        for layout in ("leg by leg", "joint by joint"):
            grid = base if layout == "leg by leg" else np.arange(robot.nj).reshape(size, legs).T
            columns = grid[list(places)].reshape(-1)
            if _within(hung, encoders.of(columns)):
                found.append(Order(columns, layout, _remainder(dynamics, encoders.of(columns), kp, kd)))
    if not found:
        raise InputError(f"no order of its columns brings the recording within the limits of robot '{robot.name}'")
    least = min(order.remainder for order in found)
    return sorted(found, key=lambda order: least if order.remainder <= ALIKE * least else order.remainder)


def _within(robot: Robot, encoders: Encoders) -> bool:
    joints = {joint.name: joint for joint in robot.joints}
    low = np.array([joints[name].lower for name in robot.joint_names])
    high = np.array([joints[name].upper for name in robot.joint_names])
    q = encoders.measured
    return bool((q.min(axis=0) > low - _SLACK).all() and (q.max(axis=0) < high + _SLACK).all())


def _remainder(dynamics: object, encoders: Encoders, kp: float, kd: float) -> float:
    """Return the rms torque that neither the model nor losses explain [N m]."""
    from scipy.signal import savgol_filter

    T = encoders.period
    q, v, a = (savgol_filter(encoders.measured, _WINDOW, 3, deriv=k, delta=T, axis=0) for k in range(3))
    torque = kp * (encoders.wanted - q) - kd * v - np.asarray(dynamics(q, v, a))  # type: ignore[operator]
    inner = slice(_WINDOW, -_WINDOW)
    left: list[Float[ndarray, "n"]] = []
    for j in range(q.shape[1]):
        known = np.stack([np.sign(v[:, j]), v[:, j], a[:, j]], axis=1)[inner]
        x, *_ = np.linalg.lstsq(known, torque[inner, j], rcond=None)
        left.append(torque[inner, j] - known @ x)
    return float(np.sqrt(np.mean(np.square(left))))


def indistinguishable_orders(orders: list[Order]) -> list[Order]:
    """Return the orders that the recording cannot distinguish from the best, including the best."""
    least = min(order.remainder for order in orders)
    return [order for order in orders if order.remainder <= ALIKE * least]

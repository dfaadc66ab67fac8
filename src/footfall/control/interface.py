"""The seam between a controller and the simulation: what it is told, and what it returns.

A controller is called at its own ``rate`` with the time, the robot, what is sensed, the user's command and its own
memory, and returns a ``JointCommand`` and the memory for next time. Plain NumPy without hidden state is traced and
compiled with the physics; anything else (a QP solver, a network) runs in Python between compiled steps.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from numbers import Real
from typing import Any, Protocol, overload, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.errors import InputError
from footfall.gravity import GRAVITY, Gravity
from footfall.robot.description import Robot
from footfall.spatial.quaternion import to_rotation


@dataclass(frozen=True)
class JointCommand:
    """τ = kp (position - q) + kd (velocity - q̇) + torque, held until the next tick. One number, or one a joint.

    Gains rather than a bare torque, so that the integrator can take the feedback implicitly.
    """

    position: Float[ndarray, "nj"] | float = 0.0  # [rad]
    velocity: Float[ndarray, "nj"] | float = 0.0  # [rad/s]
    kp: Float[ndarray, "nj"] | float = 0.0  # [N m/rad]
    kd: Float[ndarray, "nj"] | float = 0.0  # [N m s/rad]
    torque: Float[ndarray, "nj"] | float = 0.0  # [N m]

    def spread(self, joints: int) -> JointCommand:
        """Every field as an array of one number a joint."""
        return JointCommand(
            *(_spread(getattr(self, key), joints, key) for key in ("position", "velocity", "kp", "kd", "torque"))
        )


def _spread(value: Any, joints: int, key: str) -> ndarray:
    if isinstance(value, (list, tuple)):
        value = np.array(value)  # traced values too
    elif hasattr(value, "__array__") and not isinstance(value, (ndarray, np.generic)):
        value = np.asarray(value)  # a tensor of a learning framework
    if isinstance(value, (str, bytes)) or getattr(value, "dtype", np.dtype(float)).kind not in "fiubO":
        shown = " ".join(repr(value).split())[:60]
        raise InputError(f"{key} of a JointCommand must be one real number or {joints} of them, got {shown}")
    if np.shape(value) == (joints,):
        return value
    if np.shape(value) != ():
        raise InputError(f"{key} of a JointCommand must be one number or {joints} of them, got shape {np.shape(value)}")
    return value * np.ones(joints)


@dataclass(frozen=True)
class Inertial:
    """What an IMU says, in its own axes: specific force [m/s²] (g upwards at rest) and angular velocity [rad/s]."""

    acceleration: Float[ndarray, "3"]
    gyro: Float[ndarray, "3"]


@dataclass(frozen=True)
class Sensed:
    """What a controller may look at: the state and the forces at the feet, true unless the simulation has sensors."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    forces: Float[ndarray, "nf 3"]  # on the feet, world axes [N]
    imu: Inertial | None = None  # with sensors only
    foot_force: Float[ndarray, "nf 3"] | None = None  # on the feet, base axes [N]: as felt, with sensors only
    gravity: Gravity = GRAVITY  # where the robot is, world axes [m/s²]: known, not measured

    @property
    def gyro(self) -> Float[ndarray, "3"]:
        """Angular velocity [rad/s]: the IMU's, or without one that of the base in its own axes."""
        if self.imu is not None:
            return self.imu.gyro
        return self.v[:3] if self._floating else np.zeros(3)

    @property
    def acceleration(self) -> Float[ndarray, "3"]:
        """Specific force [m/s²]: the IMU's, or without one what it would read if the base did not accelerate."""
        if self.imu is not None:
            return self.imu.acceleration
        up = np.zeros(3) - np.array(self.gravity)
        return to_rotation(self.q[3:7]).T @ up if self._floating else up

    @property
    def _floating(self) -> bool:
        return self.q.shape[0] == self.v.shape[0] + 1


@dataclass(frozen=True)
class Command:
    """What a user asks of a controller: velocities of the trunk in its heading's axes, its height and its posture."""

    forward: float = 0.0  # [m/s]
    sideways: float = 0.0  # [m/s], to the left
    turn: float = 0.0  # [rad/s], to the left
    height: float = 0.0  # [m] above the nominal height
    roll: float = 0.0  # [rad] of the trunk beyond what the ground asks for, right side down
    pitch: float = 0.0  # [rad], nose down


def check_command(command: Command) -> None:
    """Refuse a command with a value that is no finite number."""
    if not isinstance(command, Command):
        raise InputError(f"a command must be a Command(forward, sideways, turn, ...), got {type(command).__name__}")
    for f in fields(Command):
        value = getattr(command, f.name)
        if not isinstance(value, Real) or not np.isfinite(float(value)):
            raise InputError(f"{f.name} of a command must be a finite number, got {value!r}")


@runtime_checkable
class Controller(Protocol):
    """Anything with a rate [Hz], a first memory, and a call."""

    @property
    def rate(self) -> float: ...

    def start(self, robot: Robot) -> Any:
        """The memory before the first tick: any nest of arrays."""
        ...

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Any
    ) -> tuple[JointCommand, Any]: ...


def runs_in_python(controller: Any) -> bool:
    """Whether a controller runs between compiled steps: it has parts to compile and is not ``traceable`` as a whole."""
    return hasattr(controller, "prepare") and not getattr(controller, "traceable", False)


@dataclass(frozen=True)
class FunctionController:
    """A controller made of one function."""

    function: Callable[..., tuple[JointCommand, Any]]
    rate: float
    memory: Any = field(default_factory=dict)

    def start(self, robot: Robot) -> Any:
        return self.memory(robot) if callable(self.memory) else copy.deepcopy(self.memory)  # it may be changed in place

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Any
    ) -> tuple[JointCommand, Any]:
        return self.function(t, robot, sensed, command, memory)


def check_rate(rate: Any) -> None:
    """Refuse what is no rate of a controller [Hz]."""
    if not isinstance(rate, Real) or not np.isfinite(float(rate)) or rate <= 0:
        raise InputError(f"the rate of a controller must be positive, got {rate!r}")


@overload
def controller(rate: Callable[..., tuple[JointCommand, Any]]) -> FunctionController: ...
@overload
def controller(rate: float = 1000.0, memory: Any = None) -> Callable[[Callable[..., Any]], FunctionController]: ...
def controller(rate: Any = 1000.0, memory: Any = None) -> Any:
    """Make a controller of a function: ``@ff.controller(rate=1000)``, or ``@ff.controller`` at 1000 Hz.

    ``memory`` is the first memory, a nest of arrays, or a function of the robot that makes it.
    """
    if callable(rate):
        return FunctionController(rate, 1000.0)
    check_rate(rate)
    return lambda function: FunctionController(function, rate, {} if memory is None else memory)

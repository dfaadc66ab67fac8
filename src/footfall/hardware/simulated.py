"""A simulated robot behind the connection interface: it holds the last command and advances one period at a time.

It reports its sensor readings. Its true state is in ``sensed``, for the simulation of a robot's firmware.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, JointCommand, Sensed
from footfall.errors import InputError
from footfall.hardware.clock import Clock
from footfall.hardware.connection import RobotState, damping
from footfall.robot.model.description import Robot
from footfall.sensing.sensors import Sensors, SensorWrapper
from footfall.sim.joints import BRAKE, FOREVER, POWER
from footfall.sim.motors import MotorModel, stacked
from footfall.sim.rollouts import compile_physics
from footfall.sim.simulation import Simulation
from footfall.sim.tick import RunState, at_rest
from nptrace._types import Given, Json, PyTree
from nptrace.array_types import Float


@dataclass(frozen=True)
class _Given(Controller):
    """A placeholder for a controller: the command comes from outside, held at ``rate`` [Hz]."""

    rate: float

    def start(self, robot: Robot) -> dict[str, PyTree]:
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        return damping(robot, sensed.gravity), memory


class SimulatedRobot:
    """A simulated robot advanced tick by tick: ``write`` a command, ``advance``, ``read`` its state.

    Options are those of ``Simulation``: contact, ground, dt, start, ... ``clock`` paces a loop on the connection;
    by default, waiting advances the simulation as fast as possible. ``motors`` execute the commands; pass joint
    effects that were identified with them as ``joints``.
    """

    def __init__(
        self,
        robot: Robot,
        rate: float = 500.0,
        sensors: Sensors | None = None,
        clock: Clock | None = None,
        motors: MotorModel | None = None,
        **options: Any,
    ) -> None:
        given = _Given(rate)
        self.simulation = Simulation(robot, given, **options)
        model = self.simulation.model
        self.robot, self.gravity, self.period = self.simulation.robot, model.world.gravity, model.period
        self.motors = motors or MotorModel()
        self.motors.check_fits(self.robot)
        self._measured = SensorWrapper(given, sensors or Sensors(), self.gravity)
        self.command, self._push = damping(self.robot, self.gravity), np.zeros(6)
        self.body: RunState = _without_impulse(self.simulation.state)
        self._physics: Callable[..., RunState] = compile_physics(model, self.body, self.command, self._push)
        self.clock: Clock = clock if clock is not None else _Stepped(self)
        self.reset()

    def reset(self, start: Given = None) -> None:
        """Return to the start, or to a state (q, v), at rest with damped joints."""
        self.simulation.reset()
        begun = self.simulation.state if start is None else at_rest(self.simulation.model.world, *start)
        self.body = _without_impulse(begun)
        self.ticks, self.command = 0, damping(self.robot, self.gravity)
        late = self.motors.longest(1.0 / self.period)
        self._line = deque([stacked(self.command)] * (late + 1), late + 1)  # commands, newest first
        self._memory = self._measured.start(self.robot)
        self._fresh: RobotState | None = None
        self._look()

    @property
    def time(self) -> float:
        return self.ticks * self.period

    def advance(self, push: Float[ndarray, "6"] | None = None) -> None:
        """Advance by one period under the command that was written last."""
        self._line.appendleft(stacked(self.command))
        done = self.motors.act(list(self._line), 1.0 / self.period)
        body = self._physics(self.body, done, self._push if push is None else push)
        if np.isfinite(body.q).all() and np.isfinite(body.v).all():
            self.body = body
        else:  # a command that no robot survives: stop where it was, and damp
            self.body = at_rest(self.simulation.model.world, self.body.q, 0.0 * self.body.v)
            self.command = damping(self.robot, self.gravity)
        self.ticks += 1
        self._look()

    def _look(self) -> None:
        body, robot = self.body, self.robot
        self.sensed = Sensed(q=body.q, v=body.v, forces=body.forces[: robot.nf], gravity=self.gravity)
        seen, self._memory = self._measured.read(robot, self.sensed, self._memory)
        assert seen.imu is not None
        assert seen.foot_force is not None
        load = np.linalg.norm(seen.foot_force, axis=1)
        self.state = self._fresh = RobotState(
            time=self.time,
            position=seen.q[7:],
            velocity=seen.v[6:],
            torque=np.array(body.motor),
            attitude=seen.q[3:7],
            imu=seen.imu,
            foot_load=load,
        )

    @property
    def has_brakes(self) -> bool:
        """Return whether joints have brakes, as ``joints=JointModel(brake=...)`` gives them."""
        return BRAKE in self.body.contact

    @property
    def braked(self) -> Float[ndarray, "nj"]:
        """Return which brakes hold."""
        return self.body.contact[BRAKE] > 0.0 if self.has_brakes else np.zeros(self.robot.nj, dtype=bool)

    @property
    def powered(self) -> bool:
        """Return whether the motors have power."""
        return bool(self.body.contact.get(POWER, FOREVER) > 0.5 * self.simulation.dt)

    def set_brakes(self, closed: Sequence[bool] | bool) -> None:
        """Close brakes, or open them: an opened brake holds for its release time.

        Args:
            closed: Whether to close them, one for all joints or one each.
        """
        brake = self.simulation.model.world.joints.brake
        if brake is None:
            raise InputError(f"joints of '{self.robot.name}' have no brakes: pass joints=JointModel(brake=Brake(...))")
        self._remember(BRAKE, brake.after(self.body.contact[BRAKE], np.asarray(closed)))

    def set_power(self, on: bool) -> None:
        """Cut the power of the motors, so that brakes close, or restore it; brakes then stay closed until opened."""
        if POWER not in self.body.contact:
            raise InputError(
                f"'{self.robot.name}' cannot lose power: pass joints=JointModel(brake=Brake(...)), of torque 0 if it"
                " has no brakes"
            )
        self._remember(POWER, np.array(FOREVER if on else 0.0))

    def _remember(self, key: str, value: ndarray) -> None:
        self.body = replace(self.body, contact={**self.body.contact, key: value})

    def read(self) -> RobotState | None:
        state, self._fresh = self._fresh, None
        return state

    def write(self, command: JointCommand) -> None:
        self.command = command.broadcast(self.robot.nj)

    def close(self) -> None:
        pass


def _without_impulse(state: RunState) -> RunState:
    """Return the physical state, without the controller's memory and the sums of a recording."""
    return replace(state, memory=(), impulse=state.impulse[:0])


@dataclass
class _Stepped:
    """Simulated time: waiting for the next tick advances it."""

    robot: SimulatedRobot

    @property
    def period(self) -> float:
        return self.robot.period

    def now(self) -> float:
        return self.robot.time

    def wait(self) -> int:
        self.robot.advance()
        return 1

    def report(self) -> dict[str, Json]:
        return {}


__all__ = ["SimulatedRobot"]

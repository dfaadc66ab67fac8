"""A simulated robot with its firmware, without a network and in simulated time; and what a bad link does to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from third_party_models import walker

from footfall import compiling
from footfall.control.interface import JointCommand
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.posture import with_stand
from footfall.hardware.connection import RobotState
from footfall.hardware.glide import belly, lying_state
from footfall.hardware.simulated import SimulatedRobot
from footfall.robot import Robot
from footfall.sensing.estimation.estimated import Estimated
from footfall_go2.firmware import Firmware

RATE = 500.0


@cache
def go2() -> Robot:
    return with_stand(walker("go2"))


@cache
def simulated() -> SimulatedRobot:
    return SimulatedRobot(go2(), RATE, touching=belly(go2()))


@cache
def firmware() -> Firmware:
    return Firmware(go2(), RATE, compiling.compile)


@cache
def pilot() -> Estimated:
    """Locomotion on an estimate, compiled."""
    estimated = Estimated(Locomotion(rate=RATE))
    estimated.prepare(go2(), compiling.compile)
    return estimated


class Bench:
    """A connection: the robot lies, its motors are released. ``spoil`` is what the link does to commands and states."""

    def __init__(self, spoil: Callable[[list[Any], str, int], list[Any]] = lambda items, kind, tick: items) -> None:
        self.robot = go2()
        self.simulated = simulated()
        self.simulated.reset(lying_state(self.robot))
        self.firmware = firmware()
        self.firmware.reset()
        self.firmware.begin("released", self.simulated.sensed)
        self.spoil, self.clock, self.ticks = spoil, self, 0
        self._commands: list[tuple[float, JointCommand]] = []
        self._states: list[RobotState] = []
        self.sent: list[JointCommand] = []
        self.lowest, self.highest = np.inf, -np.inf

    def stand(self) -> Bench:
        """Already on its feet."""
        self.simulated.reset()
        return self

    # -- the clock: waiting makes the next tick come
    @property
    def period(self) -> float:
        return self.simulated.period

    def now(self) -> float:
        return self.simulated.time

    def wait(self) -> int:
        now = self.simulated.time
        for stamp, command in self.spoil(self._commands, "command", self.ticks):
            self.firmware.command(command, now, stamp)
        self._commands = []
        self.simulated.write(self.firmware.tick(now, self.simulated.sensed))
        self.simulated.advance()
        state = dataclasses.replace(self.simulated.state, foot_load=np.full(4, np.nan))
        self._states = self.spoil([state], "state", self.ticks)
        self.ticks += 1
        height = float(self.simulated.body.q[2])
        self.lowest, self.highest = min(self.lowest, height), max(self.highest, height)
        return 1

    def report(self) -> dict[str, Any]:
        return {}

    def read(self) -> RobotState | None:
        states, self._states = self._states, []
        return states[-1] if states else None

    def write(self, command: JointCommand) -> None:
        self._commands.append((self.simulated.time, command))
        self.sent.append(command)

    def close(self) -> None:
        pass


# -- what a link does --------------------------------------------------------------------------------------------------
def dropping(share: float, seed: int = 5) -> Any:
    rng = np.random.default_rng(seed)
    return lambda items, kind, tick: [item for item in items if rng.random() > share]


def delaying(ticks: int) -> Any:
    """Both ways."""
    kept: dict[str, list[tuple[int, Any]]] = {"command": [], "state": []}

    def spoil(items: list[Any], kind: str, tick: int) -> list[Any]:
        kept[kind] += [(tick + ticks, item) for item in items]
        ready = [item for due, item in kept[kind] if due <= tick]
        kept[kind] = [(due, item) for due, item in kept[kind] if due > tick]
        return ready

    return spoil


def reordering(seed: int = 6) -> Any:
    """Of commands: every now and then one is overtaken by the next three."""
    rng = np.random.default_rng(seed)
    late: list[tuple[int, Any]] = []

    def spoil(items: list[Any], kind: str, tick: int) -> list[Any]:
        if kind == "state":
            return items
        through = [item for due, item in late if due <= tick]
        late[:] = [(due, item) for due, item in late if due > tick]
        for item in items:
            if rng.random() < 0.2:
                late.append((tick + 3, item))
            else:
                through.append(item)
        return through

    return spoil

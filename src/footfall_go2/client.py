"""The client side of Go2's interface: a connection to a robot, and calls of its services."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from footfall.control.interface import JointCommand
from footfall.errors import SPOILED, FootfallError
from footfall.hardware.clock import LATE, Clock, RealTime
from footfall.hardware.connection import RobotState, Watchdog
from footfall.hardware.dds.domain import LOOPBACK, Participant
from footfall.robot.model.description import Robot
from footfall_go2.messages import (
    LowCmd,
    LowState,
    Request,
    RequestHeader,
    RequestIdentity,
    RequestLease,
    RequestPolicy,
    Response,
    SportModeState,
)
from footfall_go2.unitree import Wiring, blank_command

RATE = 500.0  # [Hz]
PATIENCE = 0.05  # [s] without messages, after which a robot's clock may have been set back
WRAP = 2**32 * 1e-3  # [s] after which the robot's 32-bit clock wraps around
_POLL = 0.005  # [s]
CHECK_MODE, SELECT_MODE, RELEASE_MODE, STAND_DOWN = 1001, 1002, 1003, 1005


class ConnectionLost(FootfallError):
    """Raised when a robot does not answer."""


class Service:
    """A client of one service, such as ``sport``: ``call(1008, {"x": 0.3, "y": 0, "z": 0})``."""

    def __init__(self, participant: Participant, name: str, timeout: float = 3.0) -> None:
        self.name, self.timeout = name, timeout
        self._requests = participant.writer(f"rt/api/{name}/request", Request)
        self._answers = participant.reader(f"rt/api/{name}/response", Response, depth=16)
        self._last = time.monotonic_ns()

    def call(self, number: int, parameter: object = None, reply: bool = True) -> tuple[int, str]:
        """Call the service and return (code, answer); with ``reply`` False, return (0, "") at once."""
        end = time.monotonic() + self.timeout
        while not (self._requests.heard and (self._answers.matched or not reply)):
            if time.monotonic() > end:
                raise ConnectionLost(f"the service '{self.name}' was not found within {self.timeout:g} s")
            time.sleep(_POLL)
        self._last += 1
        identity = RequestIdentity(self._last, number)
        header = RequestHeader(identity, RequestLease(0), RequestPolicy(0, not reply))
        self._requests.write(Request(header, json.dumps({} if parameter is None else parameter), []))
        while reply and time.monotonic() < end:
            for answer in self._answers.take():
                if answer.header.identity.id == self._last:
                    return answer.header.status.code, answer.data
            time.sleep(_POLL)
        if reply:
            raise ConnectionLost(f"the service '{self.name}' did not answer call {number} within {self.timeout:g} s")
        return 0, ""


class DdsConnection:
    """A connection to a robot by Go2's messages. ``foot_load``: its feet measure newtons, as simulated feet do."""

    def __init__(
        self,
        robot: Robot,
        domain: int = 0,
        interface: str = LOOPBACK,
        foot_load: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.wiring, self.robot, self.foot_load = Wiring(robot), robot, foot_load
        self.participant = Participant(domain, interface)
        self._states = self.participant.reader("rt/lowstate", LowState)
        self._sport_states = self.participant.reader("rt/sportmodestate", SportModeState)
        self._commands = self.participant.writer("rt/lowcmd", LowCmd)
        self._message = blank_command()
        self.clock: Clock = clock if clock is not None else RealTime(period=1.0 / RATE, patience=LATE)
        self.counts: Counter[str] = Counter()  # states by outcome
        self._newest, self._heard = -1, Watchdog(PATIENCE)
        self._tick, self._wraps = 0.0, 0  # the robot's clock: last reading [s], and number of wraparounds
        self.sport = Service(self.participant, "sport")
        self.switcher = Service(self.participant, "motion_switcher")

    @property
    def words(self) -> str:
        return self.participant.words

    def read(self) -> RobotState | None:
        newest, now = None, time.monotonic()
        for message in self._states.take():
            stamp = message.sample_info.source_timestamp
            if message.checksum() != message.get("crc")[0]:
                self.counts["bad checksum"] += 1
            elif stamp < self._newest and not self._heard.silent(now):
                self.counts["out of order"] += 1
            else:
                newest, self._newest = message, stamp
                self._heard.feed(now)
                self.counts["taken"] += 1
        if newest is None:
            return None
        state = self.wiring.state(newest, self.foot_load)
        self._wraps += state.time < self._tick - WRAP / 2
        self._tick = state.time
        return replace(state, time=state.time + self._wraps * WRAP)

    def place(self) -> tuple[list[float], list[float]] | None:
        """Return (position [m], velocity [m/s]) from the robot's sport mode; None without news since the last call."""
        for message in self._sport_states.take()[-1:]:
            return message.get("position"), message.get("velocity")
        return None

    def write(self, command: JointCommand) -> None:
        self.wiring.write(self._message, command)
        self._commands.write(self._message)

    def wait_for_state(self, timeout: float = 3.0) -> RobotState:
        """Wait for the first state and return it."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            state = self.read()
            if state is not None:
                return state
            time.sleep(_POLL)
        raise ConnectionLost(f"no state from a robot within {timeout:g} s on {self.words}")

    def release(self, timeout: float = 8.0, say: Callable[[str], None] = lambda text: None) -> None:
        """Make the sport mode lie down and release the motors."""
        end, told = time.monotonic() + timeout, ""
        while True:
            code, data = self.switcher.call(CHECK_MODE)
            name = _mode(data) if code == 0 else "?"
            if not name:
                return
            if time.monotonic() > end:
                raise ConnectionLost(f"the robot's mode '{name}' does not release the motors")
            if name != told:  # asked again until it has
                say(f"the robot's mode '{name}' lies down and releases the motors")
                told = name
            self.sport.call(STAND_DOWN)
            self.switcher.call(RELEASE_MODE)
            time.sleep(0.5)

    def close(self) -> None:
        self.participant.close()


def _mode(data: str) -> str:
    """Return the name of the mode that controls the motors, as the robot reports it; "?" for an invalid answer."""
    try:
        return str(json.loads(data or "{}").get("name", ""))
    except SPOILED:
        return "?"


__all__ = ["ConnectionLost", "DdsConnection", "Service"]

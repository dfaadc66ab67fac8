"""The client side of the generic protocol: a connection to a robot that describes itself."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable

from footfall.control.interface import JointCommand
from footfall.errors import SPOILED
from footfall.hardware.clock import LATE, Clock, RealTime
from footfall.hardware.connection import RobotState
from footfall.hardware.generic.links import LinkError, PacketLink
from footfall.hardware.generic.packet import BYE, COMMAND, DESCRIPTION, HELLO, STATE, Packet, layout_of, unpack
from footfall.hardware.structs import Structs
from footfall.robot.model.description import Robot

_HELLO_EVERY = 0.1  # [s] between hellos until the robot has described itself
_STAY = 0.5  # [s] between hellos of a client that only listens
_POLL = 0.002  # [s]


class GenericConnection:
    """A connection to a robot with the generic protocol."""

    def __init__(self, robot: Robot, link: PacketLink, rate: float = 500.0, clock: Clock | None = None) -> None:
        self.robot, self.link, self.structs = robot, link, Structs(robot)
        self.layout = layout_of(robot.joint_names, robot.foot_names)
        self.clock: Clock = clock if clock is not None else RealTime(period=1.0 / rate, patience=LATE)
        self.counts: Counter[str] = Counter()  # counts of states, by outcome
        self.flags = 0  # flags of the last state
        self._newest, self._sent, self._greeted = -1, 0, -1e9
        self._described = False

    @property
    def words(self) -> str:
        return self.link.words

    def read(self) -> RobotState | None:
        self._greet()
        found = None
        for data, _ in self.link.take():
            packet = unpack(data)
            if isinstance(packet, str):
                self.counts[packet] += 1
            elif packet.kind == DESCRIPTION:
                self._look_at(packet.payload)
            elif packet.kind != STATE:
                self.counts["other kind"] += 1
            elif packet.layout != self.layout or len(packet.payload) != self.structs.state_size:
                self.counts["other layout"] += 1
            else:
                sequence, state = self.structs.state(packet.payload)
                if sequence <= self._newest and self._newest - sequence < 1000:
                    self.counts["out of order"] += 1
                    continue
                self._newest, self.flags, found = sequence, packet.flags, state
                self.counts["taken"] += 1
        return found

    def write(self, command: JointCommand) -> None:
        self._sent += 1
        payload = self.structs.pack_command(command, self._sent)
        self.link.send(Packet(kind=COMMAND, layout=self.layout, payload=payload).pack())

    def wait_for_state(self, timeout: float = 3.0) -> RobotState:
        """Return the first state."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            state = self.read()
            if state is not None and self._described:
                return state
            time.sleep(_POLL)
        raise LinkError(f"no state from a robot within {timeout:g} s on {self.words}")

    def release(self, *, say: Callable[[str], None] = lambda text: None) -> None:
        """Return at once: the robot has no controller of its own."""

    def close(self) -> None:
        self.link.send(Packet(kind=BYE).pack())
        self.link.close()

    def _greet(self) -> None:
        """Say hello until the robot has answered, and from then on periodically, so that it keeps sending."""
        now = time.monotonic()
        if now - self._greeted > (_STAY if self._described else _HELLO_EVERY):
            self._greeted = now
            self.link.send(Packet(kind=HELLO).pack())

    def _look_at(self, payload: bytes) -> None:
        """Raise for a robot with different joints, naming it."""
        try:
            said = json.loads(payload)
            joints, feet = [joint["name"] for joint in said["joints"]], list(said["feet"])
            name = str(said["robot"])
        except (*SPOILED, KeyError, TypeError):
            self.counts["bad description"] += 1
            return
        if layout_of(joints, feet) != self.layout:
            mine = ", ".join(self.robot.joint_names)
            raise LinkError(
                f"the robot '{name}' has the joints {', '.join(map(str, joints))} and the feet"
                f" {', '.join(map(str, feet))}, not those of '{self.robot.name}': {mine}"
            )
        self._described = True


__all__ = ["GenericConnection"]

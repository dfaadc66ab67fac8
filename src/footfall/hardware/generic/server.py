"""A simulated robot behind the generic protocol. It enforces limits and a watchdog itself, for any client.

One client commands at a time: the first whose command is accepted, until it says bye or is silent for a second. Until
then the robot stands; when commands are missing, it damps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from footfall.contact.bodies import body_spheres
from footfall.control.interface import JointCommand
from footfall.control.stand_gains import stand_gains
from footfall.errors import FootfallError
from footfall.hardware.clock import RealTime
from footfall.hardware.connection import Watchdog, damping
from footfall.hardware.generic.links import PacketLink
from footfall.hardware.generic.packet import (
    BYE,
    CLIPPED,
    COMMAND,
    COMMANDED,
    DAMPED,
    DESCRIPTION,
    HELLO,
    STATE,
    UNPOWERED,
    Packet,
    description,
    layout_of,
    unpack,
)
from footfall.hardware.glide import lying_state
from footfall.hardware.simulated import SimulatedRobot
from footfall.hardware.structs import Structs
from footfall.robot.model.description import Robot
from footfall.sensing.sensors import Sensors
from footfall.sim.motors import MotorModel
from nptrace._types import Given, Json

RATE = 500.0  # rate of states [Hz]
WATCHDOG = 0.1  # [s] without a command after which the robot damps
OWNED = 1.0  # [s] for which a silent client still owns the robot
HEARD = 2.0  # [s] for which states are sent to a client after its last hello or command
_MOST_HEARERS = 8
_CATCH_UP = 0.1  # [s]


class GenericServer:
    """A simulated robot that clients reach through a link."""

    def __init__(
        self,
        robot: Robot,
        link: PacketLink,
        options: dict[str, Given] | None = None,
        sensors: Sensors | None = None,
        motors: MotorModel | None = None,
        clock: RealTime | None = None,
        start: str = "standing",
    ) -> None:
        self.link = link
        options = {"collisions": _lies_on(robot), **(options or {})}
        self.simulated = SimulatedRobot(robot, RATE, sensors, motors=motors, **options)
        self.robot = self.simulated.robot
        self.clock: RealTime | None = clock or RealTime(period=self.simulated.period, patience=_CATCH_UP)
        self.structs, self.layout = Structs(self.robot), layout_of(self.robot.joint_names, self.robot.foot_names)
        kp, kd = stand_gains(self.robot)
        stand = self.simulated.body.q[self.robot.nq - self.robot.nj :]
        self._description = description(self.robot, RATE, WATCHDOG, stand.tolist(), (kp, kd))
        self._standing = JointCommand(position=np.array(stand), kp=kp, kd=kd).broadcast(self.robot.nj)
        self._damping = damping(self.robot, self.simulated.gravity)
        joints = {joint.name: joint for joint in self.robot.joints}
        torques = {motor.joint: motor.torque_limit for motor in self.robot.actuators}
        self._lower = np.array([joints[name].lower for name in self.robot.joint_names])
        self._upper = np.array([joints[name].upper for name in self.robot.joint_names])
        self._torque = np.array([torques.get(name, np.inf) for name in self.robot.joint_names])
        self.counts: Counter[str] = Counter()  # counts of packets, by outcome
        self.watchdog = Watchdog(WATCHDOG)
        self.owner: Any = None
        self._last, self._heard, self._hearers = -1, -np.inf, dict[Any, float]()
        self._command, self._flags, self._sequence = self._standing, 0, 0
        if start == "lying":
            self.simulated.reset(lying_state(self.robot))
            self._command = self._damping

    @property
    def words(self) -> str:
        return self.link.words

    def run(self, until: Callable[[], bool]) -> None:
        """Serve until stopped."""
        assert self.clock is not None
        while not until():
            self.tick()
            self.clock.wait()

    def tick(self) -> None:
        """Process received packets, advance by one period, and send the sensor readings."""
        now, robot = self.simulated.time, self.simulated
        for data, sender in self.link.take():
            self.counts[self._take(data, sender, now)] += 1
        if self.owner is not None and now - self._heard > OWNED:
            self.owner = None
        starved = np.isfinite(self._heard) and self.watchdog.starved(now)
        robot.write(self._damping if starved else self._command)
        robot.advance()
        flags = self._flags | (COMMANDED if self.owner is not None else 0) | (DAMPED if starved else 0)
        flags |= 0 if robot.powered else UNPOWERED
        self._sequence += 1
        payload = self.structs.pack_state(robot.state, self._sequence)
        state = Packet(kind=STATE, layout=self.layout, flags=flags, payload=payload).pack()
        self._hearers = {who: last for who, last in self._hearers.items() if now - last <= HEARD}
        for who in self._hearers:
            self.link.send(state, who)

    def close(self) -> None:
        self.link.close()

    def report(self) -> dict[str, Json]:
        """Counts and times since the start."""
        assert self.clock is not None
        return {
            "simulated": self.simulated.time,
            "clock": self.clock.report(),
            "commands": dict(self.counts),
            "watchdog": self.watchdog.barked,
            "powered": self.simulated.powered,
            "braked": int(self.simulated.braked.sum()),
            "place": self.simulated.body.q[:3].tolist(),
        }

    # -- what comes in -------------------------------------------------------------------------------------------------
    def _take(self, data: bytes, sender: Any, now: float) -> str:
        """Process a packet; return its outcome in a word."""
        packet = unpack(data)
        if isinstance(packet, str):
            return packet
        if packet.kind == HELLO:
            if not self._hears(sender, now):
                return "too many clients"
            self.link.send(Packet(kind=DESCRIPTION, layout=self.layout, payload=self._description).pack(), sender)
            return "hello"
        if packet.kind == BYE:
            self._hearers.pop(sender, None)
            if sender == self.owner:
                self.owner, self._heard, self.watchdog.last = None, now, -np.inf
            return "bye"
        if packet.kind != COMMAND:
            return "other kind"
        return self._commanded(packet, sender, now)

    def _commanded(self, packet: Packet, sender: Any, now: float) -> str:
        if packet.layout != self.layout:
            return "other layout"
        if len(packet.payload) != self.structs.command_size:
            return "wrong length"
        if self.owner is not None and sender != self.owner:
            return "not its robot"
        sequence, command = self.structs.command(packet.payload)
        if sender == self.owner and sequence <= self._last:
            return "out of order"
        parts = (command.position, command.velocity, command.kp, command.kd, command.torque)
        if not all(np.isfinite(part).all() for part in parts):
            return "not finite"
        if (np.asarray(command.kp) < 0.0).any() or (np.asarray(command.kd) < 0.0).any():
            return "negative gains"
        self._hears(sender, now)
        self.owner, self._last, self._heard = sender, sequence, now
        self.watchdog.feed(now)
        position = np.clip(command.position, self._lower, self._upper)
        torque = np.clip(command.torque, -self._torque, self._torque)
        clipped = (position != command.position).any() or (torque != command.torque).any()
        self._flags = CLIPPED if clipped else 0
        self._command = JointCommand(
            position=position, velocity=command.velocity, kp=command.kp, kd=command.kd, torque=torque
        )
        return "clipped" if clipped else "taken"

    def _hears(self, sender: Any, now: float) -> bool:
        """Send states to a client from now on; return False if there are too many."""
        if sender not in self._hearers and len(self._hearers) >= _MOST_HEARERS:
            return False
        self._hearers[sender] = now
        return True


def _lies_on(robot: Robot) -> str | bool:
    """Return the contact spheres besides the feet: the trunk's, if it has a shape."""
    try:
        body_spheres(robot, "trunk")
    except FootfallError:
        return False
    return "trunk"


__all__ = ["HEARD", "OWNED", "RATE", "WATCHDOG", "GenericServer"]

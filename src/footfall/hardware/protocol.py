"""Protocols of robots: a package registers one as an entry point of the group ``footfall.protocols``.

    [project.entry-points."footfall.protocols"]
    go2 = "footfall_go2.protocol:Go2"

``footfall drive`` connects to a robot through one, ``footfall serve`` simulates a robot behind one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Protocol

from footfall.errors import FootfallError, unknown
from footfall.hardware.clock import RealTime
from footfall.hardware.connection import Connection, RobotState
from footfall.plugins import entry_points
from footfall.robot.model.description import Robot
from footfall.sensing.sensors import Sensors
from footfall.sim.motors import MotorModel
from nptrace._types import Given, Json

GROUP = "footfall.protocols"


class RobotConnection(Connection, Protocol):
    """A connection to a robot that may have a built-in controller, which must first release the motors."""

    @property
    def words(self) -> str:
        """Return a description of the robot's address."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """Return the numbers of received states, by what became of them."""
        ...

    def wait_for_state(self) -> RobotState: ...

    def release(self, *, say: Callable[[str], None]) -> None:
        """Make the robot's built-in controller release the motors."""
        ...


class RobotServer(Protocol):
    """A simulated robot that others can connect to."""

    robot: Robot
    clock: RealTime | None

    @property
    def words(self) -> str:
        """Return a description of the served address."""
        ...

    def run(self, until: Callable[[], bool]) -> None: ...

    def close(self) -> None: ...

    def report(self) -> dict[str, Json]: ...


class RobotProtocol(ABC):
    """The base class of protocols: how to connect to a robot, and how to serve a simulated one."""

    starts: Mapping[str, str]  # names of states in which a served robot may start

    @abstractmethod
    def check_installed(self) -> None:
        """Raise ``MissingExtraError`` if a package that the protocol needs is not installed."""

    @abstractmethod
    def check_robot(self, robot: Robot) -> None:
        """Raise ``InputError`` if the protocol has no messages for this robot."""

    @abstractmethod
    def connect(self, robot: Robot, domain: int, interface: str, foot_load: bool) -> RobotConnection:
        """Connect to a robot. ``foot_load``: its feet measure newtons."""

    @abstractmethod
    def serve(
        self, robot: Robot, domain: int, interface: str, start: str, ros2: bool, options: dict[str, Given],
        sensors: Sensors | None, motors: MotorModel | None,
    ) -> RobotServer:  # fmt: skip
        """Serve a simulated robot; ``options`` are those of ``Simulation``."""


GO2, GENERIC = "go2", "generic"


def protocol_of(robot: Robot, name: str | None = None) -> RobotProtocol:
    """Return a protocol by name; unless given, Go2's if it has messages for the robot, otherwise the generic one.

    Args:
        robot: The robot.
        name: Name of the protocol.

    Returns:
        The protocol, which is installed and has messages for the robot.
    """
    if name is None:
        try:
            protocol_named(GO2).check_robot(robot)
            name = GO2
        except FootfallError:
            name = GENERIC
    protocol = protocol_named(name)
    protocol.check_installed()
    protocol.check_robot(robot)
    return protocol


def protocol_named(name: str) -> RobotProtocol:
    """Return the protocol registered under a name, such as ``go2``.

    Args:
        name: Name of the entry point.

    Returns:
        The protocol.
    """
    known = entry_points(GROUP)
    if name not in known:
        raise unknown("protocol", name, known)
    made: RobotProtocol = known[name].load()()
    return made


__all__ = ["GROUP", "RobotConnection", "RobotProtocol", "RobotServer", "protocol_named", "protocol_of"]

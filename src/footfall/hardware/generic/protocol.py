"""The generic protocol for ``footfall drive`` and ``footfall serve``: over UDP, or over DDS."""

from __future__ import annotations

from types import MappingProxyType

from footfall.errors import InputError, need_extra
from footfall.hardware.generic.client import GenericConnection
from footfall.hardware.generic.links import DdsLink, PacketLink, UdpLink
from footfall.hardware.generic.server import GenericServer
from footfall.hardware.protocol import RobotProtocol
from footfall.robot.model.description import Robot
from footfall.sensing.sensors import Sensors
from footfall.sim.motors import MotorModel
from nptrace._types import Given


class Generic(RobotProtocol):
    """Packets over UDP, for any robot with joints."""

    starts = MappingProxyType({"standing": "standing", "lying": "lying"})
    link: type[PacketLink] = UdpLink

    def check_installed(self) -> None:
        pass

    def check_robot(self, robot: Robot) -> None:
        if not robot.nj:
            raise InputError(f"robot '{robot.name}' has no joints: there is nothing to control")

    def connect(self, robot: Robot, domain: int, interface: str, foot_load: bool) -> GenericConnection:
        return GenericConnection(robot, self.link(False, domain, interface))  # type: ignore[call-arg]

    def serve(
        self, robot: Robot, domain: int, interface: str, start: str, ros2: bool, options: dict[str, Given],
        sensors: Sensors | None, motors: MotorModel | None,
    ) -> GenericServer:  # fmt: skip
        self.check_robot(robot)
        if ros2:
            raise InputError("the generic protocol publishes no ROS 2 topics: --protocol go2 does")
        link = self.link(True, domain, interface)  # type: ignore[call-arg]
        return GenericServer(robot, link, options, sensors, motors, start=self.starts[start])


class GenericDds(Generic):
    """Send and receive packets over a pair of DDS topics."""

    link = DdsLink

    def check_installed(self) -> None:
        need_extra("cyclonedds", "dds", "the generic protocol over DDS")


__all__ = ["Generic", "GenericDds"]

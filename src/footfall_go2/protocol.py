"""Go2's protocol for ``footfall drive`` and ``footfall serve``. DDS is imported on first use."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from footfall.errors import need_extra
from footfall.hardware.protocol import RobotProtocol
from footfall.robot.model.description import Robot
from footfall.sensing.sensors import Sensors
from footfall.sim.motors import MotorModel
from nptrace._types import Given

if TYPE_CHECKING:
    from footfall_go2.client import DdsConnection
    from footfall_go2.server import Server


class Go2(RobotProtocol):
    """Messages and services of Go2 on DDS, for any robot with four legs of three joints."""

    starts = MappingProxyType({"standing": "balance", "lying": "down", "released": "released"})

    def check_installed(self) -> None:
        need_extra("cyclonedds", "dds", "a robot's interface")

    def check_robot(self, robot: Robot) -> None:
        from footfall_go2.unitree import Wiring

        Wiring(robot)

    def connect(self, robot: Robot, domain: int, interface: str, foot_load: bool) -> DdsConnection:
        from footfall_go2.client import DdsConnection

        return DdsConnection(robot, domain, interface, foot_load)

    def serve(
        self, robot: Robot, domain: int, interface: str, start: str, ros2: bool, options: dict[str, Given],
        sensors: Sensors | None, motors: MotorModel | None,
    ) -> Server:  # fmt: skip
        from footfall_go2.server import Server

        return Server(
            robot=robot,
            domain=domain,
            interface=interface,
            start=self.starts[start],
            ros2=ros2,
            options=options,
            sensors=sensors,
            motors=motors,
        )


__all__ = ["Go2"]

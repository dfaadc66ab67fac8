"""Connections to robots: the interface, the control loop and its limits, protocols by name."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.hardware.connection import Connection, RobotState
    from footfall.hardware.drive import Driver
    from footfall.hardware.limits import SafetyLimits
    from footfall.hardware.pipe import PipeConnection, ProcessController
    from footfall.hardware.protocol import RobotProtocol, protocol_named
    from footfall.hardware.replay import Replay
    from footfall.hardware.shared_memory import SharedConnection, SharedRobot
    from footfall.hardware.simulated import SimulatedRobot

__all__, __getattr__, __dir__ = lazy_exports(
    "footfall.hardware",
    {
        "connection": "Connection RobotState",
        "drive": "Driver",
        "limits": "SafetyLimits",
        "pipe": "PipeConnection ProcessController",
        "protocol": "RobotProtocol protocol_named",
        "replay": "Replay",
        "shared_memory": "SharedConnection SharedRobot",
        "simulated": "SimulatedRobot",
    },
)

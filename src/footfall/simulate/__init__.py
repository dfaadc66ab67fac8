"""A robot, its controller, the ground and the sensors between them, stepped and recorded.

``ff.margins`` and ``ff.linearize`` are on the front page; here their names are those of their files. Names load when
they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from footfall.simulate.actuators import JointModel
    from footfall.simulate.engine import Stop
    from footfall.simulate.estimation_error import EstimationErrors, estimation_errors
    from footfall.simulate.identification import Identified, Samples, identify, joint_torques_from_sensors, samples
    from footfall.simulate.integrators import INTEGRATORS
    from footfall.simulate.linearize import Linearised, LinearStep
    from footfall.simulate.margins import Margin, Margins
    from footfall.simulate.motors import EmergencyStop, MotorLoad, motor_loads, overheating
    from footfall.simulate.recording import Recording
    from footfall.simulate.runfile import RunOptions, plan, read_run_file
    from footfall.simulate.self_collision import SelfCollision
    from footfall.simulate.sensor_faults import Fault
    from footfall.simulate.sensors import Reading, Sensors
    from footfall.simulate.simulation import Push, Simulation
    from footfall.simulate.standing import standing_start
    from footfall.simulate.world import World

_FILES: dict[str, tuple[str, ...]] = {
    "actuators": ("JointModel",),
    "engine": ("Stop",),
    "estimation_error": ("EstimationErrors", "estimation_errors"),
    "identification": ("Identified", "Samples", "identify", "joint_torques_from_sensors", "samples"),
    "integrators": ("INTEGRATORS",),
    "linearize": ("LinearStep", "Linearised"),
    "margins": ("Margin", "Margins"),
    "motors": ("EmergencyStop", "MotorLoad", "motor_loads", "overheating"),
    "recording": ("Recording",),
    "runfile": ("RunOptions", "plan", "read_run_file"),
    "self_collision": ("SelfCollision",),
    "sensor_faults": ("Fault",),
    "sensors": ("Reading", "Sensors"),
    "simulation": ("Push", "Simulation"),
    "standing": ("standing_start",),
    "world": ("World",),
}
_HOMES = {name: file for file, names in _FILES.items() for name in names}

__all__ = [
    "INTEGRATORS", "EmergencyStop", "EstimationErrors", "Fault", "Identified", "JointModel", "LinearStep",
    "Linearised", "Margin", "Margins", "MotorLoad", "Push", "Reading", "Recording", "RunOptions", "Samples",
    "SelfCollision", "Sensors", "Simulation", "Stop", "World", "estimation_errors", "identify",
    "joint_torques_from_sensors", "motor_loads", "overheating", "plan", "read_run_file", "samples",
    "standing_start",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"footfall.simulate.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'footfall.simulate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

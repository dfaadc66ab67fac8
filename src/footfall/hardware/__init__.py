"""Between a controller and a robot: sensors, motors, the emergency stop; connections to robots elsewhere."""

from typing import TYPE_CHECKING

from footfall.rooms import room

if TYPE_CHECKING:
    from footfall.hardware.emergency_stop import EmergencyStop
    from footfall.hardware.motor_model import MotorModel, ThroughMotors
    from footfall.hardware.motors import overheating
    from footfall.hardware.sensor_faults import Fault
    from footfall.hardware.sensors import Reading, Sensor, Sensors

__all__, __getattr__, __dir__ = room(
    "footfall.hardware",
    {
        "emergency_stop": "EmergencyStop",
        "motor_model": "MotorModel ThroughMotors",
        "motors": "overheating",
        "sensor_faults": "Fault",
        "sensors": "Reading Sensor Sensors",
    },
)

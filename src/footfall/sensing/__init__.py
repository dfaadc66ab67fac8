"""Sensing, between physics and controller: sensors and their faults, estimators, the emergency stop."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.sensing.emergency_stop import EmergencyStop
    from footfall.sensing.estimation.estimated import Estimated
    from footfall.sensing.estimation.estimator import Estimator
    from footfall.sensing.estimation.torque_sensing import TorqueSensing
    from footfall.sensing.sensor_faults import Fault
    from footfall.sensing.sensors import Reading, Sensor, Sensors

__all__, __getattr__, __dir__ = lazy_exports(
    "footfall.sensing",
    {
        "emergency_stop": "EmergencyStop",
        "estimation.estimated": "Estimated",
        "estimation.estimator": "Estimator",
        "estimation.torque_sensing": "TorqueSensing",
        "sensor_faults": "Fault",
        "sensors": "Reading Sensor Sensors",
    },
)

"""What a robot is: descriptions, builders, files, and the library. No algorithms."""

from footfall.robot.description import Actuator, Foot, Joint, Link, Pose, Provenance, Robot, Rotor

__all__ = ["Actuator", "Foot", "Joint", "Link", "Pose", "Provenance", "Robot", "Rotor"]

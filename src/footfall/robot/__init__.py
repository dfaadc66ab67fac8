"""What a robot is: descriptions, builders, files, and the library. No algorithms."""

from typing import TYPE_CHECKING

from footfall.rooms import room

if TYPE_CHECKING:
    from footfall.robot import library
    from footfall.robot.files.export import to_mjcf, to_urdf
    from footfall.robot.files.loading import load
    from footfall.robot.model import dh
    from footfall.robot.model.description import Actuator, Foot, Joint, Link, Loop, Pose, Provenance, Robot, Rotor
    from footfall.robot.model.parametric import quadruped
    from footfall.robot.model.parts import FlatFoot
    from footfall.robot.model.payload import with_payload
    from footfall.robot.model.soles import by_corners
    from footfall.robot.model.spine import spine_joints, with_spine

__all__, __getattr__, __dir__ = room(
    "footfall.robot",
    {
        "library": "library",
        "model.dh": "dh",
        "model.description": "Actuator Foot Joint Link Loop Pose Provenance Robot Rotor",
        "files.export": "to_mjcf to_urdf",
        "files.loading": "load",
        "model.parametric": "quadruped",
        "model.parts": "FlatFoot",
        "model.payload": "with_payload",
        "model.soles": "by_corners",
        "model.spine": "spine_joints with_spine",
    },
)

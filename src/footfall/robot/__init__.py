"""Robots: descriptions, builders, files, and the library. No algorithms."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.robot import library
    from footfall.robot.files.export import to_mjcf, to_urdf
    from footfall.robot.files.loading import load
    from footfall.robot.model import dh
    from footfall.robot.model.description import Actuator, Foot, Joint, Link, Loop, Pose, Provenance, Robot, Rotor
    from footfall.robot.model.parametric import quadruped
    from footfall.robot.model.parts import FlatFoot
    from footfall.robot.model.spine import spine_joints, with_spine
    from footfall.robot.model.variants import by_corners, with_payload

__all__, __getattr__, __dir__ = lazy_exports(
    "footfall.robot",
    {
        "library": "library",
        "model.dh": "dh",
        "model.description": "Actuator Foot Joint Link Loop Pose Provenance Robot Rotor",
        "files.export": "to_mjcf to_urdf",
        "files.loading": "load",
        "model.parametric": "quadruped",
        "model.parts": "FlatFoot",
        "model.variants": "by_corners with_payload",
        "model.spine": "spine_joints with_spine",
    },
)

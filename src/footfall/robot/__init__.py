"""What a robot is: descriptions, builders, files, and the library. No algorithms."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from footfall.robot.description import Actuator, Foot, Joint, Link, Pose, Provenance, Robot, Rotor

if TYPE_CHECKING:
    from footfall.robot import dh, library
    from footfall.robot.export import to_mjcf, to_urdf
    from footfall.robot.loading import load
    from footfall.robot.parametric import quadruped
    from footfall.robot.payload import with_payload

_FILES: dict[str, tuple[str, ...]] = {
    "export": ("to_mjcf", "to_urdf"),
    "loading": ("load",),
    "parametric": ("quadruped",),
    "payload": ("with_payload",),
}
_HOMES = {name: file for file, names in _FILES.items() for name in names}

__all__ = [
    "Actuator", "Foot", "Joint", "Link", "Pose", "Provenance", "Robot", "Rotor", "dh", "library", "load",
    "quadruped", "to_mjcf", "to_urdf", "with_payload",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"footfall.robot.{_HOMES[name]}"), name)
    if name in ("dh", "library"):
        return import_module(f"footfall.robot.{name}")
    raise AttributeError(f"module 'footfall.robot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

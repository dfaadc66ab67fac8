"""Everything that does not change during a run: robot, ground, contact model, joint effects, gravity."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from footfall.contact.compliant import Compliant
from footfall.contact.ground import Ground, Plane
from footfall.contact.points import Sphere, spheres_of
from footfall.dynamics.gravity_terms import GRAVITY
from footfall.errors import unknown
from footfall.identity import digest_of
from footfall.robot.description import Robot
from footfall.simulate.actuators import JointModel


@dataclass(frozen=True, eq=False)
class World:
    """The constants of a simulation. ``spheres``: what may touch the ground; empty means the feet."""

    robot: Robot
    ground: Ground = field(default_factory=Plane)
    contact: Any = field(default_factory=Compliant)
    joints: JointModel = field(default_factory=JointModel)
    gravity: tuple[float, float, float] = GRAVITY
    spheres: tuple[Sphere, ...] = ()

    def __post_init__(self) -> None:
        if not self.spheres:
            object.__setattr__(self, "spheres", spheres_of(self.robot))

    # -- named parameters, as of a robot -----------------------------------------------------------------------------
    def parameter(self, path: str) -> Any:
        """``"ground.friction"``, ``"contact.stiffness"``, or a parameter of the robot."""
        part, key = self._find(path)
        return self.robot.parameter(path) if part is None else getattr(part, key)

    def with_parameters(self, parameters: Mapping[str, Any]) -> World:
        """An unchecked copy with the named parameters set; values may be traced."""
        changed: dict[str, Any] = {}
        of_robot = {}
        for path, value in parameters.items():
            part, key = self._find(path)
            if part is None:
                of_robot[path] = value
                continue
            name = path.partition(".")[0]
            copy = object.__new__(type(part))
            for k, old in vars(changed.get(name, part)).items():
                object.__setattr__(copy, k, old)
            object.__setattr__(copy, key, value)
            changed[name] = copy
        robot = self.robot.with_parameters(of_robot) if of_robot else self.robot
        copy = object.__new__(World)
        for f in dataclasses.fields(self):
            object.__setattr__(copy, f.name, changed.get(f.name, getattr(self, f.name)))
        object.__setattr__(copy, "robot", robot)
        if of_robot:  # a foot may have moved; spheres beyond the feet keep their place
            extra = self.spheres[len(self.robot.feet) :]
            object.__setattr__(copy, "spheres", (*spheres_of(robot), *extra))
        return copy

    def _find(self, path: str) -> tuple[Any, str]:
        name, _, key = path.partition(".")
        part = {"ground": self.ground, "contact": self.contact, "joints": self.joints}.get(name)
        if part is not None and key not in {f.name for f in dataclasses.fields(part)}:
            known = [f"{name}.{f.name}" for f in dataclasses.fields(part)]
            raise unknown("parameter", path, known, f"the {name} has")
        return part, key

    @cached_property
    def digest(self) -> str | None:
        """None if a part is a user's own class, which only its code describes."""
        return digest_of(self)

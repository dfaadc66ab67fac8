"""The constants of a run: robot, ground, contact model, joint effects, gravity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.contact.compliant import Compliant
from footfall.contact.free_bodies import FreeBody, Solid
from footfall.contact.ground import Ground, Plane, as_ground
from footfall.contact.model import ContactModel, as_contact_model
from footfall.contact.pairs import Pair
from footfall.contact.points import Sphere, spheres_of
from footfall.dynamics.articulated_limbs import free_limbs
from footfall.identity import digest_of
from footfall.parameters import look_up, replaced
from footfall.robot.model.description import Robot
from footfall.robot.model.limb_frames import LimbFrames
from footfall.sim.joints import JointModel
from footfall.sim.objects import ContactPair, touches_of
from footfall.spatial import Transform
from footfall.spatial.gravity import GRAVITY
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float

_PARTS = ("ground", "contact", "joints")  # parts whose numbers have names, besides the robot's


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """The constants of a simulation: robot, ground, contact model, gravity, joints.

    ``spheres`` may touch the ground (the feet, if empty); ``pairs`` are links that may touch each other.
    """

    robot: Robot
    ground: Ground = field(default_factory=Plane)
    contact: ContactModel = field(default_factory=Compliant)
    joints: JointModel = field(default_factory=JointModel)
    gravity: tuple[float, float, float] = GRAVITY
    spheres: tuple[Sphere, ...] = ()
    # pushed points besides the base's origin; their radius has no effect
    pushed: tuple[Sphere, ...] = ()
    pairs: tuple[Pair, ...] = ()
    objects: tuple[FreeBody, ...] = ()  # free bodies beside the robot
    solids: tuple[Solid, ...] = ()  # solids of the robot that these touch

    def __post_init__(self) -> None:
        object.__setattr__(self, "ground", as_ground(self.ground))
        object.__setattr__(self, "contact", as_contact_model(self.contact))
        if not self.spheres:
            object.__setattr__(self, "spheres", spheres_of(self.robot))

    @property
    def contacts(self) -> tuple[PyTree, ...]:
        """Return all contacts, in the order of the contact model's forces: spheres, pairs, contacts of free bodies."""
        return (*self.spheres, *self.pairs, *self.touches)

    @cached_property
    def touches(self) -> tuple[ContactPair, ...]:
        """Return the possible contacts of free bodies."""
        return touches_of(self.objects, self.spheres, self.solids, self.ground, self.robot.name) if self.objects else ()

    @cached_property
    def free_limbs(self) -> tuple[int, ...]:
        """Return bodies of limbs without contact: a step folds them into the base."""
        if self.objects:
            return ()
        pairs = (capsule.body for pair in self.pairs for capsule in (pair.one, pair.other))
        return free_limbs(self.robot, (*(sphere.body for sphere in self.spheres), *pairs))

    def start(self, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> dict[str, ndarray]:
        """Return the memory of steps at the start of a run: of the contact model and of joints with belts or brakes."""
        return {**self.contact.start(self.contacts), **self.joints.start(self.robot, q, v)}

    def in_limb_frames(self) -> World:
        """Return the world with equal frames in equal legs, so that a compiled step vectorizes them."""
        robot = self.robot.in_limb_frames()
        if robot is self.robot:
            return self
        frames = self.robot.limb_frames
        spheres = tuple(
            replace(
                s,
                center=frames.place(s.body, s.center, (s.name, "centre")),
                axis=None if s.axis is None else frames.into(s.body, s.axis),
            )
            for s in self.spheres
        )
        pushed = tuple(replace(s, center=frames.point(s.body, s.center)) for s in self.pushed)
        pairs = tuple(pair.moved(frames.point) for pair in self.pairs)
        solids = tuple(replace(solid, X_BS=_turned(frames, solid)) for solid in self.solids)
        moved = replaced(replaced(replaced(self, "robot", robot), "spheres", spheres), "solids", solids)
        return replaced(replaced(moved, "pushed", pushed), "pairs", pairs)

    # -- named parameters, as of a robot -----------------------------------------------------------------------------
    def parameter(self, path: str) -> Scalar:
        """Return ``"ground.friction"``, ``"contact.stiffness"``, or a parameter of the robot."""
        name, _, rest = path.partition(".")
        return look_up(getattr(self, name), rest, name) if name in _PARTS else self.robot.parameter(path)

    def with_parameters(self, parameters: Mapping[str, Scalar]) -> World:
        """Return an unchecked copy with the named parameters set; values may be traced."""
        world, of_robot = self, {}
        for path, value in parameters.items():
            self.parameter(path)  # raises if there is none
            if path.partition(".")[0] in _PARTS:
                world = replaced(world, path, value)
            else:
                of_robot[path] = value
        if of_robot:  # a foot may have moved; spheres other than feet keep their position
            robot = self.robot.with_parameters(of_robot)
            extra = self.spheres[len(self.robot.feet) :]
            world = replaced(replaced(world, "robot", robot), "spheres", (*spheres_of(robot), *extra))
        return world

    @cached_property
    def digest(self) -> str | None:
        """Return the digest; None if a part is user-defined, since only its code describes it."""
        return digest_of(self)


def _turned(frames: LimbFrames, solid: Solid) -> Transform:
    """Return a solid's pose in the new frame of its body."""
    columns = [frames.into(solid.body, column) for column in solid.X_BS.R.T]
    return Transform(np.stack(columns, axis=1), frames.point(solid.body, solid.X_BS.p))

"""Domain randomisation: differences between robots, drawn anew for every episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from footfall.contact.compliant import Compliant
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import STANDARD
from nptrace._types import Given, Operand, Scalar

Range = tuple[float, float]
EXTRAS = ("strength", "payload", "delay", "latency")  # drawn after all others, if they are not constant
LATEST = 10  # ticks
# further draws of an episode, after those of ``EXTRAS``, if the range is not zero
FURTHER = {"force": 2, "softness": 3}
SOFT_CONTACT = ("stiffness", "damping", "stick_speed", "slip_speed")  # contact parameters that softness draws
_LEAST_DEPTH = 1e-4  # [m]
_LAG = (0.01, 0.15)  # damping over stiffness of soft ground [s]
_CREEP = (1e-3, 0.3)  # [m/s], slip of a foot at which friction on soft ground is fully developed


@dataclass(frozen=True, kw_only=True)
class Randomisation:
    """Ranges of domain randomization, each (lowest, highest); ``Randomisation.none()`` varies only the command.

    friction: friction of the ground. mass, stiffness, damping: factors on the trunk's mass and on the gains. push:
    impulses [N s] on the trunk in a random horizontal direction, once every ``push_every`` seconds. joints: offsets at
    the start [rad]. factors: factors on any other parameter of robot, ground, contact or joints, by its path, such as
    ``LF_hip.damping``. strength: factor on the motor torques. payload: mass on the trunk [kg]. delay: delay of actions,
    in ticks, at most 1. noise: uniform noise of observations, in hundredths of the bound of each. latency: latency of
    measurements, in ticks, at most 10; command, last action and clock have none. force: steady force on the trunk in a
    random horizontal direction throughout an episode [N], so that a policy learns to keep its speed from its sensors.
    softness: how deep a foot that carries half the weight sinks [m]; its damping and the slip at which friction is
    fully developed are drawn with it.
    """

    friction: Range = (0.5, 1.1)
    mass: Range = (0.85, 1.3)
    stiffness: Range = (0.9, 1.1)
    damping: Range = (0.9, 1.1)
    push: Range = (0.0, 3.0)
    push_every: float = 4.0
    joints: Range = (-0.1, 0.1)
    factors: Mapping[str, Range] = field(default_factory=dict)
    strength: Range = (1.0, 1.0)
    payload: Range = (0.0, 0.0)
    delay: Range = (0.0, 0.0)
    noise: float = 0.0
    latency: Range = (0.0, 0.0)
    force: Range = (0.0, 0.0)
    softness: Range = (0.0, 0.0)

    def __post_init__(self) -> None:
        for key in RANGES:
            object.__setattr__(self, key, checked_range(getattr(self, key), key))
        for key in ("friction", "mass", "stiffness", "damping"):
            if getattr(self, key)[0] <= 0:
                raise InputError(f"{key} must be drawn from positive values, got {getattr(self, key)}")
        if self.strength[0] <= 0 or self.payload[0] < 0 or not self.noise >= 0:
            raise InputError("strength must be above 0, payload and noise 0 or more")
        if self.delay[0] < 0 or self.delay[1] > 1:
            raise InputError(f"delay must lie between 0 and 1 ticks, got {self.delay}")
        if self.latency[0] < 0 or self.latency[1] > LATEST:
            raise InputError(f"latency must lie between 0 and {LATEST} ticks, got {self.latency}")
        if self.push[0] < 0 or not self.push_every > 0:
            raise InputError("push must be 0 or more, and push_every a positive number of seconds")
        if self.force[0] < 0 or self.softness[0] < 0:
            raise InputError("force and softness must be 0 or more")
        if self.further("softness") and any(path.startswith("contact.") for path in self.factors):
            raise InputError("softness randomizes the contact parameters: remove softness, or the factors of contact")
        object.__setattr__(
            self, "factors", {k: checked_range(v, f"the factor of {k}") for k, v in self.factors.items()}
        )

    @staticmethod
    def none() -> Randomisation:
        one = (1.0, 1.0)
        return Randomisation(
            friction=(0.8, 0.8), mass=one, stiffness=one, damping=one, push=(0.0, 0.0), joints=(0.0, 0.0)
        )

    @staticmethod
    def from_option(option: Given) -> Randomisation:
        """Convert an option: True for the default; False or None for none; a mapping changes some ranges."""
        if isinstance(option, Randomisation):
            return option
        if isinstance(option, Mapping):
            return Randomisation().changed(option)
        if option is None or isinstance(option, (bool, np.bool_)):
            return Randomisation() if option else Randomisation.none()
        raise InputError(f"randomise must be True, False, or ranges by name, got {option!r}")

    def changed(self, ranges: Mapping[str, Given]) -> Randomisation:
        """Return these ranges with some changed by name."""
        known = [f.name for f in fields(self)]
        for key in ranges:
            if key not in known:
                raise unknown("randomisation", key, known)
        return replace(self, **ranges)

    @property
    def extras(self) -> tuple[str, ...]:
        """Return which optional ranges are used; unused ones do not change the random numbers of the others."""
        return tuple(key for key in EXTRAS if len(set(getattr(self, key))) > 1)

    def further(self, key: str) -> bool:
        """Return whether a range of ``FURTHER`` is drawn from."""
        return getattr(self, key)[1] > 0.0

    @property
    def further_draws(self) -> int:
        return sum(count for key, count in FURTHER.items() if self.further(key))

    def world(self, robot: Robot) -> dict[str, Given]:
        """Return options of the simulation that the randomization needs, in place of the task's."""
        if not self.further("softness"):
            return {}
        soft = soft_contact(robot, self.softness[0], np.ones(2))
        numbers: dict[str, Given] = {key: float(value) for key, value in soft.items()}
        return {"contact": Compliant(exponent=1.0, **numbers)}

    @staticmethod
    def full(robot: Robot) -> Randomisation:
        """Return the full randomization for rough ground, scaled with the robot."""
        push, load = (0.0, 0.3 * robot.mass), (0.0, 0.1 * robot.mass)
        return Randomisation(push=push, strength=(0.85, 1.1), payload=load, delay=(0.0, 0.8), noise=1.0)

    def paths(self, robot: Robot) -> tuple[str, ...]:
        """Return the parameters that differ between robots."""
        soft = tuple(f"contact.{key}" for key in SOFT_CONTACT) if self.further("softness") else ()
        return ("ground.friction", f"{robot.trunk}.mass", *self.factors, *soft)


RANGES = (
    "friction", "mass", "stiffness", "damping", "push", "joints", "strength", "payload", "delay", "latency", "force",
    "softness",
)  # fmt: skip


def soft_contact(robot: Robot, depth: Scalar, chance: Operand) -> dict[str, Scalar]:
    """Return the contact of ground that a foot depresses by a depth [m] under half the robot's weight.

    chance: two uniform draws, for its damping and for the creep of feet on it.
    """
    stiffness = 0.5 * robot.mass * STANDARD / np.maximum(depth, _LEAST_DEPTH)
    creep = within(_CREEP, chance[1])
    numbers = stiffness, stiffness * within(_LAG, chance[0]), creep, 2.0 * creep
    return dict(zip(SOFT_CONTACT, numbers))


def checked_range(value: Given, what: str) -> Range:
    """Return two finite numbers in order; a single number is an empty range."""
    try:
        low, high = (value, value) if np.ndim(value) == 0 else value
        low, high = float(low), float(high)
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not (np.isfinite([low, high]).all() and low <= high):
        raise InputError(f"{what} must be a range (least, most), got {value!r}")
    return low, high


def within(limits: Range, chance: Scalar) -> Operand:
    """Return a uniform draw in [0, 1) scaled to limits."""
    return limits[0] + (limits[1] - limits[0]) * chance

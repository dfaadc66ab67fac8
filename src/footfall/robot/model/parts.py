"""The parts of a robot: Link, Joint, Rotor, Foot, Actuator. Frozen, and checked on construction.

Each check raises ``ModelError`` with one sentence that names the part. SI units throughout.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.checks import number_within
from footfall.errors import ModelError
from footfall.spatial.rotation import about_axis, is_rotation, right_angled, snapped
from footfall.spatial.transform import Transform
from nptrace._types import Given
from nptrace.array_types import Float

JOINT_KINDS = ("revolute", "prismatic", "fixed")
MOST_NAME = 200
NOT_IN_NAMES = '<>"`'
_TRIANGLE_SLACK = 1e-6  # tensors in model files are rounded
# Larger values are mistakes that cost all other numbers their digits: heavier than any machine, longer than a country.
MOST_MASS, MOST_LENGTH, MOST_INERTIA = 1e9, 1e6, 1e15  # [kg], [m], [kg m²]


def array_of(value: Given, shape: tuple[int, ...], what: str, most: float = math.inf) -> ndarray:
    """Return a read-only float array of the given shape with no entry beyond ``most``; raise a ModelError that names
    ``what``.
    """
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be {'x'.join(map(str, shape))} numbers, got {value!r}") from None
    if array.shape != shape:
        raise ModelError(f"{what} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ModelError(f"{what} has a value that is not finite: {array.tolist()}")
    if np.abs(array).max(initial=0.0) > most:
        raise ModelError(f"{what} holds a value beyond {most:g}: {array.tolist()}")
    array.setflags(write=False)
    return array


number = functools.partial(number_within, error=ModelError)


def name_of(value: Given, what: str) -> str:
    """Return a name that is safe on a page, in a table and in a message: printable, short, and without markup.

    Names of all robots are checked here, from a file, a recording or Python.
    """
    if not isinstance(value, str) or not value.strip():
        raise ModelError(f"{what} needs a name, got {value!r}")
    if len(value) > MOST_NAME:
        raise ModelError(f"the name of {what} is longer than {MOST_NAME} characters: {value[:40]!r}...")
    odd = next((c for c in value if c in NOT_IN_NAMES or not c.isprintable()), None)
    if odd is not None:
        raise ModelError(f"the name {value!r} of {what} holds {odd!r}: names are printable, without {NOT_IN_NAMES}")
    return value


def _set(part: Given, **values: Any) -> None:
    for key, value in values.items():
        object.__setattr__(part, key, value)


@dataclass(frozen=True, eq=False, kw_only=True)
class Link:
    """A rigid body: mass [kg], centre of mass [m] in the link frame, inertia [kg m²] about it in link axes.

    ``as_published`` keeps a tensor that no mass distribution can have (the Mini Cheetah's hip): only its positive
    definiteness is then checked. A frame without mass is ``Link.massless(name)``.
    """

    name: str
    mass: float
    com: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    inertia: Float[ndarray, "3 3"] = field(default_factory=lambda: np.zeros((3, 3)))
    as_published: bool = False
    box: tuple[float, float, float] | None = None  # size of a box to draw [m], centred at the centre of mass

    @staticmethod
    def massless(name: str) -> Link:
        link = object.__new__(Link)
        _set(
            link,
            name=name_of(name, "a link"),
            mass=0.0,
            com=array_of(np.zeros(3), (3,), name),
            as_published=False,
            inertia=array_of(np.zeros((3, 3)), (3, 3), name),
            box=None,
        )
        return link

    def __post_init__(self) -> None:
        name = name_of(self.name, "a link")
        mass = number(self.mass, f"mass of link '{name}'", high=MOST_MASS)
        if mass <= 0:
            raise ModelError(f"mass of link '{name}' must be positive, got {mass:g} (Link.massless makes a bare frame)")
        com = array_of(self.com, (3,), f"centre of mass of link '{name}'", MOST_LENGTH)
        inertia = array_of(self.inertia, (3, 3), f"inertia of link '{name}'", MOST_INERTIA)
        if np.abs(inertia - inertia.T).max() > 1e-9 * max(np.abs(inertia).max(), 1e-12):
            raise ModelError(f"inertia of link '{name}' is not symmetric: {inertia.tolist()}")
        a, b, c = np.linalg.eigvalsh(inertia)
        if a < -1e-12 * max(c, 1.0) or c <= 0:
            raise ModelError(
                f"inertia of link '{name}' is not positive: principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m²"
            )
        if a + b < c * (1 - _TRIANGLE_SLACK) and not self.as_published:
            raise ModelError(
                f"inertia of link '{name}' is not realisable: principal moments {a:.4g} + {b:.4g} < {c:.4g} kg m²"
                " (Link(..., as_published=True) keeps it as it is)"
            )
        if self.box is not None:
            box = array_of(self.box, (3,), f"box of link '{name}'")
            if (box <= 0).any():
                raise ModelError(f"box of link '{name}' must have positive sides, got {box.tolist()}")
            _set(self, box=tuple(box.tolist()))
        _set(self, mass=mass, com=com, inertia=inertia)


@dataclass(frozen=True)
class Rotor:
    """The rotor of a motor: attached to the *parent* of its joint, it spins at ``gear`` times the joint velocity.

    ``position`` [m] in the parent's frame; ``spin_inertia`` about the joint's axis and ``transverse_inertia`` [kg m²].
    """

    mass: float
    position: Float[ndarray, "3"]
    spin_inertia: float
    transverse_inertia: float
    gear: float

    def __post_init__(self) -> None:
        _set(
            self,
            mass=number(self.mass, "mass of a rotor", 0, MOST_MASS),
            position=array_of(self.position, (3,), "position of a rotor", MOST_LENGTH),
            spin_inertia=number(self.spin_inertia, "spin inertia of a rotor", 0, MOST_INERTIA),
            transverse_inertia=number(self.transverse_inertia, "transverse inertia of a rotor", 0, MOST_INERTIA),
            gear=number(self.gear, "gear of a rotor", -1e6, 1e6),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint:
    """A joint between the links ``parent`` and ``child``.

    At zero, the child's frame is at ``origin`` [m] in the parent's, rotated by ``rotation``.

    ``axis`` is given in the child's frame. Angles in rad, forces in N m (N for a prismatic joint).
    ``dry_friction`` opposes motion, ``damping`` [N m s/rad] too; ``stiffness`` [N m/rad] pulls towards ``rest``;
    ``armature`` [kg m²] is reflected inertia given directly, a ``rotor`` gives it from a motor's data.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Float[ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    rotation: Float[ndarray, "3 3"] = field(default_factory=lambda: np.eye(3))
    axis: Float[ndarray, "3"] = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    lower: float = -math.inf
    upper: float = math.inf
    damping: float = 0.0
    dry_friction: float = 0.0
    armature: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    rotor: Rotor | None = None

    def __post_init__(self) -> None:
        name = name_of(self.name, "a joint")
        what = f"joint '{name}'"
        if self.kind not in JOINT_KINDS:
            raise ModelError(f"{what} has the kind '{self.kind}': choose {', '.join(JOINT_KINDS)}")
        rotation = snapped(array_of(self.rotation, (3, 3), f"rotation of {what}"))
        if not is_rotation(rotation):
            raise ModelError(f"rotation of {what} is not a rotation matrix: {rotation.tolist()}")
        rotation.setflags(write=False)
        axis = array_of(self.axis, (3,), f"axis of {what}")
        length = float(np.sqrt(axis @ axis))
        if length < 1e-9:
            raise ModelError(f"axis of {what} has no direction: {axis.tolist()}")
        axis = snapped(axis / length)
        axis.setflags(write=False)
        lower = number(self.lower, f"lower limit of {what}", infinite=True)
        upper = number(self.upper, f"upper limit of {what}", infinite=True)
        if lower > upper:
            raise ModelError(f"limits of {what} are reversed: lower {lower:g} > upper {upper:g}")
        _set(
            self,
            origin=array_of(self.origin, (3,), f"origin of {what}", MOST_LENGTH),
            rotation=rotation,
            axis=axis,
            lower=lower,
            upper=upper,
            rest=number(self.rest, f"rest position of {what}"),
            damping=number(self.damping, f"damping of {what}", 0),
            dry_friction=number(self.dry_friction, f"dry friction of {what}", 0),
            armature=number(self.armature, f"armature of {what}", 0, MOST_INERTIA),
            stiffness=number(self.stiffness, f"stiffness of {what}", 0),
        )

    @property
    def X_PJ(self) -> Transform:
        """Return the pose of the joint's frame at zero in the parent link's frame, with right angles made exact.

        ``rotation`` keeps the digits of the model file, by which recordings and checkpoints identify the robot.
        """
        return Transform(right_angled(self.rotation), self.origin)

    def displacement(self, position: float) -> Transform:
        """Return the displacement of the child from its pose at zero, at a numeric position [rad or m]."""
        if self.kind == "prismatic":
            return Transform(np.eye(3), position * self.axis)
        turned = about_axis(self.axis, position) if self.kind == "revolute" else np.eye(3)
        return Transform(turned, np.zeros(3))


@dataclass(frozen=True, eq=False, kw_only=True)
class Foot:
    """A sphere on a link: centre [m] in the link's frame, radius [m] (0 is a point).

    With an ``axis`` (in the link's frame) it is a wheel of that radius about it: a torus whose tyre is ``tyre`` [m]
    thick, from its middle to its tread.
    """

    name: str
    link: str
    position: Float[ndarray, "3"]
    radius: float = 0.0
    axis: tuple[float, float, float] | None = None
    tyre: float = 0.0

    def __post_init__(self) -> None:
        name = name_of(self.name, "a foot")
        _set(
            self,
            position=array_of(self.position, (3,), f"position of foot '{name}'"),
            radius=number(self.radius, f"radius of foot '{name}'", 0),
        )
        if self.axis is None:
            return
        axis = array_of(self.axis, (3,), f"axis of wheel '{name}'")
        length = float(np.sqrt(axis @ axis))
        if length < 1e-9:
            raise ModelError(f"axis of wheel '{name}' has no direction: {axis.tolist()}")
        tyre = number(self.tyre, f"tyre of wheel '{name}'", 0, self.radius)
        _set(self, axis=tuple(snapped(axis / length).tolist()), tyre=tyre)


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatFoot(Foot):
    """A foot with a flat sole of a length along x and a width along y [m]; ``position`` is its middle.

    It transmits six components of a wrench (``dynamics.formalisms.flat_feet``), or touches with its corners
    (``robot.by_corners``).
    """

    sole: tuple[float, float] = (0.2, 0.1)

    def __post_init__(self) -> None:
        super().__post_init__()
        sole = array_of(self.sole, (2,), f"sole of foot '{self.name}'", MOST_LENGTH)
        if not (sole > 0).all():
            raise ModelError(f"sole of foot '{self.name}' must have positive sides, got {sole.tolist()}")
        if self.radius:
            raise ModelError(f"foot '{self.name}' is a sphere or has a sole, not both: its radius must be 0")
        _set(self, sole=tuple(sole.tolist()))


@dataclass(frozen=True, kw_only=True)
class Actuator:
    """A motor at a joint. Torque [N m] and speed [rad/s] limits at the joint; the electrical data are optional.

    With ``torque_constant`` [N m/A], ``resistance`` [Ω], ``voltage`` [V] and ``gear`` the torque falls with speed as
    the motor's back-EMF reduces the voltage; with limits only, the torque-speed region is a rectangle.
    ``continuous_torque`` [N m] at the joint is what the motor can provide continuously; it is reported, but not
    enforced.
    """

    joint: str
    torque_limit: float = math.inf
    speed_limit: float = math.inf
    gear: float = 1.0
    torque_constant: float | None = None
    resistance: float | None = None
    voltage: float | None = None
    continuous_torque: float = math.inf

    def __post_init__(self) -> None:
        what = f"of the actuator at joint '{name_of(self.joint, 'an actuator')}'"
        _set(
            self,
            torque_limit=number(self.torque_limit, f"torque limit {what}", 0, infinite=True),
            speed_limit=number(self.speed_limit, f"speed limit {what}", 0, infinite=True),
            continuous_torque=number(self.continuous_torque, f"continuous torque {what}", 0, infinite=True),
            gear=number(self.gear, f"gear {what}"),
        )
        if self.gear == 0:
            raise ModelError(f"gear {what} must not be zero")
        for key in ("torque_constant", "resistance", "voltage"):
            if getattr(self, key) is not None:
                _set(self, **{key: number(getattr(self, key), f"{key.replace('_', ' ')} {what}", 0)})

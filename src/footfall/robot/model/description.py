"""The description of a robot: links joined into a tree, feet, actuators, poses, and the source of its numbers.

``Robot`` is frozen and checked when made; ``robot.replace(...)`` gives a changed copy. Algorithms read ``robot.tree``.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np

import nptrace
from footfall import hints
from footfall.errors import InputError, ModelError, unknown
from footfall.identity import digest_of
from footfall.robot.model.legs import foot_of
from footfall.robot.model.limb_frames import LimbFrames, like_limbs
from footfall.robot.model.loops import Loop, check_loops, loop_axes
from footfall.robot.model.movable import check_masses
from footfall.robot.model.parts import Actuator, Foot, Joint, Link, Rotor, array_of, name_of, number
from footfall.robot.model.tree import Tree
from nptrace._types import Given, Operand, PyTree, Scalar

ROTOR_MODES = ("none", "armature", "exact")
PROVENANCE = ("published", "derived", "chosen", "imported")
_Part = TypeVar("_Part", Link, Joint, Foot)


@dataclass(frozen=True)
class Provenance:
    """The origin of a number: its status (published, derived, chosen, imported) and source."""

    status: str
    source: str

    def __post_init__(self) -> None:
        if self.status not in PROVENANCE:
            raise ModelError(f"unknown provenance '{self.status}': choose {', '.join(PROVENANCE)}")


@dataclass(frozen=True)
class Pose:
    """A named posture: joint positions [rad] in the order of ``robot.joint_names`` and the height of the base [m]."""

    joints: np.ndarray
    height: float = 0.0


class Poses(dict[str, Pose]):
    """Poses by name; an unknown name raises with the existing ones."""

    def __missing__(self, name: str) -> Pose:
        raise unknown("pose", name, self, "this robot has")


class Parts(tuple[_Part, ...]):
    """Parts of a robot by index, or by name: ``robot.joints["LF_knee"]``."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        kind = type(self[0]).__name__.lower() if self else "part"
        return _named(self, kind, key)


class _RobotClass(type):
    """The metaclass of ``Robot``, which explains names of other libraries (``Robot.from_urdf``)."""

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise hints.missing("Robot", name, dir(cls), hints.ROBOT)


@hints.names_arguments("part of a Robot", {})
@dataclass(frozen=True, eq=False, kw_only=True)
class Robot(metaclass=_RobotClass):
    """A tree of links on a floating or fixed base.

    ``links[0]`` need not be the root, which is the link that is not the child of a joint. ``joints`` are in the order
    in which they were given, fixed ones included. q and v go depth first along the tree, in the order of
    ``joint_names``, which may differ (it does for the library's ``spined``): use ``joint_names``, with
    ``robot.joint(name)``, to iterate along q. ``rotors`` is the rotor model: ``none`` ignores them, ``armature`` welds
    their mass to the parent and adds gear² J to the joint, ``exact`` keeps the gyroscopic coupling too. ``provenance``
    maps patterns such as ``"*.mass"`` to where the values come from; the last matching pattern applies.
    """

    name: str
    links: Sequence[Link]
    joints: Sequence[Joint] = ()  # as given; q is in the order of joint_names
    feet: Sequence[Foot] = ()
    actuators: Sequence[Actuator] = ()
    floating: bool = True
    rotors: str = "armature"
    poses: Mapping[str, Pose] = field(default_factory=dict)
    provenance: Mapping[str, Provenance] = field(default_factory=dict)
    notes: str = ""
    model_file: Path | None = None  # path of the model file, if it was read from one; not stored in recordings
    loops: Sequence[Loop] = ()  # constraints between links and joints besides the tree

    def __post_init__(self) -> None:
        name_of(self.name, "a robot")
        for key in ("links", "joints", "feet", "actuators", "loops"):
            parts = tuple(getattr(self, key))
            object.__setattr__(self, key, Parts(parts) if key in ("links", "joints", "feet") else parts)
        if self.rotors not in ROTOR_MODES:
            raise ModelError(f"unknown rotor mode '{self.rotors}': choose {', '.join(ROTOR_MODES)}")
        if not self.links:
            raise ModelError(f"robot '{self.name}' has no links")
        for kind, names in (
            ("link", [x.name for x in self.links]),
            ("joint", [x.name for x in self.joints]),
            ("foot", [x.name for x in self.feet]),
        ):
            twice = {n for n in names if names.count(n) > 1}
            if twice:
                raise ModelError(
                    f"robot '{self.name}' has two {'feet' if kind == 'foot' else f'{kind}s'} named '{min(twice)}'"
                )
        tree = self.tree  # raises for unknown names, cycles and two roots
        check_masses(self, tree)
        if self.loops:
            check_loops(self, tree)
            _ = self.loop_axes  # raises for loops that cannot be closed
        links = [link.name for link in self.links]
        for foot in self.feet:
            if foot.link not in links:
                raise ModelError(
                    f"foot '{foot.name}' is on the unknown link '{foot.link}': this robot has {_list(links)}"
                )
        driven = [actuator.joint for actuator in self.actuators]
        for actuator in self.actuators:
            if driven.count(actuator.joint) > 1:
                raise ModelError(f"joint '{actuator.joint}' of robot '{self.name}' has two actuators")
            if actuator.joint not in tree.joint_names:
                raise ModelError(
                    f"an actuator drives the unknown joint '{actuator.joint}': choose one of {_list(tree.joint_names)}"
                )
        poses = {
            name_of(k, "a pose"): Pose(
                array_of(p.joints, (self.nj,), f"pose '{k}'"), number(p.height, f"height of pose '{k}'")
            )
            for k, p in self.poses.items()
        }
        object.__setattr__(self, "poses", Poses(poses))

    # -- sizes and names ---------------------------------------------------------------------------------------------
    @cached_property
    def tree(self) -> Tree:
        """Return the moving bodies, numbered root to leaves, with fixed joints fused: the input of algorithms."""
        return Tree.of(self)

    @cached_property
    def limb_frames(self) -> LimbFrames:
        """Return frames in which equal limbs have equal numbers, for compiled steps."""
        with nptrace.untraced():
            return LimbFrames.of(self.tree)

    @cached_property
    def parallel_joints(self) -> dict[int, float]:
        """Return ``Tree.parallel_joints``: known before a trace, like ``limb_frames``.

        A joint that is parallel in only some of several equal limbs does not count: limbs that run side by side share
        one program.
        """
        with nptrace.untraced():
            found = self.tree.parallel_joints()
            for twins in (twins for limbs in like_limbs(self.tree) for twins in zip(*limbs)):
                if not all(i in found for i in twins):
                    found = {i: sense for i, sense in found.items() if i not in twins}
            return found

    @cached_property
    def loop_axes(self) -> tuple[np.ndarray, ...]:
        """Return the directions in which the ends of every loop can move apart: known before a trace."""
        if not self.loops:
            return ()
        with nptrace.untraced():
            return loop_axes(self.tree, tuple(self.loops))

    @cached_property
    def passive_joints(self) -> tuple[int, ...]:
        """Return joints of loops that have no motor, where others have one: they cannot be commanded."""
        driven = {actuator.joint for actuator in self.actuators}
        if not (self.loops and driven):
            return ()
        return tuple(j for j, name in enumerate(self.joint_names) if name not in driven)

    def with_tree(self, tree: Tree) -> Robot:
        """Return an unchecked copy with another tree for the algorithms; links, joints and feet are unchanged."""
        copy = self.with_parameters({})
        copy.__dict__["tree"] = tree
        return copy

    def in_limb_frames(self) -> Robot:
        """Return the robot with equal frames in equal legs, for faster steps; itself if there are none.

        Its joints, links and feet are unchanged: it is meant only for algorithms that traverse the tree.
        """
        if not self.limb_frames:
            return self
        if not nptrace.is_tracing():  # symbols belong to one trace, numbers are kept
            return self._in_limb_frames
        return self._made_in_limb_frames()

    @cached_property
    def _in_limb_frames(self) -> Robot:
        return self._made_in_limb_frames()

    def _made_in_limb_frames(self) -> Robot:
        copy = self.with_tree(self.limb_frames.apply(self.tree))
        copy.__dict__["limb_frames"] = LimbFrames()
        return copy

    @property
    def nj(self) -> int:
        """Return the number of moving joints."""
        return len(self.tree.bodies) - 1

    @property
    def nv(self) -> int:
        """Return the degrees of freedom: 6 for a floating base, plus the joints."""
        return self.nj + self.tree.base_dof

    @property
    def nq(self) -> int:
        """Return the length of q: one more than nv with a floating base, for its quaternion."""
        return self.nj + (7 if self.floating else 0)

    @property
    def nf(self) -> int:
        return len(self.feet)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the moving joints in the order of q and v."""
        return self.tree.joint_names

    @property
    def foot_names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.feet)

    @property
    def trunk(self) -> str:
        """Return the name of the heaviest link of the base, whose root is often a massless frame."""
        frames = self.tree.frames
        return max((link for link in self.links if frames[link.name][0] == 0), key=lambda link: link.mass).name

    @property
    def mass(self) -> float:
        """Return the total mass [kg], including modelled rotors."""
        return sum(body.inertia.m for body in self.tree.bodies)

    def link(self, name: str) -> Link:
        return _named(self.links, "link", name)

    def joint(self, name: str) -> Joint:
        return _named(self.joints, "joint", name)

    def foot(self, name: str) -> Foot:
        """Return a foot by its name, another spelling of it (FL, rear_left_foot), or the link that carries it alone."""
        return self.feet[self.foot_index(name)]

    def foot_index(self, name: str) -> int:
        """Return the index of a foot, found as in ``foot``, in ``feet`` and in arrays with a row for every foot."""
        names = self.foot_names
        if name in names:
            return names.index(name)
        if isinstance(name, str):
            if foot_of(name) in names:
                return names.index(str(foot_of(name)))
            carried = [k for k, foot in enumerate(self.feet) if foot.link == name]
            if len(carried) == 1:
                return carried[0]
        raise unknown("foot", name, names, "this robot has")

    # -- states ------------------------------------------------------------------------------------------------------
    @hints.takes({})
    def state(self, pose: str | np.ndarray | None = None, height: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) at rest and level: in a named pose, with given joint positions, or all zero; at a given
        height.
        """
        if pose is None:
            joints, z = np.zeros(self.nj), 0.0
        elif isinstance(pose, str):
            if pose not in self.poses:
                raise unknown("pose", pose, self.poses, f"robot '{self.name}' has")
            joints, z = self.poses[pose].joints, self.poses[pose].height
        else:
            try:
                joints, z = np.asarray(pose, dtype=float), 0.0
            except (TypeError, ValueError, OverflowError):
                raise InputError(
                    f"a state is a pose by its name, or {self.nj} joint positions, got {type(pose).__name__}"
                ) from None
            if joints.shape != (self.nj,):
                raise InputError(f"joint positions must have shape ({self.nj},), got {joints.shape}")
        if height is not None:
            z = float(height) if np.ndim(height) == 0 and not isinstance(height, str) else np.nan
        if not (np.isfinite(joints).all() and np.isfinite(z)):
            raise InputError("joint positions and height of a state must be finite")
        base = [0.0, 0.0, z, 1.0, 0.0, 0.0, 0.0] if self.floating else []
        return np.concatenate([base, joints]), np.zeros(self.nv)

    # -- changing ----------------------------------------------------------------------------------------------------
    def replace(self, parameters: Mapping[str, Scalar] | None = None, /, **fields: Any) -> Robot:
        """Return a changed, checked copy: ``replace(rotors="exact")``, ``replace({"trunk.mass": 4.0})``."""
        parts = self._with_parameters(parameters or {}, checked=True)
        return dataclasses.replace(self, **{**parts, **fields})

    def with_parameters(self, parameters: Mapping[str, Scalar]) -> Robot:
        """Return an *unchecked* copy with the named parameters set: values may be traced symbols (``free`` of
        ff.compile).
        """
        copy = object.__new__(Robot)
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        values.update(self._with_parameters(parameters, checked=False))
        for key, value in values.items():
            object.__setattr__(copy, key, value)
        moved = any(path.endswith((".rotation", ".axis", ".origin", ".position")) for path in parameters)
        # traced numbers do not show zeros
        copy.__dict__["limb_frames"] = LimbFrames() if moved else self.limb_frames
        copy.__dict__["parallel_joints"] = {} if moved else self.parallel_joints
        copy.__dict__["loop_axes"] = self.loop_axes
        return copy

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise hints.missing("a Robot", name, dir(type(self)), hints.ROBOT)

    def parameter(self, path: str) -> Operand:
        """Return the value of a parameter such as ``"trunk.mass"``, ``"LF_hip.damping"`` or ``"LF.radius"``."""
        _, _, part, key = self._find(path)
        return getattr(part, key)

    def parameter_names(self) -> list[str]:
        """Return every parameter that ``replace`` and ``free`` understand."""
        return [
            f"{part.name}.{key}" for kind, keys in _PARAMETERS.items() for part in getattr(self, kind) for key in keys
        ]

    def _find(self, path: str) -> tuple[str, int, Given, str]:
        name, _, key = path.rpartition(".")
        for kind, keys in _PARAMETERS.items():
            for index, part in enumerate(getattr(self, kind)):
                if part.name == name and key in keys:
                    return kind, index, part, key
        if name in ("trunk", "base") and name != self.trunk:  # exists for every robot, whatever its name in the file
            return self._find(f"{self.trunk}.{key}")
        raise unknown("parameter", path, self.parameter_names(), f"robot '{self.name}' has")

    def _with_parameters(self, parameters: Mapping[str, Scalar], checked: bool) -> dict[str, Given]:
        changed: dict[str, list[PyTree]] = {}
        for path, value in parameters.items():
            kind, index, _, key = self._find(path)
            parts = changed.setdefault(kind, list(getattr(self, kind)))
            part = parts[index]
            if checked:
                parts[index] = dataclasses.replace(part, **{key: value})
            else:
                parts[index] = object.__new__(type(part))
                for f in dataclasses.fields(part):
                    object.__setattr__(parts[index], f.name, value if f.name == key else getattr(part, f.name))
        return {kind: tuple(parts) for kind, parts in changed.items()}

    # -- provenance and identity -------------------------------------------------------------------------------------
    def provenance_of(self, path: str) -> Provenance:
        """Return the origin of a parameter's value: ``robot.provenance_of("trunk.mass").status``."""
        self._find(path)
        found = [p for pattern, p in self.provenance.items() if fnmatch.fnmatchcase(path, pattern)]
        if not found:
            raise InputError(f"robot '{self.name}' has no provenance for '{path}'")
        return found[-1]

    NOT_IN_DIGEST = ("name", "poses", "provenance", "notes", "model_file")

    @cached_property
    def digest(self) -> str:
        """Return a digest of everything that enters a computation; equal robots have equal digests.

        A robot with user-defined classes equals only itself: the behaviour of such a class is not in its numbers.
        """
        return digest_of(self) or f"user-defined {uuid.uuid4().hex}"

    def __repr__(self) -> str:
        return (
            f"Robot('{self.name}': {self.nv} DOF, {len(self.tree.bodies)} bodies, {self.mass:.4g} kg, {self.nf} feet)"
        )

    def _repr_html_(self) -> str:
        """Return a summary and a drawing of the standing robot for notebooks."""
        from footfall.draw.drawing import card

        return card(self)


_PARAMETERS = {
    "links": ("mass", "com", "inertia"),
    "joints": (
        "origin",
        "rotation",
        "axis",
        "lower",
        "upper",
        "damping",
        "dry_friction",
        "armature",
        "stiffness",
        "rest",
    ),
    "feet": ("position", "radius"),
}


def _refuse_assignment(robot: Robot, name: str, value: object) -> NoReturn:
    raise InputError(
        f"a Robot does not change: robot.replace({{...}}) returns another, as in"
        f" robot.replace({{'trunk.mass': 5.0}}), instead of setting {name!r}"
    )


Robot.__setattr__ = _refuse_assignment  # type: ignore[assignment,method-assign]  # its own sentence is of dataclasses


def _named(parts: Sequence[_Part], kind: str, name: str) -> _Part:
    for part in parts:
        if part.name == name:
            return part
    raise unknown(kind, name, [p.name for p in parts], "this robot has")


def _list(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


__all__ = ["Actuator", "Foot", "Joint", "Link", "Loop", "Pose", "Provenance", "Robot", "Rotor"]

"""Robots from Denavit-Hartenberg tables: eq. (1) and Table 1 of Adak et al., Table I of the DynaKat report.

Two conventions are in use and neither paper names its choice. ``standard``: a row is Rz(θ) Tz(d) Tx(a) Rx(α), and joint
i rotates about the z axis of the frame *before* its row (DynaKat). ``modified`` (Craig): a row is Rx(α) Tx(a) Rz(θ)
Tz(d), and joint i rotates about the z axis *after* α and a (eq. (1) of Adak et al., whose a_i, α_i, d_i+1, θ_i+1 share
a row here).

A robot built from a table has, with ``frames="aligned"``, link frames at the joints and parallel to the parent's frame
when all joints are zero: the axes of the common tables then lie along coordinate axes, so that rotations keep their
structural zeros. ``frames="dh"`` keeps the table's axes, every joint along +z; a link frame is still at its joint,
since a joint moves its child about the child's origin, while the standard convention puts its frames at the far ends of
the links.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from footfall.errors import InputError, ModelError
from footfall.robot.model.description import Foot, Joint, Link, Robot
from footfall.robot.model.parts import number
from footfall.spatial.rotation import about_x, about_z, snapped
from footfall.spatial.transform import Transform
from nptrace._types import Given

CONVENTIONS = ("standard", "modified")
FRAMES = ("aligned", "dh")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: angles θ, α [rad], lengths d, a [m]; ``joint`` names the variable that is added to θ (or d).

    A row without a joint is constant. ``kind`` is ``revolute`` (θ varies) or ``prismatic`` (d varies).
    """

    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    joint: str | None = None
    kind: str = "revolute"

    def __post_init__(self) -> None:
        for key in ("theta", "d", "a", "alpha"):
            what = f"{key} of the Denavit-Hartenberg row {self.joint or '(constant)'!r}"
            object.__setattr__(self, key, number(getattr(self, key), what))
        if self.kind not in ("revolute", "prismatic"):
            raise ModelError(f"row '{self.joint}' has the kind '{self.kind}': choose revolute, prismatic")


@dataclass(frozen=True)
class Chain:
    """Joints and links of one table, and the pose of its last frame in the frame of the last link."""

    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    X_LT: Transform


@dataclass(frozen=True, kw_only=True)
class Limb:
    """A chain on a robot: its name (and its foot's), where its table starts on the trunk, its table, links and extras.

    ``links`` gives each joint's link (renamed to ``<joint>_link``); ``settings`` gives a joint more of Joint's fields.
    """

    name: str
    mount: Transform
    rows: Sequence[Row]
    links: Mapping[str, Link]
    settings: Mapping[str, Mapping[str, Given]] = field(default_factory=dict)
    foot_radius: float = 0.0


def row_transform(row: Row, value: float = 0.0, convention: str = "standard") -> Transform:
    """Return the pose of the frame after a row in the frame before it, with the joint at ``value`` [rad or m]."""
    _check(convention, CONVENTIONS, "convention")
    moves = row.joint is not None
    theta = row.theta + (value if moves and row.kind == "revolute" else 0.0)
    d = row.d + (value if moves and row.kind == "prismatic" else 0.0)
    turn, tilt = (
        Transform(about_z(theta), np.array([0.0, 0.0, d])),
        Transform(about_x(row.alpha), np.array([row.a, 0.0, 0.0])),
    )
    return turn @ tilt if convention == "standard" else tilt @ turn


def forward(rows: Sequence[Row], values: Sequence[float] = (), convention: str = "standard") -> list[Transform]:
    """Return poses of the frames after every row, in the table's first frame; ``values`` in the order of the joints."""
    moving = [row for row in rows if row.joint is not None]
    values = list(values) if len(values) else [0.0] * len(moving)
    if len(values) != len(moving):
        raise InputError(f"this table has {len(moving)} joints, got {len(values)} values")
    left = iter(values)
    X, frames = Transform.identity(), []
    for row in rows:
        X = X @ row_transform(row, next(left) if row.joint is not None else 0.0, convention)
        frames.append(X)
    return frames


def chain(
    rows: Sequence[Row],
    parent: str,
    links: Mapping[str, Link],
    mount: Transform | None = None,
    settings: Mapping[str, Mapping[str, Given]] | None = None,
    convention: str = "standard",
    frames: str = "aligned",
) -> Chain:
    """Return the joints and links of a table that starts at ``mount`` in the frame of the link ``parent``.

    With ``frames="aligned"`` a link's centre of mass and tensor are read in axes parallel to the parent's at zero.
    """
    _check(convention, CONVENTIONS, "convention")
    _check(frames, FRAMES, "choice of frames")
    settings = settings or {}
    moving = [row.joint for row in rows if row.joint is not None]
    if len(set(moving)) < len(moving):
        raise ModelError(f"a Denavit-Hartenberg table has a joint twice: {', '.join(moving)}")
    for given, what in ((links, "link"), (settings, "settings")):
        for name in given:
            if name not in moving:
                raise ModelError(f"{what} for the unknown joint '{name}': this table has {', '.join(moving) or 'none'}")
    made: list[Link] = []
    joints: list[Joint] = []
    since = _snap(mount or Transform.identity())  # the table's current frame in the last link's, all joints at zero
    for row in rows:
        axis_at, after = _split(row, convention)
        since = _snap(since @ axis_at)
        if row.joint is not None:
            if row.joint not in links:
                raise ModelError(f"no link given for joint '{row.joint}': every joint of a table needs one")
            if frames == "dh":
                X_PJ, axis = since, np.array([0.0, 0.0, 1.0])
            else:
                X_PJ, axis = Transform(np.eye(3), since.p), snapped(since.R @ [0.0, 0.0, 1.0])
            joints.append(
                Joint(
                    name=row.joint,
                    kind=row.kind,
                    parent=parent,
                    child=f"{row.joint}_link",
                    origin=X_PJ.p,
                    rotation=X_PJ.R,
                    axis=axis,
                    **settings.get(row.joint, {}),
                )
            )
            made.append(dataclasses.replace(links[row.joint], name=f"{row.joint}_link"))
            parent = f"{row.joint}_link"
            since = Transform.identity() if frames == "dh" else Transform(since.R, np.zeros(3))
        since = _snap(since @ after)
    if not joints:
        raise ModelError("a Denavit-Hartenberg table needs at least one joint")
    return Chain(tuple(made), tuple(joints), since)


def robot(
    name: str,
    trunk: Link,
    limbs: Sequence[Limb],
    floating: bool = True,
    convention: str = "standard",
    frames: str = "aligned",
    **fields: Any,
) -> Robot:
    """Return a trunk with limbs from tables; each limb ends in a spherical foot of its name at the table's last
    frame.
    """
    links, joints, feet = [trunk], list[Joint](), list[Foot]()
    for limb in limbs:
        made = chain(limb.rows, trunk.name, limb.links, limb.mount, limb.settings, convention, frames)
        links += made.links
        joints += made.joints
        feet.append(Foot(name=limb.name, link=made.links[-1].name, position=made.X_LT.p, radius=limb.foot_radius))
    return Robot(name=name, links=links, joints=joints, feet=feet, floating=floating, **fields)


def _split(row: Row, convention: str) -> tuple[Transform, Transform]:
    """Split a row at zero into the transforms before and after its joint's axis."""
    turn = Transform(about_z(row.theta), np.array([0.0, 0.0, row.d]))
    tilt = Transform(about_x(row.alpha), np.array([row.a, 0.0, 0.0]))
    return (Transform.identity(), turn @ tilt) if convention == "standard" else (tilt, turn)


def _snap(X: Transform) -> Transform:
    """Remove rounding residues of cos(π/2), so that axes and offsets along coordinate axes are exact."""
    return Transform(snapped(X.R), np.where(np.abs(X.p) < 1e-16, 0.0, X.p))


def _check(value: str, known: Sequence[str], what: str) -> None:
    if value not in known:
        raise InputError(f"unknown {what} '{value}': choose {', '.join(known)}")


__all__ = ["CONVENTIONS", "FRAMES", "Chain", "Limb", "Row", "chain", "forward", "robot", "row_transform"]


def __dir__() -> list[str]:
    return sorted(__all__)

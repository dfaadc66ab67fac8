"""Spine control beside a gait: held, sprung, locked and released, or moved in step with the legs.

The spine itself is part of the robot (``robot.with_spine``); this controls its motors and brakes. The inner controller
moves the legs, and its commands to the spine joints are replaced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from footfall.checks import finite_number, one_or_more_names
from footfall.control.interface import Command, Controller, ControllerInfo, ControllerWrapper, JointCommand, Sensed
from footfall.control.joint.joint_pd import check_gain
from footfall.control.joint.rhythm import on_the_ground
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from footfall.robot.model.placement import body_poses
from footfall.robot.model.spine import SPRING, spine_joints
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float

RIGID = (2e4, 200.0)  # [N m/rad], [N m s/rad]: gains of a motor that holds the spine
LOCKED = 1e9  # [N m s/rad]: a brake, under which a joint creeps by less than a microradian per second
_TURNING_RATE, _MIN_BEND = 0.1, 0.02  # [rad/s], [rad]: a spine faster and more bent than this may be about to reverse


@dataclass(frozen=True, kw_only=True)
class Spine(ControllerWrapper):
    """A controller of spine joints around another controller.

    At ``joints``: torque = kp (swing sin 2π(φ + phase) - q) - kd q̇ + share τ, with φ of the first leg and τ the inner
    controller's command.

    The joints ``moves`` swing, each by its fraction; positive extends the back or rolls it to the right. The other
    joints stay at zero with the same gains. With a ``brake`` [N m s/rad] each joint is locked where its motion
    reverses, at its largest bend, and released when a foot lands (after Deng et al. 2012 and Wei et al. 2015).
    """

    inner: Controller
    joints: str | tuple[str, ...] = ()  # the robot's spine unless given
    moves: str | tuple[str, ...] = ()  # the pitch joints unless given
    kp: float = RIGID[0]  # [N m/rad]
    kd: float = RIGID[1]  # [N m s/rad]
    swing: float = 0.0  # [rad]
    phase: float = 0.0  # [cycles] ahead of the first leg
    share: float = 0.0
    brake: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("kp", "kd", "swing", "share", *(() if self.brake is None else ("brake",))):
            check_gain(getattr(self, key), f"{key} of Spine", ())
        finite_number(self.phase, "phase of Spine")
        for key in ("joints", "moves"):
            one_or_more_names(getattr(self, key), f"{key} of Spine")

    @property
    def info(self) -> ControllerInfo:
        info = self.wrapped.info
        return replace(info, uses_foot_forces=self.brake is not None or info.uses_foot_forces)

    def start(self, robot: Robot) -> PyTree:
        named = self.motors(robot)
        for joint in (*named, *one_or_more_names(self.moves, "moves")):
            if joint not in robot.joint_names:
                raise unknown("spine joint", joint, robot.joint_names, f"robot '{robot.name}' has")
        if not named:
            raise InputError(f"robot '{robot.name}' has no spine: no joint carries several of its feet")
        inner = self.inner.start(robot)
        if self.swing and self.wrapped.gait_phase(inner, 0.0) is None:
            raise InputError(f"{self.wrapped.name} has no gait phase, which an actuated spine needs")
        if self.brake is None:
            return inner
        n = len(named)
        return {"inner": inner, "way": np.zeros(n), "locked": np.zeros(n), "down": np.ones(robot.nf)}

    def motors(self, robot: Robot) -> tuple[str, ...]:
        """Return the joints with a motor or a brake, unlike series springs."""
        own = tuple(name for name in spine_joints(robot) if not name.endswith(SPRING))
        return one_or_more_names(self.joints, "joints") or own

    def moving(self, robot: Robot) -> tuple[str, ...]:
        return one_or_more_names(self.moves, "moves") or tuple(
            name for name in self.motors(robot) if abs(robot.joint(name).axis[1]) > 0.9
        )

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        before = memory if self.brake is None else memory["inner"]
        inner_command, after = self.inner(t, robot, sensed, command, before)
        inner_command = inner_command.broadcast(robot.nj)
        named, spine = self.motors(robot), spine_joints(robot)
        own = _per_joint(robot, dict.fromkeys(named, 1.0))
        legs = 1.0 - _per_joint(robot, dict.fromkeys((*named, *spine), 1.0))
        phase, stride_fraction = self.wrapped.gait_phase(before, t) or (0.0, 0.0)
        angle = self.swing * stride_fraction * np.sin(2.0 * np.pi * (phase + self.phase))
        swing_angles = _per_joint(robot, _swing_shares(robot, self.moving(robot)))
        kd: Scalar = self.kd * own
        if self.brake is not None:
            locked, kept = self._lock(robot, sensed, memory)
            kd = kd + self.brake * np.stack(
                [locked[named.index(name)] if name in named else 0.0 * locked[0] for name in robot.joint_names]
            )
            after = {"inner": after, **kept}
        return (
            JointCommand(
                inner_command.position * legs + swing_angles * angle,
                inner_command.velocity * legs,
                inner_command.kp * legs + own * self.kp,
                inner_command.kd * legs + kd,
                inner_command.torque * (legs + own * self.share),
            ),
            after,
        )

    def _lock(self, robot: Robot, sensed: Sensed, memory: dict[str, PyTree]) -> tuple[PyTree, dict[str, PyTree]]:
        """Return (1 for every locked joint, memory): locked from a reversal of the joint until a foot lands."""
        at = [robot.joint_names.index(name) for name in self.motors(robot)]
        bend, rate = (np.stack([x[j - robot.nj] for j in at]) for x in (sensed.q, sensed.v))
        down = on_the_ground(robot, sensed)
        landed = np.max(down - memory["down"]) > 0.5
        turned_back = (memory["way"] * rate < 0.0) & (np.abs(bend) > _MIN_BEND)
        locked = np.where(landed, 0.0, np.where(turned_back, 1.0, memory["locked"]))
        direction = np.where(landed, 0.0, np.where(np.abs(rate) > _TURNING_RATE, np.sign(rate), memory["way"]))
        return locked, {"way": direction, "locked": locked, "down": down}


def _per_joint(robot: Robot, values: dict[str, float]) -> Float[ndarray, "nj"]:
    return np.array([values.get(name, 0.0) for name in robot.joint_names])


def _swing_shares(robot: Robot, joints: tuple[str, ...]) -> dict[str, float]:
    """Return each swinging joint's fraction of the whole swing, with the sign that makes positive extend the back."""
    found = {}
    poses = body_poses(robot)
    for name in joints:
        k = robot.joint_names.index(name) + 1
        body, joint = robot.tree.bodies[k], robot.joint(name)
        axis_W = poses[k].R @ joint.axis
        feet = [
            poses[b].point(p)[0]
            for b, p in zip(robot.tree.feet, robot.tree.foot_positions)
            if k in robot.tree.support[b]
        ]
        fore = 1.0 if np.mean(feet) > poses[body.parent].p[0] else -1.0
        found[name] = (-fore * float(np.sign(axis_W[1])) if abs(axis_W[1]) > 0.5 else 1.0) / len(joints)
    return found

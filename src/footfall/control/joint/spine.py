"""A spine beside a gait: held stiffly, left to a spring and a damper, or moved in step with the legs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from footfall.control.interface import Command, ControllerWrapper, JointCommand, Sensed
from footfall.control.joint.joint_pd import JointPD, check_gain
from footfall.errors import InputError, unknown
from footfall.gait.foot_path import start_ramp
from footfall.robot.model.description import Robot

MODES = ("rigid", "passive", "actuated")
RIGID = (2e4, 200.0)  # [N m/rad], [N m s/rad]


@dataclass(frozen=True)
class Spine(ControllerWrapper):
    """Joint PD for the legs, and for ``joints``: torque = kp (swing sin 2π(φ + phase) - q) - kd q̇, φ of the first leg.

    With no swing the joints are a spring and a damper: ``passive`` if they are meant to be no motor, ``rigid`` if they
    are stiff. Only ``moves`` swings; the others rest at zero with the same gains.
    """

    inner: JointPD
    joints: tuple[str, ...] = ("spine_pitch", "spine_roll")
    moves: str = "spine_pitch"
    kp: float = RIGID[0]  # [N m/rad]
    kd: float = RIGID[1]  # [N m s/rad]
    swing: float = 0.0  # [rad]
    phase: float = 0.0  # [cycles] ahead of the first leg

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("kp", "kd", "swing"):
            check_gain(getattr(self, key), f"{key} of Spine", ())
        if not np.isfinite(self.phase):
            raise InputError(f"phase of Spine must be finite, got {self.phase}")

    def start(self, robot: Robot) -> Any:
        for joint in (*self.joints, self.moves):
            if joint not in robot.joint_names:
                raise unknown("spine joint", joint, robot.joint_names, f"robot '{robot.name}' has")
        return self.inner.start(robot)

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Any
    ) -> tuple[JointCommand, Any]:
        answer, after = self.inner(t, robot, sensed, command, memory)
        answer = answer.spread(robot.nj)
        own = np.array([1.0 if name in self.joints else 0.0 for name in robot.joint_names])
        moves = np.array([1.0 if name == self.moves else 0.0 for name in robot.joint_names])
        angle = self.swing * start_ramp(self.inner.gait, t) * np.sin(2.0 * np.pi * (memory["phase"][0] + self.phase))
        return (
            JointCommand(
                answer.position * (1.0 - own) + moves * angle, answer.velocity, answer.kp * (1.0 - own) + own * self.kp,
                answer.kd * (1.0 - own) + own * self.kd, answer.torque,
            ),
            after,
        )  # fmt: skip

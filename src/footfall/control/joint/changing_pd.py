"""Joint PD through a change of gait: ``JointPD`` with a ``Transition`` in place of a gait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command, ControllerBase, JointCommand, Sensed, check_rate
from footfall.control.joint.joint_pd import SPINE_GAINS, check_gain, gains_of, planar_targets
from footfall.errors import InputError
from footfall.gait.foot_path import foot_offset, start_ramp
from footfall.gait.oscillators import Kuramoto
from footfall.gait.transition import Transition
from footfall.robot.model.description import Robot


@dataclass(frozen=True)
class ChangingPD(ControllerBase):
    """Feet on the paths of a changing gait, joints after them by PD; gains change with it.

    ``kp`` [N m/rad] and ``kd`` [N m s/rad] hold before and after, one number or two.
    """

    transition: Transition
    kp: tuple[float, float] = (40.0, 40.0)
    kd: tuple[float, float] = (1.0, 1.0)
    rate: float = 1000.0  # [Hz]
    coupling: float = 4.0  # of the oscillators [1/s]
    spine_kp: float = SPINE_GAINS[0]
    spine_kd: float = SPINE_GAINS[1]

    def __post_init__(self) -> None:
        if not isinstance(self.transition, Transition):
            raise InputError(f"ChangingPD needs a Transition, got {type(self.transition).__name__}")
        check_rate(self.rate)
        for key in ("kp", "kd"):
            for value in getattr(self, key):
                check_gain(value, f"{key} of ChangingPD", ())

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """The phases [cycles] of the first gait; says now what either gait cannot do."""
        for gait in (self.transition.first, self.transition.second):
            planar_targets(robot, gait, np.zeros(4), np.zeros(4))
        return {"phase": Kuramoto.of(self.transition.first, self.coupling).start()}

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Joints to start from [rad]: those of the first gait."""
        first = self.transition.first
        x, z = foot_offset(first, Kuramoto.of(first, self.coupling).start())
        ramp = start_ramp(first, 0.0)
        return planar_targets(robot, first, ramp * x, ramp * z)

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """It follows its gaits."""
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        change, phase = self.transition, memory["phase"]
        ramp, part = start_ramp(change.first, t), change.part(t)
        x, z = change.foot_offset(phase, t)
        ends: list[Float[ndarray, "nj"]] = [
            planar_targets(robot, gait, ramp * x, ramp * z) for gait in (change.first, change.second)
        ]  # they differ in height and foot pitch alone
        kp, kd = (
            gains_of(robot, a + (b - a) * part, spine)
            for (a, b), spine in ((self.kp, self.spine_kp), (self.kd, self.spine_kd))
        )
        position = ends[0] + (ends[1] - ends[0]) * part
        after = {"phase": change.advance(phase, t, 1.0 / self.rate, self.coupling)}
        return JointCommand(position=position, kp=kp, kd=kd), after

"""Joint PD through a change of gait: ``JointPD`` with a ``Transition`` instead of a gait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, JointCommand, Sensed, check_rate
from footfall.control.joint.joint_pd import (
    SPINE_GAINS,
    check_gain,
    check_inverse,
    gains_of,
    iterative_planar_targets,
    longest_stride,
    planar_targets,
)
from footfall.control.joint.pacing import Strider
from footfall.control.joint.rhythm import first_rhythm, next_rhythm, on_the_ground
from footfall.errors import InputError
from footfall.gait.foot_path import foot_offset, start_ramp
from footfall.gait.oscillators.networks import GaitTiming, Network, network_of
from footfall.gait.transition import Transition
from footfall.robot.model.description import Robot
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class ChangingPD(Controller):
    """Joint PD on the foot trajectories of a changing gait; its gains change with the gait.

    ``kp`` [N m/rad] and ``kd`` [N m s/rad] apply before and after. ``oscillator``, ``touchdown``, ``speed_feedback``
    and ``inverse`` are those of JointPD; a commanded speed applies to the second gait, and is scaled for the first.
    """

    transition: Transition
    kp: tuple[float, float] = (40.0, 40.0)
    kd: tuple[float, float] = (1.0, 1.0)
    rate: float = 1000.0  # [Hz]
    coupling: float = 4.0  # coupling of the oscillators [1/s]
    spine_kp: float = SPINE_GAINS[0]
    spine_kd: float = SPINE_GAINS[1]
    oscillator: str | Network = "kuramoto"
    touchdown: bool = False
    speed_feedback: float = 0.0  # [1/s]
    inverse: str = "closed"

    def __post_init__(self) -> None:
        if not isinstance(self.transition, Transition):
            raise InputError(f"ChangingPD needs a Transition, got {type(self.transition).__name__}")
        check_rate(self.rate)
        check_inverse(self.inverse, "ChangingPD")
        network_of(self.oscillator, self.coupling)
        for key in ("kp", "kd"):
            for value in getattr(self, key):
                check_gain(value, f"{key} of ChangingPD", ())
        check_gain(self.speed_feedback, "speed_feedback of ChangingPD", ())
        if self.speed_feedback and not (self.transition.first.stride and self.transition.second.stride):
            raise InputError(
                "ChangingPD with speed_feedback follows a speed by its strides: a gait that steps in place has none"
            )

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """Return the phases [cycles] of the first gait; raise an error for a gait that the robot cannot perform."""
        for gait in (self.transition.first, self.transition.second):
            planar_targets(robot, gait, np.zeros(4), np.zeros(4))
        paced = {"stride": np.zeros(2)} if self.speed_feedback else {}
        last = {} if self.inverse == "closed" else {"joints": self.posture(robot)}
        return {**first_rhythm(self._network, self.transition.timing(0.0)), **paced, **last}

    def gait_phase(self, memory: PyTree, t: Scalar) -> tuple[PyTree, PyTree]:
        return memory["phase"][0], 1.0

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Return the initial joint positions [rad] of the first gait."""
        first = self.transition.first
        x, z = foot_offset(first, GaitTiming.of(first).first_phase)
        ramp = start_ramp(first, 0.0)
        return planar_targets(robot, first, ramp * x, ramp * z)

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Return an empty dictionary: it follows its gaits and takes no command."""
        return {}

    def nominal_command(self, robot: Robot) -> Command:
        """Return the speed of its second gait, if it follows one."""
        return Command(forward=float(self.transition.second.speed)) if self.speed_feedback else Command()

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        change, phase = self.transition, memory["phase"]
        ramp, blend = start_ramp(change.first, t), change.blend_at(t)
        x, z = change.foot_offset(phase, t)
        paced: dict[str, ndarray] = {}
        if self.speed_feedback:
            max_strides = [longest_stride(robot, gait) for gait in (change.first, change.second)]
            speed, strides_des = change.blend("speed", t), command.forward / change.second.speed
            strider = Strider(
                speed, change.blend("period", t), max_strides[0] + (max_strides[1] - max_strides[0]) * blend
            )
            stride, paced["stride"] = strider.strides(
                strides_des * speed, strides_des, sensed, memory["stride"], ramp, self.speed_feedback, 1.0 / self.rate
            )
            x = stride * x
        ends: list[Float[ndarray, "nj"]] = [
            planar_targets(robot, gait, ramp * x, ramp * z)
            if self.inverse == "closed"
            else iterative_planar_targets(robot, gait, ramp * x, ramp * z, memory["joints"], self.inverse)
            for gait in (change.first, change.second)
        ]  # they differ only in height and foot pitch
        kp, kd = (
            gains_of(robot, a + (b - a) * blend, spine)
            for (a, b), spine in ((self.kp, self.spine_kp), (self.kd, self.spine_kd))
        )
        position = ends[0] + (ends[1] - ends[0]) * blend
        if self.inverse != "closed":
            paced["joints"] = position
        landed = on_the_ground(robot, sensed) if self.touchdown else None
        after = next_rhythm(self._network, memory, 1.0 / self.rate, change.timing(t), landed)
        return JointCommand(position=position, kp=kp, kd=kd), {**after, **paced}

    @property
    def _network(self) -> Network:
        return network_of(self.oscillator, self.coupling)

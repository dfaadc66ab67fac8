"""A controller that sees the robot with a delay of some ticks, including its joint loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

import nptrace
from footfall.control.fixed_model import FixedModel
from footfall.control.interface import Command, Inertial, JointCommand, Sensed
from footfall.robot.model.description import Robot
from nptrace._types import PyTree
from nptrace.array_types import Float


@dataclass(frozen=True, eq=False)
class DelayedController(FixedModel):
    """A controller that plans with a robot and whose loop is delayed by ``ticks`` (0: not at all).

    most: the longest delay that it can represent. The delay itself is part of its memory, so one program serves all
    delays up to ``most``.
    """

    ticks: int = 0
    most: int = 0

    NOT_IN_DIGEST = ("ticks",)

    def start(self, robot: Robot) -> dict[str, PyTree]:
        size, rows = robot.nq + robot.nv + 3 * robot.nf + 6, max(self.ticks, self.most) + 1
        seen = {"number": np.arange(rows) * 1.0, "row": np.zeros((rows, size))}
        return {"inner": self.inner.start(self.robot), "seen": seen, "count": 0.0, "ticks": float(self.ticks)}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, PyTree]
    ) -> tuple[JointCommand, dict[str, PyTree]]:
        now, ticks, fresh = _row(robot, sensed), memory["ticks"], memory["count"] < 0.5

        def moved_on(
            carried: tuple[PyTree, PyTree], place: dict[str, PyTree]
        ) -> tuple[tuple[PyTree, PyTree], dict[str, PyTree]]:
            newer, found = carried
            found = np.where(np.abs(place["number"] - ticks) < 0.5, newer, found)
            return (np.where(fresh, now, place["row"]), found), {"number": place["number"], "row": newer}

        (_, then), seen = nptrace.scan(moved_on, (now, now), memory["seen"])
        old = replace(_sensed(robot, then, sensed.imu is not None), gravity=sensed.gravity)
        joint_command, inner = self.inner(t, self.robot, old, command, memory["inner"])
        joint_command = joint_command.broadcast(robot.nj)
        q, rates = old.q[robot.nq - robot.nj :], old.v[robot.nv - robot.nj :]
        torque = (
            joint_command.kp * (joint_command.position - q)
            + joint_command.kd * (joint_command.velocity - rates)
            + joint_command.torque
        )
        late = ticks > 0.5  # its joint loop too: an undelayed one is left to the step, which integrates it implicitly
        kept = replace(
            joint_command,
            kp=np.where(late, 0.0, joint_command.kp),
            kd=np.where(late, 0.0, joint_command.kd),
            torque=np.where(late, torque, joint_command.torque),
        )
        return kept, {"inner": inner, "seen": seen, "count": memory["count"] + 1.0, "ticks": ticks}


def _row(robot: Robot, sensed: Sensed) -> Float[ndarray, "n"]:
    imu = np.zeros(6) if sensed.imu is None else np.concatenate([sensed.imu.acceleration, sensed.imu.gyro])
    return np.concatenate([sensed.q, sensed.v, np.reshape(sensed.forces, (3 * robot.nf,)), imu])


def _sensed(robot: Robot, row: Float[ndarray, "n"], imu: bool) -> Sensed:
    a, b = robot.nq, robot.nq + robot.nv
    forces, rest = np.reshape(row[b : b + 3 * robot.nf], (robot.nf, 3)), row[b + 3 * robot.nf :]
    return Sensed(q=row[:a], v=row[a:b], forces=forces, imu=Inertial(rest[:3], rest[3:]) if imu else None)


__all__ = ["DelayedController"]

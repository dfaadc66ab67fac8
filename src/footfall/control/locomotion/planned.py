"""What locomotion remembers from tick to tick, and what a plan hands to the solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.locomotion.last_sensed import NOTHING, LastSensed
from footfall.control.locomotion.reflexes.state import ReflexMemory
from footfall.control.locomotion.reflexes.switches import Reflexes
from footfall.control.locomotion.whole_body import Program
from nptrace._types import Scalar

if TYPE_CHECKING:
    from footfall.control.locomotion.legged_plan import LocomotionModel


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What one tick leaves to the next."""

    tick: Scalar
    phase: Scalar  # of the gait [cycles]
    walking: Scalar  # 1 while the gait runs, 0 while it stands
    started: Scalar
    wanted: Float[ndarray, "3"]  # x, y, yaw
    velocity: Float[ndarray, "3"]  # the smoothed command: forward, sideways, turn
    mean: Float[ndarray, "3"]  # of the base's velocity over the last strides, heading axes [m/s]
    delays: Float[ndarray, "4"]  # of the gait, which may change while it walks [cycles]
    beat: Float[ndarray, "2"]  # of the gait: duty, period [s]
    lift_off: Float[ndarray, "4 3"]
    last_down: Float[ndarray, "4 3"]
    down: Float[ndarray, "4"]
    reflex: ReflexMemory
    forces: Float[ndarray, "4 3"]  # of stage one [N]
    sag: Scalar  # by which the trunk is asked to be higher, so that it is as high as wanted [m]
    lack: Float[ndarray, "2"]  # by which it is asked to be faster, so that it is as fast as wanted [m/s]
    goal: Float[ndarray, "6"]  # the gait that is wanted: delays [cycles], duty, period [s]
    trouble: Float[ndarray, "3"]  # of stage one, stage two and what is sensed: 0, or what is wrong
    hand: Float[ndarray, "nh"]  # where an arm's hand is wanted [m], and how it pushes [N]; none without an arm
    last: LastSensed = NOTHING  # which a plan leaves out: it sees what may be trusted

    @staticmethod
    def at_start(model: LocomotionModel, reflexes: Reflexes | None = None) -> Memory:
        feet, gait = model.feet + np.array([0.0, 0.0, model.height]), model.gait
        robot, q = model.robot, np.concatenate([[0.0, 0.0, model.height, 1.0, 0.0, 0.0, 0.0], model.stand])
        loads = np.zeros((robot.nf, 3))
        loads[:4, 2] = 0.25 * model.body.weight
        return Memory(
            tick=0.0,
            phase=0.0,
            walking=0.0,
            started=0.0,
            wanted=np.zeros(3),
            velocity=np.zeros(3),
            mean=np.zeros(3),
            delays=np.array(gait.delays),
            beat=np.array([gait.duty, gait.period]),
            lift_off=feet,
            last_down=feet,
            down=np.ones(4),
            reflex=ReflexMemory.at_start(reflexes or Reflexes(), model.friction),
            forces=np.zeros((4, 3)),
            sag=0.0,
            lack=np.zeros(2),
            goal=np.array([*gait.delays, gait.duty, gait.period]),
            trouble=np.zeros(3),
            hand=np.zeros(0) if model.reach is None else model.reach.wanted,
            last=LastSensed(q, np.zeros(robot.nv), loads),
        )


@dataclass(frozen=True, kw_only=True)
class LocomotionPlan:
    """Where the base and the feet should go next, and the QP that finds the forces for it."""

    program: Program
    bias: Float[ndarray, "nv"]
    J: Float[ndarray, "4 3 nv"]
    acceleration: Float[ndarray, "6"]  # wanted of the base: ω̇ in base axes, classical in world axes
    swing: Float[ndarray, "4 3"]
    posture: Float[ndarray, "nj"]  # wanted accelerations of the joints that are free [rad/s²]
    feet: Float[ndarray, "4 3"]
    touchdown: Float[ndarray, "4 3"]
    normal: Float[ndarray, "3"]
    slope: Float[ndarray, "3"]  # height = slope[2] + slope[0] x + slope[1] y
    euler: Float[ndarray, "3"]  # roll, pitch, yaw
    level: Float[ndarray, "2"]  # wanted roll and pitch
    travel: Float[ndarray, "3"]  # wanted velocity along the ground, world axes
    lift: Scalar  # wanted height of the base over the ground [m]
    friction: Scalar  # that may be counted on
    beat: Float[ndarray, "2"]  # of the gait at this moment: duty, period [s]

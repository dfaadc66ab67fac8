"""The records of locomotion: constants, memory from tick to tick, and the plan for the solvers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command
from footfall.control.locomotion import rolling
from footfall.control.locomotion.driven import ActuatedJoints, actuated_joints
from footfall.control.locomotion.last_sensed import NO_READING, LastSensed
from footfall.control.locomotion.reach import Reach, stopped_joints
from footfall.control.locomotion.reflexes.safe_stop import crouch
from footfall.control.locomotion.reflexes.state import ReflexMemory
from footfall.control.locomotion.reflexes.switches import Reflexes
from footfall.control.locomotion.single_body import SingleBody
from footfall.control.locomotion.speed_limit import UNKNOWN_REACH_SPEED, LegLimits
from footfall.control.locomotion.whole_body import LocomotionGains, WholeBodyQP, torque_bounds
from footfall.control.posture import standing_state
from footfall.gait.pattern import Gait
from footfall.identity import digest_of
from footfall.kinematics.forward import foot_positions
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import Scalar
from nptrace.array_types import Float

# limits of a command; forward speed is limited by gait and legs (``LocomotionModel.fastest``) if that is known
COMMAND_LIMITS = Command(forward=UNKNOWN_REACH_SPEED, sideways=0.6, turn=1.5, height=0.08, roll=0.25, pitch=0.25)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocomotionModel:
    """The constants of a tick: robot, gait, rates, standing pose and force stage."""

    robot: Robot
    gait: Gait
    rate: float
    friction: float
    clearance: float
    gains: LocomotionGains
    height: float  # height of the base over the ground [m]
    feet: Float[ndarray, "4 3"]  # positions below the hips, from the base, base axes [m]
    stand: Float[ndarray, "nj"]  # joints of the standing pose [rad]
    body: SingleBody
    reach: Reach | None = None  # task of an arm
    stage: str  # one of ``STAGES`` of ``locomotion``
    stage_one_body: SingleBody  # single body that the forces of stage one move
    mpc_rate: float  # [Hz]
    joint_kd: float  # damping per kg of robot [N m s/rad]
    torque_limits: Float[ndarray, "nj"]  # [N m]
    crouch: Float[ndarray, "nj"]  # crouch of a safe stop [rad]

    NOT_IN_DIGEST = ("gait",)  # its gait is in the memory

    @property
    def ticks_between_solves(self) -> int:
        """Return the ticks from one MPC to the next, unless a foot lands or lifts."""
        return max(1, round(self.rate / self.mpc_rate))

    @staticmethod
    def of(
        robot: Robot,
        gait: Gait,
        *,
        rate: float,
        friction: float,
        clearance: float | None,
        gains: LocomotionGains,
        hip_height: float | None,
        gravity: Gravity = GRAVITY,
        reach: Reach | None = None,
        stage: str = "whole_body",
        mpc_rate: float = 40.0,
        joint_kd: float = 0.01,
    ) -> LocomotionModel:
        """Make the model of a robot; unless given, feet clear a fifth of the standing height."""
        q, _ = standing_state(robot, hip_height)
        joints, feet = q[7:], foot_positions(robot, q)[:4] - q[:3]
        clearance = 0.2 * float(q[2]) if clearance is None else clearance
        body = SingleBody.of(robot, joints, gravity)
        # -Jᵀf moves feet and legs too; the whole-body QP finds torques that move the trunk as commanded
        standing = body if stage == "whole_body" else SingleBody.on_its_feet(robot, joints, gravity)
        driven = actuated_joints(robot)
        return LocomotionModel(
            robot=robot,
            gait=gait,
            rate=rate,
            friction=friction,
            clearance=clearance,
            gains=gains,
            height=float(q[2]),
            feet=feet,
            stand=joints,
            body=body,
            reach=reach,
            stage=stage,
            stage_one_body=standing,
            mpc_rate=mpc_rate,
            joint_kd=joint_kd,
            torque_limits=torque_bounds(robot if driven is None else driven.serial_robot),
            crouch=crouch(robot, hip_height),
        )

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)

    @property
    def dt(self) -> float:
        return 1.0 / self.rate

    @property
    def driven(self) -> ActuatedJoints | None:
        """Return the joints with motors of a robot with closed loops; None without loops."""
        return actuated_joints(self.robot)

    @property
    def reduced_robot(self) -> Robot:
        """Return the robot as the whole-body QP sees it."""
        return self.robot if self.driven is None else self.driven.serial_robot

    @property
    def stopped(self) -> tuple[int, ...]:
        """Return the joints of an arm whose stops bound their accelerations."""
        return () if self.reach is None else stopped_joints(self.robot, self.reach.link)

    def all_joints(self, values: Float[ndarray, "nd"]) -> Float[ndarray, "nj"]:
        """Return numbers of the joints that the QP drives, for all joints."""
        return values if self.driven is None else self.driven.all_joints(values, self.robot.nj)

    @property
    def wheels(self) -> tuple[rolling.Wheel, ...]:
        """Return the wheels; None for a robot on feet."""
        return rolling.wheels_of(self.robot)

    @cached_property
    def legs(self) -> LegLimits:
        """Return the limits of the legs."""
        return LegLimits.of(self.robot, self.stand)

    def fastest(self, duty: Scalar, period: Scalar) -> Scalar:
        """Return the largest forward speed of a command [m/s]; for wheels, independent of the legs."""
        walking_speed = self.legs.fastest(duty, period)
        return np.maximum(rolling.MAX_ROLLING_SPEED, walking_speed) if self.wheels else walking_speed


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The state of the controller passed from one tick to the next."""

    tick: Scalar  # ticks since the last MPC was due
    phase: Scalar  # phases of the gait [cycles]
    is_walking: Scalar  # 1 while the gait runs, 0 while standing
    started: Scalar
    pose_des: Float[ndarray, "3"]  # x, y, yaw
    velocity: Float[ndarray, "3"]  # the smoothed command: forward, sideways, turn
    v_mean: Float[ndarray, "3"]  # mean velocity of the base over the last strides, heading axes [m/s]
    delays: Float[ndarray, "4"]  # delays of the gait, which may change while walking [cycles]
    timing: Float[ndarray, "2"]  # duty and period of the gait [s]
    lift_off: Float[ndarray, "4 3"]
    last_down: Float[ndarray, "4 3"]
    down: Float[ndarray, "4"]
    reflex: ReflexMemory
    forces: Float[ndarray, "4 3"]  # forces of stage one [N]
    height_integral: Scalar  # increase of the commanded height, so that the trunk reaches it [m]
    velocity_integral: Float[ndarray, "2"]  # increase of the commanded velocity, so that it is reached [m/s]
    gait_goal: Float[ndarray, "6"]  # the desired gait: delays [cycles], duty, period [s]
    trouble: Float[ndarray, "3"]  # status of stage one, stage two and sensors: 0, or a failure code
    hand: Float[ndarray, "nh"]  # target of an arm's hand [m], and its push [N]; none without an arm
    last_sensed: LastSensed = NO_READING  # omitted from a plan, which has checked readings instead

    @staticmethod
    def at_start(model: LocomotionModel, reflexes: Reflexes | None = None) -> Memory:
        feet, gait = model.feet + np.array([0.0, 0.0, model.height]), model.gait
        robot, q = model.robot, np.concatenate([[0.0, 0.0, model.height, 1.0, 0.0, 0.0, 0.0], model.stand])
        loads = np.zeros((robot.nf, 3))
        loads[:4, 2] = 0.25 * model.body.weight
        return Memory(
            tick=0.0,
            phase=0.0,
            is_walking=0.0,
            started=0.0,
            pose_des=np.zeros(3),
            velocity=np.zeros(3),
            v_mean=np.zeros(3),
            delays=np.array(gait.delays),
            timing=np.array([gait.duty, gait.period]),
            lift_off=feet,
            last_down=feet,
            down=np.ones(4),
            reflex=ReflexMemory.at_start(reflexes or Reflexes(), model.friction),
            forces=np.zeros((4, 3)),
            height_integral=0.0,
            velocity_integral=np.zeros(2),
            gait_goal=np.array([*gait.delays, gait.duty, gait.period]),
            trouble=np.zeros(3),
            hand=np.zeros(0) if model.reach is None else model.reach.goal,
            last_sensed=LastSensed(q, np.zeros(robot.nv), loads),
        )


@dataclass(frozen=True, kw_only=True)
class LocomotionPlan:
    """The next motion of the base and the feet, and the QP that finds the forces for it."""

    qp: WholeBodyQP
    bias: Float[ndarray, "nv"]
    J: Float[ndarray, "4 3 nv"]
    acceleration: Float[ndarray, "6"]  # desired acceleration of the base: ω̇ in base axes, classical in world axes
    swing: Float[ndarray, "4 3"]
    posture: Float[ndarray, "nj"]  # desired accelerations of the redundant joints [rad/s²]
    feet: Float[ndarray, "4 3"]
    touchdown: Float[ndarray, "4 3"]
    normal: Float[ndarray, "3"]
    slope: Float[ndarray, "3"]  # height = slope[2] + slope[0] x + slope[1] y
    euler: Float[ndarray, "3"]  # roll, pitch, yaw
    roll_pitch_des: Float[ndarray, "2"]  # desired roll and pitch
    v_des_ground: Float[ndarray, "3"]  # desired velocity along the ground, world axes
    height_des: Scalar  # desired height of the base over the ground [m]
    friction: float  # friction that may be relied on
    timing: Float[ndarray, "2"]  # present gait: duty, period [s]


__all__ = ["COMMAND_LIMITS", "LocomotionModel", "LocomotionPlan", "Memory"]

"""One tick of locomotion up to its quadratic programs: command, schedule, footsteps, tasks, matrices. Plain NumPy.

After the slides (two stages) and Yan 2021 (control framework): a velocity command is smoothed into a wanted pose, a
gait's schedule is corrected by what the feet feel, feet that are up swing to footholds, and the whole-body program is
written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command, Sensed
from footfall.control.locomotion import plan_steps, rolling
from footfall.control.locomotion.driven import ActuatedJoints, driven_of, reduced
from footfall.control.locomotion.plan_steps import (
    CommandReference,
    ContactSchedule,
    GroundEstimate,
    Kinematics,
    LegSchedule,
    PushResponse,
)
from footfall.control.locomotion.planned import LocomotionPlan, Memory
from footfall.control.locomotion.reach import Reach, kept_off, left_free, reach_task, stopped_joints
from footfall.control.locomotion.reflexes import responses, safe_stop, touchdown
from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.locomotion.reflexes.state import ReflexMemory, acting, held
from footfall.control.locomotion.single_body import SingleBody
from footfall.control.locomotion.speed_limit import UNKNOWN, LegLimits
from footfall.control.locomotion.whole_body import Gains, Program, Tasks, torque_bounds, whole_body_program
from footfall.control.posture import free_motions, standing_state
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.passive import joint_values
from footfall.gait.pattern import Gait
from footfall.identity import digest_of
from footfall.kinematics.forward import foot_positions
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import STANDARD, Gravity, strength
from footfall.spatial.rotation import about_z
from nptrace import norm
from nptrace._types import Scalar

# beyond these a command is clipped; forward by what gait and legs can do (``fastest``) where that is known
LIMITS = Command(forward=UNKNOWN, sideways=0.6, turn=1.5, height=0.08, roll=0.25, pitch=0.25)
LEASH, YAW_LEASH = 0.06, 0.3  # of the wanted pose [m, rad]
SAG, SETTLES = 0.02, 0.7  # of the trunk at most, by landing feet or a load [m]; until it is made up for [s]
# of the commanded speed at most, by which more is asked of a robot that lags; time for it [s]
MAKES_UP, WITHIN = 0.4, 1.5
COMPENSATED, REVERSAL = 0.8, 0.05  # part of the losses in joints; rate over which dry friction reverses [rad/s]


@dataclass(frozen=True, eq=False, kw_only=True)
class LocomotionModel:
    """The constants of a tick of locomotion: a robot, how it stands, its gait, and how its forces are found."""

    robot: Robot
    gait: Gait
    rate: float  # [Hz]
    mpc_rate: float  # [Hz]
    stage: str
    friction: float
    clearance: float  # [m]
    gains: Gains
    joint_kd: float  # per kg of robot [N m s/rad]
    height: float  # of the base over the ground [m]
    feet: Float[ndarray, "4 3"]  # under the hips, from the base, base axes [m]
    stand: Float[ndarray, "nj"]  # joints of the standing pose [rad]
    crouch: Float[ndarray, "nj"]  # joints of the pose that it folds into [rad]
    limits: Float[ndarray, "nd"]  # of the torques that the program finds [N m]
    body: SingleBody
    forces_body: SingleBody  # that of stage one, which finds the forces
    reach: Reach | None = None  # what an arm does

    NOT_IN_DIGEST = ("gait",)  # which is in the memory

    @staticmethod
    def of(
        robot: Robot,
        gravity: Gravity,
        *,
        gait: Gait,
        rate: float,
        mpc_rate: float,
        stage: str,
        friction: float,
        clearance: float | None,
        gains: Gains,
        joint_kd: float,
        hip_height: float | None,
        reach: Reach | None,
    ) -> LocomotionModel:
        """Return the constants for a robot, from the settings of a ``Locomotion``."""
        q, _ = standing_state(robot, hip_height)
        joints, feet = q[7:], foot_positions(robot, q)[:4] - q[:3]
        body = forces_body = SingleBody.of(robot, joints, gravity)
        if stage != "whole_body":  # which finds torques that move the trunk as commanded, whatever its inertia
            forces_body = SingleBody.on_its_feet(robot, joints, gravity)
        return LocomotionModel(
            robot=robot,
            gait=gait,
            rate=rate,
            mpc_rate=mpc_rate,
            stage=stage,
            friction=friction,
            clearance=0.2 * float(q[2]) if clearance is None else clearance,
            gains=gains,
            joint_kd=joint_kd,
            height=float(q[2]),
            feet=feet,
            stand=joints,
            crouch=safe_stop.crouch(robot, hip_height),
            limits=torque_bounds(program_robot(robot)),
            body=body,
            forces_body=forces_body,
            reach=reach,
        )

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)

    @property
    def dt(self) -> float:
        return 1.0 / self.rate

    @property
    def driven(self) -> ActuatedJoints | None:
        """The joints with motors of a robot with closed loops; None without."""
        return driven_of(self.robot)

    @property
    def own(self) -> Robot:
        """The robot as the whole-body program sees it."""
        return program_robot(self.robot)

    @property
    def stopped(self) -> tuple[int, ...]:
        """The joints of an arm whose stops bound their accelerations."""
        return () if self.reach is None else stopped_joints(self.robot, self.reach.link)

    def all_joints(self, values: Float[ndarray, "nd"]) -> Float[ndarray, "nj"]:
        """Numbers of the joints that the program drives, for all joints."""
        return values if self.driven is None else self.driven.all_joints(values, self.robot.nj)

    @property
    def wheels(self) -> tuple[rolling.Wheel, ...]:
        """None of a robot that walks on feet."""
        return rolling.wheels_of(self.robot)

    @cached_property
    def legs(self) -> LegLimits:
        """What they are capable of."""
        return LegLimits.of(self.robot, self.stand)

    def fastest(self, duty: Scalar, period: Scalar) -> Scalar:
        """The forward speed that a command may ask for [m/s]; wheels roll at theirs whatever the legs do."""
        stepping = self.legs.fastest(duty, period)
        return np.maximum(rolling.FASTEST, stepping) if self.wheels else stepping


def program_robot(robot: Robot) -> Robot:
    """Return the robot as the whole-body program sees it: of one with closed loops, an open tree like it."""
    driven = driven_of(robot)
    return robot if driven is None else driven.alike


def plan(model: LocomotionModel, sensed: Sensed, command: Command, memory: Memory) -> tuple[LocomotionPlan, Memory]:
    """The plan of this tick and the memory for the next (its forces are those of the last stage one)."""
    at, forces = Kinematics.of(model.robot, sensed), sensed.forces[:4]
    reference = reference_of(model, at, command, memory)
    push = plan_steps.push_response(model, at, memory, reference)
    schedule = plan_steps.schedule_of(model, at, memory, reference, push.alarm)
    steps = plan_steps.footholds(model, at, memory, reference, schedule, push.alarm)
    touched = plan_steps.touch(model, at, memory, schedule, steps.places, forces)
    ground = plan_steps.ground_estimate(model, at, memory, touched, forces)
    targets, pull = plan_steps.swings(model, at, schedule, touched, ground, steps.places)
    trunk = trunk_task(model, at, command, memory, reference, ground)
    written = _program(model, at, memory, reference, touched, ground, trunk, pull)
    reflex = _reflex_memory(model, memory, reference, push, schedule, touched, ground)
    after = Memory(
        tick=memory.tick + 1.0,
        phase=schedule.phase,
        walking=schedule.walking,
        started=1.0 + 0.0 * memory.started,
        wanted=reference.wanted,
        velocity=reference.velocity,
        mean=steps.mean,
        delays=memory.delays,
        beat=memory.beat,
        lift_off=touched.lift_off,
        last_down=touched.last_down,
        down=touched.down,
        reflex=reflex,
        forces=memory.forces,
        sag=trunk.sag,
        lack=reference.lack,
        goal=memory.goal,
        trouble=memory.trouble,
        hand=memory.hand,
    )
    euler = np.array([at.roll, at.pitch, at.yaw])
    planned = LocomotionPlan(
        program=written.program,
        bias=written.bias,
        J=written.J,
        acceleration=trunk.acceleration,
        swing=pull,
        posture=written.posture,
        feet=at.feet,
        touchdown=targets,
        normal=ground.normal,
        slope=ground.slope,
        euler=euler,
        level=trunk.level,
        travel=trunk.travel,
        lift=trunk.lift,
        friction=ground.friction,
        beat=np.stack([schedule.duty, schedule.period]),
    )
    return planned, after


def reference_of(model: LocomotionModel, at: Kinematics, command: Command, memory: Memory) -> CommandReference:
    """The command, clipped, smoothed, and integrated into a wanted pose on a short leash."""
    q, yaw, dt = at.q, at.yaw, model.dt
    highest = GEARS[-1]  # of the gaits by speed, which a command may shift up to
    by_gait = model.fastest(memory.beat[0], memory.beat[1])
    most = np.where(memory.reflex.has("speed_gait"), model.fastest(highest.duty, highest.period), by_gait)
    bounds = np.array([most, LIMITS.sideways, LIMITS.turn])
    clipped = np.clip(np.array([command.forward, command.sideways, command.turn]), -bounds, bounds)
    grip = np.clip(memory.reflex.friction / model.friction, 0.2, 1.0)
    # where things weigh less feet push less, and all takes longer
    weak = min(1.0, strength(model.body.gravity) / STANDARD)
    most = weak * np.array([1.0, 0.8, 2.0]) * dt * grip
    velocity = memory.velocity + np.clip(clipped - memory.velocity, -most, most)
    wanted = np.where(memory.started > 0.5, memory.wanted, np.array([q[0], q[1], yaw]))
    across = about_z(wanted[2]) @ np.array([velocity[0], velocity[1], 0.0])
    lag = _within_turn(wanted[2] + dt * velocity[2] - yaw)
    wanted = np.array(
        [
            q[0] + np.clip(wanted[0] + dt * across[0] - q[0], -LEASH, LEASH),
            q[1] + np.clip(wanted[1] + dt * across[1] - q[1], -LEASH, LEASH),
            yaw + np.clip(lag, -YAW_LEASH, YAW_LEASH),
        ]
    )
    # a slope that heavy legs climb keeps back more than the leash may pull: ask for more, up to a part of the command
    most = (0.0 if model.wheels else MAKES_UP) * np.sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1])
    lack = np.clip(memory.lack + dt / (WITHIN / weak) * (velocity[:2] - memory.mean[:2]), -most, most)
    across = about_z(wanted[2]) @ np.array([velocity[0] + lack[0], velocity[1] + lack[1], 0.0])
    return CommandReference(command=clipped, velocity=velocity, wanted=wanted, lack=lack, across=across, grip=grip)


@dataclass(frozen=True, kw_only=True)
class TrunkTask:
    """How the trunk is to move."""

    turn: Float[ndarray, "3"]  # wanted angular acceleration, base axes [rad/s²]
    move: Float[ndarray, "3"]  # and linear, world axes [m/s²]
    level: Float[ndarray, "2"]  # wanted roll and pitch [rad]
    travel: Float[ndarray, "3"]  # wanted velocity along the ground, world axes [m/s]
    lift: Scalar  # wanted height over the ground [m]
    sag: Scalar  # by which this is higher, so that the trunk is as high as wanted [m]

    @property
    def acceleration(self) -> Float[ndarray, "6"]:
        return np.concatenate([self.turn, self.move])


def trunk_task(
    model: LocomotionModel,
    at: Kinematics,
    command: Command,
    memory: Memory,
    reference: CommandReference,
    ground: GroundEstimate,
) -> TrunkTask:
    """The trunk along the ground, level with it, and at its height."""
    q, across, wanted = at.q, reference.across, reference.wanted
    n_H = at.heading.T @ ground.normal
    most = np.array([LIMITS.roll, LIMITS.pitch])
    leaning = np.clip(np.array([command.roll, command.pitch]), -most, most)
    level = np.array([np.arctan2(-n_H[1], n_H[2]), np.arctan2(n_H[0], n_H[2])]) + leaning
    kp, kd = model.gains.base_turn
    error = np.array([level[0] - at.roll, level[1] - at.pitch, _within_turn(wanted[2] - at.yaw)])
    turn = kp * error + kd * (at.R.T @ reference.spin - at.v[:3])
    travel = np.array([across[0], across[1], ground.slope[0] * across[0] + ground.slope[1] * across[1]])
    high = model.height + ground.rise + np.clip(command.height, -LIMITS.height, LIMITS.height)
    too_low = ground.height(q[0], q[1]) + high - q[2]
    sag = np.clip(memory.sag + model.dt / SETTLES * np.clip(too_low, -0.5 * SAG, 0.5 * SAG), -SAG, SAG)
    lift = high + sag
    kp, kd = model.gains.base_move
    place = np.array([wanted[0], wanted[1], ground.height(q[0], q[1]) + lift])
    move = kp * np.array([0.3, 0.3, 1.0]) * (place - q[:3]) + kd * (travel - at.velocity)
    return TrunkTask(turn=turn, move=move, level=level, travel=travel, lift=lift, sag=sag)


@dataclass(frozen=True)
class _Written:
    """The whole-body program and what of it the solvers need besides."""

    program: Program
    bias: Float[ndarray, "nv"]
    J: Float[ndarray, "4 3 nv"]
    posture: Float[ndarray, "nj"]  # wanted accelerations of the joints that are free [rad/s²]


def _program(
    model: LocomotionModel,
    at: Kinematics,
    memory: Memory,
    reference: CommandReference,
    touched: ContactSchedule,
    ground: GroundEstimate,
    trunk: TrunkTask,
    pull: Float[ndarray, "4 3"],
) -> _Written:
    """The trunk moves as the forces of stage one would move it, and by its own feedback."""
    robot, gains, gravity, wheels, own = model.robot, model.gains, model.body.gravity, model.wheels, model.own
    q, v, R, down, normal = at.q, at.v, at.R, touched.down, ground.normal
    J, rate_J, stops = at.J, at.bias_J[:, 3:], np.zeros((4, 3))
    losses = np.concatenate([np.zeros(6), _losses(robot, v[6:])])
    bias = bias_terms(robot, q, v, gravity) + losses
    arms = at.feet - at.radii[:, None] * np.array([0.0, 0.0, 1.0]) - (q[:3] + R @ model.body.com)
    by_force, free_base = model.body.base_acceleration(R, v[:6], arms)
    base = free_base + gains.base_feedback * np.concatenate([trunk.turn, R.T @ trunk.move])
    if wheels:
        touching = rolling.rolling(wheels, J, at.J_turn, rate_J, at.bias_J[:, :3], v, normal, down)
        J, rate_J, stops = touching.J, touching.rate_J, touching.stops
    M, driven = mass_matrix(robot, q), model.driven
    sits, moves = model.stand - q[7:], v[6:]
    if driven is not None:  # in the coordinates of the motors
        terms = reduced(robot, q, v, M, bias, J, rate_J)
        M, bias, J, rate_J = terms.M, terms.bias, terms.J, terms.rate_J
        sits, moves = (np.stack([x[j] for j in driven.joints]) for x in (sits, moves))
    free, hand = free_motions(own, J[:, :, 6:]), None
    if model.reach is not None:
        hand = reach_task(robot, model.reach, memory.hand, q, v)
        free, bias = left_free(robot, model.reach, hand.J, free), bias + hand.pushes
        sits = kept_off(robot, model.reach.link, sits, q)
    posture = gains.posture[0] * sits - gains.posture[1] * moves
    if wheels:
        posture = rolling.wheel_posture(wheels, posture, v, at.heading[:, 0] @ reference.across)
    posture = free @ posture
    tasks = Tasks(
        base=base,
        base_by_force=by_force,
        swing=pull,
        joints=posture,
        free=free,
        down=down,
        normal=normal,
        stops=stops,
        reach=hand,
    )
    program = whole_body_program(own, gains, ground.friction, M, bias, J, rate_J, tasks, gravity)
    return _Written(program, bias, J, posture)


def _reflex_memory(
    model: LocomotionModel,
    memory: Memory,
    reference: CommandReference,
    push: PushResponse,
    schedule: LegSchedule,
    touched: ContactSchedule,
    ground: GroundEstimate,
) -> ReflexMemory:
    reflex, has = memory.reflex, memory.reflex.has
    speed, g = norm(reference.velocity[:2], 1e-9), strength(model.body.gravity)
    gear = responses.gear(reflex.gear, speed, model.height, g=g)
    tilt = np.arccos(np.clip(ground.normal[2], -1.0, 1.0))
    trunk = {
        "sidestep": push.alarm > 0.0,
        "safe_stop": push.folded > 0.5,
        "slope": held(reflex, "slope", tilt, responses.SLOPED),
        "rough_ground": held(reflex, "rough_ground", np.sqrt(ground.unevenness + 1e-12), responses.ROUGH),
    }
    legs = {
        "early_touchdown": touched.early & (schedule.progress < touchdown.ON_TIME) & (memory.down < 0.5),
        "slip": ground.slides,
        "missed_touchdown": touched.reaching & (touched.since > touchdown.LATE),
        "stumble": touched.again > 0.0,
    }
    return ReflexMemory(
        on=reflex.on,
        acting=acting(legs, trunk, np.where(has("speed_gait"), gear, 0.0)),
        since=touched.since,
        slid=ground.slid,
        friction=ground.friction,
        barred=touched.barred_for,
        again=touched.again,
        lasting=touched.lasting,
        higher=np.where(touched.down > 0.5, 0.0, touched.higher),
        alarm=push.alarm,
        doomed=push.doomed,
        folded=push.folded,
        unevenness=ground.unevenness,
        gear=gear,
    )


def _losses(robot: Robot, rates: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """What motors add for the joints' own damping and dry friction [N m]; more than there is would drive the joints."""
    drag = joint_values(robot, "dry_friction") / np.maximum(np.abs(rates), REVERSAL)
    return COMPENSATED * (joint_values(robot, "damping") + drag) * rates


def _within_turn(angle: Scalar) -> Scalar:
    """The same angle within ±π."""
    return angle - 2.0 * np.pi * np.floor(angle / (2.0 * np.pi) + 0.5)


__all__ = ["LEASH", "LIMITS", "YAW_LEASH", "LocomotionModel", "LocomotionPlan", "Memory", "plan"]

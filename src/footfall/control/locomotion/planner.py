"""One tick of locomotion up to its QPs: command, schedule, footsteps, tasks, matrices. Plain NumPy.

After the slides (two stages) and Yan 2021 (control framework): a velocity command is smoothed into a desired pose, a
gait's schedule is corrected by measured contacts, swing feet move to footholds, and the whole-body QP is set up. Each
step takes the results of the previous ones and returns one record; ``plan_tick`` calls them in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Sensed
from footfall.control.locomotion import rolling
from footfall.control.locomotion.driven import reduced
from footfall.control.locomotion.footsteps import foothold, ground_slope, swing
from footfall.control.locomotion.reach import keep_off_stops, reach_task, remove_task_motions
from footfall.control.locomotion.reflexes import responses, safe_stop, sidestep, slip, stumble, touchdown
from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.locomotion.reflexes.state import ReflexMemory, acting, is_acting
from footfall.control.locomotion.types import COMMAND_LIMITS, LocomotionModel, LocomotionPlan, Memory
from footfall.control.locomotion.whole_body import Tasks, WholeBodyQP, whole_body_qp
from footfall.control.posture import free_motions
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.passive import joint_values
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial import cross
from footfall.spatial.gravity import STANDARD, strength, weight_of
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_z, to_euler
from nptrace import norm
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float, Shaped

MAX_POSITION_ERROR, MAX_YAW_ERROR = 0.06, 0.3  # limits of the desired pose [m, rad]
# largest sag of the trunk, from landing feet or a load [m]; time constant of its correction [s]
MAX_HEIGHT_INTEGRAL, HEIGHT_INTEGRAL_TIME = 0.02, 0.7
# fraction of the commanded speed by which the command is raised at most for a robot that lags; time constant [s]
MAX_VELOCITY_INTEGRAL, VELOCITY_INTEGRAL_TIME = 0.4, 1.5
# fraction of the losses in joints; rate over which dry friction reverses [rad/s]
LOSS_COMPENSATION, DRY_FRICTION_RATE = 0.8, 0.05
MAX_STEP = 0.45  # largest distance of footholds from below the hip, as a fraction of the height
CONTACT_LOAD = 0.03  # fraction of the weight: a foot with this load is in contact
_SWING_DEPTH = 0.008  # [m] below the ground, target of a swing: it still moves down when it meets the ground


def plan_tick(
    model: LocomotionModel, sensed: Sensed, command: Command, memory: Memory
) -> tuple[LocomotionPlan, Memory]:
    """Return the plan of this tick and the memory for the next (its forces are those of the last stage one)."""
    kinematics, forces = Kinematics.of(model.robot, sensed), sensed.forces[:4]
    reference = command_reference(model, kinematics, command, memory)
    push = push_response(model, kinematics, memory, reference)
    schedule = leg_schedule(model, kinematics, memory, reference, push.alarm)
    feet_goals = footholds(model, kinematics, memory, reference, schedule, push.alarm)
    contacts = contact_schedule(model, kinematics, memory, schedule, feet_goals.positions, forces)
    ground = ground_estimate(model, kinematics, memory, contacts, forces)
    targets, swing_acceleration = swing_accelerations(
        model, kinematics, schedule, contacts, ground, feet_goals.positions, push.alarm
    )
    trunk = trunk_task(model, kinematics, command, memory, reference, ground)
    qp_terms = _write_qp(model, kinematics, memory, reference, contacts, ground, trunk, swing_acceleration)
    reflex = _reflex_memory(model, memory, reference, push, schedule, contacts, ground)
    memory_after = Memory(
        tick=np.where(memory.tick > model.ticks_between_solves - 1.5, 0.0, memory.tick + 1.0),
        phase=schedule.phase,
        is_walking=schedule.is_walking,
        started=1.0 + 0.0 * memory.started,
        pose_des=reference.pose_des,
        velocity=reference.velocity,
        v_mean=feet_goals.v_mean,
        delays=memory.delays,
        timing=memory.timing,
        lift_off=contacts.lift_off,
        last_down=contacts.last_down,
        down=contacts.down,
        reflex=reflex,
        forces=memory.forces,
        height_integral=trunk.height_integral,
        velocity_integral=reference.velocity_integral,
        gait_goal=memory.gait_goal,
        trouble=memory.trouble,
        hand=memory.hand,
    )
    euler = np.array([kinematics.roll, kinematics.pitch, kinematics.yaw])
    plan = LocomotionPlan(
        qp=qp_terms.qp,
        bias=qp_terms.bias,
        J=qp_terms.J,
        acceleration=trunk.acceleration,
        swing=swing_acceleration,
        posture=qp_terms.posture,
        feet=kinematics.feet,
        touchdown=targets,
        normal=ground.normal,
        slope=ground.slope,
        euler=euler,
        roll_pitch_des=trunk.roll_pitch_des,
        v_des_ground=trunk.v_des_ground,
        height_des=trunk.height_des,
        friction=ground.friction,
        timing=np.stack([schedule.duty, schedule.period]),
    )
    return plan, memory_after


@dataclass(frozen=True, kw_only=True)
class Kinematics:
    """The pose and motion of the robot."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    R: Float[ndarray, "3 3"]  # R_WB
    roll: Scalar
    pitch: Scalar
    yaw: float
    velocity: Float[ndarray, "3"]  # velocity of the base, world axes [m/s]
    feet: Float[ndarray, "4 3"]  # world axes [m]
    J: Float[ndarray, "4 3 nv"]  # Jacobians of the feet, linear
    J_turn: Float[ndarray, "4 3 nv"]  # angular
    bias_J: Float[ndarray, "4 6"]  # Jdot v of the feet: angular, linear
    radii: Float[ndarray, "4"]  # radii of the feet [m]

    @staticmethod
    def of(robot: Robot, sensed: Sensed) -> Kinematics:
        q, v = sensed.q, sensed.v
        R = to_rotation(q[3:7])
        yaw, pitch, roll = to_euler(R, "zyx")
        velocity = R @ v[3:6]
        feet, J = foot_positions(robot, q)[:4], feet_jacobian(robot, q)[:4]
        bias_J = feet_bias_acceleration(robot, q, v)[:4]
        radii = np.array([foot.radius for foot in robot.feet[:4]])
        return Kinematics(
            q=q,
            v=v,
            R=R,
            roll=roll,
            pitch=pitch,
            yaw=yaw,
            velocity=velocity,
            feet=feet,
            J=J[:, 3:],
            J_turn=J[:, :3],
            bias_J=bias_J,
            radii=radii,
        )

    @property
    def heading(self) -> Float[ndarray, "3 3"]:
        """Return level axes that follow the robot's heading."""
        return about_z(self.yaw)


@dataclass(frozen=True, kw_only=True)
class CommandReference:
    """The command, clipped and smoothed."""

    command: Float[ndarray, "3"]  # forward, sideways, turn, within the limits
    velocity: Float[ndarray, "3"]  # smoothed command
    pose_des: Float[ndarray, "3"]  # x, y, yaw
    velocity_integral: Float[ndarray, "2"]  # addition to the command for a robot that lags [m/s]
    velocity_des_W: Float[ndarray, "3"]  # desired velocity, world axes
    friction_scale: Scalar  # remaining friction, as a fraction of the nominal one

    @property
    def omega_des_W(self) -> Float[ndarray, "3"]:
        return np.array([0.0, 0.0, self.velocity[2]])


def command_reference(
    model: LocomotionModel, kinematics: Kinematics, command: Command, memory: Memory
) -> CommandReference:
    """Clip and smooth the command, and integrate it into a desired pose close to the current one."""
    q, yaw, dt = kinematics.q, kinematics.yaw, model.dt
    highest = GEARS[-1]  # with gaits by speed, a command may shift up to the highest
    by_gait = model.fastest(memory.timing[0], memory.timing[1])
    max_speed = np.where(memory.reflex.has("speed_gait"), model.fastest(highest.duty, highest.period), by_gait)
    limits = np.array([max_speed, COMMAND_LIMITS.sideways, COMMAND_LIMITS.turn])
    clipped = np.clip(np.array([command.forward, command.sideways, command.turn]), -limits, limits)
    friction_scale = np.clip(memory.reflex.friction / model.friction, 0.2, 1.0)
    # in weaker gravity feet push less, and everything takes longer
    gravity_scale = min(1.0, strength(model.body.gravity) / STANDARD)
    max_change = gravity_scale * np.array([1.0, 0.8, 2.0]) * dt * friction_scale
    velocity = memory.velocity + np.clip(clipped - memory.velocity, -max_change, max_change)
    pose_des = np.where(memory.started > 0.5, memory.pose_des, np.array([q[0], q[1], yaw]))
    velocity_des_W = about_z(pose_des[2]) @ np.array([velocity[0], velocity[1], 0.0])
    yaw_error = _wrap_angle(pose_des[2] + dt * velocity[2] - yaw)
    pose_des = np.array(
        [
            q[0] + np.clip(pose_des[0] + dt * velocity_des_W[0] - q[0], -MAX_POSITION_ERROR, MAX_POSITION_ERROR),
            q[1] + np.clip(pose_des[1] + dt * velocity_des_W[1] - q[1], -MAX_POSITION_ERROR, MAX_POSITION_ERROR),
            yaw + np.clip(yaw_error, -MAX_YAW_ERROR, MAX_YAW_ERROR),
        ]
    )
    # heavy legs on a slope lag more than the position error corrects: raise the command, up to a fraction of it
    speed = np.sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1])
    max_integral = (0.0 if model.wheels else MAX_VELOCITY_INTEGRAL) * speed
    velocity_integral = np.clip(
        memory.velocity_integral + dt / (VELOCITY_INTEGRAL_TIME / gravity_scale) * (velocity[:2] - memory.v_mean[:2]),
        -max_integral,
        max_integral,
    )
    velocity_des_W = about_z(pose_des[2]) @ np.array(
        [velocity[0] + velocity_integral[0], velocity[1] + velocity_integral[1], 0.0]
    )
    return CommandReference(
        command=clipped,
        velocity=velocity,
        pose_des=pose_des,
        velocity_integral=velocity_integral,
        velocity_des_W=velocity_des_W,
        friction_scale=friction_scale,
    )


@dataclass(frozen=True)
class PushResponse:
    """The response to a push that normal steps do not catch."""

    alarm: Scalar  # time left of a sidestep [s]
    falling_for: Scalar  # how long a fall has been certain [s]
    folded: Scalar  # 1 once the legs fold


def push_response(
    model: LocomotionModel, kinematics: Kinematics, memory: Memory, reference: CommandReference
) -> PushResponse:
    reflex, has, velocity_des_W = memory.reflex, memory.reflex.has, reference.velocity_des_W
    velocity_des_level = np.array([velocity_des_W[0], velocity_des_W[1], 0.0])
    com, g = center_of_mass(model.robot, kinematics.q), strength(model.body.gravity)
    margin = sidestep.margin(
        sidestep.capture_point(com, kinematics.velocity, velocity_des_level, model.height, g), kinematics.feet
    )
    alarm = sidestep.update_alarm(has("sidestep"), margin, reflex.alarm, model.dt)
    falling_for, folded = safe_stop.update_folding(
        has("safe_stop"),
        safe_stop.fall_is_certain(kinematics.R[2, 2]),
        reflex.falling_for,
        reflex.folded,
        model.dt,
    )
    return PushResponse(alarm, falling_for, folded)


@dataclass(frozen=True, kw_only=True)
class LegSchedule:
    """Stance or swing of every leg by the gait at this time."""

    duty: Scalar
    period: Scalar  # [s]
    is_walking: Scalar  # 1 while the gait runs, 0 while it stands
    phase: Scalar  # phases of the gait [cycles]
    in_stance: Float[ndarray, "4"]  # 1 for a foot in scheduled stance
    progress: Float[ndarray, "4"]  # fraction of a swing, 0 to 1; 1 in scheduled stance
    swing_time_left: Float[ndarray, "4"]  # time left of a swing [s]
    repeated: Shaped[ndarray, "4"]  # whether a swing was restarted after a stumble
    stance_time: Operand  # duration [s]
    swing_time: Scalar  # duration [s]


def leg_schedule(
    model: LocomotionModel, kinematics: Kinematics, memory: Memory, reference: CommandReference, alarm: Scalar
) -> LegSchedule:
    wheels, dt, reflex = model.wheels, model.dt, memory.reflex
    duty, period = memory.timing[0], memory.timing[1]
    period = period * np.where(alarm > 0.0, sidestep.PERIOD_SCALE, 1.0)
    first = 1 if wheels else 0  # wheels step to turn or move sideways, and roll ahead
    command, velocity = reference.command[first:], reference.velocity[first:]
    is_commanded = (np.max(np.abs(command)) > 0.02) | (np.max(np.abs(velocity)) > 0.02) | (alarm > 0.0)
    is_slow = np.max(np.abs(kinematics.v[4:5] if wheels else kinematics.velocity[:2])) < 0.1
    is_walking = np.where(is_commanded, 1.0, np.where(is_slow, 0.0, memory.is_walking))
    phase = np.where(memory.is_walking > 0.5, memory.phase, 0.0)
    phase = np.where(is_walking > 0.5, _fraction(phase + dt / period), 0.0)
    leg_phase = _fraction(phase - memory.delays)
    in_stance = np.where((leg_phase < duty) | (is_walking < 0.5), 1.0, 0.0)
    stance_time, swing_time = duty * period, (1.0 - duty) * period
    progress = np.where(in_stance > 0.5, 1.0, np.clip((leg_phase - duty) / (1.0 - duty), 0.0, 1.0))
    repeated = reflex.repeat_left > 0.0
    progress = np.where(repeated, 1.0 - reflex.repeat_left / np.maximum(reflex.repeat_time, dt), progress)
    swing_time_left = np.where(repeated, reflex.repeat_left, (1.0 - progress) * swing_time)
    return LegSchedule(
        duty=duty,
        period=period,
        is_walking=is_walking,
        phase=phase,
        in_stance=in_stance,
        progress=progress,
        swing_time_left=swing_time_left,
        repeated=repeated,
        stance_time=stance_time,
        swing_time=swing_time,
    )


@dataclass(frozen=True)
class Footholds:
    """Where swing feet will land."""

    positions: list[Float[ndarray, "3"]]  # world axes [m]; their height comes from the ground
    v_mean: Float[ndarray, "3"]  # mean velocity of the base over the last strides, heading axes [m/s]


def footholds(
    model: LocomotionModel,
    kinematics: Kinematics,
    memory: Memory,
    reference: CommandReference,
    schedule: LegSchedule,
    alarm: Operand,
) -> Footholds:
    heading, g = kinematics.heading, strength(model.body.gravity)
    # the body sways over its feet within every step: footholds follow the mean velocity, if there is time for it
    v_mean = memory.v_mean + model.dt / (0.5 * schedule.period) * (heading.T @ kinematics.velocity - memory.v_mean)
    v_filtered = np.where(alarm > 0.0, kinematics.velocity, heading @ v_mean)
    reach = reference.friction_scale * np.where(alarm > 0.0, sidestep.MAX_STEP, MAX_STEP)
    positions = []
    for k in range(4):
        hip = heading @ model.feet[k]
        turning_velocity = cross(reference.omega_des_W, hip)
        under_hip = kinematics.q[:3] + hip + schedule.swing_time_left[k] * (v_filtered + turning_velocity)
        hip_velocity, hip_velocity_des = v_filtered + turning_velocity, reference.velocity_des_W + turning_velocity
        if model.wheels:
            hip_velocity, hip_velocity_des = (
                rolling.without_forward(heading, hip_velocity),
                rolling.without_forward(heading, hip_velocity_des),
            )
        positions.append(
            foothold(
                under_hip, hip_velocity, hip_velocity_des, schedule.stance_time, model.height, reach, alarm > 0.0, g
            )
        )
    return Footholds(positions, v_mean)


@dataclass(frozen=True, kw_only=True)
class ContactSchedule:
    """Which feet carry load: the gait's schedule, corrected by the measured contacts."""

    down: Float[ndarray, "4"]  # 1 for a foot that should carry load
    stands: Shaped[ndarray, "4"]  # whether it is in contact
    early: Shaped[ndarray, "4"]  # whether it landed early
    reaching: Shaped[ndarray, "4"]  # whether it is late, and reaches further down
    late_for: Float[ndarray, "4"]  # how long it has been late [s]
    blocked_for: Float[ndarray, "4"]  # how long an obstacle has been in its way [s]
    repeat_left: Float[ndarray, "4"]  # time left of a restarted swing [s]
    repeat_time: Float[ndarray, "4"]  # total duration of a restarted swing [s]
    extra_clearance: Float[ndarray, "4"]  # additional clearance [m]
    lift_off: Float[ndarray, "4 3"]
    last_down: Float[ndarray, "4 3"]


def contact_schedule(
    model: LocomotionModel,
    kinematics: Kinematics,
    memory: Memory,
    schedule: LegSchedule,
    positions: list[Operand],
    forces: Float[ndarray, "4 3"],
) -> ContactSchedule:
    reflex, has, dt = memory.reflex, memory.reflex.has, model.dt
    in_stance, progress, repeated = schedule.in_stance, schedule.progress, schedule.repeated
    weight = weight_of(model.robot.mass, model.body.gravity)
    in_contact = np.stack([norm(f, 1e-9) for f in forces]) > CONTACT_LOAD * weight
    swinging = np.where((memory.down < 0.5) & ((in_stance < 0.5) | repeated), 1.0, 0.0)
    directions = [stumble.direction(memory.lift_off[k], positions[k]) for k in range(4)]
    blocked = np.stack(
        [
            stumble.is_blocked(has("stumble"), swinging[k], progress[k], in_contact[k], forces[k], directions[k])
            for k in range(4)
        ]
    )
    blocked_for = np.where(blocked, reflex.blocked_for + dt, 0.0)
    hit = blocked_for > stumble.MIN_DURATION
    scheduled = np.where(repeated, 0.0, in_stance)
    catching = reflex.alarm > 0.0
    early = touchdown.early(has("early_touchdown"), scheduled, progress, in_contact, catching) & ~blocked
    repeat_left, repeat_time, extra_clearance = stumble.repeat_swing(
        hit, schedule.swing_time_left, reflex.repeat_left, reflex.repeat_time, reflex.extra_clearance, dt
    )
    repeat_left = np.where(early, 0.0, repeat_left)
    reaching, late_for = touchdown.missed(
        has("missed_touchdown"), in_stance, in_contact, memory.down, reflex.late_for, dt
    )
    down = np.where(early, 1.0, np.where(reaching | (repeat_left > 0.0), 0.0, in_stance))
    lifting = (down < 0.5) & (memory.down > 0.5)
    lift_off = np.where((lifting | hit)[:, None], kinematics.feet, memory.lift_off)
    lift_off = lift_off - np.where(hit[:, None], stumble.RETRACT * np.stack(directions), 0.0)
    stands = (down > 0.5) & in_contact
    last_down = np.where(stands[:, None], kinematics.feet, memory.last_down)
    return ContactSchedule(
        down=down,
        stands=stands,
        early=early,
        reaching=reaching,
        late_for=late_for,
        blocked_for=blocked_for,
        repeat_left=repeat_left,
        repeat_time=repeat_time,
        extra_clearance=extra_clearance,
        lift_off=lift_off,
        last_down=last_down,
    )


@dataclass(frozen=True, kw_only=True)
class GroundEstimate:
    """The ground as estimated from the feet."""

    slope: Float[ndarray, "3"]  # height = slope[2] + slope[0] x + slope[1] y
    normal: Float[ndarray, "3"]
    unevenness: Scalar  # mean square of the touchdown heights relative to the expected ground [m²]
    extra_clearance: Scalar  # additional clearance of swings [m]
    extra_height: Scalar  # additional height of the trunk [m]
    slipping: Shaped[ndarray, "4"]  # whether a loaded foot slides
    slipping_for: Float[ndarray, "4"]  # for how long [s]
    friction: float  # friction that may be relied on
    foot_velocities: Float[ndarray, "4 3"]  # [m/s]

    def height(self, x: Scalar, y: Scalar) -> Scalar:
        return self.slope[2] + self.slope[0] * x + self.slope[1] * y


def ground_estimate(
    model: LocomotionModel,
    kinematics: Kinematics,
    memory: Memory,
    contacts: ContactSchedule,
    forces: Float[ndarray, "4 3"],
) -> GroundEstimate:
    reflex, has, radii, feet = memory.reflex, memory.reflex.has, kinematics.radii, kinematics.feet
    soles = radii[:, None] * np.array([0.0, 0.0, 1.0])
    expected, _ = ground_slope(memory.last_down - soles)
    height_error = feet[:, 2] - radii - (expected[2] + expected[0] * feet[:, 0] + expected[1] * feet[:, 1])
    unevenness = responses.update_unevenness(reflex.unevenness, contacts.stands & (memory.down < 0.5), height_error)
    extra_clearance, extra_height = responses.rough_ground_margins(has("rough_ground"), unevenness)
    slope, normal = ground_slope(contacts.last_down - soles)
    slope, normal = responses.level_ground(has("slope"), slope, normal, kinematics.q[:2])
    foot_velocities = np.stack([kinematics.J[k] @ kinematics.v for k in range(4)])
    foot_rates = np.stack([kinematics.J_turn[k] @ kinematics.v for k in range(4)])
    contact_velocities = slip.contact_velocities(foot_velocities, foot_rates, radii, normal)
    weight = weight_of(model.robot.mass, model.body.gravity)
    slipping, measured, slipping_for = slip.detect_slip(
        has("slip"),
        memory.down * contacts.down,
        contact_velocities,
        forces,
        normal,
        weight,
        reflex.slipping_for,
        model.dt,
    )
    friction = slip.trusted_friction(reflex.friction, model.friction, normal, slipping, measured, model.dt)
    return GroundEstimate(
        slope=slope,
        normal=normal,
        unevenness=unevenness,
        extra_clearance=extra_clearance,
        extra_height=extra_height,
        slipping=slipping,
        slipping_for=slipping_for,
        friction=friction,
        foot_velocities=foot_velocities,
    )


def swing_accelerations(
    model: LocomotionModel,
    kinematics: Kinematics,
    schedule: LegSchedule,
    contacts: ContactSchedule,
    ground: GroundEstimate,
    positions: list[Operand],
    alarm: Scalar,
) -> tuple[Float[ndarray, "4 3"], Float[ndarray, "4 3"]]:
    """Return (landing positions of swing feet [m], desired acceleration of every foot [m/s²])."""
    targets, accelerations = [], []
    repeat_left, repeat_time, dt = contacts.repeat_left, contacts.repeat_time, model.dt
    reach_speed = touchdown.reach_speed(alarm > 0.0, model.height, strength(model.body.gravity))
    for k in range(4):
        reach_depth, speed = touchdown.reach_down(contacts.late_for[k], reach_speed)
        z = ground.height(positions[k][0], positions[k][1]) + kinematics.radii[k] - _SWING_DEPTH - reach_depth
        target = np.array([positions[k][0], positions[k][1], z])
        s = np.where(repeat_left[k] > 0.0, 1.0 - repeat_left[k] / np.maximum(repeat_time[k], dt), schedule.progress[k])
        duration = np.where(repeat_left[k] > 0.0, np.maximum(repeat_time[k], dt), schedule.swing_time)
        clearance = model.clearance + ground.extra_clearance + contacts.extra_clearance[k]
        p, dp, ddp = swing(contacts.lift_off[k], target, clearance, s, duration)
        kp, kd = model.gains.swing
        dp = dp - np.array([0.0, 0.0, 1.0]) * speed
        accelerations.append(ddp + kp * (p - kinematics.feet[k]) + kd * (dp - ground.foot_velocities[k]))
        targets.append(target)
    return np.stack(targets), np.stack(accelerations)


def _fraction(x: Scalar) -> Scalar:
    """Return the fraction of a cycle in [0, 1)."""
    return x - np.floor(x)


@dataclass(frozen=True, kw_only=True)
class TrunkTask:
    """The desired motion of the trunk."""

    angular_acceleration: Float[ndarray, "3"]  # desired angular acceleration, base axes [rad/s²]
    linear_acceleration: Float[ndarray, "3"]  # desired linear acceleration, world axes [m/s²]
    roll_pitch_des: Float[ndarray, "2"]  # desired roll and pitch [rad]
    v_des_ground: Float[ndarray, "3"]  # desired velocity along the ground, world axes [m/s]
    height_des: Scalar  # desired height over the ground [m]
    height_integral: Scalar  # correction of it, so that the trunk reaches the desired height [m]

    @property
    def acceleration(self) -> Float[ndarray, "6"]:
        return np.concatenate([self.angular_acceleration, self.linear_acceleration])


def trunk_task(
    model: LocomotionModel,
    kinematics: Kinematics,
    command: Command,
    memory: Memory,
    reference: CommandReference,
    ground: GroundEstimate,
) -> TrunkTask:
    """Return the task of the trunk: move along the ground, level with it, at the desired height."""
    q, velocity_des_W, pose_des = kinematics.q, reference.velocity_des_W, reference.pose_des
    n_H = kinematics.heading.T @ ground.normal
    max_angles = np.array([COMMAND_LIMITS.roll, COMMAND_LIMITS.pitch])
    roll_pitch_command = np.clip(np.array([command.roll, command.pitch]), -max_angles, max_angles)
    roll_pitch_des = np.array([np.arctan2(-n_H[1], n_H[2]), np.arctan2(n_H[0], n_H[2])]) + roll_pitch_command
    kp, kd = model.gains.base_angular
    attitude_error = np.array(
        [
            roll_pitch_des[0] - kinematics.roll,
            roll_pitch_des[1] - kinematics.pitch,
            _wrap_angle(pose_des[2] - kinematics.yaw),
        ]
    )
    angular_acceleration = kp * attitude_error + kd * (kinematics.R.T @ reference.omega_des_W - kinematics.v[:3])
    v_des_ground = np.array(
        [
            velocity_des_W[0],
            velocity_des_W[1],
            ground.slope[0] * velocity_des_W[0] + ground.slope[1] * velocity_des_W[1],
        ]
    )
    height = model.height + ground.extra_height + np.clip(command.height, -COMMAND_LIMITS.height, COMMAND_LIMITS.height)
    height_error = ground.height(q[0], q[1]) + height - q[2]
    height_integral = np.clip(
        memory.height_integral
        + model.dt
        / HEIGHT_INTEGRAL_TIME
        * np.clip(height_error, -0.5 * MAX_HEIGHT_INTEGRAL, 0.5 * MAX_HEIGHT_INTEGRAL),
        -MAX_HEIGHT_INTEGRAL,
        MAX_HEIGHT_INTEGRAL,
    )
    height_des = height + height_integral
    kp, kd = model.gains.base_linear
    position_des = np.array([pose_des[0], pose_des[1], ground.height(q[0], q[1]) + height_des])
    linear_acceleration = kp * np.array([0.3, 0.3, 1.0]) * (position_des - q[:3]) + kd * (
        v_des_ground - kinematics.velocity
    )
    return TrunkTask(
        angular_acceleration=angular_acceleration,
        linear_acceleration=linear_acceleration,
        roll_pitch_des=roll_pitch_des,
        v_des_ground=v_des_ground,
        height_des=height_des,
        height_integral=height_integral,
    )


@dataclass(frozen=True)
class _QPTerms:
    """The whole-body QP and the further data that the solvers need."""

    qp: WholeBodyQP
    bias: Float[ndarray, "nv"]
    J: Float[ndarray, "4 3 nv"]
    posture: Float[ndarray, "nj"]  # desired accelerations of the redundant joints [rad/s²]


def _write_qp(
    model: LocomotionModel,
    kinematics: Kinematics,
    memory: Memory,
    reference: CommandReference,
    contacts: ContactSchedule,
    ground: GroundEstimate,
    trunk: TrunkTask,
    swing_acceleration: Float[ndarray, "4 3"],
) -> _QPTerms:
    """Write the QP: the trunk moves as the forces of stage one would move it, and by its own feedback."""
    robot, gains, gravity, wheels, reduced_robot = (
        model.robot,
        model.gains,
        model.body.gravity,
        model.wheels,
        model.reduced_robot,
    )
    q, v, R, down, normal = kinematics.q, kinematics.v, kinematics.R, contacts.down, ground.normal
    J, rate_J, stop_accelerations = kinematics.J, kinematics.bias_J[:, 3:], np.zeros((4, 3))
    losses = np.concatenate([np.zeros(6), _losses(robot, v[6:])])
    bias = bias_terms(robot, q, v, gravity) + losses
    lever_arms = kinematics.feet - kinematics.radii[:, None] * np.array([0.0, 0.0, 1.0]) - (q[:3] + R @ model.body.com)
    force_map, free_acceleration = model.body.base_acceleration(R, v[:6], lever_arms)
    base = free_acceleration + gains.base_feedback * np.concatenate(
        [trunk.angular_acceleration, R.T @ trunk.linear_acceleration]
    )
    if wheels:
        rolling_terms = rolling.rolling(wheels, J, kinematics.J_turn, rate_J, kinematics.bias_J[:, :3], v, normal, down)
        J, rate_J, stop_accelerations = rolling_terms.J, rolling_terms.rate_J, rolling_terms.stops
    M, driven = mass_matrix(robot, q), model.driven
    posture_error, rates = model.stand - q[7:], v[6:]
    if driven is not None:  # in the coordinates of the motors
        terms = reduced(robot, q, v, M, bias, J, rate_J)
        M, bias, J, rate_J = terms.M, terms.bias, terms.J, terms.rate_J
        posture_error, rates = (np.stack([x[j] for j in driven.joints]) for x in (posture_error, rates))
    free, hand = free_motions(reduced_robot, J[:, :, 6:]), None
    if model.reach is not None:
        hand = reach_task(robot, model.reach, memory.hand, q, v)
        free, bias = remove_task_motions(robot, model.reach, hand.J, free), bias + hand.pushes
        posture_error = keep_off_stops(robot, model.reach.link, posture_error, q)
    posture = gains.posture[0] * posture_error - gains.posture[1] * rates
    if wheels:
        posture = rolling.wheel_posture(wheels, posture, v, kinematics.heading[:, 0] @ reference.velocity_des_W)
    posture = free @ posture
    tasks = Tasks(
        base=base,
        base_force_map=force_map,
        swing=swing_acceleration,
        joints=posture,
        free=free,
        down=down,
        normal=normal,
        stop_accelerations=stop_accelerations,
        reach=hand,
    )
    qp = whole_body_qp(reduced_robot, gains, ground.friction, M, bias, J, rate_J, tasks, gravity)
    return _QPTerms(qp, bias, J, posture)


def _reflex_memory(
    model: LocomotionModel,
    memory: Memory,
    reference: CommandReference,
    push: PushResponse,
    schedule: LegSchedule,
    contacts: ContactSchedule,
    ground: GroundEstimate,
) -> ReflexMemory:
    reflex, has = memory.reflex, memory.reflex.has
    speed, g = norm(reference.velocity[:2], 1e-9), strength(model.body.gravity)
    gear = responses.gear(reflex.gear, speed, model.height, g=g)
    tilt = np.arccos(np.clip(ground.normal[2], -1.0, 1.0))
    trunk = {
        "sidestep": push.alarm > 0.0,
        "safe_stop": push.folded > 0.5,
        "slope": is_acting(reflex, "slope", tilt, responses.SLOPE_EVENT_ANGLE),
        "rough_ground": is_acting(
            reflex, "rough_ground", np.sqrt(ground.unevenness + 1e-12), responses.ROUGH_EVENT_SIGMA
        ),
    }
    legs = {
        "early_touchdown": contacts.early & (schedule.progress < touchdown.LATE_SWING) & (memory.down < 0.5),
        "slip": ground.slipping,
        "missed_touchdown": contacts.reaching & (contacts.late_for > touchdown.LATE_EVENT_TIME),
        "stumble": contacts.repeat_left > 0.0,
    }
    return ReflexMemory(
        enabled=reflex.enabled,
        acting=acting(legs, trunk, np.where(has("speed_gait"), gear, 0.0)),
        late_for=contacts.late_for,
        slipping_for=ground.slipping_for,
        friction=ground.friction,
        blocked_for=contacts.blocked_for,
        repeat_left=contacts.repeat_left,
        repeat_time=contacts.repeat_time,
        extra_clearance=np.where(contacts.down > 0.5, 0.0, contacts.extra_clearance),
        alarm=push.alarm,
        falling_for=push.falling_for,
        folded=push.folded,
        unevenness=ground.unevenness,
        gear=gear,
    )


def _losses(robot: Robot, rates: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """Return torques that compensate the joints' damping and dry friction [N m]; overcompensation would be unstable."""
    drag = joint_values(robot, "dry_friction") / np.maximum(np.abs(rates), DRY_FRICTION_RATE)
    return LOSS_COMPENSATION * (joint_values(robot, "damping") + drag) * rates


def _wrap_angle(angle: Scalar) -> Scalar:
    """Return the angle wrapped to ±π."""
    return angle - 2.0 * np.pi * np.floor(angle / (2.0 * np.pi) + 0.5)

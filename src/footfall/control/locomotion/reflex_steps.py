"""One tick of joint PD on a gait with reflexes and responses (the DynaKat report): plain NumPy.

Oscillators time the legs. Contact ends a swing early, extends it downwards, lifts it over an obstacle or shortens the
stride; the motion of the trunk moves feet sideways or folds the legs; slope, rough ground and speed change the gait.
The rules are those of ``reflexes``; here they change joint targets, whereas ``Locomotion`` changes forces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.joint.joint_pd import gains_of, iterative_leg_inverse, longest_stride, stances
from footfall.control.joint.pacing import Strider
from footfall.control.joint.rhythm import CONTACT_LOAD, next_rhythm
from footfall.control.locomotion.footsteps import ground_slope
from footfall.control.locomotion.reflexes import responses, safe_stop, sidestep, slip, stumble, touchdown
from footfall.control.locomotion.reflexes.state import ReflexMemory, acting, is_acting
from footfall.control.stand_gains import DAMPING
from footfall.gait.oscillators.networks import Network
from footfall.gait.transition import Transition
from footfall.identity import digest_of
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.kinematics.jacobian import feet_jacobian
from footfall.kinematics.leg_inverse import from_hip, leg_inverse
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity, strength, weight_of
from footfall.spatial.quaternion import to_rotation
from nptrace import norm, smoothstep
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

# hip height [m] for which lengths of the reflexes are given; they scale in proportion
REFERENCE_HIP_HEIGHT = 0.28
MAX_REACH_DOWN = 0.25  # fraction of the hip's height by which a foot without ground reaches down
MAX_SIDESTEP = 0.45  # fraction of the hip's height by which feet move sideways at most
MAX_SLOPE = 0.35  # largest rise over run for which the response to a slope compensates
TILT_TIME = 1.0  # [s], averaging time that separates a tilt of the ground from that of the gait
GAIT_CHANGE_TIME = 2.0  # [s] that the speed response takes to change gaits
GEAR_UP_FROUDE, GEAR_DOWN_FROUDE = (0.04,), (0.025,)  # Froude numbers at which the gait changes


@dataclass(frozen=True, eq=False, kw_only=True)
class Stepper:
    """Constants of a tick. ``change`` has the gait and the one for higher speeds, the same where there is none."""

    robot: Robot
    change: Transition
    network: Network
    kp: tuple[float, float]  # gains of the two gaits [N m/rad]
    kd: tuple[float, float]  # [N m s/rad]
    spine: tuple[float, float]
    rate: float  # [Hz]
    speed_feedback: float  # [1/s]
    friction: float  # assumed until feet slide
    crouch: Float[ndarray, "nj"]  # crouch of a safe stop [rad]
    limits: Float[ndarray, "nj"]  # limits of torques [N m]
    gravity: Gravity = GRAVITY
    inverse: str = "closed"

    @cached_property
    def height(self) -> float:
        """Return the height of the hips over the ground [m]."""
        return float(np.mean([stance.hip_height for stance in stances(self.robot, self.change.first)]))

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


@dataclass(frozen=True, kw_only=True)
class StepMemory:
    """The state of the controller passed from one tick to the next."""

    time: Scalar  # [s]
    rhythm: dict[str, ndarray]
    stride: Float[ndarray, "2"]  # state of the speed feedback
    blend: Scalar  # fraction of the second gait
    sidestep_offset: Float[ndarray, "4 2"]  # displacement of the feet from their paths, trunk axes [m]
    tilt: Float[ndarray, "2"]  # slow mean of the plumb line's direction, horizontal over vertical, trunk axes
    down: Float[ndarray, "4"]
    last_down: Float[ndarray, "4 3"]
    reflex: ReflexMemory
    joints: Float[ndarray, "nj"]  # commanded joint positions [rad]


@dataclass(frozen=True, kw_only=True)
class _Feet:
    """The feet at a tick, world axes."""

    positions: Float[ndarray, "4 3"]
    contact_velocities: Float[ndarray, "4 3"]  # velocities at the contact points
    forces: Float[ndarray, "4 3"]
    in_contact: Float[ndarray, "4"]
    in_stance: Float[ndarray, "4"]  # 1 in stance by the oscillators
    swing_fraction: Float[ndarray, "4"]  # fraction of the swing, 1 in stance


def step(stepper: Stepper, sensed: Sensed, command: Command, memory: StepMemory) -> tuple[JointCommand, StepMemory]:
    """Return the joint targets of this tick and the memory for the next."""
    robot, dt, before = stepper.robot, 1.0 / stepper.rate, memory.reflex
    R, g = to_rotation(sensed.q[3:7]), strength(stepper.gravity)
    weight, unit = weight_of(robot.mass, stepper.gravity), stepper.height / REFERENCE_HIP_HEIGHT
    ramp = smoothstep(memory.time / max(stepper.change.first.ramp, dt))
    blend = _gear_blend(stepper, before, memory.blend)
    timing = stepper.change.timing_between(blend)
    feet = _feet(robot, sensed, R, memory, timing.duty, weight)
    swing_time = (1.0 - timing.duty) * timing.period

    legs = _legs(stepper, feet, R, memory, swing_time, weight, unit)
    early_landing = np.where(
        (feet.in_contact > 0.5) & before.has("early_touchdown") & (legs["blocked_for"] <= 0.0), 1.0, 0.0
    )
    rhythm = next_rhythm(stepper.network, memory.rhythm, dt, timing, early_landing)
    trunk = _trunk(stepper, sensed, R, command, feet, memory, g)

    x, z = stepper.change.offset_between(memory.rhythm["phase"], blend, trunk["extra_clearance"])
    friction_scale = np.clip(legs["friction"] / stepper.friction, 0.3, 1.0)
    stride, stride_memory = _strides(stepper, sensed, command, memory, blend, ramp)
    retraction = np.where(legs["repeat_left"] > 0.0, legs["repeat_left"] / np.maximum(legs["repeat_time"], dt), 0.0)
    reach_depth = np.minimum(touchdown.reach_down(legs["late_for"])[0], MAX_REACH_DOWN * stepper.height)
    sidestep_offset, tilt = trunk["sidestep_offset"], trunk["tilt"]
    offsets = np.stack(
        [
            ramp * stride * friction_scale * x
            - stumble.RETRACT * unit * retraction
            + sidestep_offset[:, 0]
            + trunk["under"][0],
            sidestep_offset[:, 1] + trunk["under"][1],
            ramp * z
            + legs["extra_clearance"] * np.sin(np.pi * np.clip(retraction, 0.0, 1.0))
            - reach_depth
            + trunk["extra_height"],
        ],
        axis=1,
    )
    position = _targets(stepper, offsets, blend, memory.joints)
    reflex = _reflex_memory(before, legs, trunk, command, stepper, feet, g)
    after = StepMemory(
        time=memory.time + dt,
        rhythm=rhythm,
        stride=stride_memory,
        blend=blend,
        sidestep_offset=sidestep_offset,
        tilt=tilt,
        down=legs["down"],
        last_down=legs["last_down"],
        reflex=reflex,
        joints=position,
    )
    return _command(stepper, sensed, position, blend, reflex.folded, weight), after


def _gear_blend(stepper: Stepper, reflex: ReflexMemory, blend: Scalar) -> Scalar:
    """Return the fraction of the second gait, which moves towards the one required by the speed."""
    max_change = 1.0 / (GAIT_CHANGE_TIME * stepper.rate)
    goal = np.where(reflex.has("speed_gait"), np.minimum(reflex.gear, 1.0), 0.0)
    return blend + np.clip(goal - blend, -max_change, max_change)


def _feet(robot: Robot, sensed: Sensed, R: Scalar, memory: StepMemory, duty: Scalar, weight: Scalar) -> _Feet:
    J = feet_jacobian(robot, sensed.q)[:4]
    radii, up = np.array([foot.radius for foot in robot.feet[:4]]), np.array([0.0, 0.0, 1.0])
    velocities, angular_velocities = (
        np.stack([J[k, rows] @ sensed.v for k in range(4)]) for rows in (slice(3, 6), slice(0, 3))
    )
    forces, phase = sensed.forces[:4], memory.rhythm["phase"]
    in_contact = np.where(np.stack([norm(f, 1e-9) for f in forces]) > CONTACT_LOAD * weight, 1.0, 0.0)
    in_stance = np.where(phase < duty, 1.0, 0.0)
    swing_fraction = np.where(in_stance > 0.5, 1.0, np.clip((phase - duty) / (1.0 - duty), 0.0, 1.0))
    positions = foot_positions(robot, sensed.q)[:4]
    return _Feet(
        positions=positions,
        contact_velocities=slip.contact_velocities(velocities, angular_velocities, radii, up),
        forces=forces,
        in_contact=in_contact,
        in_stance=in_stance,
        swing_fraction=swing_fraction,
    )


def _legs(
    stepper: Stepper, feet: _Feet, R: Operand, memory: StepMemory, swing_time: Operand, weight: Operand, unit: float
) -> dict[str, PyTree]:
    """Apply the reflexes of single legs."""
    dt, before, has = 1.0 / stepper.rate, memory.reflex, memory.reflex.has
    up, ahead = np.array([0.0, 0.0, 1.0]), R[:, 0] * np.array([1.0, 1.0, 0.0])
    swing_direction = ahead / norm(ahead, 0.01)
    swinging = np.where((feet.in_stance < 0.5) | (before.repeat_left > 0.0), 1.0, 0.0)
    in_contact = feet.in_contact > 0.5
    blocked = np.stack(
        [
            stumble.is_blocked(
                has("stumble"), swinging[k], feet.swing_fraction[k], in_contact[k], feet.forces[k], swing_direction
            )
            for k in range(4)
        ]
    )
    blocked_for = np.where(blocked, before.blocked_for + dt, 0.0)
    hit = blocked_for > stumble.MIN_DURATION
    swing_time_left = (1.0 - feet.swing_fraction) * swing_time
    repeat_left, repeat_time, extra_clearance = stumble.repeat_swing(
        hit, swing_time_left, before.repeat_left, before.repeat_time, before.extra_clearance / unit, dt
    )
    reaching, late_for = touchdown.missed(
        has("missed_touchdown"), feet.in_stance, in_contact, memory.down, before.late_for, dt
    )
    down = np.where(
        reaching | (repeat_left > 0.0), 0.0, np.where(in_contact, feet.in_stance, memory.down * feet.in_stance)
    )
    down = np.where(~has("missed_touchdown") & (repeat_left <= 0.0), feet.in_stance, down)
    slipping, measured, slipping_for = slip.detect_slip(
        has("slip"), memory.down * down, feet.contact_velocities, feet.forces, up, weight, before.slipping_for, dt
    )
    friction = slip.trusted_friction(before.friction, stepper.friction, up, slipping, measured, dt)
    last_down = np.where(((down > 0.5) & in_contact)[:, None], feet.positions, memory.last_down)
    return {
        "blocked_for": blocked_for,
        "repeat_left": repeat_left,
        "repeat_time": repeat_time,
        "extra_clearance": np.where(repeat_left > 0.0, unit * extra_clearance, 0.0),
        "reaching": reaching,
        "late_for": np.where(reaching, late_for, 0.0),
        "down": down,
        "last_down": last_down,
        "slipping": slipping,
        "slipping_for": slipping_for,
        "friction": friction,
        "touched": (down > 0.5) & in_contact & (memory.down < 0.5),
    }


def _trunk(
    stepper: Stepper, sensed: Sensed, R: Operand, command: Command, feet: _Feet, memory: StepMemory, g: Operand
) -> dict[str, PyTree]:
    """Apply the reflexes of the trunk and the responses to the ground."""
    robot, dt, H = stepper.robot, 1.0 / stepper.rate, stepper.height
    before, has = memory.reflex, memory.reflex.has
    velocity, ahead = R @ sensed.v[3:6], R[:, 0] / norm(R[:2, 0], 1e-6)
    velocity_des = command.forward * ahead * np.array([1.0, 1.0, 0.0])
    margin = sidestep.margin(
        sidestep.capture_point(center_of_mass(robot, sensed.q), velocity, velocity_des, H, g), feet.positions
    )
    alarm = sidestep.update_alarm(has("sidestep"), margin, before.alarm, dt)
    falling_for, folded = safe_stop.update_folding(
        has("safe_stop"), safe_stop.fall_is_certain(R[2, 2]), before.falling_for, before.folded, dt
    )
    # swing feet follow the capture point; stance feet bring the trunk back over them
    capture_offset = np.sqrt(H / g) * (R.T @ (velocity - velocity_des))[:2]
    goal = np.where(alarm > 0.0, np.clip(capture_offset, -MAX_SIDESTEP * H, MAX_SIDESTEP * H), 0.0)
    quickly, slowly = dt / 0.05, dt / 0.3
    in_swing = (feet.in_stance < 0.5)[:, None]
    sidestep_offset = memory.sidestep_offset + np.where(
        in_swing, quickly * (goal - memory.sidestep_offset), -slowly * memory.sidestep_offset
    )
    tilt_now = np.clip(-R[2, :2] / np.maximum(R[2, 2], 0.2), -MAX_SLOPE, MAX_SLOPE)
    tilt = memory.tilt + dt / TILT_TIME * (tilt_now - memory.tilt)
    expected, _ = ground_slope(memory.last_down)
    height = expected[2] + expected[0] * feet.positions[:, 0] + expected[1] * feet.positions[:, 1]
    touched = (feet.in_stance > 0.5) & (feet.in_contact > 0.5) & (memory.down < 0.5)
    unevenness = responses.update_unevenness(before.unevenness, touched, feet.positions[:, 2] - height)
    extra_clearance, extra_height = responses.rough_ground_margins(has("rough_ground"), unevenness)
    return {
        "alarm": alarm,
        "falling_for": falling_for,
        "folded": folded,
        "sidestep_offset": sidestep_offset,
        "tilt": tilt,
        "unevenness": unevenness,
        "under": np.where(has("slope"), H * tilt, 0.0),
        "extra_clearance": extra_clearance,
        "extra_height": -extra_height,
    }


def _strides(
    stepper: Stepper, sensed: Sensed, command: Command, memory: StepMemory, blend: Scalar, ramp: Scalar
) -> tuple[Scalar, Float[ndarray, "2"]]:
    """Return (the stride as a multiple of the gait's, memory of the speed feedback)."""
    change, robot = stepper.change, stepper.robot
    if not stepper.speed_feedback:
        return 1.0, memory.stride
    max_strides = [longest_stride(robot, gait) for gait in (change.first, change.second)]
    speed = change.between("speed", blend)
    strider = Strider(
        speed, change.between("period", blend), max_strides[0] + (max_strides[1] - max_strides[0]) * blend
    )
    goal = command.forward
    return strider.strides(goal, goal / speed, sensed, memory.stride, ramp, stepper.speed_feedback, 1.0 / stepper.rate)


def _targets(
    stepper: Stepper, offsets: Float[ndarray, "4 3"], blend: Operand, last: Float[ndarray, "nj"]
) -> Float[ndarray, "nj"]:
    """Return joint angles [rad] that put the feet at offsets [m] from their positions below the hips."""
    robot, change = stepper.robot, stepper.change
    stand = robot.poses.get("stand")
    targets: list[Operand] = [0.0] * robot.nj if stand is None else [float(angle) for angle in stand.joints]
    ends = [stances(robot, gait) for gait in (change.first, change.second)]
    for k, (one, other) in enumerate(zip(*ends)):
        depth = one.hip_height + (other.hip_height - one.hip_height) * blend - one.leg.radius
        position = offsets[k] - np.array([0.0, 0.0, 1.0]) * depth
        pitch = change.between("foot_pitch", blend)
        if stepper.inverse == "closed":
            found = leg_inverse(robot, one.leg.name, position, one.knee, foot_pitch=pitch, frame="hip", nearly=True)
        else:
            start, rest_angles = [last[j] for j in one.leg.joints], [targets[j] for j in one.leg.joints]
            target = from_hip(one.leg, position)
            found = iterative_leg_inverse(robot, one.leg, one.knee, target, start, pitch, stepper.inverse, rest_angles)
        for j, angle in zip(one.leg.joints, found.joints):
            targets[j] = angle
    return np.stack([angle + 0.0 * blend for angle in targets])


def _reflex_memory(
    before: ReflexMemory,
    legs: dict[str, PyTree],
    trunk: dict[str, PyTree],
    command: Command,
    stepper: Stepper,
    feet: _Feet,
    g: Operand,
) -> ReflexMemory:
    has = before.has
    gear = responses.gear(before.gear, np.abs(command.forward), stepper.height, GEAR_UP_FROUDE, GEAR_DOWN_FROUDE, g)
    leg_rows = {
        "early_touchdown": (feet.in_contact > 0.5)
        & (feet.in_stance < 0.5)
        & has("early_touchdown")
        & (feet.swing_fraction > touchdown.EARLIEST_TOUCHDOWN)
        & (feet.swing_fraction < touchdown.LATE_SWING),
        "missed_touchdown": legs["reaching"] & (legs["late_for"] > touchdown.LATE_EVENT_TIME),
        "slip": legs["slipping"],
        "stumble": legs["repeat_left"] > 0.0,
    }
    tilt, unevenness = trunk["tilt"], trunk["unevenness"]
    trunk_rows = {
        "sidestep": trunk["alarm"] > 0.0,
        "safe_stop": trunk["folded"] > 0.5,
        "slope": is_acting(
            before, "slope", np.sqrt(tilt[0] * tilt[0] + tilt[1] * tilt[1]), responses.SLOPE_EVENT_ANGLE
        ),
        "rough_ground": is_acting(before, "rough_ground", np.sqrt(unevenness + 1e-12), responses.ROUGH_EVENT_SIGMA),
    }
    return replace(
        before,
        acting=acting(leg_rows, trunk_rows, np.where(has("speed_gait"), gear, 0.0)),
        late_for=legs["late_for"],
        slipping_for=legs["slipping_for"],
        friction=legs["friction"],
        blocked_for=legs["blocked_for"],
        repeat_left=legs["repeat_left"],
        repeat_time=legs["repeat_time"],
        extra_clearance=legs["extra_clearance"],
        alarm=trunk["alarm"],
        falling_for=trunk["falling_for"],
        folded=trunk["folded"],
        unevenness=unevenness,
        gear=gear,
    )


def _command(
    stepper: Stepper, sensed: Sensed, position: Float[ndarray, "nj"], blend: Scalar, folded: Scalar, weight: Scalar
) -> JointCommand:
    """Return the command with the gains of the gait, or soft ones while the legs fold."""
    robot, is_folded = stepper.robot, folded > 0.5
    kp, kd = (
        gains_of(robot, a + (b - a) * blend, spine) for (a, b), spine in zip((stepper.kp, stepper.kd), stepper.spine)
    )
    max_torque = safe_stop.CROUCH_TORQUE * stepper.limits
    soft_torque = np.clip(
        safe_stop.CROUCH_STIFFNESS * weight * (stepper.crouch - sensed.q[robot.nq - robot.nj :]),
        -max_torque,
        max_torque,
    )
    return JointCommand(
        position,
        0.0,
        np.where(is_folded, 0.0, kp),
        np.where(is_folded, DAMPING * weight, kd),
        np.where(is_folded, soft_torque, 0.0),
    )

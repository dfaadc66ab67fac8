"""One tick of joint PD on a gait with reflexes and responses (the DynaKat report): plain NumPy.

Oscillators pace the legs. What the feet feel ends a swing early, prolongs one downwards, lifts one over what it hit or
shortens the stride; what the trunk does puts feet aside or folds the legs; slope, rough ground and speed change the
gait. The rules are those of ``reflexes``; here they move targets of joints, where ``Locomotion`` moves forces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.joint.joint_pd import gains_of, longest_stride, reached_leg, stances
from footfall.control.joint.pacing import Strider
from footfall.control.joint.rhythm import FELT, next_rhythm
from footfall.control.locomotion.footsteps import ground_slope
from footfall.control.locomotion.reflexes import responses, safe_stop, sidestep, slip, stumble, touchdown
from footfall.control.locomotion.reflexes.state import ReflexMemory, acting, held
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
from nptrace._types import PyTree, Scalar

LENGTH = 0.28  # hip height [m] of the robot that lengths of the reflexes are for: others' are in proportion
LOWEST = 0.25  # of the hip's height, that a foot without ground reaches down
ASIDE = 0.45  # of the hip's height, that feet are put aside at most
STEEP = 0.35  # rise over run that the response to a slope makes up for, at most
LEVELS = 1.0  # [s], mean of a tilt that is the ground's and not the gait's
CHANGES = 2.0  # [s] that the response to speed takes from one gait to the other
UP, DOWN = (0.04,), (0.025,)  # Froude numbers at which it changes


@dataclass(frozen=True, eq=False, kw_only=True)
class Stepper:
    """Constants of a tick. ``change`` has the gait and the one for higher speeds, the same where there is none."""

    robot: Robot
    change: Transition
    network: Network
    kp: tuple[float, float]  # of the two gaits [N m/rad]
    kd: tuple[float, float]  # [N m s/rad]
    spine: tuple[float, float]
    rate: float  # [Hz]
    pace: float  # [1/s]
    friction: float  # that is trusted unless feet slide
    crouch: Float[ndarray, "nj"]  # of a safe stop [rad]
    limits: Float[ndarray, "nj"]  # of torques [N m]
    gravity: Gravity = GRAVITY
    inverse: str = "closed"

    @cached_property
    def height(self) -> float:
        """Of the hips over the ground [m]."""
        return float(np.mean([stance.hip_height for stance in stances(self.robot, self.change.first)]))

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)


@dataclass(frozen=True, kw_only=True)
class StepMemory:
    """What one tick leaves to the next."""

    time: Scalar  # [s]
    rhythm: dict[str, ndarray]
    stride: Float[ndarray, "2"]  # of the pace
    part: Scalar  # of the second gait
    aside: Float[ndarray, "4 2"]  # by which feet are off their paths, trunk axes [m]
    tilt: Float[ndarray, "2"]  # the plumb line's way per metre of depth, trunk axes: a slow mean
    down: Float[ndarray, "4"]
    last_down: Float[ndarray, "4 3"]
    reflex: ReflexMemory
    joints: Float[ndarray, "nj"]  # that were asked for [rad]


@dataclass(frozen=True, kw_only=True)
class _Feet:
    """What is known of the feet at a tick, world axes."""

    places: Float[ndarray, "4 3"]
    soles_at: Float[ndarray, "4 3"]  # velocities where they touch
    forces: Float[ndarray, "4 3"]
    felt: Float[ndarray, "4"]
    planned: Float[ndarray, "4"]  # 1 in stance by the oscillators
    part: Float[ndarray, "4"]  # of the swing, 1 in stance


def step(stepper: Stepper, sensed: Sensed, command: Command, memory: StepMemory) -> tuple[JointCommand, StepMemory]:
    """The joints' targets at this tick and the memory for the next."""
    robot, dt, before = stepper.robot, 1.0 / stepper.rate, memory.reflex
    R, g = to_rotation(sensed.q[3:7]), strength(stepper.gravity)
    weight, unit = weight_of(robot.mass, stepper.gravity), stepper.height / LENGTH
    ramp = smoothstep(memory.time / max(stepper.change.first.ramp, dt))
    part = _gear_part(stepper, before, memory.part)
    beat = stepper.change.beat_between(part)
    feet = _feet(robot, sensed, R, memory, beat.duty, weight)
    air = (1.0 - beat.duty) * beat.period

    legs = _legs(stepper, feet, R, memory, air, weight, unit)
    landed = np.where((feet.felt > 0.5) & before.has("early_touchdown") & (legs["barred"] <= 0.0), 1.0, 0.0)
    rhythm = next_rhythm(stepper.network, memory.rhythm, dt, beat, landed)
    trunk = _trunk(stepper, sensed, R, command, feet, memory, g)

    x, z = stepper.change.offset_between(memory.rhythm["phase"], part, trunk["clear"])
    grip = np.clip(legs["friction"] / stepper.friction, 0.3, 1.0)
    stride, paced = _strides(stepper, sensed, command, memory, part, ramp)
    back = np.where(legs["again"] > 0.0, legs["again"] / np.maximum(legs["lasting"], dt), 0.0)
    lower = np.minimum(touchdown.reach(legs["since"])[0], LOWEST * stepper.height)
    aside, tilt = trunk["aside"], trunk["tilt"]
    offsets = np.stack(
        [
            ramp * stride * grip * x - stumble.RETRACT * unit * back + aside[:, 0] + trunk["under"][0],
            aside[:, 1] + trunk["under"][1],
            ramp * z + legs["higher"] * np.sin(np.pi * np.clip(back, 0.0, 1.0)) - lower + trunk["rise"],
        ],
        axis=1,
    )
    position = _targets(stepper, offsets, part, memory.joints)
    reflex = _remembered(before, legs, trunk, command, stepper, feet, g)
    after = StepMemory(
        time=memory.time + dt,
        rhythm=rhythm,
        stride=paced,
        part=part,
        aside=aside,
        tilt=tilt,
        down=legs["down"],
        last_down=legs["last_down"],
        reflex=reflex,
        joints=position,
    )
    return _command(stepper, sensed, position, part, reflex.folded, weight), after


def _gear_part(stepper: Stepper, reflex: ReflexMemory, part: Scalar) -> Scalar:
    """The part of the second gait, which goes towards what the speed asks for."""
    step_ = 1.0 / (CHANGES * stepper.rate)
    wanted = np.where(reflex.has("speed_gait"), np.minimum(reflex.gear, 1.0), 0.0)
    return part + np.clip(wanted - part, -step_, step_)


def _feet(robot: Robot, sensed: Sensed, R: Scalar, memory: StepMemory, duty: Scalar, weight: Scalar) -> _Feet:
    J = feet_jacobian(robot, sensed.q)[:4]
    radii, up = np.array([foot.radius for foot in robot.feet[:4]]), np.array([0.0, 0.0, 1.0])
    moving, turning = (np.stack([J[k, rows] @ sensed.v for k in range(4)]) for rows in (slice(3, 6), slice(0, 3)))
    forces, phase = sensed.forces[:4], memory.rhythm["phase"]
    felt = np.where(np.stack([norm(f, 1e-9) for f in forces]) > FELT * weight, 1.0, 0.0)
    planned = np.where(phase < duty, 1.0, 0.0)
    part = np.where(planned > 0.5, 1.0, np.clip((phase - duty) / (1.0 - duty), 0.0, 1.0))
    places = foot_positions(robot, sensed.q)[:4]
    return _Feet(
        places=places,
        soles_at=slip.of_the_soles(moving, turning, radii, up),
        forces=forces,
        felt=felt,
        planned=planned,
        part=part,
    )


def _legs(
    stepper: Stepper, feet: _Feet, R: Scalar, memory: StepMemory, air: Scalar, weight: Scalar, unit: float
) -> dict[str, PyTree]:
    """What the reflexes of single legs make of the feet."""
    dt, before, has = 1.0 / stepper.rate, memory.reflex, memory.reflex.has
    up, ahead = np.array([0.0, 0.0, 1.0]), R[:, 0] * np.array([1.0, 1.0, 0.0])
    way = ahead / norm(ahead, 0.01)
    swinging = np.where((feet.planned < 0.5) | (before.again > 0.0), 1.0, 0.0)
    felt = feet.felt > 0.5
    in_the_way = np.stack(
        [stumble.barred(has("stumble"), swinging[k], feet.part[k], felt[k], feet.forces[k], way) for k in range(4)]
    )
    barred = np.where(in_the_way, before.barred + dt, 0.0)
    hit = barred > stumble.LASTING
    left = (1.0 - feet.part) * air
    again, lasting, higher = stumble.swing_again(hit, left, before.again, before.lasting, before.higher / unit, dt)
    reaching, since = touchdown.missed(has("missed_touchdown"), feet.planned, felt, memory.down, before.since, dt)
    down = np.where(reaching | (again > 0.0), 0.0, np.where(felt, feet.planned, memory.down * feet.planned))
    down = np.where(~has("missed_touchdown") & (again <= 0.0), feet.planned, down)
    slides, measured, slid = slip.sliding(
        has("slip"), memory.down * down, feet.soles_at, feet.forces, up, weight, before.slid, dt
    )
    friction = slip.trusted(before.friction, stepper.friction, up, slides, measured, dt)
    last_down = np.where(((down > 0.5) & felt)[:, None], feet.places, memory.last_down)
    return {
        "barred": barred,
        "again": again,
        "lasting": lasting,
        "higher": np.where(again > 0.0, unit * higher, 0.0),
        "reaching": reaching,
        "since": np.where(reaching, since, 0.0),
        "down": down,
        "last_down": last_down,
        "slides": slides,
        "slid": slid,
        "friction": friction,
        "touched": (down > 0.5) & felt & (memory.down < 0.5),
    }


def _trunk(
    stepper: Stepper, sensed: Sensed, R: Scalar, command: Command, feet: _Feet, memory: StepMemory, g: Scalar
) -> dict[str, PyTree]:
    """What the reflexes of the trunk and the responses to the ground make of its motion."""
    robot, dt, H = stepper.robot, 1.0 / stepper.rate, stepper.height
    before, has = memory.reflex, memory.reflex.has
    moving, ahead = R @ sensed.v[3:6], R[:, 0] / norm(R[:2, 0], 1e-6)
    wanted = command.forward * ahead * np.array([1.0, 1.0, 0.0])
    inside = sidestep.margin(sidestep.capture_point(center_of_mass(robot, sensed.q), moving, wanted, H, g), feet.places)
    alarm = sidestep.alarmed(has("sidestep"), inside, before.alarm, dt)
    doomed, folded = safe_stop.folded(
        has("safe_stop"), safe_stop.doomed(R[2, 2], inside, H), before.doomed, before.folded, dt
    )
    # feet in the air go where the capture point went; those that stand bring the trunk back over them
    off = np.sqrt(H / g) * (R.T @ (moving - wanted))[:2]
    goal = np.where(alarm > 0.0, np.clip(off, -ASIDE * H, ASIDE * H), 0.0)
    quickly, slowly = dt / 0.05, dt / 0.3
    swings = (feet.planned < 0.5)[:, None]
    aside = memory.aside + np.where(swings, quickly * (goal - memory.aside), -slowly * memory.aside)
    plumb = np.clip(-R[2, :2] / np.maximum(R[2, 2], 0.2), -STEEP, STEEP)
    tilt = memory.tilt + dt / LEVELS * (plumb - memory.tilt)
    expected, _ = ground_slope(memory.last_down)
    height = expected[2] + expected[0] * feet.places[:, 0] + expected[1] * feet.places[:, 1]
    touched = (feet.planned > 0.5) & (feet.felt > 0.5) & (memory.down < 0.5)
    unevenness = responses.uneven(before.unevenness, touched, feet.places[:, 2] - height)
    clear, rise = responses.over_rough_ground(has("rough_ground"), unevenness)
    return {
        "alarm": alarm,
        "doomed": doomed,
        "folded": folded,
        "aside": aside,
        "tilt": tilt,
        "unevenness": unevenness,
        "under": np.where(has("slope"), H * tilt, 0.0),
        "clear": clear,
        "rise": -rise,
    }


def _strides(
    stepper: Stepper, sensed: Sensed, command: Command, memory: StepMemory, part: Scalar, ramp: Scalar
) -> tuple[Scalar, Float[ndarray, "2"]]:
    """(how many of the gait's strides to take in one, memory of the pace)."""
    change, robot = stepper.change, stepper.robot
    if not stepper.pace:
        return 1.0, memory.stride
    most = [longest_stride(robot, gait) for gait in (change.first, change.second)]
    speed = change.between("speed", part)
    strider = Strider(speed, change.between("period", part), most[0] + (most[1] - most[0]) * part)
    goal = command.forward
    return strider.strides(goal, goal / speed, sensed, memory.stride, ramp, stepper.pace, 1.0 / stepper.rate)


def _targets(
    stepper: Stepper, offsets: Float[ndarray, "4 3"], part: Scalar, last: Float[ndarray, "nj"]
) -> Float[ndarray, "nj"]:
    """Joint angles [rad] that put the feet at offsets [m] from their places under the hips."""
    robot, change = stepper.robot, stepper.change
    stand = robot.poses.get("stand")
    targets: list[Scalar] = [0.0] * robot.nj if stand is None else [float(angle) for angle in stand.joints]
    ends = [stances(robot, gait) for gait in (change.first, change.second)]
    for k, (one, other) in enumerate(zip(*ends)):
        depth = one.hip_height + (other.hip_height - one.hip_height) * part - one.leg.radius
        place = offsets[k] - np.array([0.0, 0.0, 1.0]) * depth
        pitch = change.between("foot_pitch", part)
        if stepper.inverse == "closed":
            found = leg_inverse(robot, one.leg.name, place, one.knee, foot_pitch=pitch, frame="hip", nearly=True)
        else:
            start, rests = [last[j] for j in one.leg.joints], [targets[j] for j in one.leg.joints]
            at = from_hip(one.leg, place)
            found = reached_leg(robot, one.leg, one.knee, at, start, pitch, stepper.inverse, rests)
        for j, angle in zip(one.leg.joints, found.joints):
            targets[j] = angle
    return np.stack([angle + 0.0 * part for angle in targets])


def _remembered(
    before: ReflexMemory,
    legs: dict[str, PyTree],
    trunk: dict[str, PyTree],
    command: Command,
    stepper: Stepper,
    feet: _Feet,
    g: Scalar,
) -> ReflexMemory:
    has = before.has
    gear = responses.gear(before.gear, np.abs(command.forward), stepper.height, UP, DOWN, g)
    acts = {
        "early_touchdown": (feet.felt > 0.5)
        & (feet.planned < 0.5)
        & has("early_touchdown")
        & (feet.part > touchdown.EARLIEST)
        & (feet.part < touchdown.ON_TIME),
        "missed_touchdown": legs["reaching"] & (legs["since"] > touchdown.LATE),
        "slip": legs["slides"],
        "stumble": legs["again"] > 0.0,
    }
    tilt, unevenness = trunk["tilt"], trunk["unevenness"]
    of_the_trunk = {
        "sidestep": trunk["alarm"] > 0.0,
        "safe_stop": trunk["folded"] > 0.5,
        "slope": held(before, "slope", np.sqrt(tilt[0] * tilt[0] + tilt[1] * tilt[1]), responses.SLOPED),
        "rough_ground": held(before, "rough_ground", np.sqrt(unevenness + 1e-12), responses.ROUGH),
    }
    return replace(
        before,
        acting=acting(acts, of_the_trunk, np.where(has("speed_gait"), gear, 0.0)),
        since=legs["since"],
        slid=legs["slid"],
        friction=legs["friction"],
        barred=legs["barred"],
        again=legs["again"],
        lasting=legs["lasting"],
        higher=legs["higher"],
        alarm=trunk["alarm"],
        doomed=trunk["doomed"],
        folded=trunk["folded"],
        unevenness=unevenness,
        gear=gear,
    )


def _command(
    stepper: Stepper, sensed: Sensed, position: Float[ndarray, "nj"], part: Scalar, folded: Scalar, weight: Scalar
) -> JointCommand:
    """The gains of the gait, or the soft ones of legs that fold."""
    robot, gives_in = stepper.robot, folded > 0.5
    kp, kd = (
        gains_of(robot, a + (b - a) * part, spine) for (a, b), spine in zip((stepper.kp, stepper.kd), stepper.spine)
    )
    most = safe_stop.TORQUE * stepper.limits
    soft = np.clip(safe_stop.SPRING * weight * (stepper.crouch - sensed.q[robot.nq - robot.nj :]), -most, most)
    return JointCommand(
        position,
        0.0,
        np.where(gives_in, 0.0, kp),
        np.where(gives_in, DAMPING * weight, kd),
        np.where(gives_in, soft, 0.0),
    )

"""The steps of a plan between command and trunk: push, schedule, footholds, touch, ground, swing. Plain NumPy.

Each takes what the steps before it found and returns one record; ``legged_plan.plan`` puts them in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Shaped
from numpy import ndarray

from footfall.control.interface import Sensed
from footfall.control.locomotion import rolling
from footfall.control.locomotion.footsteps import foothold, ground_slope, swing
from footfall.control.locomotion.planned import Memory
from footfall.control.locomotion.reflexes import responses, safe_stop, sidestep, slip, stumble, touchdown
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial import cross
from footfall.spatial.gravity import strength, weight_of
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_z, to_euler
from nptrace import norm
from nptrace._types import Scalar

if TYPE_CHECKING:
    from footfall.control.locomotion.legged_plan import LocomotionModel

FURTHEST = 0.45  # footholds from under the hip, as a part of the height
FELT = 0.03  # of the weight: a foot that feels this much is on the ground
_SINK = 0.008  # [m] under the ground, where a swing aims at: it meets the ground while it still moves down


@dataclass(frozen=True, kw_only=True)
class Kinematics:
    """Where the robot is and how it moves."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    R: Float[ndarray, "3 3"]  # R_WB
    roll: Scalar
    pitch: Scalar
    yaw: Scalar
    velocity: Float[ndarray, "3"]  # of the base, world axes [m/s]
    feet: Float[ndarray, "4 3"]  # world axes [m]
    J: Float[ndarray, "4 3 nv"]  # of the feet, linear
    J_turn: Float[ndarray, "4 3 nv"]  # and angular
    bias_J: Float[ndarray, "4 6"]  # Jdot v of the feet: angular, linear
    radii: Float[ndarray, "4"]  # of the feet [m]

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
        """Axes that turn with the robot and stay level."""
        return about_z(self.yaw)


@dataclass(frozen=True, kw_only=True)
class CommandReference:
    """The command, clipped and smoothed."""

    command: Float[ndarray, "3"]  # forward, sideways, turn within the limits
    velocity: Float[ndarray, "3"]  # smoothed
    wanted: Float[ndarray, "3"]  # x, y, yaw
    lack: Float[ndarray, "2"]  # by which more is asked of a robot that lags [m/s]
    across: Float[ndarray, "3"]  # the wanted velocity, world axes
    grip: Scalar  # friction that is left, as a part of what the plan was made for

    @property
    def spin(self) -> Float[ndarray, "3"]:
        return np.array([0.0, 0.0, self.velocity[2]])


@dataclass(frozen=True)
class PushResponse:
    """What a push calls for that the usual steps do not catch."""

    alarm: Scalar  # time left of a sidestep [s]
    doomed: Scalar  # how long a fall could not be averted [s]
    folded: Scalar  # 1 once the legs fold


def push_response(model: LocomotionModel, at: Kinematics, memory: Memory, reference: CommandReference) -> PushResponse:
    reflex, has, across = memory.reflex, memory.reflex.has, reference.across
    across_W = np.array([across[0], across[1], 0.0])
    com, g = center_of_mass(model.robot, at.q), strength(model.body.gravity)
    inside = sidestep.margin(sidestep.capture_point(com, at.velocity, across_W, model.height, g), at.feet)
    alarm = sidestep.alarmed(has("sidestep"), inside, reflex.alarm, model.dt)
    doomed, folded = safe_stop.folded(
        has("safe_stop"), safe_stop.doomed(at.R[2, 2], inside, model.height), reflex.doomed, reflex.folded, model.dt
    )
    return PushResponse(alarm, doomed, folded)


@dataclass(frozen=True, kw_only=True)
class LegSchedule:
    """Stance or swing of every leg by the gait at this moment."""

    duty: Scalar
    period: Scalar  # [s]
    walking: Scalar  # 1 while the gait runs, 0 while it stands
    phase: Scalar  # of the gait [cycles]
    planned: Float[ndarray, "4"]  # 1 where a foot is to be down
    progress: Float[ndarray, "4"]  # of a swing, 0 to 1; 1 where a foot is to be down
    left: Float[ndarray, "4"]  # of a swing [s]
    repeated: Shaped[ndarray, "4"]  # whether a swing was begun anew after a stumble
    stance: Scalar  # duration [s]
    air: Scalar  # duration [s]


def schedule_of(
    model: LocomotionModel, at: Kinematics, memory: Memory, reference: CommandReference, alarm: Scalar
) -> LegSchedule:
    wheels, dt, reflex = model.wheels, model.dt, memory.reflex
    duty, period = memory.beat[0], memory.beat[1]
    period = period * np.where(alarm > 0.0, sidestep.HURRY, 1.0)
    first = 1 if wheels else 0  # wheels step aside and around, and roll ahead
    command, velocity = reference.command[first:], reference.velocity[first:]
    going = (np.max(np.abs(command)) > 0.02) | (np.max(np.abs(velocity)) > 0.02) | (alarm > 0.0)
    slow = np.max(np.abs(at.v[4:5] if wheels else at.velocity[:2])) < 0.1
    walking = np.where(going, 1.0, np.where(slow, 0.0, memory.walking))
    phase = np.where(memory.walking > 0.5, memory.phase, 0.0)
    phase = np.where(walking > 0.5, _fraction(phase + dt / period), 0.0)
    leg_phase = _fraction(phase - memory.delays)
    planned = np.where((leg_phase < duty) | (walking < 0.5), 1.0, 0.0)
    stance, air = duty * period, (1.0 - duty) * period
    progress = np.where(planned > 0.5, 1.0, np.clip((leg_phase - duty) / (1.0 - duty), 0.0, 1.0))
    repeated = reflex.again > 0.0
    progress = np.where(repeated, 1.0 - reflex.again / np.maximum(reflex.lasting, dt), progress)
    left = np.where(repeated, reflex.again, (1.0 - progress) * air)
    return LegSchedule(
        duty=duty,
        period=period,
        walking=walking,
        phase=phase,
        planned=planned,
        progress=progress,
        left=left,
        repeated=repeated,
        stance=stance,
        air=air,
    )


@dataclass(frozen=True)
class Footholds:
    """Where feet that are up will stand."""

    places: list[Float[ndarray, "3"]]  # world axes [m]; their height is the ground's
    mean: Float[ndarray, "3"]  # of the base's velocity over the last strides, heading axes [m/s]


def footholds(
    model: LocomotionModel,
    at: Kinematics,
    memory: Memory,
    reference: CommandReference,
    schedule: LegSchedule,
    alarm: Scalar,
) -> Footholds:
    heading, g = at.heading, strength(model.body.gravity)
    # the body sways over its feet within every step: footholds follow the mean, unless there is no time for it
    mean = memory.mean + model.dt / (0.5 * schedule.period) * (heading.T @ at.velocity - memory.mean)
    steady = np.where(alarm > 0.0, at.velocity, heading @ mean)
    reach = reference.grip * np.where(alarm > 0.0, sidestep.FURTHEST, FURTHEST)
    places = []
    for k in range(4):
        arm = heading @ model.feet[k]
        turning = cross(reference.spin, arm)
        under = at.q[:3] + arm + schedule.left[k] * (steady + turning)
        going_at, wanted_at = steady + turning, reference.across + turning
        if model.wheels:
            going_at, wanted_at = rolling.across(heading, going_at), rolling.across(heading, wanted_at)
        places.append(foothold(under, going_at, wanted_at, schedule.stance, model.height, reach, alarm > 0.0, g))
    return Footholds(places, mean)


@dataclass(frozen=True, kw_only=True)
class ContactSchedule:
    """Which feet carry: the gait's schedule, corrected by the measured contacts."""

    down: Float[ndarray, "4"]  # 1 where a foot is to carry
    stands: Shaped[ndarray, "4"]  # whether it does
    early: Shaped[ndarray, "4"]  # whether it came down before its time
    reaching: Shaped[ndarray, "4"]  # whether it is late, and reaches further
    since: Float[ndarray, "4"]  # how long it has been late [s]
    barred_for: Float[ndarray, "4"]  # how long something has been in its way [s]
    again: Float[ndarray, "4"]  # time left of a swing begun anew [s]
    lasting: Float[ndarray, "4"]  # and how long all of it takes [s]
    higher: Float[ndarray, "4"]  # what its clearance gains [m]
    lift_off: Float[ndarray, "4 3"]
    last_down: Float[ndarray, "4 3"]


def touch(
    model: LocomotionModel,
    at: Kinematics,
    memory: Memory,
    schedule: LegSchedule,
    places: list[Scalar],
    forces: Float[ndarray, "4 3"],
) -> ContactSchedule:
    reflex, has, dt = memory.reflex, memory.reflex.has, model.dt
    planned, progress, repeated = schedule.planned, schedule.progress, schedule.repeated
    weight = weight_of(model.robot.mass, model.body.gravity)
    felt = np.stack([norm(f, 1e-9) for f in forces]) > FELT * weight
    swinging = np.where((memory.down < 0.5) & ((planned < 0.5) | repeated), 1.0, 0.0)
    ways = [stumble.direction(memory.lift_off[k], places[k]) for k in range(4)]
    barred = np.stack(
        [stumble.barred(has("stumble"), swinging[k], progress[k], felt[k], forces[k], ways[k]) for k in range(4)]
    )
    barred_for = np.where(barred, reflex.barred + dt, 0.0)
    hit = barred_for > stumble.LASTING
    up = np.where(repeated, 0.0, planned)
    early = touchdown.early(has("early_touchdown"), up, progress, felt) & ~barred
    again, lasting, higher = stumble.swing_again(hit, schedule.left, reflex.again, reflex.lasting, reflex.higher, dt)
    again = np.where(early, 0.0, again)
    reaching, since = touchdown.missed(has("missed_touchdown"), planned, felt, memory.down, reflex.since, dt)
    down = np.where(early, 1.0, np.where(reaching | (again > 0.0), 0.0, planned))
    lifting = (down < 0.5) & (memory.down > 0.5)
    lift_off = np.where((lifting | hit)[:, None], at.feet, memory.lift_off)
    lift_off = lift_off - np.where(hit[:, None], stumble.RETRACT * np.stack(ways), 0.0)
    stands = (down > 0.5) & felt
    last_down = np.where(stands[:, None], at.feet, memory.last_down)
    return ContactSchedule(
        down=down,
        stands=stands,
        early=early,
        reaching=reaching,
        since=since,
        barred_for=barred_for,
        again=again,
        lasting=lasting,
        higher=higher,
        lift_off=lift_off,
        last_down=last_down,
    )


@dataclass(frozen=True, kw_only=True)
class GroundEstimate:
    """What the feet tell of the ground."""

    slope: Float[ndarray, "3"]  # height = slope[2] + slope[0] x + slope[1] y
    normal: Float[ndarray, "3"]
    unevenness: Scalar  # mean square of what touchdowns were off the expected ground [m²]
    clear: Scalar  # what the clearance of swings gains by it [m]
    rise: Scalar  # and the trunk's height [m]
    slides: Shaped[ndarray, "4"]  # whether a loaded foot slides
    slid: Float[ndarray, "4"]  # and how long [s]
    friction: Scalar  # that may be counted on
    foot_velocities: Float[ndarray, "4 3"]  # [m/s]

    def height(self, x: Scalar, y: Scalar) -> Scalar:
        return self.slope[2] + self.slope[0] * x + self.slope[1] * y


def ground_estimate(
    model: LocomotionModel, at: Kinematics, memory: Memory, touched: ContactSchedule, forces: Float[ndarray, "4 3"]
) -> GroundEstimate:
    reflex, has, radii, feet = memory.reflex, memory.reflex.has, at.radii, at.feet
    soles = radii[:, None] * np.array([0.0, 0.0, 1.0])
    expected, _ = ground_slope(memory.last_down - soles)
    off = feet[:, 2] - radii - (expected[2] + expected[0] * feet[:, 0] + expected[1] * feet[:, 1])
    unevenness = responses.uneven(reflex.unevenness, touched.stands & (memory.down < 0.5), off)
    clear, rise = responses.over_rough_ground(has("rough_ground"), unevenness)
    slope, normal = ground_slope(touched.last_down - soles)
    slope, normal = responses.level_ground(has("slope"), slope, normal, at.q[:2])
    foot_velocities = np.stack([at.J[k] @ at.v for k in range(4)])
    turning_at = np.stack([at.J_turn[k] @ at.v for k in range(4)])
    soles_at = slip.of_the_soles(foot_velocities, turning_at, radii, normal)
    weight = weight_of(model.robot.mass, model.body.gravity)
    slides, measured, slid = slip.sliding(
        has("slip"), memory.down * touched.down, soles_at, forces, normal, weight, reflex.slid, model.dt
    )
    friction = slip.trusted(reflex.friction, model.friction, normal, slides, measured, model.dt)
    return GroundEstimate(
        slope=slope,
        normal=normal,
        unevenness=unevenness,
        clear=clear,
        rise=rise,
        slides=slides,
        slid=slid,
        friction=friction,
        foot_velocities=foot_velocities,
    )


def swings(
    model: LocomotionModel,
    at: Kinematics,
    schedule: LegSchedule,
    touched: ContactSchedule,
    ground: GroundEstimate,
    places: list[Scalar],
) -> tuple[Float[ndarray, "4 3"], Float[ndarray, "4 3"]]:
    """(where feet that are up come down [m], the acceleration that every one of them is to have [m/s²])."""
    targets, pulls = [], []
    again, lasting, dt = touched.again, touched.lasting, model.dt
    for k in range(4):
        lower, speed = touchdown.reach(touched.since[k])
        z = ground.height(places[k][0], places[k][1]) + at.radii[k] - _SINK - lower
        target = np.array([places[k][0], places[k][1], z])
        s = np.where(again[k] > 0.0, 1.0 - again[k] / np.maximum(lasting[k], dt), schedule.progress[k])
        lasts = np.where(again[k] > 0.0, np.maximum(lasting[k], dt), schedule.air)
        clearance = model.clearance + ground.clear + touched.higher[k]
        p, dp, ddp = swing(touched.lift_off[k], target, clearance, s, lasts)
        kp, kd = model.gains.swing
        dp = dp - np.array([0.0, 0.0, 1.0]) * speed
        pulls.append(ddp + kp * (p - at.feet[k]) + kd * (dp - ground.foot_velocities[k]))
        targets.append(target)
    return np.stack(targets), np.stack(pulls)


def _fraction(x: Scalar) -> Scalar:
    """The fraction of a cycle in [0, 1)."""
    return x - np.floor(x)

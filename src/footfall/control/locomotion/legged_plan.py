"""One tick of locomotion up to its quadratic programs: command, schedule, footsteps, tasks, matrices. Plain NumPy.

After the slides (two stages) and Yan 2021 (control framework): a velocity command is smoothed into a wanted pose, a
gait's schedule is corrected by what the feet feel, feet that are up swing to footholds, and the whole-body program is
written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import Command, Sensed
from footfall.control.locomotion import rolling
from footfall.control.locomotion.driven import Driven, driven_of, reduced
from footfall.control.locomotion.footsteps import foothold, ground_slope, swing
from footfall.control.locomotion.planned import Memory, Plan
from footfall.control.locomotion.reach import Reach, kept_off, left_free, reach_task, stopped_joints
from footfall.control.locomotion.reflexes import responses, safe_stop, sidestep, slip, stumble, touchdown
from footfall.control.locomotion.reflexes.state import ReflexMemory, acting, held
from footfall.control.locomotion.single_body import SingleBody
from footfall.control.locomotion.whole_body import Gains, Tasks, whole_body_program
from footfall.control.posture import free_motions, standing_state
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.dynamics.mass_matrix import mass_matrix
from footfall.dynamics.passive import joint_values
from footfall.errors import InputError
from footfall.gait.pattern import Gait
from footfall.gravity import GRAVITY, STANDARD, Gravity, strength, weight_of
from footfall.identity import digest_of
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.kinematics.jacobian import feet_bias_acceleration, feet_jacobian
from footfall.kinematics.leg_geometry import leg_geometry
from footfall.kinematics.leg_inverse import hip_height
from footfall.numeric import norm
from footfall.robot.model.description import Robot
from footfall.spatial import cross
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_z, to_euler

# beyond these a command is clipped; forward by what the gait and the legs can do (``Walker.fastest``), at least this
LIMITS = Command(1.5, 0.6, 1.5, height=0.08, roll=0.25, pitch=0.25)
LEASH, YAW_LEASH = 0.06, 0.3  # of the wanted pose [m, rad]
FURTHEST = 0.45  # footholds from under the hip, as a part of the height
SAG, SETTLES = 0.02, 0.7  # of the trunk at most, by landing feet or a load [m]; until it is made up for [s]
MAKES_UP, WITHIN = (
    0.4,
    1.5,
)  # of the commanded speed at most, by which more is asked of a robot that lags; time for it [s]
COMPENSATED, REVERSAL = 0.8, 0.05  # part of the losses in joints; rate over which dry friction reverses [rad/s]
FELT = 0.03  # of the weight: a foot that feels this much is on the ground


@dataclass(frozen=True, eq=False)
class Walker:
    """The constants of a plan: a robot, its gait, how often, and how it stands."""

    robot: Robot
    gait: Gait
    rate: float
    friction: float
    clearance: float
    gains: Gains
    height: float  # of the base over the ground [m]
    feet: Float[ndarray, "4 3"]  # under the hips, from the base, base axes [m]
    stand: Float[ndarray, "nj"]  # joints of the standing pose [rad]
    body: SingleBody
    reach: Reach | None = None  # what an arm does

    NOT_IN_DIGEST = ("gait",)  # which is in the memory

    @staticmethod
    def of(
        robot: Robot, gait: Gait, rate: float, friction: float, clearance: float | None, gains: Gains,
        hip_height: float | None, gravity: Gravity = GRAVITY, reach: Reach | None = None,
    ) -> Walker:  # fmt: skip
        q, _ = standing_state(robot, hip_height)
        joints, feet = q[7:], foot_positions(robot, q)[:4] - q[:3]
        clearance = 0.2 * float(q[2]) if clearance is None else clearance
        return Walker(
            robot, gait, rate, friction, clearance, gains, float(q[2]), feet, joints,
            SingleBody.of(robot, joints, gravity), reach,
        )  # fmt: skip

    @cached_property
    def digest(self) -> str | None:
        return digest_of(self)

    @property
    def driven(self) -> Driven | None:
        """The joints with motors of a robot with closed loops; None without."""
        return driven_of(self.robot)

    @property
    def own(self) -> Robot:
        """The robot as the whole-body program sees it."""
        return self.robot if self.driven is None else self.driven.alike

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
    def longest_step(self) -> float:
        """How far ahead of its hip the shortest-reaching leg puts its foot on the ground [m]; 0 where none says."""
        try:
            legs = [leg_geometry(self.robot, foot.name, nearly=True) for foot in self.robot.feet[:4]]
        except InputError:
            return 0.0
        squares = [
            (leg.stretch + (leg.foot.length if leg.foot else 0.0)) ** 2
            - (hip_height(leg, [float(self.stand[j]) for j in leg.joints]) - leg.radius) ** 2
            for leg in legs
        ]
        return max(0.0, min(squares)) ** 0.5

    def fastest(self, duty: Any, period: Any) -> Any:
        """The forward speed that a command may ask for [m/s]: a stance goes over at most three quarters of what a leg
        reaches to either side, and a gait that stands shortly is the faster for it."""
        least = rolling.FASTEST if self.wheels else LIMITS.forward
        return np.maximum(least, 1.5 * self.longest_step / (duty * period))


def plan(walker: Walker, sensed: Sensed, command: Command, memory: Memory) -> tuple[Plan, Memory]:
    """The plan of this tick and the memory for the next (its forces are those of the last stage one)."""
    robot, dt, gravity = walker.robot, 1.0 / walker.rate, walker.body.gravity
    g = strength(gravity)
    reflex, has = memory.reflex, memory.reflex.has
    duty, period = memory.beat[0], memory.beat[1]
    q, v = sensed.q, sensed.v
    R = to_rotation(q[3:7])
    yaw, pitch, roll = to_euler(R, "zyx")
    moving_at = R @ v[3:6]
    feet_W = foot_positions(robot, q)[:4]
    J_turn, J = feet_jacobian(robot, q)[:4, :3], feet_jacobian(robot, q)[:4, 3:]
    bias_J = feet_bias_acceleration(robot, q, v)[:4]
    wheels, stops, rate_J = walker.wheels, np.zeros((4, 3)), bias_J[:, 3:]
    radii = np.array([foot.radius for foot in robot.feet[:4]])

    # -- the command, clipped, smoothed, and integrated into a wanted pose on a short leash
    bounds = np.array([walker.fastest(duty, period), LIMITS.sideways, LIMITS.turn])
    asked = np.clip(np.array([command.forward, command.sideways, command.turn]), -bounds, bounds)
    grip = np.clip(reflex.friction / walker.friction, 0.2, 1.0)
    weak = min(1.0, g / STANDARD)  # where things weigh less feet push less, and all takes longer
    most = weak * np.array([1.0, 0.8, 2.0]) * dt * grip
    velocity = memory.velocity + np.clip(asked - memory.velocity, -most, most)
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
    most = (0.0 if wheels else MAKES_UP) * np.sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1])
    lack = np.clip(memory.lack + dt / (WITHIN / weak) * (velocity[:2] - memory.mean[:2]), -most, most)
    across = about_z(wanted[2]) @ np.array([velocity[0] + lack[0], velocity[1] + lack[1], 0.0])

    # -- a push that the usual steps do not catch
    across_W = np.array([across[0], across[1], 0.0])
    caught = sidestep.capture_point(center_of_mass(robot, q), moving_at, across_W, walker.height, g)
    inside = sidestep.margin(caught, feet_W)
    alarm = sidestep.alarmed(has("sidestep"), inside, reflex.alarm, dt)
    doomed, folded = safe_stop.folded(
        has("safe_stop"), safe_stop.doomed(R[2, 2], inside, walker.height), reflex.doomed, reflex.folded, dt
    )

    # -- the schedule
    period = period * np.where(alarm > 0.0, sidestep.HURRY, 1.0)
    steps = 1 if wheels else 0  # wheels step aside and around, and roll ahead
    going = (np.max(np.abs(asked[steps:])) > 0.02) | (np.max(np.abs(velocity[steps:])) > 0.02) | (alarm > 0.0)
    slow = np.max(np.abs(v[4:5] if wheels else moving_at[:2])) < 0.1
    walking = np.where(going, 1.0, np.where(slow, 0.0, memory.walking))
    phase = np.where(memory.walking > 0.5, memory.phase, 0.0)
    phase = np.where(walking > 0.5, _part(phase + dt / period), 0.0)
    leg_phase = _part(phase - memory.delays)
    planned = np.where((leg_phase < duty) | (walking < 0.5), 1.0, 0.0)
    stance, air = duty * period, (1.0 - duty) * period
    part = np.where(planned > 0.5, 1.0, np.clip((leg_phase - duty) / (1.0 - duty), 0.0, 1.0))
    repeated = reflex.again > 0.0
    part = np.where(repeated, 1.0 - reflex.again / np.maximum(reflex.lasting, dt), part)
    left = np.where(repeated, reflex.again, (1.0 - part) * air)

    # -- where feet that are up will stand
    heading = about_z(yaw)
    # the body sways over its feet within every step: footholds follow the mean, unless there is no time for it
    mean = memory.mean + dt / (0.5 * period) * (heading.T @ moving_at - memory.mean)
    steady = np.where(alarm > 0.0, moving_at, heading @ mean)
    reach = grip * np.where(alarm > 0.0, sidestep.FURTHEST, FURTHEST)
    spin = np.array([0.0, 0.0, velocity[2]])
    places = []
    for k in range(4):
        arm = heading @ walker.feet[k]
        turning = cross(spin, arm)
        under = q[:3] + arm + left[k] * (steady + turning)
        going_at, wanted_at = steady + turning, across + turning
        if wheels:
            going_at, wanted_at = rolling.across(heading, going_at), rolling.across(heading, wanted_at)
        places.append(foothold(under, going_at, wanted_at, stance, walker.height, reach, alarm > 0.0, g))

    # -- what the feet feel corrects the schedule
    weight = weight_of(robot.mass, gravity)
    forces = sensed.forces[:4]
    felt = np.stack([norm(f, 1e-9) for f in forces]) > FELT * weight
    swinging = np.where((memory.down < 0.5) & ((planned < 0.5) | repeated), 1.0, 0.0)
    ways = [stumble.direction(memory.lift_off[k], places[k]) for k in range(4)]
    barred = np.stack(
        [stumble.barred(has("stumble"), swinging[k], part[k], felt[k], forces[k], ways[k]) for k in range(4)]
    )
    barred_for = np.where(barred, reflex.barred + dt, 0.0)
    hit = barred_for > stumble.LASTING
    up = np.where(repeated, 0.0, planned)
    early = touchdown.early(has("early_touchdown"), up, part, felt) & ~barred
    again, lasting, higher = stumble.swing_again(hit, left, reflex.again, reflex.lasting, reflex.higher, dt)
    again = np.where(early, 0.0, again)
    reaching, since = touchdown.missed(has("missed_touchdown"), planned, felt, memory.down, reflex.since, dt)
    down = np.where(early, 1.0, np.where(reaching | (again > 0.0), 0.0, planned))
    lifting = (down < 0.5) & (memory.down > 0.5)
    lift_off = np.where((lifting | hit)[:, None], feet_W, memory.lift_off)
    lift_off = lift_off - np.where(hit[:, None], stumble.RETRACT * np.stack(ways), 0.0)
    stands = (down > 0.5) & felt
    last_down = np.where(stands[:, None], feet_W, memory.last_down)

    # -- what the feet tell of the ground
    soles = radii[:, None] * np.array([0.0, 0.0, 1.0])
    expected, _ = ground_slope(memory.last_down - soles)
    off = feet_W[:, 2] - radii - (expected[2] + expected[0] * feet_W[:, 0] + expected[1] * feet_W[:, 1])
    unevenness = responses.uneven(reflex.unevenness, stands & (memory.down < 0.5), off)
    clear, rise = responses.over_rough_ground(has("rough_ground"), unevenness)
    slope, normal = ground_slope(last_down - soles)
    slope, normal = responses.level_ground(has("slope"), slope, normal, q[:2])
    foot_velocities = np.stack([J[k] @ v for k in range(4)])
    turning_at = np.stack([J_turn[k] @ v for k in range(4)])
    soles_at = slip.of_the_soles(foot_velocities, turning_at, radii, normal)
    slides, measured, slid = slip.sliding(
        has("slip"), memory.down * down, soles_at, forces, normal, weight, reflex.slid, dt
    )
    friction = slip.trusted(reflex.friction, walker.friction, normal, slides, measured, dt)

    def ground(x: Any, y: Any) -> Any:
        return slope[2] + slope[0] * x + slope[1] * y

    # -- feet that are up
    targets, pulls = [], []
    for k in range(4):
        lower, speed = touchdown.reach(since[k])
        z = ground(places[k][0], places[k][1]) + radii[k] - 0.008 - lower
        target = np.array([places[k][0], places[k][1], z])
        s = np.where(again[k] > 0.0, 1.0 - again[k] / np.maximum(lasting[k], dt), part[k])
        lasts = np.where(again[k] > 0.0, np.maximum(lasting[k], dt), air)
        p, dp, ddp = swing(lift_off[k], target, walker.clearance + clear + higher[k], s, lasts)
        kp, kd = walker.gains.swing
        dp = dp - np.array([0.0, 0.0, 1.0]) * speed
        pulls.append(ddp + kp * (p - feet_W[k]) + kd * (dp - foot_velocities[k]))
        targets.append(target)
    pull = np.stack(pulls)

    # -- the trunk
    n_H = heading.T @ normal
    most = np.array([LIMITS.roll, LIMITS.pitch])
    leaning = np.clip(np.array([command.roll, command.pitch]), -most, most)
    level = np.array([np.arctan2(-n_H[1], n_H[2]), np.arctan2(n_H[0], n_H[2])]) + leaning
    kp, kd = walker.gains.base_turn
    error = np.array([level[0] - roll, level[1] - pitch, _within_turn(wanted[2] - yaw)])
    turn = kp * error + kd * (R.T @ spin - v[:3])
    travel = np.array([across[0], across[1], slope[0] * across[0] + slope[1] * across[1]])
    high = walker.height + rise + np.clip(command.height, -LIMITS.height, LIMITS.height)
    too_low = ground(q[0], q[1]) + high - q[2]
    sag = np.clip(memory.sag + dt / SETTLES * np.clip(too_low, -0.5 * SAG, 0.5 * SAG), -SAG, SAG)
    lift = high + sag
    kp, kd = walker.gains.base_move
    place = np.array([wanted[0], wanted[1], ground(q[0], q[1]) + lift])
    move = kp * np.array([0.3, 0.3, 1.0]) * (place - q[:3]) + kd * (travel - moving_at)
    acceleration = np.concatenate([turn, move])

    # -- the whole-body program: the trunk moves as the forces of stage one would move it, and by its own feedback
    gains, losses = walker.gains, np.concatenate([np.zeros(6), _losses(robot, v[6:])])
    bias = bias_terms(robot, q, v, gravity) + losses
    arms = feet_W - radii[:, None] * np.array([0.0, 0.0, 1.0]) - (q[:3] + R @ walker.body.com)
    by_force, free_base = walker.body.base_acceleration(R, v[:6], arms)
    base = free_base + gains.base_feedback * np.concatenate([turn, R.T @ move])
    if wheels:
        touching = rolling.rolling(wheels, J, J_turn, rate_J, bias_J[:, :3], v, normal, down)
        J, rate_J, stops = touching.J, touching.rate_J, touching.stops
    M, driven = mass_matrix(robot, q), walker.driven
    own, sits, moves = walker.own, walker.stand - q[7:], v[6:]
    if driven is not None:  # in the coordinates of the motors
        terms = reduced(robot, q, v, M, bias, J, rate_J)
        M, bias, J, rate_J = terms.M, terms.bias, terms.J, terms.rate_J
        sits, moves = (np.stack([x[j] for j in driven.joints]) for x in (sits, moves))
    free, hand = free_motions(own, J[:, :, 6:]), None
    if walker.reach is not None:
        hand = reach_task(robot, walker.reach, memory.hand, q, v)
        free, bias = left_free(robot, walker.reach, hand.J, free), bias + hand.pushes
        sits = kept_off(robot, walker.reach.link, sits, q)
    posture = gains.posture[0] * sits - gains.posture[1] * moves
    if wheels:
        posture = rolling.wheel_posture(wheels, posture, v, heading[:, 0] @ across)
    posture = free @ posture
    tasks = Tasks(base, by_force, pull, posture, free, down, normal, stops, hand)
    program = whole_body_program(own, gains, friction, M, bias, J, rate_J, tasks, gravity)
    gear = responses.gear(reflex.gear, norm(velocity[:2], 1e-9), walker.height, g=g)
    tilt = np.arccos(np.clip(normal[2], -1.0, 1.0))
    trunk = {
        "sidestep": alarm > 0.0, "safe_stop": folded > 0.5, "slope": held(reflex, "slope", tilt, responses.SLOPED),
        "rough_ground": held(reflex, "rough_ground", np.sqrt(unevenness + 1e-12), responses.ROUGH),
    }  # fmt: skip
    legs = {
        "early_touchdown": early & (part < touchdown.ON_TIME) & (memory.down < 0.5), "slip": slides,
        "missed_touchdown": reaching & (since > touchdown.LATE), "stumble": again > 0.0,
    }  # fmt: skip
    remembered = ReflexMemory(
        reflex.on, acting(legs, trunk, np.where(has("speed_gait"), gear, 0.0)), since, slid, friction, barred_for,
        again, lasting, np.where(down > 0.5, 0.0, higher), alarm, doomed, folded, unevenness, gear,
    )  # fmt: skip
    after = Memory(
        memory.tick + 1.0, phase, walking, 1.0 + 0.0 * memory.started, wanted, velocity, mean,
        memory.delays, memory.beat, lift_off, last_down, down, remembered, memory.forces, sag, lack,
        memory.goal, memory.trouble, memory.hand,
    )  # fmt: skip
    euler = np.array([roll, pitch, yaw])
    found = Plan(
        program, bias, J, acceleration, pull, posture, feet_W, np.stack(targets), normal, slope, euler, level, travel,
        lift, friction, np.stack([duty, period]),
    )  # fmt: skip
    return found, after


def _losses(robot: Robot, rates: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """What motors add for the joints' own damping and dry friction [N m]; more than there is would drive the joints."""
    drag = joint_values(robot, "dry_friction") / np.maximum(np.abs(rates), REVERSAL)
    return COMPENSATED * (joint_values(robot, "damping") + drag) * rates


def _part(x: Any) -> Any:
    """The part of a cycle in [0, 1)."""
    return x - np.floor(x)


def _within_turn(angle: Any) -> Any:
    """The same angle within ±π."""
    return angle - 2.0 * np.pi * np.floor(angle / (2.0 * np.pi) + 0.5)


__all__ = ["LEASH", "LIMITS", "YAW_LEASH", "Memory", "Plan", "Walker", "plan"]

"""Combined plans of body and feet: the motion plan of Yan et al. 2021, eqs. (22)-(24) and figures 8, 9, 12 and 13.

A plan is a function of time that returns position and orientation of the body and the positions of the four feet in the
world. Feet swing on half ellipses at trapezoidal speed; the body accelerates, moves at constant speed and decelerates.

Errata of eq. (24), derived again from eq. (22) with L the whole step that a foot travels (2 L of eq. 23), T the
duration of a trot's swing and n cycles of two swings::

    x = L t² / 4T²                      0 < t < T             (as printed)
    x = L/4 + L (t - T) / 2T            T < t < (2n - 1) T    (printed with t - T in the denominator: wrong unit)
    x = L (n - 1/2) - L (t - 2nT)² / 4T²    until 2nT         (printed four times as steep: the speed would jump)

and sideways with W for L in all three rows (printed with L in the last). A foot lands where its hip will be in the
middle of the next stance. So the first and the last step of a trot are half steps of the same duration, as in the
paper, without special cases. A walk accelerates over its first cycle, and its first steps are half steps on average.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy import ndarray

from footfall.checks import finite_number, is_number, number_from_zero, positive_number
from footfall.errors import InputError
from footfall.gait.ellipse import Trapezoid, swing_between
from footfall.gait.pattern import LEGS, PATTERNS, Gait
from footfall.gait.pattern import named as gait_named
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.robot.model.description import Robot
from nptrace import lookup, select, smoothstep
from nptrace._types import Operand, Scalar
from nptrace.array_types import Float

POSTURE_LIMITS_DEG = {"roll": 5.0, "pitch": 10.0, "yaw": 20.0}  # [deg], in both directions: figure 12
TRAPEZOID_PROFILE = Trapezoid()  # a quarter of the time accelerating, a quarter decelerating


@dataclass(frozen=True)
class PlannedPose:
    """A plan at one instant, in the world: the body's origin [m], its yaw, pitch, roll [rad], the feet's centres [m].

    ``load``: the fraction of its load that each foot should carry: 1 in stance, 0 in the air, and between them during
    transitions.
    """

    position: Float[ndarray, "3"]
    euler: Float[ndarray, "3"]
    feet: Float[ndarray, "4 3"]
    load: Float[ndarray, "4"]


class MotionPlan(Protocol):
    """Body and feet as functions of time [s]; several times at once give arrays with time as their last axis."""

    @property
    def duration(self) -> float: ...

    def at(self, t: Scalar) -> PlannedPose: ...


@dataclass(frozen=True, eq=False)
class Footprint:
    """How a robot stands: height of its base [m], x and y of its feet from the base [m], radii of its feet [m]."""

    height: float
    positions: Float[ndarray, "4 2"]
    radii: Float[ndarray, "4"]

    @staticmethod
    def of(robot: Robot, height: float | None = None, pose: str = "stand") -> Footprint:
        """Return the footprint of a named pose, with the feet shifted together so that their middle is below the centre
        of mass.

        ``height`` of the base over the ground [m] is the pose's unless given.
        """
        missing = [leg for leg in LEGS if leg not in robot.foot_names]
        if missing:
            has = ", ".join(robot.foot_names) or "none"
            raise InputError(f"a plan needs the feet {', '.join(LEGS)}: robot '{robot.name}' has {has}")
        if height is not None:
            positive_number(height, "height of the base in a plan")
        q, _ = robot.state(pose)
        order = [robot.foot_index(leg) for leg in LEGS]
        feet, radii = foot_positions(robot, q)[order], np.array([robot.feet[k].radius for k in order])
        standing_height = float(q[2] - (feet[:, 2] - radii).min())
        positions = feet[:, :2] - feet[:, :2].mean(axis=0) + center_of_mass(robot, q)[:2] - q[:2]
        return Footprint(standing_height if height is None else float(height), positions, radii)

    def standing(self) -> Float[ndarray, "4 3"]:
        """Return the centres of the feet below a body at the origin [m]."""
        return np.column_stack([self.positions, self.radii])


# -- walking and trotting ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class WalkPlan:
    """A motion plan of gait cycles that starts and ends standing; every foot steps once per cycle.

    A cycle moves the body ``step`` forward and ``side`` to the left [m] and turns it by ``turn`` [rad, to the left],
    along an arc; feet rise by ``height``. ``sway`` [m] shifts the body towards the side of the stance feet (a walk with
    feet close together needs it), also during the rests. It stands for ``rest`` seconds before and after.
    """

    footprint: Footprint
    gait: Gait  # its delays, duty and period are used
    step: float
    side: float = 0.0
    turn: float = 0.0
    height: float = 0.05
    cycles: int = 5
    sway: float = 0.0
    rest: float = 0.5
    load_time: float = 0.25  # fraction of the swing time over which a foot is unloaded and loaded
    profile: Trapezoid = TRAPEZOID_PROFILE
    starts: Float[ndarray, "4"] = field(init=False)  # when each foot first lifts, in cycles
    footholds: Float[ndarray, "4 n 3"] = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.gait, Gait):
            raise InputError(f"a plan needs a Gait, such as gait.trot(), got {type(self.gait).__name__}")
        for key in ("step", "side", "turn", "height", "sway", "rest"):
            finite_number(getattr(self, key), f"{key} of a plan")
        for key in ("height", "rest"):
            number_from_zero(getattr(self, key), f"{key} of a plan")
        if self.sway and not self.rest:
            raise InputError("a plan that sways needs a rest, during which the body leans before the first foot lifts")
        if not is_number(self.load_time) or not 1e-6 <= self.load_time <= 1.0:
            raise InputError(f"load_time of a plan must be between 1e-6 and 1 of a swing, got {self.load_time!r}")
        least = math.ceil(2.0 * self._speed_up_cycles)
        if not isinstance(self.cycles, int) or self.cycles < least:
            raise InputError(f"a plan of the gait '{self.gait.name}' needs {least} cycles or more, got {self.cycles!r}")
        object.__setattr__(self, "starts", np.array([_first_lift(d, self.gait.duty) for d in self.gait.delays]))
        object.__setattr__(self, "footholds", self._place_feet())

    @property
    def duration(self) -> float:
        """Return the duration, including rests [s]."""
        return 2.0 * self.rest + self.cycles * self.gait.period

    @property
    def swing_time(self) -> float:
        """Return T of the paper [s]."""
        return (1.0 - self.gait.duty) * self.gait.period

    @property
    def distance(self) -> float:
        """Return the distance of the body along its path [m]."""
        return math.hypot(self.step, self.side) * self._travelled_steps

    def at(self, t: Scalar) -> PlannedPose:
        """Return body and feet at time t [s]; can be traced."""
        cycle = (t - self.rest) / self.gait.period
        x, y, yaw = self._body(cycle)
        heights = [self.footprint.height + 0.0 * t, 0.0 * t]
        feet, load = [], []
        for k in range(len(LEGS)):
            foot, carried = self._foot(k, cycle)
            feet.append(foot)
            load.append(carried)
        return PlannedPose(
            np.stack([x, y, heights[0]]), np.stack([yaw, heights[1], heights[1]]), np.stack(feet), np.stack(load)
        )

    def from_feet(self, feet: Float[ndarray, "4 3"]) -> WalkPlan:
        """Return this plan with different initial positions of the feet [m]."""
        moved, holds = copy.copy(self), self.footholds.copy()
        holds[:, 0] = feet
        object.__setattr__(moved, "footholds", holds)
        return moved

    def stands(self, t: Scalar) -> Float[ndarray, "4"]:
        """Return which feet are in stance at time t: 1 or 0."""
        swings = [self._swing(k, (t - self.rest) / self.gait.period)[1] for k in range(len(LEGS))]
        return np.stack([select((u > 0.0) & (u < 1.0), 0.0, 1.0) for u in swings])

    @property
    def _speed_up_cycles(self) -> float:
        """Return the number of cycles in which the body accelerates, and in which it decelerates: the first half
        step.
        """
        return 0.5 if self.gait.duty <= 0.6 else 1.0

    @property
    def _travelled_steps(self) -> float:
        """Return the number of steps travelled, in cycles."""
        return self.cycles - self._speed_up_cycles

    def _progress(self, cycle: Scalar) -> Scalar:
        return self._travelled_steps * Trapezoid(self._speed_up_cycles / self.cycles).position(cycle / self.cycles)

    def _along(self, progress: Scalar) -> tuple[Operand, Operand, Operand]:
        """Return x, y [m] and yaw [rad] on the arc after a number of steps."""
        if self.turn == 0.0:
            return self.step * progress, self.side * progress, 0.0 * progress
        yaw = self.turn * progress
        c, s = (1.0 - np.cos(yaw)) / self.turn, np.sin(yaw) / self.turn
        return self.step * s - self.side * c, self.step * c + self.side * s, yaw

    def _body(self, cycle: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        x, y, yaw = self._along(self._progress(cycle))
        if self.sway == 0.0:
            return x, y, yaw
        early = (
            self._right_side_phase + 0.25
        ) % 0.5  # the body leans before the first foot lifts, until the last has landed
        late = early + 0.5 * math.floor((self.cycles - early) / 0.5)
        wave = np.sin(2.0 * math.pi * (np.clip(cycle, early, late) - self._right_side_phase))
        pause = self.rest / self.gait.period
        fade = smoothstep((cycle + pause) / pause) * smoothstep((self.cycles + pause - cycle) / pause)
        shift = self.sway * fade * wave
        return x - shift * np.sin(yaw), y + shift * np.cos(yaw), yaw

    @property
    def _right_side_phase(self) -> float:
        """Return the phase at which the swings of the right feet start: the body then leans to the left."""
        duty = self.gait.duty
        angles = [2.0 * math.pi * (self.gait.delays[k] + 0.5 * (1.0 + duty)) for k in (1, 3)]
        middle = math.atan2(sum(map(math.sin, angles)), sum(map(math.cos, angles))) / (2.0 * math.pi)
        return middle - 0.25

    def _swing(self, leg: int, cycle: Scalar) -> tuple[Scalar, Scalar]:
        """Return (number of swings ended or started, fraction of the present swing's time; outside [0, 1] the foot
        stands).
        """
        since = cycle - float(self.starts[leg])
        number = np.clip(np.floor(since), 0.0, self.cycles - 1.0)
        return number, (since - number) / (1.0 - self.gait.duty)

    def _foot(self, leg: int, cycle: Scalar) -> tuple[Scalar, Scalar]:
        number, u = self._swing(leg, cycle)
        table = self.footholds[leg]
        start = np.stack([lookup(table[:, c], number) for c in range(3)])
        end = np.stack([lookup(table[:, c], number + 1.0) for c in range(3)])
        loaded = smoothstep(-u / self.load_time) + smoothstep((u - 1.0) / self.load_time)
        # between swings, the load of the last landing and that of the next lift-off meet
        next_lift = (1.0 + 0.0 * u) / (1.0 - self.gait.duty) - u
        fading = smoothstep(next_lift / self.load_time)
        last = number >= self.cycles - 1.0
        return swing_between(start, end, self.height, u, self.profile), select(
            (u > 1.0) & ~last, np.minimum(loaded, fading), loaded
        )

    def _place_feet(self) -> Float[ndarray, "4 n 3"]:
        """Return the positions of every foot before its first swing and after each swing."""
        duty, footholds = self.gait.duty, np.zeros((len(LEGS), self.cycles + 1, 3))
        for k in range(len(LEGS)):
            for j in range(self.cycles + 1):
                middle = self.starts[k] + (j - 1) + (1.0 - duty) + 0.5 * duty
                progress = 0.0 if j == 0 else self._travelled_steps if j == self.cycles else self._progress(middle)
                footholds[k, j] = self._under(k, float(progress))
        return footholds

    def _under(self, leg: int, progress: float) -> Float[ndarray, "3"]:
        x, y, yaw = self._along(progress)
        position, c, s = self.footprint.positions[leg], math.cos(yaw), math.sin(yaw)
        return np.array(
            [x + c * position[0] - s * position[1], y + s * position[0] + c * position[1], self.footprint.radii[leg]],
            dtype=float,
        )


def plan_walk(
    robot: Robot,
    gait: str | Gait = "walk",
    step: float = 0.1,
    *,
    swing_time: float = 0.4,
    duty: float | None = None,
    base_height: float | None = None,
    **options: Any,
) -> WalkPlan:
    """Plan body and foot trajectories that start and end standing.

    Given the name of a gait, its cycle follows from ``swing_time``. The duty factor of a walk is 0.8 unless given: with
    3/4, a foot would lift at the instant when the last one lands.

    Args:
        robot: The robot.
        gait: Name, or a Gait.
        step: Length of a step [m].
        swing_time: Duration of a swing [s].
        duty: Duty factor.
        base_height: Height of the base over the ground [m]; as standing unless given.
        **options: Further fields of ``WalkPlan``.

    Returns:
        The plan.
    """
    if isinstance(gait, str):
        positive_number(swing_time, "swing_time of a plan")
        made = gait_named(gait)
        share = duty if duty is not None else 0.8 if gait == "walk" else PATTERNS[gait].duty
        gait = made.replace(duty=share).replace(period=swing_time / (1.0 - share))
    return WalkPlan(footprint=Footprint.of(robot, base_height), gait=gait, step=step, **options)


def _first_lift(delay: float, duty: float) -> float:
    """Return when in its first cycle a foot lifts; all are in stance at the start."""
    start = (delay + duty) % 1.0
    return 0.0 if start > 1.0 - 1e-9 else start


# -- standing ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Posture:
    """A posture of the body over fixed feet: rotation [rad] and translation [m] relative to standing."""

    roll: float = 0.0
    pitch: float = 0.0
    yaw: float = 0.0
    forward: float = 0.0
    left: float = 0.0
    up: float = 0.0

    def __post_init__(self) -> None:
        for key, value in vars(self).items():
            if not is_number(value):
                raise InputError(f"{key} of a posture must be a finite number, got {value!r}")

    @staticmethod
    def degrees(roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0) -> Posture:
        """Return the posture of a rotated body, with angles in degrees."""
        return Posture(roll=math.radians(roll), pitch=math.radians(pitch), yaw=math.radians(yaw))

    def values(self) -> tuple[float, ...]:
        """Return x, y, z [m], yaw, pitch, roll [rad]."""
        return (self.forward, self.left, self.up, self.yaw, self.pitch, self.roll)


@dataclass(frozen=True, eq=False, kw_only=True)
class PosturePlan:
    """A sequence of postures, each reached with a trapezoidal velocity in ``move`` seconds and held for ``hold``.

    The first posture is that of the body at the start.
    """

    footprint: Footprint
    postures: tuple[Posture, ...]
    move: float = 0.9
    hold: float = 0.5
    profile: Trapezoid = TRAPEZOID_PROFILE
    feet: Float[ndarray, "4 3"] | None = None  # positions of the feet [m]; as in the footprint unless given

    def __post_init__(self) -> None:
        object.__setattr__(self, "postures", tuple(self.postures))
        if not self.postures or not all(isinstance(p, Posture) for p in self.postures):
            raise InputError("a posture plan needs at least one Posture")
        positive_number(self.move, "move of a posture plan")
        number_from_zero(self.hold, "hold of a posture plan")

    @property
    def duration(self) -> float:
        """Return the duration [s]."""
        return self.hold + (len(self.postures) - 1) * (self.move + self.hold)

    def at(self, t: Scalar) -> PlannedPose:
        """Return body and feet at time t [s]; can be traced."""
        first = self.postures[0].values()
        values = [value + 0.0 * t for value in first]
        for k, (before, after) in enumerate(zip(self.postures, self.postures[1:])):
            begins = self.hold + k * (self.move + self.hold)
            progress = self.profile.position((t - begins) / self.move)
            values = [
                value + (new - old) * progress if new != old else value
                for value, old, new in zip(values, before.values(), after.values())
            ]
        x, y, z, yaw, pitch, roll = values
        positions = self.footprint.standing() if self.feet is None else self.feet
        feet = [np.stack([float(c) + 0.0 * t for c in foot]) for foot in positions]
        loads = [1.0 + 0.0 * t] * len(LEGS)
        return PlannedPose(
            np.stack([x, y, z + self.footprint.height]), np.stack([yaw, pitch, roll]), np.stack(feet), np.stack(loads)
        )

    def from_feet(self, feet: Float[ndarray, "4 3"]) -> PosturePlan:
        """Return this plan over feet at other positions [m]."""
        return replace(self, feet=np.array(feet, dtype=float))


def standing_postures(robot: Robot, move: float = 0.9, hold: float = 0.5, share: float = 1.0) -> PosturePlan:
    """Plan the postures of Fig. 12 of Yan et al. 2021: roll ±5, pitch ±10, yaw ±20 degrees, each from level and back.

    Args:
        robot: The robot.
        move: Duration of each motion [s].
        hold: Pause after each motion [s].
        share: Fraction of these angles.

    Returns:
        The plan.
    """
    turned = [
        Posture.degrees(**{key: sign * share * most}) for key, most in POSTURE_LIMITS_DEG.items() for sign in (1, -1)
    ]
    return PosturePlan(footprint=Footprint.of(robot), postures=(Posture(), *turned, Posture()), move=move, hold=hold)


def yaw_swing(robot: Robot, degrees: float = 15.0, move: float = 0.9, hold: float = 0.5) -> PosturePlan:
    """Plan the yaw motion of Fig. 13 of Yan et al. 2021: from level to -15 degrees, to +15 and back.

    Args:
        robot: The robot.
        degrees: Amplitude [deg].
        move: Duration of each motion [s].
        hold: Pause after each motion [s].

    Returns:
        The plan.
    """
    ends = (Posture(), Posture.degrees(yaw=-degrees), Posture.degrees(yaw=degrees), Posture())
    return PosturePlan(footprint=Footprint.of(robot), postures=ends, move=move, hold=hold)

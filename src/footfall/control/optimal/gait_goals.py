"""Goals of a horizon from a velocity command and a gait: stances, footholds and the motion of the trunk.

The schedule is the gait's; a foothold lies where its hip will be, predicted from the present velocity of the trunk
(``footsteps``). The optimisation may move a foot away from there if that costs less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy import ndarray

from footfall.control.optimal.knot import Goal, KnotModel
from footfall.control.posture import standing_state
from footfall.dynamics.gravity_terms import gravity_terms
from footfall.gait.pattern import Gait
from footfall.kinematics.forward import foot_positions
from footfall.kinematics.jacobian import feet_jacobian
from footfall.spatial.gravity import strength
from nptrace.array_types import Float

Heights = Callable[[Float[ndarray, "k 2"]], Float[ndarray, "k"]]


def window(plan: Goal, first: int, knots: int, time_left: float, final_weight: float) -> Goal:
    """Return a window of a number of knots of a plan, and the state after them; past its end the last but one is
    repeated.

    left: remaining length of the first interval [s]. last: factor on the cost of the last state's deviation.
    """
    end = len(plan.interval) - 2
    rows = np.minimum(np.arange(first, first + knots + 1), end)
    selected = replace(plan, **{f.name: np.array(getattr(plan, f.name)[rows]) for f in fields(Goal)})
    selected.interval[0] = time_left
    selected.weights[-1] *= final_weight
    selected.down[-1], selected.effort[-1], selected.torque[-1], selected.pull[-1] = 0.0, 0.0, 0.0, 0.0
    selected.least[-1] = selected.floor[-1] - 1.0
    return selected


_DOWN = np.array([0.0, 0.0, 1.0])
# [m] between candidate footholds; number of them to either side that must be level
_FOOTHOLD_SPACING, _LEVEL_NEIGHBOURS = 0.03, 2
_FOOTHOLD_SHIFTS = _FOOTHOLD_SPACING * np.arange(-3, 4)
_FOOTHOLD_SAMPLES = _FOOTHOLD_SPACING * np.arange(-3 - _LEVEL_NEIGHBOURS, 4 + _LEVEL_NEIGHBOURS)
_GROUND_SAMPLES = np.linspace(-0.12, 0.12, 5)  # [m], over which the ground under a pair of legs is averaged
_PITCH_FRACTION = 0.5  # fraction of the ground's slope between the pairs of legs


@dataclass(frozen=True, kw_only=True)
class Prices:
    """The price of a unit of error at one knot [per rad², m², (rad/s)², (m/s)², (N m)²]."""

    orientation: tuple[float, float, float] = (100.0, 100.0, 50.0)
    position: tuple[float, float, float] = (30.0, 30.0, 600.0)
    joints: float = 0.5
    angular_velocity: tuple[float, float, float] = (0.5, 0.5, 1.0)
    velocity: tuple[float, float, float] = (20.0, 20.0, 5.0)
    rates: float = 4e-3
    effort: float = 4e-3
    feet: float = 1500.0
    last: float = 4.0  # factor for the last state

    def weights(self, nj: int) -> Float[ndarray, "nd"]:
        """Return the weights of a deviation's components, for a robot of nj joints."""
        return np.concatenate(
            [
                self.orientation,
                self.position,
                np.full(nj, self.joints),
                self.angular_velocity,
                self.velocity,
                np.full(nj, self.rates),
            ]
        )


def yawed_and_pitched(yaw: Float[ndarray, "k"], pitch: Float[ndarray, "k"]) -> Float[ndarray, "k 4"]:
    """Return quaternions: rotated about the vertical, then nose down about the trunk's y axis."""
    c, s, cp, sp = np.cos(0.5 * yaw), np.sin(0.5 * yaw), np.cos(0.5 * pitch), np.sin(0.5 * pitch)
    return np.stack([c * cp, -s * sp, c * sp, s * cp], axis=1)


@dataclass(frozen=True, kw_only=True)
class GaitState:
    """Robot, command and gait at one time, from which the goals of a walk follow; world axes."""

    x: Float[ndarray, "nx"]
    pose_des: Float[ndarray, "3"]  # x, y, yaw
    velocity: Float[ndarray, "3"]  # forward, sideways, turn
    v_mean: Float[ndarray, "2"]  # mean velocity of the trunk over a step, world axes [m/s]
    # cycles of each leg: integer part since its touchdowns; in stance while the fraction is below the duty
    cycle: Float[ndarray, "4"]
    is_walking: bool
    feet: Float[ndarray, "4 3"]  # lowest points
    lift_off: Float[ndarray, "4 3"]
    plane: Float[ndarray, "3"]  # plane of the ground: height = plane[2] + plane[0] x + plane[1] y
    time_left: float  # remaining length of the first interval [s]


@dataclass(frozen=True, eq=False, kw_only=True)
class GaitGoals:
    """Create the goals of a robot's walk."""

    model: KnotModel
    knots: int
    knot: float  # [s]
    clearance: float  # [m]
    height: float  # height of the base over the ground [m]
    stand: Float[ndarray, "nj"]
    hips: Float[ndarray, "4 3"]  # feet below them, from the base
    still: Float[ndarray, "nj"]  # torques that hold the joints' weight [N m]
    loads: Float[ndarray, "4 nj"]  # torques of a foot that carries the whole weight [N m]
    prices: Prices = field(default_factory=Prices)
    heights: Heights | None = None  # height of the ground at points, if it is known

    @staticmethod
    def of(
        model: KnotModel,
        knots: int,
        knot: float,
        clearance: float | None,
        hip_height: float | None,
        prices: Prices,
        heights: Heights | None = None,
    ) -> GaitGoals:
        robot = model.robot
        q, _ = standing_state(robot, hip_height)
        loads = np.stack([-J[3:, 6:].T @ (model.weight * _DOWN) for J in feet_jacobian(robot, q)])
        still = np.asarray(gravity_terms(robot, q, model.gravity)[6:])
        clearance = 0.2 * float(q[2]) if clearance is None else clearance
        hips = foot_positions(robot, q) - q[:3]
        return GaitGoals(
            model=model,
            knots=knots,
            knot=knot,
            clearance=clearance,
            height=float(q[2]),
            stand=q[7:],
            hips=hips,
            still=still,
            loads=loads,
            prices=prices,
            heights=heights,
        )

    def times(self, first: float) -> tuple[ndarray, ndarray]:
        """Return (start of each knot, its length)."""
        lasts = np.full(self.knots + 1, self.knot)
        lasts[0] = first
        return np.concatenate([[0.0], np.cumsum(lasts[:-1])]), lasts

    def __call__(self, gait: Gait, steps: GaitState) -> Goal:
        """Return the goals of all knots."""
        begins, lasts = self.times(steps.time_left)
        robot, N, prices = self.model.robot, self.knots, self.prices
        duty, period = gait.duty, gait.period
        middle = steps.cycle + (begins + 0.5 * lasts)[:, None] / period
        down = np.where(middle - np.floor(middle) < duty, 1.0, 0.0) if steps.is_walking else np.ones((N + 1, 4))
        yaw = steps.pose_des[2] + steps.velocity[2] * begins
        c, s = np.cos(yaw), np.sin(yaw)
        forward, left, _ = steps.velocity
        velocity_W = np.stack([c * forward - s * left, s * forward + c * left], axis=1)
        travelled = np.cumsum(lasts[:-1, None] * velocity_W[:-1], axis=0)
        positions = steps.pose_des[:2] + np.concatenate([np.zeros((1, 2)), travelled])
        feet, floor, least = self._feet(gait, steps, begins, velocity_W[0], down)
        q = np.zeros((N + 1, robot.nq))
        q[:, :2], q[:, 7:] = positions, self.stand
        q[:, 2], pitch = self._trunk(steps, positions, yaw)
        q[:, 3:7] = yawed_and_pitched(yaw, pitch)
        v = np.zeros((N + 1, robot.nv))
        v[:, 2], v[:, 3], v[:, 4] = steps.velocity[2], forward, left
        share = down / np.maximum(down.sum(axis=1, keepdims=True), 1.0)
        torque = self.still + share @ self.loads
        weights = np.tile(prices.weights(robot.nj), (N + 1, 1))
        weights[-1] *= prices.last
        effort, pull = np.full((N + 1, robot.nj), prices.effort), np.full((N + 1, 4), prices.feet)
        down[-1], effort[-1], torque[-1] = 0.0, 0.0, 0.0
        least[-1] = floor[-1] - 1.0
        pull[-1] = 0.0
        return Goal(
            q=q,
            v=v,
            weights=weights,
            torque=torque,
            effort=effort,
            feet=feet,
            pull=pull,
            down=down,
            floor=floor,
            least=least,
            interval=lasts,
        )

    def _feet(
        self, gait: Gait, steps: GaitState, begins: ndarray, velocity_des: ndarray, down: ndarray
    ) -> tuple[ndarray, ndarray, ndarray]:
        """Return (desired feet, ground below them, clearance) at every knot."""
        duty, period = gait.duty, gait.period
        cycle = steps.cycle + begins[:, None] / period
        if not steps.is_walking:
            feet = np.tile(steps.feet, (len(begins), 1, 1))
            return feet, np.tile(self._under(steps.feet), (len(begins), 1)), feet[:, :, 2] - 1.0
        stride_number, first_stride = np.floor(cycle), np.floor(steps.cycle)
        s = np.clip((cycle - stride_number - duty) / (1.0 - duty), 0.0, 1.0)
        passed, legs = (stride_number - first_stride).astype(int), np.arange(4)
        lands = (first_stride + np.arange(passed.max() + 2)[:, None] - steps.cycle) * period
        holds = self._footholds(steps, velocity_des, duty * period, lands)
        start, end = holds[passed, legs], holds[passed + 1, legs]
        swings = steps.cycle - first_stride >= duty
        begun = np.where(swings[:, None], steps.lift_off, steps.feet)
        same = passed == 0
        start = np.where(same[:, :, None], begun, start)
        along = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
        feet = start + along[:, :, None] * (end - start)
        rise = np.sin(np.pi * s) ** 2
        floor = np.where(down > 0.5, np.where(same, self._under(begun), start[:, :, 2]), feet[:, :, 2])
        feet[:, :, 2] = feet[:, :, 2] + self.clearance * rise
        if self.heights is not None:  # as high over the higher end, reached before it
            nearer = np.where(s < 0.5, start[:, :, 2], end[:, :, 2])
            top = np.maximum(start[:, :, 2], end[:, :, 2]) + self.clearance
            feet[:, :, 2] = nearer + rise * (top - nearer)
        return feet, floor, feet[:, :, 2] - 0.6 * self.clearance * rise - 0.005

    def _under(self, feet: Float[ndarray, "4 3"]) -> Float[ndarray, "4"]:
        """Return the height of the ground below stance feet; where it is unknown, that of the feet."""
        return feet[:, 2] if self.heights is None else self.heights(feet[:, :2])

    def _trunk(
        self, steps: GaitState, positions: Float[ndarray, "k 2"], yaw: Float[ndarray, "k"]
    ) -> tuple[ndarray, ndarray]:
        """Return (height, pitch) of the base at points: over the plane, or the ground below the front and the hind
        legs.
        """
        if self.heights is None:
            return self.height + steps.plane[2] + positions @ steps.plane[:2], np.zeros(len(positions))
        ahead = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
        half = 0.5 * (self.hips[:, 0].max() - self.hips[:, 0].min())
        off = np.concatenate([side * half + _GROUND_SAMPLES for side in (1.0, -1.0)])
        z = self.heights((positions[:, None] + off[:, None] * ahead[:, None]).reshape(-1, 2)).reshape(
            -1, 2, len(_GROUND_SAMPLES)
        )
        front, hind = z[:, 0].mean(axis=1), z[:, 1].mean(axis=1)
        return self.height + 0.5 * (front + hind), -_PITCH_FRACTION * np.arctan2(front - hind, 2.0 * half)

    def _footholds(
        self, steps: GaitState, velocity_des: ndarray, stance: float, lands: Float[ndarray, "k 4"]
    ) -> ndarray:
        """Return the footholds of feet that land after given times [s]."""
        g = strength(self.model.gravity)
        fall_time = np.sqrt(self.height / g)
        velocity_error = steps.v_mean - velocity_des
        passed = fall_time * (1.0 - np.exp(-np.maximum(lands, 0.0) / fall_time))
        yaw = steps.pose_des[2] + steps.velocity[2] * lands
        c, s = np.cos(yaw), np.sin(yaw)
        hips = self.hips[:, 0] * c - self.hips[:, 1] * s, self.hips[:, 0] * s + self.hips[:, 1] * c
        ahead = lands + 0.5 * stance
        lean = (passed + 0.5 * stance + 0.4 * fall_time)[:, :, None] * velocity_error
        max_lean = 0.6 * self.height
        length = np.sqrt((lean**2).sum(axis=2, keepdims=True) + 1e-12)
        lean = lean * np.minimum(1.0, max_lean / length)
        middle = 0.5 * (steps.x[:2] + steps.pose_des[:2])
        xy = middle + np.stack(hips, axis=2) + ahead[:, :, None] * velocity_des + lean
        if self.heights is None:
            return np.concatenate([xy, (xy @ steps.plane[:2] + steps.plane[2])[:, :, None]], axis=2)
        return self._level(xy, steps.pose_des[2])

    def _level(self, xy: Float[ndarray, "k 4 2"], yaw: float) -> Float[ndarray, "k 4 3"]:
        """Return footholds moved forwards or backwards to where the ground around them is level."""
        assert self.heights is not None
        ahead = np.array([np.cos(yaw), np.sin(yaw)])
        z = self.heights((xy[:, :, None] + _FOOTHOLD_SAMPLES[:, None] * ahead).reshape(-1, 2)).reshape(
            *xy.shape[:2], -1
        )
        about = np.stack([z[:, :, k : k + len(_FOOTHOLD_SHIFTS)] for k in range(2 * _LEVEL_NEIGHBOURS + 1)])
        uneven = about.max(axis=0) - about.min(axis=0)
        best = np.argmin(uneven + 0.2 * np.abs(_FOOTHOLD_SHIFTS), axis=2)[:, :, None]
        height = np.take_along_axis(
            z[:, :, _LEVEL_NEIGHBOURS : _LEVEL_NEIGHBOURS + len(_FOOTHOLD_SHIFTS)], best, axis=2
        )
        return np.concatenate([xy + _FOOTHOLD_SHIFTS[best] * ahead, height], axis=2)

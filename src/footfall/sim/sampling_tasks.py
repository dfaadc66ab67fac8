"""Tasks of ``Sampling``, each as a cost of one step.

Costs are tuned for a Mini Cheetah and scale with the robot: lengths with its standing height H, times with sqrt(H / g),
torques with its weight times H. ``View`` has the quantities of a step in these units. Terms have a weight of 1, which
may be changed during a run: ``planner.weights["upright"] = 2``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.contact.boxes import Box, Boxes
from footfall.contact.ground import Ground, Plane
from footfall.contact.steps import Steps, Treads
from footfall.control.command import Command
from footfall.control.posture import standing_joints
from footfall.errors import InputError, unknown
from footfall.gait.pattern import named as gait_named
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.kinematics.frames import frame_pose
from footfall.robot.model.description import Pose, Robot
from footfall.sim.sampling import Moment, PlanningTask
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Given, PyTree, Scalar
from nptrace.array_types import Float

_HEIGHT, _WEIGHT = 0.29, 87.0  # of the robot for which the weights were tuned [m, N]


@dataclass(frozen=True)
class Scale:
    """The size of a robot relative to the one for which the weights were tuned."""

    length: float
    time: float
    torque: float

    @staticmethod
    def of(robot: Robot) -> Scale:
        length = robot.poses["stand"].height / _HEIGHT
        return Scale(length, float(np.sqrt(length)), robot.mass * 9.81 * length / _WEIGHT)


def _scaled() -> Any:
    """Return a field whose default scales with the size of the robot."""
    return field(default=None)


def _weights(*names: str) -> Mapping[str, float]:
    return MappingProxyType(dict.fromkeys(names, 1.0))


# -- what all of them share --------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class View:
    """A step of a rollout in units of the robot's size."""

    R: Float[ndarray, "3 3"]  # orientation of the base
    v: Float[ndarray, "3"]  # velocity of the base, world axes
    rates: Float[ndarray, "3"]  # angular velocity, base axes
    high: float  # height of the base over its standing height
    away: Float[ndarray, "2"]  # displacement from the start
    feet: Float[ndarray, "4 3"]  # centres, world axes [m]
    low: Float[ndarray, "4"]  # heights of their lowest points [m]
    off: Float[ndarray, "nj"]  # joint offsets from the stand [rad]
    speeds: Float[ndarray, "nj"]  # rates of the joints
    torque: Float[ndarray, "nj"]  # scaled to the robot for which the weights were tuned [N m]

    @property
    def effort(self) -> float:
        """Return the squares of torques."""
        return 2e-4 * np.sum(self.torque * self.torque)

    @property
    def overload(self) -> float:
        """Return the squares of torques beyond the motors' limits."""
        return 0.02 * np.sum(np.maximum(np.abs(self.torque) - 17.0, 0.0) ** 2)


@dataclass(frozen=True, kw_only=True)
class ScaledTask(PlanningTask):
    """A task whose weights scale with the robot; its goal is the robot's initial position."""

    robot: Robot

    def __post_init__(self) -> None:
        if not self.robot.floating or "stand" not in self.robot.poses or self.robot.nf != 4:
            raise InputError(
                f"planning tasks need a robot with four feet and a pose 'stand', which '{self.robot.name}' is not"
            )

    @cached_property
    def scale(self) -> Scale:
        """Return the size of the robot."""
        return Scale.of(self.robot)

    @cached_property
    def stand(self) -> Pose:
        """Return the standing pose."""
        return self.robot.poses["stand"]

    @cached_property
    def radii(self) -> Float[ndarray, "4"]:
        """Return the radii of the feet [m]."""
        return np.array([foot.radius for foot in self.robot.feet])

    def view(self, robot: Robot, now: Moment) -> View:
        """Return a step in units of the robot's size."""
        R, feet, scale = to_rotation(now.q[3:7]), foot_positions(robot, now.q), self.scale
        return View(
            R=R,
            v=R @ now.v[3:6] * (scale.time / scale.length),
            rates=now.v[:3] * scale.time,
            high=(now.q[2] - self.stand.height) / scale.length,
            away=(now.q[:2] - now.goal[:2]) / scale.length,
            feet=feet,
            low=feet[:, 2] - self.radii,
            off=now.q[7:] - np.array(self.stand.joints),
            speeds=now.v[6:] * scale.time,
            torque=now.torque / scale.torque,
        )

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "n"], PyTree]:
        place = memory if len(memory) else np.array(q[:2], dtype=float)
        return place, place


def upright(R: Float[ndarray, "3 3"]) -> float:
    """Return the squares of pitch and roll."""
    return R[2, 0] ** 2 + R[2, 1] ** 2


# -- walking -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Walk(ScaledTask):
    """Follow a velocity command with the rhythm of a gait: forward, sideways and turn."""

    gait: str = "trot"
    period: float = _scaled()  # [s]; scales with the robot unless given
    lift: float = _scaled()  # clearance of the feet [m]; scales likewise
    lead: float = 0.1  # the reference waits for a robot that lags by more than this [m]
    pull: float = 1.0  # weight of the reference
    haste: float = 1.0  # weight of the velocity
    gain: float = 1.0
    weights = _weights("feet", "position", "velocity", "heading", "height", "upright", "posture", "effort")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "period", 0.4 * self.scale.time if self.period is None else self.period)
        object.__setattr__(self, "lift", 0.06 * self.scale.length if self.lift is None else self.lift)

    @cached_property
    def delays(self) -> Float[ndarray, "4"]:
        """Return the delays of the legs in the gait [cycles]."""
        return np.array(gait_named(self.gait).delays)

    @cached_property
    def length(self) -> float:
        """Return the distance from the hind to the fore feet [m]."""
        feet = foot_positions(self.robot, self.robot.state("stand")[0])
        return float(feet[:2, 0].mean() - feet[2:, 0].mean())

    @property
    def gait_period(self) -> float | None:  # type: ignore[override]
        return self.period

    def swing(self, t: float) -> Float[ndarray, "4"]:
        """Return the desired lift of the feet, as fractions of ``lift``."""
        return np.maximum(np.sin(2.0 * np.pi * (t / self.period - self.delays)), 0.0)

    def terrain(self, now: Moment, feet: Float[ndarray, "4 3"]) -> tuple[PyTree, PyTree, PyTree]:
        """Return (heights of the feet above their targets [m], cost of footholds, ground below fore and hind feet)."""
        clear = np.stack([now.ground.distance(feet[k]) for k in range(4)]) - self.radii
        under = feet[:, 2] - clear - np.mean(self.radii)
        return clear - self.lift * self.swing(now.t), 0.0, (0.5 * (under[0] + under[1]), 0.5 * (under[2] + under[3]))

    def cost(self, robot: Robot, now: Moment) -> float:
        see, w, scale, since = self.view(robot, now), now.weights, self.scale, now.t - now.goal[7]
        R, (cos, sin, vx, vy, turn) = see.R, (now.goal[k] for k in range(2, 7))
        behind = see.away - since * np.array([vx, vy]) / scale.length
        slow = see.v[:2] - np.array([vx, vy]) * scale.time / scale.length
        heading = R[1, 0] * (cos - turn * since * sin) - R[0, 0] * (sin + turn * since * cos)
        lifted, footholds, (fore, hind) = self.terrain(now, see.feet)
        high = see.high - 0.5 * (fore + hind) / scale.length
        lean = (R[2, 0] - 0.7 * (fore - hind) / self.length) ** 2 + R[2, 1] ** 2
        sway = 0.1 * (see.rates[0] ** 2 + see.rates[1] ** 2) + 0.5 * see.v[2] ** 2
        bent = 0.2 * np.sum(now.target**2) + np.sum(now.target[:: robot.nj // 4] ** 2)
        return (
            w["feet"] * (2.0 * np.sum((lifted / self.lift) ** 2) + footholds)
            + 20.0 * self.pull * w["position"] * (behind @ behind)
            + 6.0 * self.haste * w["velocity"] * (slow @ slow)
            + w["heading"] * (10.0 * heading**2 + (see.rates[2] - turn * scale.time) ** 2)
            + 100.0 * w["height"] * high**2
            + w["upright"] * (20.0 * lean + sway)
            + w["posture"] * bent
            + w["effort"] * see.effort
        )

    def start(self, robot: Robot) -> PyTree:
        return {"place": np.zeros(3), "time": -1.0}

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "8"], PyTree]:
        """Return reference position, heading and velocity; the reference follows the command."""
        (x, y, yaw), last = memory["place"], memory["time"]
        if last < 0.0:
            R = to_rotation(q[3:7])
            x, y, yaw, last = q[0], q[1], float(np.arctan2(R[1, 0], R[0, 0])), t
        yaw = yaw + command.turn * (t - last)
        cos, sin = np.cos(yaw), np.sin(yaw)
        vx, vy = cos * command.forward - sin * command.sideways, sin * command.forward + cos * command.sideways
        place = np.array([x + vx * (t - last), y + vy * (t - last)])
        ahead = place - q[:2]
        lead = self.lead * self.scale.length
        if (far := float(np.hypot(*ahead))) > lead:
            place = q[:2] + ahead * lead / far
        goal = np.array([place[0], place[1], cos, sin, vx, vy, command.turn, t])
        return goal, {"place": np.array([*place, yaw]), "time": t}


@dataclass(frozen=True, kw_only=True)
class Climb(Walk):
    """Climb up and down stairs that the planner knows: ``contact.Steps``."""

    lead: float = 0.2
    pull: float = 12.0  # multiple of those of level walking: a riser costs effort before it is climbed
    haste: float = 3.0
    gain: float = 1.5
    settings = MappingProxyType({"samples": 2048, "collisions": "trunk,knees", "noise": (0.12, 0.25, 0.35)})

    def __post_init__(self) -> None:
        scale = Scale.of(self.robot) if "stand" in self.robot.poses else Scale(1.0, 1.0, 1.0)
        object.__setattr__(self, "period", 0.44 * scale.time if self.period is None else self.period)
        object.__setattr__(self, "lift", 0.09 * scale.length if self.lift is None else self.lift)
        super().__post_init__()

    @cached_property
    def stance(self) -> Float[ndarray, "4 2"]:
        """Return the positions of the standing feet relative to the base [m]."""
        return foot_positions(self.robot, self.robot.state("stand")[0])[:, :2]

    def terrain(self, now: Moment, feet: Float[ndarray, "4 3"]) -> tuple[PyTree, PyTree, PyTree]:
        height, swing, near = _height_of(now.ground), self.swing(now.t), 0.04 * self.scale.length
        here, ahead, behind = (np.stack([height(feet[k, 0] + d) for k in range(4)]) for d in (0.0, near, -near))
        lifted = feet[:, 2] - self.radii - here - swing * self.lift
        edge = (1.0 - swing) * np.minimum(np.abs(ahead - behind) / near, 1.0)
        soft = 0.06 * self.scale.length * np.arange(-2, 3)
        hips = now.q[0] + 0.5 * self.length, now.q[0] - 0.5 * self.length
        fore, hind = (sum(height(x + d) for d in soft) / 5.0 for x in hips)
        left = (feet[:, :2] - now.q[:2] - self.stance @ to_rotation(now.q[3:7])[:2, :2].T) / self.scale.length
        return lifted, 0.3 * np.sum(edge) + 10.0 * np.sum(left**2), (fore, hind)

    def terrain_of(self, friction: float) -> Ground:
        length = self.scale.length
        return Steps(0.1 * length * np.arange(6), 0.4 * length, 0.5 * length, friction)

    @property
    def simulation_options(self) -> dict[str, Given]:
        return {"collisions": True, "stop_on_fall": False}


def _height_of(ground: Ground) -> Callable[[Scalar], Scalar]:
    if isinstance(ground, Treads):
        return ground.height
    if isinstance(ground, Plane):
        return lambda x: 0.0 * x
    raise InputError(f"the task climb needs steps or stairs, and the planner's ground is a {type(ground).__name__}")


# -- getting up and rearing --------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class GetUp(ScaledTask):
    """Stand up from any pose."""

    gain: float = 1.5
    weights = _weights("upright", "height", "posture", "calm", "effort")
    settings = MappingProxyType(
        {
            "knots": 8,
            "interval": 0.1,
            "noise": (0.3, 0.4, 0.4),
            "collisions": "trunk,knees",
            "self_collision": "force",
        }
    )

    def cost(self, robot: Robot, now: Moment) -> float:
        see, w = self.view(robot, now), now.weights
        up = np.maximum(see.R[2, 2], 0.0)
        leaps = np.maximum(see.high - 0.03, 0.0)
        calm = 0.005 * np.sum(see.rates**2) + 0.05 * (see.v @ see.v) + 2e-3 * np.sum(see.speeds**2)
        return (
            10.0 * w["upright"] * (1.0 - see.R[2, 2])
            + w["height"] * (40.0 * see.high**2 + 400.0 * leaps**2)
            + w["posture"] * (0.2 * up * up * np.sum(see.off**2) + 0.02 * np.sum(now.target**2))
            + w["calm"] * calm
            + w["effort"] * (see.effort + see.overload)
        )

    def start_state(self, robot: Robot, seed: int) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
        """Return a robot slightly above the ground: on its back, on a side or on its belly, by the seed."""
        random = np.random.default_rng(seed)
        roll = (np.pi, 0.5 * np.pi, -0.5 * np.pi, 0.0)[seed % 4]
        joints = standing_joints(robot) + random.normal(scale=0.2, size=robot.nj)
        low, high = (np.array([getattr(robot.joint(n), k) for n in robot.joint_names]) for k in ("lower", "upper"))
        q, v = robot.state(np.clip(joints, low, high))
        q[2], q[3:7] = 1.1 * self.stand.height, (np.cos(0.5 * roll), np.sin(0.5 * roll), 0.0, 0.0)
        return q, v

    @property
    def simulation_options(self) -> dict[str, Given]:
        return {"collisions": True, "self_collision": "force", "stop_on_fall": False}

    def noise_gain(self, robot: Robot, q: Float[ndarray, "nq"]) -> float:
        high = abs(q[2] - self.stand.height) / self.scale.length
        off = np.abs(q[7:] - np.array(self.stand.joints)).max()
        return float(np.clip((1.0 - to_rotation(q[3:7])[2, 2]) + 4.0 * high + 0.3 * off, 0.3, 2.0))

    def centers(self, robot: Robot) -> list[Float[ndarray, "nj"]]:
        return [np.array(robot.poses[name].joints) for name in ("stand", "fold") if name in robot.poses]


@dataclass(frozen=True, kw_only=True)
class HindLegs(ScaledTask):
    """Rear up and stand on the hind legs."""

    pitch: float = 0.95  # sine of the trunk's pitch
    begin: float = 0.5  # [s]
    ramp: float = 1.0  # [s]
    gain: float = 1.5
    weights = _weights("pitch", "balance", "height", "feet", "posture", "calm", "effort")
    settings = MappingProxyType({"knots": 7, "plan_rate": 100.0, "collisions": "trunk,knees"})

    def cost(self, robot: Robot, now: Moment) -> float:
        see, w, length, share = self.view(robot, now), now.weights, self.scale.length, now.goal[1]
        over = center_of_mass(robot, now.q)[:2] - 0.5 * (see.feet[2] + see.feet[3])[:2]
        over = over / length + 0.2 * see.v[:2]
        kneels = np.maximum(0.1 - np.array([self.knee_height(robot, now.q, k) for k in (2, 3)]) / length, 0.0)
        rear = np.array([0.0, 0.3, 1.0, 0.0, 0.3, 1.0, 0.0, -2.1, 1.4, 0.0, -2.1, 1.4])
        off = now.target - share * (rear - standing_joints(robot)) if robot.nj == 12 else now.target
        calm = 0.3 * np.sum(see.rates**2) + 0.5 * (see.v @ see.v) + 2e-3 * np.sum(see.speeds**2)
        return (
            w["pitch"] * (40.0 * (see.R[2, 0] - now.goal[0]) ** 2 + 20.0 * see.R[2, 1] ** 2 + 5.0 * see.R[1, 0] ** 2)
            + 60.0 * w["height"] * (see.high - now.goal[2]) ** 2
            + 150.0 * w["balance"] * share * (over @ over)
            + w["feet"] * (2000.0 * np.sum(see.low[2:] ** 2) / length**2 + 3000.0 * np.sum(kneels**2))
            + w["posture"] * (0.3 * np.sum(off * off) + np.sum(off[:6] ** 2))
            + w["calm"] * calm
            + 0.5 * w["effort"] * see.effort
        )

    @property
    def simulation_options(self) -> dict[str, Given]:
        return {"collisions": True, "stop_on_fall": False}

    @staticmethod
    def knee_height(robot: Robot, q: Float[ndarray, "nq"], leg: int) -> float:
        """Return the height of the last joint of a leg."""
        return frame_pose(robot, q, robot.tree.bodies[robot.tree.feet[leg]].name).p[2]

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "3"], PyTree]:
        s = np.clip((t - self.begin) / self.ramp, 0.0, 1.0)
        s = s * s * (3.0 - 2.0 * s)
        return np.array([self.pitch * s, s, 0.16 * s]), memory


# -- hopping and jumping -----------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Hop(ScaledTask):
    """Hop on the spot."""

    height: float = _scaled()  # clearance of the feet [m]
    period: float = _scaled()  # [s]
    gain: float = 1.5
    weights = _weights("feet", "height", "upright", "position", "posture", "effort")
    settings = MappingProxyType({"samples": 1024, "knots": 7, "spline": "linear"})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "period", 0.5 * self.scale.time if self.period is None else self.period)
        object.__setattr__(self, "height", 0.1 * self.scale.length if self.height is None else self.height)

    @property
    def gait_period(self) -> float | None:  # type: ignore[override]
        return self.period

    def cost(self, robot: Robot, now: Moment) -> float:
        see, w = self.view(robot, now), now.weights
        up = self.height * np.maximum(np.sin(2.0 * np.pi * now.t / self.period), 0.0)
        off = (see.low - up) / (0.06 * self.scale.length)
        lean = 20.0 * upright(see.R) + 10.0 * see.R[1, 0] ** 2 + 0.1 * np.sum(see.rates**2)
        return (
            w["feet"] * np.sum(off * off)
            + 100.0 * w["height"] * (see.high - up / self.scale.length) ** 2
            + w["upright"] * lean
            + w["position"] * (20.0 * (see.away @ see.away) + 3.0 * np.sum(see.v[:2] ** 2))
            + 0.1 * w["posture"] * np.sum(now.target**2)
            + w["effort"] * (see.effort + see.overload)
        )


@dataclass(frozen=True, kw_only=True)
class Jump(ScaledTask):
    """Jump forward onto a box, over a distance on level ground, or with ``flips``, backwards if above 0."""

    rise: float = 0.2  # height of the box [m]
    distance: float = 0.75  # [m]
    begin: float = 0.8  # [s]
    duration: float = 0.38  # approximate duration of the flight [s]
    flips: int = 0
    run_up: float = 0.1  # how far it moves during push-off [m]
    gain: float = 1.5
    weights = _weights("feet", "height", "upright", "position", "posture", "effort")
    settings = MappingProxyType(
        {"samples": 2048, "knots": 8, "interval": 0.06, "noise": (0.15, 0.35, 0.5), "collisions": "knees"}
    )

    def cost(self, robot: Robot, now: Moment) -> float:
        see, w, length = self.view(robot, now), now.weights, self.scale.length
        s = np.clip((now.t - self.begin) / self.duration, 0.0, 1.0)  # fraction of the flight
        push, flies = np.clip((now.t - self.begin) / 0.15 + 1.0, 0.0, 1.0), (s > 0.0) & (s < 1.0)
        crouch = np.clip((now.t - self.begin) / 0.25 + 1.6, 0.0, 1.0) * (1.0 - push)
        first = self.run_up if self.distance > 0.0 else 0.0
        run, angle, hop = self.distance - first, 2.0 * np.pi * self.flips, 4.0 * s * (1.0 - s)
        x = (first * push * push + run * s - 0.03 * crouch) / length
        z = self.rise * s + 1.2 * self.duration**2 * hop - 0.08 * crouch + 0.05 * push * (1.0 - s)
        late = see.v[0] * length / self.scale.time - run / self.duration * np.where(s < 1.0, push, 0.0)
        far = (see.away[0] - x) ** 2 + see.away[1] ** 2
        feet = (see.low - self.rise * np.minimum(3.0 * s, 1.0) - 0.06 * hop) / (0.06 * length)
        nose, left = np.array([np.cos(angle * s), 0.0, np.sin(angle * s)]), np.array([0.0, 1.0, 0.0])
        lean = 20.0 * (np.sum((see.R[:, 0] - nose) ** 2) + np.sum((see.R[:, 1] - left) ** 2))
        spin = see.rates + np.array([0.0, angle / self.duration * self.scale.time, 0.0]) * np.where(s < 1.0, push, 0.0)
        return (
            w["feet"] * np.where(flies, float(self.flips == 0), 1.0) * np.sum(feet**2)
            + 60.0 * w["height"] * (see.high - z / length) ** 2
            + w["upright"] * (lean + 0.1 * np.sum(spin**2))
            + w["position"] * (np.where(s < 1.0, 40.0, 2.0) * far + 3.0 * late**2)
            + w["posture"] * (0.1 * np.sum(now.target**2) + np.where(s > 0.4, 0.5, 0.1) * np.sum(see.off**2))
            + w["effort"] * (see.effort + see.overload)
        )

    def terrain_of(self, friction: float) -> Ground | None:
        if self.rise <= 0.0:
            return None
        box = Box(np.array([0.75, 0.0, 0.5 * self.rise]), np.array([0.8, 1.0, self.rise]))
        return Boxes(Plane(friction=friction), [box])

    @property
    def simulation_options(self) -> dict[str, Given]:
        return {"collisions": True, "stop_on_fall": False}


# -- on the spot -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class ReachTarget(ScaledTask):
    """Stand on three feet and hold the fourth at a point."""

    point: tuple[float, float, float] = (0.30, 0.15, 0.20)  # [m] from the robot's start; scales with it
    foot: int = 0
    begin: float = 0.5  # [s]
    gain: float = 1.5
    weights = _weights("reach", "balance", "feet", "height", "upright", "posture", "effort")

    def cost(self, robot: Robot, now: Moment) -> float:
        see, w, length, share = self.view(robot, now), now.weights, self.scale.length, now.goal[3]
        others = [k for k in range(4) if k != self.foot]
        middle = sum(see.feet[k] for k in others) / 3.0
        over = (center_of_mass(robot, now.q)[:2] - middle[:2]) / length + 0.2 * see.v[:2]
        away = (see.feet[self.foot] - now.goal[:3]) / length
        low = np.stack([see.low[k] for k in others]) / length
        lean = 20.0 * upright(see.R) + 10.0 * see.R[1, 0] ** 2 + 0.3 * np.sum(see.rates**2) + see.v @ see.v
        return (
            200.0 * w["reach"] * share * (away @ away)
            + 60.0 * w["balance"] * share * (over @ over)
            + 1000.0 * w["feet"] * (low @ low)
            + 60.0 * w["height"] * see.high**2
            + w["upright"] * lean
            + w["posture"] * (0.2 * np.sum(now.target**2) + 2e-3 * np.sum(see.speeds**2))
            + w["effort"] * see.effort
        )

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "4"], PyTree]:
        place = memory if len(memory) else np.array([q[0], q[1], 0.0])
        s = float(np.clip((t - self.begin) / 0.5, 0.0, 1.0))
        return np.array([*(place + self.scale.length * np.array(self.point)), s]), place


@dataclass(frozen=True, kw_only=True)
class Dance(ScaledTask):
    """Dance to a beat: bow, sway, turn and bob, and lift diagonal feet in turn."""

    tempo: float = 120.0  # beats per minute
    lift: float = _scaled()  # [m]
    gain: float = 1.5
    weights = _weights("feet", "position", "bob", "sway", "posture", "effort")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "lift", 0.05 * self.scale.length if self.lift is None else self.lift)

    def figure(self, t: float) -> tuple[PyTree, PyTree, PyTree, PyTree, PyTree]:
        """Return pitch, roll, yaw [rad], height relative to the stand and lift of the feet."""
        beat = 2.0 * np.pi * t * self.tempo / 60.0
        step = np.sin(0.5 * beat)
        up = [np.maximum(step, 0.0), np.maximum(-step, 0.0)]
        return 0.12 * np.sin(0.25 * beat), 0.12 * np.sin(0.5 * beat), 0.2 * np.sin(0.25 * beat), 0.05 * np.cos(beat), up

    def cost(self, robot: Robot, now: Moment) -> float:
        see, w, R = self.view(robot, now), now.weights, to_rotation(now.q[3:7])
        pitch, roll, yaw, bob, up = self.figure(now.t)
        feet = see.low / self.lift - np.stack([up[0], up[1], up[1], up[0]])
        sway = (R[2, 0] + np.sin(pitch)) ** 2 + (R[2, 1] - np.sin(roll)) ** 2 + (R[1, 0] - np.sin(yaw)) ** 2
        return (
            w["feet"] * np.sum(feet**2)
            + 30.0 * w["position"] * (see.away @ see.away)
            + 600.0 * w["bob"] * (see.high - _HEIGHT * bob) ** 2
            + 60.0 * w["sway"] * sway
            + w["posture"] * (0.2 * np.sum(now.target**2) + np.sum(now.target[:: robot.nj // 4] ** 2))
            + w["effort"] * see.effort
        )


TASKS: dict[str, Callable[..., PlanningTask]] = {
    "walk": Walk,
    "get_up": GetUp,
    "hind_legs": HindLegs,
    "hop": Hop,
    "climb": Climb,
    "jump": Jump,
    "reach": ReachTarget,
    "dance": Dance,
}


def task_named(name: str, robot: Robot, **options: Given) -> PlanningTask:
    """Return a planning task by its name on the command line.

    Args:
        name: ``walk``, ``climb``, ``get_up``, ``hind_legs``, ``hop``, ``jump``, ``reach`` or ``dance``.
        robot: The robot.
        **options: Fields of the task.

    Returns:
        The task.
    """
    if name not in TASKS:
        raise unknown("planning task", name, TASKS)
    return TASKS[name](robot=robot, **options)

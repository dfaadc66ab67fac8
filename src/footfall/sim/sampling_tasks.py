"""Tasks of ``Sampling``: what a robot does, each as a cost of one step.

Costs are tuned for a Mini Cheetah and scale with the robot: lengths with its standing height H, times with sqrt(H / g),
torques with its weight times H.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.command import Command
from footfall.control.posture import standing_joints
from footfall.errors import InputError, unknown
from footfall.gait.pattern import named as gait_named
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.kinematics.frames import frame_pose
from footfall.robot.model.description import Robot
from footfall.sim.sampling import Moment, PlanningTask
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Given, PyTree

_HEIGHT, _WEIGHT = 0.29, 87.0  # of the robot for which the weights were chosen [m, N]


@dataclass(frozen=True)
class Scale:
    """The size of a robot relative to the one that the weights are for."""

    length: float
    time: float
    torque: float

    @staticmethod
    def of(robot: Robot) -> Scale:
        length = robot.poses["stand"].height / _HEIGHT
        return Scale(length, float(np.sqrt(length)), robot.mass * 9.81 * length / _WEIGHT)


def _scaled() -> Any:
    """Return a field whose default follows from the size of the robot."""
    return field(default=None)


def _check_stands(robot: Robot) -> None:
    if not robot.floating or "stand" not in robot.poses or robot.nf != 4:
        raise InputError(f"planning tasks need a robot with four feet and a pose 'stand', which '{robot.name}' is not")


@dataclass(frozen=True, kw_only=True)
class Walk(PlanningTask):
    """Follow a velocity command with the rhythm of a gait: forward, sideways and turn."""

    robot: Robot
    gait: str = "trot"
    period: float = _scaled()  # [s]; scales with the robot unless given
    lift: float = _scaled()  # of the feet [m]; the same
    lead: float = 0.1  # the reference waits for a robot that is so far behind [m]
    gain: float = 1.0

    def __post_init__(self) -> None:
        _check_stands(self.robot)
        scale = Scale.of(self.robot)
        object.__setattr__(self, "period", 0.4 * scale.time if self.period is None else self.period)
        object.__setattr__(self, "lift", 0.06 * scale.length if self.lift is None else self.lift)

    @cached_property
    def delays(self) -> Float[ndarray, "4"]:
        """Delays of the legs in the gait [cycles]."""
        return np.array(gait_named(self.gait).delays)

    @cached_property
    def length(self) -> float:
        """Distance from the hind to the fore feet [m]."""
        feet = foot_positions(self.robot, self.robot.state("stand")[0])
        return float(feet[:2, 0].mean() - feet[2:, 0].mean())

    @property
    def gait_period(self) -> float | None:  # type: ignore[override]
        return self.period

    def cost(self, robot: Robot, now: Moment) -> float:
        scale, stand = Scale.of(self.robot), self.robot.poses["stand"]
        R, since = to_rotation(now.q[3:7]), now.t - now.goal[7]
        v = R @ now.v[3:6]
        x, y, cos, sin, vx, vy, turn = (now.goal[k] for k in range(7))
        e = np.array([now.q[0] - x - vx * since, now.q[1] - y - vy * since]) / scale.length
        ev = np.array([v[0] - vx, v[1] - vy]) * scale.time / scale.length
        heading = R[1, 0] * (cos - turn * since * sin) - R[0, 0] * (sin + turn * since * cos)
        feet = foot_positions(robot, now.q)
        swing = np.maximum(np.sin(2.0 * np.pi * (now.t / self.period - self.delays)), 0.0)
        radii = np.array([foot.radius for foot in self.robot.feet])
        clear = np.stack([now.ground.distance(feet[k]) for k in range(4)]) - radii
        lifted = clear / self.lift - swing
        under = feet[:, 2] - clear  # of the ground, about, and of a foot's centre on it
        fore, hind = 0.5 * (under[0] + under[1]), 0.5 * (under[2] + under[3])
        uphill = (fore - hind) / self.length
        high = now.q[2] - stand.height + np.mean(radii) - 0.5 * (fore + hind)
        rates = now.v[:3] * scale.time
        return (
            2.0 * np.sum(lifted * lifted)
            + 20.0 * (e @ e)
            + 6.0 * (ev @ ev)
            + 10.0 * heading * heading
            + (rates[2] - turn * scale.time) ** 2
            + 100.0 * (high / scale.length) ** 2
            + 20.0 * ((R[2, 0] - 0.7 * uphill) ** 2 + R[2, 1] ** 2)
            + 0.1 * (rates[0] ** 2 + rates[1] ** 2)
            + 0.5 * (v[2] * scale.time / scale.length) ** 2
            + 0.2 * np.sum(now.target**2)
            + np.sum(now.target[:: robot.nj // 4] ** 2)
            + 2e-4 * np.sum((now.torque / scale.torque) ** 2)
        )

    def start(self, robot: Robot) -> PyTree:
        return {"place": np.zeros(3), "time": -1.0}

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "8"], PyTree]:
        """Return reference position, heading and velocity; the reference moves with the command."""
        (x, y, yaw), last = memory["place"], memory["time"]
        if last < 0.0:
            R = to_rotation(q[3:7])
            x, y, yaw, last = q[0], q[1], float(np.arctan2(R[1, 0], R[0, 0])), t
        yaw = yaw + command.turn * (t - last)
        cos, sin = np.cos(yaw), np.sin(yaw)
        vx, vy = cos * command.forward - sin * command.sideways, sin * command.forward + cos * command.sideways
        place = np.array([x + vx * (t - last), y + vy * (t - last)])
        ahead = place - q[:2]
        lead = self.lead * Scale.of(self.robot).length
        if (far := float(np.hypot(*ahead))) > lead:
            place = q[:2] + ahead * lead / far
        goal = np.array([place[0], place[1], cos, sin, vx, vy, command.turn, t])
        return goal, {"place": np.array([*place, yaw]), "time": t}


@dataclass(frozen=True, kw_only=True)
class GetUp(PlanningTask):
    """Stand up from any pose."""

    robot: Robot
    gain: float = 1.5
    settings = MappingProxyType(
        {
            "knots": 8,
            "interval": 0.1,
            "noise": (0.3, 0.4, 0.4),
            "collisions": "trunk,knees",
            "self_collision": "force",
        }
    )

    def __post_init__(self) -> None:
        _check_stands(self.robot)

    def cost(self, robot: Robot, now: Moment) -> float:
        scale, stand = Scale.of(self.robot), self.robot.poses["stand"]
        R = to_rotation(now.q[3:7])
        up, off = np.maximum(R[2, 2], 0.0), now.q[7:] - np.array(stand.joints)
        v = now.v[3:6] * scale.time / scale.length
        torque = now.torque / scale.torque
        return (
            10.0 * (1.0 - R[2, 2])
            + 40.0 * ((now.q[2] - stand.height) / scale.length) ** 2
            + 0.2 * up * up * np.sum(off * off)
            + 400.0 * np.maximum((now.q[2] - stand.height) / scale.length - 0.03, 0.0) ** 2
            + 0.005 * np.sum((now.v[:3] * scale.time) ** 2)
            + 0.05 * (v @ v)
            + 2e-4 * np.sum(torque**2)
            + 0.02 * np.sum(np.maximum(np.abs(torque) - 17.0, 0.0) ** 2)
            + 2e-3 * np.sum((now.v[6:] * scale.time) ** 2)
            + 0.02 * np.sum(now.target**2)
        )

    def start_state(self, robot: Robot, seed: int) -> tuple[Float[ndarray, "nq"], Float[ndarray, "nv"]]:
        """Return a robot a little over the ground: on its back, on a side or on its belly, by the seed."""
        random = np.random.default_rng(seed)
        roll = (np.pi, 0.5 * np.pi, -0.5 * np.pi, 0.0)[seed % 4]
        joints = standing_joints(robot) + random.normal(scale=0.2, size=robot.nj)
        low, high = (np.array([getattr(robot.joint(n), k) for n in robot.joint_names]) for k in ("lower", "upper"))
        q, v = robot.state(np.clip(joints, low, high))
        q[2], q[3:7] = 1.1 * self.robot.poses["stand"].height, (np.cos(0.5 * roll), np.sin(0.5 * roll), 0.0, 0.0)
        return q, v

    @property
    def simulation_options(self) -> dict[str, Given]:
        return {"collisions": True, "self_collision": "force", "stop_on_fall": False}

    def noise_gain(self, robot: Robot, q: Float[ndarray, "nq"]) -> float:
        R, stand = to_rotation(q[3:7]), self.robot.poses["stand"]
        high = abs(q[2] - stand.height) / Scale.of(self.robot).length
        left = (1.0 - R[2, 2]) + 4.0 * high + 0.3 * np.abs(q[7:] - np.array(stand.joints)).max()
        return float(np.clip(left, 0.3, 2.0))

    def centers(self, robot: Robot) -> list[Float[ndarray, "nj"]]:
        return [np.array(robot.poses[name].joints) for name in ("stand", "fold") if name in robot.poses]


@dataclass(frozen=True, kw_only=True)
class HindLegs(PlanningTask):
    """Rear up and stand on the hind legs."""

    robot: Robot
    pitch: float = 0.95  # sine of the trunk's pitch
    begin: float = 0.5  # [s]
    ramp: float = 1.0  # [s]
    gain: float = 1.5
    settings = MappingProxyType({"knots": 7, "plan_rate": 100.0, "collisions": "trunk,knees"})

    def __post_init__(self) -> None:
        _check_stands(self.robot)

    def cost(self, robot: Robot, now: Moment) -> float:
        scale, stand = Scale.of(self.robot), standing_joints(self.robot)
        R, feet, com = to_rotation(now.q[3:7]), foot_positions(robot, now.q), center_of_mass(robot, now.q)
        radii = np.array([f.radius for f in self.robot.feet])
        v, share = R @ now.v[3:6], now.goal[1]
        hind = 0.5 * (feet[2] + feet[3])
        over = (com[:2] + 0.2 * scale.time * v[:2] - hind[:2]) / scale.length
        low = (feet[2:, 2] - radii[2:]) / scale.length
        rear = np.array([0.0, 0.3, 1.0, 0.0, 0.3, 1.0, 0.0, -2.1, 1.4, 0.0, -2.1, 1.4])
        off = now.target + stand - (stand + share * (rear - stand)) if robot.nj == 12 else now.target
        knees = np.array([self.knee_height(robot, now.q, k) for k in (2, 3)]) / scale.length
        return (
            40.0 * (R[2, 0] - now.goal[0]) ** 2
            + 20.0 * R[2, 1] ** 2
            + 60.0 * ((now.q[2] - now.goal[2]) / scale.length) ** 2
            + share * 150.0 * (over @ over)
            + 2000.0 * (low @ low)
            + 3000.0 * np.sum(np.maximum(0.1 - knees, 0.0) ** 2)
            + 0.3 * np.sum((now.v[:3] * scale.time) ** 2)
            + 0.5 * (v @ v) * (scale.time / scale.length) ** 2
            + 0.3 * np.sum(off * off)
            + np.sum(off[:6] ** 2)
            + 1e-4 * np.sum((now.torque / scale.torque) ** 2)
            + 2e-3 * np.sum((now.v[6:] * scale.time) ** 2)
            + 5.0 * R[1, 0] ** 2
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
        stand = self.robot.poses["stand"].height
        s = np.clip((t - self.begin) / self.ramp, 0.0, 1.0)
        s = s * s * (3.0 - 2.0 * s)
        top = stand + 0.16 * Scale.of(self.robot).length
        return np.array([self.pitch * s, s, stand + (top - stand) * s]), memory


@dataclass(frozen=True, kw_only=True)
class Hop(PlanningTask):
    """Hop on the spot."""

    robot: Robot
    height: float = _scaled()  # of the feet [m]
    period: float = _scaled()  # [s]
    gain: float = 1.5
    settings = MappingProxyType({"samples": 1024, "knots": 7, "spline": "linear"})

    def __post_init__(self) -> None:
        _check_stands(self.robot)
        scale = Scale.of(self.robot)
        object.__setattr__(self, "period", 0.5 * scale.time if self.period is None else self.period)
        object.__setattr__(self, "height", 0.1 * scale.length if self.height is None else self.height)

    @property
    def gait_period(self) -> float | None:  # type: ignore[override]
        return self.period

    def cost(self, robot: Robot, now: Moment) -> float:
        scale, stand = Scale.of(self.robot), self.robot.poses["stand"]
        R, feet = to_rotation(now.q[3:7]), foot_positions(robot, now.q)
        v, torque = R @ now.v[3:6] * scale.time / scale.length, now.torque / scale.torque
        up = self.height * np.maximum(np.sin(2.0 * np.pi * now.t / self.period), 0.0)
        radii = np.array([foot.radius for foot in self.robot.feet])
        off = (feet[:, 2] - radii - up) / (0.06 * scale.length)
        return (
            np.sum(off * off)
            + 100.0 * ((now.q[2] - stand.height - up) / scale.length) ** 2
            + 20.0 * (R[2, 0] ** 2 + R[2, 1] ** 2)
            + 10.0 * R[1, 0] ** 2
            + 0.1 * np.sum((now.v[:3] * scale.time) ** 2)
            + 20.0 * ((now.q[0] - now.goal[0]) ** 2 + (now.q[1] - now.goal[1]) ** 2) / scale.length**2
            + 3.0 * (v[0] ** 2 + v[1] ** 2)
            + 0.1 * np.sum(now.target**2)
            + 2e-4 * np.sum(torque**2)
            + 0.02 * np.sum(np.maximum(np.abs(torque) - 17.0, 0.0) ** 2)
        )

    def start(self, robot: Robot) -> PyTree:
        return ()

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "2"], PyTree]:
        place = memory if len(memory) else np.array(q[:2])
        return place, place


@dataclass(frozen=True, kw_only=True)
class Climb(Walk):
    """Walk up and down stairs that the planner knows: ``contact.Steps``."""

    period: float = _scaled()
    gain: float = 1.5
    settings = MappingProxyType({"samples": 768, "collisions": "knees", "noise": (0.12, 0.25, 0.35)})

    def __post_init__(self) -> None:
        scale = Scale.of(self.robot)
        object.__setattr__(self, "period", 0.44 * scale.time if self.period is None else self.period)
        object.__setattr__(self, "lift", 0.09 * scale.length if self.lift is None else self.lift)
        super().__post_init__()

    def cost(self, robot: Robot, now: Moment) -> float:
        scale, stand, H = Scale.of(self.robot), self.robot.poses["stand"], now.ground.height
        R, since = to_rotation(now.q[3:7]), now.t - now.goal[7]
        v, rates = R @ now.v[3:6], now.v[:3] * scale.time
        x, y, cos, sin, vx, vy, turn = (now.goal[k] for k in range(7))
        e = np.array([now.q[0] - x - vx * since, now.q[1] - y - vy * since]) / scale.length
        ev = np.array([v[0] - vx, v[1] - vy]) * scale.time / scale.length
        heading = R[1, 0] * (cos - turn * since * sin) - R[0, 0] * (sin + turn * since * cos)
        feet, near = foot_positions(robot, now.q), 0.05 * scale.length
        swing = np.maximum(np.sin(2.0 * np.pi * (now.t / self.period - self.delays)), 0.0)
        here = np.stack([H(feet[k, 0]) for k in range(4)])
        ahead, behind = (np.stack([H(feet[k, 0] + d) for k in range(4)]) for d in (near, -near))
        clear = feet[:, 2] - np.array([foot.radius for foot in self.robot.feet])
        lifted = (clear - here - swing * (self.lift + np.maximum(ahead, behind) - here)) / self.lift
        edge = (1.0 - swing) * np.minimum(np.abs(ahead - behind) / near, 1.0)
        half, soft = 0.5 * self.length, 0.12 * scale.length
        fore, hind = (sum(H(now.q[0] + a + k * soft / 2) for k in range(-2, 3)) / 5.0 for a in (half, -half))
        uphill, high = (fore - hind) / self.length, now.q[2] - stand.height - 0.5 * (fore + hind)
        return (
            2.0 * np.sum(lifted * lifted)
            + 1.0 * np.sum(edge)
            + 20.0 * (e @ e)
            + 6.0 * (ev @ ev)
            + 10.0 * heading * heading
            + (rates[2] - turn * scale.time) ** 2
            + 100.0 * (high / scale.length) ** 2
            + 20.0 * ((R[2, 0] - 0.7 * uphill) ** 2 + R[2, 1] ** 2)
            + 0.1 * (rates[0] ** 2 + rates[1] ** 2)
            + 0.2 * np.sum(now.target**2)
            + np.sum(now.target[:: robot.nj // 4] ** 2)
            + 2e-4 * np.sum((now.torque / scale.torque) ** 2)
        )


@dataclass(frozen=True, kw_only=True)
class Jump(PlanningTask):
    """Jump forward onto a box, over a distance on level ground, or with ``flips``, backwards if above 0."""

    robot: Robot
    rise: float = 0.2  # of the box [m]
    distance: float = 0.65  # [m]
    begin: float = 0.8  # [s]
    duration: float = 0.38  # of the flight, about [s]
    flips: int = 0
    run_up: float = 0.1  # how far it moves while it pushes [m]
    gain: float = 1.5
    settings = MappingProxyType(
        {"samples": 2048, "knots": 8, "interval": 0.06, "noise": (0.15, 0.35, 0.5), "collisions": "knees"}
    )

    def __post_init__(self) -> None:
        _check_stands(self.robot)

    def cost(self, robot: Robot, now: Moment) -> float:
        scale, stand = Scale.of(self.robot), self.robot.poses["stand"]
        R, feet = to_rotation(now.q[3:7]), foot_positions(robot, now.q)
        s = np.clip((now.t - self.begin) / self.duration, 0.0, 1.0)  # of the flight
        push = np.clip((now.t - self.begin) / 0.15 + 1.0, 0.0, 1.0)
        crouch = np.clip((now.t - self.begin) / 0.25 + 1.6, 0.0, 1.0) * (1.0 - push)
        hop, run, angle = (
            4.0 * s * (1.0 - s),
            self.distance - self.run_up * (self.distance > 0.0),
            2 * np.pi * self.flips,
        )
        x = now.goal[0] - 0.03 * crouch + (self.distance - run) * push * push + run * s
        z = stand.height + self.rise * s + 1.2 * self.duration**2 * hop - 0.08 * crouch + 0.05 * push * (1.0 - s)
        ahead = (R @ now.v[3:6])[0] - run / self.duration * np.where(s < 1.0, push, 0.0)
        low = self.rise * np.minimum(3.0 * s, 1.0) + 0.06 * hop
        off = (feet[:, 2] - np.array([foot.radius for foot in self.robot.feet]) - low) / (0.06 * scale.length)
        forward, left = np.array([np.cos(angle * s), 0.0, np.sin(angle * s)]), np.array([0.0, 1.0, 0.0])
        lean = np.sum((R[:, 0] - forward) ** 2) + np.sum((R[:, 1] - left) ** 2)
        spin = now.v[1] + angle / self.duration * np.where(s < 1.0, push, 0.0)
        flies = np.where((s > 0.0) & (s < 1.0), float(self.flips == 0), 1.0)  # upside down, feet may be anywhere
        bent, torque = now.q[7:] - standing_joints(self.robot), now.torque / scale.torque
        return (
            flies * np.sum(off * off) + 60.0 * ((now.q[2] - z) / scale.length) ** 2 + 20.0 * lean
            + 40.0 * ((now.q[0] - x) ** 2 + (now.q[1] - now.goal[1]) ** 2) / scale.length**2
            + 3.0 * ahead * ahead + 0.1 * (now.v[0] ** 2 + spin**2 + now.v[2] ** 2) * scale.time**2
            + 0.1 * np.sum(now.target**2) + np.where(s > 0.4, 0.5, 0.1) * np.sum(bent**2)
            + 2e-4 * np.sum(torque**2) + 0.02 * np.sum(np.maximum(np.abs(torque) - 17.0, 0.0) ** 2)
        )  # fmt: skip

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "2"], PyTree]:
        place = memory if len(memory) else np.array(q[:2])
        return place, place


@dataclass(frozen=True, kw_only=True)
class Reach(PlanningTask):
    """Stand on three feet and hold the fourth at a point."""

    robot: Robot
    point: tuple[float, float, float] = (0.30, 0.15, 0.20)  # [m] from where the robot starts; scales with it
    foot: int = 0
    begin: float = 0.5  # [s]
    gain: float = 1.5

    def __post_init__(self) -> None:
        _check_stands(self.robot)

    def cost(self, robot: Robot, now: Moment) -> float:
        scale, stand = Scale.of(self.robot), self.robot.poses["stand"]
        R, feet, com = to_rotation(now.q[3:7]), foot_positions(robot, now.q), center_of_mass(robot, now.q)
        radii = np.array([foot.radius for foot in self.robot.feet])
        others = [k for k in range(4) if k != self.foot]
        middle = sum(feet[k] for k in others) / 3.0
        v, s = R @ now.v[3:6] * scale.time / scale.length, now.goal[3]
        over = (com[:2] + 0.2 * scale.time * (R @ now.v[3:6])[:2] - middle[:2]) / scale.length
        away = (feet[self.foot] - now.goal[:3]) / scale.length
        low = np.stack([feet[k, 2] - radii[k] for k in others]) / scale.length
        return (
            s * 200.0 * (away @ away)
            + s * 60.0 * (over @ over)
            + 1000.0 * (low @ low)
            + 60.0 * ((now.q[2] - stand.height) / scale.length) ** 2
            + 20.0 * (R[2, 0] ** 2 + R[2, 1] ** 2)
            + 10.0 * R[1, 0] ** 2
            + 0.3 * np.sum((now.v[:3] * scale.time) ** 2)
            + v @ v
            + 0.2 * np.sum(now.target**2)
            + 2e-3 * np.sum((now.v[6:] * scale.time) ** 2)
            + 2e-4 * np.sum((now.torque / scale.torque) ** 2)
        )

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "4"], PyTree]:
        place = memory if len(memory) else np.array([q[0], q[1], 0.0])
        s = float(np.clip((t - self.begin) / 0.5, 0.0, 1.0))
        return np.array([*(place + Scale.of(self.robot).length * np.array(self.point)), s]), place


@dataclass(frozen=True, kw_only=True)
class Dance(PlanningTask):
    """Dance to a beat: bow, sway and bob, and lift diagonal feet in turn."""

    robot: Robot
    tempo: float = 120.0  # beats per minute
    lift: float = _scaled()  # [m]
    gain: float = 1.5

    def __post_init__(self) -> None:
        _check_stands(self.robot)
        object.__setattr__(self, "lift", 0.05 * Scale.of(self.robot).length if self.lift is None else self.lift)

    @property
    def gait_period(self) -> float | None:  # type: ignore[override]
        return 120.0 / self.tempo if 120.0 / self.tempo <= 0.45 else None

    def figure(self, t: float) -> tuple[Any, ...]:
        """Return pitch, roll, yaw [rad], height above the stand (a part of it) and how far feet are lifted."""
        beat = 2.0 * np.pi * t * self.tempo / 60.0
        step = np.sin(0.5 * beat)
        up = [np.maximum(step, 0.0), np.maximum(-step, 0.0)]
        return 0.12 * np.sin(0.25 * beat), 0.12 * np.sin(0.5 * beat), 0.2 * np.sin(0.25 * beat), 0.08 * np.cos(beat), up

    def cost(self, robot: Robot, now: Moment) -> float:
        scale, stand = Scale.of(self.robot), self.robot.poses["stand"]
        R, feet = to_rotation(now.q[3:7]), foot_positions(robot, now.q)
        pitch, roll, yaw, bob, up = self.figure(now.t)
        radii = np.array([foot.radius for foot in self.robot.feet])
        off = (feet[:, 2] - radii) / self.lift - np.stack([up[0], up[1], up[1], up[0]])
        e = (now.q[:2] - now.goal) / scale.length
        return (
            np.sum(off * off)
            + 30.0 * (e @ e)
            + 150.0 * ((now.q[2] - stand.height) / scale.length - 0.29 * bob) ** 2
            + 60.0 * ((R[2, 0] + np.sin(pitch)) ** 2 + (R[2, 1] - np.sin(roll)) ** 2 + (R[1, 0] - np.sin(yaw)) ** 2)
            + 0.2 * np.sum(now.target**2)
            + np.sum(now.target[:: robot.nj // 4] ** 2)
            + 2e-4 * np.sum((now.torque / scale.torque) ** 2)
        )

    def goal(
        self, t: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], command: Command, memory: PyTree
    ) -> tuple[Float[ndarray, "2"], PyTree]:
        place = memory if len(memory) else np.array(q[:2])
        return place, place


TASKS: dict[str, Callable[..., PlanningTask]] = {
    "walk": Walk,
    "get_up": GetUp,
    "hind_legs": HindLegs,
    "hop": Hop,
    "climb": Climb,
    "jump": Jump,
    "reach": Reach,
    "dance": Dance,
}


def task_named(name: str, robot: Robot, **options: Given) -> PlanningTask:
    """Return a planning task by its name on the command line.

    Args:
        name: ``walk``, ``get_up``, ``hind_legs`` or ``hop``.
        robot: The robot.
        **options: Fields of the task.

    Returns:
        The task.
    """
    if name not in TASKS:
        raise unknown("planning task", name, TASKS)
    return TASKS[name](robot=robot, **options)

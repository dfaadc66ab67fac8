"""Gaits of least cost: CMA-ES over a batch, at given speeds, and which gait wins at which speed.

A candidate is a set of gait constants and gains. All candidates of a generation walk at once, each under several
conditions (friction, payload), in one call of machine code; what counts is the mean. Hansen's CMA-ES asks for the next.

    front = optimise("mini_cheetah", speeds=(0.2, 0.4, 0.6))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command
from footfall.control.joint.joint_pd import JointPD
from footfall.errors import InputError, MissingExtraError, unknown
from footfall.gait.pattern import Gait, named
from footfall.gait.tuned import choices, for_robot
from footfall.robot.library import load
from footfall.robot.model.description import Robot
from footfall.sim.cores import cores
from footfall.sim.rollouts import compile_tick
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, reduced, repeated
from footfall.spatial.gravity import STANDARD, weight_of
from nptrace.array_types import Float

SPEEDS = (0.1, 0.2, 0.3, 0.45, 0.6, 0.8)  # [m/s]
GAITS = ("walk", "trot", "pace", "bound")
DUTIES = {"walk": (0.72, 0.9), "trot": (0.45, 0.75), "pace": (0.45, 0.75), "bound": (0.4, 0.7)}
CONDITIONS = tuple(product((0.6, 0.9), (1.0, 1.1)))  # friction of the ground, share of the trunk's mass
SETTLE, MEASURE = 2.0, 4.0  # [s]
NEAR = 0.05  # of the speed that is asked for: what is nearer costs nothing
_FELL, _SLOW, _CROOKED = 4.0, 60.0, 2.0  # costs, in units of cost of transport


@dataclass(frozen=True)
class Range:
    """A number that is searched for, from low to high."""

    path: str
    low: float
    high: float


@dataclass(frozen=True)
class Walked:
    """What became of candidates, means over conditions; every array has one number a candidate."""

    speed: Float[ndarray, "n"]  # forward [m/s]
    cost: Float[ndarray, "n"]  # of transport
    upright: Float[ndarray, "n"]  # part of the conditions without a fall
    sideways: Float[ndarray, "n"]  # way to the side over way forward

    def objective(self, speed: float) -> Float[ndarray, "n"]:
        """Cost of transport, and what is added for missing the speed, falling and going crooked."""
        miss = np.maximum(np.abs(self.speed / speed - 1.0) - NEAR, 0.0)
        crooked = np.maximum(self.sideways - 0.1, 0.0)
        return self.cost + _SLOW * miss * miss + _FELL * (1.0 - self.upright) + _CROOKED * np.minimum(crooked, 2.0)

    def good(self, speed: float, near: float = 0.1) -> ndarray:
        """Candidates that stayed up in all conditions and kept the speed."""
        return (self.upright > 0.999) & (np.abs(self.speed / speed - 1.0) < near) & (self.sideways < 0.25)


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best gait found for a speed."""

    robot: str
    pattern: str
    asked: float  # [m/s]
    speed: float  # [m/s]
    cost: float  # of transport
    numbers: dict[str, float]
    holds: bool  # kept the speed within 10 % and did not fall, in all conditions
    evaluations: int

    def controller(self, robot: Robot | None = None, rate: float = 1000.0) -> JointPD:
        """The controller with what was found."""
        start = starting(robot or load(self.robot), self.pattern)
        of_gait = {k.rpartition(".")[2]: v for k, v in self.numbers.items() if ".gait." in k}
        gait = start.gait.replace(**of_gait)
        return JointPD(gait=gait, kp=self.numbers["controller.kp"], kd=self.numbers["controller.kd"], rate=rate)


class Track:
    """A robot and a gait's pattern, compiled once with the searched numbers as inputs."""

    def __init__(self, robot: Robot, pattern: str, dt: float = 1e-3, threads: int | None = None) -> None:
        self.robot, self.pattern, self.threads = robot, pattern, threads or cores()
        self.controller = starting(robot, pattern)
        self.ranges = ranges(robot, self.controller.gait)
        simulation = Simulation(robot, self.controller, dt=dt)
        self.first = reduced(simulation.state, "work")
        self.inputs = Inputs(Command(), np.zeros(6))
        self.period = simulation.model.period
        self.trunk = f"{robot.tree.bodies[0].name}.mass"
        self.mass = float(simulation.model.parameter(self.trunk))
        free = [*(r.path for r in self.ranges), "ground.friction", self.trunk]
        self.function = compile_tick(simulation.model, self.first, self.inputs, target="batch", free=free)

    def numbers(self, unit: Float[ndarray, "n k"]) -> dict[str, ndarray]:
        """Candidates in the unit cube as numbers."""
        return {r.path: r.low + unit[:, k] * (r.high - r.low) for k, r in enumerate(self.ranges)}

    def unit(self, numbers: dict[str, float]) -> Float[ndarray, "k"]:
        """Numbers in the unit cube."""
        return np.array([np.clip((numbers[r.path] - r.low) / (r.high - r.low), 0.0, 1.0) for r in self.ranges])

    def walk(self, unit: Float[ndarray, "n k"], conditions: Sequence[tuple[float, float]] = CONDITIONS) -> Walked:
        """Let candidates walk under all conditions."""
        n, m = len(unit), len(conditions)
        free = {path: np.repeat(values, m) for path, values in self.numbers(unit).items()}
        free["ground.friction"] = np.tile([friction for friction, _ in conditions], n)
        free[self.trunk] = self.mass * np.tile([share for _, share in conditions], n)
        parts = np.array_split(np.arange(n * m), min(self.threads, max(1, n * m // 8)))
        with ThreadPoolExecutor(len(parts)) as pool:
            found = list(pool.map(lambda part: self._part({k: v[part] for k, v in free.items()}), parts))
        speed, sideways, work, upright = (np.concatenate(x).reshape(n, m) for x in zip(*found))
        weight = weight_of(self.robot.mass + (free[self.trunk] - self.mass)).reshape(n, m)
        way = np.maximum(speed * MEASURE, 0.05)
        cost = np.where(upright > 0.5, np.minimum(work / (weight * way), 20.0), 20.0)
        sway = np.minimum(np.abs(sideways) / np.maximum(np.abs(speed), 0.05), 10.0)
        return Walked(speed.mean(axis=1), cost.mean(axis=1), upright.mean(axis=1), sway.mean(axis=1))

    def _part(self, free: dict[str, ndarray]) -> tuple[ndarray, ndarray, ndarray, ndarray]:
        """(speed, speed sideways, work, whether it stayed up) of some robots."""
        n = len(next(iter(free.values())))
        state, inputs = repeated((self.first, self.inputs), n)
        before = self.function.advance(round(SETTLE / self.period), state, inputs, free)
        after = self.function.advance(round(MEASURE / self.period), before, inputs, free)
        height, spent = self.first.q[2], after.work[:, 4] - before.work[:, 4]  # brakes give nothing back
        moved = (after.q[:, :2] - before.q[:, :2]) / MEASURE
        up = _upright(before.q, height) & _upright(after.q, height)
        moved = np.where(up[:, None], moved, 0.0)
        return moved[:, 0], moved[:, 1], np.where(up, spent, 0.0), up.astype(float)


def _upright(q: ndarray, height: float) -> ndarray:
    with np.errstate(invalid="ignore"):
        up = 1.0 - 2.0 * (q[:, 4] ** 2 + q[:, 5] ** 2) > np.cos(np.radians(35.0))
        return up & (q[:, 2] > 0.5 * height) & (q[:, 2] < 2.0 * height)


def starting(robot: Robot, pattern: str) -> JointPD:
    """Where a search begins: constants that are known to work, those of the trot if this gait has none."""
    if pattern not in DUTIES:
        raise unknown("gait to optimise", pattern, DUTIES)
    name = robot.name
    known = pattern if choices(name, pattern) else "trot" if choices(name, "trot") else None
    if known is None:
        raise InputError(f"no constants are known from which to search for gaits of robot '{name}'")
    tuned = for_robot(robot, known)
    low, high = DUTIES[pattern]
    gait = tuned.gait
    if known != pattern:
        changes = {"stride": gait.stride, "height": gait.height, "hip_height": gait.hip_height, "knees": gait.knees}
        gait = named(pattern, period=gait.period, depth=gait.depth, ramp=gait.ramp, **changes)
    return JointPD(gait=gait.replace(duty=float(np.clip(gait.duty, low, high))), kp=tuned.kp, kd=tuned.kd)


def ranges(robot: Robot, gait: Gait) -> tuple[Range, ...]:
    """What is searched for, in proportion to the robot."""
    weight, hip = weight_of(robot.mass), gait.hip_height or 0.28
    low, high = DUTIES[gait.name]
    return (
        Range("controller.gait.stride", 0.05 * hip, 1.1 * hip),
        Range("controller.gait.height", 0.1 * hip, 0.3 * hip),
        Range("controller.gait.period", 0.9 * np.sqrt(hip / STANDARD), 5.5 * np.sqrt(hip / STANDARD)),
        Range("controller.gait.duty", low, high),
        Range("controller.gait.hip_height", 0.85 * hip, 1.06 * hip),
        Range("controller.gait.depth", 0.0, 0.05 * hip),
        Range("controller.kp", 0.3 * weight, 1.2 * weight),
        Range("controller.kd", 0.005 * weight, 0.03 * weight),
    )


def search(
    track: Track,
    speed: float,
    *,
    generations: int = 30,
    population: int = 32,
    seed: int = 0,
    begin: dict[str, float] | None = None,
    seen: Callable[[Walked], None] | None = None,
) -> Best:
    """The gait of least cost at a speed [m/s]."""
    if not np.isfinite(speed) or speed <= 0:
        raise InputError(f"a gait is optimised for a positive speed, got {speed}")
    if generations < 1 or population < 4:
        raise InputError(f"a search needs a generation and four candidates, got {generations} and {population}")
    try:
        import cma
    except ImportError:
        raise MissingExtraError("optimising gaits", "studies", "cma") from None
    start = begin or {r.path: _get(track.controller, r.path) for r in track.ranges}
    options = {"bounds": [0.0, 1.0], "popsize": population, "seed": seed + 1, "verbose": -9, "maxiter": generations}
    strategy = cma.CMAEvolutionStrategy(track.unit(start), 0.25, options)
    best, value, count = strategy.x0, np.inf, 0
    while not strategy.stop():
        asked = np.array(strategy.ask())
        walked = track.walk(asked)
        if seen is not None:
            seen(walked)
        values = walked.objective(speed)
        strategy.tell(list(asked), values.tolist())
        count += len(asked)
        if values.min() < value:
            best, value = asked[int(values.argmin())], float(values.min())
    final = track.walk(best[None])
    numbers = {path: float(values[0]) for path, values in track.numbers(best[None]).items()}
    return Best(
        robot=track.robot.name,
        pattern=track.pattern,
        asked=speed,
        speed=float(final.speed[0]),
        cost=float(final.cost[0]),
        numbers=numbers,
        holds=bool(final.good(speed)[0]),
        evaluations=count,
    )


def _get(controller: JointPD, path: str) -> float:
    part: Any = controller
    for key in path.split(".")[1:]:
        part = getattr(part, key)
    return float(part)


@dataclass(frozen=True)
class Front:
    """What a study found: the best of every gait and speed, and every candidate that stayed up."""

    robot: str
    best: tuple[Best, ...]
    clouds: dict[str, Float[ndarray, "n 2"]]  # by gait: speed [m/s] and cost of transport

    def winner(self, speed: float) -> Best | None:
        """The cheapest gait that holds a speed, if any does."""
        able = [best for best in self.best if best.asked == speed and best.holds]
        return min(able, key=lambda best: best.cost) if able else None

    def pareto(self, pattern: str | None = None) -> Float[ndarray, "n 2"]:
        """(speed, cost) of candidates that none beats in both: faster and cheaper."""
        chosen = [self.clouds[pattern]] if pattern else list(self.clouds.values())
        return undominated(np.concatenate(chosen))


def undominated(points: Float[ndarray, "n 2"]) -> Float[ndarray, "m 2"]:
    """Rows (speed, cost) of which no other is at least as fast and cheaper, from slow to fast."""
    order = np.lexsort((points[:, 1], -points[:, 0]))
    kept, least = [], np.inf
    for k in order:
        if points[k, 1] < least:
            kept.append(k)
            least = points[k, 1]
    return points[kept[::-1]]


def optimise(
    robot: str | Robot = "mini_cheetah",
    gaits: Iterable[str] = GAITS,
    speeds: Sequence[float] = SPEEDS,
    *,
    generations: int = 30,
    population: int = 32,
    seed: int = 0,
    dt: float = 1e-3,
    progress: Callable[[str, int, int], None] | None = None,
) -> Front:
    """Every gait at every speed, each search begun where the one before it ended."""
    machine = load(robot) if isinstance(robot, str) else robot
    names, found, clouds = tuple(gaits), [], {}
    for i, pattern in enumerate(names):
        track = Track(machine, pattern, dt)
        cloud: list[ndarray] = []

        def seen(walked: Walked, cloud: list[ndarray] = cloud) -> None:
            stays = (walked.upright > 0.999) & (walked.sideways < 0.25) & (walked.speed > 0.02)
            cloud.append(np.stack([walked.speed[stays], walked.cost[stays]], axis=1))

        begin = None
        for k, speed in enumerate(speeds):
            if progress is not None:
                progress(f"{pattern} at {speed:g} m/s", i * len(speeds) + k, len(names) * len(speeds))
            best = search(
                track, speed, generations=generations, population=population, seed=seed, begin=begin, seen=seen
            )
            found.append(best)
            begin = best.numbers if best.holds else begin
        clouds[pattern] = np.concatenate(cloud)
    return Front(machine.name, tuple(found), clouds)

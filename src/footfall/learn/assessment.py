"""How a policy does by code that did not train it: many robots that differ, a command each, in footfall or in MuJoCo.

Every robot draws its command, friction, trunk mass, joint offsets and pushes from the ranges of the training, with
seeds that no training uses. In MuJoCo the robot is its exported model, with MuJoCo's own contact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from footfall import compiling
from footfall.batch.batch import Batch, counted
from footfall.compare.mujoco_run import mujoco_model, run_mujoco
from footfall.contact.ground import Plane
from footfall.control.interface import Command
from footfall.control.learned.policy import Policy
from footfall.control.learned.travelled import TravelledPolicy
from footfall.errors import unknown
from footfall.learn.episode import COMMANDS
from footfall.learn.preflight import ENGINES, TRACKING
from footfall.learn.randomise import Randomisation, Range, within
from footfall.learn.task import WalkTask, lowest_foot
from footfall.learn.task_base import heading_velocity
from footfall.nests import Given
from footfall.robot.model.description import Robot
from footfall.simulate.pushes import Push
from footfall.simulate.simulation import Simulation
from footfall.spatial.quaternion import to_rotation

SEED = 2_000_000
MOST_FALLEN = 0.02
_DT, _AFTER, _LEAN = 2e-3, 1.0, np.radians(50.0)  # [s], [s] that do not count, lean of a fall


@dataclass(frozen=True)
class Assessment:
    """What robots did, each on its own."""

    engine: str
    seconds: float
    command: Float[ndarray, "n 3"]  # forward, sideways [m/s], turn [rad/s]
    velocity: Float[ndarray, "n 3"]  # mean, in the heading's axes
    fallen: Bool[ndarray, "n"]

    @property
    def errors(self) -> Float[ndarray, "n"]:
        """How far the mean velocity over the ground is off the command [m/s]; of those that fell too."""
        return np.linalg.norm(self.velocity[:, :2] - self.command[:, :2], axis=1)

    @property
    def tracking_error(self) -> float:
        """The mean error of the robots that did not fall [m/s]."""
        return float(self.errors[~self.fallen].mean()) if not self.fallen.all() else float("inf")

    @property
    def ok(self) -> bool:
        return bool(self.fallen.mean() <= MOST_FALLEN and self.tracking_error <= TRACKING)


@dataclass(frozen=True)
class _Drawn:
    """What one robot is given."""

    command: Command
    friction: float
    mass: float  # a factor
    joints: ndarray
    pushes: tuple[Push, ...]


def assess(
    policy: Policy | TravelledPolicy, robot: Robot, *, engine: str = "footfall", robots: int = 100,
    seconds: float = 10.0, seed: int = SEED, randomise: Given = True,
    progress: Callable[[str, int, int], None] | None = None,
) -> Assessment:  # fmt: skip
    """Let robots walk for some seconds, each under its own command."""
    if engine not in ENGINES:
        raise unknown("simulator", engine, ENGINES)
    task = WalkTask.of(robot)
    ranges, commands = task.randomisation(randomise), task.command_ranges
    drawn = [_draw(robot, ranges, commands, seconds, np.random.default_rng(seed + k)) for k in range(counted(robots))]
    run = _in_mujoco if engine == "mujoco" else _in_footfall
    velocity, fallen = run(policy, robot, drawn, seconds, progress or (lambda what, done, of: None))
    command = np.array([[getattr(one.command, key) for key in COMMANDS] for one in drawn])
    return Assessment(engine, seconds, command, velocity, fallen)


def _draw(
    robot: Robot, ranges: Randomisation, commands: Mapping[str, Range], seconds: float, rng: np.random.Generator
) -> _Drawn:
    command = Command(**{key: float(within(commands[key], rng.random())) for key in COMMANDS})
    friction, mass = (float(within(limits, rng.random())) for limits in (ranges.friction, ranges.mass))
    joints = within(ranges.joints, rng.random(robot.nj))
    pushes, at = [], ranges.push_every * rng.random()
    while at < seconds and ranges.push[1] > 0.0:
        force, angle = 50.0 * within(ranges.push, rng.random()), 2.0 * np.pi * rng.random()
        pushes.append(Push(float(at), 0.02, (float(force * np.cos(angle)), float(force * np.sin(angle)), 0.0)))
        at += ranges.push_every
    return _Drawn(command, friction, mass, joints, tuple(pushes))


def _start(robot: Robot, policy: Policy | TravelledPolicy, one: _Drawn) -> tuple[ndarray, ndarray]:
    """As the policy stands, joints a little off, the lowest foot on the ground."""
    q, v = robot.state(policy.posture(robot) + one.joints)
    q[2] -= float(lowest_foot(robot, q))
    return q, v


def _in_mujoco(
    policy: Policy | TravelledPolicy, robot: Robot, drawn: list[_Drawn], seconds: float,
    progress: Callable[[str, int, int], None],
) -> tuple[ndarray, ndarray]:  # fmt: skip
    velocity, fallen = np.zeros((len(drawn), 3)), np.zeros(len(drawn), bool)
    for k, one in enumerate(drawn):
        progress("in MuJoCo", k, len(drawn))
        trunk = f"{robot.trunk}.mass"
        heavier = robot.with_parameters({trunk: one.mass * robot.parameter(trunk)})
        simulation = Simulation(
            heavier, policy, ground=Plane(friction=one.friction), dt=_DT, command=one.command, pushes=one.pushes,
            start=_start(heavier, policy, one), compile_controller=False,
        )  # fmt: skip
        rec = run_mujoco(simulation, seconds, mujoco_model(simulation, contact={}))
        up = np.array([to_rotation(q[3:7])[2, 2] for q in rec.q])
        fallen[k] = bool((up < np.cos(_LEAN)).any() or (rec.q[:, 2] < _low(robot)).any())
        velocity[k] = rec.mean_velocity(min(_AFTER, seconds / 2))
    return velocity, fallen


def _low(robot: Robot) -> float:
    """Height of the trunk under which it has fallen [m]."""
    return 0.4 * robot.poses["stand"].height


def _in_footfall(
    policy: Policy | TravelledPolicy, robot: Robot, drawn: list[_Drawn], seconds: float,
    progress: Callable[[str, int, int], None],
) -> tuple[ndarray, ndarray]:  # fmt: skip
    trunk, n = f"{robot.trunk}.mass", len(drawn)
    batch = Batch(robot, n, policy, free=("ground.friction", trunk), dtype=np.float32, dt=_DT)
    starts = [_start(robot, policy, one) for one in drawn]
    batch.set_state(np.array([q for q, _ in starts]), np.array([v for _, v in starts]))
    nominal = robot.parameter(trunk)
    batch.set({"ground.friction": np.array([one.friction for one in drawn]),
               trunk: nominal * np.array([one.mass for one in drawn])})  # fmt: skip
    batch.set_command(**{key: np.array([getattr(one.command, key) for one in drawn]) for key in COMMANDS})
    look = compiling.compile(looked_at, None, np.zeros(robot.nq), np.zeros(robot.nv), target="batch", verify=False)
    fallen, total, ticks = np.zeros(n, bool), np.zeros((n, 3)), round(seconds / batch.period)
    skipped = round(min(_AFTER, seconds / 2) / batch.period)
    for k in range(ticks):
        progress("in footfall", k, ticks)
        batch.set_push(force=np.array([_force(one.pushes, k, batch.period) for one in drawn]))
        batch.run(1)
        seen = look(batch.q.astype(float), batch.v.astype(float))
        fallen |= ~((seen[:, 3] > np.cos(_LEAN)) & (batch.q[:, 2] > _low(robot)))
        total += seen[:, :3] if k >= skipped else 0.0
    return total / (ticks - skipped), fallen


def looked_at(q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "4"]:
    """Velocity in the heading's axes, and how upright the trunk is (cosine of its lean)."""
    R = to_rotation(q[3:7])
    return np.concatenate([heading_velocity(R, v), np.stack([R[2, 2]])])


def _force(pushes: tuple[Push, ...], tick: int, period: float) -> tuple[float, float, float]:
    """The push of a tick: an impulse is a force for one tick."""
    now = [push for push in pushes if int(push.start / period) == tick]
    scale = now[0].duration / period if now else 0.0
    return tuple(scale * x for x in now[0].force) if now else (0.0, 0.0, 0.0)  # type: ignore[return-value]

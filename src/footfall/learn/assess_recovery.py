"""How a policy gets up by code that did not train it: robots that differ, turned any way, in footfall or in MuJoCo."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from footfall.batch.batch import counted
from footfall.compare.mujoco_run import mujoco_model, run_mujoco
from footfall.contact.ground import Plane
from footfall.control.learned.policy import Policy
from footfall.errors import unknown
from footfall.gravity import STANDARD
from footfall.learn.assessment import SEED
from footfall.learn.preflight import ENGINES
from footfall.learn.randomise import Randomisation, within
from footfall.learn.recover import UP_HEIGHT, UP_LEAN, WITHIN, RecoverTask, evaluate_recovery
from footfall.nests import Given
from footfall.robot.model.description import Robot
from footfall.simulate.simulation import Simulation
from footfall.spatial.quaternion import to_rotation

MOST_DOWN = 0.05
_BORNE = 0.9  # of the weight, by the feet of a robot that is up
_LAST = 10  # ticks at the end over which that is averaged


def assess_recovery(
    policy: Policy, robot: Robot, *, engine: str = "footfall", robots: int = 100, seconds: float = WITHIN,
    seed: int = SEED, progress: Callable[[str, int, int], None] | None = None,
) -> float:  # fmt: skip
    """The part of the robots that are up after some seconds, from any pose."""
    if engine not in ENGINES:
        raise unknown("simulator", engine, ENGINES)
    if engine == "footfall":
        return evaluate_recovery(policy, robot, robots=counted(robots), seconds=seconds, seed=seed).part
    task = RecoverTask(robot, policy.drive, anyhow=True)
    up = []
    for k in range(counted(robots)):
        if progress is not None:
            progress("in MuJoCo", k, robots)
        up.append(_gets_up(task, policy, seconds, np.random.default_rng(seed + k)))
    return float(np.mean(up))


def _gets_up(task: RecoverTask, policy: Policy, seconds: float, rng: np.random.Generator) -> bool:
    """One robot in MuJoCo, with MuJoCo's own contact."""
    ranges, robot, trunk = Randomisation(), task.robot, f"{task.robot.trunk}.mass"
    heavier = robot.with_parameters({trunk: within(ranges.mass, rng.random()) * robot.parameter(trunk)})
    q, v = robot.state("stand")
    start: Given = (task.started(q, ranges, rng.random(robot.nj), rng.random(4)), v)
    simulation = Simulation(
        heavier, policy, ground=Plane(friction=within(ranges.friction, rng.random())), dt=task.dt, start=start,
        collisions=task.touching, stop_on_fall=False, compile_controller=False,
    )  # fmt: skip
    rec = run_mujoco(simulation, seconds, mujoco_model(simulation, contact={}))
    q, stand = rec.q[-1], robot.poses["stand"]
    borne = rec.force[-_LAST:, :, 2].sum(axis=1).mean() / (heavier.mass * STANDARD)
    upright = to_rotation(q[3:7])[2, 2] > np.cos(np.radians(UP_LEAN))
    return bool(upright and q[2] > UP_HEIGHT * stand.height and borne > _BORNE)

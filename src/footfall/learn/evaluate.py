"""How well a policy walks: many robots that differ, one command, no noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from footfall.control.interface import Command
from footfall.control.learned.policy import Policy
from footfall.gait.pattern import LEGS
from footfall.learn.episode import COMMANDS
from footfall.learn.lanes import WalkLanes
from footfall.learn.task import WalkTask
from footfall.nests import Given
from footfall.robot.model.description import Robot


@dataclass(frozen=True)
class Evaluation:
    """What robots did, each on its own."""

    velocity: Float[ndarray, "n 3"]  # mean forward, sideways [m/s] and turn [rad/s] in the heading's axes
    fallen: Bool[ndarray, "n"]
    delays: Float[ndarray, "n 4"]  # of touchdowns after LF's [cycles], in [-0.5, 0.5), LF, RF, LH, RH
    duty: Float[ndarray, "n 4"]  # part of the time that a foot is down
    drawn: dict[str, ndarray]  # friction, mass, ... of each robot

    def within(self, speed: float, part: float = 0.15) -> float:
        """The part of the robots that did not fall and walked at a speed [m/s] to within a part of it."""
        good = ~self.fallen & (np.abs(self.velocity[:, 0] - speed) <= part * abs(speed))
        return float(good.mean())

    def trots(self, slack: float = 0.1) -> Bool[ndarray, "n"]:
        """Which robots trot: diagonal feet land together, the pairs half a cycle apart, to ``slack`` cycles."""
        off = self.delays - np.array([0.0, 0.5, 0.5, 0.0])
        return np.asarray((np.abs(off - np.round(off)) <= slack).all(axis=1))


def evaluate(
    policy: Policy,
    robot: Robot,
    command: Command | None = None,
    *,
    robots: int = 256,
    seconds: float = 10.0,
    after: float = 1.0,
    randomise: Given = True,
    seed: int = 1_000_000,
    **options: Any,
) -> Evaluation:
    """Walk for some seconds under one command; what happens before ``after`` [s] does not count, falls aside."""
    command = command or Command(forward=0.4)
    asked = {key: getattr(command, key) for key in COMMANDS}
    task = WalkTask(robot, policy.drive)
    lanes = WalkLanes(task, robots, command=asked, randomise=randomise, seconds=after + seconds, **options)
    lanes.generators = [np.random.default_rng(seed + k) for k in range(robots)]
    lanes.begin(range(robots))
    drawn = lanes.episode(slice(None))
    fallen = np.zeros(robots, dtype=bool)
    velocities, contacts = [], []
    observation, skipped = lanes.show(lanes.look(slice(None)).observation), round(after * policy.rate)
    for k in range(lanes.limit):
        judged = lanes.tick(policy.action(observation)).judged
        observation = lanes.show(judged.observation)
        fallen |= judged.fallen > 0.5
        if k >= skipped:
            velocities.append(judged.velocity)
            contacts.append(judged.contact > 0.5)
    down = np.stack(contacts)
    cycle = policy.drive.gait.period * policy.rate
    return Evaluation(np.mean(velocities, axis=0), fallen, _delays(down, cycle), down.mean(axis=0), drawn)


def _delays(down: Bool[ndarray, "ticks n 4"], cycle: float) -> Float[ndarray, "n 4"]:
    """Mean phases of the touchdowns, less LF's; NaN of a foot that never lands."""
    landed = down[1:] & ~down[:-1]
    turns = np.exp(2j * np.pi * np.arange(1, len(down)) / cycle)
    phasor = np.einsum("t,tnf->nf", turns, landed.astype(complex))
    phasor = np.where(landed.any(axis=0), phasor, np.nan)
    lead = phasor[:, LEGS.index("LF")][:, None]
    return np.angle(phasor * np.conj(lead)) / (2 * np.pi)

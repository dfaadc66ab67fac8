"""Learn to trot: ``OMP_NUM_THREADS=1 python -m footfall.learn.train --out trot.npz``.

Two threads (one for each network); the seed, the machine's instruction set and NumPy's version fix every number.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

from footfall.control.interface import Command
from footfall.control.learned.policy import Policy
from footfall.errors import FootfallError, InputError
from footfall.learn.evaluate import evaluate
from footfall.learn.figures import curve_figure
from footfall.learn.lanes import COMMANDS
from footfall.learn.ppo import PPO, Settings
from footfall.learn.walk import WalkVectorEnv

COLUMNS = ("iteration", "samples", "cpu_seconds", "reward", "forward_error", "turn_error", "falls", "gait", "noise")


class Training:
    """PPO on ``footfall/Walk-v0``, with a curve."""

    def __init__(self, robots: int = 1024, seed: int = 0, settings: Settings | None = None, **options: Any) -> None:
        self.env = WalkVectorEnv(robots, **options)
        self.ppo = PPO(self.env, settings, seed)
        self.env.lanes.stagger(np.random.default_rng(seed))
        self.curve: list[dict[str, float]] = []

    def iterate(self) -> dict[str, float]:
        """One iteration of PPO; a row of the curve."""
        seen: list[tuple[float, ...]] = []

        def watch(reward: np.ndarray, terminated: np.ndarray, truncated: np.ndarray, infos: dict[str, Any]) -> None:
            there = infos["_velocity"]
            asked = np.stack([self.env.lanes.batch.command[key] for key in COMMANDS], axis=1)[there]
            off = np.abs(infos["velocity"][there] - asked).mean(axis=0)
            weight = self.env.lanes.task.weights["gait"] / self.env.lanes.task.drive.rate
            gait = infos["reward_gait"][there].mean() / weight if weight else 0.0
            seen.append((float(off[0]), float(off[2]), float(terminated.mean()), float(gait)))

        row = self.ppo.iterate(watch)
        means = np.mean(seen, axis=0)
        rate = self.env.lanes.task.drive.rate
        row |= {"forward_error": means[0], "turn_error": means[1], "falls": rate * means[2], "gait": means[3]}
        self.curve.append({key: float(row[key]) for key in COLUMNS})
        return self.curve[-1]

    def policy(self) -> Policy:
        """What was learned so far, without noise."""
        task, normaliser = self.env.lanes.task, self.ppo.normaliser
        weights = tuple((W.astype(float), b.astype(float)) for W, b in self.ppo.actor)
        return Policy(task.robot.name, task.drive, normaliser.mean.copy(), normaliser.spread, weights,
                      self.ppo.settings.activation)  # fmt: skip

    def save_curve(self, path: str | Path) -> None:
        """Write the curve as CSV."""
        with Path(path).open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: f"{value:.6g}" for key, value in row.items()} for row in self.curve)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m footfall.learn.train", description="Learn to trot by PPO.")
    parser.add_argument("--robot", default="mini_cheetah", help="library name")
    parser.add_argument("--robots", type=int, default=1024, help="how many at once")
    parser.add_argument("--iterations", type=int, default=400, help="of 24 ticks of every robot each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", type=float, default=0.4, help="at which the policy is tried in the end [m/s]")
    parser.add_argument(
        "--out", type=Path, default=Path("trot.npz"), help="policy; the curve goes beside it as .csv and .png"
    )
    asked = parser.parse_args(arguments)
    try:
        return _train(asked)
    except FootfallError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _train(asked: argparse.Namespace) -> int:
    if asked.out.suffix != ".npz":
        raise InputError(f"a policy is an .npz file, got {asked.out}")
    if asked.iterations < 1 or asked.seed < 0:
        raise InputError("iterations must be at least 1, and the seed 0 or more")
    training = Training(asked.robots, asked.seed, robot=asked.robot)
    print("iteration  cpu [s]    reward  speed error [m/s]  falls [1/s]  feet in time", flush=True)
    for k in range(asked.iterations):
        row = training.iterate()
        if k % 10 == 9 or k == asked.iterations - 1:
            print(f"{row['iteration']:9.0f}{row['cpu_seconds']:9.1f}{row['reward']:10.4f}{row['forward_error']:19.3f}"
                  f"{row['falls']:13.4f}{row['gait']:14.2f}", flush=True)  # fmt: skip
    policy = training.policy()
    policy.save(asked.out)
    training.save_curve(asked.out.with_suffix(".csv"))
    curve_figure(training.curve).savefig(asked.out.with_suffix(".png"))
    found = evaluate(policy, training.env.lanes.robot, Command(forward=asked.speed))
    speeds = found.velocity[:, 0]
    print(f"{len(speeds)} robots at {asked.speed:g} m/s for 10 s: {speeds.mean():.3f} m/s ({speeds.min():.3f} to"
          f" {speeds.max():.3f}), {found.within(asked.speed):.1%} within 15 %, {int(found.fallen.sum())} fell,"
          f" {found.trots().mean():.1%} trot")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())

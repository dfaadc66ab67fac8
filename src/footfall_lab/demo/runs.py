"""The runs of the demo: two robots under whole-body control, a paper's trot, a thousand robots, dynamics checks.

Each run is a ``DemoRun`` of plain values, so that processes can share them; runs that compile longest begin first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.loading import load
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sim.run_options import RunOptions
from footfall.sim.runfile import options_of, plan
from footfall_lab.papers.depaula2024.runs import Job, perform
from footfall_lab.processes import Progress, run_all
from footfall_lab.verify.report import Report
from nptrace.array_types import Float

ROBOTS = {"Mini Cheetah": "mini_cheetah", "hound.urdf": str(Path(__file__).with_name("hound.urdf"))}
DURATION, SPEED = 4.0, 0.5  # [s], [m/s] of the walks
TROT = Job(scheme="heun", choice="A")
TROT_IN_MUJOCO = Job(scheme="mujoco", choice="A")
MANY, MANY_DURATION, MANY_SAMPLES = 1000, 4.0, 100  # robots of the batch, [s], positions kept per path
SIDES = ("recursive", "articulated", "lagrange", "pinocchio", "mujoco")
SAMPLES = 25  # random states per check


@dataclass(frozen=True)
class DemoRun:
    """One run: ``kind`` is a key of ``KINDS``, ``subject`` a name of ``ROBOTS`` or empty."""

    kind: str
    subject: str = ""

    @property
    def words(self) -> str:
        return KINDS[self.kind][0].format(self.subject)


@dataclass(frozen=True, kw_only=True)
class Many:
    """Paths of many different robots, seen from above."""

    paths: Float[ndarray, "n samples 2"]  # [m]
    friction: Float[ndarray, "n"]
    commanded: Float[ndarray, "n"]  # forward speed [m/s]
    fell: int
    duration: float  # [s]
    seconds: float  # processor time [s], for all robots together

    @property
    def speed(self) -> Float[ndarray, "n"]:
        """Return the mean speed along the path in the second half of the run [m/s]."""
        half = self.paths[:, self.paths.shape[1] // 2 :]
        length = np.linalg.norm(np.diff(half, axis=1), axis=2).sum(axis=1)
        return length / (self.duration * (half.shape[1] - 1) / (self.paths.shape[1] - 1))


def walk(subject: str) -> Recording:
    """Walk with a robot under whole-body control in footfall."""
    robot = load(ROBOTS[subject])
    return plan(robot, _options(robot)).simulation.run(DURATION)


def walk_in_mujoco(subject: str) -> Recording:
    """Walk with the same robot under the same controller in MuJoCo, with MuJoCo's default contact."""
    from footfall.mujoco.run import mujoco_model, run_mujoco

    robot = load(ROBOTS[subject])
    simulation = plan(robot, _options(robot)).simulation
    return run_mujoco(simulation, DURATION, mujoco_model(simulation, contact={}))


def _options(robot: Robot) -> RunOptions:
    return options_of({"robot": robot.name, "controller": "whole_body", "speed": SPEED, "duration": DURATION})


def trot(_: str) -> Recording:
    """Run the paper's trot in footfall."""
    return perform(TROT)


def trot_in_mujoco(_: str) -> Recording:
    """Run the paper's trot in MuJoCo."""
    return perform(TROT_IN_MUJOCO)


def many(_: str) -> Many:
    """Walk with a thousand robots under a learned policy, each with different masses, friction and commands."""
    from footfall.sim.batch import Batch

    robot = load("mini_cheetah")
    simulation = plan(robot, options_of({"robot": robot.name, "controller": "learned"})).simulation
    batch = Batch(robot, MANY, simulation.controller, free=["trunk.mass", "ground.friction"], dtype=np.float32)
    rng = np.random.default_rng(0)
    friction = rng.uniform(0.4, 1.0, MANY)
    batch.set({"trunk.mass": robot.link("trunk").mass * rng.uniform(0.8, 1.3, MANY), "ground.friction": friction})
    commanded = rng.uniform(0.1, 0.7, MANY)
    batch.set_command(forward=commanded, turn=rng.uniform(-1.0, 1.0, MANY))
    ticks = max(1, round(MANY_DURATION / (MANY_SAMPLES * simulation.model.period)))
    paths, began = [np.array(batch.q[:, :2])], time.process_time()
    for _sample in range(MANY_SAMPLES):
        batch.run(ticks)
        paths.append(np.array(batch.q[:, :2]))
    seconds = time.process_time() - began
    fell = int(batch.fallen().sum())
    return Many(
        paths=np.stack(paths, axis=1),
        friction=friction,
        commanded=commanded,
        fell=fell,
        duration=float(batch.time[0]),
        seconds=seconds,
    )


def check(subject: str) -> Report:
    """Compare a robot's dynamics with Pinocchio's and MuJoCo's on random states."""
    from footfall_lab.verify.verify import verify

    return verify(load(ROBOTS[subject]), SAMPLES, sides=SIDES, laws=False, backend="numpy")


KINDS: dict[str, tuple[str, Callable[[str], Recording | Many | Report]]] = {
    "walk": ("{} walks in footfall", walk),
    "walk_in_mujoco": ("{} walks in MuJoCo", walk_in_mujoco),
    "trot": ("the trot of de Paula et al. 2024 in footfall", trot),
    "trot_in_mujoco": ("the trot of de Paula et al. 2024 in MuJoCo", trot_in_mujoco),
    "many": (f"{MANY} different robots", many),
    "check": ("dynamics of {} against Pinocchio and MuJoCo", check),
}
RUNS = (
    *(DemoRun(kind, subject) for kind in ("walk", "walk_in_mujoco") for subject in ROBOTS),
    DemoRun("trot_in_mujoco"),
    DemoRun("many"),
    DemoRun("trot"),
    *(DemoRun("check", subject) for subject in ROBOTS),
)


def perform_run(run: DemoRun) -> Recording | Many | Report:
    """Perform one run."""
    return KINDS[run.kind][1](run.subject)


def perform_runs(progress: Progress | None = None, workers: int = 1) -> dict[DemoRun, Recording | Many | Report]:
    """Perform all runs in ``workers`` processes; ``progress`` gets (description, done, total)."""
    return run_all(perform_run, RUNS, lambda run: run.words, progress, workers)

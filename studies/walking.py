"""The walking matrix: three robots, three commands, three grounds, two contact models, ten seconds each.

    python studies/walking.py            # prints the table of docs/research/locomotion-results.md; two processes

Every case is a plain ``Simulation`` under ``Locomotion`` with its defaults, nothing tuned for a robot or a case. A case
passes if the robot does not fall and its mean velocity after two seconds is within a fifth of the command.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from multiprocessing import get_context
from pathlib import Path

from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.contact.heightfield import Heightfield
from footfall.contact.terrain import named as ground_named
from footfall.control.interface import Command
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.named import on_command
from footfall.errors import InputError
from footfall.kinematics.forward import foot_positions
from footfall.robot import library
from footfall.robot.files.urdf_mjcf import load_model
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start

ROBOTS = ("mini_cheetah", "go2", "a1")
COMMANDS = {"forward": Command(forward=0.5), "sideways": Command(sideways=0.2), "turn": Command(turn=0.5)}
GROUNDS = ("plane", "slope:10", "rough:0.04")
CONTACTS = ("compliant", "complementarity")
SETTLED = 2.0  # [s], after which the mean is taken
WITHIN = 0.2  # of the command
_OFF_THE_PATCH = 2.0  # [m]
_FILES = {"go2": "go2_description/urdf/go2.urdf", "a1": "a1_description/urdf/a1.urdf"}


@dataclass(frozen=True)
class Case:
    """One cell of the matrix."""

    robot: str
    command: str
    ground: str
    contact: str

    def __str__(self) -> str:
        return f"{self.robot}-{self.command}-{self.ground}-{self.contact}"


@dataclass(frozen=True)
class Walked:
    """How it went: mean velocity in heading axes [m/s, m/s, rad/s], why it stopped if it did, and what was logged."""

    case: Case
    velocity: tuple[float, float, float]
    stopped: str | None
    log: tuple[tuple[float, str], ...]

    @property
    def kept(self) -> float:
        """The commanded component, as a part of the command."""
        wanted = COMMANDS[self.case.command]
        at = list(COMMANDS).index(self.case.command)
        return self.velocity[at] / (wanted.forward, wanted.sideways, wanted.turn)[at]

    @property
    def passed(self) -> bool:
        return self.stopped is None and abs(self.kept - 1.0) <= WITHIN


def cases() -> list[Case]:
    return [Case(*parts) for parts in itertools.product(ROBOTS, COMMANDS, GROUNDS, CONTACTS)]


@cache
def robot_of(name: str) -> Robot:
    """A library robot, or one from its maker's URDF in the installed package example-robot-data."""
    if name not in _FILES:
        return library.load(name)
    file = f"share/example-robot-data/robots/{_FILES[name]}"
    try:
        path = Path(str(distribution("example-robot-data").locate_file(f"cmeel.prefix/{file}")))
    except PackageNotFoundError:
        raise InputError(f"the URDF of {name} comes with 'pip install --no-deps example-robot-data'") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the importer leaves out of it is no news here
        return load_model(path, name=name)


def _start(robot: Robot, moving: Locomotion, ground: Ground, command: Command) -> tuple[ndarray, ndarray]:
    """Standing at rest; on rough ground beyond the level patch around the origin, so that a turn feels it too."""
    q, v = standing_start(robot, moving, ground, command)
    if isinstance(ground, Heightfield):
        q[0] += _OFF_THE_PATCH
        feet = zip(foot_positions(robot, q), robot.feet)
        q[2] -= min(float(ground.distance(p_WF)) - foot.radius for p_WF, foot in feet)
    return q, v


def walk(case: Case, seconds: float = 10.0, controller: Locomotion | None = None) -> Walked:
    """Run one case."""
    robot, ground = robot_of(case.robot), ground_named(case.ground)
    moving = controller or on_command("whole_body")
    command = COMMANDS[case.command]
    start = _start(robot, moving, ground, command)
    simulation = Simulation(robot, moving, contact=case.contact, ground=ground, command=command, start=start)
    recording = simulation.run(seconds)
    settled = min(SETTLED, 0.5 * recording.duration)
    stopped = simulation.stopped.message if simulation.stopped else None
    return Walked(case, recording.mean_velocity(after=settled), stopped, tuple(moving.log))


def table(results: Iterable[Walked]) -> str:
    """Markdown: the commanded component in per cent of the command, the others as they are."""
    rows = [
        "| robot | command | ground | contact | kept | forward [m/s] | sideways [m/s] | turn [rad/s] | fell |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for result in results:
        case, (forward, sideways, turn) = result.case, result.velocity
        rows.append(
            f"| {case.robot} | {case.command} | {case.ground} | {case.contact} | {100 * result.kept:.0f} % |"
            f" {forward:.3f} | {sideways:.3f} | {turn:.3f} | {result.stopped or 'no'} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python studies/walking.py", description="the walking matrix")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--seconds", type=float, default=10.0, help="of every case")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    asked = parser.parse_args()
    chosen = [case for case in cases() if asked.only in str(case)]
    with ProcessPoolExecutor(asked.workers, get_context("spawn")) as pool:
        results = list(pool.map(walk, chosen, itertools.repeat(asked.seconds)))
    print(table(results))
    print(f"\n{sum(result.passed for result in results)} of {len(results)} within {100 * WITHIN:.0f} % and not fallen")


if __name__ == "__main__":
    main()

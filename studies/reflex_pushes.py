"""Pushes survived with all default reflexes, with all but one, and with none: robots from files, in one batch each.

    python studies/reflex_pushes.py mini_cheetah go2 ROBOT.urdf --out DIR

A robot trots under ``whole_body`` and is pushed for a tenth of a second from four sides at four phases of its gait, in
steps of its own speed sqrt(g H) times its mass. It survives if it never leans more than 75 degrees nor comes below 30 %
of its height, and is upright at 60 % or more in the end. Every choice of reflexes meets the very same pushes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground
from footfall.contact.points import trunk_corners
from footfall.control.locomotion.reflexes import NAMES, Reflexes
from footfall.control.named import on_command
from footfall.errors import InputError
from footfall.gait.tuned import hip_height_of
from footfall.loading import load
from footfall.robot.model.description import Robot
from footfall.sim.batch import Batch
from footfall.sim.start import standing_start
from nptrace.array_types import Bool, Float

PUSH = 0.1  # [s]
STEADY, AFTER = 1.5, 2.5  # [s] before the first push, and after the last
LOOK = 0.02  # [s] between two looks at whether robots have fallen
LARGEST = 2.4  # of sqrt(g H), by which the largest push changes the speed
LEAN, LOW, STANDING = 75.0, 0.3, 0.6  # degrees; of the standing height, while it walks and in the end
ON = tuple(name for name in NAMES if getattr(Reflexes(), name))  # by default
CHOICES = {"default": Reflexes(), **{f"no {name}": Reflexes().without(name) for name in ON}, "none": Reflexes.only()}


@dataclass(frozen=True, kw_only=True)
class PushTable:
    """How many of ``pushes`` a robot survives by choice of reflexes, and how many that it survives otherwise it does
    not survive with the default."""

    robot: str
    mass: float  # [kg]
    pushes: int
    survived: dict[str, int]
    felled: dict[str, int]  # pushes that this choice survives and the default does not
    impulses: dict[str, float]  # mean of the largest impulses up to which all are survived [N s]

    @property
    def best(self) -> bool:
        """Whether no reflex fells more than it saves."""
        return all(self.survived["default"] >= self.survived[name] for name in self.survived)


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Further robots of the same batch, which walk unpushed."""

    ground: Ground  # of all; level within some metres around the origin, where the others are pushed
    starts: Float[ndarray, "k nq"]
    look: Callable[[float, Float[ndarray, "k nq"]], None]  # called with the time [s] and where they are


def push_table(
    robot: Robot,
    directions: int = 4,
    phases: int = 4,
    steps: int = 12,
    turned: float = 0.0,
    largest: float = LARGEST,
    beside: Beside | None = None,
) -> PushTable:
    """All choices, phases, directions and impulses at once; ``turned`` and ``largest`` as for ``survival``."""
    names = list(CHOICES)
    survived, impulses = survival(
        robot, [CHOICES[name] for name in names], directions, phases, steps, turned, largest, beside
    )
    held = np.cumprod(survived, axis=3).sum(axis=3)
    first, spacing = survived[names.index("default")], float(impulses[-1]) / (steps - turned)
    return PushTable(
        robot=robot.name,
        mass=robot.mass,
        pushes=int(first.size),
        survived={name: int(row.sum()) for name, row in zip(names, survived)},
        felled={name: int((row & ~first).sum()) for name, row in zip(names, survived)},
        impulses={name: spacing * float(row.mean()) for name, row in zip(names, held)},
    )


def speed_of(robot: Robot) -> float:
    """Speed at which it walks [m/s]: of a Froude number of 0.1, and 0.4 m/s at most."""
    return min(0.4, float(np.sqrt(0.1 * 9.81 * hip_height_of(robot))))


def survival(
    robot: Robot,
    choices: Sequence[Reflexes],
    directions: int,
    phases: int,
    steps: int,
    turned: float = 0.0,
    largest: float = LARGEST,
    beside: Beside | None = None,
) -> tuple[Bool[ndarray, "choices phases directions steps"], Float[ndarray, "steps"]]:
    """(whether every push is survived, the impulses [N s]).

    turned: by how many parts of a step all directions, phases and impulses are moved on: 0.5 gives other pushes.
    largest: change of speed by the largest impulse, of sqrt(g H).
    """
    controller = on_command("whole_body", "trot", reflexes=True)
    height = hip_height_of(robot)
    natural = float(np.sqrt(9.81 * height))
    angles = 2.0 * np.pi * (np.arange(directions) + turned) / directions
    parts = (np.arange(phases) + turned) / phases
    impulses = largest * natural * robot.mass * (np.arange(1, steps + 1) - turned) / steps
    shape = (len(choices), phases, directions, steps)
    try:
        touching = trunk_corners(robot)
    except InputError:  # a trunk without a box
        touching = []
    start = standing_start(robot, controller)
    n, more = int(np.prod(shape)), 0 if beside is None else len(beside.starts)
    world = {} if beside is None else {"ground": beside.ground}
    batch = Batch(robot, n + more, controller, start=start, touching=touching, **world)
    if beside is not None:
        batch.q[n:] = beside.starts
    enabled = np.array([choice.numbers() for choice in choices])[:, None, None, None]
    batch.state.memory.reflex.enabled[:n] = np.broadcast_to(enabled, (*shape, len(NAMES))).reshape(n, -1)
    batch.command["forward"][:] = speed_of(robot)
    period = controller.gait.period
    steady = np.ceil(STEADY / period) * period
    begins = np.array([round((steady + part * period) / batch.period) for part in parts])
    length, look = round(PUSH / batch.period), round(LOOK / batch.period)
    now, end = int(begins[0]), int(begins[-1]) + length + round(AFTER / batch.period)
    for at in range(0, now, look):
        batch.run(min(look, now - at))
        if beside is not None:
            beside.look(min(at + look, now) * batch.period, batch.q[n:])
    stood = float(np.median(batch.q[:n, 2]))
    force = np.zeros((*shape, 6))
    force[..., 3] = np.cos(angles)[:, None] * impulses / (length * batch.period)
    force[..., 4] = np.sin(angles)[:, None] * impulses / (length * batch.period)
    fine = np.ones(n, dtype=bool)
    edges = sorted({*begins.tolist(), *(begins + length).tolist(), *range(now, end + look, look)})
    for at, following in pairwise(edges):
        pushed = (begins <= at) & (at < begins + length)
        batch.push[:n] = np.where(pushed[:, None, None, None], force, 0.0).reshape(-1, 6)
        batch.run(following - at)
        fine &= _up(batch.q[:n], stood, LEAN, LOW)
        if beside is not None:
            beside.look(following * batch.period, batch.q[n:])
    return (fine & _up(batch.q[:n], stood, LEAN, STANDING)).reshape(shape), impulses


def _up(q: Float[ndarray, "N nq"], stood: float, lean: float, low: float) -> Bool[ndarray, "N"]:
    upright = 1.0 - 2.0 * (q[:, 4] ** 2 + q[:, 5] ** 2) > np.cos(np.radians(lean))
    return np.isfinite(q).all(axis=1) & upright & (q[:, 2] > low * stood)


def markdown(tables: Sequence[PushTable]) -> str:
    """A row a robot: what is survived with the default, and what one switch less makes of it."""
    names = list(CHOICES)
    lines = ["| " + " | ".join(["robot", "kg", "pushes", *names]) + " |", "|" + "---|" * (3 + len(names))]
    for table in tables:
        counts = [table.survived[name] for name in names]
        shown = [f"{n:+d}" if k > 0 else str(n) for k, n in enumerate(counts[:1] + [c - counts[0] for c in counts[1:]])]
        lines.append("| " + " | ".join([table.robot, f"{table.mass:.1f}", str(table.pushes), *shown]) + " |")
    return "\n".join(lines)


def main() -> None:
    import argparse
    import json

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="+", help="library names, or URDF and MJCF files")
    parser.add_argument("--out", type=Path, help="folder for reflex_pushes.json")
    for key, value in (("directions", 4), ("phases", 4), ("steps", 12)):
        parser.add_argument(f"--{key}", type=int, default=value)
    parser.add_argument("--turned", type=float, default=0.0, help="other pushes: moved on by parts of a step (0.5)")
    given = parser.parse_args()
    tables = []
    for name in given.robots:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = load(name)
        tables.append(push_table(robot, given.directions, given.phases, given.steps, given.turned))
        print(markdown(tables[-1:]) if len(tables) == 1 else markdown(tables[-1:]).splitlines()[-1], flush=True)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps([asdict(table) for table in tables], indent=1)
        (given.out / "reflex_pushes.json").write_text(text + "\n")


if __name__ == "__main__":
    main()

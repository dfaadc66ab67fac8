"""Where one reflex alone decides: the same run with all reflexes, and with all but one.

    python studies/reflex_decisions.py

Every case has a bar, stated in words. A seed above 0 moves the obstacle by up to 2 cm, the push by up to 30 ms and the
speed by up to 2 %; seed 0 is the case as it is written. A run that does not end upright at more than 60 % of the
standing height misses every bar, except that of a fall that is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground, Plane
from footfall.contact.points import trunk_corners
from footfall.contact.steps import Steps
from footfall.control.interface import Command
from footfall.control.locomotion.locomotion import Locomotion
from footfall.control.locomotion.reflexes import NAMES, Reflexes
from footfall.control.named import schedule
from footfall.errors import unknown
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.sim.pushes import Push
from footfall.sim.shared_programs import run_batched
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start
from nptrace.array_types import Float

STANDING = 0.6  # of the standing height


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run in which a reflex decides."""

    what: str
    bar: str
    ground: Callable[[float], Ground] = lambda shift: Plane()  # of a shift along x [m]
    speed: float = 0.4  # [m/s]
    force: tuple[float, float, float] | None = None  # of a push of 0.1 s, after 0.2 s [N]
    seconds: float = 3.0
    options: dict[str, Any] = field(default_factory=dict)  # of Locomotion
    falls: bool = False  # the fall is meant, and its harm is the bar
    keeps_after: float | None = None  # from when on the speed is kept within a tenth, if that is the bar [s]


@dataclass(frozen=True)
class Outcome:
    """How a run went; ``value`` is what the bar is about."""

    passed: bool
    value: str
    events: tuple[tuple[float, str], ...]  # of the recording


def treads(seed: int, height: float, start: float = 0.3) -> Steps:
    """Level ground up to ``start``, then treads of 0.3 m at random levels within ``height`` [m]."""
    levels = np.concatenate([[0.0], np.random.default_rng(seed).uniform(-0.5, 0.5, 12)])
    return Steps(height * levels, tread=0.3, start=start)


CASES: dict[str, Case] = {
    "early_touchdown": Case(
        what="a flight of steps, 120 mm each, upwards",
        bar="does not fall",
        ground=lambda x: Steps.flight(0.12, start=0.6 + x),
        speed=0.38,
        seconds=3.4,
    ),
    "missed_touchdown": Case(
        what="a flight of steps, 153 mm each, downwards",
        bar="does not fall",
        ground=lambda x: Steps.flight(-0.153, start=0.5 + x),
    ),
    "slip": Case(
        what="friction 0.12, where 0.5 is assumed", bar="does not fall", ground=lambda x: Plane(0.12), seconds=2.0
    ),
    "stumble": Case(
        what="a flight of steps, 100 mm each, upwards",
        bar="does not fall",
        ground=lambda x: Steps.flight(0.1, start=0.6 + x),
    ),
    "sidestep": Case(
        what="10 N s from the side while standing", bar="does not fall", speed=0.0, force=(0.0, 100.0, 0.0), seconds=1.6
    ),
    "safe_stop": Case(
        what="30 N s from behind while standing: a fall",
        bar="motors work at most 450 J after 0.4 s",
        speed=0.0,
        force=(300.0, 0.0, 0.0),
        seconds=1.4,
        falls=True,
    ),
    "slope": Case(
        what="25 degrees downhill",
        bar="keeps 0.4 m/s within a tenth",
        ground=lambda x: Plane.slope(-25.0),
        options={"friction": 0.7},
        keeps_after=1.0,
    ),
    "rough_ground": Case(
        what="treads within 160 mm of height, by feet that clear 20 mm",
        bar="does not fall",
        ground=lambda x: treads(1, 0.16, 0.3 + x),
        speed=0.38,
        seconds=3.4,
        options={"clearance": 0.02},
    ),
    "speed_gait": Case(
        what="a walk that is told to go at 1.2 m/s",
        bar="keeps 1.2 m/s within a tenth",
        speed=1.2,
        options={"gait": schedule("walk")},
        keeps_after=1.5,
    ),
}


Question = tuple[str, bool, int]  # a case, whether its reflex is on, a seed


def decide(robot: Robot, name: str, on: bool, seed: int = 0) -> Outcome:
    """A case with all reflexes, or with all but the named one."""
    return decided(robot, [(name, on, seed)])[0]


def decided(robot: Robot, questions: Sequence[Question]) -> list[Outcome]:
    """Many cases at once: those on one kind of ground are lanes of one batch."""
    simulations = [_simulation(robot, *question) for question in questions]
    heights = [_height(simulation) for simulation in simulations]
    recordings = run_batched(simulations, [CASES[name].seconds for name, _, _ in questions])
    found = []
    for (name, _, _), simulation, height, recording in zip(questions, simulations, heights, recordings):
        case = CASES[name]
        passed, value = _harm(robot, recording) if case.falls else _kept(case, simulation, recording, height)
        said = tuple((event.time, event.message) for event in recording.events)
        found.append(Outcome(passed, value, said))
    return found


def _simulation(robot: Robot, name: str, on: bool, seed: int) -> Simulation:
    if name not in CASES:
        raise unknown("reflex", name, CASES)
    case, rng = CASES[name], np.random.default_rng(seed)
    shift, late, faster = rng.uniform(-1.0, 1.0, 3) * (0.02, 0.03, 0.02) if seed else (0.0, 0.0, 0.0)
    ground = case.ground(float(shift))
    controller = Locomotion(reflexes=Reflexes(speed_gait=name == "speed_gait").replace(**{name: on}), **case.options)
    pushes = () if case.force is None else (Push(start=0.2 + float(late), duration=0.1, force=case.force),)
    command = Command(forward=case.speed * (1.0 + float(faster)))
    return Simulation(
        robot,
        controller,
        ground=ground,
        start=standing_start(robot, controller, ground),
        command=command,
        pushes=pushes,
        stop_on_fall=not case.falls,
        touching=trunk_corners(robot) if case.falls else (),
    )


def _kept(case: Case, simulation: Simulation, recording: Recording, height: float) -> tuple[bool, str]:
    if simulation.stopped is not None:
        return False, f"falls at {simulation.stopped.time:.2f} s"
    if _height(simulation) < STANDING * height:
        return False, "lies on the ground"
    if case.keeps_after is not None:
        speed = float(recording.mean_velocity(after=case.keeps_after)[0])
        return abs(speed - case.speed) <= 0.1 * case.speed, f"{speed:.2f} m/s"
    return True, f"stands after {float(recording.time[-1]):.1f} s"


def _harm(robot: Robot, recording: Recording) -> tuple[bool, str]:
    rows = recording.time > 0.4
    rates = recording.v[rows, robot.nv - robot.nj :]
    work = float(np.abs(recording.torque[rows] * rates).sum() * np.median(np.diff(recording.time)))
    return work <= 450.0, f"{work:.0f} J"


def rough_heights(
    robot: Robot, reflexes: Sequence[Any], seeds: Sequence[int], halvings: int = 4, highest: float = 0.32
) -> Float[ndarray, "reflexes seeds"]:
    """The roughest ground that is crossed for 3.5 s at 0.4 m/s, by bisection [m]: of all switches and seeds at once.

    Treads of 0.3 m at random heights, as far apart as the result says, from 0.3 m before the robot on.
    """
    low = np.zeros((len(reflexes), len(seeds)))
    for k in range(1, halvings + 1):
        middle = low + highest / 2**k
        walks = []
        for i, switches in enumerate(reflexes):
            for j, seed in enumerate(seeds):
                controller = Locomotion(reflexes=switches)
                ground, start = treads(seed, float(middle[i, j])), standing_start(robot, controller)
                walks.append(Simulation(robot, controller, ground=ground, start=start, command=Command(forward=0.4)))
        heights = [_height(walk) for walk in walks]
        run_batched(walks, 3.5)
        stood = [walk.stopped is None and _height(walk) > STANDING * h for walk, h in zip(walks, heights)]
        low = np.where(np.reshape(stood, low.shape), middle, low)
    return low


def _height(simulation: Simulation) -> float:
    """Of the base over the ground [m]."""
    return float(simulation.model.world.ground.distance(simulation.q[:3]))


def table(robot: Robot, seeds: Sequence[int] = range(5), names: Sequence[str] = NAMES) -> str:
    """A Markdown table: how many seeds pass with and without each reflex, and how seed 0 went."""
    rows = ["| reflex | run | bar | with it | without it |", "|---|---|---|---|---|"]
    questions = [(name, on, seed) for name in names for on in (True, False) for seed in seeds]
    outcomes = dict(zip(questions, decided(robot, questions)))
    for name in names:
        cells = []
        for on in (True, False):
            found = [outcomes[name, on, seed] for seed in seeds]
            cells.append(f"{sum(f.passed for f in found)} of {len(seeds)} ({found[0].value})")
        rows.append(f"| `{name}` | {CASES[name].what} | {CASES[name].bar} | {cells[0]} | {cells[1]} |")
    return "\n".join(rows)


def main() -> None:
    """Print the tables of the documentation."""
    from footfall.loading import load

    robot = load("mini_cheetah")
    print(table(robot), flush=True)
    print("\n| rough ground crossed, seed | reflexes off | on |\n|---|---|---|")
    for seed, (off, on) in enumerate(rough_heights(robot, (False, True), range(3)).T):
        print(f"| {seed} | {1e3 * off:.0f} mm | {1e3 * on:.0f} mm |", flush=True)


if __name__ == "__main__":
    main()

"""How hard a push ``nmpc``, ``mpc`` and ``whole_body`` each survive: the Mini Cheetah trots at 0.3 m/s on level ground.

``nmpc`` runs in Python between compiled steps and is no batch (``push_recovery`` maps the others by the hundred): four
directions, four phases of the gait, impulses in steps, the same for all three. A robot survives that is upright and as
high as it walks 2 s later. What is survived does not fall evenly with the impulse, so every impulse is tried.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from footfall.control.interface import Command
from footfall.control.named import nmpc, on_command
from footfall.robot import library
from footfall.sim.pushes import Push
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start

CONTROLLERS = ("nmpc", "mpc", "whole_body")
DIRECTIONS = (0.0, 90.0, 180.0, 270.0)  # [deg], 0 forward, 90 to the left
PHASES = (0.0, 0.25, 0.5, 0.75)  # of the gait's cycle, after AT
IMPULSES = (6.0, 9.0, 12.0, 15.0, 18.0, 21.0)  # [N s]
AT, LASTING, AFTER = 1.05, 0.1, 2.0  # [s]


def survives(controller: str, direction: float, phase: float, impulse: float, name: str = "mini_cheetah") -> bool:
    """Whether a push of an impulse [N s] in a direction [deg] at a phase [cycles] is survived."""
    robot = library.load(name)
    walker = nmpc("trot") if controller == "nmpc" else on_command(controller, "trot")
    turn, force, at = np.radians(direction), impulse / LASTING, AT + phase * walker.gait.period
    push = Push(start=at, duration=LASTING, force=(force * np.cos(turn), force * np.sin(turn), 0.0))
    start = standing_start(robot, walker)
    sim = Simulation(robot, walker, start=start, command=Command(forward=0.3), pushes=[push], stop_on_fall=True)
    sim.run(at + AFTER)
    return sim.stopped is None and bool(sim.q[2] > 0.8 * start[0][2]) and bool(np.abs(sim.q[4:6]).max() < 0.15)


def survived(controller: str, direction: float) -> dict[str, float | None]:
    """The least impulse [N s] that is not survived at some phase, and the share of all that is."""
    kept = np.array([[survives(controller, direction, phase, i) for i in IMPULSES] for phase in PHASES])
    lost = np.flatnonzero(~kept.all(axis=0))
    return {"least not survived": IMPULSES[lost[0]] if len(lost) else None, "share survived": float(kept.mean())}


def main() -> None:
    """The map as JSON, a line for a direction and a controller."""
    directions = [float(word) for word in sys.argv[1:]] or list(DIRECTIONS)
    for direction in directions:
        for controller in CONTROLLERS:
            row = {"direction": direction, "controller": controller, **survived(controller, direction)}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()

"""How hard a push ``nmpc``, ``mpc`` and ``whole_body`` each survive: the Mini Cheetah trots at 0.3 m/s on level ground.

``nmpc`` runs in Python between compiled steps and is no batch (``push_recovery`` maps the others by the hundred): a few
directions, one phase of the gait, impulses in steps, the same for all three. A robot survives that is upright and as
high as it walks 2 s later.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from footfall.control.interface import Command
from footfall.control.named import nmpc, on_command
from footfall.robot import library
from footfall.simulate.pushes import Push
from footfall.simulate.simulation import Simulation
from footfall.simulate.standing import standing_start

CONTROLLERS = ("nmpc", "mpc", "whole_body")
DIRECTIONS = (0.0, 90.0, 180.0, 270.0)  # [deg], 0 forward, 90 to the left
FIRST, STEP, MOST = 6.0, 3.0, 30.0  # impulses [N s]
AT, LASTING, AFTER = 1.05, 0.1, 2.0  # [s]


def survives(controller: str, direction: float, impulse: float, name: str = "mini_cheetah") -> bool:
    """Whether a push of an impulse [N s] in a direction [deg] is survived."""
    robot = library.load(name)
    walker = nmpc("trot") if controller == "nmpc" else on_command(controller, "trot")
    turn, force = np.radians(direction), impulse / LASTING
    push = Push(start=AT, duration=LASTING, force=(force * np.cos(turn), force * np.sin(turn), 0.0))
    start = standing_start(robot, walker)
    sim = Simulation(robot, walker, start=start, command=Command(forward=0.3), pushes=[push])
    sim.run(AT + AFTER)
    return sim.stopped is None and bool(sim.q[2] > 0.8 * start[0][2]) and bool(np.abs(sim.q[4:6]).max() < 0.15)


def largest(controller: str, direction: float) -> float:
    """The largest impulse up to which all that were tried were survived [N s]; 0 if the first was not."""
    best = 0.0
    for impulse in np.arange(FIRST, MOST + STEP, STEP):
        if not survives(controller, direction, float(impulse)):
            break
        best = float(impulse)
    return best


def main() -> None:
    """The map as JSON, a line each."""
    directions = [float(word) for word in sys.argv[1:]] or list(DIRECTIONS)
    for direction in directions:
        row = {controller: largest(controller, direction) for controller in CONTROLLERS}
        print(json.dumps({"direction": direction, **row}), flush=True)


if __name__ == "__main__":
    main()

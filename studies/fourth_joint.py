"""What the fourth joint of DynaKat's legs buys on rough ground: a contact angle of one's choice.

    python studies/fourth_joint.py

The same walk over random bumps with the last link held at several angles to the ground; the paths of the feet are the
same. A robot that is not upright at 60 % of its height after the walk has fallen. All is deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from footfall.contact.heightfield import Heightfield
from footfall.control.joint.joint_pd import JointPD
from footfall.loading import load
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from footfall.sim.start import standing_start

ANGLES = (-0.6, -0.4, -0.2, 0.0, 0.2)  # of the foot, negative lowers its toe [rad]; the tuned walk has -0.2
ROUGH = (0.0, 0.02, 0.04, 0.06, 0.08)  # from the lowest to the highest place [m]
SECONDS, STANDING, SEEDS = 8.0, 0.6, 6


@dataclass(frozen=True)
class Walked:
    """How one walk went."""

    fell: bool
    distance: float  # along x [m]
    cost: float  # of transport; NaN for one that fell


def walk(robot: Robot, controller: JointPD, rough: float, seed: int) -> Walked:
    """One walk over bumps of a foot's size."""
    ground = Heightfield.rough(rough, seed=seed, feature=0.1, flat=0.1, size=(6.0, 3.0), spacing=0.02)
    simulation = Simulation(robot, controller, ground=ground, start=standing_start(robot, controller, ground))
    height = float(ground.distance(simulation.q[:3]))
    recording = simulation.run(SECONDS)
    fell = simulation.stopped is not None or float(ground.distance(simulation.q[:3])) < STANDING * height
    return Walked(fell, float(simulation.q[0]), np.nan if fell else recording.cost_of_transport())


def main() -> None:
    """Print the table of the documentation."""
    robot = load("dynakat")
    tuned = JointPD.tuned(robot, "walk", open_loop=True)
    print("| contact angle | " + " | ".join(f"{1e3 * h:.0f} mm" for h in ROUGH) + " |\n|---|" + "---|" * len(ROUGH))
    for angle in ANGLES:
        controller, cells = replace(tuned, gait=tuned.gait.replace(foot_pitch=angle)), []
        for rough in ROUGH:
            walks = [walk(robot, controller, rough, seed) for seed in range(SEEDS if rough else 1)]
            up = [w for w in walks if not w.fell]
            far, cost = (np.mean([getattr(w, key) for w in up]) if up else np.nan for key in ("distance", "cost"))
            cells.append(f"{len(up)} of {len(walks)}, {far:.2f} m, {cost:.2f}" if up else f"0 of {len(walks)}")
        print(f"| {angle:+.1f} rad | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

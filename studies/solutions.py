"""How often a step solves its equations until feet and joints agree with what it finds, in the trots of some robots.

Run as ``python studies/solutions.py [ROBOT ...]``, names of the library or files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.control.interface import Command, JointCommand, Sensed
from footfall.control.joint.joint_pd import JointPD
from footfall.loading import load
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import solutions, step
from footfall.sim.world import World
from nptrace.array_types import Float

ROBOTS = ("dynakat", "spined", "xiling", "mini_cheetah")
FRICTIONS = (0.8, 0.3, 0.08)
_BEGIN = 10.0  # [s] of the gait: its slow start is over


def counted(
    robot: Robot, joints: JointModel, frictions: Iterable[float] = FRICTIONS, seconds: float = 2.0, dt: float = 1e-3
) -> dict[float, Float[ndarray, "n"]]:
    """Solutions of every step of a trot from the stand under joint PD, by friction."""
    world, controller = World(robot=robot, joints=joints), JointPD.tuned(robot, open_loop=True)

    def once(state: State, command: JointCommand, friction: float) -> tuple[State, float]:
        there = world.with_parameters({"ground.friction": friction})
        after, *_ = step(there, state, command, np.zeros(6), dt)
        return after, solutions(there, state, command, np.zeros(6), dt)

    compiled, found = None, {}
    for friction in frictions:
        q, v = robot.state("stand")
        state, memory, counts = State(q, v, world.contact.start(world.spheres)), controller.start(robot), []
        for k in range(round(seconds / dt)):
            sensed = Sensed(q=state.q, v=state.v, forces=np.zeros((robot.nf, 3)))
            command, memory = controller(_BEGIN + k * dt, robot, sensed, Command(), memory)
            command = command.broadcast(robot.nj)
            if compiled is None:
                compiled = compiling.compile(once, None, state, command, friction, verify=False)
            state, count = compiled(state, command, friction)
            counts.append(float(count))
        found[friction] = np.array(counts)
    return found


def table(names: Iterable[str] = ROBOTS) -> str:
    """Mean and 99th percentile as Markdown; a robot whose joints have dry friction has a row with and one without."""
    lines = ["| robot | " + " | ".join(f"{mu:g}" for mu in FRICTIONS) + " |", "|---" * (len(FRICTIONS) + 1) + "|"]
    for name in names:
        robot = load(name)
        models = {"": JointModel()}
        if JointModel().has_dry_friction(robot):
            models = {", ideal joints": JointModel.ideal(), ", dry friction in its joints": JointModel()}
        for what, joints in models.items():
            cells = [f"{n.mean():.2f}, {np.percentile(n, 99):.0f}" for n in counted(robot, joints).values()]
            lines.append(f"| {robot.name}{what} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(sys.argv[1:] or ROBOTS))

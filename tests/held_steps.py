"""One step of a robot that joint PD holds: what machine code, lanes and grounds are tried on."""

from __future__ import annotations

import numpy as np

from footfall.control.interface import JointCommand
from footfall.robot import library
from footfall.sim.equations_of_motion import State
from footfall.sim.step import integrate_step
from footfall.sim.world import World

ROBOT = library.load("mini_cheetah")


def standing() -> tuple[State, np.ndarray]:
    """(the stand, four feet on the ground and at rest; the joint targets that hold it)."""
    q, v = ROBOT.state("stand")
    return State(q, v), q[7:]


def held_step(world: World, state: State, targets: np.ndarray, dt: float) -> State:
    """One step of joint PD about the targets."""
    integrator = "linearly_implicit" if world.contact.implicit else "semi_implicit_euler"
    command = JointCommand(targets, 0.0, 35.0, 1.2, 0.0)
    after, _, _ = integrate_step(integrator, world, state, command, np.zeros(6), dt)
    return after

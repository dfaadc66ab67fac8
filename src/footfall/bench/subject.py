"""What is timed: the Mini Cheetah as shipped (armature, contact at the contact point), on a plane, under joint PD.

Joint targets are an input of the step, gains are constants, joints have no effects of their own (``JointModel.ideal``).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import compiling
from footfall.contact.compliant import Compliant
from footfall.control.interface import JointCommand
from footfall.dynamics.forward_dynamics import forward_dynamics
from footfall.robot import library
from footfall.robot.description import Robot
from footfall.simulate.actuators import JointModel
from footfall.simulate.step import State, step
from footfall.simulate.world import World

KP, KD = 40.0, 1.0  # [N m/rad], [N m s/rad]
DT = 1e-4  # [s], of the steps that are timed
SCHEMES = {"explicit": False, "implicit": True}


def robot() -> Robot:
    return library.load("mini_cheetah")


def world(implicit: bool, contact: Compliant | None = None) -> World:
    """The robot on a plane, with explicit or linearly implicit compliant contact, the default one unless given."""
    contact = dataclasses.replace(contact or Compliant(damping=1e4 if implicit else 10.0), implicit=implicit)
    return World(robot(), contact=contact, joints=JointModel.ideal())


def standing() -> tuple[State, Float[ndarray, "nj"]]:
    """(the stand, four feet on the ground and at rest; the joint targets that hold it)."""
    model = robot()
    q, v = model.state("stand")
    return State(q, v), q[model.nq - model.nj :]


def held_step(world: World, state: State, targets: Float[ndarray, "nj"], dt: float) -> State:
    """One step of joint PD about the targets: ``simulate.step`` less the bookkeeping of forces and work."""
    after, _, _ = step(world, state, JointCommand(targets, 0.0, KP, KD, 0.0), np.zeros(6), dt)
    return after


def compiled_step(implicit: bool, **options: Any) -> Any:
    """``held_step`` of length ``DT`` as machine code; options are ``ff.compile``'s."""
    state, targets = standing()
    return compiling.compile(held_step, world(implicit), state, targets, dt=DT, **options)


def operations() -> dict[str, int]:
    """Live operations before fusing, as ``performance.md`` counts them."""
    state, targets = standing()
    counts = {"forward_dynamics": compiling.program(forward_dynamics, robot()).live_operations}
    for scheme, implicit in SCHEMES.items():
        program = compiling.program(held_step, world(implicit), state, targets, dt=DT)
        counts[scheme] = program.live_operations
    return counts

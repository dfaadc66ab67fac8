"""The robot that is timed: Mini Cheetah as shipped (armature, contact at the contact point), on a plane, joint PD.

Joint targets are an input of the step, gains are constants, joints are ideal (``JointModel.ideal``). For any other
robot, gains scale with weight and height.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.contact.compliant import Compliant
from footfall.control.interface import JointCommand
from footfall.control.posture import with_stand
from footfall.control.stand_gains import stand_gains
from footfall.dynamics.forward_dynamics import forward_dynamics
from footfall.errors import InputError
from footfall.robot import library
from footfall.robot.files.loading import load
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import integrate_step
from footfall.sim.world import World
from nptrace._types import Given
from nptrace.array_types import Float
from nptrace.ir.program import Program
from nptrace.runtime.callables import Function

KP, KD = 40.0, 1.0  # [N m/rad], [N m s/rad]
DT = 1e-4  # [s], length of the timed steps
SCHEMES = {"explicit": False, "implicit": True}


def robot(source: str | None = None) -> Robot:
    """Return the Mini Cheetah, or a robot of the library or of a file, which must be able to stand."""
    if source is None:
        return library.load("mini_cheetah")
    model = with_stand(load(source))
    if "stand" not in model.poses:
        raise InputError(f"robot '{model.name}' has no pose 'stand', and none can be computed from its legs")
    return model


def world(implicit: bool, contact: Compliant | None = None, model: Robot | None = None) -> World:
    """Return the robot on a plane, with explicit or linearly implicit compliant contact, by default the default one."""
    contact = dataclasses.replace(contact or Compliant(damping=1e4 if implicit else 10.0), implicit=implicit)
    return World(robot=model or robot(), contact=contact, joints=JointModel.ideal())


def standing(model: Robot | None = None) -> tuple[State, Float[ndarray, "nj"]]:
    """Return (state at rest on four feet, joint targets that hold it)."""
    model = model or robot()
    q, v = model.state("stand")
    return State(q, v), q[model.nq - model.nj :]


def gains(model: Robot) -> tuple[float, float]:
    """Return (kp, kd), scaled from the Mini Cheetah's by weight and height, but not below a simulation's gains."""
    first = robot()
    if model.digest == first.digest:
        return KP, KD
    share = model.mass * model.poses["stand"].height / (first.mass * first.poses["stand"].height)
    kp, kd = stand_gains(model)
    return max(share * KP, float(kp)), max(share * KD, float(kd))


def held_step(
    world: World, state: State, targets: Float[ndarray, "nj"], dt: float, kp: float = KP, kd: float = KD
) -> State:
    """Make one step with joint PD about the targets: ``sim.step`` without the bookkeeping of forces and work."""
    command = JointCommand(targets, 0.0, kp, kd, 0.0)
    integrator = "linearly_implicit" if world.contact.implicit else "semi_implicit_euler"
    after, _, _ = integrate_step(integrator, world, state, command, np.zeros(6), dt)
    return after


def compiled_step(implicit: bool, model: Robot | None = None, **options: Any) -> Function:
    """Return ``held_step`` of length ``DT`` as machine code; options are those of ``ff.compile``."""
    return compiling.compile(held_step, *_arguments(implicit, model), **{**_constants(model), **options})


def program(implicit: bool, model: Robot | None = None) -> Program:
    """Return ``held_step`` of length ``DT`` as a program."""
    return compiling.program(held_step, *_arguments(implicit, model), **_constants(model))


def _arguments(implicit: bool, model: Robot | None) -> tuple[World, State, Float[ndarray, "nj"]]:
    return world(implicit, model=model), *standing(model)


def _constants(model: Robot | None) -> dict[str, Given]:
    kp, kd = gains(model or robot())
    return {"dt": DT, "kp": kp, "kd": kd}


def operations(model: Robot | None = None) -> dict[str, int]:
    """Return the number of operations before fusion, as counted in ``performance.md``."""
    counts = {"forward_dynamics": compiling.program(forward_dynamics, model or robot()).live_operations}
    return counts | {scheme: program(implicit, model).live_operations for scheme, implicit in SCHEMES.items()}

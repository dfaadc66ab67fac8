"""The subject that is timed: Mini Cheetah as shipped (armature, contact at the contact point), on a plane, joint PD.

Joint targets are an input of the step, gains are constants, joints have no effects of their own (``JointModel.ideal``).
Any other robot stands on its own legs, with gains that grow with its weight and height.
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
from nptrace.ir.program import Program
from nptrace.runtime.callables import Function

KP, KD = 40.0, 1.0  # [N m/rad], [N m s/rad]
DT = 1e-4  # [s], of the steps that are timed
SCHEMES = {"explicit": False, "implicit": True}


def robot(source: str | None = None) -> Robot:
    """The Mini Cheetah; or a robot of the library or of a file, which must be able to stand."""
    if source is None:
        return library.load("mini_cheetah")
    model = with_stand(load(source))
    if "stand" not in model.poses:
        raise InputError(f"robot '{model.name}' has no pose 'stand', and its legs do not tell how it would stand")
    return model


def world(implicit: bool, contact: Compliant | None = None, model: Robot | None = None) -> World:
    """The robot on a plane, with explicit or linearly implicit compliant contact, the default one unless given."""
    contact = dataclasses.replace(contact or Compliant(damping=1e4 if implicit else 10.0), implicit=implicit)
    return World(robot=model or robot(), contact=contact, joints=JointModel.ideal())


def standing(model: Robot | None = None) -> tuple[State, Float[ndarray, "nj"]]:
    """(the stand, four feet on the ground and at rest; the joint targets that hold it)."""
    model = model or robot()
    q, v = model.state("stand")
    return State(q, v), q[model.nq - model.nj :]


def gains(model: Robot) -> tuple[float, float]:
    """(kp, kd) that hold a stand as well as the Mini Cheetah's do: in proportion to weight and height, and never softer
    than a simulation holds it, since low stands on bent legs sag."""
    first = robot()
    if model.digest == first.digest:
        return KP, KD
    share = model.mass * model.poses["stand"].height / (first.mass * first.poses["stand"].height)
    kp, kd = stand_gains(model)
    return max(share * KP, float(kp)), max(share * KD, float(kd))


def held_step(
    world: World, state: State, targets: Float[ndarray, "nj"], dt: float, kp: float = KP, kd: float = KD
) -> State:
    """One step of joint PD about the targets: ``sim.step`` less the bookkeeping of forces and work."""
    command = JointCommand(targets, 0.0, kp, kd, 0.0)
    integrator = "linearly_implicit" if world.contact.implicit else "semi_implicit_euler"
    after, _, _ = integrate_step(integrator, world, state, command, np.zeros(6), dt)
    return after


def compiled_step(implicit: bool, model: Robot | None = None, **options: Any) -> Function:
    """``held_step`` of length ``DT`` as machine code; options are ``ff.compile``'s."""
    return compiling.compile(held_step, *_arguments(implicit, model), **{**_constants(model), **options})


def program(implicit: bool, model: Robot | None = None) -> Program:
    """``held_step`` of length ``DT`` as a program."""
    return compiling.program(held_step, *_arguments(implicit, model), **_constants(model))


def _arguments(implicit: bool, model: Robot | None) -> tuple[World, State, Float[ndarray, "nj"]]:
    return world(implicit, model=model), *standing(model)


def _constants(model: Robot | None) -> dict[str, Given]:
    kp, kd = gains(model or robot())
    return {"dt": DT, "kp": kp, "kd": kd}


def operations(model: Robot | None = None) -> dict[str, int]:
    """Live operations before fusing, as ``performance.md`` counts them."""
    counts = {"forward_dynamics": compiling.program(forward_dynamics, model or robot()).live_operations}
    return counts | {scheme: program(implicit, model).live_operations for scheme, implicit in SCHEMES.items()}

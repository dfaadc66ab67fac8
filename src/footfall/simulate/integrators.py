"""How accelerations become motion.

``linearly_implicit`` (default) and ``semi_implicit_euler`` share ``step``; they differ in whether the contact law is
taken implicitly, which is the integrator's to say (``as_taken``). ``heun`` and ``rk4`` are explicit in everything. Seed
000 says "explicit 2nd-order Euler", which is undefined: semi-implicit Euler and Heun are its two likely readings.

Heun and RK4 integrate (p, quaternion, joints; ω in base axes, v in *world* axes, joint rates; work) as one vector, with
the quaternion brought back to unit length at the end of every step.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.model import ContactModel, as_contact_model
from footfall.control.interface import JointCommand
from footfall.errors import InputError, unknown
from footfall.parameters import replaced
from footfall.robot.model.description import Robot
from footfall.seams import unadapted
from footfall.simulate.actuators import JointModel
from footfall.simulate.step import Acted, State, accelerate, step
from footfall.simulate.world import World
from footfall.spatial.quaternion import rate, to_rotation

INTEGRATORS = ("linearly_implicit", "semi_implicit_euler", "heun", "rk4")
_STAGES: dict[str, tuple[tuple[float, float], ...]] = {  # (how far the stage looks ahead, its weight)
    "heun": ((0.0, 1 / 2), (1.0, 1 / 2)),
    "rk4": ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)),
}


def integrate_step(
    integrator: str, world: World, state: State, command: JointCommand, push: Float[ndarray, "wrenches"], dt: float
) -> tuple[State, Acted, Float[ndarray, "4"]]:
    """(state after dt, what acted at its beginning, work done), as ``step``."""
    world = as_taken(integrator, world).in_limb_frames()
    if integrator in ("linearly_implicit", "semi_implicit_euler"):
        return step(world, state, command, push, dt)
    check_integrator(integrator, world.contact, world.joints)
    robot = world.robot
    y_0 = np.concatenate([_to_vector(robot, state), np.zeros(4)])
    total, slope, acted = np.zeros(len(y_0)), np.zeros(len(y_0)), None
    for ahead, weight in _STAGES[integrator]:
        slope, stage = _slope(world, y_0 + ahead * dt * slope, command, push)
        total = total + weight * slope
        acted = stage if acted is None else acted
    y = y_0 + dt * total
    assert acted is not None
    return _from_vector(robot, y[:-4]), acted, y[-4:]


def check_integrator(integrator: str, contact: ContactModel, joints: JointModel | None = None) -> None:
    """Refuse what cannot be stepped so: hard contact has impulses, no accelerations that Heun or RK4 could sample, and
    belts are too stiff for an explicit step."""
    kind = type(unadapted(contact)).__name__
    if integrator not in INTEGRATORS:
        raise unknown("integrator", integrator, INTEGRATORS)
    if integrator == "linearly_implicit" and not contact.implicit:
        explicit = ", ".join(INTEGRATORS[1:])
        raise InputError(
            f"{kind} contact is explicit and the integrator linearly_implicit is not: leave out"
            f" implicit=False, or choose from {explicit}"
        )
    if joints is not None and joints.belt is not None and integrator != "linearly_implicit":
        raise InputError(f"joints behind belts are stepped by the integrator linearly_implicit alone, not {integrator}")
    if integrator in _STAGES and contact.hard:
        raise InputError(
            f"{kind} contact gives impulses: its integrator must be linearly_implicit or"
            f" semi_implicit_euler, not {integrator}"
        )


def as_taken(integrator: str, world: World) -> World:
    """The world with a contact law that is implicit if the integrator is: the one place where that is decided."""
    implicit = integrator == "linearly_implicit"
    if world.contact.implicit == implicit:
        return world
    law = unadapted(world.contact)
    if not dataclasses.is_dataclass(law):
        way = "at the end" if world.contact.implicit else "at the start"
        kind = type(law).__name__
        raise InputError(f"{kind} is taken {way} of a step: its integrator cannot be {integrator}")
    law = dataclasses.replace(law, implicit=implicit)  # type: ignore[type-var]
    return replaced(world, "contact", as_contact_model(law))


def _slope(world: World, y: ndarray, command: JointCommand, push: Float[ndarray, "wrenches"]) -> tuple[ndarray, Acted]:
    robot = world.robot
    state = _from_vector(robot, y[:-4])
    a, acted = accelerate(world, state, command, push, 0.0)
    power = acted.generalised @ state.v
    if not robot.floating:
        return np.concatenate([state.v, a, power]), acted
    R_WB, q, v = to_rotation(state.q[3:7]), state.q, state.v
    motion = [R_WB @ v[3:6], rate(q[3:7], v[:3]), v[6:], a[:3], R_WB @ a[3:6], a[6:]]
    return np.concatenate([*motion, power]), acted


def _to_vector(robot: Robot, state: State) -> ndarray:
    q, v = state.q, state.v
    if not robot.floating:
        return np.concatenate([q, v])
    return np.concatenate([q, v[:3], to_rotation(q[3:7]) @ v[3:6], v[6:]])


def _from_vector(robot: Robot, y: ndarray) -> State:
    q, u = y[: robot.nq], y[robot.nq :]
    if not robot.floating:
        return State(q, u)
    quat = q[3:7] / np.sqrt(q[3:7] @ q[3:7])
    v_B = to_rotation(quat).T @ u[3:6]
    return State(np.concatenate([q[:3], quat, q[7:]]), np.concatenate([u[:3], v_B, u[6:]]))

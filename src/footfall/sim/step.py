"""One physics step: from accelerations to the next state, by four integrators.

``linearly_implicit`` (default) and ``semi_implicit_euler`` share ``step``: velocities first, then positions with the
new velocities. They differ in whether the contact model is evaluated implicitly, which the integrator decides
(``match_implicitness``). ``heun`` and ``rk4`` are fully explicit. De Paula et al. 2024 name "explicit 2nd-order Euler",
which is undefined: semi-implicit Euler and Heun are its two likely readings.

Heun and RK4 integrate (p, quaternion, joints; ω in base axes, v in *world* axes, joint rates; work and impulses) as one
vector, and normalise the quaternion at the end of every step.

Euler steps evaluate centrifugal and gyroscopic forces at the midpoint rates of the step: at the initial rates they
would drive every body outwards, which adds energy (``equations_of_motion.mid_rates``).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

import nptrace
from footfall.adapters import unadapted
from footfall.contact.model import ContactModel, as_contact_model
from footfall.control.interface import JointCommand
from footfall.dynamics.free_rotation import free_rotation
from footfall.errors import InputError, unknown
from footfall.kinematics.closed_loops import project_to_loop_closure
from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.parameters import replaced
from footfall.robot.model.description import Robot
from footfall.sim.equations_of_motion import (
    Acted,
    Modes,
    State,
    accelerate,
    count_iterations,
    equations_of_motion,
    guesses_middle,
    solve_active_set,
)
from footfall.sim.joints import POSITION, RATE, JointModel
from footfall.sim.world import World
from footfall.spatial import cross
from footfall.spatial.quaternion import rate, rotated_in_a_step, to_rotation
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float


# -- what a step adds up -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Done:
    """Work and impulses of one step."""

    # [J] of motors, losses in joints, contact and pushes on the robot, including rotors and belts; of the motors again,
    # counting only positive work
    work: Float[ndarray, "5"]
    impulse: Float[ndarray, "nf 3"]  # of the ground on the feet, world axes [N s]


def _done(world: World, state: State, after: State, acted: Acted, a: Float[ndarray, "nv"], dt: float) -> Done:
    """Return force times the mean velocity of a step, so that the energy balance closes to the order of the integrator.

    Motors behind belts do work on their rotors. Energy that belts receive from the rotors and neither transmit nor
    store is lost.
    """
    robot = world.robot
    motors, losses, contact, pushes = dt * (acted.generalised @ (state.v + 0.5 * dt * a))
    rates = 0.5 * (joint_rates(robot, state.v) + joint_rates(robot, after.v))
    if (belt := world.joints.belt) is not None:
        passed_on, rates = motors, 0.5 * (state.memory[RATE] + acted.memory[RATE])
        motors = dt * (acted.motor @ rates)
        taken = dt * (joint_rates(robot, acted.generalised[0]) @ rates)
        was, now = (
            belt.elastic(memory[POSITION] - joint_positions(robot, q), memory[RATE] - joint_rates(robot, v), dt)
            for memory, q, v in ((state.memory, state.q, state.v), (acted.memory, after.q, after.v))
        )
        losses = losses - (taken - passed_on - (now - was))
    spent = dt * np.sum(np.maximum(acted.motor * rates, 0.0))
    return Done(np.stack([motors, losses, contact, pushes, spent]), dt * acted.forces[: robot.nf])


# -- semi-implicit Euler -----------------------------------------------------------------------------------------------
_NO_MODES = Modes({}, {})


def advance(robot: Robot, state: State, a: Float[ndarray, "nv"], dt: float, modes: Modes = _NO_MODES) -> State:
    """Return the state to which classical accelerations lead.

    The linear velocity advances in world axes and is rotated back: Euler steps on base-axes components would gain speed
    while the base rotates. The base rotates at its mean angular velocity over the step, known from its free rotation,
    or from midpoint rates where those were found in flight.
    """
    q, v = state.q, state.v
    if not robot.floating:
        rates = v + dt * a
        return State(q + dt * rates, rates)
    v_W = to_rotation(q[3:7]) @ (v[3:6] + dt * a[3:6])
    omega, rates = v[:3] + dt * a[:3], v[6:] + dt * a[6:]
    past = free_rotation(robot, v[:3], dt)
    if modes.middle:
        past = np.where(guesses_middle(modes.middle), past, modes.middle["past"][:3])
    quat = rotated_in_a_step(q[3:7], dt * (omega - past))
    return State(
        np.concatenate([q[:3] + dt * v_W, quat, q[7:] + dt * rates]),
        np.concatenate([omega, to_rotation(quat).T @ v_W, rates]),
    )


def step(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "wrenches"], dt: float
) -> tuple[State, Acted, Done]:
    """Return (the state after dt, the acting forces, its work and impulses).

    ``push`` is a wrench (n, f) on the base at its origin, in world axes, then one at each of ``world.pushed``.
    """
    a, acted, after = solve_active_set(equations_of_motion, advance, world, state, command, push, dt)
    if world.robot.loops:
        after = replace(after, q=project_to_loop_closure(world.robot, after.q))
    objects = step_free_bodies(world, state.objects, acted.objects, dt)
    done = _done(world, state, after, acted, a, dt)
    return replace(after, memory=acted.memory, objects=objects), acted, done


def solutions(world: World, state: State, command: JointCommand, push: Float[ndarray, "wrenches"], dt: float) -> Scalar:
    """Return how many times a step solves the equations of motion until the solution agrees with its modes."""
    return count_iterations(equations_of_motion, advance, world, state, command, push, dt)


def step_free_bodies(world: World, objects: PyTree, a: Operand, dt: float) -> PyTree:
    """Return free bodies after a step, each as a base."""
    if not world.objects:
        return objects
    after = []
    for body, row, a_k in zip(world.objects, objects, a):
        a_k = nptrace.gradient_bottleneck(a_k)
        state = advance(body.robot, State(row[:7], row[7:]), a_k, dt)
        omega = state.v[:3] + _carried_momentum(body.robot, row[7:10], a_k[:3], dt)
        after.append(np.concatenate([state.q, omega, state.v[3:]]))
    return np.stack(after)


def _carried_momentum(
    robot: Robot, omega: Float[ndarray, "3"], alpha: Float[ndarray, "3"], dt: float
) -> Float[ndarray, "3"]:
    """Return the change of a free body's ω for which an impact adds its moment to the angular momentum.

    The addition Δ to ω, in the initial axes, also rotates the body during the step, while both its momentum and the
    previous one are constant in world axes. Without this, an impact at 10 rad/s loses or gains 1 % of its moment.
    """
    I = robot.tree.bodies[0].inertia.I  # noqa: E741 as in papers
    x = omega + free_rotation(robot, omega, dt)
    added = dt * (alpha + np.linalg.solve(I, cross(x, I @ x)))  # due to the moment of contact alone
    return np.linalg.solve(I, dt * (cross(I @ added, x + added) + cross(I @ omega, added)))


# -- the choice of an integrator; Heun and RK4 -------------------------------------------------------------------------
INTEGRATORS = ("linearly_implicit", "semi_implicit_euler", "heun", "rk4")
_STAGES: dict[str, tuple[tuple[float, float], ...]] = {  # (time offset of the stage, its weight)
    "heun": ((0.0, 1 / 2), (1.0, 1 / 2)),
    "rk4": ((0.0, 1 / 6), (0.5, 1 / 3), (0.5, 1 / 3), (1.0, 1 / 6)),
}


def integrate_step(
    integrator: str, world: World, state: State, command: JointCommand, push: Float[ndarray, "wrenches"], dt: float
) -> tuple[State, Acted, Done]:
    """Return (the state after dt, the acting forces, its work and impulses), as ``step``.

    For an explicit step of several stages these are the forces of the first stage, and work and impulses of all of
    them.
    """
    world = match_implicitness(integrator, world).in_limb_frames()
    if integrator in ("linearly_implicit", "semi_implicit_euler"):
        return step(world, state, command, push, dt)
    check_integrator(integrator, world.contact, world.joints)
    robot, sums = world.robot, 5 + 3 * world.robot.nf + 2 * world.robot.nv
    y_0 = np.concatenate([_to_vector(robot, state), np.zeros(sums)])
    total, slope, acted = np.zeros(len(y_0)), np.zeros(len(y_0)), None
    for ahead, weight in _STAGES[integrator]:
        slope, stage = _slope(world, y_0[:-sums] + ahead * dt * slope[:-sums], command, push)
        total = total + weight * slope
        acted = stage if acted is None else acted
    y = y_0 + dt * total
    assert acted is not None
    first = len(y) - sums + 5
    work, impulse, moved = y[first - 5 : first], y[first : first + 3 * robot.nf], y[first + 3 * robot.nf :]
    # friction that changes sign from stage to stage works on the mean velocity, not on those of the stages
    speeds = 0.5 * (y_0 + y)[robot.nq : robot.nq + robot.nv]  # linear ones in world axes
    losses, contact = np.reshape(moved, (2, robot.nv)) @ speeds
    work = np.stack([work[0], losses, contact, work[3], work[4]])
    return _from_vector(robot, y[:-sums]), acted, Done(work, np.reshape(impulse, (robot.nf, 3)))


def check_integrator(integrator: str, contact: ContactModel, joints: JointModel | None = None) -> None:
    """Raise for combinations that cannot be integrated: hard contact has impulses, but no accelerations that Heun or
    RK4 could sample, and belts are too stiff for an explicit step.
    """
    kind = type(unadapted(contact)).__name__
    if integrator not in INTEGRATORS:
        raise unknown("integrator", integrator, INTEGRATORS)
    if integrator == "linearly_implicit" and not contact.implicit:
        explicit = ", ".join(INTEGRATORS[1:])
        raise InputError(
            f"{kind} contact is explicit and the integrator linearly_implicit is not: remove implicit=False, or choose"
            f" from {explicit}"
        )
    if joints is not None and joints.belt is not None and integrator != "linearly_implicit":
        raise InputError(f"joints behind belts support only the integrator linearly_implicit, not {integrator}")
    if joints is not None and joints.can_lose_power and integrator != "linearly_implicit":
        raise InputError(
            f"brakes and loss of power are supported only by the integrator linearly_implicit, not {integrator}"
        )
    if integrator in _STAGES and contact.hard:
        raise InputError(
            f"{kind} contact gives impulses: its integrator must be linearly_implicit or"
            f" semi_implicit_euler, not {integrator}"
        )


def match_implicitness(integrator: str, world: World) -> World:
    """Return the world with a contact model that is implicit if the integrator is; decided only here."""
    implicit = integrator == "linearly_implicit"
    if world.contact.implicit == implicit:
        return world
    model = unadapted(world.contact)
    if not dataclasses.is_dataclass(model):
        way = "at the end" if world.contact.implicit else "at the start"
        kind = type(model).__name__
        raise InputError(f"{kind} is evaluated {way} of a step: its integrator cannot be {integrator}")
    model = dataclasses.replace(model, implicit=implicit)  # type: ignore[type-var]
    return replaced(world, "contact", as_contact_model(model))


def _slope(world: World, y: ndarray, command: JointCommand, push: Float[ndarray, "wrenches"]) -> tuple[ndarray, Acted]:
    robot = world.robot
    state = _from_vector(robot, y)
    a, acted = accelerate(world, state, command, push, 0.0)
    spent = np.sum(np.maximum(acted.motor * joint_rates(robot, state.v), 0.0))
    losses, contact = acted.generalised[1], acted.generalised[2]
    if robot.floating:
        R_WB = to_rotation(state.q[3:7])
        losses, contact = (np.concatenate([f[:3], R_WB @ f[3:6], f[6:]]) for f in (losses, contact))
    sums = [acted.generalised @ state.v, np.stack([spent]), np.reshape(acted.forces[: robot.nf], 3 * robot.nf)]
    sums += [losses, contact]
    if not robot.floating:
        return np.concatenate([state.v, a, *sums]), acted
    q, v = state.q, state.v
    motion = [R_WB @ v[3:6], rate(q[3:7], v[:3]), v[6:], a[:3], R_WB @ a[3:6], a[6:]]
    return np.concatenate([*motion, *sums]), acted


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

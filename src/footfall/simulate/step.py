"""One step of the simulation: the whole architecture on one page, as in sections 4-6 of de Paula et al. 2024.

    joint command -> joint torques -> bias forces and mass matrix -> contact -> accelerations -> next state

Follow any call down to an equation of a paper. Called with symbols, this page is what gets compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.contact.force_law import LATE
from footfall.contact.pairs import pair_points
from footfall.contact.points import Sphere, contact_points
from footfall.control.interface import JointCommand
from footfall.dynamics.articulated_limbs import folded_limbs, without_inertia
from footfall.dynamics.closed_loops import step_constraint
from footfall.dynamics.composite_bias import composite_bias
from footfall.dynamics.mass_matrix import armatures, composite_bodies, composite_mass_matrix
from footfall.dynamics.parallel_joints import Posture, posture
from footfall.errors import InputError
from footfall.kinematics.closed_loops import brought_back, rows_of
from footfall.kinematics.forward import joint_positions, joint_rates, poses_in_base
from footfall.kinematics.jacobian import point_jacobian
from footfall.robot.model.description import Robot
from footfall.simulate.actuators import JointForces, guessed_modes, joint_forces, joint_modes, judged_modes
from footfall.simulate.belts import POSITION, Rotor, sides
from footfall.simulate.free_rotation import gyroscopic_change
from footfall.simulate.objects import felt, placed, together
from footfall.simulate.world import World
from footfall.spatial import Inertia, Transform
from footfall.spatial.quaternion import rotated_in_a_step, to_rotation

TURNS = 20  # at most, in which a step's modes are settled; late ones only tighten them
PATIENCE = 4.0  # turns by which feet are late later where joints have dry friction


@dataclass(frozen=True)
class State:
    """Configuration, velocity, and what the contact model remembers (empty: it starts afresh in every step), with the
    rotors of joints behind belts."""

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    memory: dict[str, ndarray] = field(default_factory=dict)
    objects: Any = ()  # of free bodies: rows of position, quaternion, and (ω, v) in their own axes


@dataclass(frozen=True)
class Acted:
    """The forces that acted during a step, implicit parts included."""

    motor: Float[ndarray, "nj"]  # joint torques of the motors [N m]
    passive: Float[ndarray, "nj"]  # joint torques of springs, damping, friction and end stops [N m]
    forces: Float[ndarray, "ns 3"]  # on the spheres and the first links of pairs, world axes [N]
    generalised: Float[ndarray, "4 nv"]  # of motors, losses, contact and pushes, whose work is audited
    memory: dict[str, ndarray] = field(default_factory=dict)  # of the contact model, for the next step
    objects: Any = ()  # accelerations of free bodies, rows of six


def step(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "6"], dt: float
) -> tuple[State, Acted, Float[ndarray, "4"]]:
    """(state after dt, what acted, work of motors, passive torques, contact and pushes [J]).

    ``push`` is a wrench (n, f) on the base at its origin, in world axes, then one at each of ``world.pushed``. Work is
    force times the mean velocity of the step, so that the audit closes to the order of the integrator.
    """
    a, acted, after = _settled(world, state, command, push, dt, advance)
    if world.robot.loops:
        after = replace(after, q=brought_back(world.robot, after.q))
    return (
        replace(after, memory=acted.memory, objects=_moved(world, state.objects, acted.objects, dt)),
        acted,
        dt * (acted.generalised @ (state.v + 0.5 * dt * a)),
    )


def solutions(world: World, state: State, command: JointCommand, push: Float[ndarray, "6"], dt: float) -> Any:
    """How many times a step solves the equations of motion until what it finds agrees with its modes."""
    modes, before = _modes(world), state.memory or world.contact.start(world.contacts)
    if not any(modes.values()):
        return 1.0
    return np.minimum(_last_turn(world, state, command, push, dt, advance, before, modes).turn + 1.0, TURNS)


def accelerate(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "6"], dt: float
) -> tuple[Float[ndarray, "nv"], Acted]:
    """Classical accelerations of the base and accelerations of the joints, and what caused them."""
    return _settled(world, state, command, push, dt, lambda robot, state, a, dt: state)[:2]


def _settled(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "6"], dt: float,
    onward: Callable[[Robot, State, ndarray, float], State],
) -> tuple[Float[ndarray, "nv"], Acted, State]:  # fmt: skip
    """(accelerations, what caused them, the state to which they lead ``onward``).

    Implicit laws are linear within a mode: a foot sticks, slides or is let go, a motor is free or at its limit, a joint
    moves or is held by dry friction. The step is solved until what it finds agrees with the modes it was solved in.
    """
    before = state.memory or world.contact.start(world.contacts)
    if world.joints.belt is not None and POSITION not in state.memory:
        raise InputError("a step of joints behind belts needs their rotors: this one is given positions alone")
    modes = _modes(world)
    if not any(modes.values()):
        a, acted, *_ = _solve(world, state, command, push, dt, before, modes, 0.0)
        a = numeric.narrow(a)
        return a, acted if state.memory else replace(acted, memory={}), onward(world.robot, state, a, dt)
    last = _last_turn(world, state, command, push, dt, onward, before, modes)

    # Where no mode changes, the step moves with the state as its last solution does; the law may know better.
    def once_more(found: tuple[Any, Acted, State]) -> tuple[Any, Acted, State]:
        modes, turn = numeric.held((last.modes, last.turn))
        numeric.doubted(last.unsettled > 0.5)
        a, acted, *_ = _solve(world, state, command, push, dt, before, modes, turn, settled=True)
        a = numeric.narrow(a)
        return a, acted, onward(world.robot, state, a, dt)

    a, acted, after = numeric.solved((last.a, last.acted, last.after), once_more, always=False)
    return a, acted if state.memory else replace(acted, memory={}), after


def _last_turn(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "6"], dt: float,
    onward: Callable[[Robot, State, ndarray, float], State], before: dict[str, ndarray], modes: dict[str, Any],
) -> _Turn:  # fmt: skip
    """The solution in whose modes the step is settled."""

    # State and inputs go through the loop unchanged, so that it holds all of the work and keeps nothing else alive: it
    # nearly always turns once, and what it would have kept from outside costs a GPU more than doing it again.
    # A robot that is settled does not count on while others in its lanes go on: it finds the same again, bit for bit.
    def again(_: float, carry: _Turn) -> _Turn:
        solved = _solve(world, carry.state, carry.command, carry.push, dt, carry.before, carry.modes, carry.turn)
        turn = np.where(solved[3] < 0.5, carry.turn, carry.turn + 1.0)
        after = onward(world.robot, carry.state, solved[0], dt)
        return _Turn(*solved, turn, carry.before, carry.state, carry.command, carry.push, after)

    nothing = Acted(
        np.zeros(world.robot.nj), np.zeros(world.robot.nj), np.zeros((len(world.contacts), 3)),
        np.zeros((4, world.robot.nv)), before, np.zeros((len(world.objects), 6)) if world.objects else (),
    )  # fmt: skip
    still = State(state.q, state.v)
    start = _Turn(np.zeros(world.robot.nv), nothing, modes, 0.0, 0.0, before, state, command, push, still)
    return numeric.repeat(TURNS, again, start, until=lambda carry: carry.unsettled < 0.5)


@dataclass(frozen=True)
class _Turn:
    """What one solution of a step found, and what the next one needs."""

    a: Float[ndarray, "nv"]
    acted: Acted
    modes: dict[str, Any]
    unsettled: Any  # how many choices the solution contradicts
    turn: Any  # how many solutions were contradicted before
    before: dict[str, ndarray]
    state: State
    command: JointCommand
    push: Float[ndarray, "6"]
    after: State


def _modes(world: World) -> dict[str, Any]:
    """What an implicit step chooses, of the joints and of the contact law, before its first turn."""
    if not world.contact.implicit:
        return {"joints": {}, "contact": {}}
    contact = world.contact.modes(len(world.contacts)) if world.contacts else {}
    return {"joints": joint_modes(world.robot, world.joints), "contact": contact}


def _solve(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "6"], dt: float,
    before: dict[str, ndarray], modes: dict[str, Any], turn: float, settled: bool = False,
) -> tuple[Float[ndarray, "nv"], Acted, dict[str, Any], Any]:  # fmt: skip
    """One solution of the equations of motion; an implicit law makes joint feedback implicit as well.

    (M + dt JᵀDJ + dt slope) a = force. Also: the modes for another one, and in how much they differ. ``settled``: the
    modes are the last, and the solution is wanted for its derivative.
    """
    v = state.v
    at_q = posture(world.robot, state.q)
    robot, X = at_q.robot, at_q.X
    q_J, rates = joint_positions(robot, state.q), joint_rates(robot, v)
    spheres = [placed(at_q, sphere) for sphere in world.spheres]
    poses = poses_in_base(robot, X)
    points = contact_points(robot, X, poses, spheres, world.ground)
    if world.pairs:
        points = [*points, *pair_points(robot, poses, [pair.moved(at_q.point) for pair in world.pairs])]
    bare, composite, M, own = _inertias(world, at_q)
    at, torques, inertia, armature, rotor = _joints(world, state, own, q_J, rates, command, dt, modes["joints"], turn)
    M = M + np.diag(_behind_base(robot, armature))
    pushed = _all_pushes(world, at_q, push)
    bias = composite_bias(bare, X, composite, v, world.gravity, at_q.still)
    force = _behind_base(robot, torques.motor + torques.passive) + pushed - bias
    limbs = folded_limbs(world.robot, world.free_limbs, state.q, v, force, armature, world.gravity)
    M, force = limbs.folded(M, force)
    # feet are judged for good when the joints' dry friction has found its ways, not in the middle of it
    foot_turn = np.minimum(turn, np.maximum(turn - PATIENCE, LATE - 1.0)) if "slides" in at else turn
    known = {**modes["contact"], "turn": foot_turn, "settled": settled} if modes["contact"] else before
    loops = _loops(at_q, poses, q_J, v, dt)
    all_ = together(world, at_q, poses, spheres, state.objects, M, force, points, v, loops)
    a, forces_B, memory = world.contact.respond(
        all_.robot, all_.M, all_.force, all_.points, all_.v, dt, known, **all_.loops
    )
    a, a_objects = limbs.unfolded(a[all_.width :]), a[: all_.width].reshape(-1, 6) if all_.width else ()

    a_J, unsettled = joint_rates(robot, a), 0.0
    motor, passive, spring = torques.motor, torques.passive, torques.spring
    if world.contact.implicit:
        motor = motor - dt * torques.motor_slope * a_J
        passive = passive - dt * torques.passive_slope * a_J
        spring = spring - dt * torques.spring_slope * a_J
    if at:
        at, unsettled = judged_modes(robot, world.joints, at, torques, rates, a_J, inertia, dt, turn)
    if modes["contact"]:
        unsettled = unsettled + memory["unsettled"]
    after = {"joints": at, "contact": {key: memory[key] for key in modes["contact"]}}
    kept = before if modes["contact"] else memory
    if rotor is not None and torques.driven is not None:
        kept = {**kept, **rotor.moved(torques.driven, dt, dt * a_J)}
    pushes = (point.J[:, all_.width :].T @ f for point, f in zip(all_.points, forces_B))
    contact = sum(pushes, start=np.zeros(robot.nv))
    forces = np.stack(felt(world, [R @ f for R, f in zip(all_.axes, forces_B)])) if forces_B else np.zeros((0, 3))
    losses = passive - spring  # the work of springs is potential energy
    generalised = np.stack([_behind_base(robot, motor), _behind_base(robot, losses), contact, pushed])
    return a, Acted(motor, passive, forces, generalised, kept, a_objects), after, unsettled


def _inertias(
    world: World, at_q: Posture
) -> tuple[Robot, list[Inertia], Float[ndarray, "nv nv"], Float[ndarray, "nj"]]:
    """(the robot less its free limbs; its composite bodies and M; inertia of every joint), all without armature."""
    robot, X, none = at_q.robot, at_q.X, 0.0 * armatures(at_q.robot)
    bare = without_inertia(robot, world.free_limbs)
    composite = composite_bodies(bare, X)
    M = composite_mass_matrix(bare, X, composite, none)
    whole = composite_mass_matrix(robot, X, armature=none) if world.free_limbs else M
    return bare, composite, M, joint_rates(robot, np.diag(whole))


def _joints(
    world: World, state: State, own: Float[ndarray, "nj"], q_J: Float[ndarray, "nj"], rates: Float[ndarray, "nj"],
    command: JointCommand, dt: float, at: dict[str, Any], turn: float,
) -> tuple[dict[str, Any], JointForces, Float[ndarray, "nj"], Float[ndarray, "nj"], Rotor | None]:  # fmt: skip
    """(modes of the joints, their torques, inertia of each, what acts as such, rotors behind belts).

    ``own``: inertia of each joint without armature. What falls with the rate at the end of a step acts as inertia does.
    """
    robot, belt, armature, rotor = world.robot, world.joints.belt, armatures(world.robot), None
    ahead = dt if world.contact.implicit else 0.0
    if belt is not None:
        armature, rotor = belt.set_apart(armature, own, state.memory)
    inertia = own + armature
    if at:
        asked = joint_forces(robot, world.joints, q_J, rates, command, ahead, at, rotor).asked
        side = None if belt is None or rotor is None else sides(belt, rotor, q_J)
        guess = guessed_modes(robot, world.joints, at, rates, asked, inertia, dt, side)
        at = {key: np.where(turn < 0.5, guess[key], at[key]) for key in at}
    torques = joint_forces(robot, world.joints, q_J, rates, command, ahead, at, rotor)
    if world.contact.implicit:
        armature = armature + dt * (torques.motor_slope + torques.passive_slope)
    return at, torques, inertia, armature, rotor


def advance(robot: Robot, state: State, a: Float[ndarray, "nv"], dt: float) -> State:
    """Semi-implicit Euler: velocities first, then positions with the new velocities.

    The linear velocity advances in world axes and is rotated back: Euler steps on base-axes components would gain speed
    while the base turns. So would the angular velocity: what turns the base without a force is taken at the middle of
    the step, see ``free_rotation``.
    """
    q, v = state.q, state.v
    if not robot.floating:
        rates = v + dt * a
        return State(q + dt * rates, rates)
    spun, carried, past = gyroscopic_change(robot, v[:3], dt)
    v_W = to_rotation(q[3:7]) @ (v[3:6] + dt * a[3:6] + carried)
    omega, rates = v[:3] + dt * a[:3] + spun, v[6:] + dt * a[6:]
    quat = rotated_in_a_step(q[3:7], dt * (omega - past))
    return State(
        np.concatenate([q[:3] + dt * v_W, quat, q[7:] + dt * rates]),
        np.concatenate([omega, to_rotation(quat).T @ v_W, rates]),
    )


def _moved(world: World, objects: Any, a: Any, dt: float) -> Any:
    """Free bodies after a step, each as a base."""
    if not world.objects:
        return objects
    after = []
    for body, row, a_k in zip(world.objects, objects, a):
        state = advance(body.robot, State(row[:7], row[7:]), numeric.narrow(a_k), dt)
        after.append(np.concatenate([state.q, state.v]))
    return np.stack(after)


def _loops(
    at_q: Posture, poses: list[Transform], q_J: Float[ndarray, "nj"], v: Float[ndarray, "nv"], dt: float
) -> dict[str, Any]:
    """What keeps closed loops closed, as an argument of a contact model; nothing for a robot without."""
    robot = at_q.robot
    if not robot.loops:
        return {}

    def link_pose(link: str) -> Transform:
        body, X_BL = robot.tree.frames[link]
        return poses[body] @ Transform(at_q.turns[body] @ X_BL.R, at_q.point(body, X_BL.p))

    rows = rows_of(robot, poses, link_pose, q_J, joint_rates(robot, v))
    return {"loops": step_constraint(rows, v, dt)}


def _behind_base(robot: Robot, joints: Float[ndarray, "nj"]) -> Float[ndarray, "nv"]:
    """Sᵀ: joint quantities behind six zeros of a floating base."""
    return np.concatenate([np.zeros(6), joints]) if robot.floating else joints


def _all_pushes(world: World, at_q: Posture, push: Float[ndarray, "6"]) -> Float[ndarray, "nv"]:
    """All wrenches from outside as generalised forces."""
    robot, X = at_q.robot, at_q.X
    pushed = _pushed(robot, X[0], push[:6])
    for k, target in enumerate(world.pushed, start=1):
        place = replace(target, center=at_q.point(target.body, target.center))
        pushed = pushed + _pushed_at(robot, X, place, push[6 * k : 6 * k + 6])
    return pushed


def _pushed(robot: Robot, X_WB: Transform, push: Float[ndarray, "6"]) -> Float[ndarray, "nv"]:
    """A wrench in world axes at the base's origin as generalised forces; a fixed base feels none."""
    if not robot.floating:
        return np.zeros(robot.nv)
    return np.concatenate([X_WB.R.T @ push[:3], X_WB.R.T @ push[3:], np.zeros(robot.nj)])


def _pushed_at(robot: Robot, X: list[Transform], place: Sphere, push: Float[ndarray, "6"]) -> Float[ndarray, "nv"]:
    """A wrench in world axes at a point of a body as generalised forces."""
    R_WB = (X[0] @ poses_in_base(robot, X)[place.body]).R
    return point_jacobian(robot, X, place.body, Transform(R_WB.T, place.center)).T @ push

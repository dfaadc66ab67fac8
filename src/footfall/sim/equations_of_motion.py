"""The equations of motion of one step, solved for the accelerations: sections 4-6 of de Paula et al. 2024.

    joint command -> joint torques -> bias forces and mass matrix -> contact -> accelerations

Every call leads to an equation of a paper. Called with symbols, this file is what is compiled.

Implicit contact models are linear within a mode: a foot sticks, slides or is released, a motor is free or at its limit,
a joint moves or is held by dry friction. Joints and contact models define their modes (``joints``, ``contact.model``):
they guess them, and update them from a solution of the equations of motion. The step is solved until the solution
agrees with its modes, which nearly every step does at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy import ndarray

import nptrace
from footfall.adapters import unadapted
from footfall.contact.force_law import ForceLaw, accelerations
from footfall.contact.model import ActiveSetIteration, evaluate_contact
from footfall.contact.points import ContactPoint, generalised_forces
from footfall.control.interface import JointCommand
from footfall.dynamics.articulated_limbs import FoldedLimbs, folded_limbs, without_inertia
from footfall.dynamics.closed_loops import posture_constraint
from footfall.dynamics.composite_bias import Swing, bias_and_swing
from footfall.dynamics.forward_dynamics import generalised
from footfall.dynamics.free_rotation import free_rotation
from footfall.dynamics.mass_matrix import armatures, composite_bodies, composite_mass_matrix
from footfall.dynamics.parallel_joints import posture
from footfall.errors import InputError
from footfall.kinematics.forward import joint_rates, poses_in_base
from footfall.robot.model.description import Robot
from footfall.sim.joints import POSITION, POWER, JointFeedback, joint_feedback, joint_modes
from footfall.sim.objects import System, assemble_system, contact_candidates, contact_forces_world, place_sphere
from footfall.sim.pushes import generalised_pushes
from footfall.sim.world import World
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float


@dataclass(frozen=True)
class State:
    """Configuration, velocity, and the memory of the contact model (empty: it is initialised in every step), with
    rotors of joints behind belts, brakes and power.
    """

    q: Float[ndarray, "nq"]
    v: Float[ndarray, "nv"]
    memory: dict[str, ndarray] = field(default_factory=dict)
    objects: PyTree = ()  # for free bodies: rows of position, quaternion, and (ω, v) in their own axes


@dataclass(frozen=True, kw_only=True)
class Acted:
    """The forces that acted during a step, implicit parts included."""

    motor: Float[ndarray, "nj"]  # torques of the motors, for belts on their rotors, as seen at the joints [N m]
    passive: Float[ndarray, "nj"]  # joint torques of springs, damping, friction and end stops [N m]
    forces: Float[ndarray, "ns 3"]  # on the spheres and the first links of pairs, world axes [N]
    # forces whose work is recorded: of motors (or belts), losses, contact and pushes
    generalised: Float[ndarray, "4 nv"]
    memory: dict[str, ndarray] = field(default_factory=dict)  # memory of the contact model, for the next step
    objects: PyTree = ()  # accelerations of free bodies, rows of six


# -- the modes of an implicit step, and the iteration that finds them --------------------------------------------------
MAX_ITERATIONS = 20  # late iterations only tighten the modes


@dataclass(frozen=True)
class Modes:
    """The modes of a step: those of the contact model and of the joints."""

    contact: dict[str, PyTree]
    joints: dict[str, PyTree]
    # rates at the midpoint: how often they may still be updated (``_MID_UPDATES``: they are guessed), and their
    # difference from those at the start
    middle: dict[str, PyTree] = field(default_factory=dict)


# maps accelerations, and the modes in which they were found, to the resulting state
Onward = Callable[[Robot, State, ndarray, float, Modes], State]


@dataclass(frozen=True)
class StepInputs:
    """The inputs of a step besides the world."""

    memory: dict[str, ndarray]  # of the contact model before the step, of rotors behind belts, of brakes and power
    state: State
    command: JointCommand
    push: Float[ndarray, "wrenches"]


@dataclass(frozen=True)
class Solution:
    """One solution of the equations of motion."""

    a: Float[ndarray, "nv"]
    acted: Acted
    modes: Modes  # modes for another iteration
    changed: Scalar  # how many modes it contradicts


Solve = Callable[..., Solution]  # (world, inputs, dt, modes, iteration, converged)


@dataclass(frozen=True)
class _Iteration:
    """The result of one iteration, and the input of the next."""

    solution: Solution
    iteration: Scalar  # how many solutions were contradicted so far
    inputs: StepInputs
    after: State


def modes_of(world: World) -> Modes:
    """Return the modes of an implicit step before its first iteration."""
    if not world.contact.implicit or world.contact.one_solve:
        return Modes({}, {})
    contact = world.contact.modes(len(world.contacts)) if world.contacts else {}
    return Modes(contact, joint_modes(world.robot, world.joints), _unknown_middle(world))


def _unknown_middle(world: World) -> dict[str, PyTree]:
    """Return the midpoint mode of a step before its first iteration; empty where joints never swing in flight."""
    robot = world.robot
    if world.pairs or world.touches or not robot.nj:
        return {}
    return {"updates": _MID_UPDATES, "past": np.zeros(robot.nj + (3 if robot.floating else 0))}


def guesses_middle(middle: dict[str, PyTree]) -> Scalar:
    """Return whether the rates at the midpoint of a step are guessed, not those of an earlier iteration."""
    return middle["updates"] > _MID_UPDATES - 0.5


def solve_active_set(
    solve: Solve, onward: Onward, world: World, state: State, command: JointCommand, push: ndarray, dt: float
) -> tuple[Float[ndarray, "nv"], Acted, State]:
    """Return (accelerations, the forces that caused them, the resulting state ``onward``)."""
    inputs, modes = _inputs(world, state, command, push), modes_of(world)

    def solved(modes: Modes, iteration: Scalar, converged: bool = False) -> tuple[ndarray, Acted, State]:
        solution = solve(world, inputs, dt, modes, iteration, converged)
        a = nptrace.gradient_bottleneck(solution.a)
        return a, solution.acted, onward(world.robot, state, a, dt, modes)

    if not (modes.joints or modes.contact or modes.middle):
        a, acted, after = solved(modes, 0.0)
    else:
        last = _last_iteration(solve, onward, world, inputs, modes, dt)

        # Where no mode changes, the derivative of the step is that of its last solution, or as given by the contact
        # model.
        def once_more(_: Operand) -> tuple[ndarray, Acted, State]:
            modes, iteration = nptrace.stop_gradient((last.solution.modes, last.iteration))
            nptrace.mark_derivative_invalid(last.solution.changed > 0.5)
            if modes.middle:  # its memory is differentiated with the state
                nptrace.mark_derivative_invalid(last.solution.modes.middle["updates"] < _MID_UPDATES - 0.5)
            return solved(modes, iteration, converged=True)

        first = (last.solution.a, last.solution.acted, last.after)
        a, acted, after = nptrace.custom_fixed_point(first, once_more, always=False)
    return a, acted if state.memory else replace(acted, memory={}), after


def count_iterations(
    solve: Solve, onward: Onward, world: World, state: State, command: JointCommand, push: ndarray, dt: float
) -> Scalar:
    """Return how many times a step solves the equations of motion until the solution agrees with its modes."""
    modes = modes_of(world)
    if not (modes.joints or modes.contact or modes.middle):
        return 1.0
    inputs = _inputs(world, state, command, push)
    return np.minimum(_last_iteration(solve, onward, world, inputs, modes, dt).iteration + 1.0, MAX_ITERATIONS)


def _inputs(world: World, state: State, command: JointCommand, push: ndarray) -> StepInputs:
    if world.joints.belt is not None and POSITION not in state.memory:
        raise InputError("a step of joints behind belts needs the state of their rotors")
    if world.joints.can_lose_power and POWER not in state.memory:
        raise InputError("a step of joints that have brakes or lose power needs their memory: World.start")
    return StepInputs(state.memory or world.contact.start(world.contacts), state, command, push)


def _last_iteration(
    solve: Solve, onward: Onward, world: World, inputs: StepInputs, modes: Modes, dt: float
) -> _Iteration:
    """Return the iteration whose solution agrees with its modes."""

    # State and inputs are carried through the loop, so that it contains all of the work and keeps nothing else alive:
    # it nearly always runs once, and values kept from outside would cost a GPU more than recomputing them. A converged
    # robot no longer counts iterations while others in its lanes continue: its result is the same, bit for bit.
    def again(_: float, carry: _Iteration) -> _Iteration:
        solution = solve(world, carry.inputs, dt, carry.solution.modes, carry.iteration, False)
        iteration = np.where(solution.changed < 0.5, carry.iteration, carry.iteration + 1.0)
        after = onward(world.robot, carry.inputs.state, solution.a, dt, carry.solution.modes)
        return _Iteration(solution, iteration, carry.inputs, after)

    robot, state = world.robot, inputs.state
    nothing = Acted(
        motor=np.zeros(robot.nj),
        passive=np.zeros(robot.nj),
        forces=np.zeros((len(world.contacts), 3)),
        generalised=np.zeros((4, robot.nv)),
        memory=inputs.memory,
        objects=np.zeros((len(world.objects), 6)) if world.objects else (),
    )
    start = _Iteration(Solution(np.zeros(robot.nv), nothing, modes, 0.0), 0.0, inputs, State(state.q, state.v))
    return nptrace.repeat(
        MAX_ITERATIONS, again, start, until=lambda carry: carry.solution.changed < 0.5, body_holds=True
    )


# -- the rates in the middle of a step ---------------------------------------------------------------------------------
_MID_UPDATES = 2.0  # updates of the midpoint rates, where they differ from the guess
_MID_TOLERANCE = 2.0  # [rad/s² or m/s²], tolerance of the guessed joint accelerations
_CLEAR = 0.01  # [m] from the ground, plus twice the travel of a step, at which a contact model may act


def in_flight(world: World, points: Sequence[ContactPoint], v: Float[ndarray, "nv"], dt: float) -> Scalar:
    """Return whether nothing touches the robot, or will within this step.

    It is always false with free bodies and with colliding links: both kinds of step conserve momentum only up to terms
    of order dt, with different errors, so that switching between them at such an impact would add momentum.
    """
    if world.touches or world.pairs:
        return False
    if isinstance(unadapted(world.contact), ForceLaw):  # forces are zero without contact
        gaps = [point.distance for point in points]
    else:
        approach = ((point.R_BC.T @ (point.J @ v))[2] for point in points)
        gaps = [point.distance - _CLEAR + np.minimum(2.0 * dt * w, 0.0) for point, w in zip(points, approach)]
    flight: Scalar = True
    if gaps:
        nearest = gaps[0]
        for gap in gaps[1:]:
            nearest = np.minimum(nearest, gap)
        flight = nearest > 0.0
    return flight


def mid_rates(
    world: World,
    M: Float[ndarray, "nv nv"],
    inertia: Float[ndarray, "nj"],
    v: Float[ndarray, "nv"],
    torques: Float[ndarray, "nj"],
    swings: Scalar,
    dt: float,
) -> tuple[Float[ndarray, "nv"], Swing]:
    """Return (velocities with the base's angular velocity at the midpoint of a step, joint swing until then).

    Euler steps that evaluate centrifugal and gyroscopic forces at the initial rates gain energy. The base is taken to
    rotate like a robot with locked joints, and each joint as if alone (``composite_bias``); a joint that carries
    several feet is a spine, and is driven by the base's angular acceleration as well. The effect of contact on the
    joints is not known yet: they swing in flight only. ``inertia``: inertia of each joint, including equivalent terms.

    This is a guess: joints act on one another and on the base, and heavy loose limbs would still gain 5 % of energy in
    five seconds at 6 rad/s. An implicit step whose solution accelerates the joints differently is therefore solved
    twice more, each time at the midpoint rates of the previous solution (``Modes.middle``).
    """
    robot, tree = world.robot, world.robot.tree
    past = free_rotation(robot, v[:3], dt) if robot.floating else np.zeros(3)
    half = np.where(swings, 0.5 * dt, 0.0)
    gain, inertial = [], []
    for i in range(1, len(tree.bodies)):
        gain.append(0.0 if i in world.free_limbs else half / inertia[i - 1])  # folded limbs have no inertia in M
        spine = robot.floating and sum(foot in tree.subtree[i] for foot in tree.feet) > 1
        inertial.append(M[tree.dof(i), :3] @ past * (2.0 / dt) if spine else 0.0)
    turning = np.concatenate([v[:3] + past, v[3:]]) if robot.floating else v
    return turning, Swing(torques - np.array(inertial), np.array(gain))


def _known_rates(
    robot: Robot, middle: dict[str, PyTree], v: Float[ndarray, "nv"], turning: Float[ndarray, "nv"]
) -> Float[ndarray, "nv"]:
    """Return velocities with the midpoint rates found by a solution, or otherwise ``turning``."""
    past = middle["past"]
    if not robot.floating:
        return v + past
    omega = np.where(guesses_middle(middle), turning[:3], v[:3] + past[:3])
    return np.concatenate([omega, v[3:6], v[6:] + past[3:]])


# -- the equations of motion -------------------------------------------------------------------------------------------
def accelerate(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "wrenches"], dt: float
) -> tuple[Float[ndarray, "nv"], Acted]:
    """Return classical accelerations of the base, accelerations of the joints, and their causes, at these rates."""
    solve = partial(equations_of_motion, in_middle=False)
    return solve_active_set(solve, lambda robot, state, a, dt, modes: state, world, state, command, push, dt)[:2]


def equations_of_motion(
    world: World,
    inputs: StepInputs,
    dt: float,
    modes: Modes,
    iteration: Scalar,
    converged: bool = False,
    in_middle: bool = True,
) -> Solution:
    """Solve (M + dt JᵀDJ + dt slope) a = force once, in given modes; an implicit contact model makes joint feedback
    implicit as well.

    ``converged``: the modes are final, and the solution is needed for its derivative. ``in_middle``: centrifugal and
    gyroscopic forces are evaluated at the midpoint rates of the step, otherwise at the initial ones.
    """
    state, v = inputs.state, inputs.state.v
    # pose of the robot, and what it may touch
    at_q = posture(world.robot, state.q)
    robot, X = at_q.robot, at_q.X
    spheres = [place_sphere(at_q, sphere) for sphere in world.spheres]
    poses = poses_in_base(robot, X)
    points = contact_candidates(world, at_q, poses, spheres)
    flight = in_flight(world, points, v, dt) if in_middle else False
    # its joints are not affected by that
    falls = np.where(flight, world.gravity, 0.0) if robot.floating else np.zeros(3)
    gravity = np.asarray(world.gravity) - falls
    # mass matrix and forces; limbs without contact are folded into the base
    bare = without_inertia(robot, world.free_limbs)
    composite = composite_bodies(bare, X)
    M = composite_mass_matrix(bare, X, composite, 0.0 * armatures(robot))
    whole = composite_mass_matrix(robot, X, armature=0.0 * armatures(robot)) if world.free_limbs else M
    own = joint_rates(robot, np.diag(whole))
    joints = joint_feedback(world, state, own, inputs.command, dt, modes.joints, iteration)
    pushed = generalised_pushes(at_q, world.pushed, inputs.push)
    turning, swing = v, None
    if in_middle:
        inertia = joint_rates(robot, np.diag(M)) + joints.armature
        torques = joints.torques.motor + joints.torques.passive
        swings = np.logical_and(guesses_middle(modes.middle), flight) if modes.middle else flight
        turning, swing = mid_rates(world, M, inertia, v, torques, swings, dt)
        if modes.middle:
            turning = _known_rates(robot, modes.middle, v, turning)
    bias, swung = bias_and_swing(bare, X, composite, turning, gravity, at_q.still, swing)
    loops = posture_constraint(at_q, poses, state.q, v, dt)
    ahead = dt if in_middle else 0.0

    def assembled(joints: JointFeedback) -> tuple[FoldedLimbs, System]:
        """Return the equations with closed loops and free bodies, and the limbs that are folded into the base."""
        force = generalised(robot, joints.torques.motor + joints.torques.passive) + pushed - bias
        limbs = folded_limbs(world.robot, world.free_limbs, state.q, turning, force, joints.armature, gravity)
        folded = limbs.folded(M + np.diag(generalised(robot, joints.armature)), force)
        return limbs, assemble_system(world, at_q, poses, spheres, state.objects, *folded, points, v, loops, ahead)

    # contact
    feet = ActiveSetIteration(modes.contact, iteration, converged)
    limbs, system = assembled(joints)
    contact = evaluate_contact(
        world.contact,
        system.robot,
        system.M,
        system.force,
        system.points,
        system.v,
        dt,
        inputs.memory,
        feet,
        system.loops,
    )
    found, predicts = contact.a, world.contact.implicit and world.contact.one_solve
    if predicts:  # the robot accelerates by the forces at the end of the step
        predicted = joint_rates(robot, v + dt * limbs.unfolded(system.split(found)[0]))
        joints = joint_feedback(world, state, own, inputs.command, dt, {}, 0.0, predicted)
        limbs, system = assembled(joints)
        pushes = generalised_forces(system.points, contact.forces, 0, len(system.v))
        found = accelerations(system.robot, system.M, system.force + pushes, system.loops)
    a, a_objects = system.split(found)
    a = limbs.unfolded(a)
    if robot.floating:
        a = np.concatenate([a[:3], a[3:6] + X[0].R.T @ falls, a[6:]])
    # the forces that acted, and whether the modes agree
    a_J = joint_rates(robot, a)
    drive, passive, spring = joints.at_end(a_J, dt)
    joint_modes, changed = joints.update_modes(a_J, dt, iteration)
    changed = changed + contact.changed
    middle = modes.middle
    if in_middle and middle:
        past = 0.5 * dt * a_J
        off = past - swung  # after an update nothing is guessed, and everything is new
        wrong = (off @ off) * np.where(flight, middle["updates"], 0.0) > dt * dt * (
            _MID_UPDATES * (0.5 * _MID_TOLERANCE) ** 2
        )
        again = np.where(wrong, 1.0, 0.0)
        changed = changed + again
        past = np.concatenate([0.5 * dt * a[:3], past]) if robot.floating else past
        middle = {"updates": middle["updates"] - again, "past": np.where(wrong, past, middle["past"])}
    memory = {**contact.memory, **joints.memory_after(a_J, dt)}
    pushes = generalised_forces(system.points, contact.forces, system.width, robot.nv)
    forces = contact_forces_world(world, system.axes, contact.forces)
    losses = passive - spring  # the work of springs is potential energy
    audited = np.stack([generalised(robot, drive), generalised(robot, losses), pushes, pushed])
    acted = Acted(
        motor=joints.motor_torque(a_J, dt),
        passive=passive,
        forces=forces,
        generalised=audited,
        memory=memory,
        objects=a_objects,
    )
    return Solution(a, acted, Modes(contact.modes, joint_modes, middle), changed)

"""One step of the simulation: the whole architecture on one page, as in sections 4-6 of de Paula et al. 2024.

    joint command -> joint torques -> bias forces and mass matrix -> contact -> accelerations -> next state

Follow any call down to an equation of a paper. Called with symbols, this page is what gets compiled.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.contact.active_set import answer
from footfall.contact.points import generalised_forces
from footfall.control.interface import JointCommand
from footfall.dynamics.articulated_limbs import folded_limbs, without_inertia
from footfall.dynamics.closed_loops import posture_constraint
from footfall.dynamics.composite_bias import composite_bias
from footfall.dynamics.forward_dynamics import generalised
from footfall.dynamics.mass_matrix import armatures, composite_bodies, composite_mass_matrix
from footfall.dynamics.parallel_joints import posture
from footfall.kinematics.closed_loops import brought_back
from footfall.kinematics.forward import joint_rates, poses_in_base
from footfall.nests import Scalar
from footfall.simulate.joint_feedback import joint_feedback
from footfall.simulate.modes import Inputs, Modes, Solution, settle, turns
from footfall.simulate.objects import felt, moved, placed, together, touching
from footfall.simulate.pushes import generalised_pushes
from footfall.simulate.semi_implicit_euler import advance
from footfall.simulate.state import Acted, State
from footfall.simulate.world import World

__all__ = ["Acted", "State", "accelerate", "advance", "equations_of_motion", "solutions", "step"]


def step(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "wrenches"], dt: float
) -> tuple[State, Acted, Float[ndarray, "4"]]:
    """(state after dt, what acted, work of motors, passive torques, contact and pushes [J]).

    ``push`` is a wrench (n, f) on the base at its origin, in world axes, then one at each of ``world.pushed``. Work is
    force times the mean velocity of the step, so that the audit closes to the order of the integrator.
    """
    a, acted, after = settle(equations_of_motion, advance, world, state, command, push, dt)
    if world.robot.loops:
        after = replace(after, q=brought_back(world.robot, after.q))
    objects = moved(world, state.objects, acted.objects, dt)
    work = dt * (acted.generalised @ (state.v + 0.5 * dt * a))
    return replace(after, memory=acted.memory, objects=objects), acted, work


def accelerate(
    world: World, state: State, command: JointCommand, push: Float[ndarray, "wrenches"], dt: float
) -> tuple[Float[ndarray, "nv"], Acted]:
    """Classical accelerations of the base and accelerations of the joints, and what caused them."""
    return settle(equations_of_motion, lambda robot, state, a, dt: state, world, state, command, push, dt)[:2]


def solutions(world: World, state: State, command: JointCommand, push: Float[ndarray, "wrenches"], dt: float) -> Scalar:
    """How many times a step solves the equations of motion until what it finds agrees with its modes."""
    return turns(equations_of_motion, advance, world, state, command, push, dt)


def equations_of_motion(
    world: World, inputs: Inputs, dt: float, modes: Modes, turn: Scalar, settled: bool = False
) -> Solution:
    """(M + dt JᵀDJ + dt slope) a = force, once, in given modes; an implicit law makes joint feedback implicit as well.

    ``settled``: the modes are the last, and the solution is wanted for its derivative.
    """
    state, v = inputs.state, inputs.state.v
    # where the robot is, and what may touch
    at_q = posture(world.robot, state.q)
    robot, X = at_q.robot, at_q.X
    spheres = [placed(at_q, sphere) for sphere in world.spheres]
    poses = poses_in_base(robot, X)
    points = touching(world, at_q, poses, spheres)
    # mass matrix and forces; limbs that touch nothing are folded into the base
    bare = without_inertia(robot, world.free_limbs)
    composite = composite_bodies(bare, X)
    M = composite_mass_matrix(bare, X, composite, 0.0 * armatures(robot))
    whole = composite_mass_matrix(robot, X, armature=0.0 * armatures(robot)) if world.free_limbs else M
    own = joint_rates(robot, np.diag(whole))
    joints = joint_feedback(world, state, own, inputs.command, dt, modes.joints, turn)
    M = M + np.diag(generalised(robot, joints.armature))
    pushed = generalised_pushes(at_q, world.pushed, inputs.push)
    bias = composite_bias(bare, X, composite, v, world.gravity, at_q.still)
    force = generalised(robot, joints.torques.motor + joints.torques.passive) + pushed - bias
    limbs = folded_limbs(world.robot, world.free_limbs, state.q, v, force, joints.armature, world.gravity)
    M, force = limbs.folded(M, force)
    # contact, with closed loops and free bodies
    feet = replace(modes, joints=joints.modes).for_contact(turn, settled)
    loops = posture_constraint(at_q, poses, state.q, v, dt)
    system = together(world, at_q, poses, spheres, state.objects, M, force, points, v, loops)
    contact = answer(
        world.contact, system.robot, system.M, system.force, system.points, system.v, dt, inputs.memory, feet,
        system.loops,
    )  # fmt: skip
    a, a_objects = system.apart(contact.a)
    a = limbs.unfolded(a)
    # what acted, and whether the modes agree
    a_J = joint_rates(robot, a)
    motor, passive, spring = joints.at_end(a_J, dt)
    joint_modes, unsettled = joints.judged(a_J, dt, turn)
    unsettled = unsettled + contact.unsettled
    memory = {**contact.memory, **joints.rotors_after(a_J, dt)}
    pushes = generalised_forces(system.points, contact.forces, system.width, robot.nv)
    forces = felt(world, system.axes, contact.forces)
    losses = passive - spring  # the work of springs is potential energy
    audited = np.stack([generalised(robot, motor), generalised(robot, losses), pushes, pushed])
    acted = Acted(motor, passive, forces, audited, memory, a_objects)
    return Solution(a, acted, Modes(contact.modes, joint_modes), unsettled)

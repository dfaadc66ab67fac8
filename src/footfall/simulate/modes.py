"""The modes of an implicit step, and the turns in which they are settled.

Implicit laws are linear within a mode: a foot sticks, slides or is let go, a motor is free or at its limit, a joint
moves or is held by dry friction. Joints and contact law own their modes (``actuators``, ``contact.active_set``): they
guess them, and judge them by what a solution of the equations of motion finds. Here the step is solved until what it
finds agrees with the modes it was solved in, which nearly every step does at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.contact.active_set import Turn
from footfall.contact.force_law import LATE
from footfall.control.interface import JointCommand
from footfall.errors import InputError
from footfall.nests import Nest, Scalar
from footfall.robot.model.description import Robot
from footfall.simulate.actuators import joint_modes
from footfall.simulate.belts import POSITION
from footfall.simulate.state import Acted, State
from footfall.simulate.world import World

TURNS = 20  # at most, in which a step's modes are settled; late ones only tighten them
PATIENCE = 4.0  # turns by which feet are late later where joints have dry friction

Onward = Callable[[Robot, State, ndarray, float], State]  # where accelerations lead


@dataclass(frozen=True)
class Modes:
    """What a step chooses, of the contact law and of the joints."""

    contact: dict[str, Nest]
    joints: dict[str, Nest]

    def for_contact(self, turn: Scalar, settled: bool) -> Turn:
        """Feet are judged for good when the joints' dry friction has found its ways, not in the middle of it."""
        late = np.minimum(turn, np.maximum(turn - PATIENCE, LATE - 1.0)) if "slides" in self.joints else turn
        return Turn(self.contact, late, settled)


@dataclass(frozen=True)
class Inputs:
    """What goes into a step besides the world."""

    memory: dict[str, ndarray]  # of the contact law before the step, with the rotors behind belts
    state: State
    command: JointCommand
    push: Float[ndarray, "wrenches"]


@dataclass(frozen=True)
class Solution:
    """One solution of the equations of motion."""

    a: Float[ndarray, "nv"]
    acted: Acted
    modes: Modes  # for another one
    unsettled: Scalar  # how many choices it contradicts


Solve = Callable[..., Solution]  # (world, inputs, dt, modes, turn, settled)


@dataclass(frozen=True)
class _Carry:
    """What one turn found, and what the next one needs."""

    solution: Solution
    turn: Scalar  # how many solutions were contradicted before
    inputs: Inputs
    after: State


def modes_of(world: World) -> Modes:
    """What an implicit step chooses, before its first turn."""
    if not world.contact.implicit:
        return Modes({}, {})
    contact = world.contact.modes(len(world.contacts)) if world.contacts else {}
    return Modes(contact, joint_modes(world.robot, world.joints))


def settle(
    solve: Solve, onward: Onward, world: World, state: State, command: JointCommand, push: ndarray, dt: float
) -> tuple[Float[ndarray, "nv"], Acted, State]:
    """(accelerations, what caused them, the state to which they lead ``onward``)."""
    inputs, modes = _inputs(world, state, command, push), modes_of(world)

    def solved(modes: Modes, turn: Scalar, settled: bool = False) -> tuple[ndarray, Acted, State]:
        solution = solve(world, inputs, dt, modes, turn, settled)
        a = numeric.narrow(solution.a)
        return a, solution.acted, onward(world.robot, state, a, dt)

    if not (modes.joints or modes.contact):
        a, acted, after = solved(modes, 0.0)
    else:
        last = _last_turn(solve, onward, world, inputs, modes, dt)

        # Where no mode changes, the step moves with the state as its last solution does; the law may know better.
        def once_more(_: Scalar) -> tuple[ndarray, Acted, State]:
            modes, turn = numeric.held((last.solution.modes, last.turn))
            numeric.doubted(last.solution.unsettled > 0.5)
            return solved(modes, turn, settled=True)

        first = (last.solution.a, last.solution.acted, last.after)
        a, acted, after = numeric.solved(first, once_more, always=False)
    return a, acted if state.memory else replace(acted, memory={}), after


def turns(
    solve: Solve, onward: Onward, world: World, state: State, command: JointCommand, push: ndarray, dt: float
) -> Scalar:
    """How many times a step solves the equations of motion until what it finds agrees with its modes."""
    modes = modes_of(world)
    if not (modes.joints or modes.contact):
        return 1.0
    inputs = _inputs(world, state, command, push)
    return np.minimum(_last_turn(solve, onward, world, inputs, modes, dt).turn + 1.0, TURNS)


def _inputs(world: World, state: State, command: JointCommand, push: ndarray) -> Inputs:
    if world.joints.belt is not None and POSITION not in state.memory:
        raise InputError("a step of joints behind belts needs their rotors: this one is given positions alone")
    return Inputs(state.memory or world.contact.start(world.contacts), state, command, push)


def _last_turn(solve: Solve, onward: Onward, world: World, inputs: Inputs, modes: Modes, dt: float) -> _Carry:
    """The turn in whose modes the step is settled."""

    # State and inputs go through the loop unchanged, so that it holds all of the work and keeps nothing else alive: it
    # nearly always turns once, and what it would have kept from outside costs a GPU more than doing it again.
    # A robot that is settled does not count on while others in its lanes go on: it finds the same again, bit for bit.
    def again(_: float, carry: _Carry) -> _Carry:
        solution = solve(world, carry.inputs, dt, carry.solution.modes, carry.turn, False)
        turn = np.where(solution.unsettled < 0.5, carry.turn, carry.turn + 1.0)
        return _Carry(solution, turn, carry.inputs, onward(world.robot, carry.inputs.state, solution.a, dt))

    robot, state = world.robot, inputs.state
    nothing = Acted(
        np.zeros(robot.nj), np.zeros(robot.nj), np.zeros((len(world.contacts), 3)), np.zeros((4, robot.nv)),
        inputs.memory, np.zeros((len(world.objects), 6)) if world.objects else (),
    )  # fmt: skip
    start = _Carry(Solution(np.zeros(robot.nv), nothing, modes, 0.0), 0.0, inputs, State(state.q, state.v))
    return numeric.repeat(TURNS, again, start, until=lambda carry: carry.solution.unsettled < 0.5)

"""Joints in a step: their torques at its start, what of them acts as inertia, and what they come to at its end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.interface import JointCommand
from footfall.dynamics.mass_matrix import armatures
from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.nests import Nest, Scalar
from footfall.simulate.actuators import JointForces, guessed_modes, joint_forces, judged_modes
from footfall.simulate.belts import Rotor, sides
from footfall.simulate.state import State
from footfall.simulate.world import World


@dataclass(frozen=True)
class JointFeedback:
    """Torques of the joints at the start of a step and their modes, guessed in its first turn."""

    world: World
    rates: Float[ndarray, "nj"]
    modes: dict[str, Nest]
    torques: JointForces
    inertia: Float[ndarray, "nj"]  # of each joint alone
    armature: Float[ndarray, "nj"]  # what acts as such: an implicit torque falls with the rate at the end of the step
    rotor: Rotor | None  # behind belts

    def at_end(self, a_J: Float[ndarray, "nj"], dt: float) -> tuple[ndarray, ndarray, ndarray]:
        """(motor, passive, springs' part of it) as they acted over the step [N m]."""
        motor, passive, spring = self.torques.motor, self.torques.passive, self.torques.spring
        if self.world.contact.implicit:
            motor = motor - dt * self.torques.motor_slope * a_J
            passive = passive - dt * self.torques.passive_slope * a_J
            spring = spring - dt * self.torques.spring_slope * a_J
        return motor, passive, spring

    def judged(self, a_J: Float[ndarray, "nj"], dt: float, turn: Scalar) -> tuple[dict[str, Nest], Nest]:
        """(modes for another turn, in how many joints they differ) by the accelerations found."""
        if not self.modes:
            return self.modes, 0.0
        world = self.world
        return judged_modes(
            world.robot, world.joints, self.modes, self.torques, self.rates, a_J, self.inertia, dt, turn
        )

    def rotors_after(self, a_J: Float[ndarray, "nj"], dt: float) -> dict[str, ndarray]:
        """Rotors behind belts, as the next step remembers them."""
        if self.rotor is None or self.torques.driven is None:
            return {}
        return self.rotor.moved(self.torques.driven, dt, dt * a_J)


def joint_feedback(
    world: World, state: State, own: Float[ndarray, "nj"], command: JointCommand, dt: float, modes: dict[str, Nest],
    turn: Scalar,
) -> JointFeedback:  # fmt: skip
    """The joints at the start of a step; ``own`` is the inertia of each without armature."""
    robot, belt, armature, rotor = world.robot, world.joints.belt, armatures(world.robot), None
    q_J, rates = joint_positions(robot, state.q), joint_rates(robot, state.v)
    ahead = dt if world.contact.implicit else 0.0
    if belt is not None:
        armature, rotor = belt.set_apart(armature, own, state.memory)
    inertia = own + armature
    if modes:
        wanted = joint_forces(robot, world.joints, q_J, rates, command, ahead, modes, rotor).asked
        side = None if belt is None or rotor is None else sides(belt, rotor, q_J)
        guess = guessed_modes(robot, world.joints, modes, rates, wanted, inertia, dt, side)
        modes = {key: np.where(turn < 0.5, guess[key], modes[key]) for key in modes}
    torques = joint_forces(robot, world.joints, q_J, rates, command, ahead, modes, rotor)
    if world.contact.implicit:
        armature = armature + dt * (torques.motor_slope + torques.passive_slope)
    return JointFeedback(world, rates, modes, torques, inertia, armature, rotor)

"""What the tests of hard contact share: bodies on their spheres, a tumbling caltrop, many drops at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import footfall as ff
import nptrace
from footfall.control.interface import JointCommand
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.robot import Foot, Link, Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import step
from footfall.sim.world import World
from footfall.spatial.quaternion import from_rotation, to_rotation

G = 9.81


def caltrop() -> Robot:
    """Four spheres at the corners of a tetrahedron. Its moments of inertia are equal: no gyroscopic torque, so that
    free flight keeps energy to what semi-implicit Euler makes of gravity alone."""
    corners = 0.1 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    feet = [Foot(name=f"tip{k}", link="body", position=corner, radius=0.02) for k, corner in enumerate(corners)]
    return Robot(name="caltrop", links=[Link(name="body", mass=1.0, inertia=0.01 * np.eye(3))], feet=feet)


def placed(world: World, height: float, velocity_C: tuple[float, float] = (0.0, 0.0)) -> State:
    """A body over the origin of the plane and along it, moving along the plane's own axes."""
    q = np.concatenate([world.ground.normal * height, from_rotation(world.ground.axes)])
    v = np.array([0.0, 0.0, 0.0, *velocity_C, 0.0])
    return State(q, v, world.contact.start(world.spheres))


class Drops(NamedTuple):
    last: State
    energy_before: np.ndarray
    energy_after: np.ndarray
    largest_gain: np.ndarray  # of energy in any one step [J]
    contact_work: np.ndarray  # in all [J]
    largest_work: np.ndarray  # of contact in any one step [J]


def random_drops(robot: Robot, contact: Any, count: int, steps: int, dt: float, friction: float, seed: int) -> Drops:
    """Many passive robots thrown at random, side by side.

    The energy that semi-implicit Euler keeps in free flight is T + V - dt m g v_z / 2, so that is what is watched.
    """
    world = World(robot=robot, ground=ff.contact.Plane(friction), contact=contact, joints=JointModel.ideal())
    command = JointCommand().broadcast(robot.nj)

    def energy(state: State) -> float:
        rising = (to_rotation(state.q[3:7]) @ state.v[3:6])[2]
        whole = kinetic_energy(robot, state.q, state.v) + potential_energy(robot, state.q)
        return whole - 0.5 * dt * G * robot.mass * rising

    def thrown(state: State) -> Any:
        def once(_: float, carry: Any) -> Any:
            before, energy_before, gain, work, largest = carry
            after, _, done = step(world, before, command, np.zeros(6), dt)
            energy_after = energy(after)
            gain = np.maximum(gain, energy_after - energy_before)
            return after, energy_after, gain, work + done.work[2], np.maximum(largest, done.work[2])

        first = energy(state)
        return first, nptrace.repeat(steps, once, (state, first, -np.inf, 0.0, -np.inf))

    rng = np.random.default_rng(seed)
    q, v = np.zeros((count, robot.nq)), rng.normal(size=(count, robot.nv))
    q[:, 2] = rng.uniform(0.3, 0.8, count) + (0.3 if robot.nj else 0.0)
    q[:, 3:7] = rng.normal(size=(count, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    q[:, 7:] = rng.uniform(-1.0, 1.0, (count, robot.nj))
    v[:, :3] *= 4.0
    v[:, 3:6] *= 1.5
    memory = contact.start(world.spheres)
    compiled = ff.compile(thrown, None, State(q[0], v[0], memory), target="batch", verify=False)
    many = {key: np.broadcast_to(value, (count, *np.shape(value))).copy() for key, value in memory.items()}
    first, (last, after, gain, work, largest) = compiled(State(q, v, many))
    return Drops(last, first, after, gain, work, largest)

"""What a simulation must keep: energy and angular momentum of a spinning body, energy of passive robots and the
order of every integrator, momentum of a free robot that moves its joints."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from simulated_bodies import IDEAL, hung, many_steps, pendulum, top

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.dynamics.coordinates import difference
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.dynamics.gravity_terms import GRAVITY
from footfall.dynamics.momentum import momentum
from footfall.dynamics.random_states import random_states
from footfall.kinematics.forward import center_of_mass
from footfall.robot import Robot, library
from footfall.sim.equations_of_motion import State
from footfall.sim.world import World

WEIGHTLESS = (0.0, 0.0, 0.0)
TREES = [
    name for name in library.names() if not ff.load(name).loops
]  # loops: tests/footfall/dynamics/test_closed_loops.py
ROBOTS = {name: ff.load(name) for name in TREES} | {
    "mini_cheetah with exact rotors": ff.load("mini_cheetah").replace(rotors="exact")
}
FAR_BELOW = ff.contact.Plane(point=np.array([0.0, 0.0, -1e4]))
SPINS = {"about the stable axis": (0.1, 0.2, 9.0), "tumbling": (0.02, 6.0, 0.01), "all ways": (3.0, -4.0, 5.0)}


def start(robot: Robot, seed: int = 3, speed: float = 1.0) -> State:
    """Somewhere, moving."""
    some = random_states(robot, 1, seed)
    return State(some.q[0], speed * some.v[0])


def energy(robot: Robot, state: State, gravity: tuple[float, float, float]) -> float:
    return float(kinetic_energy(robot, state.q, state.v) + potential_energy(robot, state.q, gravity))


@pytest.mark.parametrize("spin", SPINS.values(), ids=SPINS)
def test_torque_free_body_keeps_kinetic_energy_and_angular_momentum(spin):
    robot = top()
    run = many_steps(World(robot=robot, joints=IDEAL, gravity=WEIGHTLESS), "rk4")
    state = State(robot.state()[0] + [0, 0, 10.0, 0, 0, 0, 0], np.array([*spin, 0.3, -0.2, 0.1]))
    energy_0, momentum_0 = kinetic_energy(robot, state.q, state.v), momentum(robot, state.q, state.v)
    for _ in range(10):
        state = run(state, dt=5e-4, count=2000)
        assert kinetic_energy(robot, state.q, state.v) == pytest.approx(energy_0, rel=1e-8)
        np.testing.assert_allclose(
            momentum(robot, state.q, state.v), momentum_0, atol=1e-8 * np.linalg.norm(momentum_0[:3]), rtol=0
        )
        assert abs(np.linalg.norm(state.q[3:7]) - 1.0) < 1e-12


@pytest.mark.parametrize("integrator", ["linearly_implicit", "semi_implicit_euler", "heun", "rk4"])
def test_quaternion_keeps_its_length_with_every_integrator(integrator):
    robot = top()
    run = many_steps(World(robot=robot, joints=IDEAL, gravity=WEIGHTLESS), integrator)
    state = run(State(robot.state()[0], np.array([3.0, -4.0, 15.0, 0, 0, 0])), dt=1e-3, count=10000)
    assert abs(np.linalg.norm(state.q[3:7]) - 1.0) < 1e-12


@pytest.mark.parametrize("integrator", ["linearly_implicit", "semi_implicit_euler"])
def test_euler_steps_do_not_gain_linear_speed_while_the_base_turns(integrator):
    """Advanced in base axes the speed would gain 5 % a second at 10 rad/s and dt 1e-3."""
    robot = Robot(name="ball", links=[ff.Link(name="ball", mass=1.0, inertia=0.01 * np.eye(3))])
    run = many_steps(World(robot=robot, joints=IDEAL, gravity=WEIGHTLESS), integrator)
    state = run(State(robot.state()[0], np.array([1.0, 2.0, 10.0, 1.0, 0.0, 0.5])), dt=1e-3, count=2000)
    assert np.linalg.norm(state.v[3:6]) == pytest.approx(np.hypot(1.0, 0.5), rel=1e-11)


@cache
def flight(name: str, integrator: str = "rk4") -> Callable[..., State]:
    """Compiled steps of a robot far above the ground."""
    return many_steps(World(robot=ROBOTS[name], ground=FAR_BELOW, joints=IDEAL), integrator)


@pytest.mark.parametrize("name", ROBOTS)
def test_passive_robot_keeps_its_energy_tumbling_and_falling(name):
    """Relative to the energy of the motion about the centre of mass; 490 m of fall round off 1e-11 of theirs."""
    robot, state = ROBOTS[name], start(ROBOTS[name])
    com, p = center_of_mass(robot, state.q), momentum(robot, state.q, state.v)[3:]
    inner = kinetic_energy(robot, state.q, state.v) - 0.5 * p @ p / robot.mass
    for gravity in (WEIGHTLESS, GRAVITY):
        last = flight(name)(state, dt=1e-3, count=10000, gravity=gravity)
        moved = kinetic_energy(robot, last.q, last.v) if any(gravity) else 0.0
        change = energy(robot, last, gravity) - energy(robot, state, gravity)
        assert abs(change) < 1e-6 * inner + 1e-11 * moved
        flown = com + 10.0 * p / robot.mass + 50.0 * np.array(gravity)
        np.testing.assert_allclose(center_of_mass(robot, last.q), flown, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_internal_torques_do_not_change_the_momentum_of_a_free_robot(name):
    """Joints driven to and fro for 10 s, g = 0."""
    robot = ROBOTS[name]
    middle = robot.state("stand")[0]
    swing = 0.4 * np.cos(np.arange(robot.nj))
    state = State(middle, np.concatenate([[0.3, -0.2, 0.5, 0.1, 0.2, -0.3], np.zeros(robot.nj)]))
    before, moved = momentum(robot, state.q, state.v), 0.0
    for k in range(500):
        target = middle[7:] + swing * np.sin(6.0 * 0.02 * k)
        command = JointCommand(target, kp=0.5 * robot.mass, kd=0.02 * robot.mass)
        state = flight(name)(state, command, dt=5e-5, count=400, gravity=WEIGHTLESS)
        moved = max(moved, float(np.abs(state.q[7:] - middle[7:]).max()))
    after = momentum(robot, state.q, state.v)
    assert moved > 0.1
    for part in (slice(0, 3), slice(3, 6)):
        assert np.abs(after[part] - before[part]).max() < 1e-8 * np.abs(before[part]).max()


@pytest.mark.parametrize("robot", [pendulum(2), *(hung(ff.load(name)) for name in TREES)], ids=lambda r: r.name)
def test_passive_robot_hung_by_its_trunk_swings_with_constant_energy(robot):
    world = World(robot=robot, ground=FAR_BELOW, joints=IDEAL)
    state = State(np.full(robot.nq, 0.2), np.zeros(robot.nv))
    before = energy(robot, state, world.gravity)
    lowest = min(before, energy(robot, State(np.zeros(robot.nq), np.zeros(robot.nv)), world.gravity))
    run, moved = many_steps(world, "rk4"), before - lowest
    for _ in range(10):
        state = run(state, dt=1e-3, count=1000)
        moved = max(moved, float(kinetic_energy(robot, state.q, state.v)))
    assert moved > 0.01
    assert abs(energy(robot, state, world.gravity) - before) < 1e-6 * moved


ORDERS = {"rk4": 4, "heun": 2, "semi_implicit_euler": 1, "linearly_implicit": 1}


@pytest.mark.parametrize("integrator", ORDERS)
@pytest.mark.parametrize("robot", [pendulum(2), top(), ff.load("mini_cheetah")], ids=lambda r: r.name)
def test_observed_order_of_an_integrator_is_its_nominal_order(robot, integrator):
    """Errors against a far finer RK4 run fall as dt^order when dt is halved."""
    world = World(robot=robot, ground=FAR_BELOW, joints=IDEAL)
    state = start(robot, seed=5)
    span, finest = 0.4, 40 if integrator == "rk4" and robot.floating else 640  # RK4 soon meets rounding
    exact = many_steps(world, "rk4")(state, dt=span / 2000, count=2000)
    errors = []
    for count in (finest // 2, finest):
        last = many_steps(world, integrator)(state, dt=span / count, count=count)
        errors.append(np.linalg.norm(np.concatenate([difference(robot, exact.q, last.q), last.v - exact.v])))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(ORDERS[integrator], abs=0.1)

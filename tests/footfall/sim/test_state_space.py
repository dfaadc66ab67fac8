"""The Euler-angle state space of eqs. (39)-(43) moves like the quaternion state once mended, and not as printed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from simulated_bodies import IDEAL, many_steps, top

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.dynamics.coordinates import difference
from footfall.dynamics.formalisms.state_space import euler_state, euler_state_rate, from_euler_state
from footfall.dynamics.forward_dynamics import forward_dynamics
from footfall.dynamics.random_states import random_states
from footfall.robot import Robot, library
from footfall.sim.equations_of_motion import State
from footfall.sim.world import World
from footfall.spatial.rotation import euler_rates_to_world

FAR = ff.contact.Plane(point=np.array([0.0, 0.0, -100.0]))
SPAN, STEPS = 0.1, 50


def gentle(robot: Robot) -> State:
    """A state whose pitch stays away from 90 degrees."""
    some = random_states(robot, 1, seed=2)
    q = some.q[0].copy()
    q[3:7] = np.array([1.0, 0.1, -0.2, 0.3]) / np.linalg.norm([1.0, 0.1, -0.2, 0.3])
    return State(q, some.v[0])


def integrated(rate: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    dt = SPAN / STEPS
    for _ in range(STEPS):
        k1 = rate(x)
        k2 = rate(x + dt / 2 * k1)
        k3 = rate(x + dt / 2 * k2)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + dt * k3))
    return x


def moved(robot: Robot, state: State, tau: np.ndarray) -> State:
    """The quaternion state after the span."""
    run = many_steps(World(robot=robot, ground=FAR, joints=IDEAL), "rk4")
    return run(state, JointCommand(torque=tau), dt=SPAN / 1000, count=1000)


@pytest.mark.parametrize("name", [name for name in library.names() if not library.load(name).loops])  # eq. (43): trees
def test_euler_state_space_moves_like_the_quaternion_state(name):
    robot = ff.load(name)
    state, tau = gentle(robot), 5e-4 * robot.mass * np.cos(np.arange(robot.nj))
    last = moved(robot, state, tau)
    x = integrated(lambda x: euler_state_rate(robot, x, tau), euler_state(robot, state.q, state.v))
    q, v = from_euler_state(robot, x)
    assert np.abs(difference(robot, last.q, q)).max() < 1e-6
    assert np.abs(v - last.v).max() < 1e-5


def test_state_survives_the_round_trip():
    robot = ff.load("mini_cheetah")
    state = gentle(robot)
    q, v = from_euler_state(robot, euler_state(robot, state.q, state.v))
    np.testing.assert_allclose(q, state.q, atol=1e-14)
    np.testing.assert_array_equal(v, state.v)


def as_printed(robot: Robot, x: np.ndarray, erratum: str) -> np.ndarray:
    """dx/dt of eq. (43) with one of its errors left in."""
    right, v = euler_state_rate(robot, x, np.zeros(robot.nj)), x[robot.nv :]
    if erratum == "world map of eq. 41":
        return np.concatenate([np.linalg.solve(euler_rates_to_world(x[:3]), v[:3]), right[3:]])
    if erratum == "position rate of eq. 42":
        return np.concatenate([right[:3], v[3:6], right[6:]])
    q, _ = from_euler_state(robot, x)
    a = forward_dynamics(robot, q, v, np.zeros(robot.nj), classical=True)
    return np.concatenate([right[: robot.nv], a])


@pytest.mark.parametrize("erratum", ["world map of eq. 41", "position rate of eq. 42", "classical rate of eq. 43"])
def test_equations_as_printed_move_a_tumbling_body_elsewhere(erratum):
    robot = top()
    state = State(gentle(robot).q, np.array([1.0, -2.0, 3.0, 0.5, 0.4, -0.3]))
    last = moved(robot, state, np.zeros(0))
    start = euler_state(robot, state.q, state.v)
    q, v = from_euler_state(robot, integrated(lambda x: as_printed(robot, x, erratum), start))
    error = max(np.abs(difference(robot, last.q, q)).max(), np.abs(v - last.v).max())
    assert error > 0.01  # the mended equations err by less than 1e-6


def test_printed_and_mended_equations_agree_for_a_level_base_that_does_not_turn():
    robot = top()
    x = euler_state(robot, robot.state()[0], np.array([0.0, 0.0, 0.0, 0.5, 0.4, -0.3]))
    for erratum in ("world map of eq. 41", "position rate of eq. 42", "classical rate of eq. 43"):
        right = euler_state_rate(robot, x, np.zeros(0))
        np.testing.assert_allclose(as_printed(robot, x, erratum), right, atol=1e-12)

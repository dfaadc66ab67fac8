"""Derivatives of forward dynamics: exact, and no more work than the structure of the robot asks for."""

from __future__ import annotations

import numpy as np

import footfall as ff
from footfall.dynamics.coordinates import configuration_rate
from footfall.robot import library

ROBOT = library.load("dynakat")


def extrapolated(f, h=1e-4):
    """The slope of f at zero, by central differences of two lengths."""
    near, far = ((f(k * h) - f(-k * h)) / (2.0 * k * h) for k in (1.0, 2.0))
    return (4.0 * near - far) / 3.0


def test_derivatives_of_forward_dynamics_are_those_of_differences_and_of_the_mass_matrix():
    robot, random = ROBOT, np.random.default_rng(4)
    J = ff.jacobian(ff.dynamics.forward_dynamics, robot, wrt=["q", "v", "tau"])
    q = np.array(robot.state()[0]) + np.concatenate([np.zeros(7), 0.3 * random.normal(size=robot.nj)])
    q[3:7] = random.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    v, tau = random.normal(size=robot.nv), random.normal(size=robot.nj)
    by_q, by_v, by_tau = J(q, v, tau)
    np.testing.assert_allclose(ff.dynamics.mass_matrix(robot, q) @ by_tau, np.eye(robot.nv)[:, 6:], atol=1e-9)
    for direction in np.eye(robot.nv):
        slope = extrapolated(lambda h, d=direction: ff.dynamics.forward_dynamics(robot, q, v + h * d, tau))
        assert np.abs(by_v @ direction - slope).max() < 1e-7 * np.abs(by_v).max()
    for rate in np.eye(robot.nv):
        moving = configuration_rate(robot, q, rate)
        slope = extrapolated(lambda h, d=moving: ff.dynamics.forward_dynamics(robot, _unit(q + h * d), v, tau))
        assert np.abs(by_q @ moving - slope).max() < 1e-7 * np.abs(by_q).max()


def _unit(q):
    """The configuration with a quaternion of unit length."""
    return np.concatenate([q[:3], q[3:7] / np.linalg.norm(q[3:7]), q[7:]])


def test_a_jacobian_takes_ten_times_the_work_of_the_function_and_not_a_hundred():
    once = ff.program(ff.dynamics.forward_dynamics, ROBOT).live_operations
    J = ff.jacobian(ff.dynamics.forward_dynamics, ROBOT, wrt=["q", "v", "tau"])
    assert J.directions == ROBOT.nq + ROBOT.nv + ROBOT.nj
    assert J.statistics["live_operations"] < 10 * once

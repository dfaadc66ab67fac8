"""The linearised step of a simulation is that of its next step: what its contacts remember is taken from it."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.dynamics.coordinates import difference, integrate
from footfall.sim.linearization import LinearStep

ROBOT = ff.load("mini_cheetah")
STAND = ROBOT.poses["stand"].joints
HOLD = JointCommand(STAND, 0.0, 60.0, 2.0, 0.0)
CONTACTS = ("compliant", "complementarity", "stance", "planning")
FALLING, LANDING, ONE_MORE, SETTLING, STANDING = 1, 13, 40, 100, 900  # ticks


def dropped(contact):
    """Let fall with 0.8 m/s from 1 cm above the ground, legs held."""
    q, v = ROBOT.state("stand")
    q, v = q + 0.01 * np.eye(19)[2], v - 0.8 * np.eye(18)[5]
    return ff.Simulation(ROBOT, ff.control.Hold("stand", kp=60.0, kd=2.0), contact=contact, start=(q, v))


@functools.cache
def linear_step(contact):
    return LinearStep(dropped(contact))


def moments(contact, ticks=(FALLING, LANDING, ONE_MORE, SETTLING, STANDING)):
    """A simulation at some ticks of its landing, and its step."""
    sim, before = dropped(contact), 0
    for tick in ticks:
        sim.advance(tick - before)
        before = tick
        yield tick, sim, linear_step(contact).of(sim)


def differences(step, q, v, h=1e-8):
    """A by central differences of the step; hard contact has kinks 1e-7 m away."""
    nv = ROBOT.nv
    moves = np.concatenate([h * np.eye(2 * nv), -h * np.eye(2 * nv)])
    ends, rates = step.step(np.stack([integrate(ROBOT, q, d[:nv], 1.0) for d in moves]), v + moves[:, nv:], HOLD)
    middle = step.step(q, v, HOLD)
    away = [np.concatenate([difference(ROBOT, middle[0], e), r - middle[1]]) for e, r in zip(ends, rates)]
    return ((np.array(away)[: 2 * nv] - np.array(away)[2 * nv :]) / (2.0 * h)).T


@pytest.mark.parametrize("contact", CONTACTS)
def test_linearised_step_ends_where_the_simulation_goes_in_every_step_of_a_landing(contact):
    sim = dropped(contact)
    step = linear_step(contact).of(sim)
    for _ in range(150):
        q, v = step.step(sim.q, sim.v, HOLD)
        sim.advance(1)
        np.testing.assert_allclose(q, sim.q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(v, sim.v, rtol=0, atol=1e-8)


@pytest.mark.parametrize("contact", CONTACTS)
def test_derivatives_in_a_landing_and_at_a_stand_are_those_of_differences(contact):
    for tick, sim, step in moments(contact):
        q, v = sim.q, sim.v
        if contact == "complementarity" and tick == STANDING:  # at rest a gap is nothing: on the kink, A is one-sided
            q = q - 1e-6 * np.eye(19)[2]
        A, expected = step(q, v, HOLD).A, differences(step, q, v)
        assert np.abs(A - expected).max() < 2e-5 * np.abs(expected).max(), tick


@pytest.mark.parametrize("contact", CONTACTS)
def test_closed_loop_of_a_held_command_is_the_step(contact):
    """Which foot stands, and what else contacts remember, is held as it is found."""
    for tick, sim, step in moments(contact):
        A, loop = step(sim.q, sim.v, HOLD).A, ff.linearize(sim)
        np.testing.assert_allclose(loop.of_robot(), A, rtol=0, atol=1e-7 * np.abs(A).max(), err_msg=str(tick))
        two, before = ff.linearize(sim, ticks=2), sim.state
        sim.advance(1)
        np.testing.assert_allclose(loop.v, sim.v, rtol=0, atol=1e-8)
        following = step(sim.q, sim.v, HOLD).A @ A
        np.testing.assert_allclose(two.of_robot(), following, rtol=0, atol=1e-7 * np.abs(following).max())
        sim.state = before


def test_feet_that_stand_are_held_in_the_derivative_as_they_are_in_the_next_step():
    """A foot that stands closes its gap by feedback; one that is said to land anew is stopped otherwise."""
    (_, sim, step), *_ = moments("stance", (STANDING,))
    A = ff.linearize(sim, sim.q, sim.v, HOLD).A
    np.testing.assert_array_equal(A, step(sim.q, sim.v, HOLD).A)
    assert np.abs(A).max() > 10.0
    of_world = ff.linearize(sim.model.world, sim.q, sim.v, HOLD)
    assert np.abs(A - of_world.A).max() > 1.0
    many = ff.linearize(sim, np.tile(sim.q, (3, 1)), np.tile(sim.v, (3, 1)), HOLD)
    np.testing.assert_array_equal(many.A[2], A)


def test_step_of_a_simulation_goes_with_it():
    sim = dropped("stance")
    step = linear_step("stance").of(sim)
    assert step.memory["mode"].max() < 0.5
    sim.advance(STANDING)
    assert step.memory["mode"].min() > 0.5
    assert linear_step("stance").of(None).memory["mode"].max() < 0.5

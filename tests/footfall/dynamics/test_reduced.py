"""Minimal coordinates: every mode of quadrupeds and a biped, and the one-legged machine of the lecture slides."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall import dynamics, kinematics
from footfall.dynamics.formalisms.constrained import constrained_dynamics, contact_jacobian, impact_map
from footfall.dynamics.formalisms.contact_sets import stance_dynamics
from footfall.dynamics.formalisms.modes import all_modes, single_transitions, transitions
from footfall.dynamics.formalisms.reduced import (
    ModeCoordinates,
    reduced_dynamics,
    reduced_system,
    reduced_touchdown,
)
from footfall.dynamics.random_states import States, random_states
from footfall.robot import Robot
from footfall.robot.library.biped import biped
from footfall_lab.papers.floating_base.modes import OneLeg
from footfall_lab.verify.laws import rate_along

BAR = 1e-9


def error(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(x - y).max() / max(float(np.abs(y).max()), 1e-6))


def test_each_of_the_sixteen_modes_agrees_with_the_kkt_system(robot: Robot, states: States) -> None:
    for q, v, tau in zip(states.q[:2], states.v, states.tau):
        for mode in all_modes(robot):
            a, f = constrained_dynamics(robot, q, v, tau, mode)
            x, g = reduced_dynamics(robot, q, v, tau, mode)
            assert error(x, a) < BAR
            assert error(g, f) < BAR
            assert error(reduced_touchdown(robot, q, v, mode), impact_map(robot, q, v, mode)[0]) < BAR


def test_real_robots_agree_in_every_mode(third_party: Robot) -> None:
    states = random_states(third_party, 1, seed=8)
    q, v, tau = states.q[0], states.v[0], states.tau[0]
    for mode in all_modes(third_party):
        a, f = constrained_dynamics(third_party, q, v, tau, mode)
        x, g = reduced_dynamics(third_party, q, v, tau, mode)
        assert error(x, a) < BAR
        assert error(g, f) < BAR


def test_a_mode_has_three_degrees_of_freedom_less_for_each_foot(robot: Robot, states: States) -> None:
    for mode in all_modes(robot):
        system = reduced_system(robot, states.q[0], states.v[0], states.tau[0], mode)
        assert len(system.force) == robot.nv - 3 * int(mode.sum())
        assert np.linalg.eigvalsh(system.M).min() > 0
        assert error(system.M, system.M.T) < 1e-13


def test_the_worst_pivot_is_the_least_quotient_of_leading_minors_beside_the_largest(
    robot: Robot, states: States
) -> None:
    for mode in all_modes(robot)[1:]:
        split = ModeCoordinates.at(robot, states.q[0], mode)
        for q in states.q[:2]:  # chosen at the first: the second has other pivots
            A = contact_jacobian(robot, q)[list(split.rows)][:, list(split.dependent)]
            minors = [1.0, *(np.linalg.det(A[:k, :k]) for k in range(1, len(A) + 1))]
            pivots = np.abs(np.divide(minors[1:], minors[:-1]))
            assert split.worst_pivot(q) == pytest.approx(pivots.min() / pivots.max(), rel=1e-6)
    free = ModeCoordinates.at(robot, states.q[0], np.zeros(robot.nf))
    assert free.worst_pivot(states.q[0]) == 1.0


def test_coordinates_of_a_mode_keep_its_feet_where_they_are(robot: Robot, states: States) -> None:
    """J N = 0, and dN/dt v is what moving along the mode gives, differentiated."""
    q, rng = states.q[0], np.random.default_rng(0)
    mode = np.array([1.0, 0.0, 0.0, 1.0])
    split = ModeCoordinates.at(robot, q, mode)
    J, basis = contact_jacobian(robot, q)[np.repeat(mode, 3) > 0], split.basis(q)
    assert np.abs(J @ basis).max() < 1e-12
    rates = rng.normal(size=split.n)
    v = basis @ rates
    c = reduced_system(robot, q, v, np.zeros(robot.nv), mode).c

    def moved(x: np.ndarray) -> np.ndarray:
        """N at a neighbour, with the same choice of coordinates."""
        at = contact_jacobian(robot, x)[np.repeat(mode, 3) > 0]
        N = np.array(basis)
        dependent, independent = list(split.dependent), list(split.independent)
        N[dependent] = -np.linalg.solve(at[:, dependent], at[:, independent])
        return N @ rates

    assert error(rate_along(robot, moved, q, v), c) < 1e-8


def test_a_mode_in_its_own_coordinates_is_compiled() -> None:
    """Its coordinates are chosen at one configuration and serve at another, in machine code."""
    robot = ff.load("xiling")
    states = random_states(robot, 1, seed=3)
    mode, near = np.array([0.0, 1.0, 1.0, 0.0]), robot.state("stand")[0]
    split = ModeCoordinates.at(robot, near, mode)
    q = near + np.concatenate([np.zeros(7), 0.05 * np.cos(np.arange(robot.nj))])
    rates, tau = states.v[0][: split.n], states.tau[0][6:]
    a_r, f = ff.compile(ModeCoordinates.dynamics, split)(q, rates, tau)
    v = split.basis(q) @ rates
    a, forces = constrained_dynamics(robot, q, v, tau, mode)
    assert error(a_r, a[list(split.independent)]) < BAR
    assert error(f, forces) < BAR
    after = ff.compile(ModeCoordinates.touchdown, split, q, states.v[0])(q, states.v[0])
    assert error(split.basis(q) @ after, impact_map(robot, q, states.v[0], mode)[0]) < BAR


# -- biped -------------------------------------------------------------------------------------------------------------
def test_a_biped_has_four_modes_and_twelve_transitions() -> None:
    robot = biped()
    states = random_states(robot, 3, seed=9)
    assert len(all_modes(robot)) == 4
    assert len(list(transitions(robot))) == 12
    assert len(list(single_transitions(robot))) == 8
    for q, v, tau in zip(states.q, states.v, states.tau):
        for mode in all_modes(robot):
            assert (
                error(reduced_dynamics(robot, q, v, tau, mode)[0], constrained_dynamics(robot, q, v, tau, mode)[0])
                < BAR
            )


# -- the one-legged machine --------------------------------------------------------------------------------------------
@pytest.fixture
def leg() -> OneLeg:
    return OneLeg()


def stances(count: int = 10):
    rng = np.random.default_rng(5)
    for _ in range(count):
        yield rng.uniform(-0.9, 0.9, 3), rng.normal(size=3), np.array([rng.normal(), 0.0, rng.normal()]), rng


def test_stance_coordinates_put_the_foot_on_its_anchor(leg: OneLeg) -> None:
    for q, v, anchor, _ in stances():
        flight = leg.to_flight(q, anchor)
        assert np.abs(kinematics.foot_positions(leg.flight(), flight)[0] - anchor).max() < 1e-15
        back, at = leg.to_stance(flight)
        assert np.abs(back - q).max() < 1e-15
        assert np.abs(at - anchor).max() < 1e-15
        step = 1e-6
        change = (leg.to_flight(q + step * v, anchor) - leg.to_flight(q - step * v, anchor)) / (2 * step)
        assert np.abs(leg.jacobian(q) @ v - change).max() < 1e-8


def test_both_sets_of_coordinates_give_the_same_motion(leg: OneLeg) -> None:
    """M_st = NᵀMN and h_st = Nᵀ(h + M dN/dt v): the stance machine is the flight machine in other coordinates."""
    flight = leg.flight()
    for q, v, anchor, rng in stances():
        stance, x, N, c = leg.stance(anchor), leg.to_flight(q, anchor), leg.jacobian(q), leg.jacobian_rate(q, v)
        M, h = dynamics.mass_matrix(flight, x), dynamics.bias_terms(flight, x, N @ v)
        assert error(dynamics.mass_matrix(stance, q), N.T @ M @ N) < 1e-13
        assert error(dynamics.bias_terms(stance, q, v), N.T @ (h + M @ c)) < 1e-12
        tau = np.array([0.0, 0.0, 0.0, *rng.normal(size=2)])  # hip and knee; nobody drives the torso
        a = N @ dynamics.forward_dynamics(stance, q, v, N.T @ tau) + c
        constrained = stance_dynamics(flight, x, N @ v, tau, "foot")
        assert error(constrained.a, a) < 1e-11
        assert error(reduced_dynamics(flight, x, N @ v, tau, np.ones(1))[0], a) < 1e-11
        assert constrained.contacts.rank == 2  # a planar machine has nothing to say across its plane
        assert abs(constrained.forces[0, 1]) < 1e-12


def test_touchdown_keeps_the_angular_momentum_about_the_foot_and_liftoff_everything(leg: OneLeg) -> None:
    flight = leg.flight()
    for q, _, anchor, rng in stances():
        x, before = leg.to_flight(q, anchor), rng.normal(size=5)
        stance, rates, at = leg.touchdown(x, before)
        again, after = leg.liftoff(stance, rates, at)
        assert np.abs(again - x).max() < 1e-14
        assert np.abs(kinematics.foot_velocities(flight, x, after)[0, 3:]).max() < 1e-13
        about_foot = [_angular_momentum(flight, x, v, anchor) for v in (before, after)]
        assert about_foot[1] == pytest.approx(about_foot[0], rel=1e-11)
        assert dynamics.kinetic_energy(flight, x, after) < dynamics.kinetic_energy(flight, x, before)
        assert error(reduced_touchdown(flight, x, before, np.ones(1)), after) < 1e-11


def _angular_momentum(robot: Robot, q: np.ndarray, v: np.ndarray, point: np.ndarray) -> float:
    k = dynamics.momentum(robot, q, v)
    return float((k[:3] + np.cross(kinematics.center_of_mass(robot, q) - point, k[3:]))[1])

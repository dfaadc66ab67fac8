"""Flat feet on the library's biped: six rows a foot in KKT, impact and screws, and what the ground can give."""

import numpy as np
import pytest
from scipy.optimize import linprog

import footfall as ff
from footfall.dynamics.formalisms.flat_feet import center_of_pressure, flat_dynamics, flat_impact, sole_margins
from footfall.dynamics.formalisms.screw_structure import Known, solve_by_structure
from footfall.dynamics.random_states import random_states
from footfall.errors import InputError, ModelError
from footfall.robot import FlatFoot, by_corners
from footfall.spatial.gravity import GRAVITY

SOLE, FRICTION = (0.2, 0.1), 0.7
MODES = [np.array(m) for m in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0])]


@pytest.fixture(scope="module")
def biped():
    return ff.load("biped", feet="flat")


def error(x, y):
    return float(np.abs(x - y).max() / max(float(np.abs(y).max()), 1e-6))


@pytest.mark.parametrize("mode", MODES, ids=["flight", "L", "R", "both"])
def test_a_standing_sole_neither_moves_nor_turns_and_screws_say_the_same(biped, mode):
    states = random_states(biped, 2, seed=3)
    for q, v, tau in zip(states.q, states.v, states.tau[:, 6:]):
        a, w = flat_dynamics(biped, q, v, tau, mode)
        J = ff.kinematics.feet_jacobian(biped, q)
        held = J @ a + ff.kinematics.feet_bias_acceleration(biped, q, v)
        assert np.abs(held[mode > 0]).max(initial=0.0) < 1e-8 * max(1.0, np.abs(a).max())
        balance = ff.dynamics.inverse_dynamics(biped, q, v, a) - np.concatenate([np.zeros(6), tau])
        assert error(np.einsum("fi,fij->j", w, J) + 1.0, balance + 1.0) < 1e-8
        force = np.concatenate([np.zeros(6), tau])
        known = Known(
            force=force,
            accelerations=np.zeros(12),
            given=np.zeros(12),
            mode=mode,
            foot_forces=np.zeros((2, 3)),
            flat=True,
        )
        found = solve_by_structure(biped, q, v, known, GRAVITY)
        assert error(found.a, a) < 1e-8
        assert error(np.concatenate([found.foot_moments, found.foot_forces], axis=1), w) < 1e-8


def test_an_impact_stops_soles_and_passes_momentum_by_them_alone(biped):
    states = random_states(biped, 1, seed=4)
    q, v, mode = states.q[0], states.v[0], np.array([0.0, 1.0])
    after, impulses = flat_impact(biped, q, v, mode)
    J = ff.kinematics.feet_jacobian(biped, q)
    assert np.abs(J[1] @ after).max() < 1e-9
    assert error(ff.dynamics.mass_matrix(biped, q) @ (after - v), J[1].T @ impulses[1]) < 1e-9
    assert not impulses[0].any()
    assert ff.dynamics.kinetic_energy(biped, q, after) < ff.dynamics.kinetic_energy(biped, q, v)


def test_compiled_soles_agree_and_carry_the_weight(biped):
    q, v = biped.state("stand")
    both = np.ones(2)
    a, w = ff.compile(flat_dynamics, biped, mode=both)(q, v, np.zeros(12), both)
    plain = flat_dynamics(biped, q, v, np.zeros(12), both)
    assert error(a, plain[0]) < 1e-8
    assert error(w, plain[1]) < 1e-8
    still = w[:, 3:].sum(axis=0)  # both soles held and all joints limp: twelve rows of eighteen degrees of freedom
    com = ff.dynamics.momentum_matrix(biped, q)[3:] @ a
    assert np.abs(still - com - np.array([0, 0, biped.mass * 9.81])).max() < 1e-6 * biped.mass * 9.81


def corners_can(wrench):
    """Whether forces at the four corners, each in its friction pyramid, make a wrench: a linear program."""
    corners = [np.array([x * SOLE[0] / 2, y * SOLE[1] / 2, 0.0]) for x in (1, -1) for y in (1, -1)]
    edges = [np.array([x * FRICTION, y * FRICTION, 1.0]) for x in (1, -1) for y in (1, -1)]
    columns = [np.concatenate([np.cross(p, e), e]) for p in corners for e in edges]
    return linprog(np.zeros(16), A_eq=np.array(columns).T, b_eq=wrench, bounds=(0, None)).status == 0


def test_limits_of_a_sole_are_those_of_its_corners():
    """Centre of pressure, friction and yaw friction: the closed form holds where a linear program finds forces."""
    rng, agreed = np.random.default_rng(5), {True: 0, False: 0}
    for _ in range(300):
        scale = np.array([0.04, 0.08, 0.07, 0.6, 0.6, 0.0])
        wrench = 100.0 * (np.array([0, 0, 0, 0, 0, 1.0]) + scale * rng.uniform(-1, 1, 6))
        least = min(float(part.min()) for part in sole_margins(SOLE, wrench, FRICTION).values())
        if abs(least) > 1e-6:
            assert corners_can(wrench) == (least > 0)
            agreed[least > 0] += 1
    assert min(agreed.values()) > 30
    assert center_of_pressure(np.array([2.0, -4.0, 0, 0, 0, 100.0])) == pytest.approx([0.04, 0.02])


@pytest.mark.parametrize("contact", ["compliant", pytest.param("complementarity", marks=pytest.mark.slow)])
def test_the_biped_stands_on_the_corners_of_its_soles(biped, contact):
    robot = by_corners(biped)
    assert robot.nf == 8
    sim = ff.Simulation(robot, ff.control.Hold("stand", 800.0, 20.0), contact=contact)
    rec = sim.run(0.6)
    assert not rec.meta["fell"]
    force = rec.force[-1]
    assert force[:, 2].sum() == pytest.approx(robot.mass * 9.81, rel=0.02)
    # the wrench that the corners of a sole make is one that the sole can give
    poses = ff.kinematics.foot_positions(robot, rec.q[-1])
    for side in (slice(0, 4), slice(4, 8)):
        middle = poses[side].mean(axis=0)
        moment = np.cross(poses[side] - middle, force[side]).sum(axis=0)
        margins = sole_margins(SOLE, np.concatenate([moment, force[side].sum(axis=0)]), 0.8 * np.sqrt(2))
        assert min(float(part.min()) for part in margins.values()) > -1.0
    assert np.abs(rec.q[-1, :3] - rec.q[0, :3]).max() < 0.03


def test_what_has_no_sole_or_needs_points_is_refused(biped):
    with pytest.raises(InputError, match="foot 'L' of robot 'biped' has no sole"):
        flat_dynamics(ff.load("biped"), *ff.load("biped").state("stand"), np.zeros(6), np.ones(2))
    with pytest.raises(InputError, match="has a sole, but contact models support only points"):
        ff.Simulation(biped)
    with pytest.raises(ModelError, match="sole of foot 'x' must have positive sides"):
        FlatFoot(name="x", link="torso", position=np.zeros(3), sole=(0.2, 0.0))


def test_soles_are_no_points_unless_three_rows_are_meant(biped):
    q, v = biped.state()
    tau, stands, rows = np.zeros(biped.nj), np.array([1.0, 0.0]), np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    for ask in (
        lambda: ff.dynamics.constrained_dynamics(biped, q, v, tau, stands),
        lambda: ff.dynamics.ModeCoordinates.at(biped, q, stands),
        lambda: ff.sim.hybrid_run(biped, q, v, "flight", 0.01),
    ):
        with pytest.raises(InputError, match="has a sole, which is constrained by six rows"):
            ask()
    a, _ = ff.dynamics.constrained_dynamics(biped, q, v, tau, rows)
    assert np.abs((ff.kinematics.feet_jacobian(biped, q)[0] @ a)[3:]).max() < 1e-9 * np.abs(a).max()
    assert len(ff.dynamics.ModeCoordinates.at(biped, q, rows).dependent) == 3
    ff.dynamics.constrained_dynamics(biped, q, v, tau, np.zeros(2))  # in flight nothing is held

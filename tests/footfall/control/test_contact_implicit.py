"""Optimal control whose contacts are found: exact slopes, a trot, pushes and a fall without a schedule of feet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from get_up import get_up

import footfall as ff
from footfall import compiling
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.named import nmpc
from footfall.control.optimal.between_solves import lowest_points, read_between
from footfall.control.optimal.gait_goals import GaitGoals, Prices
from footfall.control.optimal.knot import Goal, KnotModel, cost, expanded_cost
from footfall.control.optimal.knot import lowest_points as places_of
from footfall.control.posture import standing_state
from footfall.dynamics.coordinates import integrate
from footfall.errors import InputError
from footfall.kinematics.forward import joint_transforms
from footfall.sim.contact_horizon import ContactHorizon
from footfall.sim.runfile import options_of, plan
from footfall.sim.start import standing_start

ROBOT = ff.load("mini_cheetah")
STAND, REST = standing_state(ROBOT)
MODEL = KnotModel(robot=ROBOT, limits=torque_bounds(ROBOT), low=STAND[7:] - 1.5, high=STAND[7:] + 1.5, price=0.1)


def standing_goals(rows: int) -> Goal:
    """Of so many knots, a little over the stand; feet are drawn to places near theirs."""
    random, feet = np.random.default_rng(3), lowest_points(ROBOT, STAND)
    q = np.tile(STAND, (rows, 1))
    q[:, 2] += 0.02
    return Goal(
        q=q,
        v=np.tile(REST, (rows, 1)),
        weights=random.uniform(0.1, 2.0, (rows, 36)),
        torque=np.zeros((rows, 12)),
        effort=np.full((rows, 12), 1e-3),
        feet=np.tile(feet, (rows, 1, 1)) + 0.01,
        pull=np.full((rows, 4), 50.0),
        down=np.zeros((rows, 4)),
        floor=np.zeros((rows, 4)),
        least=np.full((rows, 4), -0.02),
        interval=np.full(rows, 0.02),
    )


def test_slope_of_a_knots_cost_is_that_of_central_differences():
    goals, random = standing_goals(1), np.random.default_rng(4)
    goal = replace(goals, **{key: getattr(goals, key)[0] for key in vars(goals)})
    x = np.concatenate([integrate(ROBOT, STAND, 0.1 * random.normal(size=18), 1.0), random.normal(size=18)])
    u = 3.0 * random.normal(size=12)
    slope = compiling.compile(expanded_cost, MODEL, x, u, goal, target="interpret", verify=False)(x, u, goal)[0]

    def at(deviation):
        q = integrate(ROBOT, x[:19], deviation[12:30], 1.0)
        moved = np.concatenate([q, x[19:] + deviation[30:]])
        places = places_of(ROBOT, joint_transforms(ROBOT, q))
        return cost(MODEL, moved, u + deviation[:12], goal, [np.zeros(3)] * 4, places)

    h = 1e-5
    found = np.array([(at(h * e) - at(-h * e)) / (2.0 * h) for e in np.eye(48)])
    np.testing.assert_allclose(slope, found, rtol=1e-6, atol=1e-6 * np.abs(found).max())


def test_a_trajectory_is_read_between_its_knots():
    rows = np.array([[0.0, 1.0], [1.0, 3.0], [4.0, 0.0]])
    np.testing.assert_array_equal(read_between(rows, 0.0), rows)
    np.testing.assert_array_equal(read_between(rows, 1.0), rows[[1, 2, 2]])
    np.testing.assert_allclose(read_between(rows, 0.25), [[0.25, 1.5], [1.75, 2.25], [4.0, 0.0]])
    np.testing.assert_allclose(read_between(rows, 1.5), [[2.5, 1.5], [4.0, 0.0], [4.0, 0.0]])


def test_what_cannot_be_is_refused_in_one_sentence():
    with pytest.raises(InputError, match="unknown contact of nmpc 'guessed': choose scheduled, implicit"):
        ff.control.Nmpc(contact="guessed")
    with pytest.raises(InputError, match="plans with the step of a simulation: pass it to a Simulation"):
        ff.control.Nmpc(contact="implicit").prepare(ROBOT, compiling.compile)
    with pytest.raises(InputError, match="plans no contacts of a horizon: it takes no nmpc_contact"):
        plan(ROBOT, options_of({"robot": "mini_cheetah", "controller": "mpc", "nmpc_contact": "implicit"}))


def test_a_run_file_chooses_it():
    made = plan(ROBOT, options_of({"robot": "mini_cheetah", "controller": "nmpc", "nmpc_contact": "implicit"}))
    assert made.simulation.controller.contact == "implicit"
    assert made.simulation.controller.solve_rate == 100.0


@pytest.mark.slow
def test_gradient_of_a_whole_horizon_is_that_of_central_differences():
    problem = ContactHorizon(MODEL, standing_goals(6), compiling.compile)
    random, start = np.random.default_rng(5), np.concatenate([STAND, REST])
    start[2] -= 1e-3  # on soft feet
    holds = GaitGoals.of(MODEL, 5, 0.02, None, None, Prices())
    u = holds.still + 0.25 * holds.loads.sum(axis=0) + random.normal(size=(5, 12))  # it stands, and no foot slides
    gains = np.zeros((5, 12, 36))
    x, _, _ = problem.roll(start, np.tile(start, (6, 1)), u, 0.0 * u, gains, 0.0)
    model = problem.quadratic(x, u)
    ahead, gradient = model.V[-1, :-1], np.zeros_like(u)
    for k in reversed(range(5)):  # through Z and the slopes of L, backwards
        by = model.L[k][-1, :-1] + model.Z[k][:-1, :-1] @ ahead
        gradient[k], ahead = by[:12], by[12:]
    h, off = 1e-6, 0.0
    for k in (0, 2, 4):
        for j in range(12):
            change = np.zeros_like(u)
            change[k, j] = h
            costs = [problem.roll(start, x, u, change, gains, sign)[2] for sign in (1.0, -1.0)]
            off = max(off, abs(gradient[k, j] - (costs[0] - costs[1]) / (2.0 * h)))
    assert off < 1e-5 * np.abs(gradient).max()
    with pytest.raises(InputError, match="a horizon whose contacts are found must last"):
        problem.aim(replace(standing_goals(6), interval=np.full(6, 0.01)))


def walked(seconds, push=(), **command):
    controller = nmpc("trot", contact="implicit")
    start = standing_start(ROBOT, controller)
    simulation = ff.Simulation(ROBOT, controller, start=start, command=ff.Command(**command), pushes=push)
    return simulation, simulation.run(seconds)


@pytest.mark.slow
def test_it_trots_on_contacts_that_are_found():
    simulation, rec = walked(2.0, forward=0.3)
    assert simulation.stopped is None
    assert not simulation.controller.log
    assert not simulation.controller.problem.goals.down.any()  # no foot was said to stand
    half = len(rec.q) // 2
    assert (rec.q[-1, 0] - rec.q[half, 0]) / (rec.time[-1] - rec.time[half]) == pytest.approx(0.3, rel=0.15)
    assert np.abs(rec.q[:, 4:6]).max() < 0.03
    off = rec.force[half:, :, 2] < 1e-9
    assert (off.mean(axis=0) > 0.2).all()
    assert (off[:, 0] & off[:, 3]).mean() > 0.1  # diagonal feet swing together


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.0, 0.3])
def test_a_push_is_caught_by_steps_that_are_found(speed):
    push = [ff.Push(start=0.5, duration=0.1, force=(0.0, 60.0, 0.0))]
    simulation, rec = walked(2.5, push, forward=speed)
    assert np.abs(rec.v[500:700, 4]).max() > 0.25  # it was felt
    assert simulation.stopped is None
    assert (rec.force[500:1200, :, 2] < 1e-9).any(axis=0).all()  # every foot stepped
    assert rec.q[:, 2].min() > 0.25
    assert np.abs(rec.v[-200:, 4]).max() < 0.3
    assert np.abs(rec.q[-1, 4:6]).max() < 0.03


@pytest.mark.slow
def test_a_robot_that_was_pushed_over_gets_up_by_contacts_that_are_found():
    found = get_up()
    assert found.fallen[2] < 0.5 * STAND[2]
    assert found.plan.ended == "converged"
    assert (np.diff(found.plan.costs) < 0).all()
    assert found.seconds < 5.0  # of processor time
    end = found.recording.q[-1]
    assert end[2] == pytest.approx(STAND[2], abs=0.01)
    assert np.abs(end[4:6]).max() < 0.03
    assert (np.abs(found.recording.torque) <= torque_bounds(ROBOT) + 1e-9).all()
    assert found.stays()

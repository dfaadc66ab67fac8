"""The whole robot's knots: derivatives against differences, inequalities kept, gains that bring it back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footfall as ff
from footfall import compiling
from footfall.control.optimal import knot
from footfall.control.optimal.between_solves import lowest_points
from footfall.control.optimal.gait_goals import GaitGoals, GaitState, Prices
from footfall.control.optimal.horizon import HorizonProblem, row_of
from footfall.dynamics.coordinates import difference, integrate
from footfall.gait.pattern import trot

ROBOT = ff.load("mini_cheetah")
KNOTS, KNOT = 25, 0.02


@pytest.fixture(scope="module")
def made():
    """(goals' maker, problem of a trot at 0.3 m/s, its start)."""
    stand, still = ff.control.standing_state(ROBOT)
    limits = np.array([actuator.torque_limit for actuator in ROBOT.actuators])
    model = knot.KnotModel(robot=ROBOT, limits=limits, low=stand[7:] - 1.5, high=stand[7:] + 1.5, price=0.1)
    maker = GaitGoals.of(model, KNOTS, KNOT, None, None, Prices())
    goals = maker(trot(duty=0.6), steps(stand, still, 0.3))
    return maker, HorizonProblem(model, goals, compiling.compile), np.concatenate([stand, still])


def steps(q, v, forward, going=True):
    feet = lowest_points(ROBOT, q)
    cycle = 0.13 - np.array([0.0, 0.5, 0.5, 0.0])
    return GaitState(
        x=np.concatenate([q, v]),
        pose_des=np.zeros(3),
        velocity=np.array([forward, 0.0, 0.0]),
        v_mean=np.array([forward, 0.0]),
        cycle=cycle,
        is_walking=going,
        feet=feet,
        lift_off=feet,
        plane=np.zeros(3),
        time_left=0.5 * KNOT,
    )


def extrapolated(f, x, h):
    """Central differences, their error of second order taken out."""
    rough, fine = ((f(x + d) - f(x - d)) / (2 * d) for d in (h, 0.5 * h))
    return (4.0 * fine - rough) / 3.0


@pytest.mark.parametrize("where", ["stance", "swing", "at its limits", "straight legs"])
def test_a_knot_moves_as_its_model_says(made, where):
    _, problem, start = made
    model, random = problem.model, np.random.default_rng(3)
    x, u = start.copy(), 2.0 * random.normal(size=ROBOT.nj)
    x[7:19] += 0.1 * random.normal(size=12)
    x[19:] = 0.3 * random.normal(size=18)
    goal = row_of(problem.goals, 1)
    if where == "stance":
        goal = replace(goal, down=np.ones(4))
    if where == "at its limits":
        u[:4], x[8] = 0.99 * model.limits[:4], model.high[1] - 0.01
    if where == "straight legs":
        x[9::3] = 0.0
    nq, nv, nj = ROBOT.nq, ROBOT.nv, ROBOT.nj
    ends = np.concatenate(knot.interval(model, x, u, goal)[:2])

    def moved(along):
        def at(h):
            q = integrate(ROBOT, x[:nq], h * along[nj : nj + nv], 1.0)
            there, torque = np.concatenate([q, x[nq:] + h * along[nj + nv :]]), u + h * along[:nj]
            q_after, v_after, forces, places = knot.interval(model, there, torque, goal)
            total = knot.cost(model, there, torque, goal, forces, places)
            return np.concatenate([difference(ROBOT, ends[:nq], q_after)[:6], v_after, [total]])

        return at

    rows = [np.stack([a, a]) for a in (x, u)]
    both = type(goal)(**{k: np.stack([v, v]) for k, v in vars(goal).items()})
    terms = problem._expand(*rows, both, np.stack([ends, ends]))
    for _ in range(12):
        along = random.normal(size=nj + 2 * nv)
        found = extrapolated(moved(along), 0.0, 1e-4)
        said = np.concatenate([terms.motion[0].T @ along, [terms.gradient[0] @ along]])
        assert np.abs(found - said).max() < 1e-5 * (1.0 + np.abs(found).max())


def test_the_slope_of_a_whole_horizon_is_that_of_its_roll(made):
    _, problem, start = made
    random = np.random.default_rng(1)
    u = problem.goals.torque[:-1] + 0.1 * random.normal(size=(KNOTS, ROBOT.nj))
    still = np.zeros((KNOTS, ROBOT.nj, 36))
    x, _, _ = problem.roll(start, np.tile(start, (KNOTS + 1, 1)), u, 0.0 * u, still, 0.0)
    model, m = problem.quadratic(x, u).assembled, ROBOT.nj
    slope, down = np.zeros_like(u), model.V[:-1, -1]
    for k in reversed(range(KNOTS)):
        whole = model.L[k][:-1, -1] + model.Z[k][:-1, :-1] @ down
        slope[k], down = whole[:m], whole[m:]
    along = random.normal(size=u.shape)
    found = extrapolated(lambda h: problem.roll(start, x, u, along, still, h)[2], 0.0, 1e-4)
    assert found == pytest.approx(np.sum(slope * along), rel=1e-5)

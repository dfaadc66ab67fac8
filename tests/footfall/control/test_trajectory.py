"""Differential dynamic programming: exact gradients, falling costs, limits kept, and a robot that jumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from bound_plan import CYCLE, bounds, find_bound
from hypothesis import given, settings
from hypothesis import strategies as st
from jump import find_jump, jump_onto_box, soft_ground

import footfall as ff
from footfall.contact.compliant import Compliant
from footfall.control.optimal.follow import Follow
from footfall.control.optimal.lqr import regulate
from footfall.control.optimal.sweep import box_minimum
from footfall.control.optimal.trajectory import Expansion, Trajectory, improve, optimise
from footfall.errors import InputError
from footfall.robot import library
from footfall.sim.linearization import step_state
from footfall.sim.step_problem import Reference, StepProblem
from footfall.sim.world import World


class Flat:
    """A problem in flat space with a quadratic cost: x' = step, cost Σ ½ xᵀQx + ½ uᵀRu + ½ x_NᵀSx_N about a goal."""

    def __init__(self, Q, R, S, goal, limit):
        self.Q, self.R, self.S, self.goal = Q, R, S, goal
        self.high = np.full(len(R), limit)
        self.low = -self.high

    def difference(self, x_from, x_to):
        return x_to - x_from

    def cost(self, x, u):
        e = x - self.goal
        running = np.einsum("cki,ij,ckj->c", e[:, :-1], self.Q, e[:, :-1]) + np.einsum("cki,ij,ckj->c", u, self.R, u)
        return 0.5 * (running + np.einsum("ci,ij,cj->c", e[:, -1], self.S, e[:, -1]))

    def expand(self, x, u):
        xx = np.concatenate([np.broadcast_to(self.Q, (len(u), *self.Q.shape)), self.S[None]])
        slopes = np.einsum("kij,kj->ki", xx, x - self.goal)
        return Expansion(slopes, xx, u @ self.R, np.broadcast_to(self.R, (len(u), *self.R.shape)))


class Linear(Flat):
    def __init__(self, A, B, *rest):
        super().__init__(*rest)
        self.A, self.B = A, B

    def step(self, x, u):
        return x @ self.A.T + u @ self.B.T

    def linearise(self, x, u):
        return np.broadcast_to(self.A, (len(u), *self.A.shape)), np.broadcast_to(self.B, (len(u), *self.B.shape))


class Pendulum(Flat):
    """A damped pendulum, 0 hanging: too weak a motor to lift it at once."""

    dt = 0.05

    def step(self, x, u):
        rate = x[:, 1] + self.dt * (u[:, 0] - np.sin(x[:, 0]) - 0.01 * x[:, 1])
        return np.stack([x[:, 0] + self.dt * rate, rate], axis=1)

    def linearise(self, x, u):
        A, B = np.zeros((len(u), 2, 2)), np.zeros((len(u), 2, 1))
        A[:, 1, 0], A[:, 1, 1], B[:, 1, 0] = -self.dt * np.cos(x[:, 0]), 1 - 0.01 * self.dt, self.dt
        A[:, 0], B[:, 0] = self.dt * A[:, 1], self.dt * B[:, 1]
        A[:, 0, 0] += 1.0
        return A, B


@given(seed=st.integers(0, 10**6), m=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_least_point_of_a_box_satisfies_its_conditions(seed, m):
    random = np.random.default_rng(seed)
    root = random.normal(size=(m, m))
    H, g = root @ root.T + 0.1 * np.eye(m), 3.0 * random.normal(size=m)
    low, high = -random.uniform(0, 1, m), random.uniform(0, 1, m)
    d, free = box_minimum(H, g, low, high)
    slope = g + H @ d
    assert ((d >= low) & (d <= high)).all()
    assert np.abs(slope[free]).max(initial=0.0) < 1e-8
    assert (slope[d == low] >= -1e-8).all()
    assert (slope[d == high] <= 1e-8).all()


def test_a_knot_without_a_minimum_is_said_so():
    assert box_minimum(-np.eye(2), np.ones(2), -np.ones(2), np.ones(2)) is None


def test_linear_problem_is_solved_in_a_few_iterations_with_the_gains_of_the_regulator():
    random = np.random.default_rng(1)
    A, B = np.eye(3) + 0.3 * random.normal(size=(3, 3)), random.normal(size=(3, 2))
    best = regulate(A, B, np.eye(3), np.eye(2))
    problem = Linear(A, B, np.eye(3), np.eye(2), best.P, np.zeros(3), np.inf)
    start = np.ones(3)
    found = optimise(problem, start, np.zeros((30, 2)), iterations=8)
    assert found.cost == pytest.approx(0.5 * start @ best.P @ start, rel=1e-9)
    assert len(found.costs) <= 9
    assert found.costs[1] < 1.1 * found.cost  # the first one lacks but its regularisation
    assert np.abs(found.gains + best.K).max() < 1e-4 * np.abs(best.K).max()  # regularised ever less


def test_limited_problem_costs_what_a_general_solver_finds():
    A, B = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.005], [0.1]])
    problem = Linear(A, B, 0.1 * np.eye(2), 0.01 * np.eye(1), 10 * np.eye(2), np.array([1.0, 0.0]), 1.0)

    def total(u):
        x = [np.zeros(2)]
        for a in u:
            x.append(problem.step(x[-1][None], np.array([[a]]))[0])
        return problem.cost(np.array(x)[None], np.reshape(u, (1, -1, 1)))[0]

    found = optimise(problem, np.zeros(2), np.zeros((25, 1)), tolerance=1e-9)
    other = scipy.optimize.minimize(
        total,
        np.zeros(25),
        bounds=[(-1, 1)] * 25,
        options={"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10},
    )
    assert found.cost == pytest.approx(other.fun, rel=1e-5)
    assert np.abs(found.u).max() == 1.0  # the limit is felt
    assert found.ended == "converged"


def test_weak_pendulum_swings_up_within_its_limit_and_the_cost_only_falls():
    problem = Pendulum(np.diag([0.02, 0.01]), 0.05 * np.eye(1), np.diag([200.0, 50.0]), np.array([np.pi, 0.0]), 0.5)
    guess = 0.1 * np.sin(np.arange(200) * Pendulum.dt)[:, None]
    found = optimise(problem, np.zeros(2), guess, iterations=300)
    assert np.abs(found.x[-1] - [np.pi, 0.0]).max() < 0.05
    assert np.abs(found.u).max() <= 0.5
    assert (np.diff(found.costs) < 0).all()
    for k in range(200):  # what is returned is a motion of the step's own
        assert np.array_equal(problem.step(found.x[k : k + 1], found.u[k : k + 1])[0], found.x[k + 1])


def test_bad_guesses_are_refused():
    problem = Linear(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(1), np.eye(2), np.zeros(2), 1.0)
    for guess in (np.zeros((0, 1)), np.zeros(5), np.full((5, 1), np.nan), np.zeros((5, 2))):
        with pytest.raises(InputError, match="first guess"):
            optimise(problem, np.zeros(2), guess)


# -- robots ------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def short():
    """Eight knots of a standing Mini Cheetah that is asked to rise, on soft feet, and its start."""
    robot = library.load("mini_cheetah")
    sim = ff.Simulation(robot, contact=soft_ground(robot))
    sim.run(0.5)
    random, knots = np.random.default_rng(0), 8
    goal = np.tile(sim.q, (knots + 1, 1))
    goal[:, 2] += 0.05
    goal[:, 3:7] = [np.cos(0.3), np.sin(0.3), 0.0, 0.0]  # far off, so that the rotation vector's own slope matters
    torque = np.tile(sim.state.motor, (knots, 1))
    reference = Reference(
        goal, np.zeros((knots + 1, 18)), random.uniform(0.1, 2.0, (knots + 1, 36)), torque, np.full(12, 1e-3)
    )
    problem = StepProblem(
        World(robot=robot, contact=soft_ground(robot)), reference, 1e-3, 5, 0.2, free=["contact.stiffness"]
    )
    return problem, np.concatenate([sim.q, sim.v]), torque + random.normal(size=torque.shape)


def rolled(problem, start, u):
    x = [start]
    for each in u:
        x.append(problem.step(x[-1][None], each[None])[0])
    return np.array(x)


def test_gradient_of_the_whole_cost_by_every_torque_is_that_of_central_differences(short):
    problem, start, u = short
    x = rolled(problem, start, u)
    A, B = problem.linearise(x[:-1], u)
    terms = problem.expand(x, u)
    ahead, gradient = terms.x[-1], np.zeros_like(u)
    for k in reversed(range(len(u))):
        gradient[k] = terms.u[k] + B[k].T @ ahead
        ahead = terms.x[k] + A[k].T @ ahead
    h = 1e-5
    for k in range(0, len(u), 3):
        for j in range(12):
            costs = []
            for sign in (h, -h):
                moved = u.copy()
                moved[k, j] += sign
                costs.append(problem.cost(rolled(problem, start, moved)[None], moved[None])[0])
            assert gradient[k, j] == pytest.approx((costs[0] - costs[1]) / (2 * h), abs=1e-5 * np.abs(gradient).max())


def test_one_call_rolls_out_what_single_steps_do(short):
    problem, start, u = short
    random = np.random.default_rng(2)
    about, gains = rolled(problem, start, u), 0.3 * random.normal(size=(len(u), 12, 36))
    off = start + np.concatenate([np.zeros(19), 0.01 * random.normal(size=18)])
    x, done, cost = problem.roll(off, about, u, np.ones_like(u), gains, 0.25)
    asked = u + 0.25 + np.einsum("kij,kj->ki", gains, problem.difference(about[:-1], x[:-1]))
    np.testing.assert_allclose(done, np.clip(asked, problem.low, problem.high), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(x, rolled(problem, off, done), rtol=1e-9, atol=1e-11)
    assert cost == pytest.approx(float(problem.cost(x[None], done[None])[0]), rel=1e-12)


def test_an_iteration_from_a_state_nearby_costs_less_than_following_there(short):
    problem, start, u = short
    found = optimise(problem, start, u, iterations=2)
    off = start + np.concatenate([np.zeros(19), np.full(18, 0.02)])
    better = improve(problem, found, off)
    assert np.array_equal(better.x[0], off)
    followed, after = better.costs
    assert after < followed
    assert after == pytest.approx(float(problem.cost(better.x[None], better.u[None])[0]), rel=1e-12)


def test_worlds_that_differ_in_free_parameters_alone_share_what_is_compiled(short):
    problem, start, u = short
    world = problem.moves.model.world
    harder = replace(world, contact=replace(world.contact, stiffness=1.4 * world.contact.stiffness))
    other = problem.aiming_at(problem.reference, harder)
    got = other.step(start[None], u[:1])[0]
    command = ff.JointCommand(0.0, 0.0, 0.0, 0.2, u[0]).broadcast(12)
    q, v = step_state(replace(problem.moves.model, world=harder), start[:19], start[19:], {}, command, np.zeros(6))
    np.testing.assert_allclose(got, np.concatenate([q, v]), rtol=1e-7, atol=1e-9)
    assert np.abs(got - problem.step(start[None], u[:1])[0]).max() > 1e-6
    with pytest.raises(InputError, match="differs in more than contact"):
        problem.aiming_at(problem.reference, replace(world, contact=replace(world.contact, damping=1.0)))


def test_simulation_that_follows_a_trajectory_repeats_it_open_loop_and_with_gains(short):
    problem, start, u = short
    found = optimise(problem, start, u, iterations=3)
    assert (np.diff(found.costs) < 0).all()
    assert np.abs(found.u).max() <= problem.high.max()
    for feedback in (False, True):
        follow = Follow.of(found, problem.high, problem.damping, 200.0, feedback)
        sim = ff.Simulation(problem.robot, follow, contact=soft_ground(problem.robot), start=(start[:19], start[19:]))
        assert sim.controller_is_compiled
        rec = sim.run(0.04)
        assert np.abs(rec.q - found.x[1:, :19]).max() < 1e-9


def test_follow_and_reference_are_checked_against_the_robot(short):
    problem, start, u = short
    held = Trajectory(rolled(problem, start, u), u, np.zeros((len(u), 12, 36)))
    with pytest.raises(InputError, match="a robot other than 'spined'"):
        Follow.of(held, problem.high, 0.0, 200.0).start(library.load("spined"))
    ref = problem.reference
    with pytest.raises(InputError, match=r"weights of a reference of 8 knots must be finite and of shape \(9, 36\)"):
        problem.aiming_at(Reference(ref.q, ref.v, ref.weights[:, :5], ref.torque, ref.effort))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mini_cheetah", "xiling"])
def test_robot_jumps_lands_and_stands_within_its_motors_limits(name):
    jump = find_jump(name)
    assert jump.rise.max() > 0.245  # of 25 cm
    assert (np.abs(jump.trajectory.u) <= jump.problem.high).all()
    for search in jump.searches:
        assert (np.diff(search.costs) < 0).all()
    assert jump.searches[-1].on == "the default ground"
    assert jump.seconds < 5.0  # of processor time; 2 s on a core of its own, 50 s before
    assert jump.trajectory.ended == "converged"
    assert jump.problem.moves.model.world.contact == Compliant()
    rec = jump.replay()
    forces = rec.force[:, :, 2]
    flying = (forces < 1e-9).all(axis=1)
    assert 0.15 < flying.mean() * rec.time[-1] < 0.6  # seconds without any foot on the ground
    assert (np.abs(rec.torque) <= jump.problem.high + 1e-9).all()
    assert np.abs(rec.q[:, 2] - jump.stand[2]).max() > 0.245
    assert abs(rec.q[-1, 2] - jump.stand[2]) < 0.02
    assert jump.stays(rec, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("solving", [True, False])
def test_a_jump_onto_a_box_of_20_cm_is_planned_in_seconds_and_stands_on_it(solving):
    jump = jump_onto_box(solving=solving)
    assert jump.plan.seconds < 10.0
    assert jump.plan.trajectory.ended == "converged"
    assert jump.rose == pytest.approx(0.2, abs=0.02)
    end = jump.recording.q[-1]
    assert np.abs(end[4:6]).max() < 0.05  # level
    assert end[0] - jump.stand[0] == pytest.approx(0.7, abs=0.05)
    assert np.abs(jump.recording.v[-1]).max() < 0.5


@pytest.mark.slow
def test_a_bound_is_found_that_repeats_itself_and_nmpc_runs_it():
    bound = find_bound(speed=0.8)
    assert bound.seconds < 5.0  # of processor time
    assert bound.gaps[-1] < 0.02 < bound.gaps[0]  # a cycle ends as it began, which the first search's does not
    assert bound.mean_speed == pytest.approx(0.8, rel=0.05)
    assert 0.2 < bound.flights() < 0.4
    assert np.ptp(2.0 * bound.trajectory.x[:CYCLE, 5]) > 0.1  # it pitches [rad]
    rec = bounds(bound)
    assert rec.time[-1] == pytest.approx(2.4, abs=0.01)  # six cycles, and no fall
    assert rec.q[-1, 0] / rec.time[-1] == pytest.approx(0.8, rel=0.1)
    off = rec.force[:, :, 2] < 1e-9
    assert off.all(axis=1).mean() > 0.2  # in the air
    assert (off[:, 0] == off[:, 1]).mean() > 0.9  # fore legs together
    assert (off[:, 2] == off[:, 3]).mean() > 0.9  # hind legs together
    assert rec.q[:, 2].min() > 0.25


def test_stance_contact_whose_feet_a_knot_does_not_remember_is_refused():
    robot = library.load("mini_cheetah")
    q, v, still = *robot.state("stand"), np.zeros((1, robot.nj))
    aim = Reference(np.stack([q, q]), np.stack([v, v]), np.ones((2, 2 * robot.nv)), still, np.ones(robot.nj))
    with pytest.raises(InputError, match="stance contact"):
        StepProblem(World(robot=robot, contact=ff.contact.Stance()), aim)

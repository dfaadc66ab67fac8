"""Predictive control by sampling: its splines and averages, its rollouts, and what robots do under it."""

from typing import ClassVar

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer

import footfall as ff
from footfall.control import Moment, PlanningTask, Sampling
from footfall.errors import FootfallError, InputError
from footfall.sim.sampling import (
    METHODS,
    SPLINES,
    ControllerParameters,
    CudaRollouts,
    average,
    feedback_gains,
    planning_contact,
    predict,
    rollout,
    spline_weights,
)
from footfall.sim.sampling_tasks import TASKS, GetUp, Hop, Walk, task_named

CHEETAH = ff.load("mini_cheetah")
STAND = CHEETAH.poses["stand"].height


def still(robot, now):
    return 100.0 * (now.q[2] - STAND) ** 2 + np.sum(now.v[:3] ** 2) + 0.2 * np.sum(now.target**2)


def standing(controller, robot=CHEETAH, **options):
    return ff.Simulation(robot, controller, start=ff.control.standing_state(robot), **options)


# -- splines and averages ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", SPLINES)
def test_weights_of_a_spline_add_up_to_one_and_take_knots_at_their_times(kind):
    times = np.linspace(0.0, 0.399, 37)
    assert np.allclose(spline_weights(times, 6, 0.08, kind).sum(axis=1), 1.0)
    assert np.allclose(spline_weights(0.08 * np.arange(5), 6, 0.08, kind), np.eye(6)[:5], atol=1e-7)


def test_cubic_splines_are_exact_for_parabolas_between_inner_knots():
    times, knots = np.linspace(0.081, 0.239, 20), (0.08 * np.arange(6)) ** 2
    assert np.allclose(spline_weights(times, 6, 0.08, "cubic") @ knots, times**2, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_an_average_does_not_depend_on_the_order_of_samples_and_prefers_the_best(method):
    random = np.random.default_rng(1)
    knots, costs = random.normal(size=(64, 6, 12)).astype(np.float32), random.uniform(1.0, 2.0, 64)
    order = random.permutation(64)
    one = average(method, costs, knots, 0.2, 4)
    assert np.allclose(one, average(method, costs[order], knots[order], 0.2, 4), atol=1e-6)
    best = knots[np.argmin(costs)]
    assert np.linalg.norm(one - best) < np.linalg.norm(knots.mean(axis=0) - best)


def test_mppi_becomes_the_best_sample_as_its_temperature_falls():
    random = np.random.default_rng(2)
    knots, costs = random.normal(size=(64, 6, 12)).astype(np.float32), random.uniform(size=64)
    assert np.allclose(average("mppi", costs, knots, 1e-6, 4), knots[np.argmin(costs)])


# -- rollouts ----------------------------------------------------------------------------------------------------------
def test_a_rollout_is_the_sum_of_the_costs_of_the_steps_that_are_predicted():
    controller = Sampling(still, knots=4)
    sim = standing(controller)
    sim.run(0.01)
    planner, nj = controller._planner, CHEETAH.nj
    knots = 0.1 * np.random.default_rng(3).normal(size=(7, 4, nj))
    weights = spline_weights(0.01 * (np.arange(planner.horizon) + 0.5), 4, planner.interval, "cubic")
    rest = np.zeros(0, np.float32), np.float32(0.0), np.zeros(6, np.float32), ()
    found = planner.rollout(*(x.astype(np.float32) for x in (sim.q, sim.v, knots, weights)), *rest)
    for k in range(2):
        assert rollout(planner.model, sim.q, sim.v, knots[k], weights, *rest) == pytest.approx(
            float(found[k]), rel=2e-3
        )
    (q, v, _), (path, _) = predict(planner.model, sim.q, sim.v, weights @ knots[0], 0.0, np.zeros(6), ())
    assert np.isfinite(v).all()
    assert np.array_equal(path[-1], q)


def test_feedback_gains_are_the_derivative_of_the_average_by_the_state():
    random = np.random.default_rng(5)
    knots, costs, slopes = random.normal(size=(40, 3, 2)), random.uniform(size=40), random.normal(size=(40, 4))

    def mean(x):
        weights = np.exp(-(costs + slopes @ x) / 0.5)
        return np.tensordot(weights / weights.sum(), knots, 1)

    gains, step = feedback_gains(costs, knots, slopes, 0.5), 1e-5
    for k, x in enumerate(step * np.eye(4)):
        assert np.allclose(gains[..., k], (mean(x) - mean(-x)) / (2.0 * step), atol=1e-8)


def test_planning_contact_is_as_stiff_as_the_robot_is_heavy():
    heavy = CHEETAH.replace({"trunk.mass": CHEETAH.parameter("trunk.mass") + CHEETAH.mass})
    assert planning_contact(heavy).stiffness == pytest.approx(2.0 * planning_contact(CHEETAH).stiffness)


# -- robots ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["mini_cheetah", "xiling", pytest.param("dynakat", marks=pytest.mark.slow)])
def test_robots_of_any_size_walk_as_fast_as_commanded(name):
    robot = ff.load(name)
    speed = 0.4 if name != "dynakat" else 0.25
    sim = standing(Sampling(Walk(robot=robot), seed=1), robot, command=ff.Command(forward=speed))
    rec = sim.run(3.0)
    assert sim.stopped is None
    assert rec.mean_velocity(after=1.0)[0] == pytest.approx(speed, rel=0.15)
    assert np.abs(np.degrees(rec.trunk_euler())).max() < 15.0


@pytest.mark.slow
@pytest.mark.parametrize("command", [{"sideways": 0.2}, {"turn": 0.5}, {"forward": -0.3}])
def test_it_walks_sideways_turns_and_walks_backwards(command):
    rec = standing(Sampling(Walk(robot=CHEETAH), seed=2), command=ff.Command(**command)).run(4.0)
    wanted = [command.get(key, 0.0) for key in ("forward", "sideways", "turn")]
    assert np.allclose(rec.mean_velocity(after=1.5), wanted, atol=0.06)


def test_a_heavier_robot_on_slippery_ground_walks_under_the_plans_of_the_nominal_one():
    heavy = CHEETAH.replace({"trunk.mass": 1.3 * CHEETAH.parameter("trunk.mass")})
    controller = Sampling(Walk(robot=CHEETAH), model=CHEETAH, seed=1)
    sim = standing(controller, heavy, ground=ff.contact.Plane(friction=0.5), command=ff.Command(forward=0.4))
    assert sim.run(3.0).mean_velocity(after=1.0)[0] == pytest.approx(0.4, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_it_gets_up_from_its_back_its_sides_and_its_belly(seed):
    task = GetUp(robot=CHEETAH)
    controller = Sampling(task, seed=seed)
    sim = ff.Simulation(CHEETAH, controller, start=task.start_state(CHEETAH, seed), **task.simulation_options)
    rec = sim.run(4.0)
    upright = 1.0 - 2.0 * (rec.q[-1, 4] ** 2 + rec.q[-1, 5] ** 2)
    assert upright > 0.95
    assert rec.q[-1, 2] == pytest.approx(STAND, abs=0.04)


@pytest.mark.slow
def test_it_hops():
    rec = standing(Sampling(Hop(robot=CHEETAH))).run(3.0)
    lowest = (rec.foot_positions[:, :, 2] - CHEETAH.feet[0].radius).min(axis=1)
    assert 0.07 < lowest.max() < 0.2


# -- what a plan holds, and how it is made ---------------------------------------------------------------------------
def crouches(seconds=1.0, **options):
    """Return how far from a crouch of 5 cm a robot ends that is planned for."""

    def low(robot, now):
        return 300.0 * (now.q[2] - STAND + 0.05) ** 2 + np.sum(now.v[:3] ** 2) + 0.02 * np.sum(now.target**2)

    sim = standing(Sampling(low, samples=64, knots=4, **options))
    sim.run(seconds)
    return abs(float(sim.q[2]) - STAND + 0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"spline": "zero"},
        {"spline": "linear", "method": "cem", "iterations": 2},
        {"feedback": 8},
        {"noise": np.linspace(0.05, 0.3, 4)[:, None], "seconds": 1.5},  # little noise at first: it goes down slowly
        {"planned": "torques", "noise": 0.05},
    ],
    ids=["zero", "cem", "feedback", "noise per knot", "torques"],
)
def test_it_crouches_whatever_a_plan_holds_and_however_it_is_made(options):
    assert crouches(**options) < 0.03


def test_it_plans_numbers_of_any_traced_controller():
    def fast(robot, now):
        return 10.0 * (now.v[3] - 0.3) ** 2 + 5.0 * now.v[2] ** 2 + 0.01 * now.target[0] ** 2

    trot = ff.control.JointPD.tuned(CHEETAH, "trot")
    stride = ControllerParameters(trot, ("command.forward",), scale=(0.3,))
    planner = Sampling(fast, planned=stride, samples=32, knots=5, noise=0.5)
    sim = standing(planner, command=ff.Command())
    assert sim.run(3.0).mean_velocity(after=1.5)[0] == pytest.approx(0.3, abs=0.12)


def test_parameters_that_a_controller_does_not_have_are_refused():
    trot = ff.control.JointPD.tuned(CHEETAH, "trot")
    with pytest.raises(InputError, match="did you mean"):
        ControllerParameters(trot, ("command.forwards",))
    with pytest.raises(InputError, match=r"controller\.strid"):
        ControllerParameters(trot, ("strid",))


def test_the_terminal_value_counts_once_at_the_end():
    class Ends(PlanningTask):
        def cost(self, robot, now):
            return 0.0 * now.q[2]

        def terminal(self, robot, now):
            return now.q[2] + 0.0 * now.target[0]

    controller = Sampling(Ends(), samples=16)
    sim = standing(controller)
    sim.run(0.005)
    planner = controller._planner
    weights = np.zeros((5, controller.knots))
    rest = np.zeros(0), 0.0, np.zeros(6), ()
    found = rollout(planner.model, sim.q, sim.v, np.zeros((controller.knots, CHEETAH.nj)), weights, *rest)
    (q, _, _), _ = predict(planner.model, sim.q, sim.v, np.zeros((5, CHEETAH.nj)), 0.0, np.zeros(6), ())
    assert found == pytest.approx(q[2], rel=1e-12)


# -- a controller like any other ---------------------------------------------------------------------------------------
def test_a_run_repeats_bit_for_bit_by_its_seed():
    first, again, other = (standing(Sampling(still, samples=32, seed=s)).run(0.2).q for s in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_plan_takes_effect_one_period_after_the_state_it_was_made_from():
    controller = Sampling(lambda robot, now: (now.q[2] - STAND + 0.1) ** 2, samples=64)
    standing(controller).run(0.001)
    memory, sensed = controller.start(CHEETAH), ff.Simulation(CHEETAH).sensed
    _, after = controller(0.0, CHEETAH, sensed, ff.Command(), memory)
    assert after["next_from"] == pytest.approx(0.02)
    assert np.array_equal(after["knots"], memory["knots"])
    assert np.abs(after["next"]).max() > 0.0
    _, late = controller(0.02, CHEETAH, sensed, ff.Command(), {**after, "tick": 1})
    assert np.array_equal(late["knots"], after["next"])


def test_a_robot_whose_cost_is_never_finite_stands_and_says_so():
    controller = Sampling(lambda robot, now: np.nan * now.q[2], samples=16)
    sim = standing(controller)
    sim.run(0.5)
    assert sim.stopped is None
    assert abs(sim.q[2] - STAND) < 0.02  # it sags under its joint gains
    assert [message for _, message in controller.log] == ["no sample has a finite cost: the joints go to the posture"]


def test_costs_that_cannot_be_used_are_refused_with_a_sentence():
    with pytest.raises(InputError, match=r"must return one number, got shape \(12,\)"):
        standing(Sampling(lambda robot, now: now.target)).run(0.01)
    with pytest.raises(InputError, match="raised AttributeError"):
        standing(Sampling(lambda robot, now: now.no_such_thing)).run(0.01)
    with pytest.raises(FootfallError, match=r"np\.where"):
        standing(Sampling(lambda robot, now: 1.0 if now.q[2] > 0.2 else 0.0)).run(0.01)


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"samples": 1}, "samples"),
        ({"method": "mpp"}, "did you mean"),
        ({"spline": "quintic"}, "spline"),
        ({"plan_rate": 30.0}, "multiple"),
        ({"kp": float("nan")}, "kp"),
        ({"temperature": -1.0}, "temperature"),
        ({"noise": (0.1, float("nan"))}, "noise"),
        ({"planned": "torque"}, "did you mean"),
        ({"feedback": -1}, "feedback"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, culprit):
    with pytest.raises(InputError, match=culprit):
        Sampling(still, **options)


def test_a_task_is_not_a_number():
    with pytest.raises(InputError, match=r"cost\(robot, now\)"):
        Sampling(3.0)


def test_a_user_defined_task_has_a_goal_and_settings_of_its_own():
    class Crouch(PlanningTask):
        settings: ClassVar = {"samples": 64, "knots": 4}

        def cost(self, robot, now: Moment):
            return 300.0 * (now.q[2] - now.goal[0]) ** 2 + np.sum(now.v[:3] ** 2) + 0.01 * np.sum(now.torque**2)

        def goal(self, t, q, v, command, memory):
            return np.array([STAND - 0.06]), memory

    controller = Sampling(Crouch())
    assert (controller.samples, controller.knots) == (64, 4)
    sim = standing(controller)
    sim.run(1.0)
    assert sim.q[2] == pytest.approx(STAND - 0.06, abs=0.02)


@pytest.mark.parametrize("name", TASKS)
def test_tasks_have_names(name):
    assert type(task_named(name, CHEETAH)) is TASKS[name]


def test_tasks_need_four_feet_and_unknown_ones_are_answered_with_the_nearest():
    with pytest.raises(InputError, match="walk"):
        task_named("walks", CHEETAH)
    with pytest.raises(InputError, match="four feet"):
        task_named("walk", ff.load("biped"))


# -- threads and the GPU -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{"threads": 2}, {"background": True}], ids=["threads", "background"])
def test_threads_give_the_bits_of_one(options):
    one, other = (standing(Sampling(still, samples=40, seed=3, **given)).run(0.1).q for given in ({}, options))
    assert np.array_equal(one, other)


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_rollouts_on_a_gpu_give_the_costs_of_lanes(tmp_path):
    controller = Sampling(Walk(robot=CHEETAH), knots=3, samples=8)
    sim = standing(controller)
    sim.run(0.005)
    planner, n = controller._planner, 8
    task = planner.model.task
    goal = controller.goal_now(task.goal(0.0, sim.q, sim.v, ff.Command(), task.start(CHEETAH))[0])
    weights = spline_weights(0.01 * np.arange(planner.horizon), 3, planner.interval, "cubic")
    knots = np.float32(0.1 * np.random.default_rng(3).normal(size=(n, 3, 12)))
    shared = weights, goal, 0.1, np.zeros(6), ()
    kernel = CudaRollouts(planner.model, sim.q, sim.v, knots[0].astype(float), *shared)
    library = emulate(kernel.program, kernel.layout, np.float32, tmp_path)
    rest, out = np.ascontiguousarray(knots.reshape(n, -1).T), np.zeros((1, n), np.float32)
    library.run_evaluate(None, pointer(rest), pointer(kernel.numbers(sim.q, sim.v, *shared)), pointer(out), n)
    singles = [np.asarray(x, np.float32) if np.size(x) else x for x in shared]
    lanes = planner.rollout(np.float32(sim.q), np.float32(sim.v), knots, *singles)
    assert np.allclose(out[0], lanes, rtol=1e-3)

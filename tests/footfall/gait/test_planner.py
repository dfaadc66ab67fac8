"""Laws of motion plans: body and feet together, continuous, half steps at both ends, standing feet that stay."""

import math

import numpy as np
import pytest

from footfall import gait
from footfall.control.joint.plan_follower import (
    PlanFollower,
    load_shares,
    planned_joints,
    planned_state,
    weight_torques,
)
from footfall.errors import InputError
from footfall.gait.planner import Footprint, Posture, PosturePlan, WalkPlan, plan_walk, standing_postures, yaw_swing
from footfall.kinematics.forward import center_of_mass, foot_positions
from footfall.robot import library
from nptrace import compile as compiled

XILING = library.load("xiling")
PLANS = {
    "trot": plan_walk(XILING, "trot", 0.15, swing_time=0.3),
    "walk": plan_walk(XILING, "walk", 0.12, swing_time=0.3, cycles=4, sway=0.02),
    "sideways": plan_walk(XILING, "trot", 0.0, side=0.08, swing_time=0.3),
    "turning": plan_walk(XILING, "walk", 0.1, side=0.03, turn=0.2, swing_time=0.3, cycles=3),
    "on the spot": plan_walk(XILING, "trot", 0.0, turn=0.3, swing_time=0.25),
    "postures": standing_postures(XILING, move=0.5, hold=0.1),
}


def sampled(plan, rows):
    times = np.linspace(-0.1, plan.duration + 0.1, rows)
    placed = [plan.at(t) for t in times]
    body = np.array([np.concatenate([p.position, p.euler]) for p in placed])
    return times, body, np.array([p.feet for p in placed])


@pytest.mark.parametrize("name", PLANS)
def test_position_and_velocity_are_continuous(name):
    """Jumps shrink with the sampling: by 2 for a continuous function, so both its values and its slopes are."""
    plan = PLANS[name]
    jumps = []
    for rows in (2001, 4001):
        times, body, feet = sampled(plan, rows)
        dt = times[1] - times[0]
        motion = np.concatenate([body, feet.reshape(rows, -1)], axis=1)
        speed = np.diff(motion, axis=0) / dt
        jumps.append((np.abs(np.diff(motion, axis=0)).max(), np.abs(np.diff(speed, axis=0)).max()))
    for coarse, fine in zip(*jumps):
        assert fine < 0.6 * coarse


@pytest.mark.parametrize("name", PLANS)
def test_plan_begins_and_ends_standing(name):
    plan = PLANS[name]
    for t, at in ((0.0, -0.1), (plan.duration, plan.duration + 5.0)):
        before, after = plan.at(t), plan.at(at)
        assert np.abs(before.position - after.position).max() < 1e-12
        assert np.abs(before.feet - after.feet).max() < 1e-12
        places = (before.feet - before.position)[:, :2]
        c, s = math.cos(before.euler[0]), math.sin(before.euler[0])
        own = places @ np.array([[c, -s], [s, c]])
        if not isinstance(plan, PosturePlan):
            assert np.abs(own - plan.footprint.positions).max() < 1e-12
        assert np.all(before.load == 1.0)


@pytest.mark.parametrize("name", ["trot", "walk", "turning", "sideways"])
def test_feet_that_stand_stay(name):
    plan = PLANS[name]
    times, _, feet = sampled(plan, 4001)
    down = np.array([plan.stands(t) for t in times]) > 0.5
    moved = np.abs(np.diff(feet, axis=0)).max(axis=2)
    assert moved[down[1:] & down[:-1]].max() < 1e-15
    assert np.abs(feet[..., 2][down] - 0.025).max() < 1e-15
    lowest = {"trot": 2, "sideways": 2}.get(name, 3)
    assert down.sum(axis=1).min() == lowest
    loads = np.array([plan.at(t).load for t in times])
    assert loads[~down].max() == 0.0
    assert loads.max() == 1.0


def test_trot_starts_and_ends_with_half_steps_of_the_same_duration():
    plan, step = PLANS["trot"], 0.15
    steps = np.diff(plan.footholds[..., 0], axis=1)
    first, second = steps[[1, 2]], steps[[0, 3]]  # RF and LH lift first, LF and RH last
    assert np.abs(first[:, 0] - step / 2).max() < 1e-12
    assert np.abs(first[:, 1:] - step).max() < 1e-12
    assert np.abs(second[:, -1] - step / 2).max() < 1e-12
    assert np.abs(second[:, :-1] - step).max() < 1e-12


def test_body_path_of_a_trot_is_eq_24_set_right():
    plan, L, n, T = PLANS["trot"], 0.15, 5, 0.3

    def x(t):
        if t < T:
            return L * t * t / (4 * T * T)
        if t < (2 * n - 1) * T:
            return L / 4 + L * (t - T) / (2 * T)
        return L * (n - 0.5) - L * (t - 2 * n * T) ** 2 / (4 * T * T)

    for t in np.linspace(0.0, 2 * n * T, 101):
        assert abs(plan.at(plan.rest + t).position[0] - x(t)) < 1e-12
    assert math.isclose(plan.distance, L * (n - 0.5))


def test_first_steps_of_a_walk_are_halves_on_the_average():
    plan = PLANS["walk"]
    steps = np.diff(plan.footholds[..., 0], axis=1)
    assert abs(steps[:, 0].mean() - 0.06) < 0.01
    assert abs(steps[:, -1].mean() - 0.06) < 0.01


def test_turning_plan_ends_on_its_arc():
    plan = plan_walk(XILING, "trot", 0.1, turn=math.pi / 9, cycles=5)
    end = plan.at(plan.duration)
    radius, turned = 0.1 / (math.pi / 9), 4.5 * math.pi / 9
    assert np.abs(end.position[:2] - radius * np.array([math.sin(turned), 1 - math.cos(turned)])).max() < 1e-12
    assert math.isclose(end.euler[0], turned)


def test_walk_keeps_its_centre_of_mass_inside_the_feet_that_stand():
    from footfall.gait.stability import polygon_margin, support_polygon

    plan, worst = plan_walk(XILING, "walk", 0.12, swing_time=0.3, cycles=4, sway=0.03), math.inf
    for t in np.linspace(0.0, plan.duration, 200):
        placed = plan.at(t)
        q = planned_state(XILING, placed, planned_joints(XILING, placed))
        polygon = support_polygon(placed.feet[plan.stands(t) > 0.5])
        worst = min(worst, polygon_margin(polygon, center_of_mass(XILING, q)[:2]))
    assert worst > 0.0


# -- postures ----------------------------------------------------------------------------------------------------------
def test_postures_of_figure_12_are_reached_and_held():
    plan = standing_postures(XILING, move=0.6, hold=0.2)
    wanted = [(0, 0, 0), (0, 0, 5), (0, 0, -5), (0, 10, 0), (0, -10, 0), (20, 0, 0), (-20, 0, 0), (0, 0, 0)]
    for k, angles in enumerate(wanted):
        for t in (0.8 * k, 0.8 * k + 0.2):
            assert np.abs(np.degrees(plan.at(t).euler) - angles).max() < 1e-12


def test_yaw_of_figure_13_takes_its_time():
    plan = yaw_swing(XILING)
    begins = 2 * plan.hold + plan.move
    assert math.isclose(math.degrees(plan.at(begins).euler[0]), -15.0)
    assert math.isclose(math.degrees(plan.at(begins + 0.9).euler[0]), 15.0)


# -- following ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", library.names())
def test_joints_of_a_plan_put_the_feet_in_place(name):
    robot = library.load(name)
    size = robot.poses["stand"].height
    plans = (
        plan_walk(robot, "walk", 0.15 * size, side=0.05 * size, turn=0.1, height=0.1 * size),
        standing_postures(robot, share=0.8),
    )
    for plan in plans:
        for t in np.linspace(0.0, plan.duration, 7):
            placed = plan.at(t)
            q = planned_state(robot, placed, planned_joints(robot, placed))
            order = [robot.foot_index(leg) for leg in gait.LEGS]
            assert np.abs(foot_positions(robot, q)[order] - placed.feet).max() < 1e-9


def test_load_shares_carry_the_weight_under_the_centre():
    feet = np.array([[0.3, 0.2], [0.3, -0.2], [-0.3, 0.2], [-0.3, -0.2]])
    center = np.array([0.05, -0.03])
    for load in (np.ones(4), np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.4, 1.0, 0.7])):
        shares = load_shares(feet, load, center)
        assert abs(shares.sum() - 1.0) < 1e-4
        assert np.abs(shares @ feet - center).max() < 1e-4
        assert np.all(shares[load == 0.0] == 0.0)
    diagonal = load_shares(feet, np.array([1.0, 0.0, 0.0, 1.0]), np.zeros(2))
    assert np.abs(diagonal - [0.5, 0.0, 0.0, 0.5]).max() < 1e-4


def test_weight_torques_hold_the_robot_still():
    from footfall.dynamics.formalisms.constrained import constrained_dynamics

    placed = standing_postures(XILING).at(2.0)
    joints = planned_joints(XILING, placed)
    q, tau = planned_state(XILING, placed, joints), weight_torques(XILING, placed, joints)
    a, forces = constrained_dynamics(XILING, q, np.zeros(18), tau, np.ones(4), damping=1e-9)
    assert np.abs(a).max() < 1e-3
    assert abs(forces[:, 2].sum() - XILING.mass * 9.81) < 1e-3


def test_compiled_plan_is_the_numpy_one():
    for plan in (PLANS["turning"], PLANS["postures"]):
        fast = compiled(lambda t, plan=plan: plan.at(t).__dict__, 0.3, target="interpret")
        for t in (0.0, 0.77, 1.9, 2.6, plan.duration):
            placed = plan.at(t).__dict__
            for key, value in fast(t).items():
                assert np.abs(value - placed[key]).max() < 1e-12


def test_many_times_at_once_are_those_times_one_by_one():
    times = np.linspace(0.0, 3.0, 7)
    for plan in PLANS.values():
        many = plan.at(times)
        for k, t in enumerate(times):
            for key, value in plan.at(t).__dict__.items():
                assert np.abs(getattr(many, key)[..., k] - value).max() < 1e-14


# -- bad input ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: plan_walk(XILING, "moonwalk"), "unknown gait 'moonwalk'"),
        (lambda: plan_walk(XILING, "walk", duty=1.0), "duty"),
        (lambda: plan_walk(XILING, "walk", math.nan), "step of a plan must be finite"),
        (lambda: plan_walk(XILING, "trot", height=-0.1), "height of a plan must be 0 or more"),
        (lambda: plan_walk(XILING, "trot", base_height=-0.5), "height of the base in a plan must be positive"),
        (lambda: plan_walk(XILING, "trot", swing_time=0.0), "swing_time of a plan must be positive"),
        (lambda: plan_walk(XILING, "walk", cycles=1), "needs 2 cycles or more"),
        (lambda: WalkPlan(footprint=Footprint.of(XILING), gait="walk", step=0.1), "a plan needs a Gait"),
        (lambda: plan_walk(XILING, sway=0.02, rest=0.0), "needs a rest"),
        (lambda: Posture(yaw=math.nan), "yaw of a posture must be a finite number"),
        (lambda: PosturePlan(footprint=Footprint.of(XILING), postures=()), "needs at least one Posture"),
        (
            lambda: PosturePlan(footprint=Footprint.of(XILING), postures=(Posture(),), move=-1.0),
            "move of a posture plan",
        ),
        (lambda: Footprint.of(XILING.replace(feet=XILING.feet[:2])), "needs the feet"),
        (lambda: PlanFollower(plan=plan_walk(XILING), kp=-1.0), "kp of PlanFollower must be 0 or more"),
        (lambda: PlanFollower(plan=plan_walk(XILING, base_height=2.0)).start(XILING), "out of reach"),
    ],
)
def test_bad_plans_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()

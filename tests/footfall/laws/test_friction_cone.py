"""Coulomb's law at the steps that users take: impacts, slides, starts and stops of bodies, trots of robots."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from recorded_steps import Steps, recorded_steps, trotted
from simulated_bodies import IDEAL, G, block, resting_depth
from third_party_models import walker

import footfall as ff
from footfall.contact.points import contact_points, spheres_of
from footfall.control.interface import JointCommand
from footfall.control.named import on_command
from footfall.control.posture import with_stand
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.robot import Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.step import step
from footfall.sim.world import World

MASS, HEIGHT = 3.1, 0.02
LAWS = {
    "compliant": ff.contact.Compliant(),
    "complementarity": ff.contact.Complementarity(),
    "static_ratio": ff.contact.Compliant(static_ratio=1.3),
    "per_axis": ff.contact.Compliant(friction="per_axis"),
}
DTS = {2e-4: 0.02, 1e-3: 0.02, 2e-3: 0.05, 4e-3: 0.1}  # step [s]: how far speeds and distances may be off
FRICTIONS = (0.05, 0.17, 0.43, 0.8, 1.2)
OUTSIDE = 1.01  # times its cone a force may be
bodies = pytest.mark.parametrize("feet", [1, 3, 4])
round_laws = pytest.mark.parametrize("law", ["compliant", "complementarity"])
all_laws = pytest.mark.parametrize("law", LAWS)
steps = pytest.mark.parametrize("dt", DTS)


@cache
def body(law: str, feet: int) -> Callable[..., Steps]:
    """A block that one foot carries like a ball that does not turn, or one on three or four feet."""
    return recorded_steps(World(robot=block(feet, MASS, height=HEIGHT), contact=LAWS[law], joints=IDEAL))


def most(law: str) -> float:
    """Friction at its most, in parts of what the ground says."""
    return LAWS[law].static_ratio if law == "static_ratio" else 1.0


def resting(law: str, feet: int, pressed: float = MASS * G, velocity: tuple[float, float] = (0.0, 0.0)) -> State:
    depth = 0.0 if law == "complementarity" else resting_depth(LAWS[law], pressed / feet)
    return State(np.array([0.0, 0.0, HEIGHT - depth, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, *velocity, 0.0]))


def tangent(law: str, impulses: np.ndarray) -> np.ndarray:
    """What friction limits of forces or impulses: the length along the ground, or each axis by itself."""
    return np.abs(impulses[..., :2]).max(-1) if law == "per_axis" else np.hypot(impulses[..., 0], impulses[..., 1])


def check_cone(law: str, run: Steps) -> None:
    """The ground never pulls, and no foot is outside its cone in any step."""
    normal = run.forces[..., 2]
    assert (normal >= 0.0).all()
    assert (tangent(law, run.forces) <= OUTSIDE * most(law) * run.friction * normal + 1e-9).all()


# -- bodies ----------------------------------------------------------------------------------------------------------
IMPACTS = [(2.0, 0.5), (3.0, 0.1), (3.0, 1.0), (0.6, 1.9), (7.0, 0.3)]  # along the ground and down [m/s]


@steps
@bodies
@all_laws
def test_oblique_impact_gives_no_more_than_mu_times_its_normal_impulse(law, feet, dt):
    for mu in FRICTIONS:
        for k, (along, down) in enumerate(IMPACTS):
            q = np.array([0.0, 0.0, HEIGHT + (1e-5, 3e-4, 1.1e-3)[k % 3], 1.0, 0.0, 0.0, 0.0])
            start = State(q, np.array([0.0, 0.0, 0.0, 0.8 * along, 0.6 * along, -down]))
            run = body(law, feet)(start, round(0.06 / dt), dt=dt, friction=mu, gravity=(0.0, 0.0, 0.0))
            check_cone(law, run)
            gained = MASS * (run.velocity() - start.v[3:])
            np.testing.assert_allclose(gained, run.impulse, atol=1e-2 * np.linalg.norm(run.impulse))
            assert gained[2] > 0.5 * MASS * down / feet  # it did land
            assert tangent(law, gained) <= OUTSIDE * most(law) * mu * gained[2]


@steps
@round_laws
def test_oblique_impact_takes_all_that_friction_gives_until_the_slip_ends(law, dt):
    for mu in FRICTIONS:
        for along, down in IMPACTS:
            start = State(resting(law, 1).q + np.eye(7)[2] * 3e-4, np.array([0.0, 0.0, 0.0, 0.0, along, -down]))
            run = body(law, 1)(start, round(0.06 / dt), dt=dt, friction=mu, gravity=(0.0, 0.0, 0.0))
            lost = along - run.velocity()[1]
            assert lost == pytest.approx(min(mu * run.impulse[2] / MASS, along), rel=DTS[dt])


@steps
@bodies
@all_laws
def test_pushed_block_gains_what_the_push_has_over_friction(law, feet, dt):
    for mu in FRICTIONS:
        for over in (1.1, 1.5, 3.0):
            push = over * most(law) * mu * MASS * G
            way = np.array([1.0, 0.0] if law == "per_axis" else [0.6, 0.8])
            wrench = np.array([0.0, 0.0, 0.0, *(push * way), 0.0])
            run = body(law, feet)(resting(law, feet), round(0.1 / dt), dt=dt, friction=mu, push=wrench)
            check_cone(law, run)
            expected = (push / MASS - mu * G) * 0.1
            assert run.velocity()[:2] @ way == pytest.approx(expected, rel=DTS[dt])


@steps
@bodies
@all_laws
def test_block_starts_to_slide_on_a_slope_as_soon_as_it_is_steeper_than_friction(law, feet, dt):
    """From rest for 0.5 s with a = g (sin θ - μ cos θ); the slope is gravity that leans."""
    for mu in FRICTIONS:
        for over in (1.05, 1.2, 1.7):
            angle = np.arctan(over * most(law) * mu)
            start = resting(law, feet, MASS * G * np.cos(angle))
            gravity = (G * np.sin(angle), 0.0, -G * np.cos(angle))
            run = body(law, feet)(start, round(0.5 / dt), dt=dt, friction=mu, gravity=gravity)
            check_cone(law, run)
            a = G * (np.sin(angle) - mu * np.cos(angle))
            assert run.velocity()[0] == pytest.approx(0.5 * a, rel=DTS[dt])
            assert run.q[-1][0] == pytest.approx(0.125 * a, rel=DTS[dt], abs=0.25 * a * dt)


@steps
@bodies
@all_laws
def test_sliding_block_slows_by_mu_g_and_stops_after_its_stopping_distance(law, feet, dt):
    way = np.array([0.0, 1.0] if law == "per_axis" else [0.8, -0.6])
    for mu in FRICTIONS:
        for speed in (0.3, 1.7):
            start, time = resting(law, feet, velocity=tuple(speed * way)), speed / (mu * G)
            run = body(law, feet)(start, int(1.2 * time / dt) + 20, dt=dt, friction=mu)
            check_cone(law, run)
            half = int(0.5 * time / dt)
            assert run.velocity(half - 1)[:2] @ way == pytest.approx(speed - mu * G * half * dt, rel=DTS[dt])
            stop = speed**2 / (2.0 * mu * G)
            assert run.q[-1][:2] @ way == pytest.approx(stop, abs=DTS[dt] * stop + 0.5 * dt * speed)
            assert np.linalg.norm(run.velocity()) < 1e-3 * speed


# -- robots ----------------------------------------------------------------------------------------------------------
@cache
def robot_of(name: str) -> Robot:
    return with_stand(walker(name))


@cache
def standing_steps(name: str) -> Callable[..., Steps]:
    return recorded_steps(World(robot=robot_of(name)))


def check_robot_cone(run: Steps, mu: float, share: float) -> None:
    """No pull; at most a share of the loaded samples more than 1 % outside the cone."""
    normal = run.forces[..., 2]
    assert (normal >= 0.0).all()
    loaded = normal > 1.0
    assert loaded.sum() > 0.1 * loaded.size
    outside = np.hypot(run.forces[..., 0], run.forces[..., 1]) > OUTSIDE * mu * normal
    assert (outside & loaded).sum() <= share * loaded.sum()


@pytest.mark.parametrize("dt", [1e-3, 2e-3, 4e-3])
@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat"])
def test_robot_dropped_with_sideways_speed_feels_at_most_mu_times_its_normal_impulse(name, dt):
    robot = robot_of(name)
    q, v = robot.state("stand")
    hold = JointCommand(q[7:], 0.0, 0.5 * robot.mass * G, 0.012 * robot.mass * G, 0.0)
    for mu in (0.1, 0.45, 0.9):
        for drop, sideways in ((0.06, 1.5), (0.15, -2.5)):
            start = State(q + drop * np.eye(len(q))[2], v + sideways * np.eye(len(v))[4])
            run = standing_steps(name)(start, round(0.3 / dt), dt=dt, friction=mu, command=hold)
            assert run.impulse[2] > 0.8 * robot.mass * np.sqrt(2 * G * drop)  # it did land
            assert np.hypot(*run.impulse[:2]) <= OUTSIDE * mu * run.impulse[2]
            check_robot_cone(run, mu, 0.002)


def test_a_hard_landing_is_on_its_cone_wherever_it_starts_to_a_nanometre():
    """A landed foot slips no more than rounding before it slides, and its direction must be good for thousands of N."""
    robot, random, dt, mu = robot_of("mini_cheetah"), np.random.default_rng(3), 4e-3, 0.9
    q, v = robot.state("stand")
    hold = JointCommand(q[7:], 0.0, 0.5 * robot.mass * G, 0.012 * robot.mass * G, 0.0)
    for _ in range(12):
        moved = np.concatenate([1e-9 * random.normal(size=3), np.zeros(4), 1e-9 * random.normal(size=robot.nj)])
        start = State(q + moved + 0.15 * np.eye(len(q))[2], v - 2.5 * np.eye(len(v))[4])
        run = standing_steps("mini_cheetah")(start, round(0.3 / dt), dt=dt, friction=mu, command=hold)
        check_robot_cone(run, mu, 0.002)


SLOW_WALKERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("spined", "xiling", "a1", "anymal_c")]


@pytest.mark.parametrize("mu", [0.8, 0.3, 0.08])
@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat", "go2", *SLOW_WALKERS])
def test_feet_of_a_trot_are_within_their_cone_and_slide_against_friction(name, mu):
    run = trotted(robot_of(name), standing_steps(name), 1.5, dt=1e-3, friction=mu)
    check_robot_cone(run, mu, 0.002)
    against = sliding_shares(robot_of(name), run)
    assert len(against) > 50  # feet scuff, even where they hardly slip
    assert (against > 0.98).mean() > 0.99


def sliding_shares(robot: Robot, run: Steps) -> np.ndarray:
    """Of feet that are loaded and slip at more than 2 cm/s: the part of μ f_n that opposes the slip."""
    shares = []
    for q, v, forces in zip(run.q, run.v, run.forces):
        X = joint_transforms(robot, q)
        points = contact_points(robot, X, poses_in_base(robot, X), spheres_of(robot), ff.contact.Plane())
        for point, force in zip(points, forces):
            slip = (X[0].R @ (point.J @ v))[:2]
            speed = np.linalg.norm(slip)
            if force[2] > 0.01 * robot.mass * G and speed > 0.02:
                shares.append(-(force[:2] @ slip) / (speed * run.friction * force[2]))
    return np.array(shares)


SLOW_CASES = [
    pytest.param(name, mu, marks=pytest.mark.slow)
    for name in ("mini_cheetah", "dynakat", "spined", "go2", "a1")
    for mu in (0.8, 0.3, 0.08)
    if (name, mu) != ("mini_cheetah", 0.3)
]


@pytest.mark.parametrize(("name", "mu"), [("mini_cheetah", 0.3), *SLOW_CASES])
def test_feet_of_a_whole_body_trot_are_within_their_cone(name, mu):
    rec = ff.Simulation(
        robot_of(name),
        on_command("whole_body"),
        ground=ff.contact.Plane(mu),
        command=ff.Command(forward=0.4),
        stop_on_fall=False,
    ).run(1.2)
    normal = rec.force[..., 2]
    assert (normal >= 0.0).all()
    loaded = normal > 1.0
    assert loaded.sum() > 0.4 * loaded.size
    outside = np.hypot(rec.force[..., 0], rec.force[..., 1]) > OUTSIDE * mu * normal
    assert (outside & loaded).sum() <= 0.002 * loaded.sum()


@pytest.mark.parametrize("name", ["mini_cheetah", "dynakat"])
def test_robot_among_others_settles_its_modes_as_it_does_alone(name):
    """Lanes turn until all robots are settled; those that were first must not be changed by it."""
    robot, random, count = robot_of(name), np.random.default_rng(8), 96
    world = World(robot=robot, ground=ff.contact.Plane(0.3))
    q, v = robot.state("stand")

    def held(state: State, targets: np.ndarray) -> State:
        command = JointCommand(targets, 0.0, 60.0, 1.0, 0.0).broadcast(robot.nj)
        return step(world, state, command, np.zeros(6), 1e-3)[0]

    many_q, many_v = np.tile(q, (count, 1)), random.normal(size=(count, robot.nv))
    many_q[:, 2] -= random.uniform(0.0, 0.002, count)
    many_q[:, 7:] += 0.05 * random.normal(size=(count, robot.nj))
    many_v *= np.where(np.arange(count) % 2, 2.0, 0.1)[:, None]  # some settle at once, some late
    targets = many_q[:, 7:] + 0.2 * random.normal(size=(count, robot.nj))
    one, batch = (ff.compile(held, None, State(q, v), q[7:], verify=False, target=t) for t in ("native", "batch"))
    together = batch(State(many_q, many_v), targets)
    for k in range(count):
        np.testing.assert_array_equal(one(State(many_q[k], many_v[k]), targets[k]).v, together.v[k])

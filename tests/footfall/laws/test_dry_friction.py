"""Dry friction of joints: it holds below its limit, gives that limit against the motion beyond, and takes the work."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from recorded_steps import Steps, recorded_steps, trotted
from simulated_bodies import hung, pendulum

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.robot import Foot, Robot
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.world import World

FRICTION, LENGTH, MASS = 0.037, 0.41, 0.83  # [N m], [m], [kg]
FAR = ff.contact.Plane(point=np.array([0.0, 0.0, -100.0]))
DTS = {1e-4: 0.02, 1e-3: 0.02, 2e-3: 0.05, 4e-3: 0.1}  # step [s]: how far a rate may be off
FRICTION_ALONE = JointModel(motor_limits=False, damping=False, springs=False, end_stops=False)
steps = pytest.mark.parametrize("dt", DTS)
laws = pytest.mark.parametrize("law", ["compliant", "complementarity", "stance"])


@cache
def rod() -> Robot:
    """With a foot, which hard contact needs, high above the ground."""
    bare = pendulum(1, LENGTH, MASS, dry_friction=FRICTION)
    return bare.replace(feet=[Foot(name="end", link="rod0", position=np.array([0.0, 0.0, -LENGTH]), radius=0.01)])


@cache
def inertia() -> float:
    return float(ff.dynamics.mass_matrix(rod(), np.zeros(1))[0, 0])


@cache
def swinging(law: str) -> Callable[..., Steps]:
    contact = ff.contact.named(law)
    return recorded_steps(World(robot=rod(), ground=FAR, contact=contact, joints=JointModel(), gravity=(0.0, 0.0, 0.0)))


def from_rest(law: str, torque: float, seconds: float, dt: float) -> Steps:
    still = State(np.zeros(1), np.zeros(1))
    return swinging(law)(still, round(seconds / dt), dt=dt, command=JointCommand(torque=torque))


@steps
@laws
@pytest.mark.parametrize("share", [0.5, -0.8])
def test_joint_holds_under_less_than_its_dry_friction(law, share, dt):
    run = from_rest(law, share * FRICTION, 10.0, dt)
    assert abs(np.degrees(run.q[-1, 0])) < 0.05
    assert run.passive[-1, 0] == pytest.approx(-share * FRICTION, rel=1e-6)


@steps
@laws
@pytest.mark.parametrize("over", [1.1, -1.5, 3.0])
def test_joint_slides_with_what_a_torque_has_over_its_dry_friction(law, over, dt):
    run = from_rest(law, over * FRICTION, 0.1, dt)
    expected = np.sign(over) * (abs(over) - 1.0) * FRICTION / inertia() * 0.1
    assert run.v[-1, 0] == pytest.approx(expected, rel=DTS[dt])


@steps
@laws
@pytest.mark.parametrize("rate", [0.2, -1.3])
def test_joint_slides_to_its_stop_and_stays(law, rate, dt):
    time = abs(rate) * inertia() / FRICTION
    run = swinging(law)(State(np.zeros(1), np.array([rate])), round(2.0 * time / dt), dt=dt)
    way = 0.5 * rate * time
    assert run.q[-1, 0] == pytest.approx(way, abs=DTS[dt] * abs(way) + 0.5 * dt * abs(rate))
    assert abs(run.v[-1, 0]) < 1e-6
    half = run.v[: int(0.9 * time / dt), 0]
    np.testing.assert_allclose(np.diff(half), -np.sign(rate) * FRICTION / inertia() * dt, rtol=1e-6)


@steps
@laws
def test_pendulum_loses_the_work_of_its_dry_friction(law, dt):
    """E0 - E = F x the angle swept, to the order of the step, until it hangs where friction holds it."""
    weight, start = MASS * 9.81 * 0.5 * LENGTH, 1.2
    run = swinging(law)(State(np.array([start]), np.zeros(1)), round(14.0 / dt), dt=dt, gravity=(0.0, 0.0, -9.81))
    angles = np.concatenate([[start], run.q[:, 0]])
    energy = 0.5 * inertia() * run.v[:, 0] ** 2 - weight * np.cos(run.q[:, 0])
    swept = np.cumsum(np.abs(np.diff(angles)))
    lost = -weight * np.cos(start) - energy
    # semi-implicit Euler's own energy swings by this within a period, without friction too
    own = 0.5 * dt * weight * np.abs(np.sin(angles)).max() * np.abs(run.v).max()
    assert np.abs(lost - FRICTION * swept).max() < own + 0.01 * FRICTION * swept[-1]
    assert abs(run.q[-1, 0]) <= np.arcsin(FRICTION / weight) + 1e-3
    assert abs(run.v[-1, 0]) < 1e-4


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 2e-3])
@pytest.mark.parametrize("name", ["mini_cheetah"])
def test_joints_of_a_leg_that_kicks_feel_their_dry_friction_against_the_motion(name, dt):
    """All joints at once, coupled by inertia: never more than the limit, all of it where a joint moves."""
    robot, random = hung(ff.load(name)), np.random.default_rng(2)
    most = np.array([joint.dry_friction for joint in robot.joints])
    run = recorded_steps(World(robot=robot, ground=FAR, joints=FRICTION_ALONE))
    state = State(robot.poses["stand"].joints + 0.0, np.zeros(robot.nv))
    moved = wrong = 0
    for _ in range(8):
        torque = most * random.uniform(-6.0, 6.0, robot.nj)
        ran = run(state, round(0.05 / dt), dt=dt, command=JointCommand(torque=torque))
        assert (np.abs(ran.passive) <= most * (1.0 + 1e-9)).all()
        fast = np.abs(ran.v) > 1e-3
        moved, wrong = moved + fast.sum(), wrong + (fast & (ran.passive * np.sign(ran.v) > -0.999 * most)).sum()
        state = ran.last
    assert moved > 100
    assert wrong == 0


def test_dry_friction_drives_no_joint_of_a_robot_that_trots_or_settles():
    """On its feet, where modes of joints and feet depend on each other: against the motion, nearly always in full."""
    robot = ff.load("mini_cheetah")
    most, damping = (np.array([getattr(j, key) for j in robot.joints]) for key in ("dry_friction", "damping"))
    run, (q, _) = recorded_steps(World(robot=robot)), robot.state("stand")
    rans = [trotted(robot, run, 0.8, dt=1e-3)]
    for seed, speed in itertools.product(range(12), (0.01, 0.1, 0.5)):
        start = State(q - 3e-5 * np.eye(robot.nq)[2], speed * np.random.default_rng(seed).normal(size=robot.nv))
        command = JointCommand(q[7:], 0.0, 60.0, 1.0, 0.0)
        rans.append(run(start, 400, dt=1e-3, friction=0.4, command=command))
    moved = lacking = 0
    for ran in rans:
        rates = ran.v[:, 6:]
        against = -np.sign(rates) * (ran.passive + damping * rates) / most
        moves = np.abs(rates) > 1e-3
        assert against[moves].min() > -1e-3
        assert against[moves].max() < 1.0 + 1e-6
        moved, lacking = moved + moves.sum(), lacking + (against[moves] < 0.999).sum()
    assert moved > 100_000
    assert lacking <= 2e-4 * moved


@pytest.mark.parametrize("dt", [1e-3, 2e-3, 4e-3])
def test_robot_with_dry_joints_comes_to_rest_on_four_feet(dt):
    """Put down with some speed: a foot let go while the joints' modes were still wrong would kick again and again."""
    robot = ff.load("mini_cheetah")
    q, v = robot.state("stand")
    start = State(q + 5e-3 * np.eye(robot.nq)[2], v + 0.3 * np.eye(robot.nv)[4])
    run = recorded_steps(World(robot=robot))
    ran = run(start, round(1.2 / dt), dt=dt, command=JointCommand(q[7:], 0.0, 40.0, 1.0, 0.0))
    resting = ran.v[round(1.0 / dt) :]
    assert np.abs(resting).max() < 5e-3
    np.testing.assert_allclose(ran.forces[-1, :, 2].sum(), robot.mass * 9.81, rtol=1e-3)
    assert (ran.forces[-1, :, 2] > 0.1 * robot.mass * 9.81).all()

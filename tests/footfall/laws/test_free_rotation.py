"""A body that turns freely gains no energy and keeps its angular momentum, at the default step (Euler steps)."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from simulated_bodies import IDEAL, many_steps
from third_party_models import THIRD_PARTY, third_party_path

import footfall as ff
import footfall.sim.equations_of_motion as motion_file
from footfall.contact.points import contact_points
from footfall.control.interface import JointCommand
from footfall.dynamics.energy import kinetic_energy
from footfall.dynamics.free_rotation import free_rotation
from footfall.dynamics.momentum import momentum
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.robot import Link, Robot, library
from footfall.sim.equations_of_motion import State
from footfall.sim.step import solutions, step
from footfall.sim.world import World
from footfall.spatial.quaternion import rotated, rotated_in_a_step
from footfall_lab.bench import subject

DT = 1e-3
WEIGHTLESS = (0.0, 0.0, 0.0)
FAR_BELOW = ff.contact.Plane(point=np.array([0.0, 0.0, -1e4]))
AXES = {"all ways": (0.5, -0.7, 0.6), "tumbling": (0.01, 1.0, 0.02), "mostly about the long axis": (1.0, 0.2, -0.4)}
EULER = ("linearly_implicit", "semi_implicit_euler")


def turned(moments: tuple[float, float, float], angles: tuple[float, float, float]) -> np.ndarray:
    """The tensor with these principal moments, its axes turned about x, y and z."""
    R = np.eye(3)
    for k, angle in enumerate(angles):
        c, s = np.cos(angle), np.sin(angle)
        i, j = (k + 1) % 3, (k + 2) % 3
        turn = np.eye(3)
        turn[[i, j], [i, j]], turn[i, j], turn[j, i] = c, -s, s
        R = R @ turn
    tensor = R @ np.diag(moments) @ R.T
    return (tensor + tensor.T) / 2


def body(com: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Robot:
    return Robot(
        name="body",
        links=[Link(name="body", mass=5.0, com=np.array(com), inertia=turned((0.07, 0.19, 0.23), (0.4, -0.3, 0.9)))],
    )


def spun(robot: Robot, speed: float, axis: tuple[float, float, float]) -> State:
    """Turning about an axis through its centre of mass, which rests."""
    omega = speed * np.array(axis) / np.linalg.norm(axis)
    com = robot.links[0].com if len(robot.links) == 1 else np.zeros(3)
    return State(robot.state()[0], np.concatenate([omega, -np.cross(omega, com), np.zeros(robot.nj)]))


def history(robot: Robot, state: State, dt: float, seconds: float, integrator: str = EULER[0]) -> tuple:
    """(kinetic energies over the first, greatest error of the angular momentum over its size), every 20 steps."""
    world = World(robot=robot, ground=FAR_BELOW, joints=IDEAL, gravity=WEIGHTLESS)
    run = many_steps(world, integrator)
    energies, start, error = [kinetic_energy(robot, state.q, state.v)], momentum(robot, state.q, state.v)[:3], 0.0
    for _ in range(round(seconds / dt / 20)):
        state = run(state, dt=dt, count=20)
        energies.append(kinetic_energy(robot, state.q, state.v))
        error = max(error, float(np.linalg.norm(momentum(robot, state.q, state.v)[:3] - start)))
    return np.array(energies) / energies[0], error / np.linalg.norm(start)


@pytest.mark.parametrize("integrator", EULER)
@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_energy_of_a_body_at_7_rad_s_never_grows_and_its_momentum_stays_for_a_minute(axis, integrator):
    energies, error = history(body(), spun(body(), 7.0, axis), DT, 60.0, integrator)
    assert np.diff(energies).max() < 1e-13
    assert energies[-1] > 0.999
    assert error < 1e-3


@pytest.mark.parametrize("dt", [1e-3, 4e-3])
@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_body_at_50_rad_s_does_not_diverge(axis, dt):
    energies, error = history(body(), spun(body(), 50.0, axis), dt, 20.0)
    assert np.diff(energies).max() < 1e-12
    assert energies[-1] > 0.95
    assert error < 0.05


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_body_whose_origin_is_not_its_centre_of_mass_keeps_the_law(axis):
    """The velocity of an origin that circles the centre of mass swings by dt of its acceleration, no further."""
    robot = body(com=(0.05, -0.02, 0.04))
    energies, error = history(robot, spun(robot, 7.0, axis), DT, 60.0)
    assert energies.max() < 1.0 + 1e-4
    assert abs(energies[-1] - 1.0) < 1e-3
    assert error < 1e-3


def swinging(robot: Robot, t: float) -> np.ndarray:
    """Joint targets of legs that swing to and fro while the spine stays."""
    legs = np.array([not name.startswith("spine") for name in robot.joint_names])
    return robot.poses["stand"].joints + 0.4 * legs * np.cos(1.3 * np.arange(robot.nj)) * np.sin(7.0 * t)


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
@pytest.mark.parametrize("name", library.names())
def test_robot_that_tumbles_at_3_rad_s_and_moves_its_legs_keeps_its_angular_momentum(name, axis):
    robot = ff.load(name)
    run = many_steps(World(robot=robot, ground=FAR_BELOW, joints=IDEAL))
    state = dataclasses.replace(spun(robot, 3.0, axis), q=robot.state("stand")[0])
    before, moved, error = momentum(robot, state.q, state.v)[:3], 0.0, 0.0
    for k in range(500):
        command = JointCommand(swinging(robot, 0.02 * k), kp=10.0 * robot.mass, kd=0.4 * robot.mass)
        state = run(state, command, dt=DT, count=20, gravity=WEIGHTLESS)
        moved = max(moved, float(np.abs(state.q[7:] - robot.poses["stand"].joints).max()))
        error = max(error, float(np.linalg.norm(momentum(robot, state.q, state.v)[:3] - before)))
    assert moved > 0.25
    assert error < 0.01 * np.linalg.norm(before)


LIMP = {
    "pitch": ((0.0, 1.0, 0.0), 6.0),
    "yaw": ((0.0, 0.1, 1.0), 6.0),
    "roll": ((1.0, 0.1, 0.0), 6.0),
    "all ways": ((2.0, 1.0, 3.0), 3.7),
}


@pytest.mark.parametrize("integrator", EULER)
@pytest.mark.parametrize("axis", LIMP)
def test_robot_that_tumbles_with_loose_joints_keeps_its_energy_and_angular_momentum(axis, integrator):
    """Five seconds at the default step. With forces at the rates of its start it was 0.8 to 1.6 % of energy."""
    (direction, speed), robot = LIMP[axis], ff.load("mini_cheetah")
    state = dataclasses.replace(spun(robot, speed, direction), q=robot.state("stand")[0])
    energies, error = history(robot, state, DT, 5.0, integrator)
    assert abs(energies[-1] - 1.0) < 2e-3
    assert energies.max() < 1.0 + 2.5e-3
    assert error < 5e-3


def second_by_second(robot: Robot, state: State, seconds: int) -> tuple[np.ndarray, np.ndarray]:
    """(kinetic energies, angular momenta), of both the mean of every second, over energy and size of momentum at first.

    A step leaves positions half a step ahead of velocities: a limb that whips at 100 rad/s shows 1 % more energy or
    less at once, and none in the mean.
    """
    run, energies, momenta = many_steps(World(robot=robot, ground=FAR_BELOW, joints=IDEAL, gravity=WEIGHTLESS)), [], []
    first, spin = kinetic_energy(robot, state.q, state.v), momentum(robot, state.q, state.v)[:3]
    for _ in range(100 * seconds):
        state = run(state, dt=DT, count=10)
        energies.append(kinetic_energy(robot, state.q, state.v) / first)
        momenta.append(momentum(robot, state.q, state.v)[:3] / np.linalg.norm(spin))
    return np.reshape(energies, (seconds, 100)).mean(axis=1), np.reshape(momenta, (seconds, 100, 3)).mean(axis=1)


def tumbler(name: str) -> Robot:
    """Load a robot of the library or a third party's, without the warnings of its file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ff.load(third_party_path(name) if name in THIRD_PARTY else name)


TUMBLERS = [*library.names(), "go2", "anymal_c", "solo12"]
PLAIN_TUMBLERS = ["fivebar", "go2"]
SLOW_TUMBLERS = [pytest.param(name, marks=pytest.mark.slow) for name in TUMBLERS if name not in PLAIN_TUMBLERS]


@pytest.mark.parametrize("name", [*PLAIN_TUMBLERS, *SLOW_TUMBLERS])
def test_robots_that_tumble_with_loose_joints_keep_energy_and_angular_momentum_to_two_parts_in_a_thousand(name):
    """Five seconds at the default step. With each joint swung as if it were alone it was 0.6 to 8 % of energy."""
    robot = tumbler(name)
    for direction in ((0.0, 1.0, 0.0), (0.0, 0.1, 1.0), (1.0, 0.1, 0.0), (-1.0, 2.0, 0.5), (0.3, -0.5, 0.7)):
        state = dataclasses.replace(spun(robot, 6.0, direction), q=robot.state("stand")[0])
        state.v[3:6] -= momentum(robot, state.q, state.v)[3:] / robot.mass  # at rest as a whole
        spin = momentum(robot, state.q, state.v)[:3]
        energies, momenta = second_by_second(robot, state, 5)
        assert np.abs(energies - 1.0).max() < 2e-3, (direction, energies)
        assert np.abs(np.linalg.norm(momenta, axis=1) - 1.0).max() < 2e-3, (direction, momenta)
        assert np.linalg.norm(momenta - spin / np.linalg.norm(spin), axis=1).max() < 4e-3, (direction, momenta)


def at_one_time(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Energy and angular momentum where joint positions are taken back to the time of the velocities.

    Rates at the middle of a step lead positions from the middle of one step to that of the next, so that those of a
    state are half a step ahead.
    """
    q = np.concatenate([q[:7], q[7:] - 0.5 * DT * v[6:]])
    return np.concatenate([np.stack([kinetic_energy(robot, q, v)]), momentum(robot, q, v)[:3]])


PLAIN_AT_ONE_TIME = ["spined", "dynakat"]
SLOW_AT_ONE_TIME = [pytest.param(name, marks=pytest.mark.slow) for name in TUMBLERS if name not in PLAIN_AT_ONE_TIME]


@pytest.mark.parametrize("name", [*PLAIN_AT_ONE_TIME, *SLOW_AT_ONE_TIME])
def test_loose_robots_about_random_axes_keep_energy_and_angular_momentum_at_every_instant(name):
    """400 axes, five seconds at 6 rad/s, at the default step; the four joints of DynaKat's light legs whip most."""
    robot = tumbler(name)
    count, random = 400, np.random.default_rng(11)
    axes = random.normal(size=(count, 3))
    q, v = np.repeat(robot.state("stand")[0][None], count, axis=0), np.zeros((count, robot.nv))
    v[:, :3] = 6.0 * axes / np.linalg.norm(axes, axis=1)[:, None]
    for k in range(count):
        v[k, 3:6] = -momentum(robot, q[k], v[k])[3:] / robot.mass  # at rest as a whole
    limp = ff.controller(rate=1000)(lambda t, robot, sensed, command, memory: (JointCommand(), memory))
    batch = ff.Batch(robot, count, limp, joints=IDEAL, gravity=WEIGHTLESS, ground=FAR_BELOW, stop_on_fall=False)
    batch.set_state(q, v)
    conserved = ff.compile(at_one_time, robot, q[0], v[0], target="batch")
    first, worst = conserved(q, v), np.zeros((count, 2))
    for _ in range(250):
        batch.run(20)
        now = conserved(batch.q, batch.v)
        energy = np.abs(now[:, 0] / first[:, 0] - 1.0)
        spin = np.linalg.norm(now[:, 1:] - first[:, 1:], axis=1) / np.linalg.norm(first[:, 1:], axis=1)
        worst = np.maximum(worst, np.stack([energy, spin], axis=1))
    assert np.quantile(worst, 0.99, axis=0).max() < 2e-3
    assert worst.max() < (4e-3 if name == "dynakat" else 1e-3)


@pytest.mark.parametrize("method", ["jacobian", "gradient"])
def test_derivatives_in_flight_are_those_of_a_step_that_is_solved_again(method):
    """Against central differences, where joints push one another so hard that the guess of the rates is dropped."""
    robot = ff.load("xiling")
    world, random = World(robot=robot, ground=FAR_BELOW, joints=IDEAL, gravity=WEIGHTLESS), np.random.default_rng(4)
    q, v = robot.state("stand")[0], 6.0 * random.normal(size=robot.nv)

    def speeds(v: np.ndarray) -> np.ndarray:
        after = step(world, State(q, v), JointCommand(np.zeros(robot.nj)).broadcast(robot.nj), np.zeros(6), DT)[0]
        return after.v[6:] if method == "jacobian" else after.v[6:] @ np.arange(1.0, 1.0 + robot.nj)

    count = ff.compile(
        lambda v: solutions(world, State(q, v), JointCommand(np.zeros(robot.nj)).broadcast(robot.nj), np.zeros(6), DT),
        None,
        v,
    )
    assert count(v) == 3.0
    assert count(1e-3 * v) == 1.0
    f, h = ff.compile(speeds, None, v), 1e-5
    found = (
        ff.jacobian(speeds, None, v, wrt="v")(v) if method == "jacobian" else ff.gradient(speeds, None, v, wrt="v")(v)
    )
    differences = np.stack([(f(v + h * e) - f(v - h * e)) / (2.0 * h) for e in np.eye(robot.nv)], axis=-1)
    np.testing.assert_allclose(found, differences, atol=1e-7 * np.abs(differences).max())


def test_falling_changes_nothing_about_how_a_robot_tumbles():
    """A robot in free flight moves as one without gravity, seen from one that falls beside it."""
    robot = ff.load("mini_cheetah")
    state = dataclasses.replace(spun(robot, 6.0, (2.0, 1.0, 3.0)), q=robot.state("stand")[0])
    run = many_steps(World(robot=robot, ground=FAR_BELOW, joints=IDEAL))
    floats, falls = run(state, dt=DT, count=500, gravity=WEIGHTLESS), run(state, dt=DT, count=500)
    np.testing.assert_allclose(falls.q[3:], floats.q[3:], atol=1e-9)
    np.testing.assert_allclose(falls.v[6:], floats.v[6:], atol=1e-9)
    np.testing.assert_allclose(falls.q[:2], floats.q[:2], atol=1e-9)
    t = 500 * DT
    assert falls.q[2] - floats.q[2] == pytest.approx(-0.5 * 9.81 * t * (t + DT), abs=1e-9)


def test_the_middle_of_a_step_is_found_to_second_order():
    """The velocity of the centre of mass is left alone, and a quarter of the rest at half the step."""
    robot, omega = body(com=(0.05, -0.02, 0.04)), np.array([3.0, -4.0, 5.0])
    past = free_rotation(robot, omega, DT)
    twice = 2.0 * free_rotation(robot, omega, DT / 2)
    np.testing.assert_allclose(past, twice, rtol=0.02, atol=0.02 * np.abs(past).max())
    ends = []
    for dt in (DT, DT / 2):
        run = many_steps(World(robot=robot, joints=IDEAL, gravity=WEIGHTLESS))
        after = run(State(robot.state()[0], np.concatenate([omega, np.zeros(3)])), dt=dt, count=round(DT / dt))
        ends.append(after.v[:3])
    assert np.abs(ends[0] - ends[1]).max() < 1e-2 * np.abs(ends[0] - omega).max()


def test_inertia_left_open_turns_as_the_inertia_given():
    robot, tensor = body(), turned((0.11, 0.17, 0.26), (0.2, 0.5, -0.7))
    omega = np.array([3.0, -4.0, 5.0])
    opened = ff.compile(free_rotation, robot, omega, DT, free=["body.inertia"])
    expected = free_rotation(robot.replace({"body.inertia": tensor}), omega, DT)
    np.testing.assert_allclose(opened(omega, DT, {"body.inertia": tensor}), expected, rtol=1e-9, atol=1e-18)


def test_hard_contact_stops_its_feet_while_the_robot_turns():
    """What the law has solved for is what the step does: at 2 rad/s no foot is left with more than a micrometre/s."""
    robot = ff.load("mini_cheetah")
    world = World(robot=robot, contact=ff.contact.named("complementarity"))
    q, v = robot.state("stand")
    q[2] -= 1e-4
    v[:3] = 1.0, -1.2, 1.3
    command = JointCommand(q[7:], kp=40.0, kd=1.0).broadcast(robot.nj)
    after, acted, _ = step(world, State(q, v), command, np.zeros(6), DT)
    X = joint_transforms(robot, q)
    R_rel = X[0].R.T @ joint_transforms(robot, after.q)[0].R
    v_plus = np.concatenate([R_rel @ after.v[:3], R_rel @ after.v[3:6], after.v[6:]])  # in the axes of the start
    points = contact_points(robot, X, poses_in_base(robot, X), world.spheres, world.ground)
    sticking = [np.hypot(f[0], f[1]) < 0.79 * f[2] for f in acted.forces]
    assert any(sticking)
    for point, sticks in zip(points, sticking):
        assert not sticks or np.abs(point.J @ v_plus).max() < 1e-6


@pytest.mark.parametrize(
    ("angle", "tolerance"), [(1e-9, 1e-15), (0.01, 1e-15), (0.3, 1e-15), (1.0, 1e-15), (3.0, 3e-9)]
)
def test_the_turn_of_a_step_is_the_rotation_of_its_rotation_vector(angle: float, tolerance: float) -> None:
    random = np.random.default_rng(8)
    for _ in range(20):
        quat, axis = random.normal(size=4), random.normal(size=3)
        quat, turn = quat / np.sqrt(quat @ quat), angle * axis / np.sqrt(axis @ axis)
        np.testing.assert_allclose(rotated_in_a_step(quat, turn), rotated(quat, turn), rtol=0, atol=tolerance)


@pytest.mark.parametrize("implicit", [False, True])
def test_the_middle_of_a_step_costs_at_most_five_percent_of_the_operations_of_a_step(implicit, monkeypatch):
    """Compare the Mini Cheetah's step with one whose joints keep the rates of its start; both turn the base freely.

    When the middle of the step was introduced, it took 3 909 operations (3 724 without) and 6 085 (5 796).
    """
    whole = subject.program(implicit).live_operations
    monkeypatch.setattr(motion_file, "_unknown_middle", lambda world: {})
    monkeypatch.setattr(motion_file, "in_flight", lambda world, points, v, dt: False)
    monkeypatch.setattr(motion_file, "mid_rates", lambda world, M, inertia, v, *_: (v, None))
    free_base = 32  # operations
    assert whole <= 1.05 * (subject.program(implicit).live_operations + free_base) + 1

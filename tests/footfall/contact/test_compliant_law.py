"""The compliant force law by itself, a user's own law behind the same interface, and parameters left free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from simulated_bodies import IDEAL, G, ball, block, many_steps

import footfall as ff
from footfall.contact import Compliant, ForceLaw
from footfall.contact.ground import Plane
from footfall.contact.points import contact_points
from footfall.control.interface import Command, JointCommand
from footfall.errors import InputError
from footfall.kinematics.forward import joint_transforms, poses_in_base
from footfall.sim.equations_of_motion import State, accelerate
from footfall.sim.step import step
from footfall.sim.tick import Inputs, tick
from footfall.sim.world import World

EXPLICIT = Compliant(implicit=False)
DEEP = 6.2e-5  # [m], about what a standing Mini Cheetah's foot sinks


def force(contact: Compliant, depth: float, velocity=(0.0, 0.0, 0.0), mu: float = 0.8) -> np.ndarray:
    return contact.law(depth, np.array(velocity, dtype=float), mu, 0.0)[0]


# -- the law ---------------------------------------------------------------------------------------------------------
def test_the_printed_ground_keeps_the_printed_unit():
    assert force(Compliant.as_printed(), 1e-3)[2] == pytest.approx(10.0)  # 10 N/mm at 1 mm
    weight = ff.load("mini_cheetah", rotors="none").mass * G
    assert (weight / 4 / Compliant.as_printed().stiffness) ** (1 / 2.2) == pytest.approx(1.4e-3, rel=0.03)


def test_the_default_ground_is_stiff():
    assert Compliant().stiffness == pytest.approx(3.98e10, rel=1e-3)
    assert Compliant.per_millimetre(1e4).stiffness == Compliant().stiffness
    assert force(EXPLICIT, 1e-3)[2] == pytest.approx(1e4)
    weight = ff.load("mini_cheetah").mass * G
    assert (weight / 4 / Compliant().stiffness) ** (1 / 2.2) == pytest.approx(6.2e-5, rel=0.02)


def test_no_force_without_contact():
    for depth in (0.0, -1e-9, -1.0):
        for velocity in ((0.0, 0.0, 0.0), (1.0, 2.0, -3.0)):
            f, slopes = Compliant().law(depth, np.array(velocity), 0.8, 1e-3)
            assert not f.any()
            assert not slopes.any()


def test_damping_ramps_up_over_its_depth_and_never_pulls():
    damped = Compliant(implicit=False, damping=1e3, ramp=1e-4)
    elastic = Compliant(implicit=False, damping=0.0)
    for depth, share in ((0.5e-4, 0.5), (1e-4, 1.0), (3e-4, 1.0)):
        extra = force(damped, depth, (0, 0, -0.01))[2] - force(elastic, depth)[2]
        assert extra == pytest.approx(share * 1e3 * 0.01)
    assert force(damped, 1e-5, (0.0, 0.0, 10.0))[2] == 0.0


@pytest.mark.parametrize("angle", np.radians([0, 30, 90, 200]))
def test_friction_opposes_slip_and_reaches_mu_times_the_normal_force(angle):
    for speed in (1e-4, 1e-3, 1.0):
        slip = speed * np.array([np.cos(angle), np.sin(angle), 0.0])
        f = force(EXPLICIT, DEEP, slip)
        np.testing.assert_allclose(f[:2], -0.8 * f[2] * slip[:2] / speed, atol=1e-6 * f[2])


def test_friction_rises_from_zero_over_the_stick_speed_without_a_kink():
    speeds = np.linspace(0.0, 3e-4, 3001)
    drag = np.array([-force(EXPLICIT, DEEP, (u, 0.0, 0.0))[0] for u in speeds]) / force(EXPLICIT, DEEP)[2]
    assert drag[0] == 0.0
    assert (np.diff(drag) > -1e-9).all()
    assert np.abs(np.diff(drag, 2)).max() < 1e-5
    assert drag[-1] == pytest.approx(0.8)


def test_static_friction_stands_above_sliding_friction_by_its_ratio():
    sticky = Compliant(implicit=False, static_ratio=1.5)
    ratio = [-force(sticky, DEEP, (u, 0.0, 0.0), 0.6)[0] / force(sticky, DEEP)[2] for u in (1e-4, 2e-4, 1.0)]
    np.testing.assert_allclose(ratio, [0.9, 0.6, 0.6], rtol=1e-6)


def test_per_axis_friction_is_a_square():
    square = Compliant(implicit=False, friction="per_axis")
    f = force(square, DEEP, (0.5, 0.1, 0.0))
    np.testing.assert_allclose(f[:2], -0.8 * f[2] * np.ones(2), rtol=1e-6)


def test_slopes_are_how_the_force_falls_with_the_normal_velocity():
    dt, law = 1e-3, Compliant(damping=100.0)
    f, slopes = law.law(DEEP, np.array([0.0, 0.0, 0.01]), 0.8, dt)
    more, _ = law.law(DEEP, np.array([0.0, 0.0, 0.011]), 0.8, dt)
    assert f[2] - more[2] == pytest.approx(slopes[2] * 0.001)


def test_a_loaded_foot_that_comes_out_of_its_dent_keeps_its_friction():
    """The damper cancels the spring at the start of the step: friction knows the load that is found at its end."""
    robot, dt, mu, load = block(1, 1.0), 1e-3, 0.8, 50.0
    world = World(robot=robot, ground=Plane(mu), contact=Compliant(), joints=IDEAL)
    q, v = robot.state(height=0.02 - DEEP)
    v[3], v[5] = 0.5, 5e-3
    assert force(EXPLICIT, DEEP, v[3:6])[2] == 0.0
    after, acted, _ = step(world, State(q, v), JointCommand().broadcast(0), np.array([0, 0, 0, 0, 0, -load]), dt)
    f = acted.forces[0]
    assert f[2] > load
    assert -f[0] == pytest.approx(mu * f[2], rel=1e-9)
    assert after.v[3] - v[3] == pytest.approx(dt * f[0], rel=1e-6)


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match=r"slip speed .* must exceed its stick speed"):
        Compliant(stick_speed=1e-3, slip_speed=1e-3)
    with pytest.raises(InputError, match="unknown friction 'round'"):
        Compliant(friction="round")
    for exponent in (0.5, 5.0):
        with pytest.raises(InputError, match="exponent"):
            Compliant(exponent=exponent)


# -- a user's own law ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Spongy(ForceLaw):
    """A linear spring and damper with viscous friction: ten lines of a user."""

    k: float = 2e4

    def law(self, depth, v_C, friction, dt):
        touching = np.where(depth > 0, 1.0, 0.0)
        slope = touching * (50.0 + dt * self.k)
        normal = touching * self.k * depth - slope * v_C[2]
        drag = 20.0 * touching
        return np.array([-drag * v_C[0], -drag * v_C[1], normal]), np.array([drag, drag, slope])


@pytest.mark.parametrize("implicit", [True, False])
def test_users_own_law_is_compiled_with_the_physics(implicit):
    robot = ball(1.0, 0.1)
    q, v = robot.state(height=0.1)
    sim = ff.Simulation(
        robot,
        ff.control.Hold(np.zeros(0)),
        contact=Spongy(),
        start=(q, v),
        stop_on_fall=False,
        integrator="linearly_implicit" if implicit else "semi_implicit_euler",
        dt=1e-4 * (10 if implicit else 1),
    )
    assert sim.model.world.contact.implicit == implicit
    assert sim.model.world.contact.k == 2e4
    assert sim.controller_is_compiled
    rec = sim.run(3.0)
    assert 0.1 - rec.q[-1, 2] == pytest.approx(1.0 * G / 2e4, rel=1e-3)
    assert rec.force[-1, 0, 2] == pytest.approx(G, rel=1e-3)


@dataclass(frozen=True)
class Slick(ForceLaw):
    """A linear spring and a damper strong enough to pull a foot that leaves."""

    def law(self, depth, v_C, friction, dt):
        touching = np.where(depth > 0, 1.0, 0.0)
        slope = touching * (500.0 + dt * 2e4)
        return np.array([0.0, 0.0, touching * 2e4 * depth - slope * v_C[2]]), np.array([0.0, 0.0, slope])


def test_feet_under_a_users_own_law_press_as_it_says_or_would_pull():
    """A foot that is let go only since another still pulled is taken back: at the end none that presses is left out."""
    robot, contact, dt, random = block(3, 2.0), Slick(), 1e-3, np.random.default_rng(3)
    world = World(robot=robot, ground=Plane(), contact=contact, joints=IDEAL)

    def both(q, v):
        """(normal forces of the feet, what the law says for the velocity at the end of the step)."""
        a, acted = accelerate(world, State(q, v), JointCommand().broadcast(0), np.zeros(6), dt)
        X = joint_transforms(robot, q)
        points = contact_points(robot, X, poses_in_base(robot, X), world.spheres, world.ground)
        ends = [(-point.distance, point.R_BC.T @ (point.J @ (v + dt * a))) for point in points]
        return acted.forces[:, 2], np.stack([contact.law(depth, v_C, 0.8, dt)[0][2] for depth, v_C in ends])

    start, count = robot.state(height=0.019), 2000
    q, v = (np.tile(np.array(x, dtype=float), (count, 1)) for x in start)
    q[:, 4:6] = 1.5e-4 * random.normal(size=(count, 2))
    q[:, 3] = np.sqrt(1.0 - np.square(q[:, 4:6]).sum(axis=1))
    v[:, [0, 1, 5]] = 0.1 * random.normal(size=(count, 3)) + (0.0, 0.0, 0.05)
    forces, pressed = ff.compile(both, None, q[0], v[0], target="batch")(q, v)
    assert (pressed < -1.0).any()
    np.testing.assert_allclose(forces, np.maximum(pressed, 0.0), atol=1e-9)


def test_law_that_is_not_written_says_so():
    with pytest.raises(NotImplementedError, match="must define law"):
        ForceLaw().law(0.0, np.zeros(3), 0.8, 1e-3)


# -- free parameters -------------------------------------------------------------------------------------------------
def test_parameters_of_the_world_have_names():
    world = World(robot=ff.load("mini_cheetah"))
    assert world.parameter("ground.friction") == 0.8
    assert world.parameter("contact.damping") == 1e4
    assert world.parameter("joints.stop_stiffness") == 500.0
    assert world.parameter("trunk.mass") == 3.3
    changed = world.with_parameters(
        {"ground.friction": 0.3, "trunk.mass": 4.0, "LF.radius": 0.02, "contact.ramp": 2e-4}
    )
    assert changed.parameter("ground.friction") == 0.3
    assert changed.robot.mass == pytest.approx(world.robot.mass + 0.7)
    assert changed.spheres[0].radius == 0.02
    assert (changed.contact.ramp, changed.contact.damping) == (2e-4, 1e4)
    assert world.parameter("ground.friction") == 0.8
    with pytest.raises(InputError, match=r"unknown parameter 'ground\.fricton' .did you mean 'ground\.friction'"):
        world.parameter("ground.fricton")
    with pytest.raises(InputError, match=r"unknown parameter 'trunk\.colour'"):
        world.parameter("trunk.colour")


FREE = {"ground.friction": 0.3, "trunk.mass": 5.0, "contact.damping": 500.0}


def test_step_with_free_parameters_is_the_step_of_the_changed_world():
    robot = ff.load("mini_cheetah")
    world = World(robot=robot)
    q, v = robot.state("stand")
    q[2] -= 1e-4
    v[:6] = 0.1, 0.2, 0.3, 0.4, -0.5, -0.1
    command = JointCommand(q[7:] + 0.05, kp=40.0, kd=1.0).broadcast(12)
    arguments = (State(q, v), command, np.zeros(6), 1e-3)
    stepping = ff.compile(step, world, *arguments, free=list(FREE))
    for changes in (FREE, {**FREE, "trunk.mass": 3.3}):
        got, _, _ = stepping(*arguments, changes)
        expected, _, _ = step(world.with_parameters(changes), *arguments)
        np.testing.assert_allclose(got.q, expected.q, atol=1e-12)
        np.testing.assert_allclose(got.v, expected.v, atol=1e-9)


def test_tick_with_free_parameters_rolls_a_changed_world():
    sim = ff.Simulation(ff.load("mini_cheetah"))
    inputs = Inputs(Command(), np.zeros(6))
    ticking = ff.compile(tick, sim.model, sim.state, inputs, free=["trunk.mass"])
    carried = sim.state
    for _ in range(3000):
        carried, _ = ticking(carried, inputs, {"trunk.mass": 6.3})
    assert carried.forces[:, 2].sum() == pytest.approx((sim.robot.mass + 3.0) * G, rel=1e-3)


@pytest.mark.parametrize("path", ["contact.static_ratio", "contact.exponent", "contact.stiffness", "ground.normal"])
def test_any_number_of_contact_and_ground_may_be_free(path):
    world = World(robot=block(4), ground=Plane(0.5), contact=Compliant(damping=1e3), joints=IDEAL)
    value = {
        "contact.static_ratio": 1.4,
        "contact.exponent": 2.0,
        "contact.stiffness": 2e10,
        "ground.normal": np.array([-np.sin(1e-4), 0.0, np.cos(1e-4)]),
    }[path]
    state = State(np.array([0.0, 0.0, 0.02 - 1e-4, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.3, 0.1, 0.0]))
    arguments = (state, JointCommand().broadcast(0), np.zeros(6), 1e-4)
    got, _, _ = ff.compile(step, world, *arguments, free=[path])(*arguments, {path: value})
    expected, _, _ = step(world.with_parameters({path: value}), *arguments)
    np.testing.assert_allclose(got.v, expected.v, atol=1e-9)


def test_friction_as_a_free_parameter_decides_whether_a_block_slides():
    world = World(robot=block(4), ground=Plane.slope(20.0, 0.5), contact=Compliant(damping=1e3), joints=IDEAL)
    stuck = many_steps(world)
    loose = many_steps(world.with_parameters({"ground.friction": 0.2}))
    q = np.concatenate([0.02 * world.ground.normal, ff.spatial.quaternion.from_rotation(world.ground.axes)])
    speeds = [abs(run(State(q, np.zeros(6)), dt=1e-4, count=5000).v[3]) for run in (stuck, loose)]
    assert speeds[0] < 1e-4
    assert speeds[1] == pytest.approx(0.5 * G * (np.sin(np.radians(20)) - 0.2 * np.cos(np.radians(20))), rel=0.05)


@pytest.mark.parametrize("exponent", [1.0, 1.5])
def test_a_spring_of_any_exponent_does_not_push_before_it_touches(exponent):
    """0 to the 0 is 1: a linear spring once braked what came down on it, from any height."""
    law = Compliant(stiffness=2e4, exponent=exponent, damping=40.0)
    for depth in (0.0, -1e-9, -0.3):
        f, slopes = law.law(depth, np.array([0.3, 0.0, -2.0]), 0.6, 1e-3)
        assert not f.any()
        assert not slopes.any()
    fall = 0.3
    world = World(robot=ball(0.8, 0.05), ground=Plane(0.6), contact=law, joints=IDEAL)
    state = State(np.array([0.0, 0.0, 0.05 + fall, 1.0, 0.0, 0.0, 0.0]), np.zeros(6))
    steps = int(0.9 * np.sqrt(2.0 * fall / G) / 1e-3)
    assert many_steps(world)(state, dt=1e-3, count=steps).v[5] == pytest.approx(-G * steps * 1e-3, rel=1e-12)

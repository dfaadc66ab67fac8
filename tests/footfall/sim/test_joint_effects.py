"""What joints and motors do in a simulation: end stops, dry friction, springs, torque and speed limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from simulated_bodies import IDEAL, hung, many_steps, pendulum

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.errors import InputError
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel, joint_forces, torque_limits
from footfall.sim.world import World

CHEETAH = ff.load("mini_cheetah")
FAR = ff.contact.Plane(point=np.array([0.0, 0.0, -100.0]))
NO_LOAD = {"abad": 40.0, "hip": 40.0, "knee": 24.0 / (0.1 * 9.33)}  # [rad/s]
LIMIT = {"abad": 18.0, "hip": 18.0, "knee": 27.99}  # [N m]


def part(joint: str) -> str:
    return joint.split("_")[1]


# -- motors ----------------------------------------------------------------------------------------------------------
def test_motor_gives_its_limit_at_rest_and_nothing_at_no_load_speed():
    low, high = torque_limits(CHEETAH, np.zeros(12))
    np.testing.assert_allclose(high, [LIMIT[part(j)] for j in CHEETAH.joint_names])
    np.testing.assert_allclose(low, -high)
    fastest = np.array([NO_LOAD[part(j)] for j in CHEETAH.joint_names])
    assert NO_LOAD["knee"] == pytest.approx(25.72, abs=0.01)
    np.testing.assert_allclose(torque_limits(CHEETAH, fastest)[1], 0.0, atol=1e-9)
    np.testing.assert_allclose(torque_limits(CHEETAH, -fastest)[0], 0.0, atol=1e-9)


def test_torque_falls_linearly_on_the_back_emf_line_from_the_stall_torque():
    """1.5 kt (V - 2 kt gear q̇) / R gear, below the motor's own limit."""
    hip = CHEETAH.joint_names.index("LF_hip")
    stall = 1.5 * 0.05 * 24.0 / 0.173 * 6.0
    for rate in (30.0, 33.0, 38.0):
        high = torque_limits(CHEETAH, np.full(12, rate))[1][hip]
        assert high == pytest.approx(stall * (1 - rate / 40.0))
    assert torque_limits(CHEETAH, np.full(12, 20.0))[1][hip] == LIMIT["hip"]  # the voltage would allow more


def test_braking_is_limited_by_the_motor_alone():
    _, high = torque_limits(CHEETAH, np.full(12, -60.0))
    np.testing.assert_allclose(high, [LIMIT[part(j)] for j in CHEETAH.joint_names])


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 4e-3])
@pytest.mark.parametrize("joint", ["LF_abad", "RF_knee"])
def test_motor_at_full_torque_settles_at_its_no_load_speed(joint, dt):
    world = World(
        robot=hung(CHEETAH), ground=FAR, joints=dataclasses.replace(IDEAL, motor_limits=True), gravity=(0.0, 0.0, 0.0)
    )
    spun = CHEETAH.joint_names.index(joint)
    held = np.arange(12) != spun
    command = JointCommand(torque=np.where(held, 0.0, 100.0), kp=500.0 * held, kd=10.0 * held)
    state = many_steps(world)(State(np.zeros(12), np.zeros(12)), command, dt=dt, count=round(1.0 / dt))
    assert state.v[spun] == pytest.approx(NO_LOAD[part(joint)], rel=2e-3)


def test_motor_with_limits_only_drives_within_a_rectangle():
    robot = pendulum(1).replace(actuators=[ff.Actuator(joint="hinge0", torque_limit=2.0, speed_limit=3.0)])
    for rate, expected in ((0.0, (-2.0, 2.0)), (2.9, (-2.0, 2.0)), (3.1, (-2.0, 0.0)), (-3.1, (0.0, 2.0))):
        low, high = torque_limits(robot, np.array([rate]))
        assert (low[0], high[0]) == expected


def test_recorded_torque_is_clipped_at_the_motors_limit():
    sim = ff.Simulation(CHEETAH, controller=ff.control.Hold(kp=2000.0, kd=1.0), start=(lifted(0.02), np.zeros(18)))
    rec = sim.run(0.2)
    limits = np.array([LIMIT[part(j)] for j in CHEETAH.joint_names])
    assert (np.abs(rec.torque) <= limits + 1e-9).all()
    assert (np.abs(rec.torque) > 0.99 * limits).any()


def lifted(height: float) -> np.ndarray:
    q, _ = CHEETAH.state("stand")
    q[2] += height
    return q


def test_ideal_joints_give_what_is_asked():
    forces = joint_forces(
        CHEETAH, IDEAL, np.zeros(12), np.full(12, 50.0), JointCommand(torque=500.0).broadcast(12), 0.0
    )
    np.testing.assert_array_equal(forces.motor, 500.0)
    np.testing.assert_array_equal(forces.passive, 0.0)


# -- end stops, friction, springs ------------------------------------------------------------------------------------
@pytest.mark.parametrize("integrator", ["linearly_implicit", "semi_implicit_euler", "rk4"])
def test_end_stops_hold_a_pushed_joint_within_a_little_of_its_limit(integrator):
    robot = pendulum(1, lower=-0.5, upper=0.5)
    run = many_steps(World(robot=robot, ground=FAR, joints=JointModel()), integrator)
    for torque in (3.0, -3.0):
        state = run(State(np.zeros(1), np.zeros(1)), JointCommand(torque=torque), dt=5e-4, count=6000)
        excess = (3.0 - 0.5 * 9.81 * 0.15 * np.sin(0.5)) / 500.0
        assert abs(state.q[0]) == pytest.approx(0.5 + excess, abs=1e-4)
        assert abs(state.v[0]) < 1e-6


def test_end_stops_push_back_only():
    robot = pendulum(1, lower=-0.5, upper=0.5)
    for q, rate in ((0.51, -20.0), (0.51, 0.0), (0.6, 5.0), (-0.51, 20.0), (0.0, 30.0)):
        force = joint_forces(robot, JointModel(), np.array([q]), np.array([rate]), JointCommand().broadcast(1), 0.0)
        assert force.passive[0] * np.sign(q) <= 0.0


@pytest.mark.parametrize("integrator", ["linearly_implicit", "rk4"])
def test_dry_friction_stops_a_swinging_joint_at_the_time_that_coulomb_says(integrator):
    """Without gravity: q̇ = q̇0 - f t / I until it stands."""
    robot = pendulum(1, dry_friction=0.02)
    inertia = 0.5 * 0.3**2 / 3 + 0.5 * (0.3 / 20) ** 2 / 4
    run = many_steps(World(robot=robot, ground=FAR, joints=JointModel(), gravity=(0.0, 0.0, 0.0)), integrator)
    stop = 2.0 * inertia / 0.02
    half = run(State(np.zeros(1), np.array([2.0])), dt=1e-4, count=round(0.5 * stop / 1e-4))
    assert half.v[0] == pytest.approx(1.0, rel=2e-3)
    still = run(half, dt=1e-4, count=round(0.5 * stop / 1e-4) + 20000)
    assert abs(still.v[0]) < 1e-3


def test_dry_friction_holds_a_load_below_it_but_for_a_slow_creep():
    robot = pendulum(1, dry_friction=1.0)
    run = many_steps(World(robot=robot, ground=FAR, joints=JointModel()))
    state = run(State(np.array([0.3]), np.zeros(1)), dt=1e-3, count=1000)
    load = 0.5 * 9.81 * 0.15 * np.sin(0.3)
    assert abs(state.v[0]) == pytest.approx(1e-4 * load / 1.0, rel=0.01)  # stick_rate times load over friction


def test_viscous_damping_slows_a_joint_exponentially():
    robot = pendulum(1, damping=0.03)
    inertia = 0.5 * 0.3**2 / 3 + 0.5 * (0.3 / 20) ** 2 / 4
    run = many_steps(World(robot=robot, ground=FAR, joints=JointModel(), gravity=(0.0, 0.0, 0.0)), "rk4")
    state = run(State(np.zeros(1), np.ones(1)), dt=1e-3, count=500)
    assert state.v[0] == pytest.approx(np.exp(-0.03 * 0.5 / inertia), rel=1e-6)


def test_spring_swings_a_joint_at_its_frequency_and_counts_as_potential_energy():
    robot = pendulum(1, stiffness=2.0, rest=0.1)
    inertia = 0.5 * 0.3**2 / 3 + 0.5 * (0.3 / 20) ** 2 / 4
    period = 2 * np.pi * np.sqrt(inertia / 2.0)
    free = ff.control.Hold(np.zeros(1), kp=0.0, kd=0.0, rate=1000.0)
    sim = ff.Simulation(
        robot,
        controller=free,
        ground=FAR,
        integrator="rk4",
        dt=1e-4,
        gravity=(0.0, 0.0, 0.0),
        start=(np.array([0.4]), np.zeros(1)),
    )
    rec = sim.run(period * 3)
    ups = np.flatnonzero(np.diff(np.sign(rec.q[:, 0] - 0.1)) > 0)
    assert rec.time[ups[1]] - rec.time[ups[0]] == pytest.approx(period, abs=2e-3)
    np.testing.assert_allclose(rec.energy, 0.5 * 2.0 * 0.3**2, rtol=1e-6)
    assert np.abs(rec.energy_balance()).max() < 1e-6 * 0.09
    without = dataclasses.replace(sim, joints=IDEAL)
    still = without.run(0.1)
    np.testing.assert_allclose(still.q, 0.4)
    np.testing.assert_allclose(still.energy, 0.0, atol=1e-12)


@pytest.mark.parametrize("key", ["stop_stiffness", "stop_damping", "stick_rate"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, "stiff"])
def test_joint_model_refuses_numbers_that_make_no_sense(key, value):
    with pytest.raises(InputError, match=key.replace("_", " ")):
        JointModel(**{key: value})


@pytest.mark.parametrize("ratio", [1.0, 1.6])
def test_stiction_holds_a_joint_up_to_its_ratio_and_lets_go_to_sliding_friction(ratio):
    """A slide on the level: held by ratio F, and once it moves it accelerates by what sliding friction F leaves."""
    friction, mass = 2.0, 0.5
    robot = pendulum(1, 0.3, mass, dry_friction=friction)
    inertia = float(ff.dynamics.mass_matrix(robot, np.zeros(1))[0, 0])
    world = World(robot=robot, joints=JointModel(static_ratio=ratio), gravity=(0.0, 0.0, 0.0))
    run = many_steps(world)
    for share in (0.95 * ratio, 1.05 * ratio):
        push = ff.JointCommand(torque=np.array([share * friction])).broadcast(1)
        after = run(State(np.zeros(1), np.zeros(1)), push, dt=1e-3, count=100)
        if share < ratio:
            assert abs(after.v[0]) < 1.1e-3
        else:
            assert after.v[0] == pytest.approx((share - 1.0) * friction / inertia * 0.1, rel=0.02)


def test_stiction_below_sliding_friction_is_refused():
    with pytest.raises(InputError, match="static ratio"):
        JointModel(static_ratio=0.9)
    with pytest.raises(InputError, match="static ratio"):
        JointModel(static_ratio=np.array([1.0, np.nan]))

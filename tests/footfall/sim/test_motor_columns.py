"""Columns of motors: torque, work, what is spent and energies, behind belts and with integrators of several stages."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from simulated_bodies import IDEAL, pendulum

import footfall as ff
from footfall.sim import Belt, JointModel

ROBOT = ff.load("mini_cheetah")
STAND = ROBOT.poses["stand"].joints
FAR = ff.contact.Plane(point=np.array([0.0, 0.0, -100.0]))
WEIGHTLESS = (0.0, 0.0, 0.0)
BELTS = {
    "default": Belt(),
    "soft": Belt(stiffness=2000.0, damping=1.0),
    "stiff": Belt(stiffness=40000.0, damping=2.0),
    "play": Belt(stiffness=2000.0, damping=1.0, play=0.02),
    "own rotors": Belt(inertia=0.01),
    "encoder at the joint": Belt(encoder="joint"),
}


@ff.controller(rate=1000)
def wave(t, robot, sensed, command, memory):
    phase = 9.0 * t + np.arange(12.0)
    target = STAND + 0.3 * np.sin(phase)
    return ff.JointCommand(position=target, velocity=2.7 * np.cos(phase), kp=60.0, kd=2.0), memory


@functools.cache
def waved(belt: Belt | None = None, dt: float = 1e-3, integrator: str = "linearly_implicit", seconds: float = 0.5):
    """Legs that are waved in weightlessness, by joints without losses."""
    start = np.concatenate([[0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], STAND]), np.zeros(18)
    sim = ff.Simulation(
        ROBOT,
        wave,
        joints=dataclasses.replace(JointModel.ideal(), belt=belt),
        ground=FAR,
        gravity=WEIGHTLESS,
        dt=dt,
        integrator=integrator,
        start=start,
        stop_on_fall=False,
    )
    return sim.run(seconds)


# -- belts -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dt", [1e-3, 1e-4])
@pytest.mark.parametrize("name", BELTS)
def test_energy_balance_closes_behind_belts_as_it_does_without(name, dt):
    rec = waved(BELTS[name], dt)
    rigid = np.abs(waved(None, dt).energy_balance()).max()
    assert rigid < 0.3 * dt  # [J]
    assert np.abs(rec.energy_balance()).max() < (4.0 if BELTS[name].play else 1.2) * rigid


def test_motors_behind_stiff_belts_spend_what_motors_on_the_joints_do():
    rigid, stiff = waved(), waved(BELTS["stiff"])
    assert stiff.spent() == pytest.approx(rigid.spent(), rel=0.02)
    assert stiff["work"][-1] == pytest.approx(rigid["work"][-1], rel=0.1)
    assert np.abs(stiff.torque).max() == pytest.approx(np.abs(rigid.torque).max(), rel=0.1)


def test_torque_behind_belts_is_what_the_motor_was_asked_for():
    @ff.controller(rate=1000)
    def pulls(t, robot, sensed, command, memory):
        return ff.JointCommand(torque=0.7 * np.sin(30.0 * t)), memory

    joints = dataclasses.replace(IDEAL, belt=Belt(900.0, 0.4, 0.004, 0.021))
    rod = pendulum(1, 0.34, 0.7)
    rec = ff.Simulation(rod, pulls, joints=joints, start=([0.3], [0.0])).run(0.3)
    np.testing.assert_allclose(rec.torque[:, 0], 0.7 * np.sin(30.0 * (rec.time - 1e-3)), atol=1e-12)


def test_motor_turns_its_rotor_by_what_the_belt_leaves_of_its_torque():
    """And the belt the joint: momentum of both together grows by the motor's torque alone."""
    rod, rotor = pendulum(1, 0.34, 0.7), 0.021
    load = float(ff.dynamics.mass_matrix(rod, np.zeros(1))[0, 0])
    for encoder in ("motor", "joint"):
        belt = Belt(900.0, 0.4, 0.004, rotor, encoder)
        hold = ff.control.Hold(np.array([0.5]), kp=20.0, kd=0.5)
        rec = ff.Simulation(
            rod, hold, joints=dataclasses.replace(IDEAL, belt=belt), gravity=WEIGHTLESS, start=([0.0], [0.0])
        ).run(0.5)
        momentum = rotor * rec["rotor_velocity"][:, 0] + load * rec.joint_velocity[:, 0]
        np.testing.assert_allclose(np.diff(momentum), 1e-3 * rec.torque[1:, 0], atol=1e-10)


@pytest.mark.parametrize("damping", [0.0, 0.4])
def test_belt_without_play_loses_what_its_damper_takes_and_nothing_else(damping):
    belt = Belt(900.0, damping, inertia=0.021)
    sim = ff.Simulation(
        pendulum(1, 0.34, 0.7),
        ff.control.Hold(np.array([0.0]), kp=0.0, kd=0.0),
        joints=dataclasses.replace(IDEAL, belt=belt),
        gravity=WEIGHTLESS,
        start=([0.0], [0.0]),
    )
    twisted = {**sim.state.contact, "rotor_position": np.array([0.02])}
    sim.state = dataclasses.replace(sim.state, contact=twisted)
    rec = sim.run(0.3)
    faster = (rec["rotor_velocity"] - rec.joint_velocity)[:, 0]
    taken = damping * np.cumsum(0.5 * faster * (faster + np.concatenate([[0.0], faster[:-1]]))) * 1e-3
    np.testing.assert_allclose(rec["friction_work"], -taken, rtol=1e-6, atol=1e-12)
    assert np.abs(rec.energy_balance()).max() < 1e-12


def test_motor_loads_are_those_of_the_rotors():
    rec = waved(BELTS["play"])
    loads = ff.analysis.motor_loads(rec)
    for k, load in enumerate(loads):
        assert load.top_speed == np.abs(rec["rotor_velocity"][:, k]).max()
        assert load.peak == np.abs(rec.torque[:, k]).max()
    assert not np.allclose([load.top_speed for load in loads], np.abs(rec.joint_velocity).max(axis=0))
    uncounted = ff.Recording(rec.robot, {k: a for k, a in rec.columns.items() if k != "spent"}, meta=rec.meta)
    assert uncounted.spent() == pytest.approx(rec.spent(), rel=0.1)


# -- integrators -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("integrator", ["linearly_implicit", "semi_implicit_euler", "heun", "rk4"])
def test_what_motors_spend_is_as_accurate_as_their_work(integrator):
    """At the default step, against steps a tenth as long of a method of fourth order."""
    rec, fine = waved(integrator=integrator), waved(dt=1e-4, integrator="rk4")
    assert rec.spent() == pytest.approx(fine.spent(), rel=0.1)
    assert rec.spent() >= rec["work"][-1] - rec["work"][0]


def test_work_and_what_is_spent_are_one_where_no_motor_brakes():
    """A rod that is turned by a constant torque from rest; its end is in closed form."""

    @ff.controller(rate=1000)
    def pulls(t, robot, sensed, command, memory):
        return ff.JointCommand(torque=0.2), memory

    rod = pendulum(1, 0.34, 0.7)
    load = float(ff.dynamics.mass_matrix(rod, np.zeros(1))[0, 0])
    for integrator in ff.sim.INTEGRATORS:
        rec = ff.Simulation(
            rod, pulls, joints=IDEAL, gravity=WEIGHTLESS, start=([0.0], [0.0]), integrator=integrator
        ).run(0.2)
        np.testing.assert_allclose(rec["spent"], rec["work"], rtol=1e-12)
        np.testing.assert_allclose(rec["spent"], 0.5 * (0.2 * rec.time) ** 2 / load, rtol=1e-9)

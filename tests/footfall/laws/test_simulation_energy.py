"""The energy audit: work of motors and pushes = change of energy + losses in joints + losses in contact."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from simulated_bodies import IDEAL, block, counted, pendulum

import footfall as ff
from footfall.control.interface import JointCommand
from footfall.dynamics.energy import kinetic_energy, potential_energy
from footfall.robot import Robot, library
from footfall.sim.equations_of_motion import State
from footfall.sim.joints import JointModel
from footfall.sim.step import integrate_step
from footfall.sim.world import World

DURATION = 0.15  # [s], with the touchdown at 0.045


@cache
def audit(robot: Robot, integrator: str, joints: JointModel) -> Callable[[float], tuple[float, np.ndarray]]:
    """(residual relative to the energy moved, the four works) of a push after a drop of 10 mm, for a dt."""
    contact = ff.contact.Compliant(implicit=integrator == "linearly_implicit")
    world = World(robot=robot, contact=contact, joints=joints)
    q, v = robot.state("stand") if "stand" in robot.poses else robot.state()
    if robot.floating:
        q[2] += 0.01
        v[:6] = 0.1, -0.2, 0.3, 0.2, 0.1, 0.0
    else:
        q[:] = 0.5
    push = np.array([0.1, 0.2, 0.3, 0.5, 0.4, 0.0]) * robot.mass
    command = JointCommand(q[robot.nq - robot.nj :] + 0.05, kp=4 * robot.mass, kd=0.1 * robot.mass).broadcast(robot.nj)

    def run(state: State, dt: float, count: float) -> Any:
        def once(_: float, carry: Any) -> Any:
            state, work = carry
            after, _, done = integrate_step(integrator, world, state, command, push, dt)
            return after, work + done.work[:4]

        return counted(once, (state, np.zeros(4)), count)

    first = State(q, v)
    compiled = ff.compile(run, None, first, 1e-3, 1.0, verify=False)

    def energy(state: State) -> float:
        return float(kinetic_energy(robot, state.q, state.v) + potential_energy(robot, state.q, world.gravity))

    def residual(dt: float) -> tuple[float, np.ndarray]:
        last, work = compiled(first, dt, float(round(DURATION / dt)))
        change = energy(last) - energy(first)
        return abs(change - work.sum()) / (abs(change) + np.abs(work).sum()), work

    return residual


def order(residual: Callable[[float], tuple[float, np.ndarray]], dt: float) -> float:
    return float(np.log2(residual(dt)[0] / residual(dt / 2)[0]))


@pytest.mark.parametrize("name", library.names())
def test_residual_of_the_energy_audit_falls_linearly_with_the_step(name):
    residual = audit(ff.load(name), "linearly_implicit", JointModel())
    assert order(residual, 4e-5) == pytest.approx(1.0, abs=0.15)
    assert residual(1e-5)[0] < 1e-5


@pytest.mark.parametrize("integrator", ["linearly_implicit", "semi_implicit_euler"])
def test_residual_of_the_energy_audit_vanishes_at_small_steps(integrator):
    residual = audit(ff.load("mini_cheetah"), integrator, JointModel())
    assert residual(1e-6)[0] < 1e-6


def test_contact_and_joints_only_take_energy_and_pushes_give_it():
    _, work = audit(ff.load("mini_cheetah"), "linearly_implicit", JointModel())(1e-5)
    _, losses, contact, push = work
    assert losses < 0
    assert contact < 0
    assert push > 0  # it is pushed the way it moves


@pytest.mark.parametrize("integrator", ["linearly_implicit", "semi_implicit_euler"])
def test_audit_of_a_block_that_lands_and_slides(integrator):
    residual = audit(block(4, height=0.0), integrator, IDEAL)
    coarse, fine = residual(1e-5)[0], residual(1e-7)[0]
    assert np.log10(coarse / fine) / 2 == pytest.approx(1.0, abs=0.1)
    assert fine < 1e-6


@pytest.mark.parametrize(("integrator", "nominal"), [("heun", 2), ("rk4", 4), ("linearly_implicit", 1)])
def test_audit_of_smooth_motion_closes_with_the_order_of_the_integrator(integrator, nominal):
    residual = audit(pendulum(2), integrator, IDEAL)
    assert order(residual, 2e-3) > nominal - 0.2
    if nominal > 1:
        assert residual(1e-4)[0] < 1e-6


def test_recording_keeps_the_same_audit():
    q, v = ff.load("mini_cheetah").state("stand")
    q[2] += 0.01
    hold = ff.control.Hold(kp=40.0, kd=1.0, rate=100.0)
    sims = [
        ff.Simulation(
            ff.load("mini_cheetah"),
            hold,
            dt=dt,
            start=(q, v),
            pushes=[ff.Push(start=0.1, duration=0.1, force=(20.0, 10.0, 0.0))],
        )
        for dt in (1e-4, 5e-5)
    ]
    residuals = [sim.run(0.4).energy_residual() for sim in sims]
    assert residuals[0] / residuals[1] == pytest.approx(2.0, rel=0.1)
    assert residuals[1] < 1e-3


def test_cost_of_transport_does_not_depend_on_how_often_rows_are_recorded():
    robot = ff.load("mini_cheetah")
    trot = ff.control.JointPD(gait=ff.gait.trot(period=0.5, stride=0.1, height=0.05), kp=40.0, kd=1.0)
    recs = [ff.Simulation(robot, trot, record_rate=rate).run(3.0) for rate in (1000.0, 100.0, 20.0)]
    every, *fewer = [rec.cost_of_transport(after=1.0) for rec in recs]
    assert fewer == pytest.approx([every, every], rel=1e-9)
    last = [rec.between(1.0).spent() for rec in recs]
    assert last == pytest.approx([last[0]] * 3, rel=1e-9)


def test_motors_spend_their_audited_work_where_none_of_them_brakes_and_more_where_one_does():
    def run(start: float, seconds: float, **gains: Any) -> Any:
        hold = ff.control.Hold(np.zeros(1), **gains)
        return ff.Simulation(pendulum(1), hold, record_rate=50.0, start=(np.full(1, start), np.zeros(1))).run(seconds)

    lifted = run(0.0, 0.2, kp=0.0, kd=0.0, torque=np.array([3.0]))
    assert lifted["spent"][-1] == pytest.approx(lifted["work"][-1], rel=1e-9)
    assert lifted["work"][-1] > 0.1
    swinging = run(1.0, 1.0, kp=5.0, kd=0.1)
    assert swinging["spent"][-1] > swinging["work"][-1] + 0.01
    assert (np.diff(swinging["spent"]) >= 0).all()

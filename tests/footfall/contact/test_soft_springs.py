"""A soft spring under implicit steps acts with the damping c + dt K, and a simulation says so where it shows."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from simulated_bodies import ball, pendulum

import footfall as ff
from footfall.contact import Compliant, StickSlip
from footfall.robot import library

CASES = [(1.0, 2e4, 0.0), (1.0, 2e4, 40.0), (1.0, 5e3, 0.0), (0.3, 2e4, 0.0)]  # kg, N/m, N s/m


def spring(stiffness: float, damping: float) -> Compliant:
    return Compliant(stiffness=stiffness, exponent=1.0, damping=damping, ramp=1e-6)


@ff.controller(rate=1000)
def nothing(t, robot, sensed, command, memory):
    return ff.JointCommand(), memory


def bounce(mass: float, contact: Compliant, dt: float) -> float:
    """Speed at which a ball leaves the ground that it met with 1 m/s, without gravity."""
    start = np.array([0.0, 0.0, 0.0501, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
    options = {"gravity": (0.0, 0.0, 0.0), "start": start, "stop_on_fall": False}
    return float(ff.Simulation(ball(mass, 0.05), nothing, contact=contact, dt=dt, **options).run(0.2).v[-1, 5])


def exact(mass: float, K: float, c: float) -> float:
    """The same of a spring and a damper that push only, in steps of a microsecond."""
    x, v, h = 0.0, -1.0, 1e-6
    while v < 0.0 or -K * x - c * v > 0.0:
        v += h * (-K * x - c * v) / mass
        x += h * v
    return v


@pytest.mark.filterwarnings("ignore:.*damped by the step")
@pytest.mark.parametrize(("mass", "K", "c"), CASES)
def test_a_spring_bounces_as_one_with_the_damping_of_the_step_added(mass, K, c):
    for dt, near in ((1e-3, 0.03), (1e-4, 3e-3)):
        found = bounce(mass, spring(K, c), dt)
        assert found == pytest.approx(exact(mass, K, c + dt * K), abs=near)
        assert abs(found - exact(mass, K, c)) > 2.0 * abs(found - exact(mass, K, c + dt * K))


@pytest.mark.parametrize(("mass", "K", "c"), CASES)
def test_a_spring_whose_bounce_the_step_damps_is_named_with_the_formula(mass, K, c):
    with pytest.warns(UserWarning, match=rf"c = {c:.3g} N s/m acts as c \+ dt K with dt K = {1e-3 * K:.3g} N s/m"):
        ff.Simulation(ball(mass, 0.05), nothing, contact=spring(K, c))


@dataclass(frozen=True, kw_only=True)
class Own(StickSlip):
    c: float = 40.0

    def normal(self, depth, dt):
        touches = np.where(depth > 0.0, 1.0, 0.0)
        return 2e4 * depth, touches * (self.c + dt * 2e4)


def test_a_law_of_ones_own_is_named_too_and_one_that_is_damped_well_is_not():
    robot = ff.load("mini_cheetah")
    with pytest.warns(UserWarning, match="Own contact is damped by the step"):
        ff.Simulation(robot, contact=Own())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ff.Simulation(robot, contact=Own(c=200.0))
        ff.Simulation(robot, contact=Own(), dt=1e-4)


@pytest.mark.parametrize("name", library.names())
def test_nothing_is_said_of_the_default_law(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dt in (1e-4, 1e-3, 2e-3, 4e-3):
            ff.Simulation(ff.load(name), dt=dt, controller=ff.control.Hold(rate=250) if dt > 1e-3 else None)


@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_a_joint_spring_that_the_step_damps_is_warned_of_by_as_much_as_it_is_damped(damping):
    """A rod on a spring loses as much energy as the warning states; a negligible loss gives no warning."""
    robot, I = pendulum(1, 0.3, 0.5, stiffness=20.0, damping=damping), 0.5 * 0.3**2 / 3  # noqa: E741 as in papers
    joints = ff.sim.JointModel(motor_limits=False, dry_friction=False, end_stops=False)
    options = {"gravity": (0.0, 0.0, 0.0), "start": ([0.1], [0.0]), "joints": joints}

    def left(simulation):
        recording = simulation.run(0.5)
        return (recording["kinetic"] + recording["potential"])[-1] / (0.5 * 20.0 * 0.1**2)

    with pytest.warns(UserWarning, match=r"'hinge0' is damped by the step.* dt K = 0.02"):
        slow = ff.Simulation(robot, nothing, **options)
    assert left(slow) == pytest.approx(np.exp(-(damping + 0.02) / I * 0.5), rel=0.15)
    exact = ff.Simulation(robot, nothing, integrator="semi_implicit_euler", **options)
    assert left(exact) == pytest.approx(np.exp(-damping / I * 0.5), rel=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ff.Simulation(robot.replace({"hinge0.damping": 0.2}), nothing, **options)
        ff.Simulation(robot, nothing, dt=1e-4, **options)

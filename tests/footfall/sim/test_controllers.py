"""A user's controller: compiled with the physics when it is pure, in Python when not, the same motion either way."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import footfall as ff
from footfall.errors import TraceError

CHEETAH = ff.load("mini_cheetah")
STAND = CHEETAH.state("stand")[0][7:]


@ff.controller(rate=500, memory=lambda robot: {"lean": np.zeros(1)})
def bouncing(t, robot, sensed, command, memory):
    """Ten lines of a user: knees follow a sine, and the legs on the ground push a little harder."""
    knees = np.tile([0.0, 0.0, 0.2], 4) * np.sin(2 * np.pi * 2.0 * t)
    hips = np.tile([0.0, -0.1, 0.0], 4) * np.sin(2 * np.pi * 2.0 * t)
    lean = 0.9 * memory["lean"] + 0.1 * sensed.v[3:4]
    loaded = np.where(sensed.forces[:, 2] > 5.0, 1.2, 1.0)
    kp = 40.0 * np.repeat(loaded, 3)
    return ff.JointCommand(STAND + knees + hips - 0.05 * lean[0], kp=kp, kd=1.0), {"lean": lean}


def test_pure_controller_is_found_and_compiled_without_a_word():
    sim = ff.Simulation(CHEETAH, bouncing, dt=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sim.controller_is_compiled
    assert sim.model.substeps == 2
    rec = sim.run(1.0)
    assert sim.stopped is None
    assert len(rec) == 500
    assert np.ptp(rec.joint_position[:, 2]) > 0.1


@pytest.mark.parametrize("integrator", ["linearly_implicit", "semi_implicit_euler"])
def test_compiled_controller_and_the_same_in_python_move_the_robot_alike(integrator):
    options = {
        "dt": 1e-4 if integrator == "semi_implicit_euler" else 1e-3,
        "integrator": integrator,
        "contact": ff.contact.Compliant(damping=10.0, stick_speed=0.01, slip_speed=0.02),
    }
    compiled, python = (
        ff.Simulation(CHEETAH, bouncing, compile_controller=choice, **options) for choice in (True, False)
    )
    a, b = compiled.run(0.1), python.run(0.1)
    assert compiled.controller_is_compiled
    assert not python.controller_is_compiled
    np.testing.assert_allclose(a.time, b.time, rtol=1e-15)
    assert np.abs(a.q - b.q).max() < 1e-9
    np.testing.assert_allclose(a.torque, b.torque, atol=1e-6)
    np.testing.assert_allclose(compiled.state.memory["lean"], python.state.memory["lean"], atol=1e-9)


def test_hidden_counter_is_found_and_the_controller_runs_in_python_with_a_warning():
    calls = {"count": 0}

    @ff.controller(rate=1000)
    def forgetful(t, robot, sensed, command, memory):
        calls["count"] += 1
        return ff.JointCommand(STAND + 1e-3 * calls["count"], kp=40.0, kd=1.0), memory

    sim = ff.Simulation(CHEETAH, forgetful)
    with pytest.warns(UserWarning, match=r"controller forgetful runs in Python at 1000 Hz: .*(hidden state|changes)"):
        assert not sim.controller_is_compiled
    calls["count"] = 0
    rec = sim.run(0.02)
    assert calls["count"] == 20
    np.testing.assert_allclose(rec["command_position"][:, 0], STAND[0] + 1e-3 * np.arange(1, 21))


def test_controller_that_must_compile_but_cannot_says_why():
    @ff.controller(rate=1000)
    def branching(t, robot, sensed, command, memory):
        if sensed.q[2] > 0.2:
            return ff.JointCommand(STAND, kp=40.0, kd=1.0), memory
        return ff.JointCommand(STAND, kp=0.0), memory

    with pytest.raises(TraceError, match=r"np\.where"):
        ff.Simulation(CHEETAH, branching, compile_controller=True).run(0.01)
    with pytest.warns(UserWarning, match="branching runs in Python"):
        ff.Simulation(CHEETAH, branching).run(0.01)


def test_a_controller_that_another_package_stops_is_told_its_own_line():
    from scipy.interpolate import CubicSpline

    spline = CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])

    @ff.controller(rate=500)
    def riding(t, robot, sensed, command, memory):
        return ff.JointCommand(STAND + 0.0 * spline(t), kp=40.0, kd=1.0), memory

    with pytest.warns(
        UserWarning, match=r"riding runs in Python at 500 Hz: scipy cannot .* at test_controllers\.py:\d+"
    ):
        ff.Simulation(CHEETAH, riding).run(0.004)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "in Python"])
@pytest.mark.parametrize(("rate", "dt"), [(1000.0, 1e-3), (200.0, 1e-3), (50.0, 5e-4)])
def test_rate_of_a_controller_means_the_same_traced_or_in_python(rate, dt, compiled):
    @ff.controller(rate=rate, memory={"ticks": 0.0, "seen": 0.0})
    def counting(t, robot, sensed, command, memory):
        after = {"ticks": memory["ticks"] + 1.0, "seen": memory["seen"] + t}
        return ff.JointCommand(STAND, kp=40.0, kd=1.0, torque=1e-3 * memory["ticks"]), after

    sim = ff.Simulation(CHEETAH, counting, dt=dt, compile_controller=compiled)
    rec = sim.run(0.2)
    ticks = round(0.2 * rate)
    assert float(sim.state.memory["ticks"]) == ticks
    assert float(sim.state.memory["seen"]) == pytest.approx(sum(k / rate for k in range(ticks)))
    np.testing.assert_allclose(rec["command_torque"][:, 0], 1e-3 * np.arange(ticks))
    np.testing.assert_allclose(np.diff(rec.time), 1.0 / rate)
    assert sim.time == pytest.approx(0.2)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "in Python"])
def test_controller_sees_the_users_command_and_the_forces_at_the_feet(compiled):
    @ff.controller(rate=1000, memory={"forward": 0.0, "weight": 0.0})
    def watching(t, robot, sensed, command, memory):
        seen = {"forward": command.forward, "weight": np.sum(sensed.forces[:, 2])}
        return ff.JointCommand(STAND, kp=60.0, kd=2.0), seen

    sim = ff.Simulation(CHEETAH, watching, command=ff.Command(forward=0.3), compile_controller=compiled)
    sim.run(2.0)
    assert float(sim.state.memory["forward"]) == 0.3
    assert float(sim.state.memory["weight"]) == pytest.approx(CHEETAH.mass * 9.81, rel=1e-2)
    sim.command = ff.Command(forward=-0.1)
    sim.run(0.01)
    assert float(sim.state.memory["forward"]) == -0.1

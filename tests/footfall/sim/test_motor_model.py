"""Motors between a controller and the physics: late, scaled, shifted."""

from __future__ import annotations

import json

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import Command, Sensed
from footfall.errors import InputError
from footfall.sim.motors import MotorModel

JOINTS = 12
NOTHING = Sensed(q=np.zeros(19), v=np.zeros(18), forces=np.zeros((4, 3)))


@ff.controller(rate=500.0)
def ramp(t, robot, sensed, command, memory):
    return ff.JointCommand(position=2.0 * t, velocity=2.0, kp=30.0, kd=0.7, torque=1.0), memory


def told(model: MotorModel, ticks: int) -> list[ff.JointCommand]:
    robot, through = ff.load("mini_cheetah"), model.of(ramp)
    memory, found = through.start(robot), []
    for k in range(ticks):
        command, memory = through(k / ramp.rate, robot, NOTHING, Command(), memory)
        found.append(command)
    return found


def test_ideal_motors_change_nothing():
    for k, command in enumerate(told(MotorModel(), 5)):
        expected = ramp(k / 500.0, None, NOTHING, Command(), {})[0].broadcast(JOINTS)
        for key in ("position", "velocity", "kp", "kd", "torque"):
            np.testing.assert_array_equal(getattr(command, key), getattr(expected, key))


@pytest.mark.parametrize("delay", [0.002, 0.0031, 0.0075])
def test_a_ramp_arrives_late_by_the_delay_whatever_part_of_a_tick_it_is(delay):
    last = told(MotorModel(delay=delay), 12)[-1]
    np.testing.assert_allclose(last.position, 2.0 * (11 / 500.0 - delay), rtol=1e-12)


def test_before_the_first_command_it_has_always_been_the_first():
    first = told(MotorModel(delay=0.02), 1)[0]
    np.testing.assert_allclose(first.kp, 30.0)
    np.testing.assert_allclose(first.position, 0.0)


def test_each_joint_has_its_own_motor():
    gain = np.linspace(0.5, 1.5, JOINTS)
    last = told(MotorModel(bias=0.1 * gain, gain=gain, delay=0.001 * gain), 20)[-1]
    np.testing.assert_allclose(last.position, 2.0 * (19 / 500.0 - 0.001 * gain) + 0.1 * gain)
    np.testing.assert_allclose(last.kp, 30.0 * gain)
    np.testing.assert_allclose(last.kd, 0.7 * gain)
    np.testing.assert_allclose(last.torque, gain)


def test_a_weak_motor_sags_by_what_its_gain_leaves():
    """A standing robot's joints hold τ = g kp (q_d - q): half the gain, twice the sag."""
    robot = ff.load("mini_cheetah")
    hold = ff.control.Hold("stand", 120.0, 3.0)
    q_d = hold(0.0, robot, NOTHING, Command(), {})[0].position
    sag = {}
    for gain in (1.0, 0.5):
        sim = ff.Simulation(robot, MotorModel(gain=gain).of(hold), joints=ff.sim.JointModel.ideal())
        rec = sim.run(1.5)
        sag[gain] = (q_d - rec.q[-1, 7:])[2] / rec.torque[-1, 2]
    assert sag[1.0] == pytest.approx(1.0 / 120.0, rel=1e-3)
    assert sag[0.5] == pytest.approx(1.0 / 60.0, rel=1e-3)


def test_motors_are_compiled_into_a_batch_and_may_differ_between_robots():
    robot = ff.load("mini_cheetah")
    late = MotorModel(bias=np.zeros(JOINTS), gain=np.ones(JOINTS), delay=np.full(JOINTS, 0.004))
    batch = ff.Batch(robot, 2, late.of(ff.control.Hold("stand", 120.0, 3.0)), free=["controller.motors.bias"])
    batch.set({"controller.motors.bias": np.array([np.zeros(JOINTS), np.tile([0.0, 0.0, 0.1], 4)])})
    batch.run(600)
    assert batch.simulation.controller_is_compiled
    apart = batch.q[1, 7:] - batch.q[0, 7:]
    assert apart[2::3].mean() > 0.05


def test_what_identification_writes_is_read_again(tmp_path):
    model = MotorModel(np.linspace(-0.1, 0.1, 3), np.array([0.9, 1.0, 1.1]), 0.004)
    path = tmp_path / "motors.json"
    path.write_text(json.dumps({"format": 1, "motors": model.to_json()}))
    again = MotorModel.read(path)
    for key in ("bias", "gain", "delay"):
        np.testing.assert_array_equal(getattr(again, key), getattr(model, key))
    path.write_text("{}")
    with pytest.raises(InputError, match="holds no motors"):
        MotorModel.read(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"gain": -1.0}, "gain of a motor model"), ({"delay": 5.0}, "delay of a motor model"), ({"bias": "x"}, "bias")],
)
def test_motors_that_cannot_be_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        MotorModel(**options)


def test_as_many_numbers_as_the_robot_has_joints():
    with pytest.raises(InputError, match="12 of them"):
        MotorModel(bias=np.zeros(5)).of(ramp).start(ff.load("mini_cheetah"))

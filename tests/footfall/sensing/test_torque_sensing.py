"""Joint torques from IMU, encoders and foot forces: the filter's own law, ideal readings, noisy ones."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import Inertial, Sensed
from footfall.errors import InputError
from footfall.sensing.estimation.torque_sensing import LowPass, TorqueSensing
from footfall.sensing.sensors import Sensors
from footfall_lab.papers.yan2021.runs import filtered_torques, noisy_torques


@pytest.mark.parametrize(("cutoff", "rate"), [(25.0, 1000.0), (60.0, 500.0)])
def test_low_pass_halves_the_power_at_its_cutoff_and_keeps_what_stays(cutoff, rate):
    """Butterworth: gain 1 at rest, 1/√2 at the cut-off, (f/f_c)² less beyond, f warped by the bilinear transform."""
    t = np.arange(int(2 * rate)) / rate
    gains = []
    for frequency in (cutoff / 10, cutoff, 3 * cutoff):
        low, y = LowPass(cutoff, rate), []
        memory = low.start(1)
        for x in np.sin(2 * np.pi * frequency * t):
            out, memory = low(np.array([x]), memory)
            y.append(out[0])
        gains.append(np.sqrt(2.0 * np.mean(np.square(y[len(y) // 2 :]))))
    assert gains[0] == pytest.approx(1.0, abs=0.01)
    assert gains[1] == pytest.approx(np.sqrt(0.5), abs=0.01)
    warped = np.tan(3 * np.pi * cutoff / rate) / np.tan(np.pi * cutoff / rate)
    assert gains[2] == pytest.approx(1.0 / np.sqrt(1.0 + warped**4), rel=0.02)
    constant, _ = low(np.array([3.7]), low.start(1))
    assert constant == pytest.approx(3.7)  # from the first sample on


def test_ideal_readings_of_a_robot_at_rest_give_the_torques_that_hold_it():
    robot = ff.load("mini_cheetah")
    rec = ff.Simulation(robot, start=ff.control.standing_state(robot)).run(0.5)
    torques = filtered_torques(rec, Sensors(), TorqueSensing(1000.0))
    assert np.abs(rec.torque[-1]).max() > 2.0
    # at rest dry friction carries a part, which no motor gives: it is told apart by nothing that is sensed
    passive = 0.2
    np.testing.assert_allclose(torques[-1], rec.torque[-1], atol=passive + 0.05)


def test_filters_take_most_of_the_noise_and_leave_a_walk_of_another_robot_in_sight():
    """Against the torques that the motors really gave; the plain differences of the same readings beside."""
    robot = ff.load("mini_cheetah")
    rec = ff.Simulation(robot, ff.control.JointPD(gait=ff.gait.trot(), kp=80.0, kd=2.0)).run(1.0)
    rows = np.arange(400, len(rec) - 2, 11)
    truth, sensors = rec.torque[rows], Sensors.realistic(3)
    filtered = filtered_torques(rec, sensors, TorqueSensing(1000.0))[rows] - truth
    plain = noisy_torques(rec, rows, sensors) - truth
    rms = [float(np.sqrt(np.mean(x**2))) for x in (filtered, plain, truth)]
    assert rms[0] < 0.7 * rms[1]
    assert rms[0] < 0.35 * rms[2]


def test_feet_that_are_in_the_air_push_with_nothing():
    """A foot sensor that is off by 20 N, all feet in the air: the torques are those of a robot that hangs."""
    robot = ff.load("xiling")
    q, v = robot.state("stand")
    sensing = TorqueSensing(1000.0)
    hanging = Inertial(np.array([0.0, 0.0, 9.81]), np.zeros(3))
    found = {}
    for name, forces in (("none", np.zeros((4, 3))), ("off", np.full((4, 3), 20.0)), ("stands", np.full((4, 3), 90.0))):
        torques, _ = sensing(robot, Sensed(q=q, v=v, forces=forces, imu=hanging), sensing.start(robot))
        found[name] = torques
    np.testing.assert_array_equal(found["none"], found["off"])
    assert np.abs(found["stands"] - found["none"]).max() > 5.0
    np.testing.assert_allclose(found["none"], ff.dynamics.gravity_terms(robot, q)[6:], atol=1e-9)


def test_what_it_cannot_do_is_refused_in_one_sentence():
    with pytest.raises(InputError, match="cutoff"):
        TorqueSensing(1000.0, cutoff=600.0)
    with pytest.raises(InputError, match="fixed base"):
        TorqueSensing().start(ff.load("mini_cheetah").replace(floating=False))

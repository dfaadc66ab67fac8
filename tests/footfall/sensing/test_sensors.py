"""IMU, encoders and force sensors: what they read, when, and how far from the truth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from simulated_bodies import ball, hung

import footfall as ff
from footfall import compiling
from footfall.contact.ground import Plane
from footfall.control.interface import Command, Inertial, JointCommand, Sensed
from footfall.errors import InputError
from footfall.sensing.sensors import Reading, Sensors, SensorWrapper
from footfall.spatial.quaternion import rotated, to_rotation

CHEETAH = ff.load("mini_cheetah")
FAR = Plane(point=np.array([0.0, 0.0, -1e4]))
G = (0.0, 0.0, -9.81)
TURN = to_rotation(rotated(np.array([1.0, 0, 0, 0]), np.array([0.3, -0.5, 0.8])))


class Watching:
    """Holds the stand and remembers what it was told."""

    rate = 1000.0

    def start(self, robot):
        return {"acceleration": np.zeros(3), "gyro": np.zeros(3), "q": np.zeros(robot.nq), "v": np.zeros(robot.nv)}

    def __call__(self, t, robot, sensed, command, memory):
        told = {"acceleration": sensed.acceleration, "gyro": sensed.gyro, "q": sensed.q, "v": sensed.v}
        if not robot.nj:
            return JointCommand(), told
        return JointCommand(position=robot.state("stand")[0][7:], kp=60.0, kd=1.5), told


def told(sim: ff.Simulation) -> dict:
    memory = sim.state.memory
    return memory.get("inner", memory)


# -- the IMU ---------------------------------------------------------------------------------------------------------
def test_imu_at_rest_reads_g_upwards_in_its_axes():
    sensors = Sensors(imu_position=np.array([0.1, 0.02, 0.03]), imu_rotation=TURN)
    sim = ff.Simulation(CHEETAH, Watching(), sensors=sensors)
    sim.run(4.0)
    up = TURN.T @ to_rotation(sim.q[3:7])[2]
    np.testing.assert_allclose(told(sim)["acceleration"], 9.81 * up, atol=1e-4)
    np.testing.assert_allclose(told(sim)["gyro"], 0.0, atol=3e-5)  # joints and feet that are held creep


@pytest.mark.parametrize("compiled", [True, False])
def test_imu_in_free_fall_reads_nothing(compiled):
    start = (np.array([0, 0, 0, 1.0, 0, 0, 0]), np.zeros(6))  # far above the ground, not on it
    sim = ff.Simulation(ball(), Watching(), ground=FAR, sensors=Sensors(), start=start, compile_controller=compiled)
    sim.run(0.01)
    np.testing.assert_allclose(told(sim)["acceleration"], 0.0, atol=1e-9)


def test_imu_off_the_axis_of_a_spinning_body_feels_the_turn():
    """ω² r towards the axis, and the gyro ω, in the IMU's own axes."""
    spin, arm = 5.0, 0.2
    sensors = Sensors(imu_position=np.array([arm, 0.0, 0.0]), imu_rotation=TURN)
    start = (np.array([0, 0, 0, 1.0, 0, 0, 0]), np.array([0, 0, spin, 0, 0, 0]))
    sim = ff.Simulation(ball(), Watching(), ground=FAR, sensors=sensors, start=start)
    sim.run(0.1)
    middle = to_rotation(rotated(np.array([1.0, 0, 0, 0]), np.array([0, 0, 0.5e-3 * spin])))  # mean over a tick
    np.testing.assert_allclose(
        told(sim)["acceleration"], TURN.T @ middle.T @ np.array([-spin * spin * arm, 0.0, 0.0]), atol=1e-4
    )
    np.testing.assert_allclose(told(sim)["gyro"], TURN.T @ np.array([0, 0, spin]), atol=1e-12)


def test_without_sensors_a_controller_sees_the_truth_and_a_base_that_does_not_accelerate():
    q, v = CHEETAH.state("stand")
    q[3:7], v[:3] = rotated(q[3:7], np.array([0.1, 0.2, 0.3])), (0.1, 0.2, 0.3)
    sensed = Sensed(q=q, v=v, forces=np.zeros((4, 3)))
    assert (sensed.gyro == v[:3]).all()
    np.testing.assert_allclose(to_rotation(q[3:7]) @ sensed.acceleration, [0, 0, 9.81], atol=1e-12)
    fixed = Sensed(q=q[7:], v=v[6:], forces=np.zeros((4, 3)))
    assert fixed.acceleration.tolist() == [0, 0, 9.81]
    own = Sensed(q=q, v=v, forces=np.zeros((4, 3)), imu=Inertial(np.ones(3), np.zeros(3)))
    assert own.acceleration.tolist() == [1, 1, 1]


def test_perfect_sensors_change_nothing():
    runs = [ff.Simulation(CHEETAH, sensors=sensors).run(0.3) for sensors in (None, Sensors())]
    np.testing.assert_allclose(runs[1].q, runs[0].q, rtol=0, atol=1e-12)


# -- noise, bias, resolution, delay and rate -------------------------------------------------------------------------
def readings(sensors: Sensors, ticks: int, value=lambda k: float(k), rate: float = 1000.0) -> np.ndarray:
    """Joint positions that a controller is told while all of them are value(tick)."""
    robot = hung(CHEETAH)

    @ff.controller(rate=rate)
    def nothing(t, robot, sensed, command, memory):
        return JointCommand(), memory

    measured = SensorWrapper(nothing, sensors, G)
    memory, found = measured.start(robot), []
    for k in range(ticks):
        truth = Sensed(q=np.full(12, value(k)), v=np.zeros(12), forces=np.zeros((4, 3)))
        seen, memory = measured.read(robot, truth, memory)
        found.append(seen.q)
    return np.array(found)


@pytest.mark.parametrize(("delay", "rate"), [(0.0, 1000.0), (0.003, 1000.0), (0.0, 250.0), (0.003, 250.0), (0.01, 100)])
def test_delay_and_rate_are_exact(delay, rate):
    """The sample of tick n is taken every so many ticks and arrives so many later; the first one until then."""
    found = readings(Sensors(position=Reading(delay=delay, rate=rate)), 60)
    every, late = round(1000 / rate), round(1000 * delay)
    expected = [max(0, every * ((k - late) // every)) for k in range(60)]
    assert (found == np.array(expected)[:, None]).all()


def test_resolution_rounds_to_the_nearest():
    found = readings(Sensors(position=Reading(resolution=0.1)), 40, lambda k: 0.037 * k)
    np.testing.assert_allclose(found[:, 0], np.round(0.037 * np.arange(40) / 0.1) * 0.1, atol=1e-12)


def test_noise_has_the_deviation_asked_for_and_axes_do_not_know_of_each_other():
    found = readings(Sensors(position=Reading(noise=0.2), seed=3), 4000, lambda k: 1.0) - 1.0
    np.testing.assert_allclose(found.std(axis=0), 0.2, rtol=0.05)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=0.02)
    assert np.abs(np.corrcoef(found.T) - np.eye(12)).max() < 0.1
    follow = [np.corrcoef(found[:-1, k], found[1:, k])[0, 1] for k in range(12)]
    assert np.abs(follow).max() < 0.1


def test_bias_is_constant_and_differs_between_axes():
    found = readings(Sensors(position=Reading(bias=0.1), seed=1), 5, lambda k: 0.0)
    assert (found == found[0]).all()
    assert 0.03 < found[0].std() < 0.3


def test_same_seed_makes_the_same_noise():
    first, again, other = (readings(Sensors(position=Reading(0.1, 0.1), seed=s), 20) for s in (7, 7, 8))
    assert (first == again).all()
    assert (first != other).all()


def test_runs_with_sensors_repeat_bit_for_bit_and_differ_with_the_seed():
    @ff.controller(rate=1000)
    def feels(t, robot, sensed, command, memory):
        wanted = robot.state("stand")[0][7:]
        return JointCommand(position=wanted, kp=60.0, kd=1.0, torque=-0.5 * sensed.v[6:]), memory

    runs = [ff.Simulation(CHEETAH, feels, sensors=Sensors.typical(seed)).run(0.3) for seed in (1, 1, 2)]
    assert (runs[0].q == runs[1].q).all()
    assert np.abs(runs[0].q - runs[2].q).max() > 1e-6
    assert not runs[0].meta["fell"]


def test_compiled_controller_and_python_controller_read_the_same_sensors():
    runs = [
        ff.Simulation(CHEETAH, Watching(), sensors=Sensors.typical(4), compile_controller=compiled)
        for compiled in (True, False)
    ]
    for sim in runs:
        sim.run(0.05)
    assert runs[0].controller_is_compiled
    assert not runs[1].controller_is_compiled
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-9)
    np.testing.assert_allclose(told(runs[0])["acceleration"], told(runs[1])["acceleration"], atol=1e-6)


@pytest.mark.parametrize("target", ["interpret", "native", "batch"])
def test_sensors_trace_to_the_same_numbers(target):
    sensors = dataclasses.replace(
        Sensors.typical(5), gyro=Reading(0.1, 0.1, 0.01, 0.002, 500.0), force=Reading(1.0, 0.5, 0.1, 0.001, 250.0)
    )
    measured = SensorWrapper(Watching(), sensors, G)
    rng = np.random.default_rng(0)
    q, v = CHEETAH.state("stand")
    truth = Sensed(q=q, v=v + rng.standard_normal(18), forces=rng.standard_normal((4, 3)))
    memory = {k: x for k, x in measured.start(CHEETAH).items() if k != "inner"}

    def read(sensed: Sensed, memory: dict) -> tuple:
        for _ in range(3):
            seen, memory = measured.read(CHEETAH, sensed, memory)
        return seen.q, seen.v, seen.forces, seen.acceleration, seen.gyro

    compiled = compiling.compile(read, None, truth, memory, target=target, verify=False)
    if target == "batch":
        twice = Sensed(**{key: np.stack([getattr(truth, key)] * 2) for key in ("q", "v", "forces")})
        found = [x[1] for x in compiled(twice, {k: np.stack([np.asarray(x)] * 2) for k, x in memory.items()})]
    else:
        found = compiled(truth, memory)
    for mine, expected in zip(found, read(truth, memory)):
        np.testing.assert_allclose(mine, expected, atol=1e-9)


def test_attitude_is_off_by_its_noise():
    measured = SensorWrapper(Watching(), Sensors(attitude=Reading(noise=0.01), seed=2), G)
    q, v = CHEETAH.state("stand")
    memory, angles = measured.start(CHEETAH), []
    for _ in range(500):
        seen, memory = measured.read(CHEETAH, Sensed(q=q, v=v, forces=np.zeros((4, 3))), {**memory, "inner": None})
        assert np.linalg.norm(seen.q[3:7]) == pytest.approx(1.0, abs=1e-12)
        angles.append(2 * seen.q[4:7])
    np.testing.assert_allclose(np.std(angles, axis=0), 0.01, rtol=0.15)


# -- bad input -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, "loud", None])
def test_reading_refuses_what_is_no_size(bad):
    for key in ("noise", "bias", "resolution", "delay"):
        with pytest.raises(InputError, match=key):
            Reading(**{key: bad})


@pytest.mark.parametrize(
    ("sensors", "said"),
    [
        (Sensors(gyro=Reading(delay=0.0015)), "whole number of the controller's ticks"),
        (Sensors(force=Reading(rate=300.0)), "must divide the controller's 1000 Hz"),
        (Sensors(force=Reading(rate=3000.0)), "must divide the controller's 1000 Hz"),
    ],
)
def test_delay_and_rate_must_fit_the_controller(sensors, said):
    with pytest.raises(InputError, match=said):
        ff.Simulation(CHEETAH, Watching(), sensors=sensors)


def test_sensors_refuse_what_they_are_not():
    for wrong, said in (
        ({"gyro": 0.1}, "gyro sensor must be a Reading"),
        ({"imu_rotation": 2 * np.eye(3)}, "rotation matrix"),
        ({"imu_position": np.zeros(2)}, "three finite numbers"),
        ({"seed": -1}, "seed"),
        ({"attitude": Reading(resolution=0.1)}, "resolution"),
    ):
        with pytest.raises(InputError, match=said):
            Sensors(**wrong)
    with pytest.raises(InputError, match="must be Sensors, got str"):
        ff.Simulation(CHEETAH, sensors="good ones")


def test_command_passes_through():
    @ff.controller(rate=1000)
    def echo(t, robot, sensed, command, memory):
        return JointCommand(torque=command.forward), memory

    measured = SensorWrapper(echo, Sensors(), G)
    q, v = CHEETAH.state("stand")
    asked, _ = measured(
        0.0, CHEETAH, Sensed(q=q, v=v, forces=np.zeros((4, 3))), Command(forward=0.4), measured.start(CHEETAH)
    )
    assert asked.torque == 0.4

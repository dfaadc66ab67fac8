"""IMU, encoders and force sensors: what they read, when, and how far from the truth."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer
from simulated_bodies import ball, hung

import footfall as ff
from footfall import compiling
from footfall.contact.ground import Plane
from footfall.control.interface import Command, Inertial, JointCommand, Sensed
from footfall.errors import InputError
from footfall.sensing.sensors import Reading, Sensors, SensorWrapper
from footfall.sim.gpu import TickSource
from footfall.sim.rollouts import stack_trees
from footfall.spatial.quaternion import rotated, to_rotation
from nptrace import random
from nptrace.codegen.emit import first_is_state
from nptrace.frontend import tree
from nptrace.runtime.compiled import program

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
        found = [x[1] for x in compiled(twice, stack_trees([memory] * 2))]
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


# -- noise: a function of seed, robot, sensor and tick ---------------------------------------------------------------
DTYPES = [np.float64, np.float32]


@ff.controller(rate=1000, memory=lambda robot: {"q": np.zeros(19), "v": np.zeros(18), "a": np.zeros(3)})
def watching(t, robot, sensed, command, memory):
    stand = robot.state("stand")[0][7:]
    told = {"q": 1.0 * sensed.q, "v": 1.0 * sensed.v, "a": 1.0 * sensed.acceleration}
    return JointCommand(position=stand, kp=60.0, kd=1.5), told


def noise_of_rates(ticks: np.ndarray, dtype=np.float64, sensors: Sensors | None = None) -> np.ndarray:
    """The noise of the joints' rates at these ticks of a run, on lanes: (ticks, 12)."""
    sensors = sensors or Sensors(velocity=Reading(noise=1.0), seed=6)
    measured = SensorWrapper(Watching(), sensors, G)
    start = {key: x for key, x in measured.start(CHEETAH).items() if key != "inner"}

    def read(memory: dict) -> np.ndarray:
        return measured.read(
            CHEETAH, Sensed(q=CHEETAH.state("stand")[0], v=np.zeros(18), forces=np.zeros((4, 3))), memory
        )[0].v[6:]

    compiled = compiling.compile(read, None, start, target="batch", dtype=dtype, verify=False)
    leaves, rebuild = tree.flatten(start)
    memory = rebuild([np.broadcast_to(x, (len(ticks), *np.shape(x))) for x in leaves])
    return compiled({**memory, "tick": random.words(ticks, 3)})


@pytest.mark.parametrize("dtype", DTYPES)
def test_robots_of_a_batch_have_noise_of_their_own(dtype):
    batch = ff.Batch(CHEETAH, 8, watching, sensors=Sensors.realistic(seed=1), dtype=dtype)
    found = []
    for _ in range(250):
        batch.run(1)
        found.append(batch.state.memory["inner"]["v"][:, 6:] - batch.v[:, 6:])
    found = np.array(found)  # tick, robot, joint; what moves between ticks is alike, and far less than noise
    assert (np.array(found)[:, :, None] != np.array(found)[:, None]).any(axis=-1)[:, ~np.eye(8, dtype=bool)].all()
    columns = (found - found.mean(axis=0)).reshape(250, -1)
    off = np.abs(np.corrcoef(columns.T) - np.eye(96))
    assert off.max() < 5.0 / np.sqrt(250)
    for key in ("gyro", "attitude", "acceleration", "force"):  # each robot's offsets too
        biases = batch.state.memory[key]["bias"]
        assert len(np.unique(biases)) == biases.size


def test_a_robot_of_a_batch_has_the_noise_of_the_simulation_of_its_number():
    sensors = Sensors.realistic(seed=1)
    batch = ff.Batch(CHEETAH, 8, watching, sensors=sensors)
    batch.run(40)
    once = batch.q.copy()
    for k in (0, 5):
        simulation = ff.Simulation(CHEETAH, watching, sensors=dataclasses.replace(sensors, robot=k))
        simulation.run(0.04)
        assert (simulation.q == once[k]).all()
        assert (simulation.state.memory["inner"]["a"] == batch.state.memory["inner"]["a"][k]).all()
    batch.reset([1, 5])
    batch.run(40)
    assert (batch.q[[1, 5]] == once[[1, 5]]).all()


def test_simulations_that_differ_in_their_seed_share_a_program_and_keep_their_noise():
    made = lambda seed: ff.Simulation(CHEETAH, sensors=Sensors.realistic(seed))  # noqa: E731
    together = [made(seed) for seed in range(4)]
    ff.sim.run_batched(together, 0.05)
    assert len({simulation.model.digest for simulation in together}) == 1
    seen = []
    for seed, simulation in enumerate(together):
        alone = made(seed)
        alone.run(0.05)
        for mine, theirs in zip(tree.flatten(simulation.state)[0], tree.flatten(alone.state)[0]):
            assert np.array_equal(mine, theirs)
        seen.append(float(simulation.state.memory["gyro"]["samples"][0, 0]))
    assert len(set(seen)) == 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_noise_does_not_repeat_itself_and_its_tails_are_right(dtype):
    count = 400_000
    x = noise_of_rates(np.arange(count), dtype)
    assert abs(x.std() - 1.0) < 4.0 / np.sqrt(2 * x.size)
    for lag in (1, 256, 4096, 16384, 65536):
        follow = np.mean(x[lag:] * x[:-lag], axis=0)
        assert np.abs(follow).max() < 5.0 / np.sqrt(count - lag), lag
    distinct = [len(np.unique(column)) for column in x.T.astype(np.float64)]
    assert min(distinct) > (0.999 if dtype == np.float64 else 0.9) * count  # float32 has few numbers near 1
    for sigmas in (3.0, 4.0, 4.5):
        expected = x.size * math.erfc(sigmas / math.sqrt(2.0))
        assert abs(np.sum(np.abs(x) > sigmas) - expected) < 5.0 * math.sqrt(expected), sigmas


@pytest.mark.parametrize("dtype", DTYPES)
def test_noise_reaches_six_sigma_where_its_generator_does(dtype):
    """A table of 16 384 numbers ends at four; the largest of 10^9 numbers of seed 6 lie at these ticks."""
    for tick, largest in ((23_423_649, 6.04), (63_165_805, 6.19)):
        assert np.abs(noise_of_rates(np.array([tick]), dtype)).max() == pytest.approx(largest, abs=0.01)


@pytest.mark.parametrize("start", [0, 65_535, 2**24 - 2, 2**32 - 2, 2**40])
def test_ticks_of_noise_are_counted_in_float32_as_in_float64(start):
    """One number of float32 would stand still at 2^24: after 4.7 hours at 1 kHz."""
    sensors = Sensors(position=Reading(noise=1.0, rate=250.0), velocity=Reading(noise=1.0), seed=2)
    found = {}
    for dtype in DTYPES:
        batch = ff.Batch(CHEETAH, 2, watching, sensors=sensors, dtype=dtype)
        batch.state.memory["tick"][:] = random.words(start, 3)
        rows = []
        for _ in range(8):
            batch.run(1)
            rows.append(batch.state.memory["inner"]["v"][:, 6:] - batch.v[:, 6:])
        assert (random.number(batch.state.memory["tick"].astype(float)) == start + 8).all()
        found[dtype] = np.array(rows)
    assert (np.abs(np.diff(found[np.float32], axis=0)).max(axis=-1) > 0.1).all()
    np.testing.assert_allclose(found[np.float32], found[np.float64], atol=2e-2)  # rates within a tick


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("dtype", DTYPES)
def test_noise_on_a_gpu_is_that_of_the_processor(dtype, tmp_path):
    """The CUDA source of sensors, built for the processor, from the states that robots on a GPU begin with."""
    sensors, n = dataclasses.replace(Sensors.realistic(seed=3), gyro=Reading(0.1, 0.1, 0.0, 0.002, 500.0)), 5
    measured = SensorWrapper(watching, sensors, G)
    source = TickSource(CHEETAH, watching, dtype=dtype, sensors=sensors)
    batch = ff.Batch(CHEETAH, n, watching, sensors=sensors, dtype=dtype)
    columns = [np.broadcast_to(rows, (len(rows), n)) for rows in source.first_columns(n)]
    for mine, theirs in zip(columns, tree.flatten(batch.state)[0]):
        assert np.array_equal(mine.T, theirs.reshape(n, -1))

    q, v = CHEETAH.state("stand")
    forces, first = np.zeros((4, 3)), {key: x for key, x in batch.first.memory.items() if key != "inner"}

    def read(memory: dict) -> tuple:
        seen, after = measured.read(CHEETAH, Sensed(q=q, v=v, forces=forces), memory)
        return after, seen.q[3:], seen.v, seen.forces, seen.gyro

    code = program(read, first)
    library = emulate(code, first_is_state([code.input_size]), dtype, tmp_path)
    lanes = compiling.compile(read, None, first, target="batch", dtype=dtype, verify=False)
    memory = {key: batch.state.memory[key] for key in first}
    for _ in range(6):
        state = np.concatenate([x.reshape(n, -1) for x in tree.flatten(memory)[0]], axis=1).T
        out = np.zeros((len(code.outputs), n), dtype)
        library.run_evaluate(pointer(np.ascontiguousarray(state, dtype)), None, None, pointer(out), n)
        found = lanes(memory)
        expected = np.concatenate([x.reshape(n, -1) for x in tree.flatten(found)[0]], axis=1).T
        np.testing.assert_allclose(out, expected, rtol=0.0, atol=1e-12 if dtype == np.float64 else 1e-5)
        memory = found[0]


def test_a_users_controller_may_have_noise_of_its_own_for_every_robot():
    class Shaking:
        rate = 1000.0

        def start(self, robot):
            return {"key": random.key(4), "tick": np.zeros(3)}

        def memory_of_robots(self, memory, numbers):
            return {**memory, "key": random.fold_in(memory["key"], random.words(numbers, 2))}

        def __call__(self, t, robot, sensed, command, memory):
            shaken = random.normal(memory["key"], memory["tick"], 12)
            after = {"key": memory["key"], "tick": random.advance(memory["tick"])}
            return JointCommand(position=robot.state("stand")[0][7:], kp=60.0, kd=1.5, torque=shaken), after

    for sensors in (None, Sensors.typical(seed=1)):
        batch = ff.Batch(CHEETAH, 4, Shaking(), sensors=sensors)
        batch.run(5)
        assert len(np.unique(batch.v[:, 6])) == 4

    class Wrong(Shaking):
        def memory_of_robots(self, memory, numbers):
            return {**memory, "tick": np.zeros((2, 3))}

    with pytest.raises(InputError, match=r"Wrong: memory_of_robots returned an array of shape \(2, 3\)"):
        ff.Batch(CHEETAH, 4, Wrong())


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

"""Many robots at once: each on its own, whatever the company."""

import numpy as np
import pytest

import footfall as ff
from footfall.contact.compliant import Compliant
from footfall.errors import FootfallError, InputError
from footfall.sim import Batch, gpu
from footfall.sim.gpu import TickSource
from nptrace.codegen import interpret
from nptrace.ir.program import walk
from nptrace.passes import reductions, slp

CHEETAH = ff.load("mini_cheetah")
TROT = ff.control.JointPD.tuned("mini_cheetah", "trot")


@pytest.mark.parametrize("n", [7, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_robot_is_the_same_bit_for_bit_in_any_batch(n, dtype):
    alone, many = (Batch(CHEETAH, count, TROT, dtype=dtype, free=["ground.friction"]) for count in (1, n))
    friction = np.linspace(0.5, 1.0, n)
    friction[n // 2] = 0.8
    many.set({"ground.friction": friction})
    for batch in (alone, many):
        batch.run(120)
    assert (many.q[n // 2] == alone.q[0]).all()
    assert np.abs(many.q[0] - many.q[-1]).max() > 0


def test_a_batch_moves_as_a_simulation():
    simulation = ff.Simulation(CHEETAH, TROT)
    recording = simulation.run(0.3)
    batch = Batch(CHEETAH, 3, TROT)
    batch.run(300)
    np.testing.assert_allclose(batch.q[1], recording.q[-1], atol=1e-8)


def test_threads_change_no_number():
    one, two = (Batch(CHEETAH, 64, TROT, threads=count) for count in (1, 2))
    for batch in (one, two):
        batch.push[:, 4] = np.linspace(-10, 10, 64)
        batch.run(50)
    assert (one.q == two.q).all()


def test_a_part_is_reset_and_the_rest_goes_on():
    batch = Batch(CHEETAH, 10, TROT)
    batch.run(40)
    moved = batch.q.copy()
    batch.reset([2, 5])
    assert (batch.q[2] == batch.first.q).all()
    assert (batch.q[3] == moved[3]).all()
    assert batch.time[2] == 0
    assert batch.time[3] == pytest.approx(0.04)


def test_chosen_robots_are_recorded_as_they_will_move():
    batch = Batch(CHEETAH, 5, TROT)
    rows = batch.record([1, 4], 60, every=20)
    assert rows.q.shape == (2, 3, CHEETAH.nq)
    batch.run(60)
    assert (rows.q[1, -1] == batch.q[4]).all()


def test_a_fallen_robot_is_seen():
    batch = Batch(CHEETAH, 3, TROT)
    batch.state.q[1, 3:7] = [0, 1, 0, 0]
    batch.state.q[2] = np.nan
    assert batch.fallen().tolist() == [False, True, True]


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="at least one robot"):
        Batch(CHEETAH, 0, TROT)
    with pytest.raises(InputError, match=r"did you mean 'trunk\.mass'"):
        Batch(CHEETAH, 2, TROT, free=["trunk.mas"])
    batch = Batch(CHEETAH, 2, TROT, free=["trunk.mass"])
    with pytest.raises(InputError, match="unknown free parameter"):
        batch.set({"ground.friction": 1.0})
    with pytest.raises(InputError, match="whole number of ticks, at least one"):
        batch.run(0)


def test_the_cuda_source_of_a_tick_needs_no_gpu():
    source = TickSource(CHEETAH, TROT)
    assert "footfall_tick_advance" in source.text
    q = source.numbers(source.first)[source.rows("q")]
    np.testing.assert_allclose(q, ff.Simulation(CHEETAH, TROT).q, rtol=1e-6)


def test_a_tick_with_solvers_gets_one_thread_per_robot():
    """Lanes of legs lose where most of a tick is not alike leg by leg."""
    walking = TickSource(CHEETAH, ff.control.Locomotion(), threads=4, longest=gpu.LONG)
    assert (walking.threads, TickSource(CHEETAH, TROT, threads=4, longest=gpu.LONG).threads) == (1, 4)


def test_a_short_tick_of_many_robots_gets_one_thread_per_robot():
    """Where a thread has registers for all of a tick, lanes of legs do the base's work four times for nothing."""
    long = TickSource(CHEETAH, TROT, threads=4, shortest=gpu.SHORT)
    explicit = {"integrator": "semi_implicit_euler", "contact": Compliant(damping=10.0, implicit=False)}
    short = TickSource(
        CHEETAH, TROT, threads=4, shortest=gpu.SHORT, dt=1e-4, joints=ff.sim.JointModel.ideal(), **explicit
    )
    planning = TickSource(CHEETAH, TROT, threads=4, shortest=gpu.SHORT, contact=ff.contact.Planning())
    assert (long.threads, short.threads, planning.threads) == (4, 1, 1)
    assert "all_parked" in planning.text
    assert planning.block == gpu.WARP


def test_a_robot_with_four_like_legs_may_have_four_threads():
    source = TickSource(CHEETAH, TROT, threads=4)
    assert source.threads == 4
    assert "four threads per element" in source.text
    assert "__shfl_sync" in source.text
    with pytest.raises(InputError, match="1, 2 or 4"):
        TickSource(CHEETAH, TROT, threads=3)
    with pytest.raises(InputError, match="a multiple of 32"):
        TickSource(CHEETAH, TROT, block=100)


def test_four_threads_agree_with_one_to_single_precision():
    """They add up what the legs do to the base in different orders; after a stride's worth of ticks that is all."""
    source = TickSource(CHEETAH, TROT)
    lanes = slp.vectorised(reductions.reassociated(source.program), lanes=(4,))
    exchanged = sum(o.op == "hsum" for o in walk(lanes.body))
    assert 42 <= exchanged <= 60  # 36 + 6 numbers of the base's unsymmetric equation, and little else
    inputs, state = source.numbers(source.inputs), source.numbers(source.first)
    one = np.stack([state] * 4, axis=1)
    one[source.rows("q").start + 2] += np.linspace(0.0, 0.003, 4, dtype=np.float32)
    rest = np.stack([inputs] * 4, axis=1)
    four = one.copy()
    for _ in range(40):
        one = interpret.evaluate(source.program, np.concatenate([one, rest]))
        four = interpret.evaluate(lanes, np.concatenate([four, rest]))
    q = source.rows("q")
    assert one.dtype == four.dtype == np.float32
    assert not np.array_equal(one[q], four[q])
    np.testing.assert_allclose(four[q], one[q], atol=2e-5)


def test_without_a_gpu_it_says_what_to_use():
    from footfall.errors import FootfallError
    from footfall.sim.gpu import GpuBatch

    with pytest.raises(FootfallError, match=r"cupy|GPU"):
        GpuBatch(CHEETAH, 4, TROT)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_robot_in_batches_of_1_7_and_4096_is_the_same_bit_for_bit(dtype):
    free = ["trunk.mass", "ground.friction", "controller.kp", "ground.normal"]
    own = {"trunk.mass": 4.1, "ground.friction": 0.7, "controller.kp": 44.0, "ground.normal": [0.02, 0.0, 1.0]}
    place = {1: 0, 7: 3, 4096: 2500}
    found = []
    for n, k in place.items():
        batch = Batch(CHEETAH, n, TROT, dtype=dtype, free=free)
        batch.randomise({"trunk.mass": (3.0, 5.0), "ground.friction": (0.4, 1.0)}, seed=n)
        batch.set(own, [k])
        batch.set_command(forward=0.25, which=[k])
        batch.set_push(force=[0.0, 5.0, 0.0], which=[k])
        for ticks in (7, 50):
            batch.run(ticks)
        found.append((batch.q[k].copy(), batch.v[k].copy()))
    for q, v in found[1:]:
        assert (q == found[0][0]).all()
        assert (v == found[0][1]).all()


def test_every_parameter_that_is_set_is_the_one_a_simulation_has():
    """Masses, friction, gains and slope of one robot among others, against a simulation built with them."""
    from dataclasses import replace

    slope = np.array([-np.sin(0.02), 0.0, np.cos(0.02)])
    stand = CHEETAH.state("stand")
    free = ["trunk.mass", "ground.friction", "controller.kp", "ground.normal"]
    batch = Batch(CHEETAH, 3, TROT, free=free, start=stand)
    batch.set({"trunk.mass": 4.5, "ground.friction": 0.6, "controller.kp": 50.0, "ground.normal": slope}, [1])
    batch.run(200)
    ground = ff.contact.Plane(0.6, slope)
    alone = ff.Simulation(CHEETAH.replace({"trunk.mass": 4.5}), replace(TROT, kp=50.0), ground=ground, start=stand)
    np.testing.assert_allclose(batch.q[1], alone.run(0.2).q[-1], atol=1e-8)
    assert np.abs(batch.q[0] - batch.q[1]).max() > 1e-4


def test_randomisation_depends_on_the_seed_and_the_place_alone():
    small, large = (Batch(CHEETAH, n, TROT, free=["trunk.mass", "trunk.com"]) for n in (5, 40))
    ranges = {"trunk.mass": (3.0, 5.0), "trunk.com": ([-0.01, 0.0, 0.0], [0.01, 0.0, 0.0])}
    few, many = small.randomise(ranges, seed=3), large.randomise(ranges, seed=3)
    for path in ranges:
        assert (few[path] == many[path][:5]).all()
        assert (small.parameters[path] == few[path]).all()
    assert (small.parameters["trunk.com"][:, 1:] == 0.0).all()
    assert len(np.unique(many["trunk.mass"])) == 40
    assert ((many["trunk.mass"] >= 3.0) & (many["trunk.mass"] <= 5.0)).all()
    part = large.randomise({"trunk.mass": (3.0, 5.0)}, seed=3, which=[7, 9])
    assert (part["trunk.mass"] == many["trunk.mass"][[7, 9]]).all()
    assert (large.randomise({"trunk.mass": (3.0, 5.0)}, seed=4)["trunk.mass"] != many["trunk.mass"]).any()


def test_a_recorded_robot_is_a_recording_with_its_own_parameters():
    batch = Batch(CHEETAH, 6, TROT, free=["trunk.mass"], uses_foot_forces=True)
    batch.set({"trunk.mass": np.linspace(3.0, 4.0, 6)})
    batch.run(10)
    second, last = batch.run(60, record=[1, 5], every=20)
    assert second.time.tolist() == pytest.approx([0.03, 0.05, 0.07])
    assert (last.q[-1] == batch.q[5]).all()
    assert second.robot.link("trunk").mass == pytest.approx(3.2)
    assert last.force.shape == (3, 4, 3)
    assert last.contact.any()
    assert last.meta["trunk.mass"] == pytest.approx(4.0)


def test_other_libraries_share_the_states_memory():
    batch = Batch(CHEETAH, 20, TROT, dtype=np.float32)
    shared = np.from_dlpack(batch.q)
    batch.run(30)
    assert (shared == batch.q).all()
    assert np.shares_memory(shared, batch.q)


def test_commands_and_pushes_of_single_robots():
    batch = Batch(CHEETAH, 4, ff.control.JointPD.tuned("mini_cheetah", "trot"))
    batch.set_command(forward=[0.0, 0.3], which=[2, 3])
    batch.set_push(force=[0.0, 40.0, 0.0], which=[1])
    batch.run(100)
    assert batch.q[1, 1] > batch.q[0, 1] + 5e-3  # later it may step back
    batch.set_push()
    batch.run(1500)
    assert batch.v[1, 4] != batch.v[0, 4]
    assert batch.q[3, 0] > batch.q[2, 0] + 0.05


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda b: Batch(CHEETAH, "many", TROT), "must be a whole number, got 'many'"),
        (lambda b: Batch(CHEETAH, 2.5, TROT), "must be a whole number, got 2.5"),
        (lambda b: Batch(CHEETAH, float("nan"), TROT), "must be a whole number, got nan"),
        (lambda b: Batch(CHEETAH, 10**12, TROT), "need about .* GiB, and this machine has"),
        (lambda b: Batch(CHEETAH, 2, TROT, dtype=np.float16), "float64 or float32, not in float16"),
        (lambda b: Batch(CHEETAH, 2, TROT, threads=0), "at least one thread"),
        (lambda b: b.set({"trunk.mas": 4.0}), r"did you mean 'trunk\.mass'"),
        (lambda b: b.set({"trunk.mass": np.nan}), r"'trunk\.mass' must be finite"),
        (lambda b: b.set({"trunk.mass": "heavy"}), "must be numbers"),
        (lambda b: b.set({"trunk.mass": [1.0, 2.0, 3.0]}), "does not fit"),
        (lambda b: b.set_command(foward=1.0), "did you mean 'forward'"),
        (lambda b: b.set_push(force=[np.inf, 0, 0]), "force of a push must be finite"),
        (lambda b: b.randomise({"trunk.mas": (1, 2)}, seed=1), r"did you mean 'trunk\.mass'"),
        (lambda b: b.randomise({"trunk.mass": (2, 1)}, seed=1), "must rise and be finite"),
        (lambda b: b.randomise({"trunk.mass": 3.0}, seed=1), r"must be \(low, high\)"),
        (lambda b: b.run(5, record=[2]), "whole numbers from 0 to 1"),
        (lambda b: b.record([0.5], 3), "whole numbers from 0 to 1"),
    ],
)
def test_what_a_batch_cannot_take_is_one_sentence(call, words):
    from footfall.errors import FootfallError

    batch = Batch(CHEETAH, 2, TROT, free=["trunk.mass"])
    with pytest.raises(FootfallError, match=words) as error:
        call(batch)
    assert "\n" not in str(error.value)


def test_free_parameters_lie_where_the_source_says():
    free = ["trunk.mass", "ground.friction", "controller.gait.period"]
    source = TickSource(CHEETAH, TROT, free=free)
    columns = np.concatenate([source.numbers(source.first), source.numbers((source.inputs, source.parameters))])
    values = {"trunk.mass": 5.0, "ground.friction": 0.4, "controller.gait.period": 0.4}
    for path, value in values.items():
        at = len(source.numbers(source.first)) + source.input_rows(path).start
        assert columns[at] == np.float32(source.simulation.model.parameter(path))
        columns[at] = value
    rows = source.rows("v")
    after = interpret.evaluate(source.program, columns[:, None].astype(float))[rows, 0]
    batch = Batch(CHEETAH, 1, TROT, free=free)
    batch.set({path: np.array([value]) for path, value in values.items()})
    batch.run(1)
    np.testing.assert_allclose(after, batch.state.v[0], atol=1e-4)
    assert "stride" in source.text
    with pytest.raises(FootfallError, match=r"trunk\.mass"):
        source.input_rows("trunk.mas")


# -- what it costs ---------------------------------------------------------------------------------------------------
def test_a_report_counts_solutions_and_leaves_the_batch_as_it_is():
    robot, n = ff.load("mini_cheetah"), 40
    controller = ff.control.JointPD.tuned(robot, "trot", rate=500)
    seen = {}
    for name, contact in (("compliant", None), ("planning", ff.contact.Planning())):
        batch = ff.Batch(robot, n, controller, contact=contact, dt=1e-3, free=["controller.gait.period"])
        batch.set({"controller.gait.period": np.linspace(0.42, 0.58, n)})
        batch.run(200)
        q, before = batch.q.copy(), batch.time.copy()
        seen[name] = batch.report(20)
        np.testing.assert_array_equal(batch.q, q)
        np.testing.assert_array_equal(batch.time, before)
    found = seen["compliant"]
    assert 1.0 < found["solutions"] < found["slowest"] <= 20.0
    assert found["solutions_p99"] >= 2.0
    assert 1.0 / found["lanes"] < found["occupancy"] < 1.0
    assert seen["planning"] == {**found, "solutions": 1.0, "solutions_p99": 1.0, "slowest": 1.0, "occupancy": 1.0}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ticks_are_counted_beyond_the_whole_numbers_of_float32(dtype):
    """float32 holds whole numbers up to 2^24, which a robot at 1 kHz reaches after 4.7 hours."""
    batch = Batch(CHEETAH, 2, TROT, dtype=dtype)
    batch.run(3)
    assert (batch.state.tick_rest == 0.0).all()
    batch.state.tick[:] = 2.0**24 - 3.0
    for k in range(1, 12):
        batch.run(1)
        assert (batch.state.count == 2.0**24 - 3.0 + k).all()
    (recording,) = batch.run(20, record=[1])
    np.testing.assert_allclose(recording.time / batch.period, 2.0**24 + 9.0 + np.arange(20.0), rtol=0, atol=1e-3)
    batch.run(5000)
    assert (batch.time == (2.0**24 + 5028.0) * batch.period).all()

"""Many robots at once: each on its own, whatever the company."""

import numpy as np
import pytest

import footfall as ff
from footfall.batch import Batch
from footfall.batch.gpu import TickSource
from footfall.errors import InputError

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
    with pytest.raises(InputError, match="at least one tick"):
        batch.run(0)


def test_the_cuda_source_of_a_tick_needs_no_gpu():
    source = TickSource(CHEETAH, TROT)
    assert "footfall_tick_advance" in source.text
    q = source.numbers(source.first)[source.rows("q")]
    np.testing.assert_allclose(q, CHEETAH.state("stand")[0], rtol=1e-6)


def test_without_a_gpu_it_says_what_to_use():
    from footfall.batch.gpu import GpuBatch
    from footfall.errors import FootfallError

    with pytest.raises(FootfallError, match=r"cupy|GPU"):
        GpuBatch(CHEETAH, 4, TROT)

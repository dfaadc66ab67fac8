"""The closed loop with Locomotion as CUDA, built for the processor: robot by robot it is the one on lanes."""

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer

import footfall as ff
from footfall.control.interface import Command
from footfall.sim.gpu import TickSource


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_closed_loop_in_cuda_is_the_one_on_lanes(tmp_path):
    """Plan, MPC, whole-body program and physics of 150 ticks: feet lift, six MPCs are solved, one robot is pushed.

    The two have sines of different libraries, and their last digits grow with every touchdown.
    """
    robot, speeds, ticks = ff.load("mini_cheetah"), np.array([0.0, 0.3, -0.2, 0.6, 0.3]), 150
    start = ff.control.standing_state(robot)
    source = TickSource(robot, ff.control.Locomotion(), dtype=np.float64, start=start)
    library = emulate(source.program, source.layout, np.float64, tmp_path)
    n, push = len(speeds), np.zeros((5, 6))
    push[4, 4] = 60.0
    state = np.ascontiguousarray(np.repeat(source.numbers(source.first)[:, None], n, axis=1))
    inputs = [np.concatenate([source.numbers(Command(forward=v)), p]) for v, p in zip(speeds, push)]
    rest = np.ascontiguousarray(np.transpose(inputs))
    library.run_advance(pointer(state), pointer(rest), None, ticks, n)

    batch = ff.Batch(robot, n, ff.control.Locomotion(), start=start)
    batch.set_command(forward=speeds)
    batch.push[:] = push
    batch.run(ticks)
    assert np.ptp(batch.q[:, 0]) > 0.01  # they have gone different ways
    assert np.ptp(batch.q[:, 1]) > 0.01
    np.testing.assert_allclose(state[source.rows("q")].T, batch.q, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(state[source.rows("v")].T, batch.v, rtol=0.0, atol=1e-6)
    np.testing.assert_array_equal(state[source.rows("tick")][0], ticks)

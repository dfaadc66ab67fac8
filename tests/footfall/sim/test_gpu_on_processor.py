"""A batch on a GPU without one: CuPy's arrays are NumPy's, its kernels C++ on the processor."""

import ctypes
import types

import cuda_on_processor
import numpy as np
import pytest
from cuda_on_processor import COMPILER, pointer

import footfall as ff
from footfall.sim import gpu
from footfall.sim.batch import solution_report

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


def cupy_on_processor(folder):
    """The part of CuPy that a batch uses."""

    class Module:
        def __init__(self, code, options, backend):
            self.code = code

        def get_function(self, name):
            text = self.code.replace(name.rpartition("_")[0], "kernel")
            path = folder / name
            path.mkdir()
            kind = name.rpartition("_")[2]
            library = cuda_on_processor.build(text, path, level="-O0")
            return lambda grid, block, arguments: getattr(library, f"run_{kind}")(*map(passed, arguments))

    def passed(x):
        return pointer(x) if isinstance(x, np.ndarray) else ctypes.c_int(x)

    names = "zeros empty asarray ascontiguousarray concatenate broadcast_to repeat isfinite"
    memory = types.SimpleNamespace(OutOfMemoryError=MemoryError)
    own = {"RawModule": Module, "asnumpy": np.asarray, "cuda": types.SimpleNamespace(memory=memory)}
    return types.SimpleNamespace(**{name: getattr(np, name) for name in names.split()}, **own)


ROBOTS = 40
PERIODS = {"controller.gait.period": np.linspace(0.42, 0.58, ROBOTS)}


def ran(kind, ticks, **more):
    """Robots of which each trots at its own period."""
    robot = ff.load("mini_cheetah")
    controller = ff.control.JointPD.tuned(robot, "trot", rate=500)
    batch = kind(robot, ROBOTS, controller, dt=2e-3, free=list(PERIODS), dtype=np.float64, **more)
    batch.set(PERIODS)
    batch.run(ticks)
    return batch


def test_a_report_counts_solutions_and_leaves_the_batch_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "cupy", lambda: cupy_on_processor(tmp_path))
    batch = ran(gpu.GpuBatch, 60, threads=1)
    state = batch.state.copy()
    found = batch.report(10)
    np.testing.assert_array_equal(batch.state, state)
    assert found["lanes"] == 32
    assert 1.0 < found["solutions"] < found["slowest"] <= 20.0
    assert found["solutions_p99"] >= 2.0
    assert 1.0 / 32 < found["occupancy"] < 1.0


@pytest.mark.slow
def test_a_report_is_that_of_a_batch_on_the_processor(tmp_path, monkeypatch):
    """In double precision a robot's steps are solved as often; the last digits may differ."""
    monkeypatch.setattr(gpu, "cupy", lambda: cupy_on_processor(tmp_path))
    batch, lanes = ran(gpu.GpuBatch, 100, threads=1), ran(ff.Batch, 100)
    np.testing.assert_allclose(batch.q, lanes.q, rtol=0.0, atol=1e-6)
    found, expected = batch.report(20), lanes.report(20)
    assert found["solutions"] == pytest.approx(expected["solutions"], rel=2e-3)
    assert found["solutions_p99"] == expected["solutions_p99"]


def test_occupancy_is_what_robots_need_of_the_work_of_all_lanes():
    """Robots that wait in every step do so for its slowest; in one loop, for the one that is slowest in all."""
    counts = np.array([[1.0, 3.0], [3.0, 1.0], [2.0, 2.0]])
    assert solution_report(counts, 2, one_loop=True)["occupancy"] == 1.0
    assert solution_report(counts, 2, one_loop=False)["occupancy"] == 12.0 / (2 * 6 + 4)
    assert solution_report(counts, 2, one_loop=False)["slowest"] == (3 + 3 + 2 + 2) / 4
    assert solution_report(counts[:1], 2, one_loop=True)["solutions"] == 2.0


@pytest.mark.parametrize(("robots", "long", "brief"), [(100, (4, True), (4, False)), (30_000, (2, True), (4, True))])
def test_launches_of_few_steps_have_a_kernel_of_their_own(robots, long, brief, tmp_path, monkeypatch):
    """Robots wait for the slowest of all then, so that loops in loops, or fewer robots in a warp, are faster."""
    launched = []

    class Recorded:
        def __init__(self, source):
            self.source = source

        def rollout(self, ticks, state, inputs):
            launched.append((ticks, (self.source.threads, self.source.one_loop)))

    monkeypatch.setattr(gpu, "cupy", lambda: cupy_on_processor(tmp_path))
    monkeypatch.setattr(gpu, "CudaBackend", Recorded)
    robot = ff.load("mini_cheetah")
    batch = gpu.GpuBatch(robot, robots, ff.control.JointPD.tuned(robot, "trot", rate=500), dt=2e-3)
    for ticks in (gpu.BRIEF - 1, gpu.BRIEF, 10):
        batch.run(ticks)
    assert launched == [(gpu.BRIEF - 1, brief), (gpu.BRIEF, long), (10, brief)]


def test_a_gain_that_has_changed_since_the_batch_was_compiled_is_noticed(tmp_path, monkeypatch):
    launched = types.SimpleNamespace(rollout=lambda ticks, state, inputs: None)
    monkeypatch.setattr(gpu, "cupy", lambda: cupy_on_processor(tmp_path))
    monkeypatch.setattr(gpu, "CudaBackend", lambda source: launched)
    robot, gains = ff.load("mini_cheetah"), {"kp": 40.0}

    @ff.controller(rate=500)
    def holds(t, robot, sensed, command, memory):
        return ff.JointCommand(position=robot.poses["stand"].joints, kp=gains["kp"], kd=1.0), memory

    batch = gpu.GpuBatch(robot, 100, holds, dt=2e-3)
    batch.run(10)
    gains["kp"] = 20.0
    with pytest.raises(ff.InputError, match=r"gains.*has changed since this batch was compiled"):
        batch.run(10)

"""Two and four threads per robot, run on the CPU: they are coroutines that wait for each other at every shuffle."""

import functools
import shutil
import subprocess

import cuda_on_processor
import numpy as np
import pytest
from cuda_on_processor import COMPILER, pointer
from lane_programs import ANY, HEIGHTS, MIRRORED, STEPPING, four_legs

import nptrace as trace
from footfall.errors import InputError
from nptrace import lookup, random, repeat
from nptrace.codegen import cuda
from nptrace.codegen.emit import first_is_state
from nptrace.ir.program import walk
from nptrace.passes import slp
from nptrace.passes.reductions import reassociated
from nptrace.runtime.compiled import flattened_steps, program

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

SHUFFLES = """
#include <ucontext.h>
static ucontext_t caller, thread_context[4];
static double slot[4];
static char stack[4][1 << 20];
static void turn()
{
    const unsigned me = threadIdx.x;
    swapcontext(&thread_context[me], &caller);
    threadIdx.x = me;
}
template <class T> static T __shfl_sync(unsigned, T value, int source, int width)
{
    slot[threadIdx.x] = (double)value;
    turn();
    const T found = (T)slot[(threadIdx.x / width) * width + source];
    turn();
    return found;
}
template <class T> static T __shfl_xor_sync(unsigned mask, T value, int flip)
{
    return __shfl_sync(mask, value, threadIdx.x ^ flip, 4);
}
inline int __all_sync(unsigned, int truth)
{
    slot[threadIdx.x] = truth;
    turn();
    const int all = slot[0] != 0 && slot[1] != 0 && slot[2] != 0 && slot[3] != 0;
    turn();
    return all;
}
static void (*work_of_a_thread)();
static bool ended[4];
static void thread_main() { work_of_a_thread(); ended[threadIdx.x] = true; }
static void launch(void (*work)(), int robots)
{
    work_of_a_thread = work;
    blockDim.x = 4; /* one robot a block, all its threads in step */
    for (blockIdx.x = 0; blockIdx.x < (unsigned)robots + 1; ++blockIdx.x) { /* one robot too many, to see it kept out */
        for (int k = 0; k < 4; ++k) {
            getcontext(&thread_context[k]);
            thread_context[k].uc_stack.ss_sp = stack[k];
            thread_context[k].uc_stack.ss_size = sizeof stack[k];
            thread_context[k].uc_link = &caller;
            ended[k] = false;
            makecontext(&thread_context[k], thread_main, 0);
        }
        for (bool going = true; going;) {
            going = false;
            for (unsigned k = 0; k < 4; ++k)
                if (!ended[k]) {
                    threadIdx.x = k;
                    swapcontext(&caller, &thread_context[k]);
                    going = true;
                }
        }
    }
}
"""
ENTRIES = """
static real *state_; static const real *rest_, *shared_; static real *out_; static int robots_;
extern "C" void run_evaluate(real *state, const real *rest, const real *shared, real *out, int robots)
{
    state_ = state; rest_ = rest; shared_ = shared; out_ = out; robots_ = robots;
    launch([] { kernel_evaluate(state_, rest_, shared_, out_, robots_); }, robots);
}
"""
ADVANCE = """
static int steps_;
extern "C" void run_advance(real *state, const real *rest, const real *shared, int steps, int robots)
{
    state_ = state; rest_ = rest; shared_ = shared; steps_ = steps; robots_ = robots;
    launch([] { kernel_advance(state_, rest_, shared_, steps_, robots_); }, robots);
}
"""


WAITING = {"before": SHUFFLES, "entries": ENTRIES, "advance": ADVANCE}
emulate = functools.partial(cuda_on_processor.emulate, **WAITING)
build = functools.partial(cuda_on_processor.build, **WAITING)


def settling(x, rest):
    """Four legs in a loop that ends early and leaves alone what has settled; no two robots turn equally often."""

    def again(_, carry):
        x, settled = carry
        moved = four_legs(STEPPING, x, rest)
        done = np.maximum(settled, np.where(moved[0] > 0.05, 1.0, 0.0))
        return np.where(settled > 0.5, x, moved), done

    return repeat(4, again, (x, 0.0), until=lambda carry: carry[1] > 0.5)[0]


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("function", [lambda x, rest: four_legs(STEPPING, x, rest), settling], ids=["once", "loop"])
def test_threads_of_a_robot_give_the_bits_of_one(function, threads, tmp_path):
    code = program(function, np.ones(14), np.ones(4))
    made = slp.vectorised(reassociated(code))
    library = emulate(made, first_is_state([14, 4]), np.float64, tmp_path, threads=threads)
    data = np.ascontiguousarray(np.random.default_rng(0).normal(size=(18, 9)))
    out, batch = (
        np.zeros((14, 9)),
        trace.compile(function, np.ones(14), np.ones(4), target="batch", lanes=4, cache=None),
    )
    state, rest = data[:14].copy(), data[14:].copy()
    library.run_evaluate(pointer(state), pointer(rest), None, pointer(out), 9)
    np.testing.assert_array_equal(out.T, batch(data[:14].T, data[14:].T))
    library.run_advance(pointer(state), pointer(rest), None, 7, 9)
    np.testing.assert_array_equal(state.T, batch.advance(7, data[:14].T, data[14:].T))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_steps_in_one_loop_give_the_bits_of_loops_in_loops(threads, tmp_path):
    """No two robots turn equally often in a step, and each begins its next step when it is done with this one."""
    code, layout, made = program(settling, np.ones(14), np.ones(4)), first_is_state([14, 4]), []
    start = np.ascontiguousarray(np.random.default_rng(0).normal(size=(18, 9)))
    for k, each in enumerate((reassociated(code), flattened_steps(reassociated(code), layout))):
        folder = tmp_path / str(k)
        folder.mkdir()
        compiled = slp.vectorised(each, lanes=(4,)) if threads > 1 else each
        library = emulate(compiled, layout, np.float64, folder, threads=threads)
        state, rest, out = start[:14].copy(), start[14:].copy(), np.zeros((14, 9))
        library.run_advance(pointer(state), pointer(rest), None, 7, 9)
        library.run_evaluate(pointer(state), pointer(rest), None, pointer(out), 9)
        made.append((state, out, any(s.op == "steps" for s in walk(compiled.body))))
    (nested, once, _), (flat, flat_once, _) = made
    assert [steps for *_, steps in made] == [False, True]
    np.testing.assert_array_equal(flat, nested)
    np.testing.assert_array_equal(flat_once, once)
    assert np.ptp(nested, axis=1).max() > 0.1


@pytest.mark.parametrize("threads", [2, 4])
def test_what_is_no_state_is_written_leg_by_leg(threads, tmp_path):
    def feet(x, table):
        ends = [np.sin(leg) * lookup(table, 2 * leg[0], leg[1]) + np.cos(leg) * c for leg, c in zip(x, MIRRORED)]
        total = sum(ends)
        return np.stack([leg * np.sum(total) - np.sqrt(1 + leg * leg) for leg in ends]), total

    x, table = np.random.default_rng(3).normal(size=(4, 3)), HEIGHTS
    made = slp.vectorised(reassociated(program(feet, x, table)))
    library = emulate(made, first_is_state([12, 12], shared=[1]), np.float64, tmp_path, threads=threads)
    state, out = np.ravel(x).copy(), np.zeros(15)
    library.run_evaluate(pointer(state), None, pointer(np.ravel(table)), pointer(out), 1)
    one = trace.compile(feet, x, table, cache=None)(x, table)
    np.testing.assert_array_equal(out, np.concatenate([np.ravel(part) for part in one]))


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_draw_the_numbers_of_one(threads, tmp_path):
    """Bits are drawn by all threads alike, and what is made of them goes to the leg it belongs to."""

    def noisy(x, counter):
        noise = random.normal(random.key(1), counter, (4,))
        return four_legs(STEPPING, x, noise)

    made = slp.vectorised(reassociated(program(noisy, np.ones(14), np.ones(3))))
    library = emulate(made, first_is_state([14, 3]), np.float64, tmp_path, threads=threads)
    x, counter = np.random.default_rng(0).normal(size=(9, 14)), random.words(np.arange(9) + 2**24, 3)
    state, rest, out = np.ascontiguousarray(x.T), np.ascontiguousarray(counter.T), np.zeros((14, 9))
    library.run_evaluate(pointer(state), pointer(rest), None, pointer(out), 9)
    batch = trace.compile(noisy, x[0], counter[0], target="batch", lanes=4, cache=None)
    np.testing.assert_array_equal(out.T, batch(x, counter))


def test_a_table_in_the_state_is_refused():
    def feet(table, x):
        ends = [np.sin(leg) * lookup(table, 2 * leg[0], leg[1]) + np.cos(leg) * c for leg, c in zip(x, MIRRORED)]
        return np.stack([leg * np.sum(sum(ends)) - np.sqrt(1 + leg * leg) for leg in ends])

    made = slp.vectorised(program(feet, HEIGHTS, np.ones((4, 3))), ANY)
    with pytest.raises(InputError, match="part of the state"):
        cuda.source(made, first_is_state([12, 12]), "kernel")
    with pytest.raises(InputError, match="3 threads"):
        cuda.source(made, first_is_state([12, 12]), "kernel", threads=3)


def test_shuffles_are_few():
    """One for each number that the base takes from a leg, none for what goes straight into the state."""
    made = slp.vectorised(program(settling, np.ones(14), np.ones(4)))
    text = cuda.source(made, first_is_state([14, 4]), "kernel")
    assert 8 <= text.count("__shfl_sync") <= sum(o.op == "extract" for o in walk(made.body)) - 12


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler")
def test_the_source_compiles_for_a_gpu(tmp_path):
    made = slp.vectorised(program(settling, np.ones(14), np.ones(4)))
    (tmp_path / "kernel.cu").write_text(cuda.source(made, first_is_state([14, 4]), "kernel"))
    command = ["nvcc", "-ptx", "--fmad=false", "-o", str(tmp_path / "kernel.ptx"), str(tmp_path / "kernel.cu")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert "shfl.sync" in (tmp_path / "kernel.ptx").read_text()

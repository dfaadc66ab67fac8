"""The CUDA source, run on the CPU: its keywords defined away, its threads a loop."""

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer
from trace_examples import EXAMPLES, LEG, SWEEPS, gauss_seidel, leg_step, nested

import nptrace as trace
from footfall.errors import InputError
from nptrace import repeat
from nptrace.codegen import cuda
from nptrace.codegen.emit import first_is_state
from nptrace.runtime import machine
from nptrace.runtime.compiled import program

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


def columns(arguments, dtype, robots):
    """(scalar, robot), each robot a little different."""
    random = np.random.default_rng(0)
    flat = np.concatenate([np.ravel(a) for a in arguments])
    return np.ascontiguousarray((flat[:, None] * (1 + 0.02 * random.normal(size=(len(flat), robots)))).astype(dtype))


def split(flat, arguments):
    out, at = [], 0
    for a in arguments:
        out.append(flat[at : at + np.size(a)].reshape(np.shape(a)))
        at += np.size(a)
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_kernel_is_numpy_robot_by_robot(name, dtype, tmp_path):
    function, arguments = EXAMPLES[name]
    code, sizes = program(function, *arguments), [np.size(a) for a in arguments]
    library = emulate(code, first_is_state(sizes), dtype, tmp_path)
    robots = 37
    data = columns(arguments, dtype, robots)
    state, rest = np.ascontiguousarray(data[: sizes[0]]), np.ascontiguousarray(data[sizes[0] :])
    out = np.zeros((len(code.outputs), robots), dtype)
    library.run_evaluate(pointer(state), pointer(rest), None, pointer(out), robots)
    expected = np.stack([np.ravel(function(*split(c, arguments))) for c in data.T.astype(float)], axis=1)
    tolerance = 1e-12 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance * max(1, np.abs(expected).max()))


def test_advancing_on_the_gpu_has_the_bits_of_the_cpu(tmp_path):
    code = program(leg_step, *LEG)
    library = emulate(code, first_is_state([8, 3, 2]), np.float64, tmp_path)
    data = columns(LEG, np.float64, 40)
    state, rest = np.ascontiguousarray(data[:8]), np.ascontiguousarray(data[8:])
    batch = trace.compile(leg_step, *LEG, target="batch", cache=None, lanes=4)
    expected = batch.advance(25, data[:8].T, data[8:11].T, data[11:].T)
    library.run_advance(pointer(state), pointer(rest), None, 25, 40)
    if machine.host().fused:
        assert np.array_equal(state.T, expected)
    else:
        np.testing.assert_allclose(state.T, expected, rtol=1e-12, atol=1e-12)


def test_what_passes_through_a_loop_within_a_loop_is_there_behind_both(tmp_path):
    """A GPU forgets in every turn what does not change, and goes on with the copy that the loop carried."""

    def settle(x, gain):
        def inner(_, carry):
            y, gain, total = carry
            return np.sin(y) * gain + 0.01 * total, gain, total

        def outer(_, carry):
            y, total = carry
            y, _, _ = repeat(4, inner, (y, gain, total), until=lambda c: np.sum(c[0]) < 0.4)
            return y + 0.1, total + y * gain

        y, total = repeat(3, outer, (x, np.zeros(2)))
        return y - total * gain

    arguments = (np.array([0.9, 1.4]), np.array([0.8, 0.6]))
    library = emulate(program(settle, *arguments), first_is_state([2, 2]), np.float64, tmp_path)
    data = columns(arguments, np.float64, 9)
    state, rest, out = np.ascontiguousarray(data[:2]), np.ascontiguousarray(data[2:]), np.zeros((2, 9))
    library.run_evaluate(pointer(state), pointer(rest), None, pointer(out), 9)
    np.testing.assert_allclose(out.T, [settle(*split(c, arguments)) for c in data.T], rtol=1e-12)
    assert "FORGET(c" in (tmp_path / "kernel.cpp").read_text()


def test_shared_arguments_are_read_without_a_stride(tmp_path):
    A, b = SWEEPS
    code = program(gauss_seidel, A, b)
    library = emulate(code, first_is_state([A.size, b.size], shared=[0]), np.float64, tmp_path)
    rest = np.ascontiguousarray(np.random.default_rng(0).normal(size=(4, 9)))
    out = np.zeros((4, 9))
    library.run_evaluate(None, pointer(rest), pointer(A), pointer(out), 9)
    np.testing.assert_allclose(out.T, [gauss_seidel(A, row) for row in rest.T], rtol=1e-12, atol=1e-12)


def test_reversed_loops_run_in_local_memory(tmp_path):
    x = np.array([0.3, -1.2, 2.5])
    pulled = trace.gradient(lambda x: np.sum(nested(x) ** 2), x, cache=None)
    library = emulate(pulled.program, first_is_state([3, 1]), np.float64, tmp_path)
    out, seed = np.zeros((3, 1)), np.ones((1, 1))
    library.run_evaluate(pointer(x), pointer(seed), None, pointer(out), 1)
    np.testing.assert_allclose(out[:, 0], pulled(x), rtol=1e-12)


def test_a_name_that_is_no_kernel_is_refused():
    with pytest.raises(InputError, match="cannot name a CUDA kernel"):
        cuda.source(program(np.sin, np.ones(2)), first_is_state([2]), "a kernel")

"""The interpreter is NumPy: same numbers, any batch shape, both precisions."""

import numpy as np
import pytest
from trace_examples import EXAMPLES, TABLE, own_terrain, terrain

from nptrace.codegen import interpret
from nptrace.runtime.compiled import program


def flat(arguments):
    return np.concatenate([np.ravel(a) for a in arguments])


@pytest.mark.parametrize("name", EXAMPLES)
def test_interpreting_is_numpy(name):
    function, arguments = EXAMPLES[name]
    got = interpret.evaluate(program(function, *arguments), flat(arguments))
    np.testing.assert_allclose(got, np.ravel(function(*arguments)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_any_batch_shape_gives_the_same_numbers(name, dtype):
    function, arguments = EXAMPLES[name]
    code, x = program(function, *arguments), flat(arguments).astype(dtype)
    one = interpret.evaluate(code, x)
    many = interpret.evaluate(code, np.broadcast_to(x[:, None, None], (len(x), 2, 3)))
    assert one.dtype == many.dtype == dtype
    assert many.shape == (len(code.outputs), 2, 3)
    np.testing.assert_allclose(many, np.broadcast_to(one[:, None, None], many.shape), rtol=10 * np.finfo(dtype).eps)


def test_each_robot_reads_its_own_table():
    tables, at = np.stack([TABLE, TABLE + 1, -TABLE]), np.array([[0.5, 0.5], [2.2, 1.9], [3.5, 0.1]])
    code = program(own_terrain, TABLE, at[0])
    got = interpret.evaluate(code, np.concatenate([tables.reshape(3, -1), at], axis=1).T)[0]
    np.testing.assert_allclose(got, [own_terrain(t, p)[0] for t, p in zip(tables, at)], rtol=1e-13)


@pytest.mark.parametrize("at", [(np.nan, 1.0), (1.0, np.nan), (np.inf, 0.0), (-1e300, 1e300)])
def test_a_lookup_off_the_table_is_clamped_and_nan_stays(at):
    with np.errstate(invalid="ignore"):
        got = interpret.evaluate(program(terrain, np.zeros(2)), np.array(at))
    assert np.isnan(got).all() or np.isfinite(at).all()

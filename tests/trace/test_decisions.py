"""Where a value decides (rounding, comparing, choosing), a trace decides as NumPy does, on every target."""

import numpy as np
import pytest
from test_c_source import build_and_run, needs_compiler
from test_cuda import emulate, pointer

import footfall as ff
from footfall.numeric import lookup
from footfall.trace import c_source, interpret, program
from footfall.trace.emit import first_is_state
from footfall.trace.tracer import trace

TARGETS = ["interpret", "native", "batch", pytest.param("c", marks=needs_compiler),
           pytest.param("cuda", marks=needs_compiler)]  # fmt: skip
TABLE = np.arange(60.0) ** 2


def program_of(function, size):
    traced = trace(function, np.ones(size))
    return program.build(traced.graph, traced.outputs, traced.input_size)


def assert_as_numpy(function, samples, target, folder):
    """``function`` of one vector, on the rows of ``samples``: the numbers of NumPy, signs of zeros included."""
    samples = np.asarray(samples, dtype=float)
    with np.errstate(all="ignore"):
        expected = np.stack([np.ravel(function(x)) for x in samples]).astype(float)
    size = samples.shape[1]
    if target == "interpret":
        got = interpret.evaluate(program_of(function, size), samples.T).T
    elif target == "native":
        compiled = ff.compile(function, None, samples[0], verify=False)
        got = np.stack([np.ravel(compiled(x)) for x in samples])
    elif target == "batch":
        got = ff.compile(function, None, samples[0], target="batch", verify=False)(samples).reshape(len(samples), -1)
    elif target == "cuda":
        library = emulate(program_of(function, size), first_is_state([size]), np.float64, folder)
        state, got = np.ascontiguousarray(samples.T), np.zeros((expected.shape[1], len(samples)))
        library.run_evaluate(pointer(state), None, None, pointer(got), len(samples))
        got = got.T
    else:
        paths = c_source.write_c(
            program_of(function, size), folder, "kernel", arguments=[("x", (size,))], samples=samples, expected=expected
        )
        ran = build_and_run(paths)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=0)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


# -- quotients --------------------------------------------------------------------------------------------------------
QUOTIENTS = {
    "floor": lambda x: np.floor(x[0] / x[1]),
    "ceil": lambda x: np.ceil(x[0] / x[1]),
    "ceil of the negative": lambda x: np.ceil(-x[0] / x[1]),
    "trunc": lambda x: np.trunc(x[0] / -x[1]),
    "rint": lambda x: np.rint(x[0] / x[1]),
    "half up": lambda x: np.floor(x[0] / x[1] + 0.5),
    "percent": lambda x: np.floor(100.0 * (x[0] / x[1])),
    "modulo": lambda x: (x[0] / x[1]) % 1.0 >= 1.0 / 1024,
    "floor division": lambda x: (x[0] / x[1]) // 1.0,
    "at least": lambda x: x[0] / x[1] >= np.floor(x[0] / x[1]),
    "more than one": lambda x: np.where(x[0] / x[1] > 1.0, 1.0, -1.0),
    "difference": lambda x: x[0] / x[1] - 1.0 < 0.0,
    "rest": lambda x: x[0] / x[1] - np.floor(x[0] / x[1]) >= 0.0,
    "lookup": lambda x: lookup(TABLE, x[0] / x[1]),
    "by a constant": lambda x: np.floor(x[0] / 49.0),
    "by a negative constant": lambda x: np.ceil(x[0] / -49.0),
    "thirds": lambda x: np.stack([np.floor(3.0 * (x[0] / 3.0)), np.rint(-(x[0] / 7.0))]),
    "of a constant": lambda x: np.floor(49.0 / x[1]),
}
WHOLE = np.array([(x, y) for x in range(62) for y in range(1, 62)], dtype=float)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", QUOTIENTS)
def test_quotients_of_whole_numbers_decide_as_in_numpy(name, target, tmp_path):
    assert_as_numpy(QUOTIENTS[name], WHOLE[:: 9 if target in ("native", "c") else 1], target, tmp_path)


def test_other_quotients_share_their_reciprocal():
    operations = program_of(
        lambda x: np.stack([x[0] / x[2], x[1] / x[2], np.minimum(x[0] / x[2], 1.0)]), 3
    ).operations()
    assert (operations["inv"], operations["div"]) == (1, 0)


def test_a_sign_needs_no_division():
    operations = program_of(lambda x: np.where(x[0] / x[1] > 0.0, 1.0, x[0] / x[1]), 2).operations()
    assert (operations["inv"], operations["div"]) == (1, 0)


@pytest.mark.parametrize("target", ["interpret", "native"])
def test_a_true_quotient_has_its_derivatives(target):
    def f(x):
        return np.stack([np.where(x[0] / x[1] < 3.0, x[0] / x[1], 0.0), x[0] / 7.0 + np.floor(x[0] / 7.0)])

    x = np.array([1.7, -2.3])
    expected = np.array([[1 / x[1], -x[0] / x[1] ** 2], [1 / 7, 0.0]])
    np.testing.assert_allclose(ff.jacobian(f, None, x, wrt="x", target=target)(x), expected, rtol=1e-14)
    pulled = ff.gradient(lambda x: np.sum(f(x)), None, x, wrt="x", target=target)(x)
    np.testing.assert_allclose(pulled, expected.sum(axis=0), rtol=1e-14)


# -- signs of zeros, infinities ---------------------------------------------------------------------------------------
ROUNDED = {"rint": np.rint, "round": lambda x: np.round(x, 1), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
NEAR_ZERO = np.array([-0.14, -0.5, -0.51, -1.5, -2.5, -0.0, 0.0, 0.14, 0.5, 0.51, 1.5, 2.5, 1e300, -1e300])[:, None]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_keeps_the_sign_of_a_zero(name, target, tmp_path):
    assert_as_numpy(ROUNDED[name], NEAR_ZERO, target, tmp_path)


SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, 1.0, 1.0 + 5e-6, 1.0 + 5e-5, 1e300])
CLOSE = {
    "of two": lambda x: np.isclose(x[0], x[1]),
    "to infinity": lambda x: np.isclose(x[0], np.inf),
    "infinity to it": lambda x: np.isclose(-np.inf, x[0]),
    "to a number": lambda x: np.isclose(x[0], 1.0),
    "all": lambda x: np.allclose(x, np.array([np.inf, 1.0])),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CLOSE)
def test_an_infinity_is_close_to_itself_alone(name, target, tmp_path):
    assert_as_numpy(CLOSE[name], np.array([(x, y) for x in SPECIAL for y in SPECIAL]), target, tmp_path)


# -- slopes -----------------------------------------------------------------------------------------------------------
CLIPPED = {
    "arcsin": (lambda x: np.arcsin(np.clip(x, -1.0, 1.0)), lambda x: 1 / np.sqrt(1 - x * x)),
    "arccos": (lambda x: np.arccos(np.clip(x, -1.0, 1.0)), lambda x: -1 / np.sqrt(1 - x * x)),
    "arccos of one side": (lambda x: np.arccos(np.minimum(x, 1.0)), lambda x: -1 / np.sqrt(1 - x * x)),
    "root": (lambda x: np.sqrt(np.maximum(x, 0.0)), lambda x: 0.5 / np.sqrt(x)),
    "root of a scaled one": (lambda x: np.sqrt(3.0 * np.clip(x, 0.0, 1.0)), lambda x: 0.5 * np.sqrt(3 / x)),
    "power": (lambda x: np.maximum(x, 0.0) ** 0.3, lambda x: 0.3 * x**-0.7),
}


@pytest.mark.parametrize("target", ["interpret", "native"])
@pytest.mark.parametrize("name", CLIPPED)
def test_what_is_clipped_has_slope_zero(name, target):
    f, slope = CLIPPED[name]
    x = np.array([0.3, 0.8, 7.0] if name == "arccos of one side" else [0.3, 0.8, -2.0])
    expected = np.where([True, True, False], slope(x.clip(0.1, 0.9)), 0.0)
    np.testing.assert_allclose(np.diag(ff.jacobian(f, None, x, wrt="x", target=target)(x)), expected, rtol=1e-13)
    pulled = ff.gradient(lambda x: np.sum(f(x)), None, x, wrt="x", target=target)(x)
    np.testing.assert_allclose(pulled, expected, rtol=1e-13)


# -- what may be compiled ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["interpret", "native"])
def test_functions_without_names_for_their_arguments_compile(target):
    def scaled(x, factor=2.0, /, offset=1.0):
        return factor * x + offset

    x = np.array([0.3, -2.0, 1.1])
    for function, arguments in ((np.sin, (x,)), (np.arctan2, (x, x[::-1])), (scaled, (x,)), (scaled, (x, 3.0))):
        compiled = ff.compile(function, None, *arguments, target=target)
        np.testing.assert_allclose(compiled(*arguments), function(*arguments), rtol=1e-14)
    np.testing.assert_allclose(ff.jacobian(np.sin, None, x, wrt="x", target=target)(x), np.diag(np.cos(x)), rtol=1e-14)
    np.testing.assert_allclose(ff.compile(scaled, None, x, offset=x, target=target)(x, x), 3.0 * x, rtol=1e-14)


def test_all_and_any_of_nothing_are_known():
    x = np.array([2.0, 3.0])
    f = ff.compile(lambda x: np.where(np.all(x[:0] > 0) & ~np.any(x[:0] > 0), x, -x), None, x, target="interpret")
    np.testing.assert_array_equal(f(x), x)

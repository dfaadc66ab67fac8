"""Where a value decides (rounding, comparing, choosing), a trace decides as NumPy does, on every target."""

import numpy as np
import pytest
from c_on_processor import build_and_run, needs_compiler
from cuda_on_processor import emulate, pointer

import footfall as ff
from nptrace import lookup
from nptrace.codegen import c_source, interpret
from nptrace.codegen.emit import first_is_state
from nptrace.frontend.tracer import trace
from nptrace.ir import program

TARGETS = [
    "interpret",
    "native",
    "batch",
    pytest.param("c", marks=needs_compiler),
    pytest.param("cuda", marks=needs_compiler),
]
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
    np.testing.assert_allclose(got, expected, rtol=2e-14, atol=0)
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


RESTS = {
    "remainder": lambda x: x[0] % x[1],
    "floor division": lambda x: x[0] // x[1],
    "fmod": lambda x: np.fmod(*x),
    "by a constant": lambda x: np.stack([x[0] % 0.1, x[0] // -0.3]),
}
DIVISORS = np.array([1, -1, 2, 3, -3, 0.5, -0.14, 7, 49, -49, 1.5, -2.5, 10, 0.1, 0.3, 100, 0.03, 0.7, 1 / 3])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", RESTS)
def test_rests_are_those_of_numpy_next_to_whole_quotients(name, target, tmp_path):
    def rest(x):
        return RESTS[name](x) + 1.0  # a rest of nothing has no sign

    assert_as_numpy(rest, np.array([(a, b) for a in DIVISORS for b in DIVISORS]), target, tmp_path)


LOGARITHMS = {
    "log10": (lambda x: np.floor(np.log10(x)), 10.0 ** np.arange(-20, 21)),
    "log2": (lambda x: np.floor(np.log2(x)), 2.0 ** np.arange(-60, 61)),
    "log10 itself": (np.log10, np.array([1e-300, 0.3, 999.9999999999999, 1000.0000000000001, 7e200])),
    "arcsinh": (np.arcsinh, np.array([1e300, -1e200, 1e9, 1.1e9, 3.0, -1e-9])),
    "arccosh": (np.arccosh, np.array([1e300, 1e200, 1e9, 1.1e9, 3.0, 1.0])),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", LOGARITHMS)
def test_logarithms_of_powers_are_whole_and_those_of_large_numbers_are_finite(name, target, tmp_path):
    function, x = LOGARITHMS[name]
    assert_as_numpy(function, x[:, None], target, tmp_path)


def test_slope_of_a_logarithm_is_there_at_powers():
    x = np.array([1000.0, 0.01, 3.0])
    slopes = ff.jacobian(np.log10, None, x, wrt="x", target="interpret")(x)
    np.testing.assert_allclose(slopes, np.diag(1 / (x * np.log(10))), rtol=1e-14)


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


# -- any of it --------------------------------------------------------------------------------------------------------
STEPS = {
    "third": lambda a, b: a / 3.0,
    "quotient": lambda a, b: a / b,
    "sevenfold": lambda a, b: 7.0 * a,
    "floor": lambda a, b: np.floor(a),
    "ceil": lambda a, b: np.ceil(a),
    "rint": lambda a, b: np.rint(a),
    "trunc": lambda a, b: np.trunc(a),
    "negative": lambda a, b: -a,
    "size": lambda a, b: np.abs(a),
    "rest": lambda a, b: np.rint(64.0 * (a % 2.0)),
    "past": lambda a, b: np.where(a >= 1.0, a, b),
    "within": lambda a, b: np.where(np.abs(a / b) <= 2.0, a, 3.0 * b),
    "near": lambda a, b: a + np.isclose(a, b),
    "larger": lambda a, b: np.maximum(a, b / 5.0),
    "sign": lambda a, b: np.sign(a - b),
    "clip": lambda a, b: np.clip(a, -4.0, 9.0),
}


@pytest.mark.parametrize("target", ["interpret", "batch"])
@pytest.mark.parametrize("seed", range(40))
def test_random_chains_of_decisions_end_where_numpy_ends(seed, target, tmp_path):
    """Whole numbers in, three to six steps, and a last one that rounds: a single wrong turn would show as a whole."""
    random = np.random.default_rng(seed)
    chain = random.choice(list(STEPS), random.integers(3, 7))

    def function(x):
        a, b = x[:2], x[2:]
        for name in chain:
            a = STEPS[name](a, b)
        return np.floor(a) + 0.0

    whole = random.integers(-50, 51, (400, 4)).astype(float)
    whole[:, 2:] = np.where(whole[:, 2:] == 0.0, 1.0, whole[:, 2:])  # something to divide by
    traced = program_of(function, 4)
    with np.errstate(all="ignore"):
        expected = np.stack([function(x) for x in whole])
    if target == "interpret":
        got = interpret.evaluate(traced, whole.T).T
    else:
        got = ff.compile(function, None, whole[0], target="batch", verify=False)(whole)
    np.testing.assert_array_equal(got, expected)

"""Corners of floating point: every target gives what NumPy gives, unless the page of targets says otherwise."""

import numpy as np
import pytest

import nptrace

INF, NAN = np.inf, np.nan
EDGES = np.array([0.0, -0.0, 0.3, -0.3, 1.0, -1.0, 5.0, -5.0, 1e9, -1e9, 1e20, -1e20, 1e300, -1e300, INF, -INF, NAN])
PAIRS = np.array([(a, b) for a in EDGES for b in EDGES]).T
TARGETS = ["interpret", "native", "batch"]


def values(function, target, *arrays):
    def each(*numbers):
        return nptrace.compile(function, *(x[0] for x in numbers), target=target, cache=None, verify=False)

    if target == "batch":
        return each(*arrays)(*arrays)
    whole = nptrace.compile(function, *arrays, target=target, cache=None, verify=False)
    return whole(*arrays)


def agrees(function, target, *arrays, rtol=1e-12):
    with np.errstate(all="ignore"):
        expected = function(*arrays)
    np.testing.assert_allclose(values(function, target, *arrays), expected, rtol=rtol, atol=0, equal_nan=True)


CUBES = np.concatenate([np.arange(-200.0, 201.0), 2.0 ** np.arange(30)])


@pytest.mark.parametrize("target", TARGETS)
def test_the_cube_root_of_a_cube_is_whole(target):
    np.testing.assert_array_equal(values(np.cbrt, target, CUBES**3), CUBES)
    np.testing.assert_array_equal(values(lambda x: np.floor(np.cbrt(x)), target, CUBES**3), CUBES)


@pytest.mark.parametrize("target", TARGETS)
def test_cube_roots_of_all_sizes(target):
    agrees(np.cbrt, target, 10.0 ** np.linspace(-29, 29, 400), rtol=1e-15)
    agrees(np.cbrt, target, np.concatenate([EDGES, 10.0 ** np.arange(-300, 300, 7)]), rtol=2e-14)
    slope = nptrace.jacobian(np.cbrt, 8.0, cache=None)
    for x in (1e-40, 1e-3, -27.0, 8.0, 1e40):
        np.testing.assert_allclose(slope(x), 1 / (3 * np.cbrt(x) ** 2), rtol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_arccosh_below_one_is_nan(target):
    agrees(np.arccosh, target, EDGES)


@pytest.mark.parametrize("target", TARGETS)
def test_hypot_of_an_infinity_is_infinite(target):
    agrees(np.hypot, target, *PAIRS)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [np.remainder, np.fmod, np.floor_divide], ids=lambda f: f.__name__)
def test_rests_of_an_infinite_divisor(function, target):
    a, b = PAIRS[:, np.isinf(PAIRS[1])]
    agrees(function, target, a, b)


@pytest.mark.parametrize("target", TARGETS)
def test_the_rest_of_a_constant_infinity(target):
    agrees(lambda x: x % INF, target, EDGES)
    agrees(lambda x: x % -INF, target, EDGES)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("at", range(6))
def test_interpolation_beside_a_nan(at, target):
    knots, table = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1.0, 2.0, 0.0, 5.0, 4.0, 1.0])
    table[at] = NAN
    x = np.concatenate([np.linspace(-1, 6, 57), [NAN]])
    agrees(lambda x: np.interp(x, knots, table), target, x)
    agrees(lambda x: np.interp(x, knots[:3], table[:3]), target, x)


@pytest.mark.parametrize(
    "text",
    [
        lambda x: str(x[0]),
        lambda x: repr(x[0]),
        lambda x: f"{x[0]}",
        lambda x: f"{x[0]:.3f}",
        lambda x: str(x),
        lambda x: f"{x}",
        lambda x: "%s" % x[0],  # noqa: UP031
        lambda x: "%.3f" % x[0],  # noqa: UP031
        lambda x: np.array2string(x),
        lambda x: str([x[0]]),
    ],
)
def test_the_text_of_a_traced_value_is_refused(text):
    with pytest.raises(nptrace.TraceError):
        nptrace.trace(lambda x: x * len(text(x)), np.ones(3))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ufunc", [np.logical_and, np.logical_or, np.logical_xor], ids=lambda f: f.__name__)
def test_logical_reductions_of_numbers_are_truth_values(ufunc, target):
    """The first element too, and that of an axis of length one."""
    x = np.array([[2.5, 0.0, -1.0, np.nan], [0.0, 3.0, 0.0, 0.5]])

    def found(x):
        parts = (
            ufunc.accumulate(x, axis=1),
            ufunc.reduceat(x, [0, 1, 3], axis=1),
            ufunc.reduce(x[:1]),
            ufunc.reduce(x, axis=1),
            np.any(x[:1], axis=0),
            np.all(x[:, :1], axis=1),
        )
        return np.concatenate([2.0 * np.ravel(part) for part in parts])

    compiled = nptrace.compile(found, x, target=target, cache=None, verify=False)
    result = compiled(x[None])[0] if target == "batch" else compiled(x)
    np.testing.assert_array_equal(result, found(x))

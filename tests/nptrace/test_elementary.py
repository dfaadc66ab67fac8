"""Every elementary function of a traced value is NumPy's."""

import math

import numpy as np
import pytest
from replaying import assert_traces_right, check_derivatives, replay

EVERYWHERE = np.array(
    [-7.3, -2.5, -1.0, -0.7, -1e-3, -1e-9, 0.0, 1e-12, 1e-5, 0.1, 0.24, 0.26, 0.5, 0.61, 1.0, 2.5, 30.0]
)
WITHIN_ONE = np.array([-1.0, -0.999, -0.5, -1e-8, 0.0, 1e-4, 0.3, 0.9999, 1.0])
POSITIVE = np.array([1e-12, 1e-3, 0.3, 1.0, 2.0, 8.0, 1000.0])
ANY = [
    "sin",
    "cos",
    "tan",
    "exp",
    "expm1",
    "sinh",
    "cosh",
    "tanh",
    "arctan",
    "arcsinh",
    "exp2",
    "cbrt",
    "sign",
    "square",
    "absolute",
    "fabs",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "deg2rad",
    "rad2deg",
    "degrees",
    "radians",
    "isnan",
    "isfinite",
    "isinf",
    "signbit",
    "positive",
    "negative",
    "conjugate",
    "logical_not",
]


@pytest.mark.parametrize("name", ANY)
def test_functions_of_any_number_are_numpys(name):
    assert_traces_right(getattr(np, name), EVERYWHERE, tolerance=4e-15)


@pytest.mark.parametrize("name", ["arcsin", "arccos"])
def test_inverse_sines_are_numpys(name):
    assert_traces_right(getattr(np, name), WITHIN_ONE, tolerance=1e-15)


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "log1p", "reciprocal"])
def test_functions_of_positive_numbers_are_numpys(name):
    assert_traces_right(getattr(np, name), POSITIVE, tolerance=4e-15)


def test_other_inverse_hyperbolics_are_numpys():
    assert_traces_right(np.arctanh, np.array([-0.99, -0.2, -1e-9, 0.0, 1e-5, 0.5, 0.999]), tolerance=1e-14)
    assert_traces_right(np.arccosh, np.array([1.0, 1 + 1e-9, 1.5, 40.0]), tolerance=1e-14)


@pytest.mark.parametrize("name", ["expm1", "log1p", "sinh", "tanh", "arcsinh", "arctanh"])
def test_no_digits_are_lost_near_zero(name):
    x = np.concatenate([s * np.logspace(-18, -1, 40) for s in (1, -1)])
    np.testing.assert_allclose(replay(getattr(np, name), x), getattr(np, name)(x), rtol=2e-15)


@pytest.mark.parametrize("name", ["tanh", "expm1", "cosh", "sinh"])
def test_large_arguments_do_not_overflow_early(name):
    x = np.array([-710.0, -709.0, -300.0, 300.0, 709.0])
    assert_traces_right(getattr(np, name), x, tolerance=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "arctan2",
        "hypot",
        "fmod",
        "remainder",
        "floor_divide",
        "copysign",
        "heaviside",
        "logaddexp",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "logical_and",
        "logical_or",
        "logical_xor",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
    ],
)
@pytest.mark.parametrize("second", ["traced", "constant", "reflected"])
def test_functions_of_two_numbers_are_numpys(name, second):
    rule, random = getattr(np, name), np.random.default_rng(1)
    x, y = 3 * random.normal(size=40), random.normal(size=40)
    if second == "traced":
        assert_traces_right(rule, x, y)
    elif second == "constant":
        assert_traces_right(lambda x: rule(x, y), x)
    else:
        assert_traces_right(lambda y: rule(x, y), y)


def test_modulo_and_floor_division_hold_at_whole_multiples():
    """Where a rounded reciprocal would give the neighbour."""
    for b in (0.1, 0.2, 0.3, 0.7, 1.1, 3.0, -0.1, -0.7):
        a = np.concatenate([b * np.arange(-50, 50), np.arange(-50, 50) / 10])
        for function in (lambda a: a % b, lambda a: np.fmod(a, b), lambda a: divmod(a, b)[1]):  # noqa: B023
            got, expected = replay(function, a), function(a)
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(replay(lambda a: a // b, a), a // b)  # noqa: B023


def test_rounding_breaks_ties_to_even():
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994, -0.49999999999999994, 4503599627370497.0])
    np.testing.assert_array_equal(replay(np.rint, x), np.rint(x))
    assert_traces_right(lambda x: np.round(x, 2), np.array([0.125, 1.005, -2.675, 3.14159]))
    assert_traces_right(lambda x: np.stack([round(v) for v in x]), x[:7])


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "sign", "heaviside", "arctan2", "hypot"])
def test_nan_goes_where_numpy_sends_it(name):
    rule, x = getattr(np, name), np.array([np.nan, 1.0, np.nan, -1.0])
    y = np.array([1.0, np.nan, np.nan, 2.0])
    if rule.nin == 1:
        assert_traces_right(rule, x)
    else:
        assert_traces_right(rule, x, y)
        assert_traces_right(lambda x: rule(x, 0.5), x)
        assert_traces_right(lambda x: rule(0.5, x), x)


def test_special_values_are_recognised():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])
    assert_traces_right(lambda x: np.stack([np.isnan(x), np.isfinite(x), np.isinf(x)]) * 1.0, x)
    assert_traces_right(np.nan_to_num, x)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 9, 33, 64, 65, 101, -1, -3, 0.5, -0.5, 2.2, 1 / 3])
def test_constant_powers_are_numpys_for_every_base(exponent):
    x = np.array([-1.3, -0.4, 0.7, 1.9])
    assert_traces_right(lambda x: x**exponent, x, tolerance=1e-13)


def test_variable_powers_are_numpys_for_every_base():
    base, exponent = np.meshgrid([-2.0, -0.5, 0.3, 4.0], [-3.0, -2.0, 0.0, 0.5, 1.0, 2.0, 2.5, 5.0])
    assert_traces_right(lambda a, b: a**b, base, exponent, tolerance=1e-13)
    assert_traces_right(lambda b: (-2.0) ** b, exponent, tolerance=1e-13)


def test_zero_to_a_power_is_zero_with_slope_zero():
    from replaying import pull, push

    from nptrace.frontend.tracer import trace

    for function in (lambda x: x**2.2, lambda x: np.maximum(x, 0) ** np.array([1.5, 2.2])):
        traced = trace(function, np.zeros(2))
        values, tangents = push(traced, np.zeros(2), np.ones(2))
        assert (values == 0).all()
        assert (tangents == 0).all()
        assert (pull(traced, np.zeros(2), np.ones(2)) == 0).all()
    traced = trace(lambda x, y: np.maximum(x, 0) ** y, 0.0, 2.2)
    np.testing.assert_array_equal(push(traced, np.array([0.0, 2.2]), np.ones(2))[1], 0)
    np.testing.assert_array_equal(pull(traced, np.array([0.0, 2.2]), np.ones(1)), 0)


@pytest.mark.parametrize(
    "name",
    [
        "sinh",
        "cosh",
        "tanh",
        "arctan",
        "arcsinh",
        "expm1",
        "log1p",
        "exp2",
        "tan",
        "arcsin",
        "arccos",
        "arctanh",
        "cbrt",
        "log2",
        "log10",
    ],
)
def test_derivatives_of_elementary_functions(name):
    x = (
        np.array([0.03, 0.2, 0.45, 0.7, 0.9])
        if name in ("cbrt", "log2", "log10")
        else np.array([-0.8, -0.3, 0.02, 0.55])
    )
    check_derivatives(getattr(np, name), x)


@pytest.mark.parametrize("name", ["tanh", "expm1", "log1p", "sinh", "arctan", "sin"])
def test_slope_at_zero_is_one(name):
    from replaying import pull, push

    from nptrace.frontend.tracer import trace

    traced = trace(getattr(np, name), np.zeros(1))
    for x in (0.0, 1e-12, 1e-6):
        np.testing.assert_allclose(push(traced, np.array([x]), np.ones(1))[1], 1, rtol=1e-5)
        np.testing.assert_allclose(pull(traced, np.array([x]), np.ones(1)), 1, rtol=1e-5)


def test_derivatives_stay_finite_far_out():
    from replaying import pull, push

    from nptrace.frontend.tracer import trace

    for function in (np.tanh, np.arctan, np.arcsinh):
        traced = trace(function, np.zeros(1))
        for x in (-1e3, 1e3):
            assert np.isfinite(push(traced, np.array([x]), np.ones(1))[1]).all()
            assert np.isfinite(pull(traced, np.array([x]), np.ones(1))).all()


def test_derivatives_of_two_arguments():
    random = np.random.default_rng(3)
    x, y = random.uniform(0.2, 3, size=6), random.uniform(0.3, 1, size=6)
    for name in ("arctan2", "hypot", "remainder", "fmod", "logaddexp", "maximum", "minimum", "copysign", "power"):
        check_derivatives(getattr(np, name), x, y)


def test_python_rounding_functions_trace():
    x = np.array([-1.5, 0.4, 2.6])
    assert_traces_right(lambda x: np.stack([math.floor(v) for v in x] + [math.ceil(v) for v in x]), x)
    assert_traces_right(lambda x: np.stack([math.trunc(v) for v in x] + [abs(v) for v in x]), x)
    assert_traces_right(lambda x: np.stack([*divmod(x[0], x[1]), *divmod(x[2], 0.7), *divmod(5.0, x[1])]), x)
    assert_traces_right(lambda x: np.concatenate([*np.divmod(x, 0.4), *np.modf(x)]), x)

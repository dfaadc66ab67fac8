"""Accuracy and limits of the branch-free functions; the bounds are those of the module's docstring."""

import numpy as np
import pytest
from trace_examples import apply, one_operation

from nptrace.codegen import interpret
from nptrace.runtime import machine

COUNT = 100_000
DTYPES = [np.float64, np.float32]
wide = np.longdouble


@pytest.fixture(params=["fused", "unfused"])
def host(request):
    here = machine.host()
    return here if request.param == "fused" else here.limited("-fma", "-fma4", "-avx512f")


@pytest.fixture
def random():
    return np.random.default_rng(0)


def ulps(got, exact):
    return np.max(np.abs((got.astype(wide) - exact) / np.spacing(np.abs(exact).astype(got.dtype)).astype(wide)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["sin", "cos"])
def test_sine_and_cosine_keep_their_digits_over_the_stated_range(op, dtype, host, random):
    reach, absolute, relative = (1e5, 1.8e-16, 1.7) if dtype == np.float64 else (1e4, 9.5e-8, 1.7)
    if dtype == np.float64 and not host.fused:
        absolute, relative = 2.1e-16, 2.4
    quarters = np.arange(1, int(reach / 1.6)) * (np.pi / 2)
    x = np.concatenate([random.uniform(-4, 4, COUNT), random.uniform(-reach, reach, COUNT), quarters]).astype(dtype)
    exact = getattr(np, op)(x.astype(wide))
    got = apply(op, dtype, x, host=host)
    assert np.max(np.abs(got - exact)) < absolute
    away = np.abs(exact) > 0.1
    assert ulps(got[away], exact[away]) < relative


@pytest.mark.parametrize("dtype", DTYPES)
def test_exponential_is_exact_to_an_ulp(dtype, host, random):
    low, high = (-707, 709.7) if dtype == np.float64 else (-86, 88.7)
    x = np.concatenate([random.uniform(low, high, COUNT), random.uniform(-1, 1, COUNT)]).astype(dtype)
    assert ulps(apply("exp", dtype, x, host=host), np.exp(x.astype(wide))) < (1.0 if host.fused else 1.3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithm_is_exact_to_an_ulp(dtype, host, random):
    reach = 700 if dtype == np.float64 else 86
    x = np.concatenate([np.exp(random.uniform(-reach, reach, COUNT)), random.uniform(0.5, 2, COUNT)]).astype(dtype)
    assert ulps(apply("log", dtype, x, host=host), np.log(x.astype(wide))) < 1.0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("reach", "exponent"), [(15, 6), (40, 2), (0.5, 100)])
def test_power_loses_little_even_for_large_exponents(reach, exponent, dtype, host, random):
    x = np.exp(random.uniform(-reach, reach, COUNT)).astype(dtype)
    y = random.uniform(-exponent, exponent, COUNT).astype(dtype)
    exact = x.astype(wide) ** y.astype(wide)
    limits = np.finfo(dtype)
    normal = (exact > 4 * limits.tiny) & (exact < limits.max / 2)
    got = apply("pow", dtype, x, y, host=host)
    error = np.abs(got - exact)[normal] / np.spacing(exact[normal].astype(dtype))
    assert np.all(error < 1.5 + np.abs(y[normal]) / 15)


@pytest.mark.parametrize("dtype", DTYPES)
def test_angle_of_a_point_is_exact_to_two_ulps(dtype, host, random):
    def side():
        spread = np.exp(random.uniform(-20, 20, COUNT)) * random.choice([-1, 1], COUNT)
        return np.concatenate([spread, random.normal(size=COUNT)]).astype(dtype)

    y, x = side(), side()
    assert ulps(apply("atan2", dtype, y, x, host=host), np.arctan2(y.astype(wide), x.astype(wide))) < 2.0


@pytest.mark.parametrize("dtype", DTYPES)
def test_angle_knows_quadrants_signed_zeros_and_infinities(dtype):
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    y, x = (grid.ravel() for grid in np.meshgrid(special, special))
    got, exact = apply("atan2", dtype, y, x), np.arctan2(y, x)
    np.testing.assert_allclose(got, exact, rtol=2e-7 if dtype == np.float32 else 2e-16)
    known = ~np.isnan(exact)
    assert (np.signbit(got) == np.signbit(exact))[known].all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_limits_of_exponential_and_logarithm(dtype):
    inf, nan = np.inf, np.nan
    np.testing.assert_array_equal(
        apply("exp", dtype, [0, -0.0, inf, -inf, nan, 1e4, -1e4]), [1, 1, inf, 0, nan, inf, 0]
    )
    np.testing.assert_array_equal(
        apply("log", dtype, [0, -0.0, inf, -inf, nan, -1, 1]), [-inf, -inf, inf, nan, nan, nan, 0]
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("run", ["compiled", "interpreted"])
def test_limits_of_power(run, dtype):
    inf, nan = np.inf, np.nan
    cases = [
        (0, 2.2, 0), (0, 1e-3, 0), (0, -1.5, inf), (0, 0, 1), (5, 0, 1), (inf, 0, 1), (inf, 0.5, inf), (inf, -0.5, 0),
        (-1, 2.2, nan), (-1, 3, nan), (nan, 1, nan), (2, nan, nan), (nan, 0, nan), (2, inf, inf), (2, -inf, 0),
        (0.5, inf, 0), (1, inf, 1), (10, 1e4, inf), (10, -1e4, 0),
    ]  # fmt: skip
    x, y, expected = np.array(cases, dtype).T
    if run == "compiled":
        got = apply("pow", dtype, x, y)
    else:
        got = interpret.evaluate(one_operation("pow", 2), np.stack([x, y]))[0]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("op", ["sin", "cos", "exp", "log", "sqrt", "abs", "floor", "inv", "neg"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_in_gives_nan_out(op, dtype):
    assert np.isnan(apply(op, dtype, [np.nan])).all()

"""What cannot be traced is refused, with the remedy and the line."""

import functools
import json
import math
import pickle
import statistics

import numpy as np
import pytest
from numpy import array as raw_array
from numpy import zeros as raw_zeros

from footfall.errors import FootfallError, TraceError
from nptrace import lookup, repeat
from nptrace.frontend.tracer import trace

X = np.array([0.3, -0.4, 1.2])
ROWS, OUTSIDE = [1.0, 2.0, 3.0], np.ones(3)


def in_place(x):
    y = OUTSIDE.copy()
    y += x
    return y


def changes_argument(x):
    x += 1
    return x


def changes_element(x):
    x[0] = 2
    return x


def raw_fill(x):
    y = raw_zeros(3)
    y[0] = x[0]
    return y


def float32_fill(x):
    y = np.zeros(3, dtype=np.float32)
    y[0] = x[0]
    return y


def branches(x):
    if x[0] > 0:
        return x
    return -x


def loops(x):
    while x[0] < 1:
        x = x * 2
    return x


def escapes(x):
    kept = []
    repeat(3, lambda i, c: kept.append(c * x) or c + x, np.zeros(3))
    return kept[0]


def changes_outside_a_loop(x):
    total = np.zeros(3)

    def body(i, c):
        total[0] += x[0]
        return c + x

    return repeat(3, body, np.zeros(3)) + total


def changes_the_carry(x):
    def body(i, c):
        c += x
        return c

    return repeat(3, body, np.zeros(3))


@functools.lru_cache
def cached(v):
    return v


REFUSED = {
    "if": (branches, "np.where"),
    "while": (loops, "np.where"),
    "and": (lambda x: x[0] > 0 and x[1] > 0, "np.where"),
    "not": (lambda x: not x[0], "np.where"),
    "chained comparison": (lambda x: np.where(0 < x[0] < 1, x, 0), "np.where"),
    "max builtin": (lambda x: max(x), "np.maximum"),
    "sorted": (lambda x: sorted(x), "np.maximum"),
    "assert": (lambda x: [x for _ in range(1) if bool((x > 0).all())], "np.where"),
    "float": (lambda x: float(x[0]), "np.sin"),
    "np.float64": (lambda x: np.float64(x[0]), "np.sin"),
    "np.float64 of an array": (lambda x: np.float64(x), "np.sin"),
    "complex": (lambda x: complex(x[0]), "np.sin"),
    "1j": (lambda x: 1j * x[0], "real number"),
    "math.sin": (lambda x: math.sin(x[0]), "np.sin"),
    "math.hypot": (lambda x: math.hypot(x[0], x[1]), "np.sin"),
    "statistics": (lambda x: statistics.fmean(x), "np.sin"),
    "percent format": (lambda x: "%f" % x[0], "np.sin"),  # noqa: UP031
    "format": (lambda x: f"{x[0]:.3f}", "format"),
    "str.format": (lambda x: f"{x[0]:g}", "format"),
    "int": (lambda x: int(x[0]), "np.floor"),
    "astype int": (lambda x: x.astype(int), "np.floor"),
    "astype float32": (lambda x: x.astype(np.float32), "compiled"),
    "index": (lambda x: np.array(ROWS)[x[0]], "lookup"),
    "plain index": (lambda x: OUTSIDE[x[0]], "lookup"),
    "list index": (lambda x: ROWS[x[0]], "lookup"),
    "slice": (lambda x: x[: x[0]], "lookup"),
    "range": (lambda x: sum(x[i] for i in range(x[0])), "repeat"),
    "mask": (lambda x: x[x > 0], "np.where"),
    "mask of constants": (lambda x: OUTSIDE[x > 0], "np.where"),
    "mask update": (lambda x: (y := x.copy(), y.__setitem__(y > 0, y[y > 0] * 2))[0], "np.where"),
    "where with one argument": (lambda x: np.where(x > 0), "np.where(condition, a, b)"),
    "nonzero": (lambda x: np.nonzero(x), "np.where"),
    "argmax": (lambda x: np.argmax(x), "np.where"),
    "x.argmax": (lambda x: x.argmax(), "np.where"),
    "sort": (lambda x: np.sort(x), "np.where"),
    "x.sort": (lambda x: x.copy().sort(), "np.where"),
    "median": (lambda x: np.median(x), "np.where"),
    "unique": (lambda x: np.unique(x), "np.where"),
    "searchsorted": (lambda x: np.searchsorted([0.0, 1.0], x), "np.where"),
    "equal": (lambda x: x == 1, "tolerance"),
    "not equal": (lambda x: x != x, "tolerance"),
    "equal to None": (lambda x: x[0] == None, "tolerance"),  # noqa: E711
    "in a list": (lambda x: x[0] in [1, 2], "tolerance"),
    "in an array": (lambda x: 0.3 in x, "tolerance"),
    "array_equal": (lambda x: np.array_equal(x, x), "tolerance"),
    "allclose": (lambda x: x if np.allclose(x, 1) else -x, "np.where"),
    "dict key": (lambda x: {0.3: 1}.get(x[0]), "dict"),
    "set": (lambda x: {x[0]}, "set"),
    "lru_cache": (lambda x: cached(x[0]), "cache"),
    "pickle": (lambda x: pickle.dumps(x), "bytes"),
    "tobytes": (lambda x: x.tobytes(), "bytes"),
    "in place": (in_place, "y = y + x"),
    "argument +=": (changes_argument, "x.copy()"),
    "argument element": (changes_element, "x.copy()"),
    "from numpy import zeros": (raw_fill, "np.zeros"),
    "float32": (float32_fill, "np.zeros"),
    "raw maximum": (lambda x: np.maximum(raw_array([x[0], 0.0]), 0.5), "np.array"),
    "list maximum": (lambda x: np.maximum([x[0], 0.0], 0.5), "np.array"),
    "fromiter": (lambda x: np.fromiter(iter(x), float), "np.array"),
    "np.array int": (lambda x: np.array([x[0]], dtype=int), "np.floor"),
    "arange": (lambda x: np.arange(0, x[0]), "number"),
    "eigh": (lambda x: np.linalg.eigh(np.outer(x, x)), "arithmetic"),
    "pinv": (lambda x: np.linalg.pinv(np.outer(x, x)), "damped form"),
    "det": (lambda x: np.linalg.det(np.outer(x, x)), "arithmetic"),
    "spectral norm": (lambda x: np.linalg.norm(np.outer(x, x), 2), "ord=2"),
    "unknown ufunc": (lambda x: np.spacing(x), "np.spacing"),
    "unknown function": (lambda x: np.unwrap(x), "np.unwrap"),
    "is_integer": (lambda x: x[0].is_integer(), "is_integer"),
    "difference of truths": (lambda x: (x > 0) - (x < 0), "logical_xor"),
    "negative truth": (lambda x: -(x > 0), "~"),
    "ufunc where": (lambda x: np.sqrt(x, where=x > 0), "np.where"),
    "division by zero": (lambda x: x / 0.0, "zero"),
    "constants divided by zero": (lambda x: x + 1 / np.zeros(3), "zero"),
    "modulo zero": (lambda x: x % 0.0, "zero"),
    "round to tens": (lambda x: np.round(x, -1), "np.rint"),
    "interp with traced knots": (lambda x: np.interp(0.5, x, ROWS), "knots"),
    "returns text": (lambda x: np.array(["a", "b"]), "number"),
    "traced count": (lambda x: repeat(x[0], lambda i, c: c, x), "whole number"),
    "loop changes shape": (lambda x: repeat(2, lambda i, c: c[:2], x), "shapes"),
    "loop changes structure": (lambda x: repeat(2, lambda i, c: {"b": c["a"]}, {"a": x}), "['b']"),
    "loop index": (lambda x: repeat(2, lambda i, c: c + x[i], x), "lookup"),
    "escape from a loop": (escapes, "return it from the body"),
    "loop changes outside": (changes_outside_a_loop, "carry it"),
    "loop changes its carry": (changes_the_carry, "x.copy()"),
    "computed table": (lambda x: lookup(x * 2, x[0]), "argument"),
    "table of wrong rank": (lambda x: lookup(ROWS, x[0], x[1]), "axes"),
    "ndarray pointer": (lambda x: json.dumps(x.tolist()), "JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_remedy(name):
    function, remedy = REFUSED[name]
    if remedy == "JSON":  # the user's own: a number would not be written otherwise either
        with pytest.raises(TypeError):
            trace(function, X)
        return
    with pytest.raises(TraceError) as caught:
        trace(function, X)
    assert remedy in str(caught.value), str(caught.value)


@pytest.mark.parametrize("kind", [TypeError, ValueError, ArithmeticError, LookupError])
def test_a_refusal_is_not_an_error_that_user_code_expects(kind):
    assert not issubclass(TraceError, kind)
    assert issubclass(TraceError, FootfallError)


def test_the_error_names_the_users_line_and_its_text():
    with pytest.raises(TraceError, match=r" at test_refusals\.py:\d+: `if x\[0\] > 0:`"):
        trace(branches, X)
    with pytest.raises(TraceError, match=r" at test_refusals\.py:\d+: `x \+= 1`"):
        trace(changes_argument, X)
    with pytest.raises(TraceError, match=r" at test_refusals\.py:\d+: `y\[0\] = x\[0\]`"):
        trace(raw_fill, X)
    with pytest.raises(TraceError, match=r" at test_refusals\.py:\d+: `return plain\[x\[0\]\]`"):
        trace(numpy_replaces_it, X)
    with pytest.raises(TraceError, match=r" at test_refusals\.py:\d+: `return np.isnan\(raw\)`"):
        trace(numpy_has_no_loop, X)


def numpy_replaces_it(x):
    plain = OUTSIDE
    return plain[x[0]]


def numpy_has_no_loop(x):
    raw = raw_array([x[0], x[1]])
    return np.isnan(raw)


def swallow_everything(x):
    try:
        return np.stack([float(x[0])])
    except Exception:
        return np.stack([0.0 * x[0]])


def swallow_index_error(x):
    try:
        return OUTSIDE[x[0]]
    except (IndexError, TraceError):
        return x[0]


def swallow_by_suppression(x):
    import contextlib

    with contextlib.suppress(Exception):
        if x[0] > 0:
            return x
    return -x


@pytest.mark.parametrize("function", [swallow_everything, swallow_index_error, swallow_by_suppression])
def test_a_swallowed_refusal_still_fails_the_trace(function):
    with pytest.raises(TraceError, match="traced value"):
        trace(function, X)


def test_a_value_kept_from_another_trace_is_refused():
    kept = []

    def leaks(x):
        kept.append(x)
        return kept[0] * x

    trace(leaks, X)
    with pytest.raises(TraceError, match="pure"):
        trace(leaks, X)


def test_an_example_of_no_numbers_is_refused():
    with pytest.raises(TraceError, match="real numbers"):
        trace(lambda x: x, np.array([1j]))


def test_what_no_number_has_is_an_attribute_error_as_ever():
    def asks(x):
        try:
            return x[0].keys()
        except AttributeError:
            return x

    trace(asks, X)


def test_what_another_package_raises_at_a_traced_value_names_the_users_line():
    from scipy.interpolate import CubicSpline

    spline = CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])

    def rides(x):
        return spline(x[0])  # this line

    with pytest.raises(
        TraceError, match=r"scipy cannot compute with traced values .* at test_refusals\.py:\d+: .*this line"
    ):
        trace(rides, X)

    def own_mistake(x):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        trace(own_mistake, X)

"""Verification finds what a trace cannot see."""

import functools
import random as python_random
import time
from dataclasses import dataclass

import numpy as np
import pytest

from footfall.errors import TraceError, TraceMismatch
from nptrace import repeat
from nptrace.frontend.tracer import verify

X = np.array([0.3, -0.4, 1.2])
CALLS, GENERATOR, KEPT = [0], np.random.default_rng(0), {}


def counts(x):
    CALLS[0] += 1
    return x * CALLS[0]


def counts_now_and_then(x):
    """Too rarely for a comparison of a few calls."""
    CALLS[0] += 1
    return x if CALLS[0] % 1000 else 2 * x


def draws(x):
    return x * GENERATOR.normal()


def draws_from_numpys_own(x):
    return x * np.random.normal()  # noqa: NPY002


def draws_from_python(x):
    return x * python_random.random()


def reads_the_clock(x):
    return x * time.perf_counter()


def remembers(x):
    KEPT["last"] = x
    return x


def appends_in_a_loop(x):
    seen = []
    repeat(3, lambda i, c: seen.append(1) or c, x)
    return x * len(seen)


def asks_the_type(x):
    return x if type(x[0]) is np.float64 else 2 * x


def extends_its_list(xs):
    xs.append(1.0)
    return xs[0]


class Stateful:
    def __init__(self):
        self.calls = 0

    def method(self, x):
        self.calls += 1
        return x

    def __call__(self, x):
        self.calls += 1
        return x


class Wrapper:
    def __init__(self, function):
        self.function = function

    def __call__(self, x):
        return self.function(x)


def helper(x):
    CALLS[0] += 1
    return x


def calls_a_helper(x):
    return helper(x)


IMPURE = [
    counts,
    counts_now_and_then,
    draws,
    draws_from_numpys_own,
    draws_from_python,
    reads_the_clock,
    remembers,
    appends_in_a_loop,
    asks_the_type,
    Stateful().method,
    Stateful(),
    calls_a_helper,
    Wrapper(counts_now_and_then),
    functools.partial(Wrapper(calls_a_helper).function),
]


@pytest.mark.parametrize("function", IMPURE, ids=lambda f: getattr(f, "__name__", "object"))
def test_hidden_state_is_found(function):
    with pytest.raises(TraceMismatch, match=r"pure|hidden state"):
        verify(function, X)


def test_the_message_names_what_was_changed():
    with pytest.raises(TraceMismatch, match="counts changed CALLS"):
        verify(counts, X)


def test_a_mismatch_is_a_trace_error():
    assert issubclass(TraceMismatch, TraceError)


def test_a_changed_list_argument_is_found():
    with pytest.raises(TraceMismatch, match="changes its argument"):
        verify(extends_its_list, [X])


@dataclass(frozen=True)
class Gains:
    stiffness: float
    damping: np.ndarray
    name: str = "soft"


def controller(gains, q, target, on):
    torque = gains.stiffness * (target["q"] - q) - gains.damping * np.sin(q)
    return {"torque": np.clip(torque, -1, 1), "on": on, "over": np.any(torque > 1), "mode": None}


def test_a_pure_function_of_nests_is_verified():
    traced = verify(controller, Gains(3.0, np.ones(3)), X, {"q": np.zeros(3)}, True)
    assert traced.argument_sizes == [4, 3, 3, 0]
    assert traced.input_shapes == [(), (3,), (3,), (3,)]


@pytest.mark.parametrize("x", [0.3, 0.6, 0.1 * 3])
def test_rounding_at_a_jump_is_no_mismatch(x):
    verify(lambda x: np.where(x / 0.3 >= 1, 1.0, 0.0) + x // 0.3 + np.floor(x / 0.1), x)


def test_samples_where_the_function_is_not_defined_are_left_out():
    def fussy(x):
        if not isinstance(x, np.ndarray):
            raise ValueError("not an array")
        return x

    verify(fussy, X)


def test_integers_and_truths_stay_what_they_are():
    def picky(n, on):
        return np.where(on, n // 2, n + 1)

    verify(picky, np.array([3, 4, 5]), np.array([True, False, True]))


def test_what_is_computed_once_and_kept_is_no_hidden_state():
    kept = {}

    def remembers_a_constant(x):
        if "inertia" not in kept:
            kept["inertia"] = 2.5
        return kept["inertia"] * x

    verify(remembers_a_constant, X)


def test_an_element_read_before_it_is_written_is_nan():
    from replaying import replay

    assert np.isnan(replay(lambda x: np.empty(2) + x[:2], X)).all()


def test_random_numbers_drawn_by_compiled_code_are_found_and_crash_nothing():
    random = np.random.default_rng(0)
    for draw in (random.standard_normal, random.random, random.normal, np.random.RandomState(0).rand):
        with pytest.raises(TraceMismatch):
            verify(lambda x, draw=draw: x + draw(3) if draw is not random.normal else x + draw(size=3), np.ones(3))


def test_what_is_refused_leaves_hidden_state_as_it_was():
    CALLS[0] = 5
    with pytest.raises(TraceMismatch, match="CALLS"):
        verify(counts, X)
    assert CALLS == [5]


def test_a_compiled_counter_counts_as_in_python():
    from nptrace import compile
    from nptrace.runtime.machine import FallbackWarning

    CALLS[0] = 0
    with pytest.warns(FallbackWarning, match="CALLS"):
        counting = compile(counts, X)
    np.testing.assert_array_equal([counting(X)[0] for _ in range(3)], X[0] * np.array([1, 2, 3]))


def test_what_is_kept_from_the_first_call_is_hidden_state():
    def latches(x):
        KEPT.setdefault("first", x)
        return x - KEPT["first"]

    KEPT.clear()
    with pytest.raises(TraceMismatch, match="KEPT"):
        verify(latches, X)
    assert KEPT == {}


def test_a_stiff_function_whose_trace_is_another_is_found():
    def stiff(x):
        return np.sin(1e8 * x) * (1.0 if type(x[0]) is np.float64 else 1.0001)

    with pytest.raises(TraceMismatch, match="the trace of stiff differs from the function"):
        verify(stiff, X)
    verify(lambda x: np.sin(1e8 * x), X)

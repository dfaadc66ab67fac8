"""Several threads trace while others use NumPy: nobody notices."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import nptrace
from footfall.errors import TraceError
from nptrace import repeat
from nptrace.frontend.tracer import trace

X = np.array([0.3, -0.4, 1.2])


def work(x):
    y = np.zeros(3)
    y[:] = x
    for _ in range(20):
        y = np.array([y[1], y[2], 0.5]) + np.sin(y) @ np.eye(3)
    return repeat(3, lambda i, c: c * 0.5 + np.ones(3) * i, y)


def test_traces_in_many_threads_are_the_same():
    expected = trace(work, X)
    with ThreadPoolExecutor(4) as pool:
        for traced in pool.map(lambda _: trace(work, X), range(24)):
            assert traced.graph.nodes == expected.graph.nodes
            assert traced.outputs == expected.outputs


def test_other_threads_get_plain_arrays_while_one_traces():
    inside, done, seen = threading.Event(), threading.Event(), []

    def bystander():
        inside.wait()
        for make in (lambda: np.zeros(3), lambda: np.array([1.0, 2.0]), lambda: np.zeros_like(X), lambda: np.eye(2)):
            seen.append(type(make()) is np.ndarray and make().dtype == float)
        seen.append(not nptrace.is_tracing())
        seen.append(repeat(3, lambda i, c: c + i, 0.0) == 3)
        done.set()

    def slow(x):
        inside.set()
        done.wait()
        y = np.zeros(3)
        y[0] = x[0]
        return y

    thread = threading.Thread(target=bystander)
    thread.start()
    trace(slow, X)
    thread.join()
    assert seen == [True] * 6


def test_numpy_is_restored_when_the_last_trace_ends_even_by_an_error():
    originals = {name: getattr(np, name) for name in ("array", "zeros", "eye", "full_like", "asarray")}

    def fails(x):
        return float(x[0])

    def one(k):
        if k % 2:
            with pytest.raises(TraceError):
                trace(fails, X)
        else:
            trace(work, X)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(20)))
    assert {name: getattr(np, name) for name in originals} == originals
    assert not nptrace.is_tracing()


def test_a_refusal_in_one_thread_does_not_fail_another():
    ready, refused = threading.Barrier(2), threading.Event()

    def good(x):
        ready.wait()
        refused.wait()
        return x * 2

    def bad(x):
        ready.wait()
        try:
            return float(x[0])
        finally:
            refused.set()

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(trace, good, X), pool.submit(trace, bad, X)
        assert len(first.result().outputs) == 3
        with pytest.raises(TraceError):
            second.result()

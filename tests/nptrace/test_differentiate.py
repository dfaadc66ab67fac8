"""Compiled derivatives are those of NumPy's differences, on every target."""

import numpy as np
import pytest
from differences import differences
from trace_examples import LEG, PAIR, SWEEPS, TABLE, gauss_seidel, leg_step, nested, own_terrain

import nptrace as trace
from footfall.errors import InputError

TARGETS = ["native", "interpret"]


def product(x, y):
    return np.outer(np.sin(x), y) * x[0]


CASES = {
    "product": (product, PAIR),
    "leg": (leg_step, LEG),
    "nested": (nested, (PAIR[0],)),
    "sweeps": (gauss_seidel, SWEEPS),
    "own terrain": (own_terrain, (TABLE, np.array([1.4, 2.7]))),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_jacobians_are_differences(name, target):
    function, arguments = CASES[name]
    all_of_them = tuple(range(len(arguments)))
    got = trace.jacobian(function, *arguments, wrt=all_of_them, target=target, cache=None)(*arguments)
    assert isinstance(got, tuple)
    for k, J in enumerate(got):
        expected = differences(function, arguments, k)
        assert J.shape == expected.shape
        np.testing.assert_allclose(J, expected, rtol=1e-5, atol=1e-6 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
def test_jacobians_are_the_same_at_every_width(lanes):
    one = trace.jacobian(leg_step, *LEG, wrt="x", lanes=1, cache=None)(*LEG)
    assert np.array_equal(trace.jacobian(leg_step, *LEG, wrt="x", lanes=lanes, cache=None)(*LEG), one)


def test_narrow_jacobians_take_narrow_lanes():
    assert trace.jacobian(leg_step, *LEG, wrt=2, cache=None).lanes <= 2


def test_single_precision_jacobian():
    J = trace.jacobian(product, *PAIR, dtype=np.float32, cache=None)(*PAIR)
    assert J.dtype == np.float32
    np.testing.assert_allclose(J, trace.jacobian(product, *PAIR, cache=None)(*PAIR), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_nests_in_and_out_keep_their_form(target):
    def f(state, gain):
        return {"sum": state["a"] + gain * state["b"][0], "dot": state["a"] @ state["a"]}

    state = {"a": np.array([1.0, 2.0]), "b": [np.array(3.0)]}
    J = trace.jacobian(f, state, np.array(0.5), wrt="state", target=target, cache=None)(state, 0.5)
    np.testing.assert_allclose(J["sum"]["a"], np.eye(2))
    np.testing.assert_allclose(J["sum"]["b"][0], [0.5, 0.5])
    np.testing.assert_allclose(J["dot"]["a"], [2, 4])
    assert J["dot"]["b"][0].shape == ()


def energy(x, y):
    return np.sum(nested(x) ** 2) * y[0] + np.sin(y[1]) * x[2]


@pytest.mark.parametrize("target", TARGETS)
def test_gradients_are_differences(target):
    for wrt in (0, 1, "x", "y", (0, 1)):
        got = trace.gradient(energy, *PAIR, wrt=wrt, target=target, cache=None)(*PAIR)
        which = {"x": 0, "y": 1}.get(wrt, wrt)
        for k, g in zip(which, got) if isinstance(which, tuple) else [(which, got)]:
            np.testing.assert_allclose(g, differences(energy, PAIR, k), rtol=1e-6, atol=1e-7)


def test_gradients_of_a_batch():
    x = np.random.default_rng(0).normal(size=(6, 3))
    got = trace.gradient(energy, *PAIR, target="batch", lanes=4, cache=None)(x, PAIR[1])
    one = trace.gradient(energy, *PAIR, cache=None)
    assert np.array_equal(got, np.stack([one(row, PAIR[1]) for row in x]))


def test_reverse_and_forward_agree():
    def total(A, b):
        return np.sum(gauss_seidel(A, b) * np.array([1.0, -2.0, 0.5, 3.0]))

    forward = trace.jacobian(total, *SWEEPS, wrt=(0, 1), cache=None)(*SWEEPS)
    backward = trace.gradient(total, *SWEEPS, wrt=(0, 1), cache=None)(*SWEEPS)
    for f, b in zip(forward, backward):
        np.testing.assert_allclose(f, b, rtol=1e-11, atol=1e-12)


def test_mistakes_name_the_choices():
    with pytest.raises(InputError, match="no argument 'z'; there are x, y"):
        trace.jacobian(product, *PAIR, wrt="z", cache=None)
    with pytest.raises(InputError, match="no argument 5"):
        trace.jacobian(product, *PAIR, wrt=5, cache=None)
    with pytest.raises(InputError, match="returns 9 numbers"):
        trace.gradient(product, *PAIR, cache=None)
    with pytest.raises(InputError, match="argument 'x' has shape"):
        trace.jacobian(product, *PAIR, cache=None)(np.ones(2), PAIR[1])
    with pytest.raises(InputError, match="unknown target 'batch'"):
        trace.jacobian(product, *PAIR, target="batch", cache=None)


@pytest.mark.parametrize("target", ["native", "interpret"])
def test_jacobians_of_many_robots_are_those_of_each(target):
    def bent(x, y):
        return np.array([x[0] * np.sin(y), x[1] ** 2 + y, x[0] / (1.0 + y * y)])

    slope = trace.jacobian(bent, np.ones(2), 0.5, wrt=(0, 1), target=target)
    random = np.random.default_rng(1)
    x, y = random.normal(size=(5, 2)), random.normal(size=5)
    many = slope.matrices(x, y)
    assert many.shape == (5, 3, 3)
    for k in range(5):
        assert np.array_equal(many[k], slope.matrix(x[k], y[k]))
    assert np.array_equal(slope.matrices(x, 0.5)[2], slope.matrix(x[2], 0.5))  # one number for all
    with pytest.raises(InputError, match="no argument has a batch axis"):
        slope.matrices(x[0], 0.5)

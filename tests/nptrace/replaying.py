"""Helpers of the front end's tests: a function on NumPy against its trace, interpreted."""

import numpy as np

from nptrace.autodiff import derivative
from nptrace.codegen import interpret
from nptrace.frontend import tree
from nptrace.frontend.tracer import trace
from nptrace.ir import program


def flat(nest):
    return np.array([x for leaf in tree.flatten(nest)[0] for x in np.ravel(leaf)], dtype=float)


def replay(function, *arguments):
    """The flat outputs of the trace of ``function`` at the arguments."""
    traced = trace(function, *arguments)
    code = program.build(traced.graph, traced.outputs, traced.input_size)
    return interpret.evaluate(code, flat(arguments))


def assert_traces_right(function, *arguments, tolerance=1e-12):
    with np.errstate(all="ignore"):
        expected = flat(function(*arguments))
    got = replay(function, *arguments)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def operations(function, *arguments):
    traced = trace(function, *arguments)
    return program.build(traced.graph, traced.outputs, traced.input_size).operations()


def check_derivatives(function, *arguments, tolerance=1e-5, seed=0, step=1e-6):
    """Forward mode against central differences, reverse mode against forward mode."""
    random = np.random.default_rng(seed)
    traced = trace(function, *arguments)
    n, m = traced.input_size, len(traced.outputs)
    x, (_, rebuild) = flat(arguments), tree.flatten(arguments)
    shapes = tree.shapes(tree.flatten(arguments)[0])

    def value(z):
        leaves, at = [], 0
        for shape in shapes:
            leaves.append(z[at : at + tree.size(shape)].reshape(shape))
            at += tree.size(shape)
        return flat(function(*rebuild(leaves)))

    d, w = random.normal(size=n), random.normal(size=m)
    slope = (value(x + step * d) - value(x - step * d)) / (2 * step)
    values, tangents = push(traced, x, d)
    np.testing.assert_allclose(values, value(x), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(tangents, slope, rtol=tolerance, atol=tolerance * np.abs(slope).max())
    pulled = pull(traced, x, w)
    np.testing.assert_allclose(pulled @ d, w @ tangents, rtol=1e-10, atol=1e-12)


def push(traced, x, d):
    """(values, tangents) of a trace at x along d, by forward mode."""
    n, m = len(x), len(traced.outputs)
    graph, values, tangents = derivative.jvp(traced.graph, traced.outputs, {k: n + k for k in range(n)})
    both = interpret.evaluate(program.build(graph, values + tangents, 2 * n), np.concatenate([x, d]))
    return both[:m], both[m:]


def pull(traced, x, w):
    """The gradient of w · outputs at x, by reverse mode."""
    n, m = len(x), len(traced.outputs)
    graph, _, pulled = derivative.vjp(traced.graph, traced.outputs, range(n, n + m), range(n))
    return interpret.evaluate(program.build(graph, pulled, n + m), np.concatenate([x, w]))

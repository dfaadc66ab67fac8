"""Run a plain-NumPy function on symbols and keep what it did."""

from dataclasses import dataclass

import numpy as np

from footfall import numeric
from . import tree
from .array import Scalar, node_of, plain, plain_numbers, symbols, wrap
from .constructors import symbolic_constructors
from footfall.errors import TraceError
from .graph import Graph


@dataclass
class Trace:
    """A recorded function: flat inputs, flat outputs, and how to fold both back into nests of arrays."""

    graph: Graph
    input_shapes: list[tuple]
    argument_sizes: list[int]  # flat inputs of every positional argument
    outputs: list[int]
    output_shapes: list[tuple]
    rebuild_output: object

    @property
    def input_size(self):
        return sum(self.argument_sizes)


def trace(function, *examples):
    """Trace ``function`` on symbols shaped like the examples."""
    graph, arguments, argument_sizes, input_shapes, position = Graph(), [], [], [], 0
    for example in examples:
        leaves, rebuild = tree.flatten(example)
        filled = []
        for shape in tree.shapes(leaves):
            count = tree.size(shape)
            filled.append(symbols(graph, [graph.input(position + k) for k in range(count)], shape))
            input_shapes.append(shape)
            position += count
        arguments.append(rebuild(filled))
        argument_sizes.append(sum(tree.size(s) for s in tree.shapes(leaves)))
    token = numeric.tracer.set(Tracer(graph))
    try:
        with symbolic_constructors():
            result = function(*arguments)
    except IndexError as error:  # NumPy asks an index for its number and hides the answer
        raise TraceError(f"{error} (a traced value cannot index an array: use lookup(table, i))") from error
    finally:
        numeric.tracer.reset(token)
    leaves, rebuild = tree.flatten(result)
    outputs = [node_of(graph, x) for leaf in leaves for x in _elements(leaf)]
    return Trace(graph, input_shapes, argument_sizes, outputs, tree.shapes(leaves), rebuild)


def _elements(leaf):
    return leaf.view(np.ndarray).ravel() if isinstance(leaf, np.ndarray) else [leaf]


class Tracer:
    """What ``numeric`` talks to while a trace runs: builds the region nodes."""

    def __init__(self, graph):
        self.graph = graph

    def lookup(self, table, position):
        graph = self.graph
        index = graph.table(plain_numbers(table))

        def one(*at):
            return Scalar(graph, graph.lookup(index, *(node_of(graph, p) for p in at)))

        return wrap(np.frompyfunc(one, len(position), 1)(*map(plain, position)))

    def repeat(self, count, body, carry):
        graph = self.graph
        leaves, rebuild = tree.flatten(carry)
        shapes = tree.shapes(leaves)
        initial = [node_of(graph, x) for leaf in leaves for x in _elements(leaf)]
        region, params = graph.open_region(int(count), len(initial))
        inside = _refill(graph, params, shapes)
        after = body(Scalar(graph, graph.counter(region)), rebuild(inside))
        new_leaves, _ = tree.flatten(after)
        if tree.shapes(new_leaves) != shapes:
            raise TraceError(f"repeat: the body was given shapes {shapes} and returned {tree.shapes(new_leaves)}")
        results = [node_of(graph, x) for leaf in new_leaves for x in _elements(leaf)]
        loop = graph.repeat(region, initial, results)
        return rebuild(_refill(graph, [graph.item(loop, k) for k in range(len(initial))], shapes))


def _refill(graph, nodes, shapes):
    out, at = [], 0
    for shape in shapes:
        count = tree.size(shape)
        out.append(symbols(graph, nodes[at : at + count], shape))
        at += count
    return out


def verify(function, *examples, samples=3, tolerance=1e-9, seed=0):
    """Trace twice and replay against NumPy; returns the trace, or raises TraceError that says how the function differs.

    Finds what a trace cannot see: counters, random numbers, clocks, branches on the type of a value.
    """
    from . import interpret, program

    first, second = trace(function, *examples), trace(function, *examples)
    if first.graph.nodes != second.graph.nodes or first.outputs != second.outputs:
        raise TraceError("two traces of this function differ: it keeps state or draws random numbers")
    code = program.build(first.graph, first.outputs, first.input_size)
    random = np.random.default_rng(seed)
    for sample in range(samples):
        leaves, rebuild = tree.flatten(examples)
        # near the example: a function may be undefined elsewhere (a quaternion, a mass)
        near = [np.asarray(x, float) * (1 + 0.1 * sample * random.normal(size=np.shape(x))) for x in leaves]
        with np.errstate(all="ignore"):
            expected = tree.flatten(function(*rebuild(near)))[0]
        expected = np.concatenate([np.ravel(np.asarray(x, float)) for x in expected])
        got = interpret.evaluate(code, np.concatenate([np.ravel(x) for x in near]))
        scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
        if not np.allclose(got, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            worst = int(np.nanargmax(np.abs(got - expected)))
            raise TraceError(f"the trace gives {got[worst]:g} where NumPy gives {expected[worst]:g} (output {worst})")
    return first

"""Derivatives *inside* a traced function: for algorithms that are defined by differentiation, such as Euler-Lagrange.

The subgraph of a function is cut out, differentiated, and written into the running trace:

    value, derivative = push(energy, (x, rate), (rate, None))  # derivative = ∂energy/∂x rate, second argument fixed

These functions work only while a trace runs; for numbers, use ``compile`` or ``interpreted`` on the function that calls
them. Common subexpressions of value and derivative are shared, since the graph is hash-consed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

import numpy as np

from nptrace import numeric
from nptrace._types import PyTree
from nptrace.autodiff import derivative
from nptrace.autodiff.columns import columns
from nptrace.codegen import interpret
from nptrace.errors import InputError, TraceError
from nptrace.frontend import tracer, tree
from nptrace.frontend.array import elements, symbols
from nptrace.frontend.regions import as_symbols
from nptrace.frontend.scalar import node_of
from nptrace.ir import program as ssa
from nptrace.ir.graph import Graph, Node
from nptrace.ir.program import Loop, Program

_LOOPS = ("repeat", "item", "param", "counter", "saved", "stored", "rows", "lookup_input")


def push(
    function: Callable[..., PyTree], arguments: Sequence[tree.Leaf], directions: Sequence[object]
) -> tuple[PyTree, PyTree]:
    """Return (f(*arguments), its derivative along the directions), by one sweep; direction None fixes its argument."""
    subgraph = _Subgraph(function, arguments)
    moving = [k for k, d in enumerate(directions) if d is not None]
    along = [node_of(subgraph.outer, x) for k in moving for x in elements(directions[k])]
    tangents = {i: len(subgraph.given) + j for j, i in enumerate(subgraph.positions(moving))}
    if len(along) != len(tangents):
        raise TraceError("push: a direction and its argument have different shapes")
    graph, values, pushed = derivative.jvp(subgraph.graph, subgraph.outputs, tangents)
    nodes = subgraph.write(graph, [*values, *pushed], along)
    return subgraph.folded(nodes[: len(values)]), subgraph.folded(nodes[len(values) :])


def gradient(function: Callable[..., PyTree], arguments: Sequence[tree.Leaf], wrt: int = 0) -> PyTree:
    """Return ∂f/∂(one argument), shaped like it, of a function that returns one number, by one reverse sweep."""
    subgraph = _Subgraph(function, arguments)
    if len(subgraph.outputs) != 1:
        raise TraceError(f"gradient: the function returns {len(subgraph.outputs)} numbers, and must return one")
    graph, _, adjoints = derivative.vjp(
        subgraph.graph, subgraph.outputs, [len(subgraph.given)], subgraph.positions([wrt])
    )
    return symbols(subgraph.outer, subgraph.write(graph, adjoints, [subgraph.outer.const(1)]), subgraph.shapes[wrt])


def jacobian(function: Callable[..., PyTree], arguments: Sequence[tree.Leaf], wrt: int = 0) -> PyTree:
    """Return ∂f/∂(one argument), of shape result.shape + argument.shape, of a function that returns one array.

    Unrolled, in one forward sweep: every value carries its nonzero derivatives only.
    """
    subgraph = _Subgraph(function, arguments)
    if len(subgraph.output_shapes) != 1:
        raise TraceError("jacobian: the function must return one array")
    inputs = subgraph.positions([wrt])
    made = columns(subgraph.graph, subgraph.outputs, inputs)
    assert made is not None  # a subgraph has no loops
    graph, _, tangents = made
    zero = graph.const(0)
    nodes = [found.get(k, zero) for found in tangents for k in range(len(inputs))]
    return symbols(
        subgraph.outer, subgraph.write(graph, nodes, []), (*subgraph.output_shapes[0], *subgraph.shapes[wrt])
    )


class interpreted:
    """A function evaluated on numbers: traced once on shapes like the examples, then interpreted.

    A call evaluates one state with Python floats, five times as fast as NumPy on single numbers; ``rows`` evaluates
    many states at once, with NumPy. Both round alike: neither has a fused multiply-add.
    """

    def __init__(self, function: Callable[..., PyTree], *examples: object) -> None:
        self.traced = tracer.trace(function, *examples)
        self.program = ssa.build(self.traced.graph, self.traced.outputs, self.traced.input_size)
        self._steps = _float_steps(self.program)

    def __call__(self, *arguments: object) -> PyTree:
        flat = np.concatenate([np.asarray(leaf, float).reshape(-1) for leaf in tree.flatten(arguments)[0]])
        if len(flat) != self.traced.input_size:
            raise InputError(f"the traced function takes {self.traced.input_size} numbers, got {len(flat)}")
        return self._fold(self._floats(flat.tolist()) if self._steps else interpret.evaluate(self.program, flat))

    def rows(self, *arrays: np.ndarray) -> PyTree:
        """Evaluate many states: every argument and result has a leading batch axis."""
        flat = np.concatenate([np.asarray(a, float).reshape(np.shape(a)[0], -1).T for a in tree.flatten(arrays)[0]])
        return self._fold(interpret.evaluate(self.program, flat), (flat.shape[1],))

    def _floats(self, inputs: list[float]) -> np.ndarray:
        """Evaluate with Python floats, or with NumPy where they raise and NumPy gives an infinity or NaN."""
        values, steps = self._start(inputs)
        try:
            for result, rule, operands in steps:
                values[result] = rule(*[values[k] for k in operands])
        except (ValueError, OverflowError, ZeroDivisionError):
            return interpret.evaluate(self.program, np.array(inputs))
        return np.array([values[k] for k in self.program.outputs])

    def _start(self, inputs: list[float]) -> tuple[list[float], list[_Step]]:
        assert self._steps is not None
        fixed, given, steps = self._steps
        values = fixed.copy()
        for slot, position in given:
            values[slot] = inputs[position]
        return values, steps

    def _fold(self, out: np.ndarray, batch: tuple[int, ...] = ()) -> PyTree:
        leaves, at = [], 0
        for shape in self.traced.output_shapes:
            count = tree.size(shape)
            leaf = out[at : at + count].reshape((*shape, *batch))
            leaves.append(np.moveaxis(leaf, -1, 0) if batch else leaf[()])
            at += count
        return self.traced.rebuild_output(leaves)


_Step = tuple[int, Callable[..., float], tuple[int, ...]]
_FLOAT_RULES: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "inv": lambda a: 1.0 / a,
    "div": operator.truediv,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "atan2": math.atan2,
    "abs": abs,
}


def _float_steps(program: Program) -> tuple[list[float], list[tuple[int, int]], list[_Step]] | None:
    """Return (values, constants filled in; [(slot, input)]; steps), or None where Python floats are not enough."""
    fixed: dict[int, float] = {}
    given, steps, highest = [], [], 0
    for s in program.body:
        if isinstance(s, Loop):
            return None
        highest = max(highest, s.result)
        if s.op == "const":
            fixed[s.result] = s.detail[0]
        elif s.op == "input":
            given.append((s.result, s.detail[0]))
        elif s.op in _FLOAT_RULES:
            steps.append((s.result, _FLOAT_RULES[s.op], s.operands))
        else:
            return None
    return [fixed.get(k, 0.0) for k in range(highest + 1)], given, steps


# -- between the two graphs --------------------------------------------------------------------------------------------
class _Subgraph:
    """A function as a separate graph: its inputs are its arguments, then the values that it reads from outside."""

    def __init__(self, function: Callable[..., PyTree], arguments: Sequence[tree.Leaf]) -> None:
        active = numeric.tracer.get()
        if active is None:
            raise TraceError("derivatives inside a function need a running trace: compile the function that takes them")
        self.outer: Graph = active.graph
        self.given = [node_of(self.outer, x) for array in arguments for x in elements(array)]
        self.shapes = [np.shape(array) for array in arguments]
        mark = len(self.outer.nodes)  # unique among the placeholders of this graph
        placeholders = [self.outer.node("input", (mark, k)) for k in range(len(self.given))]
        symbols_of, at = [], 0
        for shape in self.shapes:
            count = tree.size(shape)
            symbols_of.append(as_symbols(self.outer, placeholders[at : at + count], shape, truth=False))
            at += count
        before, active.differentiable = active.differentiable, True
        try:
            leaves, self.rebuild = tree.flatten(function(*symbols_of))
        finally:
            active.differentiable = before
        self.output_shapes = tree.shapes(leaves)
        self._cut(placeholders, [node_of(self.outer, x) for leaf in leaves for x in elements(leaf)])

    def _cut(self, placeholders: list[Node], outputs: list[Node]) -> None:
        """Copy all nodes that depend on the arguments into a new graph."""
        self.graph, copies = Graph(), {}
        for k, placeholder in enumerate(placeholders):
            copies[placeholder] = self.graph.input(k)
        inner = set(placeholders)
        for i in self.outer.live(outputs):
            operands = self.outer.operands(i)
            reads = any(x in inner for x in operands)
            if self.outer.op(i) in _LOOPS and (reads or i > placeholders[-1]):  # the body of a new loop may read them
                raise TraceError("a function with a loop or a run-time table cannot be differentiated inside a trace")
            if i in copies or not reads:
                continue
            for x in operands:
                self._read(x, copies)
            inner.add(i)
            if self.outer.op(i) in ("stop_gradient", "custom_fixed_point", "gradient_bottleneck"):
                copies[i] = self.graph.node(self.outer.op(i), *(copies[x] for x in operands))
            else:
                copies[i] = derivative.rebuild(self.outer, self.graph, i, copies)
        for o in outputs:
            self._read(o, copies)
        self.outputs = [copies[o] for o in outputs]

    def _read(self, x: Node, copies: dict[Node, Node]) -> None:
        """Copy a node from outside as a constant or as a further input."""
        if x not in copies:
            known = self.outer.value(x)
            copies[x] = self.graph.input(len(self.given)) if known is None else self.graph.const(known)
            if known is None:
                self.given.append(x)

    def positions(self, arguments: Sequence[int]) -> list[int]:
        """Return the flat input positions of some arguments."""
        first = [sum(map(tree.size, self.shapes[:k])) for k in range(len(self.shapes) + 1)]
        return [i for k in arguments for i in range(first[k], first[k + 1])]

    def write(self, graph: Graph, outputs: Sequence[Node], more: Sequence[Node]) -> list[Node]:
        """Write a derived graph into the running one; ``more``: the nodes for its further inputs."""
        inputs, new = [*self.given, *more], dict[Node, Node]()
        for i in graph.live(outputs):
            n = graph.nodes[i]
            new[i] = inputs[n[1]] if n[0] == "input" else derivative.rebuild(graph, self.outer, i, new)
        return [new[o] for o in outputs]

    def folded(self, nodes: Sequence[Node]) -> PyTree:
        """Return the result of the function as a pytree of these nodes."""
        leaves, at = [], 0
        for shape in self.output_shapes:
            count = tree.size(shape)
            leaves.append(symbols(self.outer, nodes[at : at + count], shape))
            at += count
        return self.rebuild(leaves)

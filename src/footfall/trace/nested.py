"""Derivatives *inside* a traced function: for algorithms that are defined by differentiation, as Euler-Lagrange is.

A function is traced on its own, its trace is differentiated, and the result is written into the running trace:

    value, slope = push(energy, (x, rate), (rate, None))     # slope = ∂energy/∂x rate, with the second argument held

These work while a trace runs, and only then; ``compile`` or ``interpreted`` what calls them to have numbers. Common
parts of value and slope merge, since the running graph merges whatever it has built before.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from footfall import numeric
from footfall.errors import InputError, TraceError

from . import derivative, interpret, tracer, tree
from . import program as ssa
from .array import _full, elements, symbols
from .graph import Graph, Node
from .program import Loop, Program
from .scalar import node_of
from .tracer import Trace

_LOOPS = ("repeat", "item", "param", "counter", "saved", "lookup_input")


def push(function: Callable[..., Any], arguments: Sequence[Any], directions: Sequence[Any]) -> tuple[Any, Any]:
    """(f(*arguments), its derivative along the directions), by one sweep; a direction None holds its argument."""
    graph, traced, given = _sub_trace(function, arguments)
    moving = [k for k, d in enumerate(directions) if d is not None]
    tangents = {i: traced.input_size + j for j, i in enumerate(_positions(traced, moving))}
    along = _nodes(graph, [directions[k] for k in moving])
    if len(along) != len(tangents):
        raise TraceError("push: a direction has another shape than its argument")
    inner, values, slopes = derivative.jvp(traced.graph, traced.outputs, tangents)
    nodes = write(inner, [*values, *slopes], graph, [*given, *along])
    return _folded(graph, traced, nodes[: len(values)]), _folded(graph, traced, nodes[len(values) :])


def gradient(function: Callable[..., Any], arguments: Sequence[Any], wrt: int = 0) -> Any:
    """∂f/∂(one argument) of a function that returns one number, shaped like the argument. One reverse sweep."""
    graph, traced, given = _sub_trace(function, arguments)
    if len(traced.outputs) != 1:
        raise TraceError(f"gradient: the function returns {len(traced.outputs)} numbers, and must return one")
    inner, _, adjoints = derivative.vjp(traced.graph, traced.outputs, [traced.input_size], _positions(traced, [wrt]))
    nodes = write(inner, adjoints, graph, [*given, graph.const(1)])
    return symbols(graph, nodes, np.shape(arguments[wrt]))


def jacobian(function: Callable[..., Any], arguments: Sequence[Any], wrt: int = 0) -> Any:
    """∂f/∂(one argument) of a function that returns one array, of shape result.shape + argument.shape.

    Unrolled: one forward sweep for every number of the argument, each keeping only what that number moves.
    """
    graph, traced, given = _sub_trace(function, arguments)
    if len(traced.output_shapes) != 1:
        raise TraceError("jacobian: the function must return one array")
    chosen = _positions(traced, [wrt])
    inner, _, slopes = derivative.jvp(
        traced.graph, traced.outputs, {i: traced.input_size + j for j, i in enumerate(chosen)}
    )
    zero, one, columns = graph.const(0), graph.const(1), []
    for k in range(len(chosen)):
        columns.append(write(inner, slopes, graph, [*given, *(one if j == k else zero for j in range(len(chosen)))]))
    nodes = [column[row] for row in range(len(slopes)) for column in columns]
    return symbols(graph, nodes, (*traced.output_shapes[0], *np.shape(arguments[wrt])))


def write(inner: Graph, outputs: Sequence[Node], graph: Graph, inputs: Sequence[Node]) -> list[Node]:
    """Build ``outputs`` of one graph in another, its inputs replaced by nodes there."""
    new: dict[Node, Node] = {}
    for i in inner.live(outputs):
        n = inner.nodes[i]
        if n[0] in _LOOPS:
            raise TraceError("a function with a loop or a run-time table cannot be differentiated inside a trace")
        new[i] = inputs[n[1]] if n[0] == "input" else derivative.rebuild(inner, graph, i, new)
    return [new[o] for o in outputs]


class interpreted:
    """``function`` as a callable over numbers: traced once on shapes like the examples, evaluated step by step.

    One state at a time in Python's own floats, five times as fast as NumPy on single numbers; ``rows`` takes many
    states at once, with NumPy. Both round alike: neither has a fused multiply-add.
    """

    def __init__(self, function: Callable[..., Any], *examples: Any) -> None:
        self.traced = tracer.trace(function, *examples)
        self.program = ssa.build(self.traced.graph, self.traced.outputs, self.traced.input_size)
        self._steps = _float_steps(self.program)

    def __call__(self, *arguments: Any) -> Any:
        flat = np.concatenate([np.asarray(leaf, float).reshape(-1) for leaf in tree.flatten(arguments)[0]])
        if len(flat) != self.traced.input_size:
            raise InputError(f"the traced function takes {self.traced.input_size} numbers, got {len(flat)}")
        return self._fold(self._floats(flat.tolist()) if self._steps else interpret.evaluate(self.program, flat))

    def rows(self, *arrays: np.ndarray) -> Any:
        """The same for states in rows: every argument and result has one more axis in front."""
        flat = np.concatenate([np.asarray(a, float).reshape(len(a), -1).T for a in tree.flatten(arrays)[0]])
        return self._fold(interpret.evaluate(self.program, flat), (flat.shape[1],))

    def _floats(self, inputs: list[float]) -> np.ndarray:
        """A run over plain floats; where those raise and NumPy gives an infinity or NaN, NumPy is asked."""
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

    def _fold(self, out: np.ndarray, batch: tuple[int, ...] = ()) -> Any:
        parts, at = [], 0
        for shape in self.traced.output_shapes:
            count = tree.size(shape)
            part = out[at : at + count].reshape((*shape, *batch))
            parts.append(np.moveaxis(part, -1, 0) if batch else part[()])
            at += count
        return self.traced.rebuild_output(parts)


_Step = tuple[int, Callable[..., float], tuple[int, ...]]
_FLOAT_RULES: dict[str, Callable[..., float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "inv": lambda a: 1.0 / a,
    "fma": lambda a, b, c: a * b + c, "fms": lambda a, b, c: a * b - c, "fnma": lambda a, b, c: c - a * b,
    "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos, "atan2": math.atan2, "abs": abs,
}  # fmt: skip


def _float_steps(program: Program) -> tuple[list[float], list[tuple[int, int]], list[_Step]] | None:
    """(values with the constants filled in, [(slot, input)], steps), or None where plain floats cannot say it all."""
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


# -- between the two traces ------------------------------------------------------------------------------------------
def _sub_trace(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Graph, Trace, list[Node]]:
    """(the running graph, the function traced on its own, the arguments as nodes of the running graph)."""
    active = numeric.tracer.get()
    if active is None:
        raise TraceError("derivatives inside a function need a running trace: compile the function that takes them")
    examples = [_full(np.shape(a), 0.0) if np.shape(a) else 0.0 for a in arguments]
    return active.graph, tracer.trace(function, *examples), _nodes(active.graph, arguments)


def _nodes(graph: Graph, arrays: Sequence[Any]) -> list[Node]:
    return [node_of(graph, x) for array in arrays for x in elements(array)]


def _positions(traced: Trace, arguments: Sequence[int]) -> list[int]:
    """Flat input positions of some arguments."""
    first = [sum(traced.argument_sizes[:k]) for k in range(len(traced.argument_sizes) + 1)]
    return [i for k in arguments for i in range(first[k], first[k + 1])]


def _folded(graph: Graph, traced: Trace, nodes: Sequence[Node]) -> Any:
    parts, at = [], 0
    for shape in traced.output_shapes:
        count = tree.size(shape)
        parts.append(symbols(graph, nodes[at : at + count], shape))
        at += count
    return traced.rebuild_output(parts)

"""From a graph to straight-line code with loops, in SSA form: the input of every target.

A ``Program`` is a list of statements in the order of the trace (this order spills least: see the performance notes); a
loop is one statement with a body. The graph has already merged equal values and shared reciprocals; here, dead code is
removed (carried values of loops included), and products and sums are fused to multiply-adds. Fusion is decided here,
not by a compiler flag, so that one element, SIMD lanes and any batch size round alike.
"""

from __future__ import annotations

import hashlib
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypedDict

import numpy as np

from nptrace.ir.dead_code import without_dead_code
from nptrace.ir.graph import Graph
from nptrace.ir.scope import Scopes
from nptrace.ir.statements import MEMORY_OPS, Loop, Operation, Statement, all_loops, walk

__all__ = ["Loop", "Operation", "Program", "Statement", "Statistics", "all_loops", "build", "walk", "without_dead_code"]

FREE_OPS = frozenset({"const", "input", "item"})
FUSED_OPS = frozenset({"fma", "fms", "fnma"})


class Statistics(TypedDict, total=False):
    """Numbers for reports, in a form for JSON."""

    inputs: int
    outputs: int
    live_operations: int
    size: int
    loops: int
    operations: dict[str, int]
    one_loop: bool  # steps in lanes are flattened with their inner loop: lanes do not wait for each other


@dataclass(kw_only=True)
class Program:
    """Statements, the SSA numbers of the outputs, and the constant tables that lookups read.

    ``wide`` are the values with ``lanes`` numbers, one for each isomorphic group (``slp``).
    """

    body: list[Statement]
    outputs: list[int]
    input_size: int
    tables: list[np.ndarray]
    input_names: Sequence[str] | None = None
    wide: frozenset[int] = frozenset()
    lanes: int = 1

    def __repr__(self) -> str:
        return f"Program({self.live_operations} operations: {self.input_size} numbers in, {len(self.outputs)} out)"

    def operations(self) -> Counter:
        """Return the static count of each operation (loop bodies once); inputs and constants are free."""
        return Counter(o.op for o in walk(self.body) if o.op not in FREE_OPS)

    @property
    def size(self) -> int:
        """Return the number of operations after fusion."""
        return self.operations().total()

    @property
    def live_operations(self) -> int:
        """Return the number of operations before fusion: a fused multiply-add counts as two."""
        counts = self.operations()
        return counts.total() + sum(counts[op] for op in FUSED_OPS)

    def statistics(self) -> Statistics:
        return {
            "inputs": self.input_size,
            "outputs": len(self.outputs),
            "live_operations": self.live_operations,
            "size": self.size,
            "loops": sum(1 for _ in all_loops(self.body)),
            "operations": dict(sorted(self.operations().items())),
        }

    def digest(self) -> str:
        """Return a digest, equal for equal programs from any graph, names or process; it covers every detail."""
        state = hashlib.sha256(repr((self.input_size, self.outputs, sorted(self.wide), self.lanes)).encode())
        state.update(repr(_plain(self.body)).encode())
        for table in self.tables:
            state.update(repr(table.shape).encode() + np.ascontiguousarray(table, np.float64).tobytes())
        return state.hexdigest()

    def __str__(self) -> str:
        """Return one statement per line, as in ``%7 = fma %1 %2 %3``; constants are written where they are read."""
        constants = {
            o.result: _number(o.detail[0]) for o in walk(self.body) if o.op == "const" and o.result not in self.wide
        }

        def name(value: int) -> str:
            return constants.get(value) or f"%{value}"

        def label(position: int) -> str:
            return self.input_names[position] if self.input_names else str(position)

        written = {f"%{value} = const" for value in constants}
        lines = [s for s in _lines(self.body, name, label, 0) if " ".join(s.split()[:3]) not in written]
        return "\n".join([*lines, "return " + " ".join(map(name, self.outputs))])


def build(
    graph: Graph, outputs: Sequence[int], input_size: int, *, fuse: bool = True, names: Sequence[str] | None = None
) -> Program:
    """Return the program that computes ``outputs`` of a graph; ``names`` label its inputs in listings."""
    body, results = _lower(graph, list(outputs))
    body = without_dead_code(_folded(body), results)
    if fuse:
        body = _fused(body, results)
    body, results, tables = _numbered(body, results, graph.tables)
    return Program(body=body, outputs=results, input_size=input_size, tables=tables, input_names=names)


_SPECIAL = frozenset(
    {
        "repeat",
        "item",
        "param",
        "counter",
        "const",
        "input",
        "lookup",
        "lookup_input",
        "saved",
        "stored",
        "rows",
        "random",
    }
)


# -- from the graph ----------------------------------------------------------------------------------------------------
def _lower(graph: Graph, outputs: list[int]) -> tuple[list[Statement], list[int]]:
    """Return statements in trace order, numbered by graph node; loops without iterations are removed."""
    scopes, nodes = Scopes(graph, outputs), graph.nodes
    skipped: dict[int, int] = {}  # final values of loops without iterations: the initial values

    def real(i: int) -> int:
        while i in skipped:
            i = skipped[i]
        return i

    def statements(scope: int) -> list[Statement]:
        wanted = scopes.nodes[scope]
        # constants first: loop bodies read them from outside
        ordered = [i for i in wanted if nodes[i][0] == "const"] + [i for i in wanted if nodes[i][0] != "const"]
        return [s for i in ordered if (s := make(i)) is not None]

    def make(i: int) -> Statement | None:
        n = nodes[i]
        op = n[0]
        if op not in _SPECIAL:
            return Operation(op, i, tuple(map(real, n[1:])) if skipped else n[1:])
        if op == "repeat":
            region = graph.regions[n[1]]
            if region.count <= 0:
                return None
            loop = Loop(
                node=i,
                region=n[1],
                count=region.count,
                reverse=region.reverse,
                params=region.params,
                initial=tuple(map(real, n[2:])),
                results=(),
                saves=(),
            )
            loop.body = statements(n[1])
            loop.results, loop.saves = tuple(map(real, region.results)), tuple(map(real, region.saves))
            loop.counter, loop.stop = graph.counter(n[1]), region.stop
            return loop
        if op == "item":
            repeat = graph.nodes[n[1]]
            if graph.regions[repeat[1]].count <= 0:
                skipped[i] = repeat[2 + n[2]]
                return None
            return Operation(op, i, n[1:2], n[2:])
        if op in ("param", "counter"):  # defined by their loop
            return None
        if op in ("const", "input"):
            return Operation(op, i, (), n[1:2])
        if op == "lookup":
            return Operation(op, i, tuple(map(real, n[2:])), n[1:2])
        if op == "lookup_input":
            return Operation(op, i, tuple(map(real, n[3:])), n[1:3])
        if op in ("saved", "stored"):
            return Operation(op, i, n[1:2], n[2:])
        return Operation(op, i, tuple(map(real, n[2:])), n[1:2])  # rows, random

    body = statements(Scopes.OUTSIDE)
    return body, [real(o) for o in outputs]


_FOLDED: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
}


def _folded(body: list[Statement]) -> list[Statement]:
    """Fold sums and products of constants that the graph has not folded."""
    known = {o.result: o.detail[0] for o in walk(body) if o.op == "const"}

    def fold(statements: list[Statement]) -> list[Statement]:
        out: list[Statement] = []
        for s in statements:
            if isinstance(s, Loop):
                s.body = fold(s.body)
            elif s.op in _FOLDED and all(x in known for x in s.operands):
                known[s.result] = _FOLDED[s.op](*(known[x] for x in s.operands))
                s = Operation("const", s.result, (), (known[s.result],))
            out.append(s)
        return out

    return fold(body)


def _fused(body: list[Statement], outputs: list[int]) -> list[Statement]:
    """Fuse to fma, fms, fnma; a product is absorbed only by a single reader in the same loop."""
    readers = times_read(body, outputs)

    def fuse(statements: list[Statement]) -> list[Statement]:
        products = {s.result: s for s in statements if isinstance(s, Operation) and s.op == "mul"}
        absorbed, out = set(), []
        for s in statements:
            if isinstance(s, Loop):
                s.body = fuse(s.body)
            elif s.op in ("add", "sub") and not products.keys().isdisjoint(s.operands):
                a, b = s.operands
                pairs = [(a, b, "fma" if s.op == "add" else "fms"), (b, a, "fma" if s.op == "add" else "fnma")]
                # of two products the later is absorbed: the earlier one is ready when it is needed
                for product, other, name in sorted(pairs, reverse=True):
                    if product in products and readers[product] == 1:
                        s = Operation(name, s.result, (*products[product].operands, other))
                        absorbed.add(product)
                        break
            out.append(s)
        return [s for s in out if not (isinstance(s, Operation) and s.result in absorbed)]

    return fuse(body)


def times_read(body: Sequence[Statement], outputs: Sequence[int]) -> Counter[int]:
    """Return how often each value is read."""
    readers = Counter(chain.from_iterable([o.operands for o in walk(body) if o.op not in MEMORY_OPS]))
    readers.update(outputs)
    for loop in all_loops(body):
        readers.update((*loop.initial, *loop.results, *loop.saves))
    return readers


def _numbered(
    body: list[Statement], outputs: list[int], tables: list[np.ndarray]
) -> tuple[list[Statement], list[int], list[np.ndarray]]:
    """Renumber values, regions and tables 0, 1, 2 ... in order of appearance; constants come last."""
    order = list(_made(body))
    constants = {o.result for o in walk(body) if o.op == "const"}
    order = [v for v in order if v not in constants] + [v for v in order if v in constants]
    values = {v: k for k, v in enumerate(order)}
    regions: dict[int, int] = {}
    used: dict[int, int] = {}

    def renamed(group: Sequence[int]) -> tuple[int, ...]:
        return tuple([values[x] for x in group])

    def rename(s: Statement) -> Statement:
        if isinstance(s, Operation):
            detail = s.detail
            if s.op == "lookup":
                detail = (used.setdefault(detail[0], len(used)),)
            elif s.op == "saved":
                detail = (detail[0], regions[detail[1]])
            return Operation(s.op, values[s.result], renamed(s.operands), detail)
        region = regions.setdefault(s.region, len(regions))
        counter = None if s.counter is None else values[s.counter]
        return Loop(
            node=values[s.node],
            region=region,
            count=s.count,
            reverse=s.reverse,
            params=renamed(s.params),
            initial=renamed(s.initial),
            results=renamed(s.results),
            saves=renamed(s.saves),
            body=[rename(x) for x in s.body],
            counter=counter,
            stop=s.stop,
        )

    return [rename(s) for s in body], [values[o] for o in outputs], [tables[t] for t in used]


def _made(body: Sequence[Statement]) -> Iterator[int]:
    """Yield every value in order of definition."""
    for s in body:
        if isinstance(s, Loop):
            yield s.node
            yield from s.params
            if s.counter is not None:
                yield s.counter
            yield from _made(s.body)
        else:
            yield s.result


def _plain(body: Sequence[Statement]) -> list[tuple]:
    """Return the statements as nested tuples of names and numbers."""
    return [
        (s.op, s.result, s.operands, s.detail)
        if type(s) is Operation
        else tuple(_plain(x) if name == "body" else x for name, x in vars(s).items())
        for s in body
    ]


# -- listings ----------------------------------------------------------------------------------------------------------
def _number(x: float) -> str:
    return repr(float(x))


def _lines(
    body: Sequence[Statement], name: Callable[[int], str], label: Callable[[int], str], depth: int
) -> Iterator[str]:
    space = "    " * depth
    for s in body:
        if isinstance(s, Loop):
            carried = ", ".join(f"%{p} = {name(x)}" for p, x in zip(s.params, s.initial))
            counter = "" if s.counter is None else f" counter %{s.counter}"
            order = " downwards" if s.reverse else ""
            yield f"{space}%{s.node} = repeat {s.count}{order}{counter} with {carried}:"
            yield from _lines(s.body, name, label, depth + 1)
            if s.saves:
                yield f"{space}    save {' '.join(map(name, s.saves))}"
            yield f"{space}    next {' '.join(map(name, s.results))}"
            if s.stop is not None:
                yield f"{space}    until {name(s.results[s.stop])}"
        elif s.op == "const":
            yield f"{space}%{s.result} = const {' '.join(map(_number, np.ravel(s.detail)))}"
        elif s.op == "input":
            yield f"{space}%{s.result} = input {' '.join(map(label, s.detail))}"
        else:
            words = [s.op, *map(name, s.operands)]
            if s.op == "lookup_input":
                words[1:1] = [label(s.detail[0]), "x".join(map(str, s.detail[1]))]
            elif s.op == "lookup":
                words.insert(1, f"table{s.detail[0]}")
            elif s.detail:
                words.append(str(s.detail[0]))
            yield f"{space}%{s.result} = {' '.join(words)}"

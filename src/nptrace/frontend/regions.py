"""The running trace behind ``numeric``: lookups and loops as nodes of the graph."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from nptrace._types import Operand, PyTree
from nptrace.errors import TraceError
from nptrace.frontend import tree
from nptrace.frontend.array import elements, has_scalars, is_truth, plain, plain_array, plain_numbers, symbols, wrap
from nptrace.frontend.scalar import Element, Scalar, node_of, truth_of
from nptrace.ir.assumption import Assumption
from nptrace.ir.graph import Graph, Node
from nptrace.ir.philox import Part
from nptrace.ir.refusal import refusal


class Tracer:
    """The running trace: its graph, the current loop body, and the errors it has raised."""

    def __init__(
        self,
        graph: Graph,
        differentiable: bool = False,
        track_validity: bool = False,
        assume_valid: bool = False,
        reverse: bool = False,
    ) -> None:
        self.graph = graph
        self.differentiable = differentiable  # whether the graph is to be differentiated
        self.invalid_flags: list[Node] | None = [] if track_validity else None  # 1 where a derivative is invalid
        self.assume_valid = assume_valid  # whether derivatives of solutions are valid everywhere
        self.reverse = reverse  # whether loops are differentiated backwards, through every iteration they can make
        self.refusals: list[TraceError] = []
        self.scope = 0  # a number for every loop body that was entered; 0 is outside all loops
        self._bodies = 0

    def lookup(self, table: object, position: tuple) -> Operand:
        graph = self.graph
        read: Callable[..., Node]
        if has_scalars(table):
            first, shape = self._run_time_table(table)
            read = lambda *at: graph.lookup_input(first, shape, *at)  # noqa: E731
        else:
            index = graph.table(plain_numbers(table))
            read = lambda *at: graph.lookup(index, *at)  # noqa: E731
        if not position:
            raise refusal("lookup(table) needs a position for every axis of the table")

        def one(*at: Element) -> Scalar:
            return Scalar(graph, read(*(node_of(graph, p) for p in at)))

        return wrap(np.frompyfunc(one, len(position), 1)(*map(plain, position)))

    def random(self, parts: Sequence[Part], words: Sequence[Operand]) -> list[Operand]:
        """Return parts of the random block of a counter and a key, in 16-bit words."""
        graph = self.graph

        def one(*elements: Element) -> tuple[Scalar, ...]:
            nodes = [node_of(graph, x) for x in elements]
            return tuple(Scalar(graph, graph.random(part, *nodes)) for part in parts)

        found = np.frompyfunc(one, len(words), len(parts))(*map(plain, words))
        return [wrap(x) for x in (found if len(parts) > 1 else [found])]

    def _run_time_table(self, table: object) -> tuple[int, tuple[int, ...]]:
        """Return (first input, shape) of a table whose elements are consecutive inputs."""
        table = plain(table) if isinstance(table, np.ndarray) else plain_array(table)
        at = [self.graph.nodes[x.node] if type(x) is Scalar else () for x in table.ravel()]
        if all(n and n[0] == "input" and n[1] == at[0][1] + k for k, n in enumerate(at)):
            return at[0][1], table.shape
        raise refusal(
            "lookup: a table that is computed in the traced function cannot be read by position: pass the finished"
            " table as an argument of the function, or make it from constants"
        )

    def no_fold(self, values: Operand, which: Operand, name: Hashable) -> Operand:
        """Return constants that are not folded; other values are returned unchanged."""
        graph, which = self.graph, np.asarray(plain(which), dtype=bool).ravel()
        nodes = [node_of(graph, x) for x in elements(values)]
        for k, node in enumerate(nodes):
            known = graph.value(node)
            if which[k] and known is not None:
                nodes[k] = graph.no_fold(known, (name, k))
        return symbols(graph, nodes, np.shape(values))

    def stop_gradient(self, x: object) -> PyTree:
        """Return x without a derivative, in a trace that is to be differentiated."""
        return self._each(self.graph.stop_gradient, x) if self.differentiable else x

    def gradient_bottleneck(self, x: object) -> PyTree:
        """Implement ``nptrace.gradient_bottleneck``."""
        return self._each(self.graph.gradient_bottleneck, x) if self.differentiable else x

    def custom_fixed_point(self, found: object, closer: Callable[[PyTree], PyTree], always: bool = True) -> PyTree:
        valid = always or self.assume_valid or (self.invalid_flags is not None and self.scope == 0)
        if not self.differentiable or not valid:
            return found
        near = closer(self.stop_gradient(found))
        changed = tree.difference(near, found, "the solution", truths=True)
        given, new = (tree.shapes(tree.flatten(pytree, truths=True)[0]) for pytree in (found, near))
        if changed or new != given:
            but = f", but {changed}" if changed else ""
            raise refusal(f"custom_fixed_point: the Newton step must return a value like its argument{but}")
        return self._each(self.graph.custom_fixed_point, found, near)

    def mark_derivative_invalid(self, condition: Operand) -> None:
        """Implement ``nptrace.mark_derivative_invalid``."""
        if self.invalid_flags is not None:
            flags = np.where(condition, 1.0, 0.0)
            self.invalid_flags += [node_of(self.graph, x) for x in elements(flags)]

    def _each(self, make: Callable[..., Node], *pytrees: object) -> PyTree:
        """Apply ``make`` to the numbers of pytrees of the same structure."""
        flat = [tree.flatten(pytree, truths=True) for pytree in pytrees]
        out = []
        for leaves in zip(*(leaves for leaves, _ in flat)):
            if is_truth(leaves[0]):
                out.append(leaves[0])
                continue
            numbers = zip(*([node_of(self.graph, x) for x in elements(leaf)] for leaf in leaves))
            out.append(as_symbols(self.graph, [make(*n) for n in numbers], np.shape(leaves[0]), False, False))
        return flat[0][1](out)

    def repeat(
        self,
        count: int,
        body: Callable[[PyTree, PyTree], PyTree],
        carry: object,
        until: Callable[[PyTree], PyTree] | None = None,
        check_first: bool = False,
        body_holds: bool = False,
    ) -> PyTree:
        if isinstance(count, Scalar) or int(count) != count or count < 0:
            given = "a traced value" if isinstance(count, Scalar) else repr(count)
            raise refusal(f"repeat: the count must be a whole number that is known while tracing, not {given}")
        if until is None:
            loop = _Loop(self, "repeat", int(count), carry)
            loop.close(lambda before: (body(loop.counter(), before), None))
            return loop.carried()
        finished: list[Node] = []  # whether the carry passed to an iteration is finished

        def stopping(both: tuple[PyTree, PyTree]) -> tuple[tuple[PyTree, PyTree], None]:
            after = body(loop.counter(), both[0])
            stop = np.where(until(after), 1.0, 0.0)
            if not body_holds or self.reverse:
                finished[:] = [truth_of(self.graph, x) for x in elements(until(both[0]))]
            return (after, stop), None

        # one more carried number ends the loop when it becomes 1
        ended = np.where(until(carry), 1.0, 0.0) if check_first else 0.0
        loop = _Loop(self, "repeat", int(count), (carry, ended))
        loop.close(stopping, finished)
        self.graph.regions[loop.region].check_first = check_first
        return loop.carried()[0]

    def scan(
        self, body: Callable[[PyTree, PyTree], PyTree], carry: object, rows: object, reverse: bool
    ) -> tuple[PyTree, PyTree]:
        graph = self.graph
        leaves, rebuild = tree.flatten(rows, truths=True)
        shapes, truths = tree.shapes(leaves), [is_truth(leaf) for leaf in leaves]
        counts = {shape[0] if shape else 0 for shape in shapes}
        if len(counts) != 1 or counts == {0}:
            raise refusal(f"scan: the rows must be arrays of equal length, at least 1, not of shapes {shapes}")
        count = counts.pop()
        tables = [[node_of(graph, x) for x in elements(leaf)] for leaf in leaves]
        columns = [t[k :: len(t) // count] for t in tables for k in range(len(t) // count)]
        given = [read for t in tables for read in self._rows_given(t, count)]
        ready = [graph.column(values) or read for values, read in zip(columns, given)]
        packed = [k for k, read in enumerate(ready) if read is None]
        memory = graph.rows(count, [columns[k][row] for row in range(count) for k in packed]) if packed else -1
        loop = _Loop(self, "scan", count, carry, reverse)
        slots = {k: slot for slot, k in enumerate(packed)}
        nodes = [
            read(loop.region) if read is not None else graph.saved(memory, slots[k], loop.region)
            for k, read in enumerate(ready)
        ]
        row = rebuild(_refill(graph, nodes, [shape[1:] for shape in shapes], truths))

        def iteration(before: object) -> tuple[PyTree, PyTree]:
            both = body(before, row)
            if not isinstance(both, tuple) or len(both) != 2:
                raise refusal("scan: the body must return (carry, row), a pair")
            return both

        loop.close(iteration)
        return loop.carried(), loop.kept()

    def _rows_given(self, table: Sequence[Node], count: int) -> list[Callable[[int], Node] | None]:
        """Return how a region reads each column of rows that are consecutive inputs: in place.

        Not in a trace that is to be differentiated, which may need the derivatives of such rows one by one.
        """
        graph, width = self.graph, len(table) // count
        first = graph.nodes[table[0]][1] if table and graph.op(table[0]) == "input" else None
        if self.differentiable or first is None:
            return [None] * width
        if any(graph.nodes[x] != ("input", first + k) for k, x in enumerate(table)):
            return [None] * width

        def reading(k: int) -> Callable[[int], Node]:
            return lambda region: graph.lookup_input(first, (count, width), graph.counter(region), graph.const(k))

        return [reading(k) for k in range(width)]

    def enter(self) -> int:
        self._bodies += 1
        return self._bodies


class _Loop:
    """A loop under construction: its region, its carry, and the values that it keeps from every iteration."""

    def __init__(self, tracer: Tracer, name: str, count: int, carry: object, reverse: bool = False) -> None:
        self.tracer, self.name, self.count, self.carry = tracer, name, count, carry
        self.leaves, self.rebuild = tree.flatten(carry, truths=True)
        self.shapes, self.truths = tree.shapes(self.leaves), [is_truth(leaf) for leaf in self.leaves]
        self.initial = self._nodes(self.leaves)
        self.region, self.params = tracer.graph.open_region(count, len(self.initial), reverse)

    def _nodes(self, leaves: Sequence[Operand]) -> list[Node]:
        return [node_of(self.tracer.graph, x) for leaf in leaves for x in elements(leaf)]

    def counter(self) -> Scalar:
        return Scalar(self.tracer.graph, self.tracer.graph.counter(self.region))

    def close(self, body: Callable[[PyTree], tuple[PyTree, PyTree]], finished: Sequence[Node] | None = None) -> None:
        """Trace the body, which returns the next carry and the values to keep.

        ``finished``: the loop ends when its last carried number becomes 1. If it holds a node after the body was
        traced, that node tells whether a carry is already finished; such a carry is kept.
        """
        graph = self.tracer.graph
        results, kept = self._trace_body(body, self.params)
        fixed = {k for k, x in enumerate(self.initial) if results[k] == self.params[k] and graph.op(x) == "const"}
        given = [self.initial[k] if k in fixed else p for k, p in enumerate(self.params)]
        if fixed:  # constants that go through unchanged are constants inside, too
            again, kept = self._trace_body(body, given)
            results = [self.params[k] if k in fixed else x for k, x in enumerate(again)]
        leaves, self.rebuild_kept = tree.flatten(kept, truths=True)
        self.kept_shapes, self.kept_truths = tree.shapes(leaves), [is_truth(leaf) for leaf in leaves]
        self.saves, stop = self._nodes(leaves), None if finished is None else len(results) - 1
        if finished:
            results = self._held(results, given, finished[0])
        self.node = graph.repeat(self.region, self.initial, results, self.saves, stop)

    def _held(self, results: Sequence[Node], given: Sequence[Node], finished: Node) -> list[Node]:
        """Return the next carry: a finished carry is kept, by a select unless the body already does so."""
        graph, known = self.tracer.graph, Assumption(self.tracer.graph, finished)
        ended = graph.less(graph.const(0.5), self.params[-1])
        held, changed = list(results), False
        for k, (x, p) in enumerate(zip(results[:-1], self.params)):
            if known.resolved(x) not in (p, given[k]):
                held[k], changed = graph.select(ended, p, x), True
        if changed:
            held[-1] = graph.select(ended, self.params[-1], results[-1])
        return held

    def _trace_body(
        self, body: Callable[[PyTree], tuple[PyTree, PyTree]], given: Sequence[Node]
    ) -> tuple[list[Node], PyTree]:
        tracer, name = self.tracer, self.name
        outside, tracer.scope = tracer.scope, tracer.enter()
        try:
            after, kept = body(self.rebuild(_refill(tracer.graph, given, self.shapes, self.truths)))
        finally:
            tracer.scope = outside
        changed = tree.difference(after, self.carry, "the carry", truths=True)
        if changed:
            raise refusal(f"{name}: the body must return a carry like its argument, but {changed}")
        new, _ = tree.flatten(after, truths=True)
        if tree.shapes(new) != self.shapes:
            raise refusal(f"{name}: the body received shapes {self.shapes} and returned {tree.shapes(new)}")
        if [is_truth(leaf) for leaf in new] != self.truths:
            raise refusal(f"{name}: a boolean became a number in the carry, or the reverse")
        return self._nodes(new), kept

    def carried(self) -> PyTree:
        """Return the carry of the last iteration."""
        graph = self.tracer.graph
        nodes = [graph.item(self.node, k) for k in range(len(self.initial))]
        return self.rebuild(_refill(graph, nodes, self.shapes, self.truths, False))

    def kept(self) -> PyTree:
        """Return the values kept by all iterations, one row each."""
        graph, nodes, at = self.tracer.graph, list[Node](), 0
        for shape in self.kept_shapes:
            slots = range(at, at + tree.size(shape))
            at = slots.stop
            for row in range(self.count):
                known = (self.saves[k] if graph.op(self.saves[k]) == "const" else None for k in slots)
                nodes += [graph.stored(self.node, k, row) if x is None else x for k, x in zip(slots, known)]
        shapes = [(self.count, *shape) for shape in self.kept_shapes]
        return self.rebuild_kept(_refill(graph, nodes, shapes, self.kept_truths, False))


def as_symbols(
    graph: Graph, nodes: Sequence[Node], shape: tuple[int, ...], truth: bool, frozen: bool = True
) -> Operand:
    """Return traced values of a shape; ``truth``: the nodes are 0 or 1 and represent truth values."""
    if truth:
        nodes = [graph.less(graph.const(0.5), n) for n in nodes]
    values = symbols(graph, nodes, shape)
    if frozen and shape != ():
        values.flags.writeable = False
    return values


def _refill(
    graph: Graph, nodes: Sequence[Node], shapes: list[tuple[int, ...]], truths: list[bool], frozen: bool = True
) -> list[Operand]:
    out, at = [], 0
    for shape, truth in zip(shapes, truths):
        count = tree.size(shape)
        out.append(as_symbols(graph, nodes[at : at + count], shape, truth, frozen))
        at += count
    return out

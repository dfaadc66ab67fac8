"""A loop in a loop as one loop, for elements in lanes: loop flattening (von Hanxleden & Kennedy 1992).

An inner loop that ends early, as the iterations of a contact step do, goes on for all lanes until the slowest is done,
and in every iteration of the outer loop another lane may be the slowest. Flattened, each lane begins its next outer
iteration when it is done with this one: together they take as many iterations as the slowest lane takes in all, not the
sum of the slowest ones. Every lane does what it did, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nptrace.ir.program import Program
from nptrace.ir.statements import Loop, Operation, Statement, all_loops, walk


def flattened(program: Program) -> Program:
    """Return the program with its loops flattened where that can be done; as it is where none can."""
    inner = {s.node: _inner(s, program) for s in program.body if isinstance(s, Loop)}
    if not any(inner.values()):
        return program
    used = [o.result for o in walk(program.body)]
    used += [x for loop in all_loops(program.body) for x in (loop.node, *loop.params, loop.counter or 0)]
    work = _Flattening(1 + max(used))
    body = []
    for s in program.body:
        found = inner[s.node] if isinstance(s, Loop) else None
        body.append(work.one_loop(s, found) if isinstance(s, Loop) and found else s)
    return replace(program, body=[*work.constants, *body])


def _inner(outer: Loop, program: Program) -> Loop | None:
    """The only loop in a loop, if it ends early, and neither of them keeps or reads rows."""
    loops = [s for s in outer.body if isinstance(s, Loop)]
    if len(loops) != 1 or outer.stop is not None or outer.reverse or outer.saves:
        return None
    inner = loops[0]
    zeros = {o.result for o in walk(program.body) if o.op == "const" and o.detail[0] == 0.0}
    if inner.stop is None or inner.initial[inner.stop] not in zeros or inner.reverse or inner.saves:
        return None
    if any(isinstance(s, Loop) for s in inner.body) or any(o.op in ("saved", "rows") for o in walk(outer.body)):
        return None
    return inner


@dataclass
class _Flattening:
    """The rewriting of one program; ``fresh`` is the first number that is not in use."""

    fresh: int
    constants: list[Statement] = field(default_factory=list)
    known: dict[float, int] = field(default_factory=dict)

    def new(self) -> int:
        self.fresh += 1
        return self.fresh - 1

    def const(self, value: float) -> int:
        if value not in self.known:
            self.known[value] = self.new()
            self.constants.append(Operation("const", self.known[value], (), (value,)))
        return self.known[value]

    def one_loop(self, outer: Loop, inner: Loop) -> Loop:
        at = outer.body.index(inner)
        body: list[Statement] = list(outer.body[:at])

        def write(op: str, *operands: int) -> int:
            body.append(Operation(op, self.new(), operands))
            return body[-1].result  # type: ignore[union-attr]

        begins = self.new()  # carried: whether an outer iteration begins
        index, done = self.new(), self.new()  # carried: iterations so far, of the inner loop and of the outer one
        first, active = write("lt", self.const(0.5), begins), write("lt", done, self.const(outer.count - 0.5))
        now = write("select", first, self.const(0.0), index)
        means, carried = self._begun(inner, first, write)
        if inner.counter is not None:
            means[inner.counter] = now
        body += _renamed(inner.body, means)
        results = [means.get(x, x) for x in inner.results]
        settled = write("lt", self.const(0.5), results[inner.stop or 0])
        ends = write("or", settled, write("lt", self.const(inner.count - 1.5), now))
        body += _renamed(list(_read(outer.body[at + 1 :], inner, results, means)), means)
        moves = write("and", ends, active)
        after = []
        for p, result in zip(outer.params, (means.get(x, x) for x in outer.results)):
            after.append(p if result == p else write("select", moves, result, p))
        count = write("select", moves, write("add", done, self.const(1.0)), done)
        last = write("select", write("lt", count, self.const(outer.count - 0.5)), self.const(0.0), self.const(1.0))
        again = write("select", ends, self.const(1.0), self.const(0.0))
        further = write("add", now, self.const(1.0))
        if outer.counter is not None:
            body = _renamed(body, {outer.counter: done})
        own = [p for p, _ in carried]
        stop, zero = self.new(), self.const(0.0)
        return Loop(
            node=outer.node,
            region=outer.region,
            count=outer.count * inner.count,
            reverse=False,
            params=(*outer.params, *own, begins, index, done, stop),
            initial=(*outer.initial, *(zero for _ in own), self.const(1.0), zero, zero, zero),
            results=(*after, *(results[k] for _, k in carried), again, further, count, last),
            saves=(),
            body=body,
            stop=len(outer.params) + len(own) + 3,
        )

    def _begun(
        self, inner: Loop, first: int, write: Callable[..., int]
    ) -> tuple[dict[int, int], list[tuple[int, int]]]:
        """({what the inner loop carries: what that is in an iteration}, [(carried value, its place)]).

        What goes through unchanged is what it began as, and what its body does not read need not be carried.
        """
        read = {x for o in inner.body if isinstance(o, Operation) for x in o.operands} | set(inner.results)
        means: dict[int, int] = {}
        carried: list[tuple[int, int]] = []
        for k, (p, start, result) in enumerate(zip(inner.params, inner.initial, inner.results)):
            if result == p:
                means[p] = start
            elif p in read:
                carried.append((self.new(), k))
                means[p] = write("select", first, start, carried[-1][0])
        return means, carried


def _read(
    statements: Sequence[Statement], inner: Loop, results: Sequence[int], means: dict[int, int]
) -> Iterator[Statement]:
    """The statements after an inner loop without those that take its results, whose names then mean these."""
    for s in statements:
        if isinstance(s, Operation) and s.op == "item" and s.operands[0] == inner.node:
            means[s.result] = results[s.detail[0]]
        else:
            yield s


def _renamed(statements: Sequence[Statement], means: Mapping[int, int]) -> list[Statement]:
    """Return the operations on other values."""
    plain = (s for s in statements if isinstance(s, Operation))  # there are no loops among them
    return [replace(s, operands=tuple(means.get(x, x) for x in s.operands)) for s in plain]

"""Loop flattening, for elements in lanes: nested loops as one loop (von Hanxleden & Kennedy 1992).

An inner loop that ends early, such as the iterations of a contact solver, runs in all lanes until the slowest lane is
done, and in every iteration of the outer loop another lane may be the slowest. After flattening, each lane begins its
next outer iteration as soon as it has finished the current one: the number of iterations is the total of the slowest
lane, not the sum of the maxima. Results are identical bit for bit.

Loops nested to any depth become one loop, from the inside out. So do the steps of ``advance``, which feed the results
of a program back into its state (``across_steps``). Statements beside an inner loop are then evaluated in all of its
iterations, so a loop with too many of them is not flattened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nptrace.ir.program import Program
from nptrace.ir.statements import Loop, Operation, Statement, all_loops, walk

_BESIDE = 2.0  # most operations beside an inner loop, relative to its own
_ENDLESS = 2**40  # iterations of a loop that ends by its stop condition


def flattened(program: Program) -> Program:
    """Return the program with its loops flattened where possible."""
    work = _flattening(program)
    body = [work.nest(s) if isinstance(s, Loop) else s for s in program.body]
    return replace(program, body=[*work.constants, *body]) if work.constants else program


def across_steps(program: Program, state: Mapping[int, int]) -> Program | None:
    """Return a program that makes ``steps`` steps, each from the results of the one before.

    Args:
        program: a loop that ends early, and statements beside it.
        state: by input of the state, the position of its next value among the outputs.

    Returns:
        The program, with the results of the last step; None if the loop cannot be flattened.
    """
    work = _flattening(program)
    inputs = {s.detail[0]: s.result for s in program.body if isinstance(s, Operation) and s.op == "input"}
    moving = [k for k in state if program.outputs[state[k]] != inputs.get(k)]
    loop = Loop(
        node=work.new(),
        region=work.new(),
        count=_ENDLESS,
        reverse=False,
        params=tuple(inputs[k] if k in inputs else work.new() for k in moving),
        initial=tuple(work.new() for _ in moving),
        results=tuple(program.outputs[state[k]] for k in moving),
        saves=(),
        body=[s for s in program.body if not (isinstance(s, Operation) and s.op == "input" and s.detail[0] in moving)],
    )
    if work.inner(loop) is None:
        return None
    starts: list[Statement] = [Operation("input", x, (), (k,)) for k, x in zip(moving, loop.initial)]
    starts += [Operation("input", inputs[k], (), (k,)) for k in inputs if k in state and k not in moving]
    kept = {s.result for s in starts if isinstance(s, Operation)}
    loop = replace(loop, body=[s for s in loop.body if isinstance(s, Loop) or s.result not in kept])
    steps = work.new()
    work.constants.append(Operation("steps", steps, ()))
    inner = work.inner(loop)
    assert inner is not None
    one = work.one_loop(loop, inner, steps)
    ends = {state[k]: Operation("item", work.new(), (loop.node,), (slot,)) for slot, k in enumerate(moving)}
    outputs = [ends[at].result if at in ends else x for at, x in enumerate(program.outputs)]
    return replace(program, body=[*work.constants, *starts, one, *ends.values()], outputs=outputs)


def _flattening(program: Program) -> _Flattening:
    used = [o.result for o in walk(program.body)]
    used += [x for loop in all_loops(program.body) for x in (loop.node, loop.region, *loop.params, loop.counter or 0)]
    zeros = {o.result for o in walk(program.body) if o.op == "const" and o.detail[0] == 0.0}
    return _Flattening(1 + max(used, default=0), zeros)


@dataclass
class _Flattening:
    """The rewriting of one program; ``fresh`` is the first unused number."""

    fresh: int
    zeros: set[int]  # SSA numbers of zero constants
    constants: list[Statement] = field(default_factory=list)
    known: dict[float, int] = field(default_factory=dict)

    def new(self) -> int:
        self.fresh += 1
        return self.fresh - 1

    def const(self, value: float) -> int:
        if value not in self.known:
            self.known[value] = self.new()
            self.constants.append(Operation("const", self.known[value], (), (value,)))
            if value == 0.0:
                self.zeros.add(self.known[value])
        return self.known[value]

    def nest(self, loop: Loop) -> Loop:
        """Return a loop with its nested loops flattened where possible."""
        body = [self.nest(s) if isinstance(s, Loop) else s for s in loop.body]
        if any(a is not b for a, b in zip(body, loop.body)):
            loop = replace(loop, body=body)
        inner = self.inner(loop)
        return loop if inner is None else self.one_loop(loop, inner)

    def inner(self, outer: Loop) -> Loop | None:
        """Return the only loop in a loop if it ends early, has most of the work, and neither uses rows."""
        loops = [s for s in outer.body if isinstance(s, Loop)]
        if len(loops) != 1 or outer.stop is not None or outer.reverse or outer.saves:
            return None
        inner = loops[0]
        if inner.stop is None or inner.initial[inner.stop] not in self.zeros or inner.reverse or inner.saves:
            return None
        if any(isinstance(s, Loop) for s in inner.body) or any(o.op in ("saved", "rows") for o in walk(outer.body)):
            return None
        free = ("const", "input", "item")
        beside = sum(isinstance(s, Operation) and s.op not in free for s in outer.body)
        return inner if beside <= _BESIDE * sum(o.op not in free for o in walk(inner.body)) else None

    def one_loop(self, outer: Loop, inner: Loop, steps: int | None = None) -> Loop:
        """Flatten two loops; ``steps``: the number of iterations of the outer loop as a value, if not its count."""
        at = outer.body.index(inner)
        body: list[Statement] = list(outer.body[:at])

        def write(op: str, *operands: int) -> int:
            body.append(Operation(op, self.new(), operands))
            return body[-1].result  # type: ignore[union-attr]

        begins = self.new()  # carried: whether an outer iteration begins
        index, done = self.new(), self.new()  # carried: iterations so far, of the inner loop and of the outer one
        limit = self.const(outer.count - 0.5) if steps is None else write("sub", steps, self.const(0.5))
        first, active = write("lt", self.const(0.5), begins), write("lt", done, limit)
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
        last = write("select", write("lt", count, limit), self.const(0.0), self.const(1.0))
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
        """Return ({parameter of the inner loop: its value in an iteration}, [(carried value, its position)]).

        A loop invariant has its initial value, and a parameter that the body does not read is not carried.
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
    """Yield the statements after an inner loop except ``item``s of its results, which are renamed to these."""
    for s in statements:
        if isinstance(s, Operation) and s.op == "item" and s.operands[0] == inner.node:
            means[s.result] = results[s.detail[0]]
        else:
            yield s


def _renamed(statements: Sequence[Statement], means: Mapping[int, int]) -> list[Statement]:
    """Return the operations with renamed operands."""
    plain = (s for s in statements if isinstance(s, Operation))  # there are no loops among them
    return [replace(s, operands=tuple(means.get(x, x) for x in s.operands)) for s in plain]

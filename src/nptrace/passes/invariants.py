"""Loop-invariant code motion: move statements that no iteration changes out of their loop.

A loop that ends early carries its inputs through unchanged, so that a target may repeat all of its work in every
iteration (a GPU has few registers to keep results in). Here, statements that depend only on such inputs are moved
before the loop. A loop that may be skipped is left unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nptrace.ir.program import Program
from nptrace.ir.statements import Loop, Statement, all_loops, walk

_STAYS = frozenset({"saved", "stored", "rows", "steps"})  # the order of memory operations is kept


def hoisted(program: Program) -> Program:
    """Return the program with the invariant statements of loops that end early moved before them."""
    if all(loop.stop is None for loop in all_loops(program.body)):
        return program
    zeros = {o.result for o in walk(program.body) if o.op == "const" and o.detail[0] == 0.0}
    return replace(program, body=list(_without_invariants(program.body, zeros)))


def _without_invariants(body: Sequence[Statement], zeros: set[int]) -> Iterator[Statement]:
    for s in body:
        if isinstance(s, Loop):
            yield from _split(replace(s, body=list(_without_invariants(s.body, zeros))), zeros)
        else:
            yield s


def _split(loop: Loop, zeros: set[int]) -> Iterator[Statement]:
    """Return the invariant statements of a loop and the remaining loop; nothing moves if it may be skipped."""
    if loop.stop is None or loop.initial[loop.stop] not in zeros:
        yield loop
        return
    means = {p: start for p, start, end in zip(loop.params, loop.initial, loop.results) if p == end}
    varies = {p for p in loop.params if p not in means} | ({loop.counter} if loop.counter is not None else set())
    left: list[Statement] = []
    for s in loop.body:
        if isinstance(s, Loop):
            varies |= {s.node}
            left.append(_renamed(s, means))
            continue
        s = replace(s, operands=tuple(means.get(x, x) for x in s.operands))
        if s.op in _STAYS or any(x in varies for x in s.operands):
            varies.add(s.result)
            left.append(s)
        else:
            yield s
    yield replace(loop, body=left)


def _renamed(loop: Loop, means: dict[int, int]) -> Loop:
    """Rename the invariants of an outer loop in a nested loop to their values outside."""

    def named(s: Statement) -> Statement:
        if isinstance(s, Loop):
            return _renamed(s, means)
        return replace(s, operands=tuple(means.get(x, x) for x in s.operands))

    initial = tuple(means.get(x, x) for x in loop.initial)
    results = tuple(means.get(x, x) for x in loop.results)
    saves = tuple(means.get(x, x) for x in loop.saves)
    return replace(loop, initial=initial, results=results, saves=saves, body=[named(s) for s in loop.body])

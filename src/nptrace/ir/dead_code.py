"""Dead-code elimination: statements, and slots of loops, on which no output depends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nptrace.ir.statements import MEMORY_OPS, Loop, Operation, Statement, all_loops, walk


def without_dead_code(body: list[Statement], outputs: list[int]) -> list[Statement]:
    """Remove dead code, including unused carried values, saved values and counters of loops."""
    live = _live(body, outputs)
    loops = {loop.node: loop for loop in all_loops(body)}
    carried = {n: [k for k in range(len(loop.params)) if (n, "carry", k) in live] for n, loop in loops.items()}
    saved = {n: [k for k in range(len(loop.saves)) if (n, "save", k) in live] for n, loop in loops.items()}
    rows = {o.result: len(o.operands) // o.detail[0] for o in walk(body) if o.op == "rows"}
    saved.update((n, [k for k in range(width) if (n, "save", k) in live]) for n, width in rows.items())

    slots = {
        kind: {n: {k: new for new, k in enumerate(kept)} for n, kept in all_kept.items()}
        for kind, all_kept in (("carry", carried), ("save", saved))
    }

    def sweep(statements: list[Statement]) -> list[Statement]:
        kept: list[Statement] = []
        for s in statements:
            if isinstance(s, Loop):
                if carried[s.node] or saved[s.node]:
                    counter = s.counter if s.counter in live else None
                    kept.append(_narrowed(s, sweep(s.body), carried[s.node], saved[s.node], counter))
            elif s.op == "rows":
                if kept_slots := saved[s.result]:
                    width = rows[s.result]
                    kept.append(
                        replace(s, operands=tuple(x for k, x in enumerate(s.operands) if k % width in kept_slots))
                    )
            elif s.result in live:
                if s.op in MEMORY_OPS:  # slots are renumbered
                    slot = slots["carry" if s.op == "item" else "save"][s.operands[0]][s.detail[0]]
                    s = Operation(s.op, s.result, s.operands, (slot, *s.detail[1:]))
                kept.append(s)
        return kept

    return sweep(body)


_Slot = tuple[int, str, int]  # (loop or rows, "carry" or "save", position)


def _live(body: list[Statement], outputs: Sequence[int]) -> set[int | _Slot]:
    """Return everything on which outputs depend: values, and slots of loops."""
    made = {o.result: o for o in walk(body)}
    loops = {loop.node: loop for loop in all_loops(body)}
    carriers: dict[int, _Slot] = {
        p: (loop.node, "carry", k) for loop in loops.values() for k, p in enumerate(loop.params)
    }
    live: set[int | _Slot] = set()
    stack: list[int | _Slot] = list(outputs)
    while stack:
        v = stack.pop()
        if v in live:
            continue
        live.add(v)
        o = made.get(v)  # type: ignore[arg-type]
        if o is not None:
            if o.op in MEMORY_OPS:
                stack.append((o.operands[0], "carry" if o.op == "item" else "save", o.detail[0]))
            else:
                stack += o.operands
        elif isinstance(v, tuple):
            if v[0] in loops:
                stack += _needs_of_slot(loops[v[0]], v)
            else:
                stack += made[v[0]].operands[v[2] :: len(made[v[0]].operands) // made[v[0]].detail[0]]
        elif v in carriers:
            stack.append(carriers[v])
    return live


def _needs_of_slot(loop: Loop, slot: _Slot) -> Iterator[int | _Slot]:
    """Return the dependencies of a carried or saved value; a loop that may end early also needs its condition."""
    _, kind, k = slot
    if kind == "carry":
        yield loop.initial[k]
        yield loop.results[k]
    else:
        yield loop.saves[k]
    if loop.stop is not None:
        yield (loop.node, "carry", loop.stop)


def _narrowed(loop: Loop, body: list[Statement], carried: list[int], saved: list[int], counter: int | None) -> Loop:
    """Return a loop that carries and saves only the values at these positions."""
    params, initial, results = (tuple(x[k] for k in carried) for x in (loop.params, loop.initial, loop.results))
    saves = tuple(loop.saves[k] for k in saved)
    stop = None if loop.stop is None else carried.index(loop.stop)
    return replace(
        loop, params=params, initial=initial, results=results, saves=saves, body=body, counter=counter, stop=stop
    )

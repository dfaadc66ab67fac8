"""The statements of a program: operations in SSA form, and loops with bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MEMORY_OPS = frozenset({"item", "saved", "stored"})  # the operand is a loop or rows, not a number


@dataclass(slots=True)  # never changed, but not frozen: that triples the cost of creating 100 000 of them
class Operation:
    """``result = op(*operands)``; results and operands are SSA numbers, ``detail`` holds the static parameters.

    fma = a*b + c, fms = a*b - c, fnma = c - a*b. Details: const (value,), input (position,), item (slot,), lookup
    (table,), lookup_input (first input, shape), saved (slot, region of the reading loop), stored (slot, row), rows
    (count,), random ((word, shift, bits),), tabled (table, column, region of the loop), in C alone. The result of rows
    is memory, not a number.
    """

    op: str
    result: int
    operands: tuple[int, ...]
    detail: tuple = ()


@dataclass(kw_only=True)
class Loop:
    """A repeat: ``params`` start at ``initial`` and become ``results`` after each of ``count`` iterations.

    ``saves`` are stored at every iteration, for ``saved`` of a later loop and ``stored`` to read; a ``reverse`` loop
    counts down. ``counter`` is the iteration number as a value, or None where nothing reads it. ``stop`` is the
    position of the result that ends the loop early when it is 1 (in all lanes), or None.
    """

    node: int
    region: int
    count: int
    reverse: bool
    params: tuple[int, ...]
    initial: tuple[int, ...]
    results: tuple[int, ...]
    saves: tuple[int, ...]
    body: list[Statement] = field(default_factory=list)
    counter: int | None = None
    stop: int | None = None


Statement = Operation | Loop


def walk(body: Sequence[Statement]) -> list[Operation]:
    """Yield every operation, loop bodies included."""
    found: list[Operation] = []
    start = 0
    for k in [k for k, s in enumerate(body) if type(s) is Loop]:
        found += body[start:k]  # type: ignore[arg-type]
        found += walk(body[k].body)  # type: ignore[union-attr]
        start = k + 1
    found += body[start:]  # type: ignore[arg-type]
    return found


def all_loops(body: Sequence[Statement]) -> list[Loop]:
    """Yield every loop, nested ones included."""
    found: list[Loop] = []
    for s in [s for s in body if type(s) is Loop]:
        found.append(s)
        found += all_loops(s.body)
    return found

"""Evaluate a program with NumPy, over any batch shape: the portable fallback and the oracle of the other targets.

NumPy has no fused multiply-add, so the other targets agree to a tolerance, not to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nptrace._types import PyTree
from nptrace.ir.philox import COUNTER_WORDS, Part, block, part_of
from nptrace.ir.program import Loop, Operation, Program, Statement


def _power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the power as compiled targets do: NaN stays NaN (NumPy: nan**0 == 1), and a negative base gives NaN."""
    return np.where((a >= 0) & (b == b), np.power(np.abs(a), b), np.asarray(a).dtype.type(np.nan))


_RULES: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "inv": np.reciprocal,
    "div": np.divide,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "log": np.log,
    "pow": _power,
    "atan2": np.arctan2,
    "abs": np.abs,
    "floor": np.floor,
    "min": np.minimum,
    "max": np.maximum,
    "lt": np.less,
    "le": np.less_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "not": np.logical_not,
    "select": np.where,
}


def evaluate(program: Program, inputs: np.ndarray) -> np.ndarray:
    """Return outputs of shape (outputs, *batch) for inputs of shape (inputs, *batch), in their precision."""
    inputs = np.asarray(inputs)
    if inputs.dtype not in (np.float32, np.float64):
        inputs = inputs.astype(np.float64)
    run = _Run(program, inputs)
    with np.errstate(all="ignore"):
        run.statements(program.body)
    out = np.empty((len(program.outputs), *inputs.shape[1:]), inputs.dtype)
    for k, o in enumerate(program.outputs):
        out[k] = run.values[o]
    return out


class _Run:
    def __init__(self, program: Program, inputs: np.ndarray) -> None:
        self.program, self.inputs = program, inputs
        self.values: dict[int, PyTree] = {}
        self.tapes: dict[int, dict[int, list]] = {}
        self.indices: dict[int, int] = {}
        self.block: tuple[list, tuple[np.ndarray | int, ...]] | None = None  # the last random block, by its operands
        self.tables = [np.asarray(t, inputs.dtype) for t in program.tables]

    def statements(self, body: Sequence[Statement]) -> None:
        for s in body:
            if isinstance(s, Loop):
                self.loop(s)
            else:
                self.values[s.result] = self.operation(s)

    def operation(self, s: Operation) -> PyTree:
        values, op = self.values, s.op
        if s.result in self.program.wide and op in ("const", "input", "gather"):  # lanes are the first axis
            return self.wide(s)
        if op == "const":
            return self.inputs.dtype.type(s.detail[0])
        if op == "input":
            return self.inputs[s.detail[0]]
        if op == "broadcast":
            return values[s.operands[0]]
        if op == "extract":
            return np.broadcast_to(values[s.operands[0]], (self.program.lanes, *self.inputs.shape[1:]))[s.detail[0]]
        if op == "permute":
            return np.broadcast_to(values[s.operands[0]], (self.program.lanes, *self.inputs.shape[1:]))[list(s.detail)]
        if op == "hsum":
            a, b, c, d = np.broadcast_to(values[s.operands[0]], (self.program.lanes, *self.inputs.shape[1:]))
            return (a + b) + (c + d)
        if op == "item":
            return values[s.operands[0]][s.detail[0]]
        if op == "saved":
            return self.tapes[s.operands[0]][self.indices[s.detail[1]]][s.detail[0]]
        if op == "stored":
            return self.tapes[s.operands[0]][s.detail[1]][s.detail[0]]
        a = [values[x] for x in s.operands]
        if op == "rows":
            width = len(a) // s.detail[0]
            self.tapes[s.result] = {row: a[row * width : (row + 1) * width] for row in range(s.detail[0])}
            return None
        if op == "random":
            return self.random(a, s.detail[0])
        if op == "lookup":
            table = self.tables[s.detail[0]]
            return self.read(table, a)
        if op == "lookup_input":
            first, shape = s.detail
            count = int(np.prod(shape))
            return self.read(self.inputs[first : first + count].reshape(*shape, *self.inputs.shape[1:]), a)
        return _RULES[op](*a)

    def random(self, operands: list, part: Part) -> np.ndarray:
        """Return some bits of a random block; consecutive parts of a block compute it once."""
        if self.block is None or any(x is not y for x, y in zip(operands, self.block[0])):
            self.block = operands, block(operands[:COUNTER_WORDS], operands[COUNTER_WORDS:])
        return np.asarray(part_of(self.block[1], part), self.inputs.dtype)[()]

    def wide(self, s: Operation) -> np.ndarray:
        batch = self.inputs.shape[1:]
        if s.op == "const":
            return np.reshape(np.asarray(s.detail[0], self.inputs.dtype), (self.program.lanes, *[1] * len(batch)))
        parts = [self.inputs[k] for k in s.detail] if s.op == "input" else [self.values[x] for x in s.operands]
        return np.stack([np.broadcast_to(x, batch) for x in parts])

    def read(self, table: np.ndarray, position: list) -> np.ndarray:
        """Read at a position, rounded down and clamped; NaN where it is NaN. Later axes are the batch."""
        batch = self.inputs.shape[1:]
        index = [np.clip(np.nan_to_num(np.floor(x)), 0, n - 1).astype(int) for x, n in zip(position, table.shape)]
        if table.ndim > len(position):
            index += list(np.indices(batch, sparse=True))
        out = table[tuple(index)]
        for x in position:
            out = np.where(np.isnan(x), x, out)
        return out

    def loop(self, loop: Loop) -> None:
        values, carried = self.values, [self.values[x] for x in loop.initial]
        tape = self.tapes[loop.node] = {}
        for index in reversed(range(loop.count)) if loop.reverse else range(loop.count):
            if loop.stop is not None and np.all(carried[loop.stop] == 1):
                break
            values.update(zip(loop.params, carried))
            self.indices[loop.region] = index
            if loop.counter is not None:
                values[loop.counter] = self.inputs.dtype.type(index)
            self.statements(loop.body)
            if loop.saves:
                tape[index] = [values[x] for x in loop.saves]
            carried = [values[x] for x in loop.results]
        values[loop.node] = carried

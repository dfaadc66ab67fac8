"""Loaded machine code and its memory."""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nptrace.codegen import llvm
from nptrace.codegen.emit import Layout
from nptrace.errors import InputError
from nptrace.runtime import machine
from nptrace.runtime.callables import raise_if_cancelled

_PIECE = 0.1  # [s]
_MOST = 2**20  # steps per piece: lanes count them in floats, which are exact for integers up to 2**24
_FIRST = 1024  # blocks times steps of the first piece, whose speed is unknown


class Code:
    """Loaded machine code and its memory layout."""

    def __init__(
        self, library: machine.Library, layout: Layout, outputs: int, workspace: int, dtype: np.dtype, lanes: int
    ) -> None:
        self.library, self.layout, self.outputs, self.workspace = library, layout, outputs, workspace
        self.dtype, self.lanes, self.one_loop = dtype, lanes, False
        self.evaluate: Callable = library.function(llvm.EVALUATE, 5, 1)  # type: ignore[assignment]
        self.advance = library.function(llvm.ADVANCE, 4, 2)
        self.roll = library.function(llvm.ROLL, 6, 3)


class Blocks:
    """Memory of some blocks of lanes, (block, scalar, lane), and calls that use it. Not thread-safe."""

    def __init__(self, code: Code, blocks: int) -> None:
        layout, lanes, dtype = code.layout, code.lanes, code.dtype
        self.code, self.count = code, blocks  # the code must outlive the pointers into it
        self.areas = {
            "state": aligned((blocks, layout.size("state"), lanes), dtype),
            "rest": aligned((blocks, layout.size("rest"), lanes), dtype),
            "shared": aligned((layout.size("shared"),), dtype),
        }
        self.out = aligned((blocks, code.outputs, lanes), dtype)
        self.work = aligned((code.workspace,), dtype)
        inputs = [self.areas[name].ctypes.data for name in ("state", "rest", "shared")]
        work = self.work.ctypes.data
        self._evaluate = functools.partial(code.evaluate, *inputs, self.out.ctypes.data, work, blocks)
        self._advance = functools.partial(code.advance or _cannot, *inputs, work, blocks)

    # methods, so that a reference to one of them keeps the memory and the code alive
    def evaluate(self) -> None:
        self._evaluate()

    def advance(self, steps: int, halt: threading.Event | None = None) -> None:
        for count, _ in pieces(steps, self.count, halt=halt):
            self._advance(count)

    def roll(self, steps: int, every: int, halt: threading.Event | None = None) -> np.ndarray:
        """Return the outputs of every ``every``-th step, (block, row, scalar, lane); the last step's are in ``out``."""
        code = self.code
        record = aligned((self.count, steps // every, code.outputs, code.lanes), code.dtype)
        inputs = [self.areas[name].ctypes.data for name in ("state", "rest", "shared")]
        row = 0
        for count, each in pieces(steps, self.count, every, halt):
            rows = count // each
            whole = self.count == 1 or rows == len(record[0])  # the rows of a piece follow each other in the record
            part = record[:, row : row + rows] if whole else aligned((self.count, rows, *record.shape[2:]), code.dtype)
            pointers = [*inputs, self.out.ctypes.data, part.ctypes.data, self.work.ctypes.data]
            (code.roll or _cannot)(*pointers, self.count, count, each)
            if not whole:
                record[:, row : row + rows] = part
            row += rows
        return record


def pieces(steps: int, blocks: int, every: int = 1, halt: threading.Event | None = None) -> Iterator[tuple[int, int]]:
    """Divide steps into pieces of about 0.1 s, because Ctrl-C acts only between calls of machine code.

    Yields (steps of a piece, interval at which it records), so that every ``every``-th step of all is recorded. Another
    thread can cancel by ``halt``.
    """
    wanted, done = max(1, _FIRST // blocks), 0
    while done < steps:
        raise_if_cancelled(halt)
        to_row, left = every - done % every, steps - done
        if to_row == every <= min(wanted, left):
            count, each = (left, every) if left <= wanted else (wanted // every * every, every)
        else:
            count = min(wanted, to_row, left)
            each = count if count == to_row else count + 1  # the step that completes a row, or none
        began = time.monotonic()
        yield count, each
        done += count
        wanted = min(_MOST, wanted * (2 if time.monotonic() - began < _PIECE / 2 else 1))


def _cannot(*_: int) -> None:
    raise InputError("this code has no state to advance")


def aligned(shape: Sequence[int], dtype: np.dtype, boundary: int = 64) -> np.ndarray:
    """Return zeros aligned to a cache line (uninitialised denormals would be 40 times slower)."""
    count = math.prod(shape) * dtype.itemsize
    raw = np.zeros(count + boundary, np.uint8)
    start = -raw.ctypes.data % boundary
    return raw[start : start + count].view(dtype).reshape(shape)

"""The number of elements per vector instruction on this machine: measured once, cached on disk.

The native vector width is not always best: a processor may run 512-bit instructions at half rate, and twice the width
hides latency where registers suffice. So a small representative kernel (about thirty live values, chains of
multiply-adds, a few divisions) is timed at the native width, half of it and twice of it. A long program has no
registers to spare: there, twice the width is no faster, and LLVM takes two to four times as long.
"""

from __future__ import annotations

import dataclasses
import os
import time

import numpy as np

from nptrace.codegen import llvm
from nptrace.codegen.emit import Layout
from nptrace.errors import InputError
from nptrace.ir.program import Operation, Program
from nptrace.runtime import machine
from nptrace.runtime.cache import Cache, digest
from nptrace.runtime.memory import Blocks, Code

WIDTHS = (1, 2, 4, 8, 16, 32)
MARGIN = 1.05  # another width must be this much faster than the native one: smaller differences are noise
LONG = 1000  # operations; longer programs use no more than the native width
_STATE = 24
_remembered: dict[str, int] = {}


def checked(lanes: int) -> int:
    """Return a valid lane width, or raise InputError."""
    if isinstance(lanes, bool) or lanes not in WIDTHS:
        raise InputError(f"lanes {lanes!r}: choose one of {', '.join(map(str, WIDTHS))}")
    return int(lanes)


def candidates(host: machine.Host, dtype: np.dtype) -> tuple[int, ...]:
    """Return half, once and twice the native vector width, in lanes."""
    native = host.vector_bits // (8 * dtype.itemsize)
    return tuple(n for n in (native // 2, native, native * 2) if n in WIDTHS)


def choose(host: machine.Host, dtype: np.dtype, cache: Cache | None, operations: int, waits: bool = False) -> int:
    """Return $NPTRACE_LANES, else the width cached for this processor, else the fastest candidate, measured now.

    operations: size of the program. waits: whether it has loops in which lanes wait for the slowest, which costs more
    with more lanes: then at most the native width.
    """
    if wanted := os.environ.get("NPTRACE_LANES"):
        try:
            return checked(int(wanted))
        except ValueError:
            raise InputError(f"NPTRACE_LANES={wanted!r}: choose one of {', '.join(map(str, WIDTHS))}") from None
    native = host.vector_bits // (8 * dtype.itemsize)
    width = _measured(host, dtype, cache, native)
    return min(width, max(1, native)) if waits or operations >= LONG else width


def _measured(host: machine.Host, dtype: np.dtype, cache: Cache | None, native: int) -> int:
    host, options = dataclasses.replace(host, level=3), candidates(host, dtype)
    key = digest("lanes", 2, host.cpu, host.features, machine.version(), dtype.name)
    if key not in _remembered:
        entry = cache.get(key) if cache else None
        width = entry.meta.get("lanes") if entry else None
        if width not in options:
            times = measure(host, dtype, options)
            width = min(times, key=lambda n: times[n] * (1 if n == native else MARGIN))
            if cache:
                cache.put(key, b"", {"lanes": width, "ns": {str(n): t for n, t in times.items()}})
        _remembered[key] = width
    return int(_remembered[key])


def measure(host: machine.Host, dtype: np.dtype, options: tuple[int, ...]) -> dict[int, float]:
    """Return {lanes: nanoseconds per element}, the minimum over interleaved rounds; takes 0.1 s with compilation."""
    sample, layout = _sample(), Layout((("state", _STATE),))
    runs = {}
    for lanes in options:
        ir = llvm.module(sample, layout, dtype, lanes, fused=host.fused, arch=host.arch)
        library = machine.Library(machine.object_code(ir, host, machine.code_model()))
        code = Code(library, layout, _STATE, llvm.workspace(sample, layout, lanes), dtype, lanes)
        runs[lanes] = blocks = Blocks(code, max(1, 64 // lanes))
        blocks.areas["state"][:] = 0.5
    best = dict.fromkeys(options, float("inf"))
    for _ in range(30):
        for lanes, blocks in runs.items():
            start = time.perf_counter_ns()
            blocks.advance(8)
            best[lanes] = min(best[lanes], (time.perf_counter_ns() - start) / (8 * blocks.count * lanes))
    return best


def _sample() -> Program:
    """Return a sample program, a contracting map of its state.

    Each new number combines old ones with a recent one, as recursions over a tree do: about six chains run in parallel,
    too few to fill the pipelines at a narrow width.
    """
    body = [Operation("input", k, (), (k,)) for k in range(_STATE)]
    count = _STATE

    def new(op: str, *operands: int, detail: tuple = ()) -> int:
        nonlocal count
        body.append(Operation(op, count, operands, detail))
        count += 1
        return count - 1

    small, one = new("const", detail=(0.03,)), new("const", detail=(1.0,))
    values = list(range(_STATE))
    for stride in range(4):
        mixed: list[int] = []
        for k in range(_STATE):
            total = new("mul", mixed[k - 6] if k >= 6 else values[k], small)
            for j in (1, 5, 7, 11, 13):
                total = new("fma", values[(k + j) % _STATE], values[(k + j * stride + 1) % _STATE], total)
            total = new("mul", total, small)
            mixed.append(new("inv", new("fma", total, total, one)) if k % 6 == 0 else new("min", total, one))
        values = mixed
    return Program(body=body, outputs=values, input_size=_STATE, tables=[])  # type: ignore[arg-type]

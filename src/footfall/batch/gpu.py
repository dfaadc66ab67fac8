"""Thousands of robots on a GPU: the same tick as CUDA, its state in registers over many ticks.

One thread a robot where there are robots enough to fill the card; four where there are fewer and legs are alike.

The source comes from the same program as the machine code of the CPU. Memory is (number, robot) in single precision,
and stays on the card: ``q`` and ``v`` are CuPy arrays, which PyTorch and JAX take over by DLPack without a copy.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from footfall import compiling
from footfall.batch.lean import lean_of, lean_tick
from footfall.control.interface import Command
from footfall.errors import FootfallError, InputError, MissingExtraError
from footfall.robot.description import Robot
from footfall.simulate.simulation import Simulation
from footfall.simulate.tick import Inputs
from footfall.trace import cuda, emit, tree
from footfall.trace.packed import packed

KERNEL = "footfall_tick"
FEW = 32768  # robots; below, one thread a robot leaves most of a large card idle
# The program says itself where a multiply-add is fused. Quotients and roots within two units in the last place, and no
# denormals: a fifth of the time, and far below what single precision loses anyway.
OPTIONS = ("--std=c++17", "--fmad=false", "--prec-div=false", "--prec-sqrt=false", "--ftz=true")


def cupy() -> ModuleType:
    """CuPy with a working GPU, or one sentence that says what is missing."""
    try:
        import cupy
    except ImportError:
        raise MissingExtraError("a batch on a GPU", "cuda", "cupy") from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise FootfallError(
            f"CuPy finds no GPU it can use ({error}): use ff.Batch, which runs on the processor"
        ) from None
    if count < 1:
        raise FootfallError("there is no GPU in this machine: use ff.Batch, which runs on the processor")
    return cupy


class TickSource:
    """The CUDA source of a simulation's tick, and where its numbers lie; needs no GPU.

    threads: 1 a robot, or 4, one for each leg. Legs that are not alike get 1; ``threads`` then says so.
    """

    def __init__(
        self, robot: Robot, controller: Any = None, *, dtype: DTypeLike = np.float32, block: int = 128,
        feels: bool = False, threads: int = 1, **options: Any,
    ) -> None:  # fmt: skip
        if threads not in (1, 4):
            raise InputError(f"threads {threads!r}: a robot takes 1 or 4 on a GPU")
        if block % 32:
            raise InputError(f"block {block!r}: threads come in warps of 32")
        self.robot, self.dtype, self.block = robot, np.dtype(dtype), block
        self.simulation = Simulation(robot, controller, **options)
        self.first = lean_of(self.simulation.carried, feels)
        self.inputs = Inputs(Command(), np.zeros(6))
        self.program = compiling.program(lean_tick, self.simulation.rig, self.first, self.inputs)
        sizes = [_size(self.first), _size(self.inputs)]
        self.layout = emit.first_is_state(sizes)
        lanes = packed(self.program, lanes=(4,)) if threads == 4 else None
        self.threads = 1 if lanes is None else 4
        self.text = cuda.source(lanes or self.program, self.layout, KERNEL, self.dtype, block)

    def numbers(self, nest: Any) -> np.ndarray:
        """A nest as one column of numbers."""
        leaves, _ = tree.flatten(nest)
        return np.concatenate([np.ravel(np.asarray(x, self.dtype)) for x in leaves])

    def rows(self, name: str) -> slice:
        """Where a part of the state (``q``, ``v``, ...) lies in its column."""
        at = 0
        for key in ("tick", "q", "v", "forces", "contact", "memory"):
            size = _size(getattr(self.first, key))
            if key == name:
                return slice(at, at + size)
            at += size
        raise InputError(f"the state of a batch has no part '{name}'")


class GpuBatch:
    """n robots on one GPU; arguments as for ``TickSource``, with as many threads as suit n unless given."""

    def __init__(
        self, robot: Robot, n: int, controller: Any = None, *, threads: int | None = None, **options: Any
    ) -> None:
        if int(n) != n or n < 1:
            raise InputError(f"a batch needs at least one robot, got n = {n}")
        self.cupy, self.n = cupy(), int(n)
        chosen = threads if threads is not None else 4 if n < FEW else 1
        self.source = TickSource(robot, controller, threads=chosen, **options)
        module = self.cupy.RawModule(code=self.source.text, options=OPTIONS, backend="nvrtc")
        self.kernel = module.get_function(f"{KERNEL}_advance")
        try:
            self.state = self._columns(self.source.first)
            self.inputs = self._columns(self.source.inputs)
        except self.cupy.cuda.memory.OutOfMemoryError as error:
            raise FootfallError(f"the GPU has no memory for {n} robots: {error}") from None
        self.shared = self.cupy.zeros(1, self.source.dtype)

    def _columns(self, nest: Any) -> Any:
        return self.cupy.ascontiguousarray(
            self.cupy.repeat(self.cupy.asarray(self.source.numbers(nest))[:, None], self.n, axis=1)
        )

    @property
    def q(self) -> Any:
        """Configurations (n, nq) on the card."""
        return self.state[self.source.rows("q")].T

    @property
    def v(self) -> Any:
        return self.state[self.source.rows("v")].T

    def set_command(self, command: Command, which: Any = slice(None)) -> None:
        column = self.cupy.asarray(self.source.numbers(Inputs(command, np.zeros(6))))
        self.inputs[:4, which] = column[:4, None]

    def run(self, ticks: int) -> None:
        """Advance every robot by a number of ticks, in one launch."""
        block = self.source.block
        grid = (-(-self.n * self.source.threads // block),)
        arguments = (self.state, self.inputs, self.shared, np.int32(ticks), np.int32(self.n))
        self.kernel(grid, (block,), arguments)


def _size(nest: Any) -> int:
    return sum(int(np.size(x)) for x in tree.flatten(nest)[0])

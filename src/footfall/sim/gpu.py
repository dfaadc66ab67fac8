"""Thousands of robots on a GPU: the tick as CUDA code, its state in registers over many ticks.

If legs are similar, a robot has four threads, one per leg, or two threads of two legs each if there are enough robots
to fill the card: the base is then computed twice, not four times. It has one thread if legs differ, or if a tick is so
short that a thread has registers for all of it. Steps and the iterations within them are one loop, so that robots of a
warp do not wait for each other in every step.

The source comes from the same program as the machine code of the CPU. Memory is (number, robot) in single precision,
and stays on the GPU: ``q`` and ``v`` are CuPy arrays, which PyTorch and JAX share through DLPack without a copy.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from footfall import compiling
from footfall.control.interface import Command
from footfall.errors import FootfallError, InputError, MissingExtraError, unknown
from footfall.robot.model.description import Robot
from footfall.sim.batch import REPORTED, Which, check_options, constant_command, solution_report
from footfall.sim.rollouts import check_controller, check_world
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, counted_tick, reduced, rollout_tick, states_at_rest
from nptrace._types import Given, PyTree
from nptrace.codegen import cuda, emit
from nptrace.frontend import tree
from nptrace.ir.program import all_loops, walk
from nptrace.passes.invariants import hoisted
from nptrace.passes.parking import parked, slots
from nptrace.passes.reductions import reassociated
from nptrace.passes.slp import vectorised
from nptrace.runtime.compiled import flattened_steps

if TYPE_CHECKING:
    from cupy import ndarray as DeviceArray

KERNEL, COUNTING = "footfall_tick", "footfall_count"
BRIEF = 50  # steps; in a launch of fewer, robots wait for the slowest of all
FEW = {1: 24576, 2: 15000}  # robots, by threads per robot; fewer leave most of a large card idle
SHORT = 5_000  # operations: more do not fit the registers of a thread, and more threads are faster for any number
LONG = 20_000  # operations: solvers inside a tick are not alike leg by leg
REGISTERS = 225  # values that a thread holds; others are parked in the memory of its block
PARKED = 48 * 1024  # bytes of it that a block has everywhere
WARP = 32  # threads
# threads per block, by threads per robot: warps of a block share the instructions they fetch
BLOCKS = {1: 256, 2: 64, 4: 64}
# The program itself states where a multiply-add is fused. Quotients and roots are accurate to two units in the last
# place and denormals are flushed: this saves a fifth of the time, and is far below the errors of single precision.
OPTIONS = ("--std=c++17", "--fmad=false", "--prec-div=false", "--prec-sqrt=false", "--ftz=true")


def cupy() -> ModuleType:
    """Return CuPy with a working GPU; raise with an alternative if there is none."""
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

    threads: 1 per robot, or 4, one for each leg, or 2. Legs that are not alike get 1; ``threads`` says so. One adds up
    what the legs do to the base in another order than two and four: they agree to rounding, not to the bit.
    shortest, longest: numbers of operations of a tick beyond which a robot gets 1 thread, whatever ``threads`` says;
    the first is doubled for a tick without loops, whose values can be parked where they do not fit the registers.
    one_loop: steps and the iterations in them are one loop, so that robots of a warp do not wait for each other. Where
    a launch makes few steps, all wait for the slowest robot anyway, and loops in loops do less work in an iteration.
    free: parameters that differ between robots, as for ``ff.Batch``.
    """

    def __init__(
        self,
        robot: Robot,
        controller: Given = None,
        *,
        dtype: DTypeLike = np.float32,
        block: int | None = None,
        uses_foot_forces: bool = False,
        threads: int = 1,
        shortest: float = 0.0,
        longest: float = np.inf,
        one_loop: bool = True,
        free: Sequence[str] = (),
        **options: Any,
    ) -> None:
        if threads not in BLOCKS:
            raise InputError(f"threads {threads!r}: choose 1, 2 or 4 threads per robot")
        if block is not None and (block < 32 or block % 32):
            raise InputError(f"block {block!r}: choose a multiple of 32, the size of a warp")
        self.robot, self.dtype = robot, np.dtype(dtype)
        check_options(options)
        self.simulation = Simulation(robot, controller, **options)
        model, self.inputs = self.simulation.model, Inputs(constant_command(self.simulation), np.zeros(6))
        looks_at = ("forces",) if uses_foot_forces or model.acting.info.uses_foot_forces else ()
        self.first = reduced(self.simulation.state, *looks_at)
        self.parameters = {path: np.asarray(model.parameter(path), float) for path in free}
        self.closures = (
            *check_world(model, self.simulation.state, self.inputs),
            *check_controller(model, self.simulation.state, self.inputs),
        )
        self.program = compiling.program(rollout_tick, model, self.first, self.inputs, free=tuple(free))
        arguments = [self.first, self.inputs, *([self.parameters] if free else [])]
        self.layout = emit.first_is_state([number_count(each) for each in arguments])
        straight = not all_loops(self.program.body)
        legs = threads > 1 and shortest * (1 + straight) <= self.program.live_operations <= longest
        code = reassociated(self.program) if legs else self.program
        code = flattened_steps(code, self.layout) if one_loop else hoisted(code)
        lanes = vectorised(code, lanes=(4,)) if legs else None
        self.threads = 1 if lanes is None else threads
        self.block = block or BLOCKS[self.threads]
        if lanes is None:
            parks, small = parked(code, REGISTERS), block or WARP
            if (count := slots(parks.body)) and count * small * self.dtype.itemsize <= PARKED:
                code, self.block = parks, small
        self.one_loop = any(s.op == "steps" for s in walk(code.body))
        self.text = cuda.source(lanes or code, self.layout, KERNEL, self.dtype, self.block, threads)

    def counted_text(self) -> str:
        """Return the source of a tick that also counts how often each of its steps is solved, as ``evaluate``."""
        given = {"free": tuple(self.parameters)}
        program = compiling.program(counted_tick, self.simulation.model, self.first, self.inputs, **given)
        return cuda.source(program, self.layout, COUNTING, self.dtype, BLOCKS[1])

    def numbers(self, arrays: PyTree) -> np.ndarray:
        """Return a pytree as one column of numbers."""
        leaves, _ = tree.flatten(arrays)
        return np.concatenate([np.ravel(np.asarray(x, self.dtype)) for x in leaves])

    def first_columns(self, n: int) -> list[np.ndarray]:
        """Return the parts of the initial states of n robots as rows, (number, 1) where all are equal."""
        found = []
        for x in states_at_rest(self.simulation.model, self.first, n, self.dtype):
            rows = x.reshape(n, -1).T if x.strides[0] else x[:1].reshape(1, -1).T
            found.append(np.ascontiguousarray(rows))
        return found

    def rows(self, name: str) -> slice:
        """Return the position of a part of the state (``q``, ``v``, ...) in its column."""
        at = 0
        for key, part in vars(self.first).items():
            size = number_count(part)
            if key == name:
                return slice(at, at + size)
            at += size
        raise InputError(f"the state of a batch has no field '{name}'")

    def input_rows(self, path: str) -> slice:
        """Return the position of a free parameter in the column of inputs and parameters."""
        if path not in self.parameters:
            raise unknown("free parameter", path, self.parameters, "this batch has")
        numbered, at = {}, number_count(self.inputs)
        for key, value in self.parameters.items():
            numbered[key] = np.full(np.shape(value), key == path)
        found = np.concatenate([np.ravel(x) for x in tree.flatten(numbered)[0]])
        first = at + int(np.argmax(found))
        return slice(first, first + int(found.sum()))


class CudaKernel:
    """A CUDA source as the kernel that advances robots; the numbers of a robot are a column, (number, robot).

    entry: ``advance``, or ``evaluate`` for one call whose results are not a state.
    """

    def __init__(
        self,
        text: str,
        name: str,
        block: int,
        threads: int = 1,
        dtype: DTypeLike = np.float32,
        entry: str = "advance",
    ) -> None:
        xp = cupy()
        self.block, self.threads = block, threads  # per block, and per robot
        module = xp.RawModule(code=text, options=OPTIONS, backend="nvrtc")
        self.function = module.get_function(f"{name}_{entry}")
        self.shared = xp.zeros(1, dtype)

    def advance(self, steps: int, state: DeviceArray, inputs: DeviceArray) -> None:
        """Advance the state in place, in one launch."""
        self._launch(state.shape[1], state, inputs, self.shared, np.int32(steps))

    def evaluate(self, state: DeviceArray, inputs: DeviceArray, out: DeviceArray) -> None:
        """Write the results of one call into ``out``, (number, robot)."""
        self._launch(state.shape[1], state, inputs, self.shared, out)

    def _launch(self, n: int, *arguments: Any) -> None:
        self.function((-(-n * self.threads // self.block),), (self.block,), (*arguments, np.int32(n)))


class CudaBackend(CudaKernel):
    """The tick of a source, repeated for many robots on a GPU; it keeps no rows: read the state between calls."""

    def __init__(self, source: TickSource) -> None:
        super().__init__(source.text, KERNEL, source.block, source.threads, source.dtype)

    def rollout(self, ticks: int, state: DeviceArray, inputs: DeviceArray) -> None:
        """Advance every robot by a number of ticks; ``inputs`` are its command, its push, its free parameters."""
        self.advance(ticks, state, inputs)


def threads_for(n: int) -> int:
    """Return how many threads a robot gets if its legs are similar and a tick is not short."""
    return 2 if n >= FEW[2] else 4


class GpuBatch:
    """Many robots simulated on one GPU.

    Arguments are those of ``TickSource``; the number of threads follows from robot and tick unless given.
    """

    def __init__(
        self, robot: Robot, n: int, controller: Given = None, *, threads: int | None = None, **options: Any
    ) -> None:
        if int(n) != n or n < 1:
            raise InputError(f"a batch needs at least one robot, got n = {n}")
        self.cupy, self.n = cupy(), int(n)
        self._brief: dict[str, Any] | None = None  # how a tick is compiled for brief launches, if otherwise
        if threads is None:
            if "one_loop" not in options:
                self._brief = {**options, "threads": 4, "longest": LONG, "one_loop": n >= FEW[1]}
            options |= {"threads": threads_for(n), "shortest": SHORT if n >= FEW[1] else 0.0, "longest": LONG}
        else:
            options["threads"] = threads
        self.source = TickSource(robot, controller, **options)
        self.backend = CudaBackend(self.source)
        self._controller = controller
        try:
            self._start = [self.cupy.asarray(x) for x in self.source.first_columns(self.n)]
            self.state = self.cupy.concatenate([self.cupy.broadcast_to(x, (len(x), self.n)) for x in self._start])
            self.inputs = self._columns((self.source.inputs, self.source.parameters))
        except self.cupy.cuda.memory.OutOfMemoryError as error:
            raise FootfallError(f"the GPU has no memory for {n} robots: {error}") from None

    def _columns(self, arrays: PyTree) -> DeviceArray:
        return self.cupy.ascontiguousarray(
            self.cupy.repeat(self.cupy.asarray(self.source.numbers(arrays))[:, None], self.n, axis=1)
        )

    @property
    def q(self) -> DeviceArray:
        """Configurations (n, nq) on the GPU."""
        return self.state[self.source.rows("q")].T

    @property
    def v(self) -> DeviceArray:
        return self.state[self.source.rows("v")].T

    def set_command(self, command: Command, which: Which = slice(None)) -> None:
        """Set the commands of all robots, or of those of a mask or of indices."""
        self._put(slice(0, number_count(Command())), which, self.source.numbers(command))

    def set_push(self, push: Given, which: Which = slice(None)) -> None:
        """Set a wrench (n, f) on the base at its origin, world axes, until it is set again: one, or one per robot."""
        self._put(slice(number_count(Command()), number_count(self.source.inputs)), which, push)

    def set(self, parameters: Mapping[str, Given], which: Which = slice(None)) -> None:
        """Set free parameters of robots: ``batch.set({"trunk.mass": masses})``."""
        for path, value in parameters.items():
            value = value if np.ndim(value) else float(value)
            self._put(self.source.input_rows(path), which, value)

    def reset(self, which: Which = slice(None)) -> None:
        """Reset robots and their memory: all robots, or those of a mask or of indices."""
        at = 0
        for start in self._start:
            rows, at = slice(at, at + len(start)), at + len(start)
            self.state[rows, which] = start if start.shape[1] == 1 else start[:, which]

    def _put(self, rows: slice, which: Which, value: Given) -> None:
        """Write numbers, one set for all or one per robot, into the rows of the inputs."""
        value = self.cupy.asarray(value, self.source.dtype)
        if not bool(self.cupy.isfinite(value).all()):
            raise InputError("the inputs of a batch must be finite")
        size = rows.stop - rows.start
        each = value.reshape(-1, size) if value.size != size else value.reshape(1, size)
        self.inputs[rows, which] = each.T

    def run(self, ticks: int) -> None:
        """Advance every robot by a number of ticks, in one launch.

        Where steps are solved again until their modes agree, the first brief launch compiles a kernel of its own.
        """
        if name := next(filter(None, (closure.changed() for closure in self.source.closures)), None):
            raise InputError(f"{name} has changed since this batch was compiled: make another GpuBatch")
        brief = ticks * self.source.simulation.model.substeps < BRIEF and self.source.one_loop
        backend = self._brief_backend if brief and self._brief is not None else self.backend
        backend.rollout(ticks, self.state, self.inputs)

    @functools.cached_property
    def _brief_backend(self) -> CudaBackend:
        assert self._brief is not None
        return CudaBackend(TickSource(self.source.robot, self._controller, **self._brief))

    def report(self, ticks: int = 50) -> dict[str, float]:
        """Return how often steps solve the equations of motion, in the next ticks of up to 256 of the robots.

        Like ``Batch.report``; the robots that wait for each other are those of a warp: 32 divided by the threads per
        robot. The batch is not changed. The first call compiles a kernel that counts.

        Args:
            ticks: Ticks of the controller, to look at.

        Returns:
            ``solutions``: mean number per step; ``solutions_p99``: their 99th percentile; ``slowest``: mean over steps
            of the largest number in a warp; ``lanes``: robots in a warp; ``occupancy``: the fraction of the warps' work
            that robots need, from 1 / lanes to 1.
        """
        xp, most, numbers = self.cupy, min(self.n, REPORTED), len(self.state)
        state, inputs = (xp.ascontiguousarray(x[:, :most]) for x in (self.state, self.inputs))
        counts = []
        for _ in range(ticks):
            out = xp.empty((numbers + self.source.simulation.model.substeps, most), self.source.dtype)
            self._counting.evaluate(state, inputs, out)
            state = out[:numbers]
            counts.append(out[numbers:])
        found = np.asarray(xp.asnumpy(xp.concatenate(counts)), float).T
        return solution_report(found, WARP // self.source.threads, self.source.one_loop)

    @functools.cached_property
    def _counting(self) -> CudaKernel:
        return CudaKernel(self.source.counted_text(), COUNTING, BLOCKS[1], dtype=self.source.dtype, entry="evaluate")


def number_count(arrays: PyTree) -> int:
    """Return how many numbers a pytree of arrays holds."""
    return sum(int(np.size(x)) for x in tree.flatten(arrays)[0])

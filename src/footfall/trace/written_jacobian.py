"""A Jacobian that is written out (``graph.columns``) as machine code: for one robot its legs are lanes."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from footfall.nests import Nest
from footfall.trace import compiled
from footfall.trace.face import tree
from footfall.trace.face.signature import Signature
from footfall.trace.graph.columns import columns
from footfall.trace.passes import program as ssa
from footfall.trace.passes.program import Program, Statistics
from footfall.trace.runtime import machine
from footfall.trace.runtime.cache import Cache, digest
from footfall.trace.runtime.callables import Function, batch_axes
from footfall.trace.runtime.memory import Blocks, Code
from footfall.trace.targets.emit import Layout
from footfall.trace.tracer import Trace

LARGEST = 80_000  # operations; more take long to compile
Fold = Callable[[np.ndarray], Nest]


class Turned(Protocol):
    """The Jacobian that goes through all turns of a solver."""

    def matrix(self, *arguments: Nest, **keywords: Nest) -> np.ndarray: ...

    def matrices_of(self, rows: np.ndarray) -> np.ndarray: ...


def written_program(traced: Trace, words: Signature, chosen: Sequence[int], at_zero: bool) -> Program | None:
    """All outputs by the inputs ``chosen``, row by row, and how much is doubted; None where a loop carries tangents."""
    outputs, doubts = traced.outputs, traced.doubts
    made = columns(traced.graph, [*outputs, *doubts], chosen, dict.fromkeys(chosen, 0.0) if at_zero else {})
    if made is None:
        return None
    new, values, tangents = made
    zero = new.const(0)
    slopes = [found.get(k, zero) for found in tangents[: len(outputs)] for k in range(len(chosen))]
    doubted = [functools.reduce(new.add, values[len(outputs) :])] if doubts else []
    return ssa.build(new, [*slopes, *doubted], sum(words.sizes), names=words.labels())


def code_of(program: Program, number: np.dtype, store: Cache | None, host: machine.Host, key: str | None) -> Code:
    """Machine code with the legs of one robot as lanes; a block is a robot."""
    layout = Layout((("rest", program.input_size),))
    code, binary = compiled.build_code(program, layout, number, 1, store, host, limbs=True)
    if key is not None and store is not None:
        meta = {"inputs": program.input_size, "outputs": code.outputs, "workspace": code.workspace}
        store.put(_full_key(key, number, host), binary, {**meta, "statistics": program.statistics()})
    return code


def stored_code(
    number: np.dtype, store: Cache | None, host: machine.Host, key: str | None
) -> tuple[Code, Statistics] | None:
    """(what ``code_of`` stored under a key, its statistics), or None where there is nothing to be trusted."""
    entry = store.get(_full_key(key, number, host)) if key is not None and store is not None else None
    if entry is None:
        return None
    try:
        meta, layout = entry.meta, Layout((("rest", entry.meta["inputs"]),))
        library = machine.Library(entry.code)
        return Code(library, layout, meta["outputs"], meta["workspace"], number, 1), meta["statistics"]
    except Exception:  # an object file LLVM refuses: built anew
        return None


def _full_key(key: str, number: np.dtype, host: machine.Host) -> str:
    return digest("jacobian", compiled.FORMAT, key, number.name, *compiled.machine_key(host), compiled.own_sources())


class WrittenJacobian(Function):
    """A compiled Jacobian; see ``differentiate.jacobian``.

    turning: makes the same with directions on lanes, for states where a solution's derivative is ``doubted``.
    """

    target = "native"

    def __init__(
        self, words: Signature, code: Code, program: Program | Callable[[], Program], statistics: Statistics,
        directions: int, fold: Fold, turning: Callable[[], Turned],
    ) -> None:  # fmt: skip
        super().__init__(words, code.dtype, program)
        self.__name__ = f"jacobian of {words.function}"
        self.code, self.directions, self.statistics, self.folded = code, directions, statistics, fold
        self.size = directions * sum(map(tree.size, words.output_shapes))
        self._turning, self._local = turning, threading.local()

    @functools.cached_property
    def turned(self) -> Turned:
        """The Jacobian that goes through all turns of a solver."""
        return self._turning()

    def __call__(self, *arguments: Nest, **keywords: Nest) -> Nest:
        return self.folded(self.matrix(*arguments, **keywords))

    def matrix(self, *arguments: Nest, **keywords: Nest) -> np.ndarray:
        """All outputs by all directions, both flat."""
        leaves = self._leaves(arguments, keywords)
        blocks = self._blocks(1)
        flat, at = blocks.areas["rest"].reshape(-1), 0
        for k, (leaf, shape) in enumerate(zip(leaves, itertools.chain(*self.signature.shapes))):
            array = self.signature.real(k, leaf)
            if array.shape != shape:
                raise self.signature.wrong_shape(k, array.shape)
            flat[at : at + array.size] = array.reshape(-1)
            at += array.size
        blocks.evaluate()
        found = blocks.out.reshape(-1)
        if len(found) > self.size and found[-1] > 0.5:
            return self.turned.matrix(*arguments, **keywords)
        return found[: self.size].reshape(-1, self.directions).copy()

    def matrices(self, *arguments: Nest, **keywords: Nest) -> np.ndarray:
        """``matrix`` for n robots, (n, outputs, directions): arrays have a leading robot axis, or are one for all."""
        found = self.settled(*arguments, **keywords)
        blocks = self._blocks(len(found))
        doubted = np.flatnonzero(blocks.out[:, self.size :, 0].sum(axis=1) > 0.5)
        if len(doubted):
            found[doubted] = self.turned.matrices_of(blocks.areas["rest"][doubted, :, 0])
        return found

    def settled(self, *arguments: Nest, **keywords: Nest) -> np.ndarray:
        """``matrices`` as the closers of solutions say, doubted or not."""
        blocks, robots = self.pack(*arguments, **keywords)
        blocks.evaluate()
        return blocks.out[:, : self.size, 0].reshape(robots, -1, self.directions).copy()

    def pack(self, *arguments: Nest, **keywords: Nest) -> tuple[Blocks, int]:
        """(this thread's blocks, one for each robot, filled; robots)."""
        leaves = [self.signature.real(k, leaf) for k, leaf in enumerate(self._leaves(arguments, keywords))]
        robots, moving = batch_axes(self.signature, leaves)
        blocks = self._blocks(robots)
        rows, at = blocks.areas["rest"][:, :, 0], 0
        for leaf, own, shape in zip(leaves, moving, itertools.chain(*self.signature.shapes)):
            count = tree.size(shape)
            rows[:, at : at + count] = leaf.reshape(robots if own else 1, count)
            at += count
        return blocks, robots

    def _blocks(self, robots: int) -> Blocks:
        """This thread's memory for so many robots."""
        kept = getattr(self._local, "blocks", None)
        if kept is None or kept.count != robots:
            kept = self._local.blocks = Blocks(self.code, robots)
        return kept

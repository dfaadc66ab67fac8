"""A written-out Jacobian (``columns``) as machine code, with isomorphic groups of operations as lanes."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from nptrace._types import PyTree
from nptrace.autodiff.columns import columns
from nptrace.codegen.emit import Layout
from nptrace.frontend import tree
from nptrace.frontend.signature import Signature
from nptrace.frontend.tracer import Trace
from nptrace.ir import program as ssa
from nptrace.ir.program import Program, Statistics
from nptrace.runtime import compiled, machine
from nptrace.runtime.cache import Cache, digest
from nptrace.runtime.callables import Function, batch_axes
from nptrace.runtime.memory import Blocks, Code

LARGEST = 80_000  # operations; more take long to compile
Fold = Callable[[np.ndarray], PyTree]


class IterationsJacobian(Protocol):
    """A Jacobian that differentiates all iterations of a solver."""

    def matrix(self, *arguments: object, **keywords: object) -> np.ndarray: ...

    def matrices_of(self, rows: np.ndarray) -> np.ndarray: ...


def written_program(traced: Trace, sig: Signature, chosen: Sequence[int], at_zero: bool) -> Program | None:
    """Return a program for all outputs by the inputs ``chosen``, row by row, then the number of invalid derivatives.

    Returns None where a loop carries tangents.
    """
    outputs, flags = traced.outputs, traced.invalid_flags
    made = columns(traced.graph, [*outputs, *flags], chosen, dict.fromkeys(chosen, 0.0) if at_zero else {})
    if made is None:
        return None
    new, values, tangents = made
    zero = new.const(0)
    entries = [found.get(k, zero) for found in tangents[: len(outputs)] for k in range(len(chosen))]
    invalid = [functools.reduce(new.add, values[len(outputs) :])] if flags else []
    return ssa.build(new, [*entries, *invalid], sum(sig.sizes), names=sig.labels())


def code_of(program: Program, number: np.dtype, store: Cache | None, host: machine.Host, key: str | None) -> Code:
    """Return machine code with isomorphic groups as lanes; a block is an element."""
    layout = Layout((("rest", program.input_size),))
    code, binary = compiled.build_code(program, layout, number, 1, store, host, vectorize=True)
    if key is not None and store is not None:
        meta = {"inputs": program.input_size, "outputs": code.outputs, "workspace": code.workspace}
        store.put(_full_key(key, number, host), binary, {**meta, "statistics": program.statistics()})
    return code


def stored_code(
    number: np.dtype, store: Cache | None, host: machine.Host, key: str | None
) -> tuple[Code, Statistics] | None:
    """Return (the code that ``code_of`` stored under a key, its statistics), or None without a valid entry."""
    entry = store.get(_full_key(key, number, host)) if key is not None and store is not None else None
    if entry is None:
        return None
    try:
        meta, layout = entry.meta, Layout((("rest", entry.meta["inputs"]),))
        library = machine.Library(entry.code)
        return Code(library, layout, meta["outputs"], meta["workspace"], number, 1), meta["statistics"]
    except Exception:  # LLVM rejects the object file: compile again
        return None


def _full_key(key: str, number: np.dtype, host: machine.Host) -> str:
    return digest("jacobian", compiled.FORMAT, key, number.name, *compiled.machine_key(host), compiled.own_sources())


class WrittenJacobian(Function):
    """A written-out, compiled Jacobian; see ``differentiate.jacobian``.

    make_fallback: makes the Jacobian with directions on lanes, for states where a derivative is marked invalid.
    """

    target = "native"

    def __init__(
        self,
        sig: Signature,
        code: Code,
        program: Program | Callable[[], Program],
        statistics: Statistics,
        directions: int,
        fold: Fold,
        make_fallback: Callable[[], IterationsJacobian],
    ) -> None:
        super().__init__(sig, code.dtype, program)
        self.__name__ = f"jacobian of {sig.function}"
        self.code, self.directions, self.statistics, self.folded = code, directions, statistics, fold
        self.size = directions * sum(map(tree.size, sig.output_shapes))
        self._make_fallback, self._local = make_fallback, threading.local()

    @functools.cached_property
    def fallback(self) -> IterationsJacobian:
        """The Jacobian that differentiates all iterations of a solver."""
        return self._make_fallback()

    def __call__(self, *arguments: object, **keywords: object) -> PyTree:
        return self.folded(self.matrix(*arguments, **keywords))

    def matrix(self, *arguments: object, **keywords: object) -> np.ndarray:
        """Return all outputs by all directions, both flat."""
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
            return self.fallback.matrix(*arguments, **keywords)
        return found[: self.size].reshape(-1, self.directions).copy()

    def matrices(self, *arguments: object, **keywords: object) -> np.ndarray:
        """``matrix`` for a batch of n, (n, outputs, directions): arrays have a batch axis or are shared by all."""
        found = self.settled(*arguments, **keywords)
        blocks = self._blocks(len(found))
        invalid = np.flatnonzero(blocks.out[:, self.size :, 0].sum(axis=1) > 0.5)
        if len(invalid):
            found[invalid] = self.fallback.matrices_of(blocks.areas["rest"][invalid, :, 0])
        return found

    def settled(self, *arguments: object, **keywords: object) -> np.ndarray:
        """Return ``matrices`` by ``custom_fixed_point``, whether its derivatives are valid or not."""
        blocks, elements = self.pack(*arguments, **keywords)
        blocks.evaluate()
        return blocks.out[:, : self.size, 0].reshape(elements, -1, self.directions).copy()

    def pack(self, *arguments: object, **keywords: object) -> tuple[Blocks, int]:
        """Return (this thread's blocks, one for each element, filled; number of elements)."""
        leaves = [self.signature.real(k, leaf) for k, leaf in enumerate(self._leaves(arguments, keywords))]
        elements, moving = batch_axes(self.signature, leaves)
        blocks = self._blocks(elements)
        rows, at = blocks.areas["rest"][:, :, 0], 0
        for leaf, own, shape in zip(leaves, moving, itertools.chain(*self.signature.shapes)):
            count = tree.size(shape)
            rows[:, at : at + count] = leaf.reshape(elements if own else 1, count)
            at += count
        return blocks, elements

    def _blocks(self, elements: int) -> Blocks:
        """Return this thread's memory for this number of elements."""
        kept = getattr(self._local, "blocks", None)
        if kept is None or kept.count != elements:
            kept = self._local.blocks = Blocks(self.code, elements)
        return kept

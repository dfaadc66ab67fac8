"""Exact derivatives of a plain-NumPy function, compiled.

A Jacobian is written out, every value with its nonzero tangents (``columns``), where that is less work. Where a loop
carries tangents, or nothing is sparse, it is one Jacobian-vector product with its directions across SIMD lanes: all
lanes share the values, and each lane of a block computes one direction. A gradient is one reverse sweep, whatever the
number of inputs.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike

from nptrace._types import PyTree
from nptrace.autodiff import derivative
from nptrace.autodiff.written_jacobian import LARGEST, WrittenJacobian, code_of, stored_code, written_program
from nptrace.codegen import interpret
from nptrace.codegen.emit import Layout
from nptrace.errors import InputError, unknown
from nptrace.frontend import signature, tracer, tree
from nptrace.frontend.signature import Signature
from nptrace.ir import program as ssa
from nptrace.ir.graph import Graph
from nptrace.ir.program import Program, Statistics
from nptrace.runtime import compiled, machine
from nptrace.runtime import lanes as lane_width
from nptrace.runtime.cache import Cache, opened
from nptrace.runtime.callables import Function, batch_axes
from nptrace.runtime.gc_paused import gc_paused
from nptrace.runtime.memory import Blocks, Code

_SMALL = 2000  # operations: a Jacobian of at most this size is always written out


def jacobian(
    function: Callable,
    *examples: object,
    wrt: object = 0,
    target: str = "native",
    dtype: DTypeLike = np.float64,
    lanes: int | None = None,
    cache: compiled.CacheChoice = True,
    names: Sequence[str] | None = None,
    host: machine.Host | None = None,
    at_zero: bool = False,
    key: str | None = None,
) -> Jacobian | WrittenJacobian:
    """Compile the exact Jacobian of a function.

    Args:
        function: Plain NumPy.
        *examples: Example arguments; their shapes count.
        wrt: Arguments to differentiate by (positions or names).
        target: ``native`` or ``interpret``.
        dtype: float64 or float32.
        lanes: Directions evaluated at a time.
        cache: Keep machine code on disk: True, False, or a folder.
        names: Names of the arguments.
        host: Target machine; this one unless given.
        at_zero: The arguments ``wrt`` are deviations, zero where the derivative is taken.
        key: As for ``compile``.

    Returns:
        A callable; arrays have the shape of the result followed by that of the argument, pytrees of arrays give
        pytrees, a sequence ``wrt`` a tuple.
    """
    if target not in ("native", "interpret"):
        raise unknown("target", target, ("native", "interpret"), "a Jacobian is made for")
    number = compiled._checked_dtype(dtype)
    written = target == "native" and lanes is None and not machine.unavailable()
    with gc_paused():
        traced = tracer.trace(function, *examples, differentiable=True, track_validity=written)
    sig = signature.of(function, examples, traced, names)
    where = signature.positions(wrt, sig.names, "wrt")
    first = list(itertools.accumulate(sig.sizes, initial=0))
    chosen = [i for k in where for i in range(first[k], first[k + 1])]
    if not chosen:
        raise InputError(f"{sig.function}: the arguments to differentiate by hold no numbers")
    single = not isinstance(wrt, (tuple, list))
    by = [_Argument(tree.flatten(examples[k])[1], sig.shapes[k], sig.plain[k]) for k in where]
    fold = _Folding(sig, by, single).folded

    def make_fallback() -> Jacobian:
        plain = tracer.trace(function, *examples, differentiable=True) if traced.invalid_flags else traced
        return _on_lanes(plain, sig, chosen, target, number, lanes, opened(cache), host, fold)

    if written:
        with gc_paused():
            made = _written(traced, sig, chosen, at_zero, number, opened(cache), host or machine.host(), key)
        if made is not None:
            return WrittenJacobian(sig, *made, len(chosen), fold, make_fallback)
    return make_fallback()


def _on_lanes(
    traced: tracer.Trace,
    sig: Signature,
    chosen: Sequence[int],
    target: str,
    number: np.dtype,
    lanes: int | None,
    store: Cache | None,
    host: machine.Host | None,
    fold: Callable[[np.ndarray], PyTree],
) -> Jacobian:
    """Compile a Jacobian with its directions on lanes."""
    inputs = traced.input_size
    graph, _, derivatives = derivative.jvp(traced.graph, traced.outputs, {i: inputs + k for k, i in enumerate(chosen)})
    labels = sig.labels() + [f"d {sig.labels()[i]}" for i in chosen]
    code = ssa.build(graph, derivatives, inputs + len(chosen), names=labels)
    if target == "native" and (reason := machine.unavailable()):
        machine.warn_interpreted(reason)
        target = "interpret"
    loaded = None
    if target == "native":
        host = host or machine.host()
        widest = lane_width.choose(host, number, store, code.size) if lanes is None else lane_width.checked(lanes)
        width = min(widest, 1 << (len(chosen) - 1).bit_length()) if lanes is None else widest
        layout = Layout((("shared", inputs), ("rest", len(chosen))))
        loaded, _ = compiled.build_code(code, layout, number, width, store, host)
    return Jacobian(sig, number, code, loaded, len(chosen), fold)


def _written(
    traced: tracer.Trace,
    sig: Signature,
    chosen: Sequence[int],
    at_zero: bool,
    number: np.dtype,
    store: Cache | None,
    host: machine.Host,
    key: str | None,
) -> tuple[Code, Program | Callable[[], Program], Statistics] | None:
    """Return (code, program, statistics) of a written-out Jacobian; None where directions on lanes are less work."""
    key = key and f"{key} by {chosen}{' at zero' if at_zero else ''}"

    def build() -> Program | None:
        return written_program(traced, sig, chosen, at_zero)

    if (stored := stored_code(number, store, host, key)) is not None:
        return stored[0], build, stored[1]  # type: ignore[return-value]
    program = build()
    if program is None or program.size > LARGEST:
        return None
    # estimated cost with directions on lanes: a value and its tangent for every block of directions
    dense = 2 * ssa.build(traced.graph, traced.outputs, traced.input_size).size
    blocks = -(-len(chosen) // lane_width.choose(host, number, store, dense))
    if program.size > max(_SMALL, 2 * blocks * dense):
        return None
    return code_of(program, number, store, host, key), program, program.statistics()


def gradient(
    function: Callable,
    *examples: object,
    wrt: object = 0,
    target: str = "native",
    dtype: DTypeLike = np.float64,
    lanes: int | None = None,
    cache: compiled.CacheChoice = True,
    names: Sequence[str] | None = None,
    host: machine.Host | None = None,
    settled: bool = False,
) -> Function:
    """Compile the gradient of a function that returns one number, by reverse-mode differentiation.

    Args:
        function: Plain NumPy.
        *examples: Example arguments; their shapes count.
        wrt: Arguments to differentiate by (positions or names).
        target: ``native``, ``batch`` or ``interpret``.
        dtype: float64 or float32.
        lanes: Elements per vector register, for ``batch``.
        cache: Keep machine code on disk: True, False, or a folder.
        names: Names of the arguments.
        host: Target machine; this one unless given.
        settled: Differentiate every ``custom_fixed_point`` through its last solution, in loops as well, and no
            iterations.

    Returns:
        A callable that returns arrays shaped like the arguments; a tuple for a sequence ``wrt``.
    """
    compiled._check_target(target)
    traced = tracer.trace(function, *examples, differentiable=True, assume_valid=settled, reverse=True)
    sig = signature.of(function, examples, traced, names)
    if len(traced.outputs) != 1:
        raise InputError(f"{sig.function} returns {len(traced.outputs)} numbers, gradient needs one: use jacobian")
    where = signature.positions(wrt, sig.names, "wrt")
    first = list(itertools.accumulate(sig.sizes, initial=0))
    chosen = [i for k in where for i in range(first[k], first[k + 1])]
    graph, _, derivatives = derivative.vjp(traced.graph, traced.outputs, [first[-1]], chosen)
    rebuilds = [tree.flatten(examples[k])[1] for k in where]
    counts = [len(sig.shapes[k]) for k in where]
    single = not isinstance(wrt, (tuple, list))

    def rebuild(leaves: list) -> PyTree:
        parts = iter(leaves)
        pytrees = [fold(list(itertools.islice(parts, n))) for fold, n in zip(rebuilds, counts)]
        return pytrees[0] if single else tuple(pytrees)

    shapes = [shape for k in where for shape in sig.shapes[k]]
    pulled = replace(sig, function=f"gradient of {sig.function}", output_shapes=shapes, rebuild=rebuild)
    pulled.output_spec, pulled.hidden = signature.output_spec(rebuild, shapes), [1.0]  # the adjoint of the result

    @dataclass
    class Pulled:
        graph: Graph
        outputs: list[int]

    return compiled.assemble(
        Pulled(graph, derivatives), pulled, target=target, dtype=dtype, lanes=lanes, cache=cache, host=host
    )


@dataclass
class _Argument:
    """A differentiated argument: how to fold derivatives by its arrays into its pytree."""

    fold: Callable[[list], PyTree]
    shapes: list[tuple[int, ...]]
    plain: bool


@dataclass
class _Folding:
    """The conversion of a matrix (all outputs by all directions) to the pytree that is returned."""

    sig: Signature
    by: list[_Argument]
    single: bool

    def folded(self, matrix: np.ndarray) -> PyTree:
        """Return one pytree like the results for each differentiated argument."""
        pytrees, column = [], 0
        for argument in self.by:
            width = sum(map(tree.size, argument.shapes))
            parts, row = [], 0
            for out in self.sig.output_shapes:
                rows = matrix[row : row + tree.size(out), column : column + width]
                parts.append(self._fold_argument(argument, rows, out))
                row += tree.size(out)
            pytrees.append(self.sig.rebuild(parts))
            column += width
        return pytrees[0] if self.single else tuple(pytrees)

    @staticmethod
    def _fold_argument(argument: _Argument, rows: np.ndarray, out: tuple[int, ...]) -> PyTree:
        arrays, at = [], 0
        for shape in argument.shapes:
            count = tree.size(shape)
            arrays.append(rows[:, at : at + count].reshape(out + shape))
            at += count
        return arrays[0] if argument.plain else argument.fold(arrays)


class Jacobian(Function):
    """A compiled Jacobian with its directions on lanes; see ``jacobian``."""

    def __init__(
        self,
        sig: Signature,
        dtype: np.dtype,
        program: Program,
        code: Code | None,
        directions: int,
        fold: Callable[[np.ndarray], PyTree],
    ) -> None:
        super().__init__(sig, dtype, program)
        self.__name__ = f"jacobian of {sig.function}"
        self.code, self.directions, self.folded = code, directions, fold
        self.target, self.lanes = ("native", code.lanes) if code else ("interpret", 1)
        self.statistics = program.statistics()
        self._local = threading.local()

    def __call__(self, *arguments: object, **keywords: object) -> PyTree:
        return self.folded(self.matrix(*arguments, **keywords))

    def matrix(self, *arguments: object, **keywords: object) -> np.ndarray:
        """Return all outputs by all directions, both flat."""
        leaves = self._leaves(arguments, keywords)
        blocks, flat = self._buffers()
        at = 0
        for k, (leaf, shape) in enumerate(zip(leaves, itertools.chain(*self.signature.shapes))):
            array = self.signature.real(k, leaf)
            if array.shape != shape:
                raise self.signature.wrong_shape(k, array.shape)
            count = tree.size(shape)
            flat[at : at + count] = array.reshape(-1)
            at += count
        m = self.directions
        if blocks is None:
            columns = np.concatenate([np.broadcast_to(flat[:, None], (len(flat), m)), np.eye(m, dtype=self.dtype)])
            return interpret.evaluate(self.program, columns)
        blocks.evaluate()
        return blocks.out.transpose(1, 0, 2).reshape(blocks.out.shape[1], -1)[:, :m].copy()

    def matrices(self, *arguments: object, **keywords: object) -> np.ndarray:
        """``matrix`` for a batch of n, (n, outputs, directions): arrays have a leading batch axis or are shared by all.

        Every element is evaluated separately, so that its numbers do not depend on those of the others.
        """
        leaves = [self.signature.real(k, leaf) for k, leaf in enumerate(self._leaves(arguments, keywords))]
        elements, moving = batch_axes(self.signature, leaves)
        rows = np.concatenate(
            [
                leaf.reshape(elements, -1) if own else np.broadcast_to(leaf.reshape(-1), (elements, leaf.size))
                for leaf, own in zip(leaves, moving)
            ],
            axis=1,
            dtype=self.dtype,
        )
        return self.matrices_of(rows)

    def matrices_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the matrices by all arguments of every element, flat."""
        elements, (blocks, flat) = len(rows), self._buffers()
        m = self.directions
        if blocks is None:
            whole = np.empty((len(flat) + m, elements, m), self.dtype)
            whole[: len(flat)], whole[len(flat) :] = rows.T[:, :, None], np.eye(m, dtype=self.dtype)[:, None]
            return (
                interpret.evaluate(self.program, whole.reshape(len(whole), -1)).reshape(-1, elements, m).swapaxes(0, 1)
            )
        out, lanes = blocks.out, self.lanes
        found = np.empty((elements, out.shape[1], len(out), lanes), self.dtype)
        lying = out.transpose(1, 0, 2)
        for k in range(elements):
            flat[:] = rows[k]
            blocks.evaluate()
            found[k] = lying
        return found.reshape(elements, out.shape[1], -1)[:, :, :m]

    def _buffers(self) -> tuple[Blocks | None, np.ndarray]:
        kept = getattr(self._local, "buffers", None)
        if kept is None:
            blocks = None
            flat = np.zeros(sum(self.signature.sizes), self.dtype)
            if self.code is not None:
                blocks = Blocks(self.code, -(-self.directions // self.lanes))
                for k in range(self.directions):  # lanes beyond the last direction push zero
                    blocks.areas["rest"][k // self.lanes, k, k % self.lanes] = 1
                flat = blocks.areas["shared"]
            kept = self._local.buffers = (blocks, flat)
        return kept

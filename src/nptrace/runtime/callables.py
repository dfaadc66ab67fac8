"""Callables on real arrays with the signature of the compiled function; results are always new arrays."""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from nptrace._types import PyTree
from nptrace.codegen import interpret
from nptrace.errors import InputError
from nptrace.frontend import tree
from nptrace.frontend.signature import Signature
from nptrace.ir.program import Program, Statistics


class Halted(Exception):
    """Raised when another thread cancelled the remaining steps."""


def raise_if_cancelled(halt: threading.Event | None) -> None:
    """Raise ``Halted`` if another thread has set ``halt``."""
    if halt is not None and halt.is_set():
        raise Halted


class Function:
    """Base of the callables of all targets: signature, and conversion of flat results to the function's pytree."""

    target = "interpret"
    lanes = 1
    halt: threading.Event | None = None  # set by another thread to cancel long loops
    batched = False
    _can_advance = True  # False where the first argument is shared by the batch

    def __init__(self, signature: Signature, dtype: np.dtype, program: Program | Callable[[], Program] | None) -> None:
        self.signature, self.dtype = signature, dtype
        self._program = program
        self.statistics: Statistics = {}
        self.__name__ = signature.function
        self._count, self._all_plain = len(signature.names), all(signature.plain)

    @property
    def program(self) -> Program:
        """The SSA program; traced now if the code came from the cache."""
        if callable(self._program):
            self._program = self._program()
        if self._program is None:
            raise InputError(f"{self.signature.function} was loaded from the cache without its source: no program")
        return self._program

    def __call__(self, *arguments: object, **keywords: object) -> PyTree:
        raise NotImplementedError

    def advance(self, steps: int, *arguments: object, **keywords: object) -> PyTree:
        """Feed the result back into the first argument ``steps`` times; other arguments are constant."""
        raise NotImplementedError

    def __repr__(self) -> str:
        arguments = ", ".join(self.signature.names)
        return f"<{self.signature.function}({arguments}) on {self.target}, {self.dtype.name} x {self.lanes}>"

    def __reduce__(self) -> NoReturn:
        raise InputError(
            f"the compiled function {self.__name__} cannot be copied or sent to another process: compile it there,"
            f" which is fast once it is in the cache"
        )

    def _leaves(self, arguments: Sequence, keywords: dict) -> Sequence:
        if keywords or len(arguments) != self._count:
            arguments = self.signature.bind(arguments, keywords)
        return arguments if self._all_plain else self.signature.leaves(arguments)

    def _fold(self, flat: np.ndarray) -> PyTree:
        """Return the function's pytree from the outputs of one element."""
        parts, at = [], 0
        for shape in self.signature.output_shapes:
            if shape:
                count = tree.size(shape)
                parts.append(flat[at : at + count].reshape(shape))
                at += count
            else:
                parts.append(flat[at])
                at += 1
        return self.signature.rebuild(parts)

    def roll(self, steps: int, *arguments: object, every: int = 1, **keywords: object) -> tuple[PyTree, PyTree]:
        """Feed the result, or the first of a tuple of results, back into the first argument ``steps`` times.

        Returns (the first argument after the last step, the results of every ``every``-th step along a further axis,
        which follows the batch axis).
        """
        steps = self._check_advance(steps, self.signature.rolls)
        if steps < 1 or operator.index(every) < 1:
            raise InputError(f"{self.__name__}.roll: steps and every must be at least 1, got {steps} and {every}")
        return self._roll(steps, every, arguments, keywords)

    def _roll(self, steps: int, every: int, arguments: Sequence, keywords: dict) -> tuple[PyTree, PyTree]:
        state, *rest = self.signature.bind(arguments, keywords)
        kept: list[list] = []
        rebuild: Callable[[list], PyTree] = self.signature.rebuild
        for k in range(steps):
            raise_if_cancelled(self.halt)
            result = self(state, *rest)
            state = result if self.signature.advances else result[0]
            if (k + 1) % every == 0:
                leaves, rebuild = tree.flatten(result)
                kept.append(leaves)
        axis = 1 if self.batched else 0
        empty = [np.zeros((0, *shape)) for shape in self.signature.output_shapes]
        return state, rebuild([np.stack(column, axis=axis) for column in zip(*kept)] if kept else empty)

    def _check_advance(self, steps: int, able: bool | None = None) -> int:
        if not (self.signature.advances if able is None else able) or not self._can_advance:
            given, got = self.signature.shapes[:1], self.signature.output_shapes
            why = f"its first argument has shapes {given} and its result {got}" if self._can_advance else "it is shared"
            raise InputError(f"{self.__name__} cannot feed its result back into its first argument: {why}")
        try:
            steps = operator.index(steps)
        except TypeError:
            steps = -1
        if steps < 0:
            raise InputError(f"{self.__name__}.advance: steps must be a whole number, zero or more")
        return steps


class PlainPython(Function):
    """The original function, if it cannot be traced; a batch is a loop over its elements."""

    target = "python"

    def __init__(self, function: Callable, signature: Signature, dtype: np.dtype, batched: bool) -> None:
        super().__init__(signature, dtype, None)
        self.function, self.batched = function, batched

    @property
    def program(self) -> Program:
        raise InputError(f"{self.__name__} runs in Python: its trace differs from NumPy, so it has no program")

    def __call__(self, *arguments: object, **keywords: object) -> PyTree:
        leaves = self._leaves(arguments, keywords)
        arguments = tuple(self.signature.bind(arguments, keywords))
        arrays = [self.signature.real(k, x) for k, x in enumerate(leaves)]
        if not self.batched:
            for k, (array, shape) in enumerate(zip(arrays, itertools.chain(*self.signature.shapes))):
                if array.shape != shape:
                    raise self.signature.wrong_shape(k, array.shape)
            return self.function(*arguments)
        elements, moving = batch_axes(self.signature, arrays)
        results, rebuild = [], None
        for r in range(elements):
            each, at = [], 0
            for argument, shapes in zip(arguments, self.signature.shapes):
                parts, fold = tree.flatten(argument)
                own: list[object] = [*parts] if len(parts) == len(shapes) else [argument]
                picked = [np.asarray(x)[r] if moving[at + k] else x for k, x in enumerate(own)]
                each.append(fold(picked) if len(own) > 1 else picked[0])
                at += len(own)
            found, rebuild = tree.flatten(self.function(*each))
            results.append(found)
        assert rebuild is not None
        return rebuild([np.stack(column) for column in zip(*results)])

    def advance(self, steps: int, *arguments: object, **keywords: object) -> PyTree:
        steps = self._check_advance(steps)
        state, *rest = self.signature.bind(arguments, keywords)
        for _ in range(steps):
            raise_if_cancelled(self.halt)
            state = self(state, *rest)
        return state


class Interpreted(Function):
    """The program interpreted with NumPy, with or without a batch axis."""

    def __init__(self, signature: Signature, dtype: np.dtype, program: Program, batched: bool) -> None:
        super().__init__(signature, dtype, program)
        self.batched = batched
        self.statistics = program.statistics()

    def _columns(self, arguments: Sequence, keywords: dict) -> np.ndarray:
        leaves = [self.signature.real(k, x) for k, x in enumerate(self._leaves(arguments, keywords))]
        shapes = list(itertools.chain(*self.signature.shapes))
        batch: tuple[int, ...] = ()
        moving = [False] * len(leaves)
        if self.batched:
            elements, moving = batch_axes(self.signature, leaves)
            batch = (elements,)
        parts = []
        for k, (leaf, shape) in enumerate(zip(leaves, shapes)):
            if not moving[k] and leaf.shape != shape:
                raise self.signature.wrong_shape(k, leaf.shape, self.batched)
            flat = leaf.reshape(batch[0], -1).T if moving[k] else leaf.reshape(-1, *([1] * len(batch)))
            parts.append(np.broadcast_to(flat, (tree.size(shape), *batch)))
        parts += [np.full((1, *batch), h) for h in self.signature.hidden]
        return np.concatenate([np.zeros((0, *batch), self.dtype), *(np.asarray(p, self.dtype) for p in parts)])

    def _results(self, flat: np.ndarray) -> PyTree:
        if not self.batched:
            return self._fold(flat)
        parts, at = [], 0
        for shape in self.signature.output_shapes:
            count = tree.size(shape)
            parts.append(np.ascontiguousarray(flat[at : at + count].T).reshape(-1, *shape))
            at += count
        return self.signature.rebuild(parts)

    def __call__(self, *arguments: object, **keywords: object) -> PyTree:
        return self._results(interpret.evaluate(self.program, self._columns(arguments, keywords)))

    def advance(self, steps: int, *arguments: object, **keywords: object) -> PyTree:
        steps = self._check_advance(steps)
        columns = self._columns(arguments, keywords)
        size = self.signature.sizes[0]
        for _ in range(steps):
            raise_if_cancelled(self.halt)
            columns[:size] = interpret.evaluate(self.program, columns)
        return self._results(columns[:size])


def batch_axes(signature: Signature, leaves: Sequence[np.ndarray]) -> tuple[int, list[bool]]:
    """Return (number of elements, whether each array has a batch axis)."""
    elements, first, moving = None, 0, []
    for k, (leaf, shape) in enumerate(zip(leaves, itertools.chain(*signature.shapes))):
        if leaf.shape == shape:
            moving.append(False)
            continue
        if leaf.shape[1:] != shape or leaf.ndim != len(shape) + 1:
            raise signature.wrong_shape(k, leaf.shape, batch=True)
        moving.append(True)
        if elements is None:
            elements, first = len(leaf), k
        elif len(leaf) != elements:
            raise InputError(
                f"{signature.function}: {signature.where(k)} has {len(leaf)} elements,"
                f" {signature.where(first)} {elements}"
            )
    if elements is None:
        raise InputError(f"{signature.function}: no argument has a batch axis; one of them needs shape (n, ...)")
    if elements == 0:
        raise InputError(f"{signature.function}: {signature.where(first)} holds no elements (its first axis is 0)")
    return elements, moving

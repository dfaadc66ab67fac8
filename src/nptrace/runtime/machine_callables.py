"""Programs as machine code: for one element, and for many on the lanes of vector instructions.

Buffers are allocated once per thread, since allocation and pointer setup cost far more than a small kernel. Machine
code runs without the GIL, so that threads run in parallel.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence

import numpy as np

from nptrace._types import PyTree
from nptrace.errors import InputError
from nptrace.frontend import tree
from nptrace.frontend.signature import Signature
from nptrace.ir.program import Program
from nptrace.runtime.callables import Function, batch_axes
from nptrace.runtime.memory import Blocks, Code


class Native(Function):
    """Machine code for one element."""

    target = "native"
    batched = False

    def __init__(self, signature: Signature, code: Code, program: Program | Callable[[], Program] | None) -> None:
        super().__init__(signature, code.dtype, program)
        self.code, self.lanes = code, code.lanes
        self._local = threading.local()
        shapes = list(itertools.chain(*signature.shapes))
        self._slots, locations, at = [], code.layout.locations(), 0
        for shape in [*shapes, *[()] * len(signature.hidden)]:
            count = tree.size(shape)
            area, offset = locations[at] if count else ("rest", 0)
            self._slots.append((area, offset, count, shape))
            at += count
        outputs = signature.output_shapes
        # a single array needs no folding
        self._direct = bool(outputs and outputs[0]) and signature.output_spec == {"leaf": list(outputs[0])}
        self._shape = outputs[0] if self._direct else ()

    def _allocate(self) -> tuple:
        """Return memory for a call: (blocks, a view of every argument's array, the flat results, the flat state)."""
        blocks = Blocks(self.code, 1)
        views = []
        for area, offset, count, shape in self._slots:
            flat = blocks.areas[area].reshape(-1)[offset : offset + count]
            views.append(flat.reshape(shape))
        for view, number in zip(views[len(views) - len(self.signature.hidden) :], self.signature.hidden):
            view[...] = number
        return blocks, views, blocks.out.reshape(-1), blocks.areas["state"].reshape(-1)

    def _fill(self, arguments: Sequence, keywords: dict) -> tuple:
        try:
            kept = self._local.buffers
        except AttributeError:
            kept = self._local.buffers = self._allocate()
        if keywords or not self._all_plain or len(arguments) != self._count:
            arguments = self._leaves(arguments, keywords)
        dtype = self.dtype
        for leaf, view in zip(arguments, kept[1]):
            kind = leaf.__class__
            if kind is np.ndarray:
                if leaf.dtype is dtype and leaf.shape == view.shape:
                    view[...] = leaf
                    continue
            elif (kind is float or kind is np.float64) and view.ndim == 0:
                view[...] = leaf
                continue
            self._fill_slowly(arguments, kept[1])
            break
        return kept

    def _fill_slowly(self, leaves: Sequence, views: list) -> None:
        for k, (leaf, view) in enumerate(zip(leaves, views)):
            array = self.signature.real(k, leaf)
            if array.shape != view.shape:
                raise self.signature.wrong_shape(k, array.shape)
            with np.errstate(over="ignore"):
                view[...] = array

    def __call__(self, *arguments: object, **keywords: object) -> PyTree:
        blocks, _, out, _ = self._fill(arguments, keywords)
        blocks.evaluate()
        return out.copy().reshape(self._shape) if self._direct else self._fold(out.copy())

    def advance(self, steps: int, *arguments: object, **keywords: object) -> PyTree:
        """Feed the result back into the first argument ``steps`` times; other arguments are constant."""
        steps = self._check_advance(steps)
        blocks, _, _, state = self._fill(arguments, keywords)
        if steps:
            blocks.advance(steps, self.halt)
        return self._fold(state.copy())

    def _roll(self, steps: int, every: int, arguments: Sequence, keywords: dict) -> tuple[PyTree, PyTree]:
        blocks, _, out, _ = self._fill(arguments, keywords)
        record = blocks.roll(steps, every, self.halt)[0, :, :, 0]
        parts, at = [], 0
        for shape in self.signature.output_shapes:
            size = tree.size(shape)
            parts.append(np.ascontiguousarray(record[:, at : at + size]).reshape(len(record), *shape))
            at += size
        after = self._fold(out.copy())
        return after if self.signature.advances else after[0], self.signature.rebuild(parts)

    def resident(self) -> Resident:
        """Return this function with separate memory, for calls without checks."""
        return Resident(self)


class Resident:
    """A native function for repeated calls.

    A call checks nothing and builds no pytree: arguments are written into the views of their arrays. For a function
    that can be rolled, the first argument is also a flat array, ``state``, and the result of a call begins with the
    next state.
    """

    def __init__(self, function: Native) -> None:
        self.function = function  # the code must outlive the memory
        self._blocks, views, self.out, self.state = function._allocate()  # the results and the first argument, flat
        first = len(function.signature.shapes[0])
        self.first, self.rest = views[:first], views[first : len(views) - len(function.signature.hidden)]
        self._size = len(self.state)

    def __call__(self) -> np.ndarray:
        """Return the results of one call, flat and newly allocated; the first argument is unchanged."""
        self._blocks.evaluate()
        return self.out.copy()

    def go_on_from(self, flat: np.ndarray) -> None:
        """Set the first argument from the result of a call."""
        self.state[...] = flat[: self._size]


class Batch(Function):
    """Machine code for a batch: arguments have a leading batch axis, or none if all elements share them."""

    target = "batch"
    batched = True

    def __init__(self, signature: Signature, code: Code, program: Program | Callable[[], Program] | None) -> None:
        super().__init__(signature, code.dtype, program)
        self.code, self.lanes = code, code.lanes
        self._can_advance = code.roll is not None
        self._locations = code.layout.locations()
        self._local = threading.local()

    def __call__(self, *arguments: object, **keywords: object) -> PyTree:
        blocks, elements = self.pack(*arguments, **keywords)
        blocks.evaluate()
        return self.unpack(blocks.out, elements)

    def advance(self, steps: int, *arguments: object, **keywords: object) -> PyTree:
        """Feed the result back into the first argument ``steps`` times; other arguments are constant."""
        steps = self._check_advance(steps)
        blocks, elements = self.pack(*arguments, **keywords)
        if steps:
            blocks.advance(steps, self.halt)
        return self.unpack(blocks.areas["state"], elements)

    def _roll(self, steps: int, every: int, arguments: Sequence, keywords: dict) -> tuple[PyTree, PyTree]:
        blocks, elements = self.pack(*arguments, **keywords)
        record = blocks.roll(steps, every, self.halt)  # (block, row, scalar, lane)
        parts, at = [], 0
        for shape in self.signature.output_shapes:
            size = tree.size(shape)
            part = record[:, :, at : at + size].transpose(0, 3, 1, 2)
            part = part.reshape(len(record) * self.lanes, record.shape[1], *shape)
            parts.append(np.ascontiguousarray(part[:elements]))
            at += size
        after = self.unpack(blocks.out, elements)
        return after if self.signature.advances else after[0], self.signature.rebuild(parts)

    def pack(self, *arguments: object, **keywords: object) -> tuple[Blocks, int]:
        """Return (this thread's blocks, filled; number of elements). The last block repeats its last element."""
        signature = self.signature
        leaves = [signature.real(k, x) for k, x in enumerate(self._leaves(arguments, keywords))]
        elements, moving = batch_axes(signature, leaves)
        count = -(-elements // self.lanes)
        kept = self._local.__dict__.setdefault("blocks", {})
        if count not in kept:
            if (
                len(kept) > 1
            ):  # a caller that splits a large batch into chunks uses two sizes, as the last chunk is shorter
                kept.clear()
            kept[count] = Blocks(self.code, count)
        blocks = kept[count]
        locations, at = self._locations, 0
        shapes = list(itertools.chain(*signature.shapes))
        with np.errstate(over="ignore"):
            for k, (leaf, shape) in enumerate(zip(leaves, shapes)):
                size = tree.size(shape)
                if size:
                    area, offset = locations[at]
                    self._put(blocks.areas[area], offset, size, leaf, moving[k], k, elements)
                at += size
            for number in signature.hidden:
                area, offset = locations[at]
                self._put(blocks.areas[area], offset, 1, np.asarray(number), False, -1, elements)
                at += 1
        return blocks, elements

    def _put(
        self, area: np.ndarray, offset: int, size: int, leaf: np.ndarray, moving: bool, position: int, elements: int
    ) -> None:
        if area.ndim == 1:
            if moving:
                raise InputError(
                    f"{self.__name__}: {self.signature.where(position)} is shared by the batch and has no batch axis"
                )
            area[offset : offset + size] = leaf.reshape(-1)
            return
        target = area[:, offset : offset + size]
        if not moving:
            target[...] = leaf.reshape(-1, 1)
            return
        flat, full = leaf.reshape(elements, size), elements // self.lanes
        whole = full * self.lanes
        target[:full] = flat[:whole].reshape(full, self.lanes, size).transpose(0, 2, 1)
        if whole < elements:
            rest = elements - whole
            target[full, :, :rest] = flat[whole:].T
            target[full, :, rest:] = flat[-1][:, None]

    def unpack(self, blocks: np.ndarray, elements: int) -> PyTree:
        """Return the pytree of results, with a batch axis, from memory laid out as (block, scalar, lane)."""
        parts, at = [], 0
        for shape in self.signature.output_shapes:
            size = tree.size(shape)
            part = np.empty((len(blocks) * self.lanes, size), self.dtype)
            part.reshape(len(blocks), self.lanes, size)[...] = blocks[:, at : at + size].transpose(0, 2, 1)
            parts.append(part[:elements].reshape(elements, *shape))
            at += size
        return self.signature.rebuild(parts)

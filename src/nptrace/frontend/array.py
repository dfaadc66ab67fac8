"""Symbolic arrays: an ndarray subclass whose elements are traced scalars, so that plain NumPy code traces itself.

``Array`` is an object-dtype ndarray of ``Scalar`` and plain numbers: shapes, slices, broadcasting, ``@``, ``.T``,
``np.stack`` and the rest are NumPy's own; ``__array_ufunc__`` and ``__array_function__`` (see dispatch.py) replace
operations in which NumPy would inspect values.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from nptrace import numeric
from nptrace._types import Operand
from nptrace.frontend.scalar import Element, Scalar, number, truth_of
from nptrace.ir.graph import Graph, Node
from nptrace.ir.refusal import refusal

# constructors.py replaces those of the numpy namespace while a trace runs
_array, _empty, _full, _asarray, _fromiter = np.array, np.empty, np.full, np.asarray, np.fromiter
_FLOAT, _BOOL = np.dtype(np.float64), np.dtype(np.bool_)
_TRUTHS = (bool, np.bool_)


Axis: TypeAlias = int | Sequence[int] | None


class Array(np.ndarray):
    """An object-dtype ndarray of traced scalars and plain numbers."""

    _made_in: int | None = None  # the loop body in which its memory was allocated; it may be changed only there

    def __array_finalize__(self, source: object) -> None:
        if type(source) is Array and self.base is not None:  # a view
            self._made_in = source._made_in
        else:
            active = numeric.tracer.get()
            self._made_in = None if active is None else active.scope

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Operand:
        from nptrace.frontend.dispatch import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Callable, types: object, args: Operand, kwargs: Operand) -> Operand:
        from nptrace.frontend.dispatch import apply_function

        return apply_function(function, args, kwargs)

    # -- elements ------------------------------------------------------------------------------------------------------
    def __getitem__(self, index: object) -> Operand:
        if type(index) is not int and has_scalars(index):
            if is_truth(index):
                raise refusal("a mask of traced values has no known size: use np.where(mask, x, 0) instead of x[mask]")
            raise refusal("a traced value cannot index an array: use lookup(table, i)")
        return super().__getitem__(known(index))

    def __setitem__(self, index: Operand, value: Operand) -> None:
        check_writable(self)
        if type(index) is not int and has_scalars(index):
            if not is_truth(index) or np.ndim(value):
                raise refusal("assignment at an index that depends on a traced value: use np.where(mask, value, x)")
            if np.shape(index) != self.shape[: np.ndim(index)]:
                raise IndexError(f"a mask of shape {np.shape(index)} does not fit an array of shape {self.shape}")
            mask = index.reshape(index.shape + (1,) * (self.ndim - index.ndim)) if np.ndim(index) else index
            index, value = ..., np.where(mask, value, self)
        elif not isinstance(value, (np.ndarray, Scalar)) and has_scalars(value):
            value = plain_array(value)  # NumPy would call len() on the elements of a list
        if is_truth(self):
            value = wrap(_to_truths(plain(value)))
        elif holds_truths(value):
            value = counted(value)
        super().__setitem__(known(index), value)

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.view(np.ndarray).item())
        raise refusal("the truth of a traced array is not known while tracing: use np.where(condition, a, b)")

    def __contains__(self, value: object) -> bool:
        if has_scalars(self) or has_scalars(value):
            raise refusal("`in` compares traced values: use np.any(np.abs(x - value) < tolerance) in np.where")
        return value in self.view(np.ndarray)

    def fill(self, value: object) -> None:
        self[...] = value

    # -- attributes as for an array of floats --------------------------------------------------------------------------
    @property
    def dtype(self) -> np.dtype:
        return _BOOL if is_truth(self) else _FLOAT

    def astype(self, dtype: DTypeLike | None, *args: Operand, **kwargs: Operand) -> Operand:
        wanted = np.dtype(dtype)
        if wanted == _FLOAT or (wanted.kind in "fiu" and is_truth(self)):
            return counted(self)
        if wanted == _BOOL:
            return wrap(_to_truths(self.view(np.ndarray)))
        if wanted.kind == "O":
            return self.copy()
        if not has_scalars(self):
            return plain_numbers(self).astype(wanted, *args, **kwargs)
        raise refusal(
            f"a traced array cannot become {wanted}: every traced value is a real number, and its precision is chosen"
            " when the trace is compiled; use np.floor or np.rint to round"
        )

    def mean(self, *args: Operand, **kwargs: Operand) -> Operand:
        return np.mean(self, *args, **kwargs)

    def var(self, *args: Operand, **kwargs: Operand) -> Operand:
        return np.var(self, *args, **kwargs)

    def std(self, *args: Operand, **kwargs: Operand) -> Operand:
        return np.std(self, *args, **kwargs)

    def clip(self, *args: Operand, **kwargs: Operand) -> Operand:
        return np.clip(self, *args, **kwargs)

    def round(self, *args: Operand, **kwargs: Operand) -> Operand:
        return np.round(self, *args, **kwargs)

    def cumsum(self, *args: Operand, **kwargs: Operand) -> Operand:
        return np.cumsum(self, *args, **kwargs)

    def trace(self, *args: Operand, **kwargs: Operand) -> Operand:
        return np.trace(self, *args, **kwargs)


def _known_only(name: str, remedy: str) -> None:
    """Return a method that reads values: it works on an Array of constants and raises on traced values."""

    def method(self: Array, *args: object, **kwargs: object) -> Operand:
        if has_scalars(self) or has_scalars(args):
            raise refusal(f".{name}() of a traced array: {remedy}")
        numbers = plain_numbers(self)
        result = getattr(numbers, name)(*args, **kwargs)
        if name in ("sort", "partition", "put"):
            self[...] = numbers
        return result

    method.__name__ = name
    setattr(Array, name, method)


_COMPARE = "the order of traced values is not known; use np.minimum, np.maximum and np.where"
_PLACE = "where traced values lie is not known; use np.where(condition, a, b) or lookup(table, i)"
_MEMORY = "traced values have no bytes; return the array and convert the result"
for _names, _remedy in (
    (("sort", "argsort", "argmax", "argmin", "partition", "argpartition", "searchsorted"), _COMPARE),
    (("nonzero", "choose", "compress", "put"), _PLACE),
    (
        ("tobytes", "tofile", "dump", "dumps", "byteswap", "getfield", "setfield", "__reduce__", "__reduce_ex__"),
        _MEMORY,
    ),
):
    for _name in _names:
        _known_only(_name, _remedy)


# -- construction and conversion ---------------------------------------------------------------------------------------
def wrap(values: object) -> Operand:
    """Return an object ndarray as an Array; a single element as it is."""
    if isinstance(values, np.ndarray):
        return values.view(Array) if values.ndim else values.item()
    return values


def symbols(graph: Graph, nodes: Sequence[Node], shape: tuple[int, ...]) -> Operand:
    """Return an Array of the given nodes; a Scalar for shape ()."""
    # an assignment would check in three ways whether each Scalar is an array
    out = _fromiter([Scalar(graph, n) for n in nodes], object, len(nodes))
    return out.reshape(shape).view(Array) if shape != () else out[0]


def plain(x: Operand) -> Operand:
    """Return x with every Array inside viewed as a base-class object ndarray."""
    if isinstance(x, np.ndarray):
        return x.view(np.ndarray) if type(x) is Array else x
    if type(x) is Scalar:
        out = _empty((), dtype=object)
        out[()] = x
        return out
    if type(x) in (list, tuple):
        return type(x)(map(plain, x))
    return x


def plain_array(values: object) -> np.ndarray:
    """Return a pytree of lists of traced values as a base-class object ndarray."""
    return _array(values, dtype=object).view(np.ndarray)


def has_scalars(values: Operand) -> bool:
    """Return whether a pytree of lists and arrays holds a traced scalar (an Array may hold only numbers)."""
    if type(values) is Scalar:
        return True
    if isinstance(values, np.ndarray):
        values = values.view(np.ndarray)
        return values.dtype == object and any(type(x) is Scalar for x in values.flat)
    return type(values) in (list, tuple) and any(map(has_scalars, values))


def has_symbols(values: object) -> bool:
    """Return whether a pytree of lists, arrays and numbers holds a traced value or a symbolic array."""
    if type(values) is Scalar or type(values) is Array:
        return True
    if isinstance(values, np.ndarray):
        return has_scalars(values)
    return isinstance(values, (list, tuple)) and any(map(has_symbols, values))


def is_truth(values: object) -> bool:
    """Return whether all elements are truth values."""
    if type(values) is Scalar:
        return values.is_truth
    if not isinstance(values, np.ndarray):
        return isinstance(values, _TRUTHS)
    values = values.view(np.ndarray)
    if values.dtype != object:
        return values.dtype == _BOOL
    return values.size > 0 and all(x.is_truth if type(x) is Scalar else type(x) in _TRUTHS for x in values.flat)


def holds_truths(values: object) -> bool:
    """Return whether any element is a truth value."""
    if type(values) is Scalar:
        return values.is_truth
    if not isinstance(values, np.ndarray):
        return isinstance(values, _TRUTHS)
    values = values.view(np.ndarray)
    if values.dtype != object:
        return values.dtype == _BOOL
    return any(x.is_truth if type(x) is Scalar else type(x) in _TRUTHS for x in values.flat)


def alike(values: object) -> Operand:
    """Return an object array of only truth values or only numbers: beside numbers, truth values become 0 or 1."""
    if isinstance(values, np.ndarray) and holds_truths(values) and not is_truth(values):
        return _to_numbers(values.view(np.ndarray))
    return values


def known(index: object) -> Operand:
    """Return an index with Arrays of constants as plain arrays (integers stay integers)."""
    if type(index) is Array:
        return _array(index.tolist())
    if type(index) is tuple:
        return tuple(map(known, index))
    return index


def plain_numbers(values: object) -> np.ndarray:
    """Return a pytree without traced scalars as a float or boolean array."""
    if isinstance(values, np.ndarray) and values.view(np.ndarray).dtype != object:
        return values
    return _asarray(values, dtype=bool if is_truth(values) else float).view(np.ndarray)


def counted(values: object) -> Operand:
    """Return truth values as 0 and 1, as in NumPy's sums."""
    base = plain(values)
    if isinstance(base, _TRUTHS):
        return float(base)
    if not isinstance(base, np.ndarray) or base.dtype != object:
        return values
    return wrap(_to_numbers(base))


def elements(leaf: Operand) -> Iterable[Element]:
    """Return the elements of an array or a number, flat."""
    return leaf.view(np.ndarray).ravel().tolist() if isinstance(leaf, np.ndarray) else [leaf]


def check_writable(array: np.ndarray) -> None:
    """Refuse an in-place change that would be visible elsewhere in NumPy but not in the trace."""
    if not array.flags.writeable:
        raise refusal(
            "an argument of the traced function, or the carry of a loop, is changed in place: write x = x + 1 rather"
            " than x += 1, or change a copy (x = x.copy())"
        )
    active = numeric.tracer.get()
    if active is not None and getattr(array, "_made_in", active.scope) != active.scope:
        raise refusal(
            "an array made outside the body of a repeat is changed inside it, but the body is traced once: carry it"
            " through the loop and return a changed copy"
        )


def _as_number(x: Element) -> Element:
    if type(x) is Scalar:
        return Scalar(x.graph, number(x.graph, x.node)) if x.is_truth else x
    return float(x)


def _as_truth(x: Element) -> Element:
    return Scalar(x.graph, truth_of(x.graph, x)) if type(x) is Scalar else bool(x)


_to_numbers, _to_truths = np.frompyfunc(_as_number, 1, 1), np.frompyfunc(_as_truth, 1, 1)

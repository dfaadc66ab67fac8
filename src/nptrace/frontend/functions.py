"""NumPy's functions that are not ufuncs, for traced values: those that run unchanged, and those with a version here.

``NATIVE`` functions only move elements, or combine them with + and *: NumPy's code is correct for them on object
arrays. ``ADAPTED`` functions decide by value or by type in NumPy. All others are refused.
"""

import math
from collections.abc import Callable
from types import ModuleType

import numpy as np
from numpy.typing import DTypeLike

from nptrace._types import Given, Operand
from nptrace.frontend import linear_algebra
from nptrace.frontend.array import (
    Array,
    Axis,
    _array,
    _asarray,
    _full,
    _to_numbers,
    alike,
    check_writable,
    counted,
    has_scalars,
    has_symbols,
    holds_truths,
    is_truth,
    plain,
    plain_array,
    plain_numbers,
    wrap,
)
from nptrace.frontend.dispatch import UFUNCS, reduce
from nptrace.frontend.scalar import Element, Scalar, is_scalar, select
from nptrace.ir.refusal import refusal

_where = np.frompyfunc(select, 3, 1)


# -- choices -----------------------------------------------------------------------------------------------------------
def where(condition: object, *branches: object) -> Operand:
    if len(branches) != 2:
        raise refusal("np.where(condition) finds positions by value: use np.where(condition, a, b)")
    return wrap(alike(_where(_elements(condition), *map(_elements, branches))))


def _elements(x: object) -> Operand:
    return plain(x) if not isinstance(x, (list, tuple)) else plain_array(x)


def select_first(condlist: Operand, choicelist: Operand, default: Operand = 0) -> Operand:
    if len(condlist) != len(choicelist):
        raise ValueError("np.select needs as many choices as conditions")
    result = default
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        result = where(condition, choice, result)
    return result


def clip(
    a: Operand,
    a_min: Operand = None,
    a_max: Operand = None,
    out: object = None,
    *,
    min: Operand = None,
    max: Operand = None,
) -> Operand:
    low, high = a_min if min is None else min, a_max if max is None else max
    result = a if low is None else np.maximum(a, low)
    result = result if high is None else np.minimum(result, high)
    return _deliver(np.positive(result) if result is a else result, out)


def _deliver(result: object, out: object) -> Operand:
    if out is None:
        return result
    if type(out) is not Array:
        raise refusal("out= must be an array made inside the traced function")
    out[...] = result
    return out


def nan_to_num(
    x: Operand, copy: bool = True, nan: float = 0.0, posinf: Operand = None, neginf: Operand = None
) -> Operand:
    largest = np.finfo(float).max
    x = where(np.isnan(x), nan, x)
    x = where(x >= np.inf, largest if posinf is None else posinf, x)
    return where(x <= -np.inf, -largest if neginf is None else neginf, x)


def isclose(a: Operand, b: Operand, rtol: Operand = 1e-5, atol: Operand = 1e-8, equal_nan: bool = False) -> Operand:
    if equal_nan:
        raise refusal("np.isclose(..., equal_nan=True) cannot be traced")
    near = np.abs(a - b) <= atol + rtol * np.abs(b)
    if not has_scalars(b) and np.all(np.isfinite(plain_numbers(_asarray(b)))):
        return near
    return (near & np.isfinite(b)) | ((a <= b) & (a >= b))  # an infinity is close only to itself


# -- reductions --------------------------------------------------------------------------------------------------------
def _reduction(ufunc: np.ufunc) -> Callable[..., Operand]:
    def function(
        a: object,
        axis: Axis = None,
        out: object = None,
        keepdims: object = False,
        initial: object = None,
        where: object = True,
    ) -> Operand:
        if where is not True and where is not np._NoValue:
            raise refusal(f"np.{ufunc.__name__} with where=: use np.where on the values first")
        keepdims = keepdims is not np._NoValue and bool(keepdims)
        return _deliver(reduce(UFUNCS[ufunc], a, axis, keepdims=keepdims, initial=initial), out)

    return function


_maximum, _minimum = _reduction(np.maximum), _reduction(np.minimum)


def mean(
    a: Operand,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: object = None,
    keepdims: object = False,
    **other: object,
) -> Operand:
    if other.get("where", True) is not True:
        raise refusal("np.mean with where=: use np.where on the values first")
    a = counted(a)
    total = np.sum(a, axis=axis, keepdims=bool(keepdims) and keepdims is not np._NoValue)
    return _deliver(total / (np.size(a) / max(np.size(total), 1)), out)


def var(
    a: Operand,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: object = None,
    ddof: float = 0,
    keepdims: object = False,
    **other: object,
) -> Operand:
    if other.get("where", True) is not True:
        raise refusal("np.var with where=: use np.where on the values first")
    centred = counted(a) - mean(a, axis=axis, keepdims=True)
    total = np.sum(centred * centred, axis=axis, keepdims=bool(keepdims) and keepdims is not np._NoValue)
    return _deliver(total / (np.size(a) / max(np.size(total), 1) - ddof), out)


def std(a: Operand, *args: Operand, out: object = None, **kwargs: Operand) -> Operand:
    return _deliver(np.sqrt(var(a, *args, **kwargs)), out)


def average(
    a: Operand, axis: Axis = None, weights: Operand = None, returned: bool = False, *, keepdims: object = False
) -> Operand:
    if returned or (np.ndim(weights) != np.ndim(a) and weights is not None):
        raise refusal("np.average with returned=True or weights of another shape: divide two sums")
    if weights is None:
        return mean(a, axis=axis, keepdims=keepdims)
    keepdims = bool(keepdims) and keepdims is not np._NoValue
    return np.sum(a * weights, axis=axis, keepdims=keepdims) / np.sum(_asarray(weights), axis=axis, keepdims=keepdims)


def norm(x: Operand, ord: Given = None, axis: Axis = None, keepdims: bool = False) -> Operand:
    one_axis = isinstance(axis, (int, np.integer)) or (axis is None and np.ndim(x) == 1)
    if ord is None or (ord == 2 and one_axis) or (ord == "fro" and not one_axis):
        return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))
    if one_axis and ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if one_axis and ord in (np.inf, -np.inf):
        return (_maximum if ord > 0 else _minimum)(np.abs(x), axis=axis, keepdims=keepdims)
    raise refusal(f"np.linalg.norm with ord={ord!r} cannot be traced: only the 2, 1 and infinity norms of vectors")


def vector_norm(x: Operand, *, axis: Axis = None, keepdims: bool = False, ord: Given = 2) -> Operand:
    if axis is None and not keepdims:
        return norm(np.ravel(x), ord)
    return norm(x, ord, axis, keepdims)


def diff(a: object, n: int = 1, axis: int = -1, **ends: object) -> Operand:
    if is_truth(a):
        raise refusal("np.diff of booleans: convert them to numbers first (1.0 * condition)")
    return wrap(np.diff(plain(a), n, axis, **{k: plain(v) for k, v in ends.items()}))


def matrix_power(a: Operand, n: int) -> Operand:
    if n < 0:
        raise refusal("a negative power of a traced matrix needs its inverse: write the factorisation with arithmetic")
    result = np.eye(np.shape(a)[-1])
    for _ in range(n):
        result = a @ result
    return result


# -- numbers -----------------------------------------------------------------------------------------------------------
def round_to(a: Operand, decimals: int = 0, out: object = None) -> Operand:
    if decimals < 0:
        raise refusal("np.round to tens or hundreds: divide, np.rint, and multiply")
    scale = 10.0**decimals
    return _deliver(np.rint(a) if decimals == 0 else np.rint(a * scale) / scale, out)


def linspace(
    start: Operand,
    stop: Operand,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Operand:
    parts = num - 1 if endpoint else num
    step = (stop - start) / parts if parts > 0 else np.nan
    rows = [start + k * step if k else start + 0.0 * stop for k in range(num)]
    if endpoint and num > 1:
        rows[-1] = stop + 0.0 * start
    result = np.stack(rows, axis=axis)
    return (result, step) if retstep else result


def interp(
    x: Operand, xp: Operand, fp: Operand, left: Operand = None, right: Operand = None, period: Operand = None
) -> Operand:
    """Interpolate linearly; ``xp`` must be known. The segment is found by counting the knots below x."""
    if period is not None:
        raise refusal("np.interp with period=: reduce x with % first")
    if has_scalars(xp):
        raise refusal("np.interp with traced knots xp: the knots must be known; fp and x may be traced")
    knots = np.ravel(plain_numbers(xp)).astype(float)
    if len(knots) != len(fp) or (np.diff(knots) <= 0).any():
        raise refusal("np.interp needs as many values as knots, and increasing knots")
    values = plain(_asarray(fp)) if has_symbols(fp) else _asarray(fp, dtype=float)
    result = wrap(np.frompyfunc(lambda one: _interpolate(one, knots, values.tolist()), 1, 1)(plain(x)))
    if left is not None:
        result = where(x < knots[0], left, result)
    return result if right is None else where(x > knots[-1], right, result)


def _interpolate(x: Element, knots: np.ndarray, values: list) -> Element:
    if not is_scalar(x):
        k = int(np.clip(np.searchsorted(knots, x, side="right") - 1, 0, max(len(knots) - 2, 0)))
        inside = np.clip(x, knots[0], knots[-1])
        if len(knots) == 1:
            return values[0]
        return values[k] + (values[k + 1] - values[k]) * ((inside - knots[k]) / (knots[k + 1] - knots[k]))
    inside = np.minimum(np.maximum(x, knots[0]), knots[-1])
    if len(knots) == 1:
        return values[0] + 0.0 * x
    segments = [(values[k + 1] - values[k]) / (knots[k + 1] - knots[k]) for k in range(len(knots) - 1)]
    if has_scalars(values) or len(knots) < 4:
        result = values[0] + segments[0] * (inside - knots[0])
        for k in range(1, len(segments)):
            result = select(x >= knots[k], values[k] + segments[k] * (inside - knots[k]), result)
        return _at_knots(inside, knots, values, result)
    g = x.graph
    count = g.const(0)
    for knot in knots[1:-1]:
        count = g.add(count, g.select(g.less_equal(g.const(knot), x.node), g.const(1), g.const(0)))
    value, slope, knot = (
        Scalar(g, g.lookup(g.table(_array(column, dtype=float)), count))
        for column in (values[:-1], segments, knots[:-1])
    )
    result = value + slope * (inside - knot)
    return _at_knots(inside, knots, values, result)


def _at_knots(x: Element, knots: np.ndarray, values: list, result: Element) -> Element:
    """Give a knot's value at that knot, as NumPy does, even beside a value that is known not to be finite."""
    if all(is_scalar(value) or math.isfinite(value) for value in values):
        return result
    for value, knot in zip(values, knots):
        result = select((x >= knot) & (x <= knot), value, result)
    return result


def pad(array: Operand, pad_width: Given, mode: Given = "constant", **options: Operand) -> Operand:
    if mode not in ("constant", "edge", "wrap", "reflect") or has_scalars(tuple(options.values())):
        raise refusal("np.pad of traced values supports only constant (by known values), edge, wrap and reflect")
    return wrap(np.pad(plain(array), pad_width, mode, **options))


def count_nonzero(a: Operand, axis: Axis = None, *, keepdims: bool = False) -> Operand:
    if not is_truth(a):
        raise refusal("np.count_nonzero of numbers compares them with zero: count a condition instead")
    return np.sum(a, axis=axis, keepdims=keepdims)


# -- constructing arrays -----------------------------------------------------------------------------------------------
def _like(fill: float) -> Callable[..., Operand]:
    def make(
        prototype: Operand, dtype: DTypeLike | None = None, order: str = "K", subok: bool = True, shape: Given = None
    ) -> Operand:
        if dtype is not None and np.dtype(dtype) not in (np.float64, object):
            return _full(np.shape(prototype) if shape is None else shape, fill, dtype=dtype)
        return wrap(_full(np.shape(prototype) if shape is None else shape, fill, dtype=object))

    return make


def full_like(
    prototype: object,
    fill_value: object,
    dtype: DTypeLike | None = None,
    order: str = "K",
    subok: bool = True,
    shape: object = None,
) -> Operand:
    out = _like(0.0)(prototype, dtype, shape=shape)
    out[...] = fill_value
    return out


def _construct(function: Callable) -> Callable[..., Operand]:
    """Return a version of np.zeros etc. that makes object arrays, into which traced values can be assigned."""
    copies = function.__name__ in ("array", "asarray", "asanyarray", "ascontiguousarray", "copy")

    def make(*args: Operand, **kwargs: Operand) -> Operand:
        if copies and has_symbols(args[0]):
            dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
            real = dtype is not None and np.dtype(dtype) == np.float64
            kwargs = {k: v for k, v in kwargs.items() if k in ("copy", "ndmin", "order")}
            if (
                type(args[0]) is Array
                and not (real and holds_truths(args[0]))
                and function.__name__ in ("asarray", "asanyarray")
                and not kwargs
            ):
                return args[0]
            source = args[0] if isinstance(args[0], np.ndarray) else plain_array(args[0])
            made = _array(source, dtype=object, **kwargs)
            return wrap(_to_numbers(made) if real and holds_truths(made) else alike(made))
        made = function(*args, **kwargs).astype(object)
        if function.__name__ == "empty":
            made[...] = np.nan  # makes an element visible that is read before it is written
        return wrap(made)

    return make


def copyto(dst: Operand, src: Operand, casting: str = "same_kind", where: Operand = True) -> None:
    if type(dst) is not Array:
        raise refusal("np.copyto of traced values into a float array: create it with np.zeros in the traced function")
    dst[...] = src if where is True else np.where(where, src, dst)


def fill_diagonal(a: object, val: object, wrap: bool = False) -> None:
    if type(a) is not Array:
        raise refusal("np.fill_diagonal of a float array with traced values: create it with np.zeros first")
    check_writable(a)
    np.fill_diagonal(plain(a), plain(val), wrap)


CONSTRUCTOR_NAMES = (
    "array",
    "asarray",
    "asanyarray",
    "ascontiguousarray",
    "zeros",
    "ones",
    "empty",
    "full",
    "eye",
    "identity",
)
ADAPTED: dict[Operand, Callable[..., Operand]] = {
    np.where: where,
    np.select: select_first,
    np.clip: clip,
    np.nan_to_num: nan_to_num,
    np.isclose: isclose,
    np.allclose: lambda a, b, rtol=1e-5, atol=1e-8, equal_nan=False: np.all(isclose(a, b, rtol, atol, equal_nan)),
    np.max: _maximum,
    np.amax: _maximum,
    np.min: _minimum,
    np.amin: _minimum,
    np.ptp: lambda a, axis=None, keepdims=False: (
        _maximum(a, axis, keepdims=keepdims) - _minimum(a, axis, keepdims=keepdims)
    ),
    np.any: _reduction(np.logical_or),
    np.all: _reduction(np.logical_and),
    np.mean: mean,
    np.var: var,
    np.std: std,
    np.average: average,
    np.linalg.norm: norm,
    np.linalg.vector_norm: vector_norm,
    np.diff: diff,
    np.round: round_to,
    np.around: round_to,
    np.fix: lambda x, out=None: _deliver(np.trunc(x), out),
    np.linspace: linspace,
    np.interp: interp,
    np.zeros_like: _like(0.0),
    np.ones_like: _like(1.0),
    np.empty_like: _like(np.nan),
    np.full_like: full_like,
    np.copy: lambda a, order="K", subok=False: _construct(np.array)(a),
    np.copyto: copyto,
    np.fill_diagonal: fill_diagonal,
    np.linalg.solve: linear_algebra.solve,
    np.linalg.inv: linear_algebra.inv,
    np.linalg.cholesky: linear_algebra.cholesky,
    np.linalg.matrix_power: matrix_power,
    np.pad: pad,
    np.count_nonzero: count_nonzero,
    np.result_type: lambda *args: np.result_type(*(x.dtype if type(x) in (Array, Scalar) else x for x in args)),
    np.iscomplexobj: lambda x: False,
    np.isrealobj: lambda x: True,
    np.real: lambda x: x,
    np.imag: lambda x: 0.0 * x,
    **{getattr(np, name): _construct(getattr(np, name)) for name in CONSTRUCTOR_NAMES},
}


def _named(names: str, module: ModuleType = np) -> frozenset:
    return frozenset(getattr(module, name) for name in names.split() if hasattr(module, name))


COUNTING = _named("sum prod cumsum cumprod cumulative_sum cumulative_prod trace convolve correlate trapezoid")
NATIVE = (
    COUNTING
    | _named("stack hstack vstack dstack column_stack concatenate block append insert delete tile repeat resize")
    | _named("reshape ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis squeeze expand_dims")
    | _named("atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays meshgrid roll rot90 flip fliplr flipud")
    | _named("split array_split hsplit vsplit dsplit unstack take take_along_axis diag diagflat diagonal tril triu")
    | _named("outer inner dot vdot tensordot kron cross einsum polyval gradient ediff1d vander")
    | _named("shape size ndim array_repr array_str array2string shares_memory may_share_memory")
    | _named("cross outer matmul tensordot trace diagonal matrix_transpose multi_dot vecdot", np.linalg)
    | _named("sliding_window_view", np.lib.stride_tricks)
)
_SOLVE = "write the factorisation with arithmetic (its loops unroll), or do it outside the traced function"
_ORDER = "the order of traced values is not known; use np.minimum, np.maximum and np.where"
_PLACE = "where traced values lie is not known; use np.where(condition, a, b)"
REMEDIES = {
    **dict.fromkeys(_named("det eig eigh eigvals eigvalsh svd lstsq qr matrix_rank", np.linalg), _SOLVE),
    np.linalg.pinv: (
        "its rank depends on values; the damped form is J.T @ np.linalg.solve(J @ J.T + c**2 * np.eye(m), x)"
    ),
    **dict.fromkeys(_named("sort argsort argmax argmin median quantile percentile unique searchsorted"), _ORDER),
    **dict.fromkeys(_named("nonzero flatnonzero argwhere extract compress place putmask put"), _PLACE),
    np.array_equal: "== on traced values is a mistake in floating point; use np.abs(a - b) < tolerance",
    np.piecewise: "use np.where or np.select",
}

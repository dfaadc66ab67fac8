"""NumPy's functions of traced values: the ufuncs here, the other functions in functions.py.

A function that is not known to be correct for traced values is refused: it might inspect a value or the element type,
and silently give a wrong number.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import DTypeLike

from nptrace._types import Operand
from nptrace.frontend.array import (
    Array,
    Axis,
    _asarray,
    _full,
    alike,
    check_writable,
    counted,
    has_scalars,
    is_truth,
    plain,
    plain_array,
    plain_numbers,
    wrap,
)
from nptrace.frontend.elementary import PAIR, TWO_RESULTS, UNARY
from nptrace.frontend.scalar import Element, Rule, Scalar
from nptrace.ir.refusal import refusal

REMEDY = "write it with arithmetic, np.where, lookup or repeat, or do it outside the traced function"


def _unary(rule: Callable[[Scalar], Scalar], ufunc: np.ufunc) -> np.ufunc:
    return np.frompyfunc(lambda a: rule(a) if type(a) is Scalar else ufunc(a), 1, 1)


def _pair(rule: Rule, ufunc: np.ufunc) -> np.ufunc:
    def one(a: Element, b: Element) -> Element:
        if type(a) is not Scalar and type(b) is not Scalar:
            return ufunc(a, b)
        result = rule(a, b)
        if result is NotImplemented:
            raise refusal(
                f"np.{ufunc.__name__}: a traced value cannot be combined with"
                f" {type(b if type(a) is Scalar else a).__name__}"
            )
        return result

    return np.frompyfunc(one, 2, 1)


def _two_results(rule: Callable[..., Operand], ufunc: np.ufunc) -> np.ufunc:
    return np.frompyfunc(lambda *a: rule(*a) if any(type(x) is Scalar for x in a) else ufunc(*a), ufunc.nin, 2)


_PAIRS = {getattr(np, name): _pair(rule, getattr(np, name)) for name, rule in PAIR.items()}
_OWN_LOOPS = {  # NumPy's object loops call the operators of Scalar
    f: f for f in (np.add, np.subtract, np.multiply, np.divide, np.negative, np.positive, np.matmul, np.vecdot)
} | {getattr(np, name): getattr(np, name) for name in ("matvec", "vecmat") if hasattr(np, name)}
UFUNCS: dict[np.ufunc, np.ufunc] = {
    **{getattr(np, name): _unary(rule, getattr(np, name)) for name, rule in UNARY.items()},
    **_PAIRS,
    **{getattr(np, name): _two_results(rule, getattr(np, name)) for name, rule in TWO_RESULTS.items()},
    **_OWN_LOOPS,
    np.conjugate: np.positive,
}
_IDENTITIES = {UFUNCS[np.logical_and]: True, UFUNCS[np.logical_or]: False, UFUNCS[np.logical_xor]: False}
_PAIRWISE_LOGICAL = frozenset({np.logical_and, np.logical_or, np.logical_xor})
_LOGICAL = frozenset({*_PAIRWISE_LOGICAL, np.logical_not})


def apply_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, options: dict[str, Operand]) -> Operand:
    """Implement ``Array.__array_ufunc__``."""
    rule = UFUNCS.get(ufunc)
    if rule is None:
        if getattr(np, ufunc.__name__, None) is not ufunc and set("".join(ufunc.types)) <= set("O->"):
            rule = ufunc  # np.frompyfunc or np.vectorize of a Python function, which receives the scalars themselves
        elif not has_scalars(inputs):
            return getattr(ufunc, method)(
                *(plain_numbers(x) if isinstance(x, np.ndarray) else x for x in inputs), **options
            )
        else:
            raise refusal(f"{_name(ufunc)} of a traced value is not supported: {REMEDY}")
    if not options and method == "__call__":
        return _wrap_all(rule(*map(_operand, inputs)))
    outs = _outputs(ufunc, options)
    if options.pop("where", True) is not True:
        raise refusal(f"{_name(ufunc)}(..., where=...): use np.where on the result")
    _check_dtype(ufunc, inputs, options.pop("dtype", None))
    options.pop("casting", None)
    if method == "at":
        if type(inputs[0]) is not Array:
            raise refusal("in-place change of a float array by a traced value: create it with np.zeros in the function")
        check_writable(inputs[0])
    if method == "reduce" and rule not in _OWN_LOOPS:
        result = reduce(rule, inputs[0], *inputs[1:], **options)
    else:
        if method in ("reduce", "accumulate", "reduceat"):
            if ufunc in (np.add, np.multiply):
                inputs = (counted(inputs[0]), *inputs[1:])
            if ufunc in _PAIRWISE_LOGICAL:
                inputs = (truths(inputs[0]), *inputs[1:])
        result = _wrap_all(getattr(rule, method)(*map(_operand, inputs), **options))
    if outs is None:
        return result
    for out, value in zip(outs, result if isinstance(result, tuple) else (result,)):
        if out is not None:
            out[...] = value
    return outs[0] if len(outs) == 1 else outs


def _operand(x: object) -> Operand:
    """Convert a list of traced values to an array of scalars, not of one-element arrays."""
    return plain_array(x) if type(x) in (list, tuple) and has_scalars(x) else plain(x)


def _outputs(ufunc: np.ufunc, options: dict[str, Operand]) -> tuple | None:
    outs = options.pop("out", None)
    if outs is None:
        return None
    for out in outs:
        if out is not None and (not isinstance(out, np.ndarray) or out.view(np.ndarray).dtype != object):
            raise refusal(
                f"in-place change of a float array by a traced value ({_name(ufunc)}): write y = y + x rather than"
                " y += x, or create y with np.zeros or np.array inside the traced function"
            )
        if out is not None:
            check_writable(out)
    return outs


def _check_dtype(ufunc: np.ufunc, inputs: tuple, dtype: DTypeLike | None) -> None:
    if dtype is None or np.dtype(dtype) in (np.float64, object):
        return
    if np.dtype(dtype) == bool and ufunc in _LOGICAL:
        return
    if np.dtype(dtype).kind in "iu" and is_truth(inputs[0]):
        return  # a count
    raise refusal(f"{_name(ufunc)}(..., dtype={np.dtype(dtype)}): every traced value is a real number")


def truths(values: object) -> Operand:
    """Return whether values are nonzero: a logical reduction starts from a truth value too."""
    return wrap(UFUNCS[np.logical_or](_operand(values), False))


def reduce(
    rule: np.ufunc, values: object, axis: Axis = 0, out: None = None, keepdims: bool = False, initial: object = None
) -> Operand:
    """Return ``rule.reduce`` over any axes: NumPy reduces a Python function over one axis only."""
    a = _asarray(plain(truths(values) if rule in _IDENTITIES else values))
    axes = range(a.ndim) if axis is None else [int(k) % a.ndim for k in np.ravel(axis)]
    kept = [k for k in range(a.ndim) if k not in axes]
    flat = a.transpose([*axes, *kept]).reshape((-1, *(a.shape[k] for k in kept)))
    if initial is not None and initial is not np._NoValue:
        flat = np.concatenate([_full((1, *flat.shape[1:]), initial, dtype=object), flat.astype(object)])
    if len(flat) == 0 and rule in _IDENTITIES:
        return _full(flat.shape[1:], _IDENTITIES[rule], dtype=bool)[()]
    if len(flat) == 0:
        raise ValueError("zero-size array to a reduction that has no identity")
    result = rule.reduce(flat, axis=0) if len(flat) > 1 else flat[0]
    if keepdims:
        result = np.reshape(plain(result), [1 if k in axes else n for k, n in enumerate(a.shape)])
    return wrap(result)


def _wrap_all(result: object) -> Operand:
    return tuple(map(wrap, result)) if isinstance(result, tuple) else wrap(result)


def _name(function: Callable) -> str:
    name = function.__name__
    if getattr(np, name, None) is function:
        return f"np.{name}"
    if getattr(np.linalg, name, None) is function:
        return f"np.linalg.{name}"
    return name


def apply_function(function: Callable, args: tuple, kwargs: dict[str, Operand]) -> Operand:
    """Implement ``Array.__array_function__``."""
    from nptrace.frontend.functions import ADAPTED, COUNTING, NATIVE, REMEDIES

    kwargs.pop("like", None)
    adapted = ADAPTED.get(function)
    if adapted is not None:
        return adapted(*args, **kwargs)
    if function in COUNTING and args:
        args = (counted(args[0]), *args[1:])
    if function in NATIVE:
        out = kwargs.pop("out", None)
        if kwargs.get("dtype") is not None:
            _check_dtype(np.add, args, kwargs.pop("dtype"))
        result = function(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        result = type(result)(map(_alike, result)) if type(result) in (tuple, list) else _alike(result)
        if out is None:
            return result
        if type(out) is not Array:
            raise refusal(f"{_name(function)}(..., out=): the output must be made inside the traced function")
        out[...] = result
        return out
    if not has_scalars((*args, *kwargs.values())):  # constants only: their values are known
        return function(*map(_numbers, args), **{k: _numbers(v) for k, v in kwargs.items()})
    raise refusal(f"{_name(function)} cannot be traced: {REMEDIES.get(function, REMEDY)}")


def _alike(result: object) -> Operand:
    return wrap(alike(result))


def _numbers(x: Operand) -> Operand:
    if type(x) in (list, tuple):
        return type(x)(map(_numbers, x))
    return plain_numbers(x) if type(x) is Array else x


def _scalar_ufunc(self: Scalar, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> Operand:
    return apply_ufunc(ufunc, method, inputs, options)


def _scalar_function(self: Scalar, function: Callable, types: object, args: Operand, kwargs: Operand) -> Operand:
    return apply_function(function, args, kwargs)


Scalar.__array_ufunc__ = _scalar_ufunc  # type: ignore[attr-defined]
Scalar.__array_function__ = _scalar_function  # type: ignore[attr-defined]


def _as_array(name: str) -> Callable[..., Operand]:
    """Return a method that np.float64 shares with arrays."""
    return lambda self, *args, **kwargs: getattr(plain(self).view(Array), name)(*args, **kwargs)


for _method in (
    "astype",
    "clip",
    "sum",
    "prod",
    "mean",
    "max",
    "min",
    "any",
    "all",
    "reshape",
    "ravel",
    "flatten",
    "squeeze",
):
    setattr(Scalar, _method, _as_array(_method))

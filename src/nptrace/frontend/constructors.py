"""While a trace runs, let ``np.array([x, 0.0])`` and ``np.zeros(3)`` make arrays that hold traced values.

NumPy's protocols do not reach its constructors: ``np.array([x, 0.0])`` gives a base-class object array, on which
np.maximum or np.where fail, and ``np.zeros(3)[0] = x`` calls ``float(x)``. Both raise, and ``like=q`` (NEP 35) avoids
both, but users should not need to write it. So during a trace, and only in its thread, the constructors in the
``numpy`` namespace are replaced by versions that return symbolic arrays. Code that did ``from numpy import zeros``
keeps the original and gets the error with the remedy.
"""

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import numpy.random  # otherwise loaded on first use: its modules must be known here
from numpy.typing import DTypeLike

from nptrace import numeric
from nptrace._types import Operand
from nptrace.frontend.array import _asarray, has_scalars, has_symbols, plain_array, wrap
from nptrace.frontend.functions import ADAPTED, CONSTRUCTOR_NAMES

_ALWAYS_SYMBOLIC = frozenset({"zeros", "ones", "empty", "full", "eye", "identity"})
_LIKE = ("zeros_like", "ones_like", "empty_like", "full_like")
_OF_LISTS = ("any", "all", "max", "min", "amax", "amin", "mean", "std", "var", "where", "clip", "round", "interp")
_DTYPE_POSITION = {"full": 2, "eye": 3, "full_like": 2}
_lock = threading.Lock()
_users = 0


def _replacement(name: str, original: Callable) -> Callable:
    make, position = ADAPTED[original], _DTYPE_POSITION.get(name, 1)

    @functools.wraps(original)
    def construct(*args: Operand, **kwargs: Operand) -> Operand:
        if numeric.tracer.get() is None or "like" in kwargs:
            return original(*args, **kwargs)
        dtype = kwargs.get("dtype", args[position] if len(args) > position else None)
        if not _is_real(dtype):
            return original(*args, **kwargs)
        if name in _LIKE:
            if dtype is None and _asarray(args[0]).dtype.kind not in "fO":
                return original(*args, **kwargs)
            return make(*args, **kwargs)
        if name in _ALWAYS_SYMBOLIC:
            if name == "full" and dtype is None and _asarray(args[1]).dtype.kind not in "fO":
                return original(*args, **kwargs)
            return make(*args, **kwargs)
        if has_symbols(args[0]):
            return make(*args, **kwargs)
        result = original(*args, **kwargs)
        # a literal list of floats is often assigned to later; an existing array is left alone
        return wrap(result.astype(object)) if type(args[0]) in (list, tuple) and result.dtype == float else result

    return construct


def _of_list(original: Callable) -> Callable:
    """Convert lists to arrays first: NumPy's dispatch does not look inside lists."""

    @functools.wraps(original)
    def function(*args: object, **kwargs: object) -> Operand:
        if numeric.tracer.get() is not None:
            args = tuple(wrap(plain_array(x)) if type(x) in (list, tuple) and has_scalars(x) else x for x in args)
        return original(*args, **kwargs)

    return function


def _is_real(dtype: DTypeLike | None) -> bool:
    return dtype is None or np.dtype(dtype) in (np.float64, object)


_ORIGINALS = {name: getattr(np, name) for name in (*CONSTRUCTOR_NAMES, *_LIKE, *_OF_LISTS)}
_REPLACEMENTS = {name: _of_list(f) if name in _OF_LISTS else _replacement(name, f) for name, f in _ORIGINALS.items()}


class _PlainNumpy:
    """The ``numpy`` for np.random's compiled code, which writes floats into the memory of ``np.empty(n)``."""

    def __getattr__(self, name: str) -> object:
        return _ORIGINALS.get(name) or getattr(np, name)


_RANDOM = tuple(
    module for name, module in sys.modules.items() if name.startswith("numpy.random.") and hasattr(module, "np")
)


@contextlib.contextmanager
def symbolic_constructors() -> Iterator[None]:
    """Replace numpy's constructors until the block ends; they act only while a trace runs (``nptrace.tracer``)."""
    global _users
    with _lock:
        _users += 1
        for name, f in _REPLACEMENTS.items():
            setattr(np, name, f)
        for module in _RANDOM:
            module.np = _PlainNumpy()  # type: ignore[attr-defined]
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for name, f in _ORIGINALS.items():
                    setattr(np, name, f)
                for module in _RANDOM:
                    module.np = np  # type: ignore[attr-defined]

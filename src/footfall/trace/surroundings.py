"""What a function can reach besides its arguments, and whether it has changed: where hidden state lives."""

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from footfall.errors import TraceMismatch

_DEPTH = 4
_LARGEST = 10_000  # elements of one container that are looked at


class Surroundings:
    """The closure, globals, defaults and ``self`` of a function, as they were when this was made."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.before = {(name, owner): _frozen(value) for name, owner, value in _reachable(function)}

    def check(self, during: str) -> None:
        """Raise TraceMismatch if the function has changed any of it."""
        for name, owner, value in _reachable(self.function):
            if (name, owner) in self.before and _frozen(value) != self.before[name, owner]:
                function = getattr(self.function, "__name__", type(self.function).__name__)
                raise TraceMismatch(
                    f"{function} changed {name} while {during}: hidden state cannot be traced; pass it as an argument"
                    " and return the new value"
                )


_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def _reachable(function: Any, seen: set[int] | None = None, depth: int = 0) -> Iterator[tuple[str, int, Any]]:
    """(name, who has it, value) of what the function can reach; helpers that it calls are followed a few calls deep."""
    seen = set() if seen is None else seen
    if isinstance(function, types.MethodType):  # made anew at every look
        yield "self", id(function.__self__), function.__self__
        function = function.__func__
    if id(function) in seen or depth > _DEPTH:
        return
    seen.add(id(function))
    if isinstance(function, functools.partial):
        yield "an argument of partial", id(function), (function.args, function.keywords)
        yield from _reachable(function.func, seen, depth)
    elif isinstance(function, types.FunctionType):
        for name, value in _names_of(function).items():
            if isinstance(value, _FUNCTIONS):
                if not str(getattr(value, "__module__", "")).startswith(("numpy", "scipy")):
                    yield from ((f"{name}: {inner}", *x) for inner, *x in _reachable(value, seen, depth + 1))
            elif not isinstance(value, (types.ModuleType, types.BuiltinFunctionType, type)):
                yield name, id(function), value
    elif hasattr(function, "__dict__") and not isinstance(function, (type, types.ModuleType)):
        yield "self", id(function), function
        for value in (vars(type(function)).get("__call__"), *vars(function).values()):
            if isinstance(value, _FUNCTIONS):
                yield from _reachable(value, seen, depth + 1)


def _names_of(function: types.FunctionType) -> dict[str, Any]:
    """Closure, globals that the code names, and defaults."""
    found = dict(zip(function.__code__.co_freevars, (_content(c) for c in function.__closure__ or ())))
    for name in _names(function.__code__):
        if name in function.__globals__:
            found.setdefault(name, function.__globals__[name])
    found["a default argument"] = (function.__defaults__, function.__kwdefaults__)
    return found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _names(code: types.CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _frozen(value: Any, depth: int = _DEPTH) -> Any:
    """A value that can be compared later; what cannot be looked into is known by its identity."""
    if value is None or isinstance(value, (bool, str, bytes)):
        return value
    if isinstance(value, (int, float, complex)):
        return repr(value)
    if isinstance(value, np.ndarray):
        value = value.view(np.ndarray)
        return (value.shape, str(value.dtype), value.tobytes())  # of objects: their addresses
    if isinstance(value, np.random.Generator):
        return _frozen(value.bit_generator.state, depth)
    if depth == 0:
        return id(value)
    if isinstance(value, (list, tuple)):
        return (len(value), [_frozen(v, depth - 1) for v in value[:_LARGEST]])
    if isinstance(value, (set, frozenset)):
        return (len(value), {id(v) for v in value})
    if isinstance(value, dict):
        return (len(value), [(id(k), _frozen(v, depth - 1)) for k, v in list(value.items())[:_LARGEST]])
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict):
        return {k: _frozen(v, depth - 1) for k, v in fields.items() if not _is_cache(value, k)}
    return id(value)


def _is_cache(value: Any, name: str) -> bool:
    return isinstance(getattr(type(value), name, None), functools.cached_property)

"""Pytrees of arrays: tuples, named tuples, lists, dicts and dataclasses with arrays and numbers as leaves.

A leaf is a NumPy array, a NumPy scalar, an int or a float. Anything else that is not a pytree (None, bool, str, an
enum, a function, any other object) is a constant: part of the structure, not of the data. Dicts are traversed in the
order of their keys, so that equal dicts have their leaves in the same order. Dataclasses are rebuilt without their
``__init__``, whose validation must not see traced values.
"""

import dataclasses
import functools
import importlib
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np

from nptrace import packages
from nptrace._types import Given, PyTree
from nptrace.errors import TraceError
from nptrace.frontend.scalar import Scalar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Leaf: TypeAlias = np.ndarray | float  # a traced number passes for a np.float64
Rebuild = Callable[[Sequence[object]], PyTree]


def flatten(pytree: object, truths: bool = False) -> tuple[list[PyTree], Rebuild]:
    """Return (leaves, rebuild): the leaves in order, and a function from new leaves to a pytree of the same structure.

    ``truths``: treat a Python bool as a leaf.
    """
    leaves: list[PyTree] = []
    make = _maker(pytree, truths, leaves)
    return leaves, lambda new: make(iter(new))


def _maker(pytree: object, truths: bool, leaves: list[Leaf]) -> Callable[[Iterator[object]], PyTree]:
    """Append the leaves, and return a function that rebuilds the pytree from an iterator over leaves."""
    if is_leaf(pytree, truths):
        leaves.append(pytree)
        return next
    parts = _parts(pytree)
    if parts is None:
        return lambda new: pytree
    children, combine = parts
    makers = [_maker(child, truths, leaves) for child in children]
    return lambda new: combine([make(new) for make in makers])


def labels(pytree: object, name: str = "") -> list[str]:
    """Return a name for every leaf, in the order of ``flatten``: ``state.q``, ``state.memory.phase``, ``pair.0``."""
    if is_leaf(pytree):
        return [name]
    parts = _parts(pytree)
    if parts is None:
        return []
    if isinstance(pytree, dict):
        keys = [str(k) for k in _sorted_keys(pytree)]
    elif _is_record(pytree):
        keys = [f.name for f in dataclasses.fields(pytree)]
    else:
        keys = [str(k) for k in range(len(parts[0]))]
    dotted = [f"{name}.{key}" if name else key for key in keys]
    return [label for key, child in zip(dotted, parts[0]) for label in labels(child, key)]


def is_leaf(x: object, truths: bool = False) -> TypeGuard[Leaf]:
    """Return whether x is data: an array or a number."""
    kind = type(x)
    if kind is Scalar or kind is float or kind is int:
        return True
    if kind is bool:
        return truths
    return isinstance(x, (np.ndarray, np.number, np.bool_)) or (isinstance(x, (int, float)) and not _is_enum(x))


def _is_enum(x: object) -> bool:
    return hasattr(type(x), "__members__")


def _is_record(pytree: object) -> TypeGuard["DataclassInstance"]:
    return dataclasses.is_dataclass(pytree) and not isinstance(pytree, type)


def _parts(pytree: object) -> tuple[list[object], Callable[[list[object]], PyTree]] | None:
    """Return (children, function that rebuilds the parent from new children), or None for a constant."""
    if isinstance(pytree, dict):
        keys = _sorted_keys(pytree)
        return [pytree[k] for k in keys], lambda new: _make_dict(pytree, dict(zip(keys, new)))
    if isinstance(pytree, tuple) and hasattr(pytree, "_fields"):
        return list(pytree), lambda new: type(pytree)(*new)
    if isinstance(pytree, (tuple, list)):
        return list(pytree), tuple if isinstance(pytree, tuple) else list
    if _is_record(pytree):
        names = [f.name for f in dataclasses.fields(pytree)]
        rest = {
            k: v for k, v in getattr(pytree, "__dict__", {}).items() if k not in names and not _is_cached(pytree, k)
        }
        children = [getattr(pytree, n) for n in names]
        if not hasattr(pytree, "__dict__") or any(hasattr(getattr(type(pytree), n, None), "__set__") for n in names):
            return children, lambda new: _make_record(type(pytree), dict(zip(names, new)), rest)
        return children, functools.partial(_quick_record, type(pytree), names, rest)
    return None


def _sorted_keys(pytree: dict) -> list[Hashable]:
    return sorted(pytree, key=lambda k: (type(k).__name__, str(k)))


def _make_dict(pytree: dict, new: dict) -> dict:
    return {k: new[k] for k in pytree}  # in the order of the example


def _is_cached(pytree: object, name: str) -> bool:
    return isinstance(getattr(type(pytree), name, None), functools.cached_property)


def _quick_record(kind: type, names: list[str], rest: dict[str, object], new: list[object]) -> PyTree:
    """Return a record whose fields are plain entries of its dictionary."""
    record: PyTree = object.__new__(kind)
    values = record.__dict__
    values.update(zip(names, new))
    values.update(rest)
    return record


def _make_record(kind: type, values: dict[str, object], rest: dict[str, object]) -> PyTree:
    record: object = object.__new__(kind)
    for name, value in (*values.items(), *rest.items()):
        object.__setattr__(record, name, value)
    return record


def shapes(leaves: Sequence[Leaf]) -> list[tuple[int, ...]]:
    return [np.shape(x) for x in leaves]


def size(shape: tuple[int, ...]) -> int:
    return math.prod(shape)


# -- structure ---------------------------------------------------------------------------------------------------------
class Mismatch(Exception):
    """A pytree has a different structure than its example; ``difference`` tells how."""


def reader(example: object) -> Callable[[object, list], None]:
    """Return a fast ``read(pytree, leaves)`` for pytrees like the example: appends the leaves, or raises ``Mismatch``.

    Calls of compiled functions go through it, so the structure is analysed once, not at every call.
    """
    if is_leaf(example):
        return _read_leaf
    parts = _parts(example)
    kind = type(example)
    if parts is None:

        def constant(pytree: object, leaves: list[Leaf]) -> None:
            if pytree is not example and not _same(pytree, example):
                raise Mismatch

        return constant
    readers = [reader(child) for child in parts[0]]
    if _is_record(example):
        fields = tuple((f.name, read) for f, read in zip(dataclasses.fields(example), readers))

        def record(pytree: object, leaves: list[Leaf]) -> None:
            if type(pytree) is not kind:
                raise Mismatch
            for name, read in fields:
                read(getattr(pytree, name), leaves)

        return record
    if isinstance(example, dict):
        items = tuple(zip(_sorted_keys(example), readers))

        def mapping(pytree: object, leaves: list[Leaf]) -> None:
            if not isinstance(pytree, dict) or len(pytree) != len(items):
                raise Mismatch
            for key, read in items:
                if key not in pytree:
                    raise Mismatch
                read(pytree[key], leaves)

        return mapping

    assert isinstance(example, (tuple, list))
    row = type(example)

    def sequence(pytree: object, leaves: list[Leaf]) -> None:
        if type(pytree) is not row or len(pytree) != len(readers):
            raise Mismatch
        for child, read in zip(pytree, readers):
            read(child, leaves)

    return sequence


def _read_leaf(pytree: object, leaves: list[Leaf]) -> None:
    if not is_leaf(pytree):
        raise Mismatch
    leaves.append(pytree)


def difference(pytree: object, example: object, name: str = "it", truths: bool = False) -> str | None:
    """Return how the structure or constants of a pytree differ from those of an example, in words, or None."""
    if is_leaf(example, truths) or is_leaf(pytree, truths):
        if is_leaf(example, truths) and is_leaf(pytree, truths):
            return None
        return f"{name} is {_kind(pytree)} rather than {_kind(example)}"
    parts, wanted = _parts(pytree), _parts(example)
    if parts is None or wanted is None:
        if parts is None and wanted is None and (pytree is example or _same(pytree, example)):
            return None
        return f"{name} is {_kind(pytree)} rather than {_kind(example)}"
    labels, expected = _labels(pytree), _labels(example)
    if labels != expected:
        return f"{name} has the parts {', '.join(labels)} rather than {', '.join(expected)}"
    for label, child, model in zip(labels, parts[0], wanted[0]):
        found = difference(child, model, f"{name}{label}", truths)
        if found:
            return found
    return None


def _labels(pytree: object) -> list[str]:
    if isinstance(pytree, dict):
        return [f"[{k!r}]" for k in _sorted_keys(pytree)]
    if _is_record(pytree):
        return [f".{f.name}" for f in dataclasses.fields(pytree)]
    assert isinstance(pytree, (tuple, list))
    return [f"[{k}]" for k in range(len(pytree))]


def _same(a: object, b: object) -> bool:
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


def _kind(x: object) -> str:
    if x is None or isinstance(x, (bool, str)):
        return repr(x)
    return "an array or a number" if is_leaf(x) else f"a {type(x).__name__}"


# -- descriptions for files --------------------------------------------------------------------------------------------
def describe(pytree: object) -> dict[str, object]:
    """Return the structure of a pytree for JSON; raises for a pytree that ``from_spec`` could not rebuild.

    Classes are stored by name, and only those of registered packages: a file must not choose what is imported.
    """
    if is_leaf(pytree):
        return {"leaf": list(np.shape(pytree))}
    if pytree is None or isinstance(pytree, (bool, str)):
        return {"constant": pytree}
    if type(pytree) is dict:
        if not all(type(k) is str for k in pytree):
            raise TraceError("only dicts with string keys can be described in a file")
        return {"dict": [[k, describe(v)] for k, v in pytree.items()]}
    if type(pytree) is tuple or type(pytree) is list:
        return {type(pytree).__name__: [describe(v) for v in pytree]}
    kind = type(pytree)
    named = f"{kind.__module__}:{kind.__qualname__}"
    spec: dict[str, object]
    if isinstance(pytree, tuple) and hasattr(pytree, "_fields"):
        spec = {"namedtuple": named, "parts": [[n, describe(v)] for n, v in zip(pytree._fields, pytree)]}
    elif _is_record(pytree):
        spec = {
            "dataclass": named,
            "parts": [[f.name, describe(getattr(pytree, f.name))] for f in dataclasses.fields(pytree)],
        }
    else:
        raise TraceError(f"a {kind.__name__} cannot be described in a file")
    if _resolve(named) is not kind:
        raise TraceError(f"{named} cannot be imported by its name")
    return spec


def from_spec(spec: object) -> Rebuild:
    """Return the rebuild function (leaves to pytree) of a description. Raises for a damaged description."""
    try:
        example = _example(spec)
    except TraceError:
        raise
    except Exception as error:
        raise TraceError(f"a damaged description of a pytree of arrays: {error}") from None
    leaves, rebuild = flatten(example)

    def checked(new: Sequence[object]) -> PyTree:
        if len(new) != len(leaves):
            raise TraceError(f"{len(new)} arrays for a pytree of {len(leaves)}")
        return rebuild(new)

    return checked


def _example(spec: Given) -> PyTree:
    """Return a pytree of the described structure with zeros as leaves."""
    if "leaf" in spec:
        return np.broadcast_to(0.0, tuple(int(n) for n in spec["leaf"]))
    if "constant" in spec:
        if spec["constant"] is not None and not isinstance(spec["constant"], (bool, str)):
            raise TraceError("a damaged description of a pytree of arrays: a constant is None, a bool or a string")
        return spec["constant"]
    if "dict" in spec:
        return {str(k): _example(v) for k, v in spec["dict"]}
    if "tuple" in spec:
        return tuple(_example(v) for v in spec["tuple"])
    if "list" in spec:
        return [_example(v) for v in spec["list"]]
    kind = _resolve(spec["dataclass"] if "dataclass" in spec else spec["namedtuple"])
    values = {str(name): _example(v) for name, v in spec["parts"]}
    if "dataclass" in spec and dataclasses.is_dataclass(kind):
        if list(values) == [f.name for f in dataclasses.fields(kind)]:
            return _make_record(kind, values, {})
    elif "namedtuple" in spec and issubclass(kind, tuple) and list(values) == list(getattr(kind, "_fields", ())):
        return kind(**values)
    raise TraceError(f"a damaged description of a pytree of arrays: {kind.__name__} has other fields now")


def _resolve(named: str) -> type:
    module, _, qualified = named.partition(":")
    if not packages.in_package(module):
        raise TraceError(f"{named} is not a class of {packages.listed()}, and other classes are not looked up by name")
    found: object = importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise TraceError(f"{named} is not a class")
    return found

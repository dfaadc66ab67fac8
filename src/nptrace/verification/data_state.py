"""The state of data, for a snapshot of hidden state: containers, arrays, buffers, random generators, objects."""

import array
import contextvars
import ctypes
import functools
import logging
import mmap
import operator
import random
import sys
import types
import weakref
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, MappingView, Sequence
from typing import TypeVar

import numpy as np

from nptrace._types import Foreign
from nptrace.verification.snapshot import PLAIN, StateSnapshot

_LARGEST = 10_000  # elements of one container that are visited; of the others, numbers and strings are compared
_HEAVIEST = 1 << 26  # bytes; a larger array is kept as a checksum
_NOTHING = object()
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, types.MethodDescriptorType)
_UNCHANGING = (range, slice, operator.attrgetter, operator.itemgetter, operator.methodcaller, *_DESCRIPTORS)
_ALL_ATTRIBUTES = (object, types.SimpleNamespace, *weakref.ProxyTypes)
_GUARDED = 1 << 20  # bytes; a larger array is not compared at every step
T = TypeVar("T")
_CTYPES = (ctypes._SimpleCData, ctypes.Array, ctypes.Structure, ctypes.Union, ctypes._Pointer)
_BUFFERS = (bytearray, memoryview, array.array, mmap.mmap, *_CTYPES)
_CLOSED = (types.CodeType, types.FrameType, np.dtype)
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: a class of compiled code


def _is_tracers(module: str) -> bool:
    """Return whether a class is internal to the tracer; bound functions are still visited."""
    return module.startswith("nptrace.") and module != "nptrace.binding"


def visit_data(snapshot: StateSnapshot, value: Foreign, label: str) -> None:
    """Record the content of an object, and visit what it holds."""
    if isinstance(value, _CLOSED) or _is_tracers(type(value).__module__):
        snapshot.note(label, id(value))
    elif isinstance(value, (logging.Logger, logging.Handler)):  # these refer to a tree of others
        snapshot.guard.all_of(vars(value))
        snapshot.undo.append(functools.partial(vars(value).update, vars(value).copy()))
        snapshot.note(label, id(value), [(name, x) for name, x in vars(value).items() if type(x) in PLAIN])
    elif isinstance(value, contextvars.ContextVar):
        _visit_variable(snapshot, value, label)
    elif isinstance(value, np.ndarray):
        snapshot.guard.array(value)
        _visit_array(snapshot, value.view(np.ndarray), label)
        if type(value) is not np.ndarray and not isinstance(value, np.memmap):
            snapshot.note(label, snapshot.see(type(value), label), snapshot.attributes(value, label))
    elif isinstance(value, np.void):  # a row of a structured array, possibly a view of it
        snapshot.guard.is_complete = False
        snapshot.note(label, str(value.dtype), id(value) if value.dtype.hasobject else value.tobytes())
    elif isinstance(value, np.flatiter):
        snapshot.note(label, "flat", value.index, snapshot.see(value.base, label))
    elif isinstance(value, MappingView) and hasattr(value, "mapping"):
        snapshot.note(label, type(value).__name__, snapshot.see(value.mapping, label))
    elif isinstance(value, weakref.ref):
        snapshot.guard.is_complete = False
        snapshot.note(label, "weakref", snapshot.see(value(), label))
    elif isinstance(value, _BUFFERS):
        _visit_buffer(snapshot, value, label)
    elif not (_visit_random(snapshot, value, label) or _visit_container(snapshot, value, label)):
        _visit_object(snapshot, value, label)


def _visit_array(snapshot: StateSnapshot, array: np.ndarray, label: str) -> None:
    if array.dtype.hasobject or array.nbytes > _GUARDED:
        snapshot.guard.is_complete = False
    if array.dtype.hasobject:
        inside = [snapshot.see(x, label) for x in array.ravel()[:_LARGEST]] if array.dtype == object else id(array)
        snapshot.undo.append(functools.partial(np.copyto, array, array.copy(), where=array.flags.writeable))
        snapshot.note(label, "array", array.shape, inside)
    elif array.nbytes > _HEAVIEST:
        snapshot.note(label, "array", array.shape, zlib.crc32(np.ascontiguousarray(array).data))
    else:
        if array.flags.writeable:
            snapshot.undo.append(functools.partial(np.copyto, array, array.copy()))
        snapshot.note(label, "array", array.shape, str(array.dtype), array.tobytes())


def _visit_variable(snapshot: StateSnapshot, variable: contextvars.ContextVar, label: str) -> None:
    """Visit the value of a context variable; an unset one cannot be unset again."""
    snapshot.guard.is_complete = False
    held = variable.get(_NOTHING)
    if held is not _NOTHING:
        snapshot.undo.append(functools.partial(variable.set, held))
    snapshot.note(label, "variable", None if held is _NOTHING else snapshot.see(held, label))


def _visit_buffer(snapshot: StateSnapshot, value: Foreign, label: str) -> None:
    snapshot.guard.is_complete = False
    try:
        with memoryview(value) as view:
            held = view.tobytes()
    except (TypeError, ValueError, BufferError):  # not contiguous, or closed
        snapshot.note(label, id(value))
        return
    snapshot.undo.append(functools.partial(_overwrite, value, held))
    pointed = snapshot.see(value.contents, label) if isinstance(value, ctypes._Pointer) and value else None
    snapshot.note(label, type(value).__name__, held, pointed)


def _overwrite(value: Foreign, held: bytes) -> None:
    if isinstance(value, bytearray):
        value[:] = held
    elif hasattr(value, "frombytes"):
        del value[:]
        value.frombytes(held)
    elif isinstance(value, _CTYPES):
        ctypes.memmove(ctypes.addressof(value), held, len(held))
    else:
        with memoryview(value) as view, view.cast("B") as octets:
            if not octets.readonly:
                octets[: len(held)] = held


def _visit_random(snapshot: StateSnapshot, value: object, label: str) -> bool:
    state: Foreign
    undo: Callable[[Foreign], Foreign]
    if isinstance(value, np.random.Generator):
        value = value.bit_generator
    if isinstance(value, np.random.BitGenerator):
        state, undo = value.state, functools.partial(setattr, value, "state")
    elif isinstance(value, np.random.RandomState):
        state, undo = value.get_state(legacy=False), value.set_state
    elif type(value) is random.Random:
        state, undo = value.getstate(), value.setstate
    else:
        return False
    snapshot.guard.is_complete = False
    snapshot.undo.append(functools.partial(undo, state))
    snapshot.note(f"{label} (it draws random numbers)", _words(state))
    return True


def _words(state: object) -> object:
    if isinstance(state, dict):
        return {key: _words(value) for key, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state


def _visit_container(snapshot: StateSnapshot, value: object, label: str) -> bool:
    """Visit a list, dictionary or set: its elements, and attributes that a subclass may add."""
    inside: Sequence[object]
    middle: list[object] = []
    if isinstance(value, (list, tuple, deque)):
        inside = [snapshot.see(x, f"{label}[{k}]") for k, x in _ends(value)]
        middle = [*value][_LARGEST // 2 : -_LARGEST // 2]
    elif isinstance(value, (dict, types.MappingProxyType)):
        pairs = (pair for _, pair in _ends(value.items()))
        inside = [(snapshot.see(k, label), snapshot.see(x, f"{label}[{k!r:.40}]")) for k, x in pairs]
        middle = [*value.values()][_LARGEST // 2 : -_LARGEST // 2]
    elif isinstance(value, (set, frozenset)):
        inside = sorted(repr(x) if isinstance(x, (int, float, str)) else str(id(x)) for _, x in _ends(value))
        middle = [snapshot.see(x, label) for _, x in _ends(value) if type(x) not in PLAIN]
    else:
        return False
    _guard_container(snapshot, value)
    if isinstance(value, (list, deque, dict, set)):
        snapshot.undo.append(functools.partial(_refill, value, value.copy()))
    if len(value) > _LARGEST or isinstance(value, (set, frozenset)):
        snapshot.note(label, "its middle", [x if type(x) in PLAIN else id(x) for x in middle])
    if isinstance(value, defaultdict):
        snapshot.guard.attributes(value, "default_factory")
        snapshot.note(label, snapshot.see(value.default_factory, f"{label}.default_factory"))
    kind = type(value)
    if kind.__module__ not in ("builtins", "collections"):  # it may return values for missing keys
        snapshot.see(kind, kind.__name__)
    snapshot.note(label, kind.__name__, len(value), inside, snapshot.attributes(value, label))
    return True


def _guard_container(snapshot: StateSnapshot, value: Collection[object]) -> None:
    if isinstance(value, (dict, types.MappingProxyType)):
        snapshot.guard.all_of(value)
    elif type(value) not in (tuple, frozenset):
        snapshot.guard.elements(value)  # an unmodified set keeps its order
    if len(value) > _LARGEST:
        snapshot.guard.is_complete = False


def _ends(items: Iterable[T]) -> Iterator[tuple[int, T]]:
    """Yield the elements with their positions; for a long container, only those at both ends."""
    listed, half = list(items), _LARGEST // 2
    if len(listed) <= _LARGEST:
        return enumerate(listed)
    return iter([*enumerate(listed[:half]), *enumerate(listed[-half:], len(listed) - half)])


def _refill(value: Foreign, held: Foreign) -> None:
    """Restore a container only if it differs, since other threads may be reading it."""
    now, then = ([*x.items()] if isinstance(x, dict) else [*x] for x in (value, held))
    flat = (lambda pairs: [y for x in pairs for y in x]) if isinstance(value, dict) else list
    if len(now) != len(then) or any(a is not b for a, b in zip(flat(now), flat(then))):
        value.clear()
        (value.extend if isinstance(value, (list, deque)) else value.update)(held)


def _visit_object(snapshot: StateSnapshot, value: object, label: str) -> None:
    kind: type = type(value)
    if hasattr(kind, "__next__") and not isinstance(kind.__next__, types.FunctionType):
        snapshot.iterators.append(label)
    by_address = not hasattr(value, "__dict__") and "__slots__" not in vars(kind)
    state = _pickled(snapshot, value, label) if by_address else snapshot.attributes(value, label)
    more = None if by_address or not _keeps_more(value, not state) else _pickled(snapshot, value, label)
    snapshot.note(label, snapshot.see(kind, kind.__name__), state, more)


def _keeps_more(value: object, empty: bool) -> bool:
    """Return whether an object keeps something beside its attributes: those of Python's own classes in C, and theirs.

    Of others, which may be slow to copy, one without attributes (``empty``) is asked what it would be made from again.
    """
    kinds = [kind for kind in type(value).__mro__ if kind not in _ALL_ATTRIBUTES]
    if any(k.__flags__ & _IMMUTABLE and k.__module__.partition(".")[0] in sys.stdlib_module_names for k in kinds):
        return True
    if not empty:
        return False
    try:
        made_of = value.__reduce_ex__(2)
    except Exception:  # it cannot be pickled
        return False
    if not isinstance(made_of, tuple):
        return False
    arguments, *state = made_of[1:]
    return any(part is not None for part in state) or not all(isinstance(x, type) for x in arguments)


def _pickled(snapshot: StateSnapshot, value: object, label: str) -> object:
    """Return the pickled state of an object of compiled code, or else its address."""
    try:
        reduced = value.__reduce_ex__(2)
    except Exception:  # it cannot be pickled
        return id(value)
    if isinstance(reduced, str):
        return id(value)
    if type(value) not in _UNCHANGING:
        snapshot.guard.is_complete = False
    if isinstance(value, operator.attrgetter):
        snapshot.words.add("attrgetter")  # it looks up names that are not in any code
    return snapshot.see(reduced[1:3], label)

"""What a function can reach besides its arguments: where hidden state lives. Changes are found, and put back.

Followed are closures, globals that the code names, defaults, attributes of functions and of modules, objects and their
classes, containers, arrays, buffers and random generators, through helpers, methods and partials. What an object of
compiled code keeps to itself cannot be seen: it is known by its address.
"""

import builtins
import functools
import os
import random
import types

import numpy as np

from nptrace.errors import TraceMismatch
from nptrace.verification import user_code
from nptrace.verification.data_state import visit_data
from nptrace.verification.snapshot import StateSnapshot

_REMEDY = "hidden state cannot be traced; pass it as an argument and return the new value"
_Wrapper = types.MethodType | functools.partial | staticmethod | classmethod | property | functools.cached_property
_WRAPPERS = (types.MethodType, functools.partial, staticmethod, classmethod, property, functools.cached_property)
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: a class of compiled code
_CODE = (types.FunctionType, *_WRAPPERS)


class ClosureState:
    """All that can be reached from a function or an object, as it was when this was made."""

    def __init__(self, subject: object) -> None:
        self.subject = subject
        self.before = _snapshot_of(subject)

    def changed(self) -> str | None:
        """The name of something that is no more what it was."""
        return self.before.difference(_snapshot_of(self.subject))

    def check(self, function: str, during: str) -> None:
        """Raise TraceMismatch if anything has changed."""
        if name := self.changed():
            raise TraceMismatch(f"{function} changed {name} while {during}: {_REMEDY}")

    def refuse_iterators(self, function: str) -> None:
        """Raise TraceMismatch for what moves on whenever it is used and cannot be put back: it must not be tried."""
        for name in self.before.iterators:
            raise TraceMismatch(f"{function} reaches {name}, an iterator, a generator or a file: {_REMEDY}")

    def restore(self) -> None:
        """Put all of it back as it was."""
        for undo in self.before.undo:
            undo()


class _Code:
    """What the code seen so far names, and the user's classes: a method counts if some code names it."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.classes: dict[type, None] = {}
        self.members: set[tuple[type, str]] = set()


def _snapshot_of(subject: object) -> StateSnapshot:
    snapshot, code = StateSnapshot(), _Code()
    snapshot.see(subject, "self")
    while True:
        for value, label in snapshot.unseen():
            _visit(snapshot, value, label, code)
        noted = len(snapshot.notes)
        for kind in list(code.classes):
            _visit_members(snapshot, kind, code)
        if len(snapshot.notes) == noted:
            return snapshot


def _visit(snapshot: StateSnapshot, value: object, label: str, code: _Code) -> None:
    """Note the state of one object, and what it leads to."""
    if isinstance(value, types.FunctionType):
        _visit_function(snapshot, value, label, code)
    elif isinstance(value, _WRAPPERS):
        snapshot.note(label, type(value).__name__, _parts(snapshot, value, label))
    elif isinstance(value, types.BuiltinFunctionType):
        snapshot.note(label, value.__name__, snapshot.see(value.__self__, label))  # log = [].append
    elif isinstance(value, type):
        users = (kind for kind in value.__mro__ if not _is_library(snapshot, kind.__module__))
        code.classes.update((kind, None) for kind in users if not kind.__flags__ & _IMMUTABLE)
        snapshot.note(label, id(value))
    elif isinstance(value, types.ModuleType):
        snapshot.note(label, _module(snapshot, value, label, code.names))
    else:
        visit_data(snapshot, value, label)


def _visit_function(snapshot: StateSnapshot, function: types.FunctionType, label: str, code: _Code) -> None:
    """Closure, defaults, attributes; of a user's function also the globals that it names."""
    state: list[object] = [id(function.__code__)]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        state.append(_cell(snapshot, cell, name))
    state.append(snapshot.see((function.__defaults__, function.__kwdefaults__), "a default argument"))
    state.append(snapshot.attributes(function, function.__name__))
    if not user_code.is_core(function.__module__):
        snapshot.package = snapshot.package or user_code.package(function.__module__)
        named = _names(function.__code__)
        code.names |= named
        state += [_global(snapshot, function.__globals__, name, code.names) for name in sorted(named)]
    snapshot.note(label, *state)


def _cell(snapshot: StateSnapshot, cell: types.CellType, name: str) -> int | None:
    try:
        held = cell.cell_contents
    except ValueError:  # not filled yet
        return None
    snapshot.undo.append(functools.partial(setattr, cell, "cell_contents", held))
    return snapshot.see(held, name)


def _global(snapshot: StateSnapshot, space: dict[str, object], name: str, named: set[str]) -> object:
    held = space.get(name)
    if isinstance(held, types.ModuleType):
        return _module(snapshot, held, name, named)
    if isinstance(held, (types.FunctionType, type)) and _is_library(snapshot, held.__module__):
        return id(held)
    return None if name not in space and hasattr(builtins, name) else snapshot.holds(space, name, name)


def _module(snapshot: StateSnapshot, module: types.ModuleType, label: str, named: set[str]) -> object:
    """Of a user's module what the code names; of others the random numbers that all share."""
    if module is random:
        return snapshot.see(random._inst, label)
    if module is np.random or (module is np and "random" in named):
        return snapshot.see(np.random.mtrand._rand, f"{label}.random")
    if module is os:
        if not named & {"environ", "getenv", "putenv"}:
            return id(module)
        _environment(snapshot, label)
        return None
    if _is_library(snapshot, module.__name__) and module is not builtins:
        return id(module)
    names = sorted(name for name in named if not name.startswith("__"))
    return [snapshot.holds(vars(module), name, f"{label}.{name}") for name in names]


def _environment(snapshot: StateSnapshot, label: str) -> None:
    """The variables of this process's environment."""
    held = dict(os.environ)

    def undo() -> None:
        for name in os.environ.keys() - held.keys():
            del os.environ[name]
        os.environ.update({name: text for name, text in held.items() if os.environ.get(name) != text})

    snapshot.undo.append(undo)
    snapshot.note(f"{label}.environ", held)


def _names(code: types.CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _parts(snapshot: StateSnapshot, value: _Wrapper, label: str) -> list[int | None]:
    """The objects and functions that a method, a partial or a property is made of."""
    if isinstance(value, types.MethodType):
        return [snapshot.see(value.__self__, "self"), snapshot.see(value.__func__, label)]
    if isinstance(value, functools.partial):
        return [snapshot.see((value.args, value.keywords), "an argument of partial"), snapshot.see(value.func, label)]
    if isinstance(value, property):
        return [snapshot.see(value.fget, label), snapshot.see(value.fset, label)]
    return [snapshot.see(value.func if isinstance(value, functools.cached_property) else value.__func__, label)]


def _visit_members(snapshot: StateSnapshot, kind: type, code: _Code) -> None:
    """The data of a user's class, its operators, and the methods that some code names."""
    for name, value in list(vars(kind).items()):
        special = name.startswith("__") or name == "_abc_impl"
        wanted = special or name in code.names if isinstance(value, _CODE) else not special
        if wanted and (kind, name) not in code.members:
            code.members.add((kind, name))
            if not isinstance(value, (*_CODE, types.MemberDescriptorType)):
                snapshot.undo.append(functools.partial(setattr, kind, name, value))
            snapshot.note(f"{kind.__name__}.{name}", snapshot.see(value, f"{kind.__name__}.{name}"))


def _is_library(snapshot: StateSnapshot, module: str | None) -> bool:
    name = user_code.package(module)
    return user_code.is_core(module) or (name != snapshot.package and user_code.is_installed(name))

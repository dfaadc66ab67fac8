"""The state that a function can reach besides its arguments, to detect hidden state and to undo its changes.

The search follows closures, globals named in the code, modules imported inside functions, defaults, attributes of
functions and of modules, objects with their classes and metaclasses, containers, arrays, buffers and random generators,
through helpers, methods and partials. Code that looks up names at run time (``getattr``, ``globals()``,
``sys.modules``) may use any name of the modules it reaches. The internal state of an object of compiled code cannot be
seen: it is identified by its address.
"""

import builtins
import contextlib
import dis
import functools
import importlib.util
import os
import random
import sys
import types
from collections.abc import Iterator

import numpy as np

from nptrace.errors import TraceMismatch
from nptrace.verification import user_code
from nptrace.verification.data_state import visit_data
from nptrace.verification.guard import Guard
from nptrace.verification.snapshot import StateSnapshot

_REMEDY = "hidden state cannot be traced; pass it as an argument and return the new value"
_Wrapper = types.MethodType | functools.partial | staticmethod | classmethod | property | functools.cached_property
_WRAPPERS = (types.MethodType, functools.partial, staticmethod, classmethod, property, functools.cached_property)
_IMMUTABLE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: a class of compiled code
_LOOKUPS = {"getattr", "attrgetter", "__getattribute__", "__dict__"}  # lookups of names that are computed at run time
_OF_GLOBALS = {"globals", "vars", "locals", "eval", "exec", "__globals__", "f_globals"}
_OF_MODULES = {"modules", "import_module", "__import__"}
_CODE = (types.FunctionType, *_WRAPPERS)
_ENVIRONMENT = (os.getenv, os.path.expandvars)
_EVERY_MODULE = {*vars(types.ModuleType("")), "__builtins__", "__cached__", "__dict__", "__file__", "__path__"}
_NO_DATA = (*_CODE, types.MemberDescriptorType, types.GetSetDescriptorType)


class ClosureState:
    """Everything that can be reached from a function or an object, as it was when this was created."""

    def __init__(self, subject: object) -> None:
        self.subject = subject
        self.before = _snapshot_of(subject)
        self._guard: Guard | None = None  # from the last walk that found no difference

    def changed(self) -> str | None:
        """Return the name of something that has changed, or None."""
        if self._guard is not None and self._guard.holds():
            return None
        now = _snapshot_of(self.subject)
        name, self._guard = self.before.difference(now), None
        if name is None:
            if now.guard.is_complete:
                now.guard.close()
            self._guard = now.guard if now.guard.is_complete else None
        return name

    def check(self, function: str, during: str) -> None:
        """Raise TraceMismatch if anything has changed."""
        if name := self.changed():
            raise TraceMismatch(f"{function} changed {name} while {during}: {_REMEDY}")

    def refuse_iterators(self, function: str) -> None:
        """Raise TraceMismatch for an iterator, generator or file, which cannot be reset after a call."""
        for name in self.before.iterators:
            raise TraceMismatch(f"{function} reaches {name}, an iterator, a generator or a file: {_REMEDY}")

    def restore(self) -> None:
        """Restore everything."""
        for undo in self.before.undo:
            with contextlib.suppress(Exception):  # of an object whose own methods raise
                undo()


class _Code:
    """The names in the code seen so far, and the classes and modules of which only named members count."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.words: set[str] = set()  # strings in the code, which may be names that it looks up at run time
        self.classes: dict[type, None] = {}
        self.modules: dict[types.ModuleType, str] = {}
        self.members: set[tuple[type | types.ModuleType, str]] = set()


def _snapshot_of(subject: object) -> StateSnapshot:
    snapshot, code = StateSnapshot(), _Code()
    snapshot.see(subject, "self")
    while True:
        for value, label in snapshot.unseen():
            try:
                _visit(snapshot, value, label, code)
            except Exception:  # an object whose own methods raise is known by its address
                snapshot.guard.is_complete = False
                snapshot.note(label, id(value))
        noted = len(snapshot.notes)
        if not (code.names | snapshot.words).isdisjoint(_LOOKUPS | _OF_GLOBALS | _OF_MODULES):
            _visit_names_made_at_run_time(snapshot, code)
        for kind in list(code.classes):
            _visit_members(snapshot, kind, code)
        for module, label in list(code.modules.items()):
            _visit_module(snapshot, module, label, code)
        if len(snapshot.notes) == noted:
            _guard_names(snapshot, code)
            return snapshot


def _guard_names(snapshot: StateSnapshot, code: _Code) -> None:
    """Guard the members of classes, and those of modules that the code names; call once all names are known."""
    for kind in code.classes:
        snapshot.guard.all_of(vars(kind))
    everything = not code.names.isdisjoint(_LOOKUPS | _OF_GLOBALS)
    for module in code.modules:
        space = vars(module)
        if everything and not _is_library(snapshot, module.__name__):
            snapshot.guard.all_of(space)
        else:
            snapshot.guard.names(space, sorted({*code.names - _EVERY_MODULE, "__getattr__"}))


def _visit(snapshot: StateSnapshot, value: object, label: str, code: _Code) -> None:
    """Record the state of one object, and visit what it refers to."""
    if isinstance(value, types.FunctionType):
        _visit_function(snapshot, value, label, code)
    elif isinstance(value, _WRAPPERS):
        snapshot.note(label, type(value).__name__, _parts(snapshot, value, label))
    elif isinstance(value, types.BuiltinFunctionType):
        snapshot.note(label, value.__name__, snapshot.see(value.__self__, label))  # log = [].append
    elif isinstance(value, type):
        kinds: list[type] = [*value.__mro__, *type.mro(type(value))]
        snapshot.guard.attributes(value, "__mro__")
        users = (k for k in kinds if not _is_library(snapshot, k.__module__))
        code.classes.update((kind, None) for kind in users if not kind.__flags__ & _IMMUTABLE)
        snapshot.note(label, id(value))
    elif isinstance(value, types.ModuleType):
        snapshot.note(label, _module(snapshot, value, label, code))
    else:
        visit_data(snapshot, value, label)


def _visit_function(snapshot: StateSnapshot, function: types.FunctionType, label: str, code: _Code) -> None:
    """Visit closure, defaults and attributes; for a user's function also the globals that it names."""
    if function in _ENVIRONMENT:
        _environment(snapshot, label)
    state: list[object] = [id(function.__code__)]
    snapshot.guard.attributes(function, "__code__", "__defaults__", "__kwdefaults__")
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        state.append(_cell(snapshot, cell, name))
    state.append(snapshot.see((function.__defaults__, function.__kwdefaults__), "a default argument"))
    state.append(snapshot.attributes(function, function.__name__))
    if not user_code.is_core(function.__module__):
        snapshot.package = snapshot.package or user_code.package(function.__module__)
        named: set[str] = set()
        for part in _codes(function.__code__):
            named.update(part.co_names)
            code.words.update(x for x in part.co_consts if isinstance(x, str))
            for module in _imported(snapshot, part, function.__globals__):
                state.append(_module(snapshot, module, module.__name__, code))
        code.names |= named
        if not named.isdisjoint(_OF_GLOBALS):
            named |= {name for name in function.__globals__ if not name.startswith("__")}
        state += [_global(snapshot, function.__globals__, name, code) for name in sorted(named)]
    snapshot.note(label, *state)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield code, and the code of the functions and comprehensions in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _imported(snapshot: StateSnapshot, code: types.CodeType, space: dict[str, object]) -> Iterator[types.ModuleType]:
    """Yield the modules that code imports when it runs, if they are loaded."""
    names = _names_imported(code, str(space.get("__package__") or str(space.get("__name__", "")).rpartition(".")[0]))
    snapshot.guard.names(sys.modules, names)
    for name in names:
        module = sys.modules.get(name)
        if isinstance(module, types.ModuleType):
            yield module


@functools.lru_cache(maxsize=1024)
def _names_imported(code: types.CodeType, package: str) -> tuple[str, ...]:
    """Yield the names of modules that code imports, and of their parent packages."""
    level, found = 0, list[str]()
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_CONST" and isinstance(instruction.argval, int):
            level = instruction.argval  # the level is two instructions before the import
        elif instruction.opname == "IMPORT_NAME":
            name = str(instruction.argval)
            if level:
                name = importlib.util.resolve_name("." * level + name, package) if package else name
            parts = name.split(".")
            found += [".".join(parts[: k + 1]) for k in range(len(parts))]
    return tuple(found)


def _visit_names_made_at_run_time(snapshot: StateSnapshot, code: _Code) -> None:
    """Visit attributes and modules whose names occur as strings in code and data."""
    words = code.words | snapshot.words
    code.names.update(word for word in words if word.isidentifier())
    if not code.names.isdisjoint(_OF_MODULES):
        snapshot.guard.is_complete = False
        for word in sorted(words & sys.modules.keys()):
            module = sys.modules[word]
            if isinstance(module, types.ModuleType) and module not in code.modules:
                snapshot.note(word, _module(snapshot, module, word, code))


def _cell(snapshot: StateSnapshot, cell: types.CellType, name: str) -> int | None:
    snapshot.guard.attributes(cell, "cell_contents")
    try:
        held = cell.cell_contents
    except ValueError:  # not filled yet
        return None
    snapshot.undo.append(functools.partial(setattr, cell, "cell_contents", held))
    return snapshot.see(held, name)


def _global(snapshot: StateSnapshot, space: dict[str, object], name: str, code: _Code) -> object:
    snapshot.guard.names(space, (name,))
    if name not in space and hasattr(builtins, name):
        space = vars(builtins)
        snapshot.guard.names(space, (name,))
    held = space.get(name)
    if isinstance(held, types.ModuleType):
        return _module(snapshot, held, name, code)
    if isinstance(held, (types.FunctionType, type)) and _is_library(snapshot, held.__module__):
        if held in _ENVIRONMENT:
            _environment(snapshot, name)
        return id(held)
    return snapshot.holds(space, name, name)


def _module(snapshot: StateSnapshot, module: types.ModuleType, label: str, code: _Code) -> object:
    """Record a module, for ``_visit_module``, and the state of global random generators."""
    if module is random:
        return snapshot.see(random._inst, label)
    if module is np.random:
        return snapshot.see(np.random.mtrand._rand, f"{label}.random")
    if module not in code.modules:
        code.modules[module] = label
        if type(module) is not types.ModuleType:  # its class may compute attributes
            snapshot.see(type(module), label)
    return id(module)


def _visit_module(snapshot: StateSnapshot, module: types.ModuleType, label: str, code: _Code) -> None:
    """Visit the members of a module under the names seen in code so far."""
    space, names = vars(module), code.names
    if _is_library(snapshot, module.__name__):
        for name in sorted(names & space.keys()):
            if (module, name) not in code.members:
                code.members.add((module, name))
                _visit_library_name(snapshot, space[name], f"{label}.{name}", code)
        if module is os and names & {"environ", "getenv", "putenv"} and (module, "") not in code.members:
            code.members.add((module, ""))
            _environment(snapshot, label)
        return
    wanted = names - _EVERY_MODULE
    if not names.isdisjoint(_LOOKUPS | _OF_GLOBALS):
        wanted = wanted.union(name for name in space if not name.startswith("__"))
    for name in sorted(wanted | {"__getattr__"} & space.keys()):
        if (module, name) not in code.members:
            code.members.add((module, name))
            held = space.get(name)
            state = (
                _module(snapshot, held, f"{label}.{name}", code)
                if isinstance(held, types.ModuleType)
                else snapshot.holds(space, name, f"{label}.{name}")
            )
            snapshot.note(f"{label}.{name}", state)


def _visit_library_name(snapshot: StateSnapshot, held: object, label: str, code: _Code) -> None:
    """Record which function or number a library's module has under a name, since it may have been replaced."""
    if isinstance(held, types.ModuleType):
        snapshot.note(label, _module(snapshot, held, label, code))
    elif isinstance(held, types.FunctionType) and not user_code.is_core(held.__module__):
        snapshot.note(label, snapshot.see(held, label))  # a user's function in its place
    else:
        snapshot.note(label, held if isinstance(held, int | float | str) else id(held))


def _environment(snapshot: StateSnapshot, label: str) -> None:
    """Record the environment variables of this process."""
    snapshot.guard.is_complete = False
    held = dict(os.environ)

    def undo() -> None:
        for name in os.environ.keys() - held.keys():
            del os.environ[name]
        os.environ.update({name: text for name, text in held.items() if os.environ.get(name) != text})

    snapshot.undo.append(undo)
    snapshot.note(f"{label}.environ", held)


def _parts(snapshot: StateSnapshot, value: _Wrapper, label: str) -> list[int | None]:
    """Yield the objects and functions in a method, a partial or a property."""
    if isinstance(value, types.MethodType):
        return [snapshot.see(value.__self__, "self"), snapshot.see(value.__func__, label)]
    if isinstance(value, functools.partial):
        snapshot.guard.attributes(value, "func", "args", "keywords")
        given = snapshot.see((value.args, value.keywords), "an argument of partial")
        attributes = [number for _, number in snapshot.attributes(value, label)]
        return [given, snapshot.see(value.func, label), *attributes]
    if isinstance(value, property):
        return [snapshot.see(value.fget, label), snapshot.see(value.fset, label)]
    if isinstance(value, functools.cached_property):
        snapshot.guard.attributes(value, "func")
    return [snapshot.see(value.func if isinstance(value, functools.cached_property) else value.__func__, label)]


def _visit_members(snapshot: StateSnapshot, kind: type, code: _Code) -> None:
    """Visit the data of a user's class, its operators, and the methods named in code."""
    for name, value in list(vars(kind).items()):
        special = name.startswith("__") or name == "_abc_impl"
        wanted = name in code.names or special == isinstance(value, _CODE)
        if wanted and (kind, name) not in code.members:
            code.members.add((kind, name))
            if not isinstance(value, _NO_DATA):
                snapshot.undo.append(functools.partial(type.__setattr__, kind, name, value))
            snapshot.note(f"{kind.__name__}.{name}", snapshot.see(value, f"{kind.__name__}.{name}"))


def _is_library(snapshot: StateSnapshot, module: str | None) -> bool:
    if not isinstance(module, str | None):  # a metaclass of compiled code, where it is a descriptor for instances
        return True
    name = user_code.package(module)
    return user_code.is_core(module) or (name != snapshot.package and user_code.is_installed(name))

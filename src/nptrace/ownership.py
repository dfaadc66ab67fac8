"""Which code belongs to a library, whether it is unmodified, and which files a function can reach.

Compiled code of library functions is cached on disk under a key, so that it can be reused without tracing. That is safe
only if the key covers all code that the trace could have run. The key therefore includes the content of every file that
can be reached by import (imports inside functions included) from the function and from the classes of its constants.
The loaded code must also match these files: if a function, method or constant was replaced in this process
(``modified``), there is no key, and nothing is cached.

A function or class belongs to a library if its module and qualified name lead to this very object. The name alone is
not enough: ``functools.wraps`` copies it.
"""

from __future__ import annotations

import builtins
import contextlib
import enum
import functools
import hashlib
import math
import operator
import sys
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from nptrace import packages, source_facts
from nptrace.packages import in_package
from nptrace.source_facts import Facts

_STARTED = time.time()  # a file that changed later may differ from the loaded code
_LOADING = 60.0  # [s]; a package may have been loaded this long before this module


def is_library(thing: object) -> bool:
    """Return whether a function or class is the one that a registered package defines under its name."""
    if not isinstance(thing, types.FunctionType | type) or not in_package(thing.__module__):
        return False
    found: object = sys.modules.get(thing.__module__)
    for part in thing.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found is thing


def is_unmodified(kind: type) -> bool:
    """Return whether a class belongs to a library and neither it nor any code that it reaches was modified."""
    with one_look():
        return is_library(kind) and modified(reached([kind.__module__])) is None


def modules_of(value: object) -> set[str]:
    """Return the modules of the library classes in a pytree of records, lists and arrays."""
    found: set[str] = set()
    seen: dict[int, object] = {}
    stack = [value]
    while stack:
        item = stack.pop()
        if id(item) in seen or isinstance(item, np.ndarray):
            continue
        seen[id(item)] = item
        if isinstance(item, tuple | list):
            stack += item
        elif isinstance(item, dict):
            stack += item.values()
        elif in_package(type(item).__module__):
            found |= {kind.__module__ for kind in type(item).__mro__ if in_package(kind.__module__)}
            stack += getattr(item, "__dict__", {}).values()
    return found


# -- reachable modules -------------------------------------------------------------------------------------------------
def reached(modules: Iterable[str]) -> tuple[str, ...]:
    """Return the library modules that can be reached by import from the given ones, themselves included, sorted."""
    key = (frozenset(modules), tuple(packages.folders.items()))
    if key not in _reached or any(_facts(name) is not facts for name, facts in _reached[key].items()):
        _reached[key] = _reach(key[0])
    return tuple(_reached[key])


_reached: dict[tuple, dict[str, Facts]] = {}  # by modules and folders: the modules reached, with their facts


def _reach(modules: Iterable[str]) -> dict[str, Facts]:
    """Follow imports from modules; return the modules reached with their facts, sorted by name."""
    found: dict[str, Facts | None] = {}  # every file is examined once

    def facts_of(module: str) -> Facts | None:
        if module not in found:
            found[module] = _facts(module)
        return found[module]

    seen: set[str] = set()
    stack = [name for module in modules for name in _with_parents(module)]
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            if name.endswith(".*"):
                stack += _below(name.removesuffix(".*"))
            elif (facts := facts_of(name)) is not None:
                stack += _imported(facts, facts_of)
    source_facts.keep()
    return {name: facts for name in sorted(seen) if (facts := found.get(name)) is not None}


def digest(modules: Iterable[str]) -> str:
    """Return a digest of the names and files of library modules."""
    state = hashlib.sha256()
    for name in modules:
        facts = _facts(name)
        state.update(f"{name} {facts.digest if facts else None}\n".encode())
    return state.hexdigest()


def _imported(facts: Facts, facts_of: Callable[[str], Facts | None]) -> Iterator[str]:
    """Return the modules that a file imports; ``package.*`` where a name cannot be resolved."""
    for module, name in facts.imports:
        if not in_package(module):
            continue
        below = f"{module}.{name}"
        if name and facts_of(below) is not None:
            yield from _with_parents(below)
            continue
        yield from _with_parents(module)
        package = facts_of(module)
        if package is not None and "__getattr__" in package.names and name not in package.names - {""}:
            yield from _with_parents(package.lazy[name]) if name in package.lazy else [f"{module}.*"]


def _below(package: str) -> Iterator[str]:
    """Return all modules of a package, any of which an unresolved name may load."""
    path = _path(package, packages.folders[package.partition(".")[0]])
    assert path is not None
    folder = Path(path).parent
    for file in folder.rglob("*.py"):
        parts = file.relative_to(folder).with_suffix("").parts
        yield ".".join((package, *(part for part in parts if part != "__init__")))


def _with_parents(module: str) -> list[str]:
    """Return a module and its parent packages, whose ``__init__`` runs before it is imported."""
    parts = module.split(".")
    return [".".join(parts[:k]) for k in range(1, len(parts) + 1)]


_look = threading.local()


@contextlib.contextmanager
def one_look() -> Iterator[None]:
    """Examine each file only once within the block, whose checks read hundreds of files several times."""
    outermost = getattr(_look, "found", None) is None
    if outermost:
        _look.found = {}
    try:
        yield
    finally:
        if outermost:
            _look.found = None


def _facts(module: str) -> Facts | None:
    """Return the facts about the file of a library module; None if it has no file."""
    found: dict[str, Facts | None] | None = getattr(_look, "found", None)
    if found is None:
        return _facts_now(module)
    if module not in found:
        found[module] = _facts_now(module)
    return found[module]


def _facts_now(module: str) -> Facts | None:
    folder = packages.folders.get(module.partition(".")[0])
    path = None if folder is None else _path(module, folder)
    return None if path is None else source_facts.read(module, path)


@functools.lru_cache(maxsize=4096)
def _path(module: str, folder: Path) -> str | None:
    rest = module.partition(".")[2]
    path = folder.joinpath(*rest.split(".")) if rest else folder
    candidates = (path / "__init__.py", *([path.with_name(f"{path.name}.py")] if rest else []))
    return next((str(candidate) for candidate in candidates if candidate.is_file()), None)


# -- whether loaded code matches its files -----------------------------------------------------------------------------
_unmodified: dict[str, _Space] = {}  # by module: its content when it was compared with its file


def modified(modules: Iterable[str]) -> str | None:
    """Return the name of something in these modules, NumPy or the builtins that was replaced; None if nothing was.

    Compares functions, methods, imported names, and constants that are numbers, strings or tuples of them.
    """
    if name := _modified_elsewhere():
        return name
    modules = tuple(modules)
    before = _before.get(modules)
    if before is not None and before.still_holds():
        return None
    spaces: list[_Space] = []
    for module in modules:
        loaded = sys.modules.get(module)
        facts = _facts(module) if isinstance(loaded, types.ModuleType) else None
        if loaded is None or facts is None:
            continue
        known = _unmodified.get(module)
        if known is None or not known.still_holds(facts, vars(loaded)):
            known = _Space(module, facts, vars(loaded))
            if name := _difference(loaded, facts):
                return f"{module}.{name}"
            _unmodified[module] = known
        spaces.append(known)
    while len(_before) >= _MOST_SETS:
        del _before[next(iter(_before))]
    _before[modules] = _Spaces(modules, spaces)
    return None


class _Contents:
    """The recorded contents of functions and library classes, to detect that a name was rebound.

    The objects themselves are kept rather than their ids, which are reused once an object is deleted. Comparison is by
    identity, in C loops, because it runs before each compilation.
    """

    def __init__(self, values: Iterable[object]) -> None:
        things = {id(x): x for x in values}
        kinds = [x for x in things.values() if isinstance(x, type) and in_package(x.__module__)]
        self.classes = [(kind, list(vars(kind)), list(vars(kind).values())) for kind in kinds]
        things |= {id(x): x for _, _, members in self.classes for x in members}
        self.functions = [x for x in things.values() if isinstance(x, types.FunctionType)]
        self.contents = [[*map(content, self.functions)] for content in _CONTENTS]

    def still_hold(self) -> bool:
        """Return whether all names refer to the same objects, and all functions have the same code and defaults."""
        return all(_same(names, values, vars(kind)) for kind, names, values in self.classes) and all(
            all(map(operator.is_, held, map(content, self.functions)))
            for content, held in zip(_CONTENTS, self.contents)
        )


class _Space:
    """The recorded contents of one module's namespace."""

    def __init__(self, module: str, facts: Facts, space: Mapping[str, object]) -> None:
        self.module, self.facts = module, facts
        self.names, self.values = list(space), list(space.values())
        self.contents = _Contents(self.values)

    def still_holds(self, facts: Facts | None, space: Mapping[str, object]) -> bool:
        return facts is self.facts and _same(self.names, self.values, space) and self.contents.still_hold()


class _Spaces:
    """The recorded contents of many modules: a function or class is compared once, however many import it."""

    def __init__(self, modules: Sequence[str], spaces: Sequence[_Space]) -> None:
        self.spaces = spaces
        self.absent = [*set(modules).difference(space.module for space in spaces)]
        self.contents = _Contents(())  # keeps the compared objects, not the current ones
        classes = {id(one[0]): one for space in spaces for one in space.contents.classes}
        functions = {
            id(one[0]): one for space in spaces for one in zip(space.contents.functions, *space.contents.contents)
        }
        self.contents.classes = [*classes.values()]
        self.contents.functions = [one[0] for one in functions.values()]
        self.contents.contents = [[one[k] for one in functions.values()] for k in range(1, 1 + len(_CONTENTS))]

    def still_holds(self) -> bool:
        loaded = sys.modules
        for space in self.spaces:
            module = loaded.get(space.module)
            if not isinstance(module, types.ModuleType) or _facts(space.module) is not space.facts:
                return False
            if not _same(space.names, space.values, vars(module)):
                return False
        return not any(name in loaded for name in self.absent) and self.contents.still_hold()


_before: dict[tuple[str, ...], _Spaces] = {}  # by the modules that were compared together
_MOST_SETS = 32
_CONTENTS = [operator.attrgetter(name) for name in ("__code__", "__defaults__", "__kwdefaults__")]


def _same(names: list[str], values: list[object], space: Mapping[str, object]) -> bool:
    return len(names) == len(space) and all(map(operator.is_, values, [*space.values()])) and names == [*space]


def _difference(module: types.ModuleType, facts: Facts) -> str | None:
    is_code = _codes(module, facts)
    for name in sorted(facts.defined):
        owner, _, last = name.rpartition(".")
        space: Mapping[str, object] = vars(module)
        if owner:
            kind = space.get(owner)
            if not isinstance(kind, type):
                return owner
            space = vars(kind)
        if last not in space or not _is_defined_here(space[last], module.__name__, name, is_code):
            return name
    for name, text in facts.values.items():
        if (found := _found(module, name)) is not _FIELD and repr(found) != text:
            return name
    for name, (there, what) in facts.bindings.items():
        if not _is_imported(vars(module).get(name, _MISSING), there, what):
            return name
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__ and name in facts.defined:
            for member, function in vars(value).items():
                if f"{name}.{member}" not in facts.defined and not _is_generated(function, is_code):
                    return f"{name}.{member}"
        elif name not in facts.names and hasattr(builtins, name) and not name.startswith("__"):
            return name
    return None


_MISSING = object()
_IsCode = Callable[[types.CodeType, str], bool]


_FIELD = object()


def _found(module: types.ModuleType, name: str) -> object:
    """Return a constant, or the defaults of a function; ``_FIELD`` for a descriptor or an enumeration member."""
    found: object = module
    for part in name.split("."):
        if isinstance(found, enum.EnumMeta):  # the members of an enumeration cannot be assigned
            return _FIELD
        found = _defaults(found) if part == "__defaults__" else getattr(found, "__dict__", {}).get(part, _MISSING)
    return _FIELD if type(found).__name__ in ("member_descriptor", "_tuplegetter") else found


def _defaults(function: object) -> object:
    inner = next(iter(_functions(function)), None)
    return (inner.__defaults__, inner.__kwdefaults__) if inner is not None else _MISSING


def _is_imported(value: object, there: str, what: str | None) -> bool:
    """Return whether an imported name still refers to the object in the other module, if that is loaded."""
    source = sys.modules.get(there)
    if value is _MISSING or source is None:
        return True  # not executed yet, or only for type checkers
    if what is None:
        return value is source
    held = vars(source).get(what, _MISSING)
    if held is _MISSING:  # loaded on first use
        held = sys.modules.get(f"{there}.{what}", value)
        return held is value and (not isinstance(value, types.FunctionType | type) or is_library(value))
    return held is value


def _is_defined_here(value: object, module: str, name: str, is_code: _IsCode) -> bool:
    """Return whether a value is the class or function that the file of a module defines under this name."""
    if isinstance(value, type):
        return value.__module__ == module and value.__qualname__ == name
    layers = list(_functions(value))
    if not layers:
        return not callable(value) or type(value).__module__ in ("builtins", "functools", "typing", "abc")
    wrappers, inner = layers[1:], layers[0]
    return is_code(inner.__code__, name) and all(_from_library(layer.__code__) for layer in wrappers)


def _is_generated(value: object, is_code: _IsCode) -> bool:
    """Return whether a member that is not in the class body was generated by Python or by a dataclass."""
    return all(
        function.__code__.co_filename == "<string>"
        or _from_library(function.__code__)
        or is_code(function.__code__, function.__qualname__)
        for function in _functions(value)
    )


def _functions(value: object) -> Iterator[types.FunctionType]:
    """Yield the Python functions in a function, method or descriptor, the innermost first."""
    parts: list[object]
    if isinstance(value, property):
        parts = [value.fget, value.fset, value.fdel]
    elif isinstance(value, functools.cached_property | functools.partialmethod):
        parts = [value.func]
    elif isinstance(value, staticmethod | classmethod):
        parts = [value.__func__]
    else:
        inner = getattr(value, "__wrapped__", None) if not isinstance(value, type) else None
        parts = [inner] if inner is not None else []
    for part in parts:
        if part is not None:
            yield from _functions(part)
    if isinstance(value, types.FunctionType):
        yield value


_STANDARD = str(Path(functools.__file__).parent)


def _from_library(code: types.CodeType) -> bool:
    """Return whether code lies in a registered package, in NumPy or in Python's standard library."""
    name = code.co_filename
    standard = name.startswith(_STANDARD) and "site-packages" not in name
    return standard or name.startswith(_NUMPY) or packages.in_folder(name)


def _codes(module: types.ModuleType, facts: Facts) -> Callable[[types.CodeType, str], bool]:
    """Return a check whether a code object is the one in the file of a module under a qualified name.

    Code is identified by its file, name and line. If the file may have changed after import, this is not enough: the
    file is compiled again and compared.
    """
    file = module.__file__ or ""
    if Path(file).stat().st_mtime < _STARTED - _LOADING:
        return lambda code, name: (
            code.co_filename == file and code.co_qualname == name and code.co_firstlineno in facts.defined.get(name, ())
        )
    loader = getattr(module.__spec__, "loader", None)
    found: list[types.CodeType] = []
    stack = [loader.get_code(module.__name__)] if loader is not None else []
    while stack:
        code = stack.pop()
        found.append(code)
        stack += [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return lambda code, name: code.co_qualname == name and code in found


# -- NumPy and the builtins --------------------------------------------------------------------------------------------
_NUMPY = str(Path(np.__file__).parent)
_ELSEWHERE = {module: dict(vars(module)) for module in (np, np.linalg, math, builtins)}


def _modified_elsewhere() -> str | None:
    """Return the name of a function of NumPy, ``math`` or the builtins that was replaced, or None."""
    for module, before in _ELSEWHERE.items():
        space = vars(module)
        for name, value in before.items():
            if callable(value):
                now = space.get(name)
                if now is not value or (isinstance(now, types.FunctionType) and not _from_library(now.__code__)):
                    return f"{module.__name__}.{name}"
    return None

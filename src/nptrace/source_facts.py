"""Facts about a Python file (imports, definitions, constants), read without running it; cached on disk by content."""

from __future__ import annotations

import ast
import functools
import hashlib
import math
import operator
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from nptrace.runtime import cache


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts of one file.

    imports: (module, name in it or "") of every import that can run, except those for type checkers.
    bindings: names that top-level imports bind: (module, name in it or None).
    lazy: for a package that loads names on first use, the module of each name.
    names: all names that the module binds at its top level.
    defined: first lines of the functions and classes of the module and of its classes, by qualified name.
    values: constants of the module and its classes, and defaults of functions, by qualified name, as ``repr``.
    """

    digest: str
    imports: tuple[tuple[str, str], ...]
    bindings: dict[str, tuple[str, str | None]]
    lazy: dict[str, str]
    names: frozenset[str]
    defined: dict[str, tuple[int, ...]]
    values: dict[str, str]


def read(module: str, file: str) -> Facts:
    """Return the facts of a module's file."""
    status = os.stat(file)
    return _read(module, file, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4096)
def _read(module: str, file: str, changed: int, size: int) -> Facts:
    path = Path(file)
    content = path.read_bytes()
    name = hashlib.sha256(f"{module} {path.name}\n".encode() + content).hexdigest()
    kept = _kept()
    if name not in kept:
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        kept[name] = _parse(ast.parse(content), package)
    facts = kept[name]
    return Facts(
        digest=name,
        imports=tuple((there, what) for there, what in facts["imports"]),
        bindings={here: (there, what) for here, (there, what) in facts["bindings"].items()},
        lazy=facts["lazy"],
        names=frozenset(facts["names"]),
        defined={name: tuple(lines) for name, lines in facts["defined"].items()},
        values=facts["values"],
    )


# -- cache on disk -----------------------------------------------------------------------------------------------------
_KEY = cache.digest("facts of source files", 1, sys.version)
_on_disk = 0


@functools.cache
def _kept() -> dict[str, dict]:
    """Return cached facts by file digest, since parsing hundreds of files takes half a second."""
    global _on_disk
    entry = cache.Cache().get(_KEY)
    found = dict(entry.meta) if entry is not None else {}
    _on_disk = len(found)
    return found


def keep() -> None:
    """Store the facts parsed since the last call."""
    global _on_disk
    kept = _kept()
    if len(kept) > _on_disk:
        if (entry := cache.Cache().get(_KEY)) is not None:  # facts that other processes found meanwhile
            kept.update(entry.meta | kept)
        _on_disk = len(kept)
        while len(kept) > _MOST:
            del kept[next(iter(kept))]
        cache.Cache().put(_KEY, b"", kept)


_MOST = 4_000  # files, including older versions


# -- parsing -----------------------------------------------------------------------------------------------------------
def _parse(tree: ast.Module, package: str) -> dict:
    top = list(_statements(tree, inside=False))
    whole = _Found()
    whole.search([node for node in tree.body if not _is_for_type_checkers(node)])
    names = _names(top) | whole.stored
    whole.search([node for node in tree.body if _is_for_type_checkers(node)])
    return {
        "imports": sorted(
            {(there, what or "") for _, there, what in _imports(_statements(tree, inside=True), package)}
            | {(module, "") for module in whole.imported}
        ),
        "bindings": {here: (there, what) for here, there, what in _imports(top, package)},
        "lazy": {name: f"{package}.{file}" for file, names in whole.lazy.items() for name in names.split()},
        "names": sorted(names),
        "defined": _defined(tree, ""),
        "values": {k: repr(v) for k, v in _values(tree, "").items() if k not in whole.assigned_elsewhere},
    }


class _Found:
    """Findings in all expressions of a file, from one pass, since files are long."""

    def __init__(self) -> None:
        self.stored: set[str] = set()  # names that are assigned
        self.assigned_elsewhere: set[str] = set()  # names that functions change: global or nonlocal there
        self.imported: set[str] = set()  # modules in literal ``import_module("...")`` calls
        self.lazy: dict[str, str] = {}  # files and the names in them: the table passed to ``lazy_exports``

    def search(self, nodes: Iterable[ast.AST]) -> None:
        """Search nodes and their descendants."""
        stack = [*nodes]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Store):
                    self.stored.add(node.id)
            elif not isinstance(node, ast.Constant):
                if isinstance(node, ast.Call):
                    self._call(node)
                elif isinstance(node, ast.Global | ast.Nonlocal):
                    self.assigned_elsewhere.update(node.names)
                for field in node._fields:
                    value = getattr(node, field, None)
                    if isinstance(value, list):
                        stack += [part for part in value if isinstance(part, ast.AST)]
                    elif isinstance(value, ast.AST):
                        stack.append(value)

    def _call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(func=ast.Name(id="lazy_exports"), args=[_, table]):
                files: dict[str, str] = _value(table, {})  # type: ignore[assignment]
                self.lazy |= files
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if "import_mod" in ast.dump(
                function
            ):
                self.imported.add(name)


def _statements(tree: ast.AST, inside: bool) -> Iterator[ast.stmt]:
    """Yield the statements that can run at module level, or also those inside functions and classes."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        if field == "body" and _is_for_type_checkers(tree):
            continue
        parts = getattr(tree, field, ())
        for node in parts if isinstance(parts, list) else ():  # the body of an expression is not a list
            if isinstance(node, ast.stmt) and not _is_for_type_checkers(node):
                yield node
            if inside or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _statements(node, inside)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _imports(statements: Iterable[ast.stmt], package: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield (local name, module, name in it) of the imports among statements."""
    for node in statements:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name, alias.name, None
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield alias.asname or alias.name, module, alias.name


def _names(statements: Iterable[ast.stmt]) -> set[str]:
    """Return the names of functions, classes and imports among statements."""
    found: set[str] = set()
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return found


def _defined(tree: ast.AST, prefix: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            line = min(part.lineno for part in (node, *node.decorator_list))
            found.setdefault(prefix + node.name, []).append(line)
            if isinstance(node, ast.ClassDef) and not prefix:
                found |= _defined(node, f"{node.name}.")
    return found


# -- constants ---------------------------------------------------------------------------------------------------------
_OPERATIONS: dict[type, object] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert,
}  # fmt: skip
_NAMED = {("np", "pi"): math.pi, ("np", "inf"): math.inf, ("math", "pi"): math.pi, ("math", "inf"): math.inf}


class _Open(Exception):
    """Raised for an expression whose value cannot be read from the file."""


def _values(tree: ast.AST, prefix: str) -> dict[str, object]:
    """Return constants by name: assigned once, from numbers, strings, tuples and arithmetic with them."""
    found: dict[str, object] = {}
    twice: set[str] = set()
    for node in getattr(tree, "body", ()):
        if isinstance(node, ast.ClassDef) and not prefix:
            found |= _values(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and not node.decorator_list and (defaults := _defaults(node)):
            found[f"{prefix}{node.name}.__defaults__"] = defaults
        name, value = _assigned(node)
        if name is not None:
            if prefix + name in found:
                twice.add(prefix + name)
            try:
                known = {k: v for k, v in found.items() if "." not in k}
                found[prefix + name] = _value(value, known) if value is not None else _raise()
            except _Open:
                pass
    return {k: v for k, v in found.items() if k not in twice and not isinstance(v, dict | list)}


def _raise() -> object:
    raise _Open


def _assigned(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return node.target.id, node.value
    return None, None


def _defaults(node: ast.FunctionDef) -> tuple[object, object] | None:
    """Return (positional defaults, keyword defaults) of a function; None if one cannot be read."""
    arguments = node.args
    try:
        positional = tuple(_value(x, {}) for x in arguments.defaults) or None
        named = {a.arg: _value(x, {}) for a, x in zip(arguments.kwonlyargs, arguments.kw_defaults) if x is not None}
    except _Open:
        return None
    return positional, named or None


def _value(node: ast.AST, known: dict[str, object]) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and (node.value.id, node.attr) in _NAMED:
        return _NAMED[node.value.id, node.attr]
    if isinstance(node, ast.Tuple):
        return tuple(_value(x, known) for x in node.elts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {_value(k, known): _value(v, known) for k, v in zip(node.keys, node.values)}  # type: ignore[arg-type]
    try:
        if isinstance(node, ast.UnaryOp):
            return _OPERATIONS[type(node.op)](_value(node.operand, known))  # type: ignore[operator]
        if isinstance(node, ast.BinOp):
            return _OPERATIONS[type(node.op)](_value(node.left, known), _value(node.right, known))  # type: ignore[operator]
    except (KeyError, TypeError, ValueError, ArithmeticError):
        raise _Open from None
    raise _Open

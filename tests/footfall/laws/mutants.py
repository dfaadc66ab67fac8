"""One sign, index or factor flipped at a time: mutants of the algorithms, swapped in while a ``with`` block runs.

A mutant replaces the code of one function in place, so that every module that imported it by name runs the mutant too.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Mutant:
    module: str
    function: str  # qualified name inside the module
    line: int
    column: int
    kind: str
    before: str
    after: str

    def __str__(self) -> str:
        place = f"{self.module.removeprefix('footfall.')}:{self.line}:{self.column} {self.function}"
        return f"{place} [{self.kind}] {self.before} -> {self.after}"


def mutants_of(module: str, functions: tuple[str, ...] | None = None) -> list[Mutant]:
    """Every mutant of a module's functions, in the order of the source."""
    tree, found = _parsed(module), []
    for name, node in _functions(tree):
        if functions is None or name in functions:
            for site, kind in _sites(node):
                after = _flipped(copy.deepcopy(site), kind)
                found.append(
                    Mutant(
                        module=module,
                        function=name,
                        line=site.lineno,
                        column=site.col_offset,
                        kind=kind,
                        before=ast.unparse(site),
                        after=ast.unparse(after),
                    )
                )
    return found


@contextmanager
def swapped_in(mutant: Mutant) -> Iterator[None]:
    tree = _parsed(mutant.module)
    node = dict(_functions(tree))[mutant.function]
    site, kind = next(
        (s, k)
        for s, k in _sites(node)
        if (s.lineno, s.col_offset, k, ast.unparse(s)) == (mutant.line, mutant.column, mutant.kind, mutant.before)
    )
    _replace(node, site, _flipped(copy.deepcopy(site), kind))
    function = _live(mutant.module, mutant.function)
    code = compile(ast.fix_missing_locations(tree), inspect.getfile(function), "exec")
    original = function.__code__
    function.__code__ = _found(code, mutant.function)
    try:
        yield
    finally:
        function.__code__ = original


# -- sites -------------------------------------------------------------------------------------------------------------
def _sites(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, str]]:
    for statement in function.body:
        yield from _walk(statement, in_index=False)


def _walk(node: ast.AST, in_index: bool) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr)):
        return  # words for the user, not arithmetic
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield node, "sign"
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield node, "factor"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node, "sign"
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield node, "transpose"
    elif isinstance(node, ast.Constant) and type(node.value) is int and in_index:
        yield node, "index"
    elif isinstance(node, ast.Constant) and type(node.value) is float and node.value != 0.0:
        yield node, "factor"
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                inside = in_index if not isinstance(node, ast.Subscript) else name == "slice"
                yield from _walk(child, inside)


def _flipped(node: Any, kind: str) -> ast.expr:
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.Attribute):
        return node.value
    if kind == "sign":
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
    elif isinstance(node, ast.BinOp):
        return node.left  # a factor lost
    elif kind == "index":
        node.value = node.value - 1 if node.value else 1
    else:
        node.value = 2.0 * node.value
    return node


def _replace(root: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(root):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list) and any(item is old for item in value):
                value[next(k for k, item in enumerate(value) if item is old)] = new
                return
    raise AssertionError("the mutated expression is not in its function")


# -- modules and code --------------------------------------------------------------------------------------------------
def _parsed(module: str) -> ast.Module:
    return ast.parse(Path(inspect.getfile(importlib.import_module(module))).read_text(encoding="utf-8"))


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", inner


def _live(module: str, name: str) -> FunctionType:
    owner: Any = importlib.import_module(module)
    *path, last = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    found = inspect.getattr_static(owner, last)
    if isinstance(found, property):
        return found.fget
    return found.__func__ if isinstance(found, staticmethod) else found


def _found(code: CodeType, name: str) -> CodeType:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_qualname == name:
                return constant
            if name.startswith(constant.co_qualname + "."):
                return _found(constant, name)
    raise AssertionError(f"no code of {name}")

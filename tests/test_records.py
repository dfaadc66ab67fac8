"""Records with many fields are built by naming them: nobody can put two numbers in the wrong order."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import footfall
import footfall_go2
import footfall_lab
import nptrace
from footfall.errors import MissingExtraError

PACKAGES = (nptrace, footfall, footfall_go2, footfall_lab)
MOST_POSITIONAL = 5  # fields of a record that may be filled by their order
MOST_ARGUMENTS = 8  # that any constructor may be given by their order
BY_ORDER = {  # not records: what they are of comes first
    footfall.Simulation: ["robot", "controller"],
    footfall.control.Sampling: ["task"],
}


def records() -> list[type]:
    found = []
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with contextlib.suppress(ImportError, MissingExtraError):  # of an extra that is not installed
                members = vars(importlib.import_module(module.name)).values()
                own = [kind for kind in members if inspect.isclass(kind) and kind.__module__ == module.name]
                found += [kind for kind in own if dataclasses.is_dataclass(kind)]
    return found


def test_records_of_six_fields_or_more_are_keyword_only():
    wrong = []
    for record in records():
        if len(dataclasses.fields(record)) > MOST_POSITIONAL:
            parameters = list(inspect.signature(record).parameters.values())
            by_order = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
            if by_order != BY_ORDER.get(record, []):
                wrong.append(f"{record.__module__}.{record.__qualname__}({', '.join(by_order)})")
    assert not wrong, f"add kw_only=True to {wrong}"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_no_constructor_is_given_many_arguments_by_their_order(package):
    wrong = []
    for path in sorted(Path(package.__path__[0]).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and len(node.args) > MOST_ARGUMENTS:
                name = ast.unparse(node.func).split(".")[-1]
                if name.lstrip("_")[:1].isupper() or name == "cls":
                    wrong.append(f"{path.name}:{node.lineno} {name}")
    assert not wrong, f"name the arguments of {wrong}"

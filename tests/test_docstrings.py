"""Docstrings of public names: one imperative sentence, then arguments and results, in words of the field."""

import inspect
import json
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import footfall

SOURCES = Path(footfall.__file__).parents[1]
PACKAGES = ["footfall", "nptrace"]
PACKAGES += [f"footfall.{name}" for name in footfall.__all__ if inspect.ismodule(getattr(footfall, name))]
# wrong in every use: dialect that no roboticist would search for
WRONG = re.compile(
    r"\b(nests?|seams?|mended|brought back|is no (number|robot|foot|file)|of one's own|(is|are) (told|felt))\b", re.I
)


@cache
def public_names():
    """Every public function and class once, by the name under which a user finds it first."""
    found, seen = {}, set()
    for package in PACKAGES:
        module = import_module(package)
        for name in module.__all__:
            thing = inspect.unwrap(getattr(module, name))
            if (inspect.isfunction(thing) or inspect.isclass(thing)) and id(thing) not in seen:
                seen.add(id(thing))
                found[f"{package}.{name}"] = thing
    return found


def functions():
    return {name: thing for name, thing in public_names().items() if inspect.isfunction(thing)}


def test_there_are_public_names_to_look_at():
    assert len(functions()) > 200
    assert len(public_names()) > 300


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_says_what_it_is(package):
    bare = [n for n, t in public_names().items() if n.rpartition(".")[0] == package and not inspect.getdoc(t)]
    assert bare == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_has_arguments_and_results(package):
    lacking = []
    for name, function in functions().items():
        if name.rpartition(".")[0] != package:
            continue
        text, signature = inspect.getdoc(function) or "", inspect.signature(function)
        for parameter in signature.parameters:
            if not re.search(
                rf"^    \*{{0,2}}([\w*, ]+, )?\*{{0,2}}{parameter}(, [\w*, ]+)?( \([^)]*\))?:", text, re.M
            ):
                lacking.append(f"{name}: argument {parameter}")
        if "Returns:" not in text and signature.return_annotation not in (None, "None", inspect.Signature.empty):
            lacking.append(f"{name}: Returns")
    assert lacking == []


def test_public_docstrings_begin_with_one_imperative_sentence():
    ruff = Path(sys.executable).with_name("ruff")
    if not ruff.exists():
        pytest.skip("ruff is not installed: pip install 'footfall[lint]'")
    command = [str(ruff), "check", "--isolated", "--select", "D401,D205,D400", "--output-format", "json", str(SOURCES)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    marked = {(entry["filename"], entry["location"]["row"]): entry["code"] for entry in found}
    wrong = []
    for name, function in functions().items():
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function)
        wrong += [f"{name}: {marked[file, row]}" for row in range(first, first + len(lines)) if (file, row) in marked]
    assert wrong == []


def test_public_docstrings_have_no_words_that_are_wrong_in_every_use():
    wrong = [(name, found[0]) for name, t in public_names().items() if (found := WRONG.search(inspect.getdoc(t) or ""))]
    assert wrong == []

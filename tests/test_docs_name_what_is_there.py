"""What the pages name exists: names of the API, files of the source, commands and their options."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import footfall as ff
from footfall.cli import main as cli
from footfall_lab.bench import NAMES

ROOT = Path(__file__).parents[1]
API = ROOT / "docs" / "reference" / "api"  # generated
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != API]
CODE = re.compile(r"^```\w*\n.*?^```$|``[^`]+``|`[^`\n]+`|^    \S.*$", re.MULTILINE | re.DOTALL)


def code_of(page: Path) -> list[str]:
    return CODE.findall(page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_name_of_the_api_is_there(page):
    missing = []
    for text in code_of(page):
        for dotted in re.findall(r"(?<![\w.])ff((?:\.[A-Za-z_]\w*)+)", text):
            found = ff
            for part in dotted[1:].split("."):
                if not hasattr(found, part):
                    missing.append(f"ff{dotted}")
                    break
                found = getattr(found, part)
                if not isinstance(found, type(ff)) and not isinstance(found, type):
                    break  # attributes of objects are not looked at
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_of_the_source_is_there(page):
    places = (ROOT, ROOT / "src" / "footfall", ROOT / "docs", ROOT / "src")
    named = [
        name
        for text in code_of(page)
        for name in re.findall(r"(?<![\w./<-])((?!reports/)(?:\w+/)+\w+\.(?:py|toml|json))", text)
    ]
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert missing == []


# -- docstrings --------------------------------------------------------------------------------------------------------
PACKAGE = Path(ff.__file__).parent
PACKAGES = sorted(name for name in ff.__all__ if isinstance(getattr(ff, name), type(ff)))
DOTTED = re.compile(rf"`(?:ff\.|footfall\.)?((?:{'|'.join(PACKAGES)})(?:\.[A-Za-z_]\w*)+)[(`]")
# the first word of a parameter's path is that of a package, too: robot.nj, gait.duty, contact.stiffness
OBJECTS = {
    "robot": ff.Robot,
    "gait": ff.gait.Gait,
    "contact": ff.contact.Compliant,
    "recording": ff.Recording,
}
VARIABLES = ("sim",)  # what examples call a simulation or a batch


def is_there(dotted: str, module: str) -> bool:
    """Whether a dotted name is one of the API, of a module below the package, or beside the module that says it."""
    first, *rest = dotted.split(".")
    if first in VARIABLES and any(hasattr(kind, rest[0]) for kind in (ff.Simulation, ff.Batch)):
        return True
    kind = OBJECTS.get(first)
    if kind is not None and (hasattr(kind, rest[0]) or rest[0] in getattr(kind, "__dataclass_fields__", {})):
        return True
    return any(_reached(base, dotted.split(".")) for base in ("footfall", module.rpartition(".")[0]))


def _reached(base: str, names: list[str]) -> bool:
    found = importlib.import_module(base)
    for name in names:
        if not hasattr(found, name):
            try:
                found = importlib.import_module(f"{found.__name__}.{name}")
            except ImportError:
                return False
            continue
        found = getattr(found, name)
        if not isinstance(found, type(ff) | type):
            return True
    return True


def docstrings() -> Iterator[tuple[str, str]]:
    """(module, docstring) of everything in the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield module, ast.get_docstring(node) or ""


def test_every_dotted_name_in_a_docstring_is_there():
    said = {(module, name) for module, text in docstrings() for name in DOTTED.findall(text)}
    assert len(said) > 50
    missing = {(module, name) for module, name in said if not name.endswith(".json") and not is_there(name, module)}
    assert missing == set()


@pytest.mark.parametrize("page", sorted(API.glob("*.md")), ids=lambda page: page.stem)
def test_every_dotted_name_in_the_reference_is_there(page):
    base = f"footfall.{page.stem}.module" if page.stem in PACKAGES else "footfall.module"
    assert [name for name in DOTTED.findall(page.read_text()) if not is_there(name, base)] == []


def test_a_dotted_name_that_is_not_there_would_be_found():
    for name in ("simulate.sensor_faults", "robot.urdf_mjcf.load_model", "control.qp"):
        assert not is_there(name, "footfall.sensing.sensors")


# -- commands ----------------------------------------------------------------------------------------------------------
def commands_of(page: Path) -> list[list[str]]:
    found = []
    for text in code_of(page):
        for line in re.findall(r"(?:^|`|python -m )\s*(footfall [a-z][^`\n]*)", text, re.MULTILINE):
            words = line.partition("#")[0].partition(" | ")[0].strip()
            try:
                found.append(shlex.split(words)[1:])
            except ValueError:
                found.append(words.split()[1:])
    return found


def wrong_words(lines: list[list[str]]) -> list[str]:
    """Commands that are not there, and options that theirs does not have."""
    tree = typer.main.get_command(cli.app)
    wrong = []
    for words in lines:
        if not words or words[0] not in tree.commands:
            wrong.append(" ".join(words))
            continue
        params = tree.commands[words[0]].params
        options = {name for each in params for name in (*each.opts, *each.secondary_opts)} | {"--help"}
        for word in words[1:]:
            option = re.match(r"--[a-z][\w-]*", word)
            if option and option[0] not in options:
                wrong.append(f"{words[0]} {option[0]}")
    return wrong


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=lambda page: page.stem)
def test_every_command_and_option_is_there(page):
    assert wrong_words(commands_of(page)) == []


def test_a_wrong_command_or_option_would_be_found():
    assert wrong_words([["simulated"], ["view", "--prot", "0"], ["view", "--port", "0"]]) == [
        "simulated",
        "view --prot",
    ]


@pytest.mark.parametrize("name", typer.main.get_command(cli.app).commands)
def test_the_examples_of_a_commands_help_are_commands(name):
    said = [line.strip() for line in typer.main.get_command(cli.app).commands[name].epilog.splitlines()]
    lines = [shlex.split(line)[1:] for line in said if line.startswith("footfall ")]
    assert lines
    assert {words[0] for words in lines} == {name}
    assert wrong_words(lines) == []


def test_bench_says_every_bench_that_it_has():
    shown = typer.main.get_command(cli.app).commands["bench"].params[0].help
    assert shown == f"{', '.join(NAMES)}, or all."

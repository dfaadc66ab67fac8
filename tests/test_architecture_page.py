"""docs/architecture.md: its call paths pass files that exist, in the order that the page gives."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import footfall

DOCS = Path(__file__).parents[1] / "docs"
SOURCE = Path(footfall.__file__).parents[1]


def _generator():
    spec = importlib.util.spec_from_file_location("generate_call_paths", DOCS / "generate_call_paths.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CALL_PATHS = _generator().read((DOCS / "architecture.md").read_text())


def test_the_page_has_five_call_paths():
    assert list(CALL_PATHS) == [
        "load a URDF",
        "compile a function",
        "a simulation tick",
        "a command",
        "a training iteration",
    ]


@pytest.mark.parametrize("name", CALL_PATHS)
def test_a_call_path_lists_files_that_exist_and_each_once(name):
    assert len(CALL_PATHS[name]) == len(set(CALL_PATHS[name]))
    assert [
        file for file in CALL_PATHS[name] if not any((SOURCE / place / file).exists() for place in ("", "footfall"))
    ] == []


@pytest.mark.parametrize("name", ["compile a function", "load a URDF"])
def test_a_call_path_enters_the_files_that_the_page_names(name):
    command = [sys.executable, str(DOCS / "generate_call_paths.py"), "--one", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    passed = _generator().by_folder(json.loads(done.stdout.splitlines()[-1]))
    assert passed == _generator().by_folder(CALL_PATHS[name]), "run  python docs/generate_call_paths.py"


def test_every_package_is_on_the_page():
    text = (DOCS / "architecture.md").read_text()
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    inside = {
        f"{path.parent.name}/" for name in ("nptrace", "footfall") for path in SOURCE.glob(f"{name}/*/__init__.py")
    }
    assert {name for name in packages | inside if f"`{name}`" not in text} == set()

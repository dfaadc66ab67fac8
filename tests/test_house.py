"""The house stays small and its page true: short functions, short files, and walks that pass files which exist."""

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from sources import ROOT, trees

DOCS = Path(__file__).parents[1] / "docs"
LONGEST_FUNCTION, LONGEST_FILE, ONE_PAGE = 60, 400, 120  # lines

# What is longer than that, and why.
LONG_FUNCTIONS: dict[str, str] = {}
LONG_FILES: dict[str, str] = {}


def functions():
    """(name, lines) of every function, as "file:name"."""
    for file, tree in trees("def "):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{file}:{node.name}", node.end_lineno - node.lineno + 1


def files():
    for path in sorted(ROOT.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), len(path.read_text().splitlines())


def test_functions_are_short():
    long = {name: lines for name, lines in functions() if lines > LONGEST_FUNCTION}
    assert set(long) == set(LONG_FUNCTIONS), "split what is new, and drop from the list what is short by now"


def test_files_are_short():
    long = {name: lines for name, lines in files() if lines > LONGEST_FILE}
    assert set(long) == set(LONG_FILES), "split what is new, and drop from the list what is short by now"


def test_the_step_is_one_page():
    assert dict(files())["simulate/step.py"] <= ONE_PAGE


NAMES = (ROOT / "nests.py", ROOT / "numeric.py")  # where Any is given a name; the second imports nothing of ours


def unnamed(tree, naming=False):
    """Lines that say ``Any`` where it is not that of ``**options``, which are passed on, nor given a name."""
    fine = {
        id(node.args.kwarg.annotation)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.args.kwarg
    }
    if naming:
        aliases = [
            n for n in ast.walk(tree) if isinstance(n, ast.AnnAssign) and ast.unparse(n.annotation) == "TypeAlias"
        ]
        fine |= {id(n.value) for n in aliases}
    return [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "Any" and id(n) not in fine]


def test_any_has_a_name():
    """A nest, a number that may be traced, what a user gives, what is not ours: ``footfall.nests``, in every room."""
    lines = {file: unnamed(tree, ROOT / file in NAMES) for file, tree in trees("Any")}
    assert {file: where for file, where in lines.items() if where} == {}


@pytest.mark.parametrize("robot", ["mini_cheetah", "xiling"])
def test_arrays_have_the_shapes_that_signatures_say(robot):
    """Formalisms, contact laws, integrators and controllers by plain NumPy, with all shapes checked at every call."""
    command = [sys.executable, str(Path(__file__).parent / "shape_checks.py"), robot]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


# -- docs/architecture.md ----------------------------------------------------------------------------------------------
def _generator():
    spec = importlib.util.spec_from_file_location("generate_walks", DOCS / "generate_walks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WALKS = _generator().read((DOCS / "architecture.md").read_text())


def test_the_page_tells_five_walks():
    assert list(WALKS) == ["simulate", "compile", "load a URDF", "view", "reproduce adak2021"]


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_lists_files_that_exist_and_each_once(name):
    assert len(WALKS[name]) == len(set(WALKS[name]))
    assert [file for file in WALKS[name] if not (ROOT / file).exists()] == []


@pytest.mark.parametrize("name", ["compile", "load a URDF"])
def test_a_walk_passes_the_files_that_the_page_names(name):
    command = [sys.executable, str(DOCS / "generate_walks.py"), "--one", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    passed = _generator().by_room(json.loads(done.stdout.splitlines()[-1]))
    assert passed == _generator().by_room(WALKS[name]), "run  python docs/generate_walks.py"


def test_every_room_is_on_the_page():
    text = (DOCS / "architecture.md").read_text()
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {room for room in rooms if f"`{room}/`" not in text} == set()


def test_the_long_cases_are_of_tests_that_exist():
    listed = (Path(__file__).parent / "long_cases.txt").read_text().split("\n")
    named = {line.split("[")[0] for line in listed if line}
    repository = Path(__file__).parents[1]
    gone = [n for n in named if f"def {n.split('::')[-1]}(" not in (repository / n.split("::")[0]).read_text()]
    assert gone == []

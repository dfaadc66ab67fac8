"""The layers of the house: imports go upwards only, and algorithms do not know that they are traced."""

import ast
from pathlib import Path

import pytest

import footfall

ROOT = Path(footfall.__file__).parent

# Data flows from the top down; a part may import from its own line and from lines above it.
LAYERS = [
    {"errors"},
    {"archive", "checks", "cores", "gravity", "identity", "numeric"},
    {"trace"},
    {"spatial", "solve"},
    {"robot"},
    {"kinematics"},
    {"dynamics"},
    {"contact", "gait"},
    {"control"},
    {"compiling", "loading"},
    {"simulate"},
    {"batch"},
    {"compare"},
    {"experiments", "bench"},
    {"report"},
    {"view", "learn", "sweep"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
ALGORITHMS = {"spatial", "solve", "robot", "kinematics", "dynamics", "contact", "gait", "control"}
MAY_DIFFERENTIATE = {"dynamics/lagrange.py"}  # Euler-Lagrange is defined by differentiation


def modules():
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imported_parts(path: Path) -> set[str]:
    """First names under ``footfall.`` that a file imports, inside functions too, TYPE_CHECKING blocks aside."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("footfall.")}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if node.module == "footfall":
                found |= {a.name for a in node.names}
            elif node.module.startswith("footfall."):
                found.add(node.module.split(".")[1])
    return found


def part_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


@pytest.mark.parametrize("module", modules())
def test_imports_go_upwards_only(module):
    part = part_of(module)
    assert part in RANK, f"{module}: say where {part} belongs among the layers"
    low = {name for name in imported_parts(ROOT / module) if name in RANK and RANK[name] > RANK[part]}
    assert not low, f"{module} imports {', '.join(sorted(low))}, which lie below {part}"


@pytest.mark.parametrize("module", [m for m in modules() if part_of(m) in ALGORITHMS])
def test_algorithms_do_not_know_that_they_are_traced(module):
    if module in MAY_DIFFERENTIATE:
        return
    assert not imported_parts(ROOT / module) & {"trace", "compiling"}, module


@pytest.mark.parametrize("module", [m for m in modules() if part_of(m) == "trace"])
def test_the_tracer_knows_no_robots(module):
    assert imported_parts(ROOT / module) <= {"errors", "numeric", "trace", "identity"}, module


def test_no_file_reads_pickles_or_evaluates_text():
    forbidden = {"eval", "exec"}
    for module in modules():
        tree = ast.parse((ROOT / module).read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in forbidden, f"{module}:{node.lineno} calls {node.func.id}"
            if isinstance(node, ast.Import):
                names = {a.name.split(".")[0] for a in node.names}
                assert not names & {"pickle", "marshal", "shelve", "dill"}, f"{module}:{node.lineno}"
            if isinstance(node, ast.ImportFrom) and node.module:
                assert node.module.split(".")[0] not in ("pickle", "marshal", "shelve", "dill"), module
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert getattr(node.value, "value", True) is False, f"{module} allows pickles"

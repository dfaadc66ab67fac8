"""The layers of the house: imports go upwards only, and algorithms do not know that they are traced."""

import ast
import functools
from pathlib import Path

import pytest
from sources import ROOT, trees

# Data flows from the top down; a room may import from its own line and from lines above it. A file or folder that is
# named with its room ("trace/graph", "control/interface") has its own line; the others have that of their room.
LAYERS = [
    {"errors"},
    {
        "archive",
        "checks",
        "cores",
        "gravity",
        "identity",
        "json_file",
        "nests",
        "notebook",
        "numeric",
        "parameters",
        "rooms",
        "seams",
        "toml_file",
        "whole_file",
    },
    {"solve"},
    {"trace/graph"},
    {"trace/face"},
    {"trace/passes"},
    {"trace/targets"},
    {"trace/runtime"},
    {"trace/verification"},
    {"trace"},
    {"spatial"},
    {"robot/model"},
    {"robot/library"},
    {"robot/files"},
    {"robot"},
    {"kinematics"},
    {"dynamics"},
    {"contact", "gait"},
    {"control/command", "control/joint_command", "control/sensed", "control/posture", "control/stand_gains"},
    {"control/interface"},
    {"control/joint"},
    {"control/locomotion"},
    {"control/estimation", "control/optimal", "control/learned"},
    {"control"},
    {"compiling", "debug", "loading"},
    {"hardware/emergency_stop", "hardware/motor_model", "hardware/motors"},
    {"hardware/sensor_faults", "hardware/sensors", "recording"},
    {"simulate"},
    {"draw"},
    {"analysis"},
    {"hardware", "recording/formats"},  # connections to robots elsewhere, and logs that others open
    {"batch"},
    {"compare"},
    {"export"},
    {"bench"},
    {"experiments/claims", "experiments/recorded", "experiments/registered"},
    {"experiments/adak2021", "experiments/contact_comparison", "experiments/depaula2024", "experiments/dynakat"},
    {"experiments/floating_base", "experiments/reality", "experiments/yan2021"},
    {"experiments"},
    {"view"},
    {"report", "learn", "sweep"},
    {"commands"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Methods that open a door to a room below, for convenience: robot.draw(), recording.plot(), recording.compare().
DOORS = {
    "robot/model/description.py": {"draw/drawing"},
    "recording/recording.py": {"analysis/plots", "compare/recordings", "draw/video"},
}
ALGORITHMS = {"spatial", "solve", "robot", "kinematics", "dynamics", "contact", "gait", "control"}
# Euler-Lagrange is defined by differentiation, and so is the quadratic model of a knot
MAY_DIFFERENTIATE = {"dynamics/lagrange.py", "control/optimal/knot.py"}


def modules():
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@functools.cache
def imported(path: Path) -> set[str]:
    """Files and rooms of footfall that a file imports, as "room/file", inside functions and for type checkers too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names |= {f"{node.module}.{a.name}" for a in node.names}
    inside = {name.removeprefix("footfall.").replace(".", "/") for name in names if name.startswith("footfall.")}
    return {name if is_module(name) else name.rpartition("/")[0] for name in inside} - {""}


def is_module(name: str) -> bool:
    return (ROOT / f"{name}.py").exists() or (ROOT / name).is_dir()


def part_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def rank(name: str) -> int:
    """The line of a file: its own, or that of the innermost folder that has one."""
    while name not in RANK:
        name, slash, _ = name.rpartition("/")
        assert slash, "it has no place among the layers"
    return RANK[name]


def name_of(module: str) -> str:
    return module.removesuffix(".py").removesuffix("/__init__")


@pytest.mark.parametrize("module", modules())
def test_imports_go_upwards_only(module):
    assert any(name_of(module).startswith(name) for name in RANK), f"{module}: say where it belongs among the layers"
    own = rank(name_of(module))
    low = {name for name in imported(ROOT / module) if rank(name) > own} - DOORS.get(module, set())
    assert not low, f"{module} imports {', '.join(sorted(low))}, which lie below it"


def test_every_door_is_used():
    for module, rooms in DOORS.items():
        assert rooms <= imported(ROOT / module), module


@pytest.mark.parametrize("module", [m for m in modules() if part_of(m) in ALGORITHMS])
def test_algorithms_do_not_know_that_they_are_traced(module):
    if module in MAY_DIFFERENTIATE:
        return
    assert not {part_of(name) for name in imported(ROOT / module)} & {"trace", "compiling"}, module


@pytest.mark.parametrize("module", [m for m in modules() if part_of(m) == "trace"])
def test_the_tracer_knows_no_robots(module):
    known = {"errors", "numeric", "nests", "solve", "trace", "identity", "rooms"}
    assert {part_of(name) for name in imported(ROOT / module)} <= known, module


def test_no_file_reads_pickles_or_evaluates_text():
    forbidden = {"eval", "exec"}
    for module, tree in trees("eval", "exec", "pickle", "marshal", "shelve", "dill"):
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

"""The architecture, a test for each law: the direction of imports, what the tracer may know, nothing is evaluated."""

import ast
import functools
import sys
from pathlib import Path

import nptrace

SRC = Path(nptrace.__file__).parents[1]
PACKAGES = ("nptrace", "footfall", "footfall_go2", "footfall_lab")

# Data flows from the top down; a file may import from its own line and from lines above it. A file or folder that is
# named here has its own line; any other has that of its folder.
LAYERS = [
    # nptrace
    {"nptrace/_types", "nptrace/array_types", "nptrace/numeric", "nptrace/packages", "nptrace/lazy"},
    {"nptrace/errors", "nptrace/runtime/cache", "nptrace/runtime/gc_paused"},
    {"nptrace/source_facts"},
    {"nptrace/ownership"},
    {"nptrace/solve"},
    {"nptrace/ir"},
    {"nptrace/frontend"},
    {"nptrace/passes"},
    {"nptrace/codegen"},
    {"nptrace/verification"},
    {"nptrace/frontend/notation", "nptrace/frontend/tracer"},
    {"nptrace/runtime"},
    {"nptrace/autodiff"},
    {"nptrace/binding"},
    {"nptrace"},
    # footfall
    {"footfall/errors"},
    {"footfall/_io", "footfall/checks", "footfall/hints", "footfall/identity", "footfall/plugins", "footfall/adapters"},
    {"footfall/draw/notebook", "footfall/parameters", "footfall/sim/cores", "footfall/spatial/gravity"},
    {"footfall/spatial"},
    {"footfall/robot/model"},
    {"footfall/robot/library"},
    {"footfall/robot/files"},
    {"footfall/robot"},
    {"footfall/conversions"},
    {"footfall/kinematics"},
    {"footfall/dynamics"},
    {"footfall/contact", "footfall/gait"},
    {"footfall/control/command", "footfall/control/joint_command", "footfall/control/sensed"},
    {"footfall/control/posture", "footfall/control/stand_gains"},
    {"footfall/control/interface"},
    {"footfall/control/joint"},
    {"footfall/control/locomotion"},
    {"footfall/sensing/estimation", "footfall/control/optimal", "footfall/control/learned"},
    {"footfall/control"},
    {"footfall/compiling", "footfall/debug", "footfall/loading"},
    {"footfall/sensing/emergency_stop"},
    {"footfall/sensing", "footfall/recording"},
    {"footfall/sim"},
    {"footfall/draw"},
    {"footfall/analysis"},
    {"footfall/hardware", "footfall/recording/formats"},  # connections to robots elsewhere, and logs that others open
    {"footfall/mujoco"},
    {"footfall/export"},
    {"footfall/view"},
    {"footfall/learn", "footfall/sweep"},
    {"footfall/cli"},
    {"footfall"},
    # what builds on it
    {"footfall_go2"},
    {"footfall_lab/processes", "footfall_lab/verify"},
    {"footfall_lab/bench"},
    {"footfall_lab/papers/claims", "footfall_lab/papers/recorded", "footfall_lab/papers/registered"},
    {"footfall_lab/papers/mechanics", "footfall_lab/papers/timing"},
    {f"footfall_lab/papers/{name}" for name in ("adak2021", "contact_comparison", "depaula2024", "dynakat")},
    {"footfall_lab/papers/floating_base", "footfall_lab/papers/yan2021", "footfall_lab/reality"},
    {"footfall_lab/papers"},
    {"footfall_lab/report"},
    {"footfall_lab/demo"},
    {"footfall_lab/cli"},
    {"footfall_lab"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# Methods that open a door to a package below, for convenience: robot.draw(), recording.plot().
DOORS = {
    "footfall/robot/model/description.py": {"footfall/draw/drawing"},
    "footfall/recording/recording.py": {"footfall/analysis/plots", "footfall/draw/video"},
}
ALGORITHMS = ("spatial", "robot", "kinematics", "dynamics", "contact", "gait", "control", "sensing/estimation")
# what algorithms may know of nptrace beside its solvers: what is plain NumPy unless a trace runs
PLAIN = {"nptrace"} | {
    f"nptrace/{name}" for name in ("_types", "array_types", "errors", "lazy", "numeric", "ownership")
}
FRONTS = {"nptrace", "footfall"}  # pages that load names when they are first used
# Euler-Lagrange is defined by differentiation, and so is the quadratic model of a knot
MAY_DIFFERENTIATE = {"footfall/dynamics/formalisms/lagrange.py", "footfall/control/optimal/knot.py"}


# Files and folders that are loaded by those who have these packages, and load them
NEED = {
    "footfall/cli/": {"typer", "rich"},
    "footfall/dynamics/formalisms/screw_system.py": {"scipy"},
    "footfall/hardware/dds/": {"cyclonedds"},
    "footfall_go2/fixed.py": {"cyclonedds"},
    "footfall_lab/": {"crocoddyl", "matplotlib", "mujoco", "pinocchio", "rich", "scipy", "typer"},
}


@functools.cache
def modules() -> list[str]:
    fronts = {SRC / package / "__init__.py" for package in PACKAGES}
    files = [path for package in PACKAGES for path in (SRC / package).rglob("*.py") if path not in fronts]
    return sorted(path.relative_to(SRC).as_posix() for path in files)


@functools.cache
def imported(module: str) -> set[str]:
    """Files and folders of ours that a file imports, as "package/file", inside functions and for type checkers too."""
    names = set()
    for node in ast.walk(ast.parse((SRC / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names |= {f"{node.module}.{a.name}" for a in node.names}
    inside = {name.replace(".", "/") for name in names if name.partition(".")[0] in PACKAGES}
    return {name if is_module(name) else name.rpartition("/")[0] for name in inside}


def outside(module: str) -> set[str]:
    """Packages of others that a file imports when it is loaded."""
    names = set()
    for node in ast.parse((SRC / module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {a.name.partition(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - {*PACKAGES}


def is_module(name: str) -> bool:
    return (SRC / f"{name}.py").exists() or (SRC / name).is_dir()


def name_of(module: str) -> str:
    return module.removesuffix(".py").removesuffix("/__init__")


def rank(name: str) -> int:
    """The line of a file: its own, or that of the innermost folder that has one."""
    while name not in RANK:
        name = name.rpartition("/")[0]
    return RANK[name]


def test_what_is_loaded_needs_numpy_alone():
    """Others are loaded where they are used: in a browser there is NumPy."""
    need = {
        module: {name for where, own in NEED.items() if module.startswith(where) for name in own}
        for module in modules()
    }
    found = {module: outside(module) - {"numpy"} - need[module] for module in modules()}
    assert {module: names for module, names in found.items() if names} == {}


def test_imports_go_upwards_only():
    low = {
        module: {name for name in imported(module) - FRONTS if rank(name) > rank(name_of(module))}
        - DOORS.get(module, set())
        for module in modules()
    }
    assert {module: names for module, names in low.items() if names} == {}


def test_packages_import_in_one_direction():
    """nptrace <- footfall <- footfall_go2 and footfall_lab, which do not know each other."""
    below = {
        "nptrace": {"nptrace"}, "footfall": {"nptrace", "footfall"},
        "footfall_go2": {"nptrace", "footfall", "footfall_go2"},
        "footfall_lab": {"nptrace", "footfall", "footfall_lab"},
    }  # fmt: skip
    wrong = {
        module: {name for name in imported(module) if name.partition("/")[0] not in below[module.partition("/")[0]]}
        for module in modules()
    }
    assert {module: names for module, names in wrong.items() if names} == {}


def test_every_door_is_used():
    for module, names in DOORS.items():
        assert names <= imported(module), module


def test_algorithms_do_not_know_that_they_are_traced():
    places = (*(f"footfall/{name}/" for name in ALGORITHMS), "nptrace/solve/")
    algorithms = [m for m in modules() if m.startswith(places) and m not in MAY_DIFFERENTIATE]
    tracer = {
        module: {
            name for name in imported(module) - PLAIN
            if name == "footfall/compiling" or (name.startswith("nptrace/") and not name.startswith("nptrace/solve"))
        }
        for module in algorithms
    }  # fmt: skip
    assert {module: names for module, names in tracer.items() if names} == {}


def test_no_file_reads_pickles_or_evaluates_text():
    forbidden = {"eval", "exec"}
    for module in modules():
        text = (SRC / module).read_text(encoding="utf-8")
        if not any(word in text for word in ("eval", "exec", "pickle", "marshal", "shelve", "dill")):
            continue
        tree = ast.parse(text)
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

"""The public page: what a user needs is one dot behind its package, and a package shows its own names alone."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import footfall as ff

DOCS = Path(__file__).parent.parent / "docs"
PACKAGES = [name for name in ff.__all__ if type(getattr(ff, name)).__name__ == "module"]
NEEDED = [
    "sensing.Sensors",
    "sensing.Fault",
    "sensing.EmergencyStop",
    "sim.JointModel",
    "analysis.identify",
    "analysis.estimation_errors",
    "sim.World",
    "control.Reflexes",
    "control.Estimated",
    "control.Spine",
    "analysis.margins",
    "sim.linearize",
    "sim.lqr_stand",
    "recording.Recording",
    "analysis.stability",
    "robot.quadruped",
    "robot.with_payload",
    "robot.to_urdf",
    "dynamics.lagrange",
    "gait.static_margin",
    "gait.wide_stability_margin",
    "gait.energy_margin",
    "margins",
    "linearize",
    "contact.StickSlip",
]


def test_the_rooms_are_those_of_the_front_page():
    assert {"contact", "control", "dynamics", "gait", "learn", "robot", "sim", "spatial", "sweep"} <= set(PACKAGES)
    assert dir(ff) == sorted(ff.__all__)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_shows_its_own_names_and_each_of_them_is_there(name):
    package = import_module(f"footfall.{name}")
    assert dir(package) == sorted(package.__all__)
    assert len(set(package.__all__)) == len(package.__all__) > 0
    for key in package.__all__:
        assert getattr(package, key) is not None
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = package.no_such_thing


def test_public_modules_in_packages_show_their_own_names_and_stand_for_no_function_of_their_name():
    packages = [
        import_module(name) for name in ("nptrace", "nptrace.solve", *(f"footfall.{name}" for name in PACKAGES))
    ]
    inside = [getattr(package, key) for package in packages for key in package.__all__]
    modules = [found for found in inside if type(found).__name__ == "module"]
    assert len(modules) >= 10
    for module in modules:
        shown, own = dir(module), module.__name__.rpartition(".")[2]
        assert shown == sorted(module.__all__), module
        assert all(getattr(module, key) is not None for key in shown)
        assert own not in shown, f"{module.__name__} hides the function '{own}': another name for the file"


@pytest.mark.parametrize("name", PACKAGES)
def test_the_reference_lists_what_a_package_holds(name):
    text = (DOCS / "reference" / "api" / "index.md").read_text()
    listed = re.search(rf"^\*\*ff\.{name}\*\*: (.+)$", text, re.MULTILINE)
    assert listed is not None
    assert re.findall(r"\[(\w+)\]", listed[1]) == sorted(import_module(f"footfall.{name}").__all__)


def test_a_fresh_interpreter_reaches_all_of_it_by_dots():
    lines = [f"assert callable(ff.{name}) or ff.{name}.__doc__, {name!r}" for name in NEEDED]
    code = "\n".join(["import footfall as ff", *lines])
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_front_page_loads_no_package():
    code = "import footfall, sys; print(*sorted(m for m in sys.modules if m.startswith(('footfall.', 'nptrace.'))))"
    told = subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True, text=True)
    assert told.stdout.strip() == "footfall.errors nptrace.errors nptrace.lazy nptrace.packages"

"""What has one owner is written once: cores, the style of figures, the checks of numbers."""

import ast
import os
from pathlib import Path

import pytest

import footfall
from footfall.cores import cores

ROOT = Path(footfall.__file__).parent


def who_has(found):
    """Files with a node of the syntax tree that a test is looking for."""
    return sorted(
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if any(found(node) for node in ast.walk(ast.parse(path.read_text())))
    )


def is_call_of(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


def test_cores_are_counted_in_one_place():
    assert who_has(lambda node: is_call_of(node, "cpu_count")) == ["cores.py"]
    assert who_has(lambda node: isinstance(node, ast.FunctionDef) and node.name == "cores") == ["cores.py"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin a process to a core")
def test_cores_are_those_that_this_process_may_use():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert cores() == len(before)


def test_figures_have_one_style_and_are_made_in_one_place():
    """But for the drawing of a robot, which has no axes to style and lies above the gaits."""
    assert who_has(lambda node: is_call_of(node, "rc_context")) == ["gait/drawing.py"]
    made = who_has(lambda node: isinstance(node, ast.Name) and node.id == "FigureCanvasAgg")
    assert made == ["gait/drawing.py", "robot/drawing.py"]


def test_a_style_may_be_changed_for_one_figure():
    import matplotlib

    from footfall.gait.drawing import style

    before = matplotlib.rcParams["legend.fontsize"]
    with style(legend_fontsize=8.5, axes_titlelocation="left"):
        assert matplotlib.rcParams["legend.fontsize"] == 8.5
        assert matplotlib.rcParams["axes.titlelocation"] == "left"
        assert matplotlib.rcParams["axes.grid"]
    assert matplotlib.rcParams["legend.fontsize"] == before

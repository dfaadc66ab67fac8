"""What has one owner is written once: cores, the style of figures, the checks of numbers."""

import ast
import math
import os

import numpy as np
import pytest
from sources import trees

from footfall.checks import (
    checked_number,
    finite_number,
    is_number,
    number_between,
    positive_number,
    three_numbers,
)
from footfall.cores import cores
from footfall.errors import InputError


def who_has(found, *words):
    """Files with a node of the syntax tree that a test is looking for, in which these words are."""
    return sorted(file for file, tree in trees(*words) if any(found(node) for node in ast.walk(tree)))


def is_call_of(node, name):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


def test_cores_are_counted_in_one_place():
    assert who_has(lambda node: is_call_of(node, "cpu_count"), "cpu_count") == ["cores.py"]
    assert who_has(lambda node: isinstance(node, ast.FunctionDef) and node.name == "cores", "cores") == ["cores.py"]


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
    assert who_has(lambda node: is_call_of(node, "rc_context"), "rc_context") == ["draw/style.py"]
    made = who_has(lambda node: isinstance(node, ast.Name) and node.id == "FigureCanvasAgg", "FigureCanvasAgg")
    assert made == ["draw/style.py"]


def test_a_style_may_be_changed_for_one_figure():
    import matplotlib

    from footfall.draw.style import style

    before = matplotlib.rcParams["legend.fontsize"]
    with style(legend_fontsize=8.5, axes_titlelocation="left"):
        assert matplotlib.rcParams["legend.fontsize"] == 8.5
        assert matplotlib.rcParams["axes.titlelocation"] == "left"
        assert matplotlib.rcParams["axes.grid"]
    assert matplotlib.rcParams["legend.fontsize"] == before


NOT_NUMBERS = ("long", "1.5 m", None, 1j, [1.0], object())
NOT_FINITE = (math.nan, math.inf, -math.inf)


def test_checks_of_numbers_pass_what_is_one():
    assert all(is_number(x) for x in (1, 2.5, np.float32(3), -0.0))
    assert not any(is_number(x) for x in (10**400, "1", None, math.nan, 1j))
    assert finite_number(np.float32(-2.0), "x") == -2.0
    assert positive_number(1, "x") == 1.0
    assert number_between(0.5, "x", 0.0, 1.0) == 0.5
    assert checked_number(0.0, "x", 0.0) == 0.0
    np.testing.assert_array_equal(three_numbers((1, 2, 3), "x"), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE, 10**400])
def test_checks_of_numbers_refuse_in_one_sentence_that_names_what_is_wrong(value):
    for check in (finite_number, positive_number, number_between, three_numbers):
        with pytest.raises(InputError, match=r"^the height of a step must be [^\n]*, got [^\n]*$"):
            check(value, "the height of a step")


def test_checks_of_numbers_keep_their_bounds():
    for check in (
        lambda: positive_number(0.0, "x"), lambda: number_between(1.0, "x", 0.0, 1.0),
        lambda: checked_number(-0.1, "x", 0.0), lambda: checked_number(0.0, "x", 0.0, above=True),
        lambda: checked_number(2.0, "x", 0.0, 1.0), lambda: three_numbers((1.0, 2.0), "x"),
        lambda: three_numbers((1.0, 2.0, math.nan), "x"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"^x must "):
            check()


def test_numbers_are_checked_in_one_place():
    """Names under which the same checks stood in seven files."""
    copies = {"_finite", "_positive", "_number", "is_number", "checked_number", "finite_number", "positive_number"}
    kept = {"checks.py"}
    kept |= {
        "control/estimation/sensor_health.py",
        "analysis/run_summary.py",
    }  # of arrays that are traced; of a table's cell
    kept |= {
        "robot/files/guard.py",
        "sweep/axes.py",
        "trace/passes/program.py",
    }  # of text; of TOML; how a constant is written
    assert set(who_has(lambda node: isinstance(node, ast.FunctionDef) and node.name in copies, *copies)) == kept

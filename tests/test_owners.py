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

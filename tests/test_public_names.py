"""Public names: a class name means one thing in a package."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

import nptrace

SRC = Path(nptrace.__file__).parents[1]


@pytest.mark.parametrize("package", ["nptrace", "footfall", "footfall_go2", "footfall_lab"])
def test_no_public_class_name_is_defined_twice(package):
    places = defaultdict(set)
    for path in (SRC / package).rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(path.relative_to(SRC / package).as_posix())
    twice = {name: sorted(files) for name, files in places.items() if len(files) > 1}
    assert twice == {}

"""The files of the package as syntax trees, for laws about how it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import footfall

ROOT = Path(footfall.__file__).parent


def trees(*words: str) -> Iterator[tuple[str, ast.Module]]:
    """(file, tree) of all files that have one of these words: to make a tree takes far longer than to look for them."""
    for path in sorted(ROOT.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(word in text for word in words):
            yield path.relative_to(ROOT).as_posix(), ast.parse(text)

"""nptrace stands alone: it imports no package built on it, and loads LLVM only when something is compiled."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import nptrace

SOURCES = sorted(Path(nptrace.__file__).parent.rglob("*.py"))
PAGES = sorted((Path(__file__).parents[2] / "docs" / "nptrace").glob("*.md"))


def _loaded(code: str) -> set[str]:
    code += "; import sys; print(*{m.partition('.')[0] for m in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_nptrace_imports_no_footfall_and_no_llvm():
    assert not _loaded("import nptrace") & {"footfall", "footfall_lab", "footfall_go2", "llvmlite", "numpy"}


def test_compiling_with_nptrace_imports_no_footfall():
    found = _loaded("import nptrace; nptrace.compile(lambda x: x + 1.0, 2.0, cache=None)(3.0)")
    assert "llvmlite" in found
    assert not any(name.startswith("footfall") for name in found)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(SOURCES[0].parent).as_posix())
def test_no_file_of_nptrace_speaks_of_what_it_is_used_for(path):
    words = re.findall(r"(?<![a-z])(?:robots?|legs?|limbs?|footfall)(?![a-z])", path.read_text(), re.IGNORECASE)
    assert not words


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_page_of_nptrace_speaks_of_what_it_is_used_for(path):
    assert not re.findall(r"(?<![a-z])(?:robots?|legs?|limbs?)(?![a-z])", path.read_text(), re.IGNORECASE)

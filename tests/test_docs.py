"""The pages of the documentation: their code runs, and prints what they say it prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```(python|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))) if "```python" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # pages write files
    names, printed = {}, None
    for kind, text in FENCE.findall(page.read_text()):
        if kind == "python":
            assert not printed, f"{page.name} does not show what a block prints: {printed}"
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, page.name, "exec"), names)
            printed = out.getvalue()
        else:
            assert printed is not None, f"{page.name}: output without code"
            assert printed.strip() == text.strip()
            printed = None
    assert not printed


def test_every_file_that_papers_names_exists():
    root = DOCS.parent / "src" / "footfall"
    text = (DOCS / "papers.md").read_text()
    for name in set(re.findall(r"`([a-z_0-9]+/[a-z_0-9/]+\.py)`", text)):
        assert (root / name).exists(), name

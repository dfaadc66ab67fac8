"""The pages of the documentation: their code runs, and prints what they say it prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FENCE = re.compile(r"^```(python|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
API = DOCS / "reference" / "api"  # generated
WRITTEN = [DOCS.parent / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if page.parent != API)]
PAGES = [page for page in WRITTEN if "```python" in page.read_text()]


def name_of(page: Path) -> str:
    return page.stem if page.parent == DOCS.parent else str(page.relative_to(DOCS).with_suffix(""))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
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
    project = DOCS.parent
    text = (DOCS / "research" / "papers.md").read_text()
    for name in set(re.findall(r"`([a-z_0-9]+/[a-z_0-9/]+\.py)`", text)):
        roots = (project,) if name.startswith("studies/") else (project / "src" / "footfall", project / "src")
        assert any((root / name).exists() for root in roots), name


def test_every_public_name_is_in_the_reference():
    import footfall

    text = (API / "index.md").read_text()
    missing = [name for name in footfall.__all__ if not re.search(rf"ff\.{name}\b", text)]
    assert missing == []


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_links_and_figures_of_a_page_are_there_and_figures_are_small(page):
    for name in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", page.read_text()):
        target = page.parent / name
        if target.name != "learned-trot.html":  # made with the pages
            assert target.exists(), name
        if target.suffix == ".png":
            assert target.stat().st_size < 150_000, name


SHOWING = [page for page in WRITTEN if page.parent != DOCS.parent and "](" in page.read_text()]
COMMAND = re.compile(r"`(?:python ((?:docs|studies)/\w+\.py)|footfall (?:reproduce|video|train))")


@pytest.mark.parametrize("page", [p for p in SHOWING if re.search(r"!\[.*\.(png|gif)\)", p.read_text())], ids=name_of)
def test_a_page_with_figures_names_what_made_them(page):
    made = COMMAND.findall(" ".join(page.read_text().split()))
    assert made
    assert all((DOCS.parent / script).exists() for script in made if script)


def test_the_reference_in_markdown_is_current(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import generate_reference

    kept = {path.name: path.read_text() for path in API.glob("*.md")}
    assert kept == generate_reference.pages(), "python docs/generate_reference.py"

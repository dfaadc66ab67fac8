"""Questions of new users, typed into the search of the rendered documentation, lead to pages that answer them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def check_search(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import check_search

    return check_search


def test_questions_name_pages_that_exist(check_search):
    for question in check_search.QUESTIONS:
        for name in question["pages"]:
            assert (DOCS / f"{name}.md").exists(), (question["asked"], name)


@pytest.mark.slow
@pytest.mark.browser
def test_the_search_of_the_rendered_site_answers_what_users_ask(check_search, tmp_path):
    pytest.importorskip("sphinx", reason="pip install 'footfall[docs]'")
    pytest.importorskip("playwright.sync_api", reason="pip install 'footfall[test]'")
    if check_search.chromium() is None:
        pytest.skip("no chromium is installed (apt-get install chromium)")
    build = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-b", "html", str(DOCS), str(tmp_path)]
    subprocess.run(build, check=True)
    assert check_search.misses(tmp_path) == []


@pytest.mark.slow
def test_a_broken_reference_fails_the_build(tmp_path):
    pytest.importorskip("sphinx", reason="pip install 'footfall[docs]'")
    for name in ("conf.py", "_static"):
        (tmp_path / name).symlink_to(DOCS / name)
    (tmp_path / "index.md").write_text("# A page\n\n[nowhere](not_there.md) and [no anchor](#not-there)\n")
    build = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-b", "html", str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode != 0
    assert "not_there" in done.stderr or "not-there" in done.stderr

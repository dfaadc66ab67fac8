"""Types the questions of search_questions.toml into the search of the built documentation, and lists the misses.

python docs/check_search.py [SITE]

SITE is the folder that `make docs` wrote, out/docs unless given. It needs Chromium and playwright.
"""

from __future__ import annotations

import functools
import shutil
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

DOCS = Path(__file__).parent
FIRST = 3  # results that a reader looks at
FLAGS = ["--no-sandbox", "--use-angle=swiftshader"]
QUESTIONS: list[dict[str, Any]] = tomllib.loads((DOCS / "search_questions.toml").read_text())["question"]


def chromium() -> str | None:
    """Return the path of the first Chromium on the PATH, None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on a free port; yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def results(page: Any, address: str, typed: str) -> list[str]:
    """Return the names of the pages that the search finds, best first, each once."""
    page.goto(f"{address}/search.html?q={quote(typed)}")
    page.wait_for_function("() => /finished|did not match/.test(document.querySelector('.search-summary')?.innerText)")
    links = page.eval_on_selector_all("ul.search li a", "all => all.map(a => a.getAttribute('href'))")
    return list(dict.fromkeys(link.partition("#")[0].partition("?")[0].removesuffix(".html") for link in links))


def misses(site: Path) -> list[str]:
    """Return a line for every question that the first results do not answer."""
    from playwright.sync_api import sync_playwright

    wrong = []
    with served(site) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_page()
        texts: dict[str, str] = {}
        for question in QUESTIONS:
            for typed in question["typed"]:
                found = results(page, address, typed)[:FIRST]
                answering = [name for name in found if name in question["pages"]]
                for name in answering:
                    if name not in texts:
                        page.goto(f"{address}/{name}.html")
                        texts[name] = page.inner_text("[role=main]")
                if not any(question["answer"] in texts[name] for name in answering):
                    wrong.append(f"{question['asked']} {typed!r} finds {', '.join(found) or 'nothing'}")
        browser.close()
    return wrong


def main() -> None:
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS.parent / "out" / "docs"
    wrong = misses(site)
    tried = sum(len(question["typed"]) for question in QUESTIONS)
    print("\n".join([*wrong, f"{len(QUESTIONS)} questions in {tried} wordings, {len(wrong)} missed"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

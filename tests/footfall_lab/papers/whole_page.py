"""A page of HTML read as a browser would."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Checks that tags close in order, and collects what a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href", "data", "action", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def stands_alone(text: str, figures: int) -> None:
    """The page of a report is whole, fetches nothing, runs nothing, and does not say whose computer made it."""
    page = Page()
    page.feed(text)
    assert page.open == []
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert "script" not in page.tags
    assert "url(" not in text
    assert "@import" not in text
    assert page.tags.count("img") == figures
    assert str(Path.home()) not in text

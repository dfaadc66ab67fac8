"""Texts of others where they could do harm: on the page, and in the names of files."""

from __future__ import annotations

import re

_MOST = 500  # characters of a text on the page
_LINKS = (("://", ":\u2060//"), ("www.", "www\u2060."), ("@", "@\u2060"))  # an invisible joiner: it is no link any more


def as_text(text: object) -> str:
    """A text for viser's markdown that shows as it is: no markup, no HTML, no link comes of it.

    Recordings and models are written by anybody, and viser puts HTML that stands in a markdown into the page.
    """
    plain = " ".join(str(text).split())
    plain = "".join(c for c in plain if c.isprintable())
    plain = plain if len(plain) <= _MOST else plain[: _MOST - 1] + "…"
    for link, broken in _LINKS:
        plain = re.sub(re.escape(link), broken, plain, flags=re.IGNORECASE)
    return "".join(c if c.isalnum() or c == " " or ord(c) > 127 else f"&#{ord(c)};" for c in plain)


def file_stem(name: str) -> str:
    """The name of a file, in its folder, after the name of a robot."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._-")[:60]
    return stem or "robot"


__all__ = ["as_text", "file_stem"]

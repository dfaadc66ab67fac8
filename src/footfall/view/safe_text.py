"""Untrusted text made safe: on the page, and in file names."""

from __future__ import annotations

import re

_MOST = 500  # characters of a text on the page
# an invisible joiner, so that it is not a link
_LINKS = (("://", ":\u2060//"), ("www.", "www\u2060."), ("@", "@\u2060"))


def as_text(text: object) -> str:
    """Return a text that viser's markdown shows literally, without markup, HTML or links.

    Recordings and models are untrusted, and viser inserts HTML from markdown into the page.
    """
    plain = " ".join(str(text).split())
    plain = "".join(c for c in plain if c.isprintable())
    plain = plain if len(plain) <= _MOST else plain[: _MOST - 1] + "…"
    for link, broken in _LINKS:
        plain = re.sub(re.escape(link), broken, plain, flags=re.IGNORECASE)
    return "".join(c if c.isalnum() or c == " " or ord(c) > 127 else f"&#{ord(c)};" for c in plain)


def file_stem(name: str) -> str:
    """Return a file name, in its folder, derived from the name of a robot."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._-")[:60]
    return stem or "robot"


__all__ = ["as_text", "file_stem"]

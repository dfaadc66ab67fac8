"""A rich console that prints names as they are: no markup, no emoji, no terminal escapes in them."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from footfall.errors import printable


class PlainConsole(Console):
    """A console that colours only a ``rich.text.Text``; a string is printed as it is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)

"""Adapters for user-defined classes: an object without our base class is wrapped once, where it enters the library.

Only this module inspects the members of an object. Everywhere else, interfaces declare their members, base classes
supply the defaults, and user-defined objects are wrapped in an ``Adapter``.
"""

from __future__ import annotations

from collections.abc import Callable

from nptrace._types import Given


class Adapter:
    """Wrap an object of a user-defined class and expose its parameters."""

    adapted: Given

    def get(self, member: str, default: Given) -> Given:
        """Return a member of the user's object, or a default if it is missing."""
        return getattr(self.adapted, member, default)


def unadapted(part: Given) -> Given:
    """Return the user's object inside an adapter; any other object unchanged."""
    return part.adapted if isinstance(part, Adapter) else part


def has_members(part: object, *members: str) -> bool:
    """Return whether a user's object has all members that an interface requires."""
    return all(hasattr(part, member) for member in members)


def function_name(function: Callable[..., object]) -> str:
    """Return the name of a function, or of its class if it has no name (such as a partial)."""
    return str(getattr(function, "__name__", type(function).__name__))

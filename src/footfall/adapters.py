"""Users' own classes: an object of a class without our base is wrapped once, where it is given.

Only this module looks at what members an object has. Everywhere else an interface declares its members, its base class
has their defaults, and an object of a user-defined class is behind an ``Adapter``.
"""

from __future__ import annotations

from collections.abc import Callable

from nptrace._types import Given


class Adapter:
    """Stand for an object of a user-defined class, whose parameters it has."""

    adapted: Given

    def get(self, member: str, default: Given) -> Given:
        """Return a member of the user's object, or a default where it lacks one."""
        return getattr(self.adapted, member, default)


def unadapted(part: Given) -> Given:
    """Return the user's object behind an adapter; anything else as it is."""
    return part.adapted if isinstance(part, Adapter) else part


def has_members(part: object, *members: str) -> bool:
    """Return whether a user's object has all members that an interface requires."""
    return all(hasattr(part, member) for member in members)


def function_name(function: Callable[..., object]) -> str:
    """Return the name of a user's function; of one without, such as a partial, that of its class."""
    return str(getattr(function, "__name__", type(function).__name__))

"""Where users' own classes meet footfall's: a class without our base is adapted once, where it is taken.

This is the one place that finds out what an object has. Everywhere else a seam's members are declared: its protocol
says what may be asked, its base has the defaults, and a user's own class is behind an ``Adapter``.
"""

from __future__ import annotations

from collections.abc import Callable

from footfall.nests import Given


class Adapter:
    """Stands for an object of a user's own class. Its parameters are those of the object, not its own."""

    adapted: Given

    def own(self, member: str, default: Given) -> Given:
        """A member of the user's object, or what stands in where it has none."""
        return getattr(self.adapted, member, default)


def unadapted(part: Given) -> Given:
    """The user's own object behind an adapter; anything else as it is."""
    return part.adapted if isinstance(part, Adapter) else part


def has_members(part: object, *members: str) -> bool:
    """Whether a user's object has all that a seam cannot do without."""
    return all(hasattr(part, member) for member in members)


def function_name(function: Callable[..., object]) -> str:
    """What a user's function is called; one without a name, such as a partial, by its class."""
    return str(getattr(function, "__name__", type(function).__name__))

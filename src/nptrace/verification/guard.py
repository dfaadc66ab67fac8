"""A fast check whether anything has changed since a walk over hidden state: its reads are repeated.

Only addresses and the contents of arrays are compared, in C loops: some microseconds, where the walk takes hundreds. If
nothing has moved, a second walk would find the same as the first. Otherwise an object may have been replaced by an
equal one, and only another walk can tell.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain, repeat
from operator import attrgetter, call, is_, methodcaller

import numpy as np

_ABSENT = object()
_values = methodcaller("values")
_form = attrgetter("shape", "dtype")


@functools.cache
def _getter(names: tuple[str, ...]) -> attrgetter:
    """Return a function that reads attributes, and the class, as a tuple."""
    return attrgetter("__class__", *names)


class Guard:
    """The reads of a walk: namespaces, lists, attributes and arrays, with their contents."""

    def __init__(self) -> None:
        self.is_complete = True  # False if the walk has read something that is not compared here
        self._spaces: list[Mapping[object, object]] = []
        self._keys: list[object] = []
        self._held: list[object] = []
        self._lists: list[Collection[object]] = []
        self._elements: list[object] = []
        self._lookups: list[Callable[[str, object], object]] = []
        self._names: list[str] = []
        self._found: list[object] = []
        self._getters: list[attrgetter] = []
        self._holders: list[object] = []
        self._attributes: list[object] = []
        self._arrays: list[np.ndarray] = []
        self._sizes: list[int] = []

    def all_of(self, space: Mapping) -> None:
        """Compare every entry of a dictionary."""
        self._spaces.append(space)
        self._keys += space
        self._held += space.values()

    def names(self, space: Mapping[str, object], names: Iterable[str]) -> None:
        """Compare some entries of a namespace, which may be missing."""
        for name in names:
            self._lookups.append(space.get)
            self._names.append(name)
            self._found.append(space.get(name, _ABSENT))

    def elements(self, listed: Collection[object]) -> None:
        """Compare the elements of a list or a set."""
        self._lists.append(listed)
        self._elements += listed

    def attributes(self, holder: object, *names: str) -> None:
        """Compare some attributes of an object."""
        getter = _getter(names)
        try:
            self._attributes += getter(holder)
        except (AttributeError, ValueError):  # an empty slot or cell, which may be filled later
            self.is_complete = False
            return
        self._getters.append(getter)
        self._holders.append(holder)

    def array(self, array: np.ndarray) -> None:
        """Compare the numbers of an array, and its shape."""
        self._arrays.append(array)

    def close(self) -> None:
        """Record lengths and numbers, after the walk."""
        self._sizes = list(map(len, chain(self._spaces, self._lists)))
        self._forms = list(map(_form, self._arrays))
        try:
            self._numbers = b"".join(self._arrays)  # type: ignore[arg-type]  # as buffers
        except (ValueError, TypeError, BufferError):  # not contiguous, or not numeric
            self.is_complete = False

    def holds(self) -> bool:
        """Return whether nothing has changed."""
        try:
            return (
                all(map(is_, chain.from_iterable(map(call, self._getters, self._holders)), self._attributes))
                and all(map(is_, map(call, self._lookups, self._names, repeat(_ABSENT)), self._found))
                and list(map(len, chain(self._spaces, self._lists))) == self._sizes
                and all(map(is_, chain.from_iterable(map(_values, self._spaces)), self._held))
                and all(map(is_, chain.from_iterable(self._spaces), self._keys))
                and all(map(is_, chain.from_iterable(self._lists), self._elements))
                and list(map(_form, self._arrays)) == self._forms
                and b"".join(self._arrays) == self._numbers  # type: ignore[arg-type]
            )
        except (AttributeError, ValueError, BufferError):  # something was deleted, or a cell is empty
            return False

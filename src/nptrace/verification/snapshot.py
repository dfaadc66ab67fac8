"""A snapshot of a web of objects: what each holds, in an order that a second one repeats, and how to put it back."""

import contextlib
import functools
import types
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from nptrace import ownership
from nptrace.verification.guard import Guard

_MOST = 100_000  # objects that are looked at
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


class StateSnapshot:
    """Notes by value, not by address, so that what was replaced by its equal is the same."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, object]] = []  # (its name, its state)
        self.undo: list[Callable[[], object]] = []
        self.iterators: list[str] = []  # what cannot be put back
        self.words: set[str] = set()  # texts among the data
        self.guard = Guard()
        self.package = ""  # of the first user's function: its own even where it is installed
        self._known: dict[int, int] = {}
        self._waiting: deque[tuple[object, str]] = deque()
        self._kept: list[object] = []  # an address names an object only as long as that lives

    def see(self, value: object, label: str) -> int | None:
        """Return what stands for a value in the note of its holder: its number, by which a later visit
        notes it, or nothing for a plain value, which is noted here under its own name."""
        if type(value) in PLAIN or (isinstance(value, np.generic) and not isinstance(value, np.void)):
            if isinstance(value, str):
                self.words.add(value)
            self.note(label, type(value).__name__, repr(value))
            return None
        if len(self._known) >= _MOST:
            self.guard.is_complete = False
        elif id(value) not in self._known:
            self._known[id(value)] = len(self._known)
            self._kept.append(value)
            self._waiting.append((value, label))
        return self._known.get(id(value), id(value))

    def unseen(self) -> Iterator[tuple[object, str]]:
        while self._waiting:
            yield self._waiting.popleft()

    def note(self, label: str, *state: object) -> None:
        self.notes.append((label, state))

    def attributes(self, value: object, label: str) -> list[tuple[str, int | None]]:
        """The state of an object's attributes, in its dictionary or in slots; a cached property is no state."""
        found = []
        self._guard_attributes(value)
        for name, held in (getattr(value, "__dict__", None) or {}).items():
            if not isinstance(getattr(type(value), name, None), functools.cached_property):
                found.append((name, self.see(held, f"{label}.{name}")))
        space = getattr(value, "__dict__", None)
        if isinstance(space, dict):
            self.undo.append(functools.partial(_put_back, space, dict(space)))
        for kind in type(value).__mro__:
            for name, slot in vars(kind).items() if "__slots__" in vars(kind) else ():
                if _is_slot(slot):
                    found.append((name, self._slot(value, slot, f"{label}.{name}")))
        return found

    def _guard_attributes(self, value: object) -> None:
        """Guard what an object holds; a frozen record of a library holds it for good."""
        if _is_frozen_record(type(value)):
            return
        spaces = [vars(kind) for kind in type(value).__mro__]
        slots = [name for space in spaces if "__slots__" in space for name, slot in space.items() if _is_slot(slot)]
        space = getattr(value, "__dict__", None)
        if isinstance(space, dict):
            self.guard.attributes(value, "__dict__", *slots)
            self.guard.all_of(space)
        elif space is None and slots:
            self.guard.attributes(value, *slots)
        elif space is not None:
            self.guard.is_complete = False

    def _slot(self, value: object, slot: types.MemberDescriptorType, label: str) -> int | None:
        try:
            held = slot.__get__(value)
        except AttributeError:
            self.undo.append(functools.partial(_empty, value, slot))
            return None
        self.undo.append(functools.partial(slot.__set__, value, held))
        return self.see(held, label)

    def holds(self, space: dict[str, object], name: str, label: str) -> int | None:
        """The state of one entry of a namespace, or that there is none: a function may make it."""
        self.guard.names(space, (name,))
        if name not in space:
            self.undo.append(functools.partial(space.pop, name, None))
            return None
        self.undo.append(functools.partial(space.__setitem__, name, space[name]))
        return self.see(space[name], label)

    def difference(self, later: "StateSnapshot") -> str | None:
        """The name of something whose state is another in a later snapshot."""
        for (label, state), (other, now) in zip(self.notes, later.notes):
            if state != now:
                return label
            if label != other:
                return other
        if len(self.notes) != len(later.notes):
            longer = max(self.notes, later.notes, key=len)
            return longer[min(len(self.notes), len(later.notes))][0]
        return None


def _is_frozen_record(kind: type) -> bool:
    """Return whether a class is a library's frozen dataclass."""
    settings = getattr(kind, "__dataclass_params__", None)
    return settings is not None and settings.frozen and ownership.is_library(kind)


def _is_slot(member: object) -> bool:
    return isinstance(member, types.MemberDescriptorType)


def _put_back(space: dict, held: dict) -> None:
    if len(space) != len(held) or any(a is not b for a, b in zip(space.values(), held.values())):
        space.clear()
        space.update(held)


def _empty(value: object, slot: types.MemberDescriptorType) -> None:
    with contextlib.suppress(AttributeError):  # still empty
        slot.__delete__(value)

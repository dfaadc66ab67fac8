"""A snapshot of an object graph: the contents of each object, in a reproducible order, and how to restore it."""

import contextlib
import functools
import types
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from nptrace import ownership
from nptrace.verification.guard import Guard

_MOST = 100_000  # most objects that are visited
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


class StateSnapshot:
    """Notes by value rather than by address, so that replacement by an equal object is no change."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, object]] = []  # (its name, its state)
        self.undo: list[Callable[[], object]] = []
        self.iterators: list[str] = []  # labels of objects that cannot be restored
        self.words: set[str] = set()  # strings among the data
        self.guard = Guard()
        self.package = ""  # package of the first user's function: counts as the user's even if installed
        self._known: dict[int, int] = {}
        self._waiting: deque[tuple[object, str]] = deque()
        self._kept: list[object] = []  # an address identifies an object only while it is alive

    def see(self, value: object, label: str) -> int | None:
        """Return the number of a value for its holder's note, or None for a plain value, which is noted here."""
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
        """Return the state of an object's attributes, in its dictionary or slots; cached properties do not count."""
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
        """Guard the attributes of an object; those of a library's frozen record cannot change."""
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
        """Return the state of one entry of a namespace, which may be missing: a function may create it."""
        self.guard.names(space, (name,))
        if name not in space:
            self.undo.append(functools.partial(space.pop, name, None))
            return None
        self.undo.append(functools.partial(space.__setitem__, name, space[name]))
        return self.see(space[name], label)

    def difference(self, later: "StateSnapshot") -> str | None:
        """Return the name of something whose state differs in a later snapshot, or None."""
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
    with contextlib.suppress(AttributeError):  # still unset
        slot.__delete__(value)

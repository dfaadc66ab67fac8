"""Compiled code and its description on disk: an optimisation that may fail at any time without harm.

An entry is one file: a mark, the digest of what follows, the length of a JSON text, that text, and the object code. It
is written beside its place and renamed into it, so that parallel processes never see half of one; a damaged or foreign
entry counts as absent and is written anew. No pickle: reading an entry runs nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = b"footfall-1\n"
SUFFIX = ".ffc"
LIMIT = 512 * 1024 * 1024
_HEADER = len(MARK) + 32 + 8
_ROOM = 0.95  # of the limit that is left filled when it was passed
_PUTS = 200  # entries that a process writes between looks at what others wrote
_known: dict[Path, tuple[int, int]] = {}  # by folder: bytes there when last looked, and since; entries since


@dataclass(frozen=True)
class Entry:
    """Object code (empty for an entry of words alone) and what is known about it."""

    code: bytes
    meta: dict[str, Any]


def default_folder() -> Path:
    """$FOOTFALL_CACHE, else $XDG_CACHE_HOME/footfall, else ~/.cache/footfall (a temporary folder without a home)."""
    if chosen := os.environ.get("FOOTFALL_CACHE"):
        return Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "footfall"
    try:
        return Path.home() / ".cache" / "footfall"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / "footfall-cache"


def digest(*parts: object) -> str:
    """A key from texts and numbers; the length of each part counts, so that ("ab", "c") is not ("a", "bc")."""
    state = hashlib.sha256()
    for part in parts:
        text = str(part).encode()
        state.update(len(text).to_bytes(8, "little") + text)
    return state.hexdigest()


class Cache:
    """Entries by key in one folder, at most ``limit`` bytes of them."""

    def __init__(self, folder: str | os.PathLike | None = None, limit: int = LIMIT) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()
        self.limit = limit

    def path(self, key: str) -> Path:
        return self.folder / (key + SUFFIX)

    def get(self, key: str) -> Entry | None:
        """The entry, or None where there is none that can be trusted."""
        path = self.path(key)
        try:
            stored = path.read_bytes()
        except OSError:
            return None
        entry = _decode(stored)
        if entry is None:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the oldest use goes first
        return entry

    def put(self, key: str, code: bytes, meta: dict[str, Any]) -> bool:
        """Store an entry; False where the folder cannot be written or the meta is no JSON."""
        temporary = None
        try:
            words = json.dumps(meta).encode()
            body = len(words).to_bytes(8, "little") + words + code
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(MARK + hashlib.sha256(body).digest() + body)
            os.replace(temporary, self.path(key))
        except (OSError, TypeError, ValueError):
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return False
        self._account(_HEADER + len(words) + len(code))
        return True

    def _account(self, added: int) -> None:
        """Look through the folder when it may be full; now and then at any rate, since others write there too."""
        total, puts = _known.get(self.folder, (self.limit, 0))
        if total + added > self.limit or puts >= _PUTS:
            total, added, puts = self._trim(), 0, 0
        _known[self.folder] = total + added, puts + 1

    def _trim(self) -> int:
        """Remove the least recently used entries (and parts that a killed process left) if there are more than the
        limit allows, and some more, so that the next ones find room; how many bytes there are now."""
        files = []
        try:
            for item in os.scandir(self.folder):
                if item.name.endswith((SUFFIX, ".part")):
                    with contextlib.suppress(OSError):  # another process may remove it meanwhile
                        status = item.stat()
                        files.append((status.st_mtime, status.st_size, item.path))
        except OSError:
            return 0
        total = sum(size for _, size, _ in files)
        wanted = self.limit if total <= self.limit else _ROOM * self.limit
        for _, size, path in sorted(files):
            if total <= wanted:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
        return total


def _decode(stored: bytes) -> Entry | None:
    start = len(MARK)
    if stored[:start] != MARK or len(stored) < _HEADER:
        return None
    body = stored[start + 32 :]
    if hashlib.sha256(body).digest() != stored[start : start + 32]:
        return None
    length = int.from_bytes(body[:8], "little")
    try:
        meta = json.loads(body[8 : 8 + length])
    except ValueError:
        return None
    return Entry(body[8 + length :], meta) if isinstance(meta, dict) else None


def opened(cache: Cache | str | os.PathLike | bool | None) -> Cache | None:
    """What a ``cache=`` argument means: True the default folder, None or False none, else a folder or a Cache."""
    if cache is None or cache is False:
        return None
    if cache is True:
        return Cache()
    return cache if isinstance(cache, Cache) else Cache(cache)

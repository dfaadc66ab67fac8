"""Cache of compiled code and its description on disk: an optimisation that may fail at any time without harm.

An entry is one file: a mark, the digest of the rest, the length of a JSON text, that text, and the object code. It is
written to a temporary file and renamed, so that parallel processes never see a partial entry; a damaged or foreign
entry counts as absent and is replaced. No pickle: reading an entry executes nothing.

Entries are executed as machine code, so that anybody who can write one can run code as this user. A folder or an entry
that anyone but this user (or root) owns or can write is not used; the folder is created with access for its user only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nptrace._types import Given

MARK = b"nptrace-1\n"
SUFFIX = ".ffc"
LIMIT = 512 * 1024 * 1024
_HEADER = len(MARK) + 32 + 8
_ROOM = 0.95  # fraction of the limit that is kept once it is exceeded
_PUTS = 200  # entries that a process writes before it measures the folder again
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_refused: set[Path] = set()  # folders that were reported as unsafe
_known: dict[Path, tuple[int, int]] = {}  # by folder: (bytes, entries written since last measured)


class CacheWarning(UserWarning):
    """The cache folder is not used, because others could write machine code to it."""


@dataclass(frozen=True)
class Entry:
    """Object code (empty for an entry of metadata only) and its metadata."""

    code: bytes
    meta: dict[str, Given]


def default_folder() -> Path | None:
    """Return $NPTRACE_CACHE, else $XDG_CACHE_HOME/nptrace, else ~/.cache/nptrace; None without a home.

    A shared folder, such as the temporary one, is no substitute: anybody could write to it.
    """
    if chosen := os.environ.get("NPTRACE_CACHE"):
        return Path(chosen)
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "nptrace"
    try:
        return Path.home() / ".cache" / "nptrace"
    except RuntimeError:
        return None


def digest(*parts: object) -> str:
    """Return a key from strings and numbers; includes their lengths, so that ("ab", "c") differs from ("a", "bc")."""
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

    def _place(self, make: bool = False) -> Path | None:
        """Return the folder if it exists (or, with ``make``, can be created) and is safe to use."""
        if self.folder is None:
            return None
        if make:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
        why = _foreign(self.folder.stat())
        if why is None:
            return self.folder
        if self.folder not in _refused:
            _refused.add(self.folder)
            warnings.warn(
                f"the cache folder {self.folder} {why}: compiled code is not kept there (use a folder of your own with"
                " chmod 700, or set NPTRACE_CACHE)",
                CacheWarning,
                stacklevel=2,
            )
        return None

    def get(self, key: str) -> Entry | None:
        """Return the entry, or None without a valid one."""
        try:
            folder = self._place()
            if folder is None:
                return None
            path = folder / (key + SUFFIX)
            stored = _read(path)
        except OSError:
            return None
        entry = _decode(stored)
        if entry is None:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the least recently used is removed first
        return entry

    def put(self, key: str, code: bytes, meta: Mapping[str, object]) -> bool:
        """Store an entry; return False if the folder is not writable or the metadata is not JSON."""
        temporary = None
        try:
            words = json.dumps(meta).encode()
            body = len(words).to_bytes(8, "little") + words + code
            folder = self._place(make=True)
            if folder is None:
                return False
            handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")  # readable by this user only
            with os.fdopen(handle, "wb") as file:
                file.write(MARK + hashlib.sha256(body).digest() + body)
            os.replace(temporary, folder / (key + SUFFIX))
        except (OSError, TypeError, ValueError):
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return False
        self._account(folder, _HEADER + len(words) + len(code))
        return True

    def _account(self, folder: Path, added: int) -> None:
        """Measure the folder when it may be full, and now and then, since other processes also write there."""
        total, puts = _known.get(folder, (self.limit, 0))
        if total + added > self.limit or puts >= _PUTS:
            total, added, puts = self._trim(folder), 0, 0
        _known[folder] = total + added, puts + 1

    def _trim(self, folder: Path) -> int:
        """Remove the least recently used entries, and leftovers of killed processes, if the limit is exceeded.

        Some more are removed then, so that the next ones find room. Returns the bytes that remain.
        """
        files = []
        try:
            for item in os.scandir(folder):
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


def _foreign(status: os.stat_result) -> str | None:
    """Return why others could have written a file of this status, or None. None where files have no owners."""
    if not hasattr(os, "geteuid"):
        return None
    if status.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "can be written by others"
    return None


def _read(path: Path) -> bytes:
    """Return the bytes of an entry that nobody else can have written; raises OSError otherwise."""
    with os.fdopen(os.open(path, os.O_RDONLY | _BINARY), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or _foreign(status) is not None:
            raise PermissionError(f"{path} is not a file of this user")
        return file.read()


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
    """Return the cache of a ``cache=`` argument: True the default folder, None or False none, or a folder."""
    if cache is None or cache is False:
        return None
    if cache is True:
        return Cache()
    return cache if isinstance(cache, Cache) else Cache(cache)

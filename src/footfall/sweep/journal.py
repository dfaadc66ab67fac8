"""The journal of a study: one line of JSON per finished item, on disk before the next one is recorded.

A process may die at any moment. An incomplete line is dropped when the journal is reopened, and its item is repeated;
every complete line is kept. A retried item has two lines, of which the last counts.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from footfall._io.file_format import check_version
from footfall.errors import SPOILED, FootfallError, InputError, finite, reason
from nptrace._types import Json

FILE = "journal.jsonl"
FORMAT = 1


class Journal:
    """Finished items by digest, and their file. Only one process at a time may open it."""

    def __init__(self, folder: Path, name: str, resume: bool, versions: dict[str, str]) -> None:
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot write the journal of the study in {folder}: {reason(error)}") from None
        try:
            self._lock()
            self.header, self.entries, self.dropped = self._read()
            if self.header is None:
                self.header = {"format": FORMAT, "study": name, "versions": versions}
                self._write(self.header)
                _sync_folder(folder)
            elif self.header.get("study") != name:
                raise InputError(f"{folder} holds another study, '{self.header.get('study')}': choose --out")
            if self.entries and not resume:
                raise InputError(
                    f"{folder} holds {len(self.entries)} finished items of the study '{name}': continue it with"
                    " --resume, or choose another folder with --out"
                )
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        """Lock the folder against a second sweep; the lock is released when the process ends, in any way."""
        try:
            import fcntl
        except ImportError:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FootfallError(
                f"another sweep is running in {self.path.parent}: wait for it, or choose --out"
            ) from None
        except OSError:
            return  # a file system without locks

    def _read(self) -> tuple[dict[str, Json] | None, dict[str, dict[str, Json]], int]:
        """Return (header, entries, lines dropped); truncate an incomplete last line."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self._file, whole)
        os.lseek(self._file, 0, os.SEEK_END)
        header, entries, dropped = None, {}, int(whole < len(data))
        for number, line in enumerate(data[:whole].splitlines()):
            try:
                entry = json.loads(line)
            except SPOILED:
                entry = None
            if number == 0:
                if not isinstance(entry, dict) or "study" not in entry:
                    raise InputError(f"{self.path} is not the journal of a footfall study")
                check_version(self.path, entry.get("format"), FORMAT)
                header = entry
            elif _is_answer(entry):
                entries[entry["item"]] = entry
            else:
                dropped += 1
        return header, entries, dropped

    def _write(self, entry: dict[str, Json]) -> None:
        data = json.dumps(entry, allow_nan=False).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:  # a full disk: resume continues from the last complete line
            raise FootfallError(f"cannot write the journal {self.path}: {reason(error)}") from None

    def append(self, digest: str, parameters: dict[str, Json], answer: dict[str, Json]) -> None:
        """Append the result of an item; it is on disk when this returns."""
        entry = {"item": digest, "parameters": parameters, **answer}
        self._write(entry)
        self.entries[digest] = entry

    def close(self) -> None:
        os.close(self._file)


def _is_answer(entry: Json) -> bool:
    """Return whether a line has the form that ``append`` writes; an item with any other is repeated."""
    match entry:
        case {"item": str(), "status": "done" | "failed", **rest}:
            seconds: Json = rest.get("seconds")
            timed = seconds is None or (type(seconds) in (int, float) and finite(seconds))
            worded = isinstance(rest.get("message"), str | None)
            return timed and worded and isinstance(rest.get("result", {}), dict)
    return False


def _sync_folder(folder: Path) -> None:
    """Flush a folder: a new file's name is on disk only after that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

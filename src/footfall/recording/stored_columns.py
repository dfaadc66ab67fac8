"""The columns of a run in a file, read on demand."""

from __future__ import annotations

import mmap
import os
import weakref
from abc import abstractmethod
from collections.abc import ItemsView, Iterator, MutableMapping, ValuesView
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall.recording import mcap_file
from footfall.recording.recording_writer import Layout, RecordingError, RecordingWriter, payload


class LazyColumns(MutableMapping[str, ndarray]):
    """Columns that are read on demand; they were checked when they were written."""

    @abstractmethod
    def part(self, rows: slice) -> LazyColumns:
        """Return some rows of every column, also read on demand."""


class StoredColumns(LazyColumns):
    """Read a column from the file on first use, and keep it from then on.

    The file is kept open: it may be renamed or removed. An overwritten file is detected and refused.
    """

    def __init__(self, writer: RecordingWriter) -> None:
        self.path, self.rows = Path(writer.path), writer.rows
        self._layout: dict[str, Layout] = {c.name: c for c in writer._layout}
        self._channel = writer._channel
        self._kept: dict[str, ndarray] = {}
        self._names = dict.fromkeys(self._layout)
        try:
            self._file = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise RecordingError(f"cannot read the recording {self.path} again: {error.strerror}") from None
        weakref.finalize(self, os.close, self._file)
        self._stamp = self._seen()

    def _seen(self) -> tuple[int, int]:
        found = os.fstat(self._file)
        return found.st_size, found.st_mtime_ns

    def __getitem__(self, name: str) -> ndarray:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._kept:
            scalars = [c.name for c in self._layout.values() if not c.shape and c.name not in self._kept]
            self._read(scalars if name in scalars else [name])  # narrow columns are read along in one pass
        return self._kept[name]

    def __setitem__(self, name: str, column: ndarray) -> None:
        self._kept[name] = column
        self._names[name] = None

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self._kept.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def items(self) -> ItemsView[str, ndarray]:
        return self._all().items()

    def values(self) -> ValuesView[ndarray]:
        return self._all().values()

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (self._all(),)  # a copy or another process does not share the open file

    def part(self, rows: slice) -> LazyColumns:
        return _Part(self, rows)

    def _all(self) -> dict[str, ndarray]:
        missing = [name for name in self._names if name not in self._kept]
        if missing:
            self._read(missing)
        return {name: self._kept[name] for name in self._names}

    def _read(self, names: list[str]) -> None:
        if self._seen() != self._stamp:
            raise RecordingError(f"the recording {self.path} has been overwritten since its run")
        layout = [self._layout[name] for name in names]
        found = {c.name: np.empty((self.rows, *c.shape), c.kind) for c in layout}
        dtype = mcap_file.message_dtype(payload(list(self._layout.values())))
        row = 0
        with mmap.mmap(self._file, 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:
            for record in mcap_file.walk(data):
                for opcode, messages in mcap_file.inside(record.body) if record.opcode == mcap_file.CHUNK else ():
                    if opcode == mcap_file.MESSAGE and int.from_bytes(messages[9:11], "little") == self._channel:
                        rows = np.frombuffer(messages, dtype)["data"]
                        for name, column in found.items():
                            column[row : row + len(rows)] = rows[name]
                        row += len(rows)
                        del rows
                    messages.release()
                record.body.release()
        if row != self.rows:
            raise RecordingError(f"the recording {self.path} holds {row} of the {self.rows} rows of its run")
        self._kept |= found


class _Part(LazyColumns):
    """Some rows of stored columns."""

    def __init__(self, whole: StoredColumns, rows: slice) -> None:
        self._whole, self._rows = whole, rows
        self._own: dict[str, ndarray | None] = dict.fromkeys(whole)

    def __getitem__(self, name: str) -> ndarray:
        own = self._own[name]
        return self._whole[name][self._rows] if own is None else own

    def __setitem__(self, name: str, column: ndarray) -> None:
        self._own[name] = column

    def __delitem__(self, name: str) -> None:
        del self._own[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)

    def part(self, rows: slice) -> LazyColumns:
        start, stop, _ = self._rows.indices(self._whole.rows)
        return _Part(self._whole, slice(start + rows.start, min(start + rows.stop, stop)))


__all__ = ["LazyColumns", "StoredColumns"]

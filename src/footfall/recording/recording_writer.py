"""Write a recording during its run; ``recording_file`` describes the file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from footfall.errors import FootfallError, InputError, reason
from footfall.recording import mcap_file, termination
from footfall.recording.columns import checked, unit_of
from footfall.recording.mcap_file import DtypeField
from footfall.robot.model.description import Robot
from footfall.robot.model.json_form import robot_to_json
from nptrace._types import Json, Operand

FORMAT = 1
CHUNK_ROWS = 256
FLUSH_SECONDS = 1.0
_ROS_KINDS = {"float64": "float64", "int64": "int64", "bool": "bool"}
_LEVELS = {"fell": 4, "diverged": 4, "error": 4, "warning": 3, "controller": 3}  # levels of foxglove.Log; 2 is info
_LOG_SCHEMA = {
    "title": "foxglove.Log",
    "type": "object",
    "properties": {
        "timestamp": {
            "type": "object",
            "title": "time",
            "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}},
        },
        "level": {"type": "integer"},
        "message": {"type": "string"},
        "name": {"type": "string"},
        "file": {"type": "string"},
        "line": {"type": "integer"},
        "time": {"type": "number", "description": "time of the run [s]"},
    },
}


class RecordingError(FootfallError):
    """A recording cannot be written or read."""


@dataclass(frozen=True)
class Event:
    """Something that happened at a time [s] of a run: a push, a fall, a divergence."""

    time: float
    kind: str
    message: str = ""


class Layout(NamedTuple):
    """Position and type of one column in a row."""

    name: str
    kind: str
    shape: tuple[int, ...]
    unit: str


# -- writing -----------------------------------------------------------------------------------------------------------
class RecordingWriter:
    """Write a run to a file while it runs; ``append`` blocks of columns, ``close`` at the end (or use ``with``).

    The columns are those of the first block. ``meta`` may be changed until the end and is written again there. A block
    reaches the file once ``chunk_rows`` rows are waiting, and at the latest with the first ``append`` after a second.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        robot: Robot,
        meta: Mapping[str, Json] | None = None,
        chunk_rows: int = CHUNK_ROWS,
        compression: str = "zstd",
    ) -> None:
        if chunk_rows < 1:
            raise InputError(f"chunk_rows must be at least 1, got {chunk_rows}")
        if compression not in ("zstd", ""):
            raise InputError(f"unknown compression {compression!r}: choose 'zstd' or '' for none")
        self.path, self.robot, self.meta = Path(path), robot, dict(meta or {})
        self.rows = 0
        self.closed = False
        self._chunk_rows, self._last_time = chunk_rows, 0.0
        self._waiting: list[ndarray] = []
        self._waiting_rows = 0
        self._events: list[ndarray] = []
        self._event_count = 0
        self._dtype: np.dtype[np.void] | None = None
        self._layout: list[Layout] = []
        robot_json, meta_json = robot_to_json(robot).encode(), to_json(self.meta)
        opened: mcap_file.McapWriter | None = None
        try:
            self._file = opened = mcap_file.McapWriter(self.path, "footfall", compression)
            digest = hashlib.sha256(robot_json).hexdigest()
            self._file.metadata("footfall", {"format": str(FORMAT), "meta": meta_json, "robot": digest})
            self._file.attachment("robot.json", "application/json", robot_json)
            schema = self._file.schema("foxglove.Log", "jsonschema", json.dumps(_LOG_SCHEMA).encode())
            self._events_channel = self._file.channel("/events", "json", schema)
        except (OSError, ValueError) as error:  # a null character in the name is a ValueError
            if opened is not None:
                opened.abandon()
            raise RecordingError(f"cannot write the recording {self.path}: {reason(error)}") from error
        self._flushed = time.monotonic()
        termination.opened(self)

    def append(self, columns: Mapping[str, Operand], events: Iterable[Event] = ()) -> None:
        """Add rows: arrays with a leading time axis and always the same columns; with events, or events alone."""
        if self.closed:
            raise RecordingError(f"the recording {self.path} is closed")
        if not columns:
            self._events += [self._message(event) for event in events]
            return
        arrays = checked(columns, self.robot)
        stamps = np.rint(arrays["time"] * 1e9).astype("<u8")
        if len(stamps) and arrays["time"][0] < self._last_time:
            raise InputError(f"time decreases: {arrays['time'][0]:g} s after {self._last_time:g} s")
        try:
            if self._dtype is None:
                self._start(arrays)
            assert self._dtype is not None
            self._same_columns(arrays)
            rows = mcap_file.messages(self._dtype, self._channel, self.rows, stamps)
            for name, array in arrays.items():
                rows["data"][name] = array
            with _uninterrupted():
                self._waiting.append(rows)
                self._waiting_rows += len(rows)
                self.rows += len(rows)
                self._last_time = float(arrays["time"][-1]) if len(rows) else self._last_time
                self._events += [self._message(event) for event in events]
                self._flush(everything=time.monotonic() - self._flushed >= FLUSH_SECONDS)
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Write waiting rows and the summary; a second call does nothing."""
        if self.closed:
            return
        try:
            with _uninterrupted():
                self._flush(everything=True)
                self.closed = True
                given_up = self._file.finish("footfall.end", {"meta": to_json(self.meta)})
        except OSError as error:
            self._fail(error)
        else:
            termination.closed(self)
            if given_up:
                raise RecordingError(
                    f"cannot write all of the recording {self.path}: the disk is full; the end of the run is missing"
                )

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        self.meta.setdefault("interrupted", f"{kind.__name__}: {error}" if str(error) else kind.__name__)
        with contextlib.suppress(FootfallError):  # the first error is the relevant one
            self.close()

    def _start(self, arrays: dict[str, ndarray]) -> None:
        self._layout = [Layout(name, a.dtype.name, a.shape[1:], unit_of(name)) for name, a in arrays.items()]
        self._dtype = mcap_file.message_dtype(payload(self._layout))
        schema = self._file.schema("footfall/Sample", "ros1msg", _ros_message(self._layout).encode())
        columns = json.dumps([[c.name, c.kind, list(c.shape), c.unit] for c in self._layout])
        self._channel = self._file.channel("/sample", "ros1", schema, {"columns": columns})

    def _same_columns(self, arrays: dict[str, ndarray]) -> None:
        first, now = {c.name: c.shape for c in self._layout}, {name: a.shape[1:] for name, a in arrays.items()}
        for name in first.keys() | now.keys():
            if first.get(name) != now.get(name):
                raise InputError(
                    f"column '{name}' is {now.get(name, 'missing')} in this block and {first.get(name, 'missing')}"
                    " in the first: every block needs the same columns"
                )

    def _message(self, event: Event) -> ndarray:
        nanoseconds = round(max(event.time, 0.0) * 1e9)
        data = json.dumps(
            {
                "timestamp": {"sec": nanoseconds // 10**9, "nsec": nanoseconds % 10**9},
                "level": _LEVELS.get(event.kind, 2),
                "message": event.message,
                "name": event.kind,
                "file": "",
                "line": 0,
                "time": event.time,
            }
        ).encode()
        dtype = mcap_file.message_dtype([("bytes", "u1", (len(data),))])
        row = mcap_file.messages(dtype, self._events_channel, self._event_count, np.array([nanoseconds], "<u8"))
        row["data"]["bytes"] = np.frombuffer(data, "u1")
        self._event_count += 1
        return row

    def _flush(self, everything: bool) -> None:
        """Write whole chunks, and with ``everything`` the rest."""
        if self._waiting_rows < self._chunk_rows and not (everything and (self._waiting_rows or self._events)):
            return
        rows = np.concatenate(self._waiting) if self._waiting else np.zeros(0)
        while len(rows) >= self._chunk_rows or (everything and (len(rows) or self._events)):
            self._file.chunk([rows[: self._chunk_rows], *self._events])
            rows, self._events = rows[self._chunk_rows :], []
        self._waiting, self._waiting_rows = [rows], len(rows)
        self._flushed = time.monotonic()

    def _fail(self, error: OSError) -> None:
        """Complete the file with what fits, and raise."""
        self.closed = True
        termination.closed(self)
        self.meta.setdefault("interrupted", reason(error))
        kept = "what was written before is kept in it"
        try:
            self._file.finish("footfall.end", {"meta": to_json(self.meta)})
        except (OSError, ValueError):  # not even the summary; or the file is already closed
            self._file.abandon()
            kept = f"'footfall recover {self.path}' saves what was written before"
        raise RecordingError(f"cannot write the recording {self.path}: {reason(error)}; {kept}") from error


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM until the file and our record of it agree again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    held = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is not None]
    before = {number: signal.signal(number, lambda number, frame: came.append(number)) for number in held}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(signal.Signals(came[0]))


def to_json(meta: Mapping[str, Json]) -> str:
    """Return ``meta`` as JSON; NumPy numbers and arrays become numbers and lists."""

    def plain(value: Json) -> Json:
        if isinstance(value, (np.ndarray, np.generic)):
            return value.tolist()
        if isinstance(value, (set, frozenset)):
            return sorted(value)
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        raise InputError(f"meta of a recording must be plain JSON, got a {type(value).__name__}: {value!r}")

    return json.dumps(meta, default=plain)


def payload(layout: list[Layout]) -> list[DtypeField]:
    kinds = {"float64": "<f8", "int64": "<i8", "bool": "?"}
    return [(c.name, kinds[c.kind], c.shape) for c in layout]


def _ros_message(layout: list[Layout]) -> str:
    lines = []
    for c in layout:
        if 0 in c.shape:
            continue
        size = f"[{int(np.prod(c.shape))}]" if c.shape else ""
        lines.append(f"{_ROS_KINDS[c.kind]}{size} {c.name}" + (f"  # [{c.unit}]" if c.unit else ""))
    return "\n".join(lines) + "\n"

"""Recordings as ``.mcap`` files, written during the run: contents of a file, and reading even a broken one.

In the order of the file:

- metadata ``footfall``: ``format``, ``meta``, a description of the run as JSON (robot, digest, dt, controller, seed,
  ...), and ``robot``, the SHA-256 of the attachment: a robot that is not the one recorded is refused;
- attachment ``robot.json``: the robot itself, so that the recording opens without the model it came from;
- channel ``/sample``, one message per row: the columns in sequence as little-endian float64, int64 or bool. This is the
  encoding of fixed-length arrays in ROS 1, and the schema is ``ros1msg``, so that Foxglove and others plot every number
  (``/sample.q[7]``). The channel's metadata entry ``columns`` gives name, kind, shape and unit of each;
- channel ``/events``: ``foxglove.Log`` messages as JSON, ``name`` being the event's kind;
- metadata ``footfall.end``: ``meta`` as it stood at the end (stop reason, fell, diverged).

A file has its final name from the start and no summary until it is closed. A killed run loses only the present chunk
(``recover`` makes a complete file of the rest); after an exception, Ctrl-C or a full disk the file is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall._io.file_format import check_version
from footfall._io.whole_file import whole_file
from footfall.errors import SPOILED, InputError, ModelError, reason
from footfall.recording import mcap_file
from footfall.recording.recording_writer import FORMAT, Event, Layout, RecordingError, RecordingWriter, payload
from footfall.robot.model.description import Robot
from footfall.robot.model.json_form import robot_from_json
from nptrace._types import Json

_MOST_ROW_BYTES = 1 << 24
_MOST_EVENTS = 1_000_000


@dataclass(kw_only=True)
class Contents:
    """The contents of a file. ``whole``: it was closed, and is undamaged."""

    robot: Robot
    columns: dict[str, ndarray]
    events: list[Event]
    meta: dict[str, Json]
    messages: int
    lost_bytes: int
    whole: bool


@dataclass(frozen=True)
class RecoverResult:
    """The result of ``recover``: messages (rows and events) found, bytes that could not be read, the new file."""

    messages: int
    lost_bytes: int
    out: Path


def recover(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> RecoverResult:
    """Save everything that can be read from a broken recording.

    Args:
        path: The broken recording.
        out: File to write; ``NAME.recovered.mcap`` beside it unless given.

    Returns:
        The new path, and what was recovered and lost.
    """
    source = Path(path)
    found = read(source)
    target = Path(out) if out is not None else source.with_name(f"{source.stem}.recovered.mcap")
    if not found.whole:
        found.meta.setdefault("interrupted", "the run was cut off")
        found.meta["recovered"] = {"lost_bytes": found.lost_bytes}
    write(target, found.robot, found.columns, found.events, found.meta)
    return RecoverResult(found.messages, found.lost_bytes, target)


def write(path: Path, robot: Robot, columns: Mapping[str, ndarray], events: list[Event], meta: dict[str, Json]) -> None:
    """Write a whole recording, under a temporary name first, so that ``path`` is never incomplete."""
    try:
        with whole_file(path) as passing, RecordingWriter(passing, robot, meta, chunk_rows=1024) as writer:
            if "time" in columns:
                writer.append(columns, events)
    except (OSError, ValueError) as error:  # a null character in the name is a ValueError
        raise RecordingError(f"cannot write the recording {path}: {reason(error)}") from error
    except RecordingError as error:
        raise RecordingError(f"cannot write the recording {path}: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    return error.__cause__.strerror or str(error) if isinstance(error.__cause__, OSError) else str(error)


def read(path: str | os.PathLike[str]) -> Contents:
    """Return everything that can be read of a recording, complete or not."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # a null character in the name is a ValueError
        raise InputError(f"cannot read the recording {path}: {reason(error)}") from None
    if not data.startswith(mcap_file.MAGIC):
        raise InputError(f"{path} is not an MCAP file")
    reader = _Reader(path=path, data=memoryview(data))
    try:
        mcap_file.check_size(reader.data)
        return reader.contents()
    except (mcap_file.Damaged, ModelError, *SPOILED) as error:
        raise RecordingError(f"{path} is not a recording of footfall: {error}") from None
    except mcap_file.TooMuch as error:
        raise RecordingError(f"{path} cannot be unpacked: {error}") from None


@dataclass(kw_only=True)
class _Reader:
    """Read a file once, from its start."""

    path: Path
    data: memoryview
    version: str | None = None  # version of the format
    robot: Robot | None = None
    meta: dict[str, Json] = field(default_factory=dict)
    topics: dict[int, str] = field(default_factory=dict)
    layout: list[Layout] = field(default_factory=list)
    rows: list[ndarray] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    digest: str = ""  # digest of robot.json
    records: int = 0  # in chunks

    def contents(self) -> Contents:
        good, lost, closed = len(mcap_file.MAGIC), 0, False
        for record in mcap_file.walk(self.data):
            size = mcap_file.RECORD_HEAD + struct.unpack_from("<Q", self.data, record.start + 1)[0]
            good = record.start + size
            if record.damage:
                lost += size
            else:
                self._take(record)
            closed = record.opcode == mcap_file.FOOTER
        if closed and self.data[good:] == mcap_file.MAGIC:
            good += len(mcap_file.MAGIC)
        lost += len(self.data) - good
        if self.robot is None:
            raise mcap_file.Damaged("it holds no robot")
        if lost == 0:  # otherwise it may have been in the lost part
            self._check_version()
        columns = {c.name: _column([rows["data"][c.name] for rows in self.rows], c) for c in self.layout}
        rows = sum(len(r) for r in self.rows)
        return Contents(
            robot=self.robot,
            columns=columns,
            events=self.events,
            meta=self.meta,
            messages=rows + len(self.events),
            lost_bytes=lost,
            whole=closed and lost == 0,
        )

    def _take(self, record: mcap_file.Record) -> None:
        if record.opcode == mcap_file.CHUNK:
            for opcode, found in mcap_file.inside(record.body):
                self.records += 1
                if self.records > mcap_file.MOST_RECORDS:
                    raise mcap_file.TooMuch(f"its chunks hold more than {mcap_file.MOST_RECORDS} records")
                if opcode == mcap_file.MESSAGE:
                    self._messages(found)
                elif opcode == mcap_file.CHANNEL:
                    self._channel(found[mcap_file.RECORD_HEAD :])
        elif record.opcode == mcap_file.CHANNEL:
            self._channel(record.body)
        elif record.opcode == mcap_file.ATTACHMENT:
            attachment = mcap_file.parsed(record.opcode, record.body)
            if attachment.name == "robot.json":
                if self.digest and self.digest != hashlib.sha256(attachment.data).hexdigest():
                    raise mcap_file.Damaged("its robot.json is not the one that was recorded")
                self.robot = robot_from_json(attachment.data)
        elif record.opcode == mcap_file.METADATA:
            metadata = mcap_file.parsed(record.opcode, record.body)
            if metadata.name == "footfall":
                self.version = metadata.metadata.get("format")
                self._check_version()
            if metadata.name in ("footfall", "footfall.end"):
                self._metadata(metadata.metadata)

    def _check_version(self) -> None:
        found = FORMAT if self.version == str(FORMAT) else self.version
        check_version(self.path, found, FORMAT, RecordingError)

    def _metadata(self, entries: dict[str, str]) -> None:
        self.digest = entries.get("robot", self.digest)
        meta = _json(entries.get("meta", "{}"))
        if not isinstance(meta, dict):
            raise mcap_file.Damaged("its meta is not a JSON object")
        self.meta.update(meta)

    def _channel(self, body: memoryview) -> None:
        channel = mcap_file.parsed(mcap_file.CHANNEL, body)
        if channel.topic == "/sample" and "/sample" not in self.topics.values():
            self.layout = _layout(_json(channel.metadata.get("columns", "[]")))
        self.topics[channel.id] = channel.topic

    def _messages(self, found: memoryview) -> None:
        """Read a run of equal messages; those on channels of other programs are ignored."""
        (length, number) = struct.unpack_from("<QH", found, 1)
        topic = self.topics.get(number)
        if topic == "/sample":
            dtype = mcap_file.message_dtype(payload(self.layout))
            if dtype.itemsize != length + mcap_file.RECORD_HEAD:
                raise mcap_file.Damaged(f"its rows are {length} bytes long, but its columns take {dtype.itemsize - 9}")
            self.rows.append(np.frombuffer(found, dtype))
        elif topic == "/events":
            size = length + mcap_file.RECORD_HEAD
            if len(self.events) + len(found) // size > _MOST_EVENTS:
                raise mcap_file.TooMuch(f"it holds more than {_MOST_EVENTS} events")
            for start in range(0, len(found), size):
                self.events.append(_event(_json(bytes(found[start + 31 : start + size]))))


def _column(parts: list[ndarray], column: Layout) -> ndarray:
    if not parts:
        return np.zeros((0, *column.shape), column.kind)
    return np.ascontiguousarray(np.concatenate(parts), dtype=column.kind)


def _layout(entries: Json) -> list[Layout]:
    """Return the columns from a channel's metadata, checked: files are untrusted."""
    layout = []
    for entry in entries if isinstance(entries, list) else [None]:
        match entry:
            case [str(name), "float64" | "int64" | "bool" as kind, list(shape), str(unit)] if (
                name.isidentifier() and all(type(n) is int and n >= 0 for n in shape)
            ):
                layout.append(Layout(name, kind, tuple(shape), unit))
            case _:
                raise mcap_file.Damaged(f"its columns cannot be read: {str(entry)[:80]}")
    if len({c.name for c in layout}) < len(layout) or sum(8 * _count(c.shape) for c in layout) > _MOST_ROW_BYTES:
        raise mcap_file.Damaged("its columns cannot be read: a name twice, or too wide")
    return layout


def _count(shape: tuple[int, ...]) -> int:
    product = 1
    for n in shape:
        product *= n
    return product


def _event(data: Json) -> Event:
    match data:
        case {"time": float() | int() as time, "name": str(kind), "message": str(message)}:
            return Event(float(time), kind, message)
    raise mcap_file.Damaged(f"an event cannot be read: {str(data)[:80]}")


def _json(text: str | bytes) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise mcap_file.Damaged(f"some of its JSON cannot be read: {error}") from None


__all__ = ["Contents", "Event", "RecordingError", "RecordingWriter", "RecoverResult", "read", "recover", "write"]

"""MCAP files of equal rows, written in chunks and read back in whole or in part.

The ``mcap`` package writes one message per call, 5 µs of Python each: as long as the physics step that it records. A
run consists of thousands of messages of equal length, so here a whole chunk of message records is one packed NumPy
array, written to the file at once. Everything else is written with the package's own records. The specification is at
mcap.dev/spec; names below are its names.
"""

from __future__ import annotations

import contextlib
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy import ndarray

from nptrace._types import Foreign

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 1, 2, 3, 4, 5, 6
MESSAGE_INDEX, CHUNK_INDEX, ATTACHMENT, ATTACHMENT_INDEX, STATISTICS, METADATA = 7, 8, 9, 10, 11, 12
METADATA_INDEX, SUMMARY_OFFSET, DATA_END = 13, 14, 15
RECORD_HEAD = 9  # opcode and length of the body
MOST_CHUNK_BYTES = 1 << 28  # largest chunk that is unpacked
MOST_UNPACKED = 1 << 30  # largest total size of a file's unpacked chunks, unless ...
MOST_PACKING = 100  # ... their compression ratio is lower than this: 3 for rows of a run, 23 for a frozen one
MOST_RECORDS = 1_000_000  # in chunks that are not runs of rows

DtypeField: TypeAlias = tuple[str, str] | tuple[str, str, tuple[int, ...]]  # as a NumPy type
MESSAGE_HEAD: list[DtypeField] = [
    ("opcode", "u1"),
    ("length", "<u8"),
    ("channel", "<u2"),
    ("sequence", "<u4"),
    ("log_time", "<u8"),
    ("publish_time", "<u8"),
]


class Damaged(Exception):
    """A record that contradicts its header."""


class TooMuch(Exception):
    """A file that unpacks to far more than its size suggests."""


def message_dtype(payload: list[DtypeField]) -> np.dtype[np.void]:
    """Return the type of a message record with the given payload as a packed NumPy record."""
    return np.dtype([*MESSAGE_HEAD, ("data", np.dtype(payload))])


def messages(dtype: np.dtype[np.void], channel: int, sequence: int, nanoseconds: ndarray) -> ndarray:
    """Return message records with their headers filled and their data still empty."""
    rows = np.zeros(len(nanoseconds), dtype)
    rows["opcode"], rows["length"], rows["channel"] = MESSAGE, dtype.itemsize - RECORD_HEAD, channel
    rows["sequence"] = (sequence + np.arange(len(rows))).astype("<u4")
    rows["log_time"] = rows["publish_time"] = nanoseconds
    return rows


class McapWriter:
    """Write directly to the file: once ``chunk`` or a similar method has returned, its data survives if the process is
    killed.

    When the disk is full the file is cut back to its last whole record and still gets its summary.
    """

    def __init__(self, path: Path, library: str, compression: str = "", profile: str = "") -> None:
        from mcap import records

        self._records: Foreign = records
        self.compression = compression
        self._schemas: list[Foreign] = []
        self._channels: list[Foreign] = []
        self._chunks: list[tuple[Foreign, dict[int, int]]] = []
        self._indexes: list[tuple[int, int, Foreign]] = []  # attachments and metadata: (opcode, position, record)
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115 - lives as long as the writer
        self.size = 0
        try:
            self._write(MAGIC + self._bytes(records.Header(profile, library)))
        except OSError:
            self.abandon()
            raise

    # -- the data section ----------------------------------------------------------------------------------------------
    def schema(self, name: str, encoding: str, data: bytes) -> int:
        record = self._records.Schema(id=len(self._schemas) + 1, data=data, encoding=encoding, name=name)
        self._write(self._bytes(record))
        self._schemas.append(record)
        return record.id

    def channel(self, topic: str, encoding: str, schema: int, metadata: dict[str, str] | None = None) -> int:
        number = len(self._channels) + 1
        record = self._records.Channel(
            id=number, topic=topic, message_encoding=encoding, schema_id=schema, metadata=metadata or {}
        )
        self._write(self._bytes(record))
        self._channels.append(record)
        return number

    def metadata(self, name: str, entries: dict[str, str]) -> None:
        data = self._bytes(self._records.Metadata(name=name, metadata=entries))
        index = self._records.MetadataIndex(offset=self.size, length=len(data), name=name)
        self._write(data)
        self._indexes.append((METADATA_INDEX, index.offset, index))

    def attachment(self, name: str, media_type: str, data: bytes) -> None:
        fields = {"log_time": 0, "create_time": 0, "name": name, "media_type": media_type}
        record = self._bytes(self._records.Attachment(data=data, **fields))
        index = self._records.AttachmentIndex(offset=self.size, length=len(record), data_size=len(data), **fields)
        self._write(record)
        self._indexes.append((ATTACHMENT_INDEX, index.offset, index))

    def chunk(self, runs: list[ndarray]) -> None:
        """Write one chunk of runs of message records (``messages``), with their message indexes."""
        runs = [run for run in runs if len(run)]
        if not runs:
            return
        data = b"".join(run.tobytes() for run in runs)
        times = [run["log_time"] for run in runs]
        packed = _compress(self.compression, data)
        chunk = self._records.Chunk(
            compression=self.compression,
            data=packed,
            uncompressed_size=len(data),
            uncompressed_crc=zlib.crc32(data),
            message_start_time=int(min(t.min() for t in times)),
            message_end_time=int(max(t.max() for t in times)),
        )
        record = self._bytes(chunk)
        entries: dict[int, list[ndarray]] = {}
        counts: dict[int, int] = {}
        offset = 0
        for run in runs:
            number = int(run["channel"][0])
            index = np.empty((len(run), 2), "<u8")
            index[:, 0], index[:, 1] = run["log_time"], offset + run.dtype.itemsize * np.arange(len(run))
            entries.setdefault(number, []).append(index)
            counts[number] = counts.get(number, 0) + len(run)
            offset += run.nbytes
        indexes, offsets, place = [], {}, self.size + len(record)
        for number, parts in entries.items():
            body = np.concatenate(parts).tobytes()
            offsets[number] = place
            indexes.append(struct.pack("<BQHI", MESSAGE_INDEX, len(body) + 6, number, len(body)) + body)
            place += len(indexes[-1])
        summary = self._records.ChunkIndex(
            message_start_time=chunk.message_start_time,
            message_end_time=chunk.message_end_time,
            chunk_start_offset=self.size,
            chunk_length=len(record),
            message_index_offsets=offsets,
            message_index_length=sum(map(len, indexes)),
            compression=self.compression,
            compressed_size=len(packed),
            uncompressed_size=len(data),
        )
        self._write(record + b"".join(indexes))
        self._chunks.append((summary, counts))

    # -- the end -------------------------------------------------------------------------------------------------------
    def finish(self, name: str, entries: dict[str, str]) -> int:
        """Write the last metadata and the summary, and close; return how many chunks were dropped on a full disk."""
        given_up = 0
        while True:
            try:
                self.metadata(name, entries)
                self._write(self._summary())
                break
            except OSError:
                if not self._chunks:
                    self.abandon()
                    raise
                last, _ = self._chunks.pop()
                given_up += 1
                self._cut(last.chunk_start_offset)
        with contextlib.suppress(OSError):  # pipes and some network file systems cannot
            os.fsync(self._file.fileno())
        self._file.close()
        return given_up

    def abandon(self) -> None:
        """Close without a summary: what has been written stays, for the reader of broken files."""
        self._file.close()

    def _summary(self) -> bytes:
        counts: dict[int, int] = {}
        for _, chunk_counts in self._chunks:
            for number, count in chunk_counts.items():
                counts[number] = counts.get(number, 0) + count
        chunks = [index for index, _ in self._chunks]
        opcodes = [opcode for opcode, _, _ in self._indexes]
        statistics = self._records.Statistics(
            attachment_count=opcodes.count(ATTACHMENT_INDEX),
            metadata_count=opcodes.count(METADATA_INDEX),
            channel_count=len(self._channels),
            channel_message_counts=counts,
            chunk_count=len(chunks),
            message_count=sum(counts.values()),
            schema_count=len(self._schemas),
            message_start_time=min((c.message_start_time for c in chunks), default=0),
            message_end_time=max((c.message_end_time for c in chunks), default=0),
        )
        groups: dict[int, list[Foreign]] = {
            SCHEMA: self._schemas,
            CHANNEL: self._channels,
            STATISTICS: [statistics],
            CHUNK_INDEX: chunks,
        }
        for opcode, _, record in self._indexes:
            groups.setdefault(opcode, []).append(record)
        end = self._bytes(self._records.DataEnd(data_section_crc=0))
        start = self.size + len(end)
        body, offsets = b"", b""
        for opcode, group in groups.items():
            if group:
                data = b"".join(self._bytes(record) for record in group)
                offset = self._records.SummaryOffset(
                    group_opcode=opcode, group_start=start + len(body), group_length=len(data)
                )
                body += data
                offsets += self._bytes(offset)
        offset_start = start + len(body)
        body += offsets
        crc = zlib.crc32(body + struct.pack("<BQQQ", FOOTER, 20, start, offset_start))
        footer = self._records.Footer(summary_start=start, summary_offset_start=offset_start, summary_crc=crc)
        return end + body + self._bytes(footer) + MAGIC

    def _bytes(self, record: Foreign) -> bytes:
        from mcap.data_stream import RecordBuilder

        builder = RecordBuilder()
        record.write(builder)
        return builder.end()

    def _write(self, data: bytes) -> None:
        """Write everything, or raise an OSError and write nothing."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._cut(self.size)
            raise
        self.size += len(data)

    def _cut(self, size: int) -> None:
        with contextlib.suppress(OSError):
            self._file.truncate(size)
            self._file.seek(size)
        self.size = size
        self._indexes = [entry for entry in self._indexes if entry[1] < size]


# -- reading -----------------------------------------------------------------------------------------------------------
class Record(NamedTuple):
    """One record of a file: its opcode, position and body; ``damage`` says why a chunk cannot be read."""

    opcode: int
    start: int
    body: memoryview
    damage: str = ""


def walk(data: memoryview) -> Iterator[Record]:
    """Yield the whole records of a file from its start, chunks unpacked, up to the end or the first truncated one.

    A message outside chunks is yielded as a separate chunk. A chunk with a wrong checksum is yielded as it is, with its
    damage, and reading continues after it.
    """
    place = len(MAGIC)
    while place + RECORD_HEAD <= len(data):
        opcode, length = struct.unpack_from("<BQ", data, place)
        end = place + RECORD_HEAD + length
        if opcode == 0 or end > len(data):
            return
        body = data[place + RECORD_HEAD : end]
        if opcode == CHUNK:
            try:
                yield Record(CHUNK, place, memoryview(_unpacked(body)))
            except Damaged as damage:
                yield Record(CHUNK, place, body, str(damage))
        elif opcode == MESSAGE:
            yield Record(CHUNK, place, data[place:end])
        else:
            yield Record(opcode, place, body)
        if opcode == FOOTER:
            return
        place = end


def check_size(data: memoryview) -> None:
    """Raise for a file whose chunks would fill the memory, judged by their headers before any is unpacked."""
    place, whole = len(MAGIC), 0
    while place + RECORD_HEAD + 24 <= len(data):
        opcode, length = struct.unpack_from("<BQ", data, place)
        if opcode == CHUNK:
            size = struct.unpack_from("<Q", data, place + RECORD_HEAD + 16)[0]
            whole += size if size <= MOST_CHUNK_BYTES else 0  # a larger one is damaged and never unpacked
        place += RECORD_HEAD + length
    if whole > MOST_UNPACKED and whole > MOST_PACKING * len(data):
        raise TooMuch(f"it is {len(data)} bytes long and would unpack to {whole / 2**30:.3g} GiB")


def inside(chunk: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield (opcode, record with its header) for the records inside a chunk; a run of equal message records comes as
    one.
    """
    place = 0
    while place + RECORD_HEAD <= len(chunk):
        opcode, length = struct.unpack_from("<BQ", chunk, place)
        size = RECORD_HEAD + length
        if opcode == 0 or place + size > len(chunk) or (opcode == MESSAGE and length < 22):
            return
        count = _equal_messages(chunk[place:], size) if opcode == MESSAGE else 1
        yield opcode, chunk[place : place + count * size]
        place += count * size


def _equal_messages(data: memoryview, size: int) -> int:
    """Return how many of the following records are messages of this length on the channel of the first."""
    heads = np.dtype(
        {
            "names": ["opcode", "length", "channel"],
            "formats": ["u1", "<u8", "<u2"],
            "offsets": [0, 1, 9],
            "itemsize": size,
        }
    )
    rows = np.frombuffer(data, heads, len(data) // size)
    channel, seen, look = rows[0]["channel"], 1, 8
    while seen < len(rows):  # in growing steps: the work is proportional to the run, not to everything after it
        part = rows[seen : seen + look]
        differs = (part["opcode"] != MESSAGE) | (part["length"] != size - RECORD_HEAD) | (part["channel"] != channel)
        if differs.any():
            return seen + int(np.argmax(differs))
        seen, look = seen + len(part), 2 * look
    return seen


def parsed(opcode: int, body: memoryview) -> Foreign:
    """Return a schema, channel, attachment, metadata or other small record as the mcap package's object."""
    from io import BytesIO

    from mcap import records
    from mcap.data_stream import ReadDataStream

    kinds: dict[int, Foreign] = {
        SCHEMA: records.Schema,
        CHANNEL: records.Channel,
        ATTACHMENT: records.Attachment,
        METADATA: records.Metadata,
        HEADER: records.Header,
    }
    try:
        record = kinds[opcode].read(ReadDataStream(BytesIO(bytes(body))))
    except Exception as error:  # the package raises struct errors, unicode errors and its own
        raise Damaged(f"a record of kind {opcode} cannot be read: {error}") from None
    if opcode == ATTACHMENT:
        texts = len(record.name.encode()) + len(record.media_type.encode())
        end = 32 + texts + len(record.data)  # a later version of the format may have more after the checksum
        (crc,) = struct.unpack_from("<I", body, end)
        if crc and crc != zlib.crc32(body[:end]):
            raise Damaged(f"its {record.name[:60]!r} does not agree with its checksum")
    return record


def _unpacked(body: memoryview) -> bytes:
    try:
        _, _, size, crc, name_length = struct.unpack_from("<QQQII", body, 0)
        name = str(body[32 : 32 + name_length], "utf-8")
        (packed,) = struct.unpack_from("<Q", body, 32 + name_length)
    except (struct.error, UnicodeDecodeError):
        raise Damaged("the header of a chunk is incomplete") from None
    data = body[40 + name_length :]
    if packed != len(data) or size > MOST_CHUNK_BYTES:
        raise Damaged(f"a chunk claims a length of {size} bytes")
    plain = _decompress(name, data, size)
    if len(plain) != size or (crc and zlib.crc32(plain) != crc):
        raise Damaged("a chunk does not agree with its checksum")
    return plain


def _compress(name: str, data: bytes) -> bytes:
    if name == "zstd":
        import zstandard

        return zstandard.compress(data, 1)
    return data


def _decompress(name: str, data: memoryview, size: int) -> bytes:
    try:
        if name == "zstd":
            import zstandard

            if zstandard.frame_content_size(data) != size:
                raise Damaged("a chunk does not have the length in its header")
            return zstandard.decompress(data)
        if name == "lz4":
            import lz4.frame

            return lz4.frame.LZ4FrameDecompressor().decompress(data, max_length=size + 1)
    except Damaged:
        raise
    except Exception as error:  # both packages have their own errors
        raise Damaged(f"a chunk cannot be unpacked: {error}") from None
    if name:
        raise Damaged(f"a chunk is compressed with {name!r}, which is not supported")
    return bytes(data)

"""MCAP's conformance files from their JSON: bytes put together by the specification (mcap.dev/spec), not by our code.

The files themselves lie in large-file storage: a plain checkout has pointers with their SHA-256 in their place, one
with git-lfs has the files.
What is made here is checked against it, so that it is the real thing, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAGIC = b"\x89MCAP0\r\n"
OPCODES = {
    name: code
    for code, name in enumerate(
        [
            "Header",
            "Footer",
            "Schema",
            "Channel",
            "Message",
            "Chunk",
            "MessageIndex",
            "ChunkIndex",
            "Attachment",
            "AttachmentIndex",
            "Statistics",
            "Metadata",
            "MetadataIndex",
            "SummaryOffset",
            "DataEnd",
        ],
        1,
    )
}
_PAD = b"\x01\xff\xff"  # what a later version of the format might have added


_NEVER_PADDED = ("Footer", "Message", "DataEnd")


@dataclass(frozen=True)
class Case:
    """One file: its records, its features, and the checksum of the real one."""

    name: str
    records: list[tuple[str, dict[str, Any]]]
    features: frozenset[str]
    sha256: str


def cases(folder: Path) -> list[Case]:
    found = []
    for path in sorted(folder.rglob("*.json")):
        content = json.loads(path.read_text())
        records = [(record["type"], dict(record["fields"])) for record in content["records"]]
        features = frozenset(content["meta"]["variant"]["features"])
        found.append(Case(path.stem, records, features, checksum(path.with_suffix(".mcap").read_bytes())))
    return found


def checksum(content: bytes) -> str:
    """Of the real file, whether that is what lies there or a pointer to it."""
    if content.startswith(MAGIC):
        return hashlib.sha256(content).hexdigest()
    said = re.search(rb"sha256:([0-9a-f]{64})", content)
    assert said is not None, "neither an MCAP file nor a pointer to one"
    return said.group(1).decode()


def made(case: Case) -> bytes:
    """The file of a case."""
    pad = _PAD if "pad" in case.features else b""
    out, waiting = bytearray(MAGIC), []
    data_end = next(k for k, (kind, _) in enumerate(case.records) if kind == "DataEnd")
    chunked = "ch" in case.features
    for kind, fields in case.records[:data_end]:
        if chunked and kind in ("Schema", "Channel", "Message"):
            waiting.append((kind, fields))
        else:
            out += record(kind, fields, pad)
    if waiting:
        out += _chunk(waiting, case, pad)
    for kind, fields in case.records[data_end:]:
        out += record(kind, fields, pad)
    return bytes(out) + MAGIC


def _chunk(records: list[tuple[str, dict[str, Any]]], case: Case, pad: bytes) -> bytes:
    body, places, times = b"", {}, []
    for kind, fields in records:
        if kind == "Message":
            places.setdefault(int(fields["channel_id"]), []).append((int(fields["log_time"]), len(body)))
            times.append(int(fields["log_time"]))
        body += record(kind, fields)
    head = struct.pack("<QQQI", min(times, default=0), max(times, default=0), len(body), zlib.crc32(body))
    out = _framed("Chunk", head + _text("") + struct.pack("<Q", len(body)) + body)
    if "mx" in case.features:
        for channel, entries in places.items():
            packed = b"".join(struct.pack("<QQ", *entry) for entry in entries)
            out += _framed("MessageIndex", struct.pack("<HI", channel, len(packed)) + packed + pad)
    return out


def _framed(kind: str, body: bytes) -> bytes:
    return struct.pack("<BQ", OPCODES[kind], len(body)) + body


def _text(text: str) -> bytes:
    return struct.pack("<I", len(text.encode())) + text.encode()


def _texts(entries: dict[str, str]) -> bytes:
    body = b"".join(_text(key) + _text(value) for key, value in entries.items())
    return struct.pack("<I", len(body)) + body


def _numbers(entries: dict[str, str], code: str) -> bytes:
    body = b"".join(struct.pack(code, int(key), int(value)) for key, value in entries.items())
    return struct.pack("<I", len(body)) + body


def _long(data: list[str]) -> bytes:
    return struct.pack("<Q", len(data)) + bytes(map(int, data))


_BODIES = {  # by the specification, in the order of the fields
    "Header": lambda f: _text(f["profile"]) + _text(f["library"]),
    "Footer": lambda f: struct.pack("<QQI", *_ints(f, "summary_start", "summary_offset_start", "summary_crc")),
    "Schema": lambda f: (
        struct.pack("<H", int(f["id"]))
        + _text(f["name"])
        + _text(f["encoding"])
        + struct.pack("<I", len(f["data"]))
        + bytes(map(int, f["data"]))
    ),
    "Channel": lambda f: (
        struct.pack("<HH", *_ints(f, "id", "schema_id"))
        + _text(f["topic"])
        + _text(f["message_encoding"])
        + _texts(f["metadata"])
    ),
    "Message": lambda f: (
        struct.pack("<HIQQ", *_ints(f, "channel_id", "sequence", "log_time", "publish_time"))
        + bytes(map(int, f["data"]))
    ),
    "ChunkIndex": lambda f: (
        struct.pack("<QQQQ", *_ints(f, "message_start_time", "message_end_time", "chunk_start_offset", "chunk_length"))
        + _numbers(f["message_index_offsets"], "<HQ")
        + struct.pack("<Q", int(f["message_index_length"]))
        + _text(f["compression"])
        + struct.pack("<QQ", *_ints(f, "compressed_size", "uncompressed_size"))
    ),
    "Attachment": lambda f: _attachment(f),
    "AttachmentIndex": lambda f: (
        struct.pack("<QQQQQ", *_ints(f, "offset", "length", "log_time", "create_time", "data_size"))
        + _text(f["name"])
        + _text(f["media_type"])
    ),
    "Statistics": lambda f: (
        struct.pack(
            "<QHIIIIQQ",
            *_ints(
                f,
                "message_count",
                "schema_count",
                "channel_count",
                "attachment_count",
                "metadata_count",
                "chunk_count",
                "message_start_time",
                "message_end_time",
            ),
        )
        + _numbers(f["channel_message_counts"], "<HQ")
    ),
    "Metadata": lambda f: _text(f["name"]) + _texts(f["metadata"]),
    "MetadataIndex": lambda f: struct.pack("<QQ", *_ints(f, "offset", "length")) + _text(f["name"]),
    "SummaryOffset": lambda f: struct.pack("<BQQ", *_ints(f, "group_opcode", "group_start", "group_length")),
    "DataEnd": lambda f: struct.pack("<I", int(f["data_section_crc"])),
}


def _ints(fields: dict[str, Any], *names: str) -> list[int]:
    return [int(fields[name]) for name in names]


def _attachment(fields: dict[str, Any]) -> bytes:
    body = struct.pack("<QQ", *_ints(fields, "log_time", "create_time")) + _text(fields["name"])
    body += _text(fields["media_type"]) + _long(fields["data"])
    return body + struct.pack("<I", zlib.crc32(body))


def record(kind: str, fields: dict[str, Any], pad: bytes = b"") -> bytes:
    """A record with its head."""
    return _framed(kind, _BODIES[kind](fields) + (b"" if kind in _NEVER_PADDED else pad))

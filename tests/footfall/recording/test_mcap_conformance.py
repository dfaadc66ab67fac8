"""The conformance files of foxglove/mcap: our reader reads them, and what our writer makes of them the reference reads.

``FOOTFALL_MCAP_CONFORMANCE`` names the folder ``tests/conformance/data`` of a checkout; large files need not be there.
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from conformance import MAGIC, cases, checksum, made, record
from mcap.reader import make_reader

from footfall.recording import mcap_file

DATA = os.environ.get("FOOTFALL_MCAP_CONFORMANCE", "")
needs_data = pytest.mark.skipif(
    not DATA, reason="MCAP's conformance files were not read: set FOOTFALL_MCAP_CONFORMANCE to their folder"
)
ATTACHMENT = {"log_time": "2", "create_time": "1", "name": "myFile", "media_type": "text/plain", "data": ["1", "2"]}


def test_checksum_is_the_same_of_a_file_and_of_the_pointer_to_it():
    real = MAGIC + b"something" + MAGIC
    sha = hashlib.sha256(real).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha}\nsize {len(real)}\n".encode()
    assert checksum(real) == checksum(pointer) == sha


def read(data: bytes) -> list[tuple[str, dict[str, str]]]:
    """The data section of a file by our reader, in the words of the conformance files."""
    found = []
    for item in mcap_file.walk(memoryview(data)):
        assert not item.damage
        if item.opcode == mcap_file.DATA_END:
            break
        inner = mcap_file.inside(item.body) if item.opcode == mcap_file.CHUNK else [(item.opcode, item.body)]
        for opcode, body in inner:
            if opcode == mcap_file.MESSAGE:
                found += _messages(bytes(body))
            elif opcode != mcap_file.MESSAGE_INDEX:
                plain = body[mcap_file.RECORD_HEAD :] if item.opcode == mcap_file.CHUNK else body
                found.append(_words(opcode, mcap_file.parsed(opcode, plain)))
    return found


def _messages(run: bytes) -> list[tuple[str, dict[str, str]]]:
    found, place = [], 0
    while place < len(run):
        _, length, channel, sequence, log, publish = struct.unpack_from("<BQHIQQ", run, place)
        data = run[place + 31 : place + 9 + length]
        numbers = {"channel_id": channel, "sequence": sequence, "log_time": log, "publish_time": publish}
        found.append(("Message", {**{k: str(v) for k, v in numbers.items()}, "data": [str(b) for b in data]}))
        place += 9 + length
    return found


def _words(opcode: int, item) -> tuple[str, dict]:
    fields = {}
    for key, value in vars(item).items():
        fields[key] = [str(b) for b in value] if isinstance(value, bytes) else value
        fields[key] = str(value) if isinstance(value, int) else fields[key]
    return type(item).__name__, fields


def test_attachment_with_more_behind_its_checksum_is_read():
    for pad in (b"", b"\x01\xff\xff"):
        data = MAGIC + record("Header", {"profile": "", "library": ""}) + record("Attachment", ATTACHMENT, pad)
        assert read(data + record("DataEnd", {"data_section_crc": 0}))[1] == ("Attachment", ATTACHMENT)


def test_attachment_that_was_changed_is_refused():
    body = bytearray(record("Attachment", ATTACHMENT))
    body[-6] ^= 1
    with pytest.raises(mcap_file.Damaged, match="checksum"):
        mcap_file.parsed(mcap_file.ATTACHMENT, memoryview(bytes(body))[9:])


@needs_data
def test_conformance_files_are_read_record_by_record():
    found = cases(Path(DATA))
    assert len(found) > 400
    for case in found:
        data = made(case)
        assert hashlib.sha256(data).hexdigest() == case.sha256, case.name  # it is the real file
        end = next(k for k, (kind, _) in enumerate(case.records) if kind == "DataEnd")
        assert read(data) == case.records[:end], case.name


@needs_data
def test_reference_reads_what_our_writer_makes_of_the_conformance_records(tmp_path):
    for case in cases(Path(DATA)):
        if case.features:  # the records of a variant are those of its plain file
            continue
        path = tmp_path / f"{case.name}.mcap"
        writer, kinds = mcap_file.McapWriter(path, "footfall"), {}
        for kind, f in case.records:
            if kind == "Schema":
                kinds["schema"] = writer.schema(f["name"], f["encoding"], bytes(map(int, f["data"])))
            elif kind == "Channel":
                schema = kinds.get("schema", 0) if f["schema_id"] != "0" else 0
                kinds[f["id"]] = writer.channel(f["topic"], f["message_encoding"], schema, f["metadata"])
            elif kind == "Message":
                dtype = mcap_file.message_dtype([("bytes", "u1", (len(f["data"]),))])
                row = mcap_file.messages(
                    dtype, kinds[f["channel_id"]], int(f["sequence"]), np.array([int(f["log_time"])], "<u8")
                )
                row["publish_time"], row["data"]["bytes"] = int(f["publish_time"]), [int(b) for b in f["data"]]
                writer.chunk([row])
            elif kind == "Attachment":
                writer.attachment(f["name"], f["media_type"], bytes(map(int, f["data"])))
            elif kind == "Metadata":
                writer.metadata(f["name"], f["metadata"])
        writer.finish("end", {})
        wanted = [f for kind, f in case.records if kind == "Message"]
        with path.open("rb") as file:
            reader = make_reader(file, validate_crcs=True)
            got = [
                (message.sequence, message.publish_time, message.data)
                for _, _, message in reader.iter_messages(log_time_order=False)
            ]
            attached = [(item.name, item.data) for item in reader.iter_attachments()]
            words = [item.metadata for item in reader.iter_metadata() if item.name != "end"]
        assert got == [(int(f["sequence"]), int(f["publish_time"]), bytes(map(int, f["data"]))) for f in wanted]
        assert attached == [(f["name"], bytes(map(int, f["data"]))) for k, f in case.records if k == "Attachment"]
        assert words == [f["metadata"] for kind, f in case.records if kind == "Metadata"]

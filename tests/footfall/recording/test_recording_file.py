"""Recordings on disk: nothing is lost there and back, and what cannot be written is said."""

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest
from made_up_trot import ROBOT

from footfall.errors import InputError
from footfall.recording import mcap_file
from footfall.recording.recording import Event, Recording
from footfall.recording.recording_file import RecordingError, RecordingWriter


# -- there and back ----------------------------------------------------------------------------------------------------
def test_a_saved_recording_comes_back_bit_for_bit(rec, tmp_path):
    again = Recording.load(rec.save(tmp_path / "run.mcap"))
    assert list(again.columns) == list(rec.columns)
    for name in rec.columns:
        assert again[name].dtype == rec[name].dtype
        np.testing.assert_array_equal(again[name], rec[name])
    assert again.events == rec.events
    assert again.meta == rec.meta
    assert again.robot.digest == ROBOT.digest
    assert [p.name for p in tmp_path.iterdir()] == ["run.mcap"]


def test_blocks_and_chunks_of_any_size_give_the_same_rows(rec, tmp_path):
    for chunk_rows, block, compression in ((1, 7, ""), (64, 501, "zstd"), (1000, 3, "zstd"), (50, 50, "")):
        path = tmp_path / f"{chunk_rows}.mcap"
        with RecordingWriter(path, ROBOT, {}, chunk_rows=chunk_rows, compression=compression) as writer:
            for start in range(0, 501, block):
                writer.append({k: a[start : start + block] for k, a in rec.columns.items()})
        again = Recording.load(path)
        np.testing.assert_array_equal(again.q, rec.q)
        np.testing.assert_array_equal(again.contact, rec.contact)


def test_meta_may_change_until_the_end(rec, tmp_path):
    with RecordingWriter(tmp_path / "run.mcap", ROBOT, {"seed": 1}) as writer:
        writer.append(rec.columns)
        writer.meta.update(fell=np.bool_(True), stop="the robot fell", gains=np.array([40.0, 1.0]))
    meta = Recording.load(tmp_path / "run.mcap").meta
    assert (meta["seed"], meta["fell"], meta["stop"], meta["gains"]) == (1, True, "the robot fell", [40.0, 1.0])


def test_an_empty_run_is_a_recording_too(tmp_path):
    RecordingWriter(tmp_path / "run.mcap", ROBOT, {}).close()
    empty = Recording.load(tmp_path / "run.mcap")
    assert (len(empty), empty.duration) == (0, 0.0)
    assert "0 rows" in empty._repr_html_()


def test_events_may_come_without_rows(rec, tmp_path):
    for rows in (0, 5):
        with RecordingWriter(tmp_path / "run.mcap", ROBOT, {}) as writer:
            if rows:
                writer.append({k: a[:rows] for k, a in rec.columns.items()})
            writer.append({}, [Event(0.2, "diverged", "the trunk's height is not finite")])
        again = Recording.load(tmp_path / "run.mcap")
        assert (len(again), [e.kind for e in again.events]) == (rows, ["diverged"])


def test_the_reader_of_the_mcap_package_accepts_the_file(rec, saved):
    from mcap.reader import NonSeekingReader, make_reader

    with saved.open("rb") as stream:
        summary = make_reader(stream, validate_crcs=True).get_summary()
        assert summary.statistics.message_count == 503
        assert summary.statistics.chunk_count == 8
        assert {c.topic: c.message_encoding for c in summary.channels.values()} == {
            "/events": "json",
            "/sample": "ros1",
        }
        for reader in (make_reader(stream, validate_crcs=True), NonSeekingReader(stream, validate_crcs=True)):
            stream.seek(0)
            found = list(reader.iter_messages(topics=["/sample"]))
            assert [m.sequence for _, _, m in found] == list(range(501))
            assert [m.log_time for _, _, m in found] == [k * 10**6 for k in range(501)]
            schema, _, message = found[100]
            sizes = re.findall(r"float64(?:\[(\d+)\])? (\w+)", schema.data.decode())
            assert sizes[:3] == [("", "time"), ("19", "q"), ("18", "v")]
            np.testing.assert_array_equal(np.frombuffer(message.data, "<f8", 19, 8), rec.q[100])
        stream.seek(0)
        reader = make_reader(stream)
        some = list(reader.iter_messages(topics=["/sample"], starting_at=10**8, ending_before=2 * 10**8))
        assert len(some) == 100
        assert [a.name for a in reader.iter_attachments()] == ["robot.json"]


def test_a_file_rewritten_by_other_tools_still_opens(rec, saved, tmp_path):
    from mcap.reader import make_reader
    from mcap.writer import CompressionType, Writer

    for compression, chunking in (
        (CompressionType.LZ4, True),
        (CompressionType.ZSTD, True),
        (CompressionType.NONE, False),
    ):
        with saved.open("rb") as source, (tmp_path / "copy.mcap").open("wb") as target:
            reader, writer = make_reader(source), Writer(target, compression=compression, use_chunking=chunking)
            writer.start()
            for a in reader.iter_attachments():
                writer.add_attachment(a.create_time, a.log_time, a.name, a.media_type, a.data)
            for m in reader.iter_metadata():
                writer.add_metadata(m.name, m.metadata)
            channels = {}
            for schema, channel, m in reader.iter_messages():
                if channel.id not in channels:
                    number = writer.register_schema(schema.name, schema.encoding, schema.data)
                    channels[channel.id] = writer.register_channel(
                        channel.topic, channel.message_encoding, number, channel.metadata
                    )
                writer.add_message(channels[channel.id], m.log_time, m.data, m.publish_time, m.sequence)
            writer.finish()
        again = Recording.load(tmp_path / "copy.mcap")
        np.testing.assert_array_equal(again.q, rec.q)
        assert again.events == rec.events


# -- writing what cannot be written ------------------------------------------------------------------------------------
def test_every_block_needs_the_same_columns(rec, tmp_path):
    with RecordingWriter(tmp_path / "run.mcap", ROBOT, {}) as writer:
        writer.append({k: a[:5] for k, a in rec.columns.items()})
        with pytest.raises(InputError, match="column 'force' is missing in this block"):
            writer.append({k: a[5:9] for k, a in rec.columns.items() if k != "force"})
        with pytest.raises(InputError, match=r"time decreases: 0.001 s after 0.004 s"):
            writer.append({k: a[1:9] for k, a in rec.columns.items()})
        writer.append({k: a[5:9] for k, a in rec.columns.items()})
    with pytest.raises(RecordingError, match="is closed"):
        writer.append(rec.columns)
    assert len(Recording.load(tmp_path / "run.mcap")) == 9


def test_meta_that_is_no_json_is_refused(tmp_path):
    with pytest.raises(InputError, match="meta of a recording must be plain JSON, got a Robot"):
        RecordingWriter(tmp_path / "run.mcap", ROBOT, {"robot": ROBOT})
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(rec, tmp_path):
    with pytest.raises(RecordingError, match=r"cannot write the recording .*nowhere.*: No such file"):
        RecordingWriter(tmp_path / "nowhere" / "run.mcap", ROBOT)
    with pytest.raises(RecordingError, match=r"cannot write the recording .*nowhere.*run.mcap: No such file"):
        rec.save(tmp_path / "nowhere" / "run.mcap")


def test_a_device_is_never_replaced_by_a_file(rec):
    rec.save(os.devnull)
    assert not Path(os.devnull).is_file()


def test_an_exception_leaves_a_whole_file_that_says_so(rec, tmp_path):
    def run():
        with RecordingWriter(tmp_path / "run.mcap", ROBOT, {}) as writer:
            writer.append({k: a[:100] for k, a in rec.columns.items()})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    again = Recording.load(tmp_path / "run.mcap")
    assert len(again) == 100
    assert again.meta["interrupted"] == "KeyboardInterrupt"


def test_ctrl_c_waits_until_the_file_is_in_order(rec, tmp_path, monkeypatch):
    write, calls = mcap_file.McapWriter._write, []

    def interrupted(self, data):
        calls.append(len(data))
        if len(calls) == 10:
            signal.raise_signal(signal.SIGINT)
        write(self, data)

    monkeypatch.setattr(mcap_file.McapWriter, "_write", interrupted)

    def run():
        with RecordingWriter(tmp_path / "run.mcap", ROBOT, {}, chunk_rows=10) as writer:
            for start in range(0, 500, 10):
                writer.append({k: a[start : start + 10] for k, a in rec.columns.items()})

    with pytest.raises(KeyboardInterrupt):
        run()
    again = Recording.load(tmp_path / "run.mcap")
    assert 0 < len(again) < 500
    np.testing.assert_array_equal(again.q, rec.q[: len(again)])

"""Recordings on disk: nothing is lost on the way, and little when a run is killed or the disk is full (R5, R9)."""

import contextlib
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_trot import ROBOT, made_up_columns, made_up_trot

from footfall.errors import FootfallError, InputError
from footfall.simulate import mcap_file, recording_file
from footfall.simulate.recording import Event, Recording
from footfall.simulate.recording_file import RecordingError, RecordingWriter, recover

CHUNK = 64


@pytest.fixture(scope="module")
def rec() -> Recording:
    return made_up_trot(0.5)


@pytest.fixture
def saved(rec, tmp_path) -> Path:
    """A recording of 501 rows in chunks of 64."""
    path = tmp_path / "run.mcap"
    with RecordingWriter(path, ROBOT, rec.meta, chunk_rows=CHUNK) as writer:
        for start in range(0, 501, 10):
            events = [e for e in rec.events if start / 1000 <= e.time < start / 1000 + 0.01]
            writer.append({k: a[start : start + 10] for k, a in rec.columns.items()}, events)
    return path


def chunk_starts(path: Path) -> list[int]:
    return [r.start for r in mcap_file.walk(memoryview(path.read_bytes())) if r.opcode == mcap_file.CHUNK]


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
        with pytest.raises(InputError, match=r"time runs backwards: 0.001 s after 0.004 s"):
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


def fill(path: Path, rec: Recording) -> None:
    with RecordingWriter(path, ROBOT, {}, chunk_rows=CHUNK) as writer:
        for start in range(0, 501, 10):
            writer.append({k: a[start : start + 10] for k, a in rec.columns.items()})


def whole_file_after_full_disk(path: Path, rec: Recording) -> int:
    with pytest.raises(RecordingError, match=r"cannot write .*run.mcap: .*") as caught:
        fill(path, rec)
    assert str(caught.value).count(". ") == 0
    again = Recording.load(path)
    np.testing.assert_array_equal(again.q, rec.q[: len(again)])
    return len(again)


def test_a_full_disk_keeps_what_fits_as_a_whole_file(rec, saved, tmp_path):
    """The limit on the size of files stands for the disk; it is tried at every chunk's edges and inside."""
    sizes = chunk_starts(saved)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        for k, limit in [(k, s + extra) for k, s in enumerate(sizes) for extra in (-1, 0, 1, 700, 9000)][5:]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            rows = whole_file_after_full_disk(tmp_path / "run.mcap", rec)
            assert rows >= CHUNK * (k - 2), "more was given up than the summary needs"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_full_from_the_start_is_one_sentence(rec, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
        with pytest.raises(RecordingError, match="cannot write the recording"):
            fill(tmp_path / "run.mcap", rec)
        with pytest.raises(RecordingError, match=r"cannot write the recording .*whole.mcap: File too large$"):
            rec.save(tmp_path / "whole.mcap")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not (tmp_path / "whole.mcap").exists()


@pytest.fixture
def small_disk(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root; the limit on file sizes is tested instead")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_real_full_disk_keeps_what_fits(rec, small_disk):
    assert whole_file_after_full_disk(small_disk / "run.mcap", rec) >= CHUNK


# -- killed ------------------------------------------------------------------------------------------------------------
RUN = """
import sys, time
sys.path.insert(0, {here!r})
from made_up_trot import ROBOT, made_up_columns
from footfall.simulate.recording_file import RecordingWriter
columns = made_up_columns(20.0)
with RecordingWriter({path!r}, ROBOT, {{"seed": 3}}, chunk_rows=64) as writer:
    for start in range(0, 20000, 10):
        writer.append({{k: a[start : start + 10] for k, a in columns.items()}})
        print(start + 10, flush=True)
        time.sleep(0.001)
"""


def test_kill_9_loses_at_most_one_chunk(tmp_path):
    path = tmp_path / "run.mcap"
    script = RUN.format(here=str(Path(__file__).parent), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = 0
    while said < 2000:
        said = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    said = max([said, *(int(line) for line in process.stdout.read().split("\n")[:-1])])
    process.wait()
    with pytest.raises(RecordingError, match=r"was not closed or is damaged .* 'footfall recover .*run.mcap' makes"):
        Recording.load(path)
    saved = recover(path)
    assert saved.out == tmp_path / "run.recovered.mcap"
    again = Recording.load(saved.out)
    assert saved.messages == len(again) > said - CHUNK - 10
    np.testing.assert_array_equal(again.q, made_up_columns(20.0)["q"][: len(again)])
    assert again.meta["seed"] == 3
    assert again.meta["interrupted"] == "the run was cut off"
    assert again.robot.digest == ROBOT.digest


def test_rows_reach_the_disk_within_a_second_of_appending(rec, tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    writer = RecordingWriter(tmp_path / "run.mcap", ROBOT, {}, chunk_rows=10_000)
    writer.append({k: a[:10] for k, a in rec.columns.items()})
    assert len(recording_file.read(tmp_path / "run.mcap").columns.get("time", ())) == 0
    now[0] += 1.1
    writer.append({k: a[10:20] for k, a in rec.columns.items()})
    assert len(recording_file.read(tmp_path / "run.mcap").columns["time"]) == 20
    writer.close()


# -- broken files ------------------------------------------------------------------------------------------------------
def test_a_torn_file_gives_all_whole_chunks(rec, saved, tmp_path):
    data, starts = saved.read_bytes(), chunk_starts(saved)
    for k, start in enumerate(starts):
        for extra in (0, 5, 100, 2000):
            saved.write_bytes(data[: start + extra])
            result = recover(saved, tmp_path / "out.mcap")
            assert result.lost_bytes == extra
            again = Recording.load(tmp_path / "out.mcap")
            assert len(again) == CHUNK * k
            assert result.messages == len(again) + len(again.events)
            np.testing.assert_array_equal(again.v, rec.v[: len(again)])


def test_a_torn_summary_loses_no_row(rec, saved, tmp_path):
    data = saved.read_bytes()
    saved.write_bytes(data[:-30])
    with pytest.raises(RecordingError, match="footfall recover"):
        Recording.load(saved)
    recover(saved, saved)
    np.testing.assert_array_equal(Recording.load(saved).q, rec.q)


def test_recovering_a_whole_file_changes_nothing(rec, saved, tmp_path):
    result = recover(saved, tmp_path / "out.mcap")
    assert (result.messages, result.lost_bytes) == (503, 0)
    assert Recording.load(tmp_path / "out.mcap").meta == rec.meta


def test_a_flipped_bit_costs_one_chunk(rec, saved, tmp_path):
    data = bytearray(saved.read_bytes())
    data[chunk_starts(saved)[2] + 500] ^= 4
    saved.write_bytes(data)
    with pytest.raises(RecordingError, match="footfall recover"):
        Recording.load(saved)
    result = recover(saved, tmp_path / "out.mcap")
    again = Recording.load(tmp_path / "out.mcap")
    assert len(again) == 501 - CHUNK
    assert result.lost_bytes > 500
    np.testing.assert_array_equal(again.q, np.delete(rec.q, slice(2 * CHUNK, 3 * CHUNK), axis=0))


def test_what_is_no_recording_is_told_apart(tmp_path):
    from mcap.writer import Writer

    with pytest.raises(InputError, match=r"cannot read the recording .*none.mcap: No such file"):
        Recording.load(tmp_path / "none.mcap")
    (tmp_path / "text.mcap").write_text("hello")
    with pytest.raises(InputError, match="is not an MCAP file"):
        Recording.load(tmp_path / "text.mcap")
    with (tmp_path / "other.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        writer.finish()
    with pytest.raises(RecordingError, match="is not a recording of footfall: it holds no robot"):
        Recording.load(tmp_path / "other.mcap")


@pytest.fixture(scope="module")
def small_file(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("fuzz") / "run.mcap"
    columns = {k: a[:40] for k, a in made_up_columns(0.1).items()}
    with RecordingWriter(path, ROBOT, {}, chunk_rows=16, compression="") as writer:
        writer.append(columns, [Event(0.01, "push", "a push")])
    return path.read_bytes()


@settings(max_examples=150, deadline=2000)
@given(data=st.data())
def test_a_mutated_file_opens_or_is_refused_in_words(small_file, tmp_path_factory, data):
    mutated = bytearray(small_file)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(8, len(mutated) - 9))
        if data.draw(st.booleans()):
            mutated[place] = data.draw(st.integers(0, 255))
        else:
            struct.pack_into("<Q", mutated, place, data.draw(st.sampled_from([0, 1, 2**31, 2**40, 2**63, 2**64 - 1])))
    path = tmp_path_factory.getbasetemp() / "mutated.mcap"
    path.write_bytes(mutated[: data.draw(st.integers(8, len(mutated)))])
    for attempt in (lambda: Recording.load(path), lambda: recover(path, path.with_suffix(".out"))):
        with contextlib.suppress(FootfallError):
            attempt()


def test_nothing_read_is_unpickled_or_evaluated():
    source = Path(recording_file.__file__).parent
    for file in (*source.glob("recording*.py"), source / "mcap_file.py", source / "tables.py"):
        assert not re.search(r"\b(pickle|eval|exec|allow_pickle)\b", file.read_text()), file.name

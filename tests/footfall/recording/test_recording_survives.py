"""Recordings on disk lose little when the disk is full, the run is killed or the file is damaged."""

import contextlib
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
from made_up_trot import ROBOT, made_up_columns, written_in_chunks

from footfall.errors import FootfallError, InputError
from footfall.recording import mcap_file, recording_file
from footfall.recording.recording import Event, Recording
from footfall.recording.recording_file import RecordingError, RecordingWriter, recover

CHUNK = 64


def chunk_starts(path: Path) -> list[int]:
    return [r.start for r in mcap_file.walk(memoryview(path.read_bytes())) if r.opcode == mcap_file.CHUNK]


# -- no room left ------------------------------------------------------------------------------------------------------
def whole_file_after_full_disk(path: Path, rec: Recording) -> int:
    with pytest.raises(RecordingError, match=r"cannot write .*run.mcap: .*") as caught:
        written_in_chunks(path, rec)
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
            written_in_chunks(tmp_path / "run.mcap", rec)
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
from footfall.recording.recording_file import RecordingWriter
columns = made_up_columns(20.0)
with RecordingWriter({path!r}, ROBOT, {{"seed": 3}}, chunk_rows=64) as writer:
    for start in range(0, 20000, 10):
        writer.append({{k: a[start : start + 10] for k, a in columns.items()}})
        print(start + 10, flush=True)
        time.sleep(0.001)
    time.sleep(600.0)  # not closed before it is killed
"""


def test_kill_9_loses_at_most_one_chunk(tmp_path):
    path = tmp_path / "run.mcap"
    script = RUN.format(here=str(Path(__file__).parents[2]), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = 0
    while said < 2000:
        said = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    said = max([said, *(int(line) for line in process.stdout.read().split("\n")[:-1])])
    process.wait()
    with pytest.raises(RecordingError, match=r"was not closed or is damaged .* 'footfall recover .*run.mcap' saves"):
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


@settings(max_examples=150, deadline=None)
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

"""Small files that say they are large, or make much of little, are refused before the memory or the hour is spent."""

import io
import json
import struct
import zipfile
import zlib

import lz4.frame
import numpy as np
import pytest
import zstandard
from waiting import within

from footfall._io.archive import NoArchive, read_archive
from footfall.analysis.hanging import Encoders
from footfall.control.learned.policy import SHIPPED, Policy
from footfall.errors import InputError, ModelError
from footfall.recording import mcap_file
from footfall.recording.recording import Recording, RecordingError
from footfall.recording.recording_file import RecordingWriter
from footfall.robot import library
from footfall.robot.files.mesh import MOST_TRIANGLES, read_mesh
from footfall.sim.simulation import Simulation
from footfall.sweep.study import parse_study

SOON = 15.0  # [s] of this process's own time, many times what any of these takes on a slow machine; a bomb: minutes


def in_no_time():
    """Around the reader alone: to make a bomb may take longer than to refuse it."""
    return within(SOON)


# -- recordings --------------------------------------------------------------------------------------------------------
def with_chunks(path, *bodies):
    """A recording with its robot, its channels and chunks of one's own making, (compression, packed, size) each."""
    robot = library.load("mini_cheetah")
    columns = {"time": np.zeros(1), "q": np.zeros((1, robot.nq)), "v": np.zeros((1, robot.nv))}
    with RecordingWriter(path, robot, {}) as writer:
        writer.append(columns)
        writer._flush(everything=True)
        for name, packed, size in bodies:
            head = struct.pack("<QQQII", 0, 0, size, 0, len(name)) + name.encode() + struct.pack("<Q", len(packed))
            body = head + packed
            writer._file._write(struct.pack("<BQ", mcap_file.CHUNK, len(body)) + body)
    return path


def test_a_chunk_of_zeros_is_no_million_records(tmp_path):
    size = mcap_file.MOST_CHUNK_BYTES
    path = with_chunks(tmp_path / "zeros.mcap", ("zstd", zstandard.compress(bytes(size)), size))
    assert path.stat().st_size < 50_000
    with in_no_time():
        assert len(Recording.load(path)) == 1


def test_records_of_no_kind_are_counted(tmp_path):
    data = struct.pack("<BQ", 0x80, 0) * 3_000_000
    path = with_chunks(tmp_path / "many.mcap", ("zstd", zstandard.compress(data), len(data)))
    with in_no_time(), pytest.raises(RecordingError, match="more than 1000000 records"):
        Recording.load(path)


def test_alternating_messages_take_time_in_proportion(tmp_path):
    pair = b"".join(struct.pack("<BQHIQQ", mcap_file.MESSAGE, 22, channel, 0, 0, 0) for channel in (900, 901))
    data = pair * 100_000
    path = with_chunks(tmp_path / "alternating.mcap", ("zstd", zstandard.compress(data), len(data)))
    with in_no_time():
        assert len(Recording.load(path)) == 1


def test_a_file_that_unpacks_to_gigabytes_is_refused_by_its_heads(tmp_path):
    size = mcap_file.MOST_CHUNK_BYTES
    chunk = ("zstd", zstandard.compress(bytes(size)), size)
    path = with_chunks(tmp_path / "large.mcap", *[chunk] * 40)
    with (
        in_no_time(),
        pytest.raises(RecordingError, match=r"large.mcap cannot be unpacked: it is \d+ bytes long .* 10 GiB"),
    ):
        Recording.load(path)


def test_lz4_is_unpacked_to_what_it_says_and_no_further(tmp_path):
    path = with_chunks(tmp_path / "lz4.mcap", ("lz4", lz4.frame.compress(bytes(1 << 28)), 1000))
    with in_no_time(), pytest.raises(RecordingError, match="footfall recover"):
        Recording.load(path)


def test_a_recording_of_one_frozen_robot_still_opens(tmp_path):
    """Equal rows pack far better than those of any run."""
    robot = library.load("mini_cheetah")
    rows = 20_000
    columns = {"time": np.arange(rows) * 1e-3, "q": np.ones((rows, robot.nq)), "v": np.zeros((rows, robot.nv))}
    Recording(robot, columns).save(tmp_path / "frozen.mcap")
    with in_no_time():
        assert len(Recording.load(tmp_path / "frozen.mcap")) == rows


# -- policies and checkpoints ------------------------------------------------------------------------------------------
def zipped(path, arrays):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in arrays.items():
            archive.writestr(f"{name}.npy", data)
    return path


def says_size(path, size):
    """The file with another size in the head of its last member."""
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02") + 24
    data[place : place + 4] = struct.pack("<I", size)
    path.write_bytes(data)
    return path


def npy(shape, data=b"", dtype="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
    return file.getvalue() + data


@pytest.mark.parametrize(
    "arrays",
    [
        lambda: {"W0": npy((1 << 26,), bytes(1 << 29))},
        lambda: {"words": npy((1 << 40,))},
        lambda: {f"W{k}": npy((0,)) for k in range(20_000)},
    ],
    ids=["unpacks", "claims", "counts"],
)
def test_archives_that_hold_more_than_they_show_are_refused(arrays, tmp_path):
    path = zipped(tmp_path / "bomb.npz", arrays())
    with in_no_time(), pytest.raises(InputError, match="is not a policy of footfall"):
        Policy.load(path)
    with in_no_time(), pytest.raises(InputError, match=r"is not a checkpoint, or damaged$"):
        Simulation(library.load("mini_cheetah")).resume(path)


@pytest.mark.parametrize("most", [1 << 20, 1 << 30], ids=["said", "hidden"])
def test_archives_unpack_to_no_more_than_their_heads_say(most, tmp_path):
    """A bomb with a false header is cut where the header says; so is one that NumPy could not have compressed."""
    import tracemalloc

    bomb = zipped(tmp_path / "bomb.npz", {"time": npy((1 << 22,), bytes(1 << 25))})
    if most > 1 << 25:
        says_size(bomb, 1000)
    tracemalloc.start()
    try:
        with in_no_time(), pytest.raises(NoArchive):
            read_archive(bomb, most)
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()
    with zipfile.ZipFile(tmp_path / "other.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("time.npy", npy((1,), bytes(8)))
    with pytest.raises(NoArchive, match="compressed in a way that NumPy does not use"):
        read_archive(tmp_path / "other.npz", most)


def test_joint_angles_that_unpack_to_gigabytes_are_refused(tmp_path):
    path = says_size(zipped(tmp_path / "bomb.npz", {"time": npy((1 << 28,))}), 1 << 31)
    with in_no_time(), pytest.raises(InputError, match="would unpack to more than"):
        Encoders.read(path)


def test_what_an_archive_holds_beside_the_joint_angles_is_left_alone(tmp_path):
    time, angles = 0.01 * np.arange(300.0), np.zeros((300, 2))
    np.savez(tmp_path / "more.npz", time=time, wanted=angles, dof_pos=angles, notes=np.array([{}], dtype=object))
    np.testing.assert_array_equal(Encoders.read(tmp_path / "more.npz").time, time)


def test_a_policy_of_pickles_or_one_array_is_refused(tmp_path):
    np.savez(tmp_path / "pickled.npz", words=np.array([{}], dtype=object))
    (tmp_path / "single.npz").write_bytes(npy((1,), bytes(8)))
    for name in ("pickled", "single"):
        with in_no_time(), pytest.raises(InputError, match="is not a policy of footfall"):
            Policy.load(tmp_path / f"{name}.npz")
    assert Policy.load(SHIPPED / "mini_cheetah.npz").robot == "mini_cheetah"


# -- meshes ------------------------------------------------------------------------------------------------------------
def collada(places, part, instances):
    return f"""<COLLADA><library_geometries><geometry id="g"><mesh>
    <source id="s"><float_array id="f">{places}</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>{part}</mesh></geometry></library_geometries>
    <library_visual_scenes><visual_scene><node>{instances * '<instance_geometry url="#g"/>'}</node></visual_scene>
    </library_visual_scenes></COLLADA>"""


def triangles(count):
    corners = "0 1 2 " * count
    return f'<triangles><input semantic="VERTEX" source="#v" offset="0"/><p>{corners}</p></triangles>'


def test_instances_of_one_geometry_share_a_budget_of_triangles(tmp_path):
    path = tmp_path / "bomb.dae"
    path.write_text(collada("0 0 0 1 0 0 0 1 0 " * 10_000, triangles(100_000), 15_000))
    with in_no_time(), pytest.raises(ModelError, match=f"more than {MOST_TRIANGLES} triangles"):
        read_mesh(path)


def test_parts_that_share_their_places_read_them_once(tmp_path):
    path = tmp_path / "shared.dae"
    path.write_text(collada("0 0 0 1 0 0 0 1 0 " * 50_000, triangles(1) * 4000, 1))
    with in_no_time():
        assert len(read_mesh(path)) == 4000


def polygons(counts, corners):
    given = f'<input semantic="VERTEX" source="#v" offset="0"/><vcount>{counts}</vcount><p>{corners}</p>'
    return f"<polylist>{given}</polylist>"


def test_polygons_have_the_corners_that_are_given(tmp_path):
    path = tmp_path / "rising.dae"
    path.write_text(collada("0 0 0 1 0 0 0 1 0", polygons(" ".join(map(str, range(3, 400_000))), "0 1 2 " * 1000), 1))
    with in_no_time(), pytest.raises(ModelError, match="polygons do not have the 3000 corners given"):
        read_mesh(path)
    path.write_text(collada("0 0 0 1 0 0 1 1 0 0 1 0 2 2 2", polygons("4 3", "0 1 2 3 4 1 0"), 1))
    (mesh,) = read_mesh(path)
    np.testing.assert_array_equal(mesh.faces, [[0, 1, 2], [0, 2, 3], [4, 1, 0]])


def test_corners_before_the_first_are_refused(tmp_path):
    path = tmp_path / "negative.dae"
    path.write_text(collada("0 0 0 1 0 0 0 1 0", triangles(1).replace("0 1 2", "0 1 -1"), 1))
    with in_no_time(), pytest.raises(ModelError, match="triangles without corners"):
        read_mesh(path)


# -- studies and images ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("limit = 1000000000\n[grid]\nspeed = { from = 0.1, to = 0.4, count = 1000000000 }", "count of speed"),
        ("limit = 1000000000\n[samples]\ncount = 1000000000\nspeed = { uniform = [0.1, 0.4] }", "count in .samples."),
        ("limit = 1000000000000\n[grid]\n" + "\n".join(f"p{k} = {list(range(100))}" for k in range(5)), "at most"),
        ("[grid]\nspeed = [1" + "0" * 400 + "]", "must be finite"),
        ("[grid]\nspeed = " + "[" * 5000, "nested too deep"),
        ("a = " + "9" * 5000, "is not TOML"),
        ("[" + ".".join(["a"] * 3000) + "]", "nested too deep"),
    ],
)
def test_studies_of_more_than_a_million_values_are_refused(text, words, tmp_path):
    with in_no_time(), pytest.raises(InputError, match=words):
        parse_study(text, tmp_path)


def test_an_image_is_measured_before_it_is_unpacked(tmp_path):
    from footfall.contact.heightfield import Heightfield

    def part(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">2I5B", 30_000, 30_000, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(100_000_000))
    (tmp_path / "bomb.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", pixels) + part(b"IEND", b"")
    )
    with in_no_time(), pytest.raises(InputError, match="30000 x 30000 pixels"):
        Heightfield.from_file(tmp_path / "bomb.png")


# -- the robot of a recording ------------------------------------------------------------------------------------------
def damaged_robot(path, crc):
    """The recording with one digit of the trunk's mass changed, with or without a checksum that fits again."""
    data = bytearray(path.read_bytes())
    (record,) = [r for r in mcap_file.walk(memoryview(bytes(data))) if r.opcode == mcap_file.ATTACHMENT]
    start = record.start + mcap_file.RECORD_HEAD
    at = data.index(b'"mass": 3.3', start)
    data[at + 8] = ord("9")
    if crc:
        end = start + len(record.body)
        data[end - 4 : end] = struct.pack("<I", zlib.crc32(bytes(data[start : end - 4])))
    path.write_bytes(data)


@pytest.mark.parametrize("crc", [False, True])
def test_a_recording_whose_robot_was_changed_is_refused(crc, tmp_path):
    robot = library.load("mini_cheetah")
    assert json.dumps(robot.link("trunk").mass) == "3.3"
    path = tmp_path / "run.mcap"
    Recording(robot, {"time": np.zeros(1), "q": np.zeros((1, robot.nq)), "v": np.zeros((1, robot.nv))}).save(path)
    assert Recording.load(path).robot.digest == robot.digest
    damaged_robot(path, crc)
    words = "is not the one that was recorded" if crc else "'robot.json' does not agree with its checksum"
    with in_no_time(), pytest.raises(RecordingError, match=words):
        Recording.load(path)

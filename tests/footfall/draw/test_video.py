"""Recordings as pictures and videos, without a browser."""

import subprocess

import numpy as np
import pytest
from PIL import Image

from footfall.contact.ground import Plane
from footfall.contact.terrain import named
from footfall.draw.ground_surface import lines_along_x
from footfall.draw.painter import Painter, subdivided
from footfall.errors import FootfallError, InputError
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.sim.simulation import Simulation


@pytest.fixture(scope="module")
def rec():
    return Simulation(library.load("mini_cheetah"), record_rate=50.0).run(0.4)


def pixels(image):
    return np.asarray(image, dtype=int)


def legs(image):
    """Where the orange and the blue legs are."""
    r, _, b = pixels(image).transpose(2, 0, 1)
    return (r > b + 60) & (r > 100), (b > r + 60) & (b > 100)


def test_the_robot_stands_in_the_middle_of_its_picture(rec):
    image = rec.picture(0.2, 320, 180)
    assert image.size == (320, 180)
    right, left = legs(image)
    assert right.sum() > 400
    assert left.sum() > 150
    x = np.flatnonzero((right | left).any(axis=0))
    assert x[0] > 30
    assert x[-1] < 290


def test_pictures_follow_the_robot(rec):
    moved = Recording(rec.robot, {**rec.columns, "q": rec.q + np.eye(rec.robot.nq)[0] * 7.0}, meta=rec.meta)
    a, b = (legs(r.picture(0.2, 160, 90))[0] for r in (rec, moved))
    assert (a != b).mean() < 0.01


def test_the_ground_is_drawn_as_it_was(rec):
    pictures = []
    for name in ("plane", "slope:15", "steps:0.1", "rough:0.1"):
        meta = {**rec.meta, "ground_form": named(name).to_json()}
        pictures.append(pixels(Recording(rec.robot, rec.columns, meta=meta).picture(0.2, 160, 90)))
    for k, one in enumerate(pictures):
        for other in pictures[:k]:
            assert (np.abs(one - other).max(axis=2) > 4).mean() > 0.05


@pytest.mark.parametrize("name", library.names())
def test_every_robot_has_a_picture(name):
    robot = library.load(name)
    q, v = robot.state("stand" if "stand" in robot.poses else None)
    rec = Recording(robot, {"time": np.zeros(1), "q": q[None], "v": v[None]})
    assert pixels(rec.picture(width=96, height=64)).std() > 8


def test_a_gif_has_all_its_pictures(rec, tmp_path):
    path = rec.save_video(tmp_path / "a.gif", fps=10.0, width=96, end=0.3)
    with Image.open(path) as gif:
        assert gif.size == (96, 54)
        assert gif.n_frames >= 2
        assert gif.info["duration"] == 100
    assert [file.name for file in tmp_path.iterdir()] == ["a.gif"]


def test_an_mp4_can_be_decoded(rec, tmp_path):
    from imageio_ffmpeg import count_frames_and_secs, get_ffmpeg_exe

    path = rec.save_video(tmp_path / "a.mp4", fps=20.0, width=97, height=65, pace=0.5)
    frames, seconds = count_frames_and_secs(str(path))
    assert frames == len(np.arange(rec.time[0], rec.time[-1] + 1e-9, 0.5 / 20.0))
    assert seconds == pytest.approx(frames / 20.0, abs=0.06)
    done = subprocess.run([get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-f", "null", "-"], capture_output=True)
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("a.avi", {}, "choose a name that ends in .gif, .mp4"),
        ("a.gif", {"fps": 0.0}, "frames per second"),
        ("a.gif", {"width": 3}, "width"),
        ("a.gif", {"pace": -1.0}, "pace"),
        ("a.gif", {"start": 9.0}, "from 9 s"),
        ("gone/a.gif", {}, "cannot write the video"),
    ],
)
def test_bad_options_are_said_in_one_sentence(rec, tmp_path, name, options, says):
    with pytest.raises(FootfallError, match=says):
        rec.save_video(tmp_path / name, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_without_rows_and_times_outside(rec):
    empty = Recording(rec.robot, {key: column[:0] for key, column in rec.columns.items()})
    with pytest.raises(InputError, match="no rows"):
        empty.picture()
    with pytest.raises(InputError, match="covers"):
        rec.picture(77.0)


def test_a_missing_extra_is_named(rec, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(FootfallError, match=r"footfall\[video\]"):
        rec.save_video(tmp_path / "a.mp4")


# -- the painter -------------------------------------------------------------------------------------------------------
def test_what_is_nearer_covers_what_is_farther():
    painter = Painter(64, 64)
    painter.look(np.array([0.0, -4.0, 0.0]), np.zeros(3))
    square = np.array([[-0.5, 0, -0.5], [0.5, 0, -0.5], [0.5, 0, 0.5], [-0.5, 0, 0.5]])
    points = np.concatenate(
        [square, square + np.array([0.0, 1.0, 0.0]), square - np.array([0.0, 9.0, 0.0])]
    )  # the last behind the eye
    corners = np.arange(12).reshape(3, 4)
    painter.polygons(points, corners, np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255]], dtype=float))
    assert tuple(pixels(painter.picture())[32, 32]) == (255, 0, 0)


def test_points_appear_where_perspective_puts_them():
    painter = Painter(200, 100, view=90.0)
    painter.look(np.array([0.0, -2.0, 0.0]), np.zeros(3))
    places, ahead = painter.flat(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]]))
    np.testing.assert_allclose(ahead, 2.0)
    np.testing.assert_allclose(places / 2, [[100, 50], [125, 50], [100, 0]], atol=1e-9)


def test_large_triangles_are_cut_and_cover_the_same():
    vertices, faces = np.array([[0.0, 0, 0], [3, 0, 0], [0, 2, 0]]), np.array([[0, 1, 2]])
    points, small = subdivided(vertices, faces, 0.5)
    a, b, c = points[small].transpose(1, 0, 2)
    areas = np.cross(b - a, c - a)[:, 2] / 2
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(3.0)
    assert np.linalg.norm(a - b, axis=1).max() < 0.9


# -- the ground --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["plane", "slope:9", "rough:0.05", "steps:0.05"])
def test_the_drawn_surface_lies_on_the_ground(name):
    ground = named(name, seed=2)
    x, y = np.random.default_rng(0).uniform(-1.0, 3.0, (2, 40))
    for a, b, z in zip(x, y, ground.heights_at(x, y)):
        assert abs(float(ground.distance(np.array([a, b, z])))) < 0.031  # fillets of steps
        if name != "steps:0.05":
            assert abs(float(ground.distance(np.array([a, b, z])))) < 1e-9


def test_risers_are_cut_on_both_sides():
    ground = named("steps:0.05")
    cut = lines_along_x(ground, 0.0, 1.2, 0.5)
    z = ground.heights_at(cut, np.zeros(len(cut)))
    assert np.diff(z).max() == pytest.approx(0.05)
    assert np.diff(cut)[np.diff(z) > 0.01].max() < 1e-4
    assert len(lines_along_x(Plane(), 0.0, 1.0, 0.5)) == 3

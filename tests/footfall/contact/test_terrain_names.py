"""Grounds by name and from files, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import footfall as ff
from footfall.contact.ground import Plane
from footfall.contact.heightfield import Heightfield
from footfall.contact.patches import Patches
from footfall.contact.terrain import named
from footfall.errors import InputError

CHEETAH = ff.load("mini_cheetah")
HILLS = 0.05 * np.random.default_rng(5).standard_normal((12, 9))


def holed() -> np.ndarray:
    heights = np.zeros((41, 41))
    heights[30:] = np.nan
    return heights


def test_grounds_have_names():
    assert named("plane", friction=0.3).friction == 0.3
    assert named("slope:5").normal[0] == pytest.approx(-np.sin(np.radians(5)))
    assert np.diff(named("steps:0.05").levels) == pytest.approx(0.05)
    assert named("steps:0.05").tread == 0.4
    assert named("stairs:0.1").levels.max() == pytest.approx(0.6)
    assert named("rough:0.02", seed=3, friction=0.5).friction == 0.5


def test_image_becomes_a_field_right_is_ahead_and_top_is_left(tmp_path):
    from matplotlib import image

    pixels = np.zeros((5, 9))
    pixels[0, 8] = 1.0  # top right
    image.imsave(tmp_path / "hill.png", pixels, cmap="gray", vmin=0, vmax=1)
    field = Heightfield.from_file(tmp_path / "hill.png", height=0.2, length=4.0, smooth=False)
    assert field.spacing == 0.5
    assert field.surface(2.0, 1.0)[0] == pytest.approx(0.2)
    assert field.surface(2.0, -1.0)[0] == pytest.approx(0.0)
    assert named(f"{tmp_path}/hill.png:0.3:8").surface(0.0, 0.0)[0] == pytest.approx(0.0)


def test_array_file_holds_metres(tmp_path):
    np.save(tmp_path / "hills.npy", HILLS)
    field = named(f"{tmp_path}/hills.npy:1.1")
    assert field.spacing == pytest.approx(0.1)
    assert (field.heights == HILLS).all()


def test_ground_file_of_the_wrong_kind_is_refused(tmp_path):
    (tmp_path / "a.png").write_text("no image")
    (tmp_path / "a.npy").write_bytes(b"no array")
    np.save(tmp_path / "words.npy", np.array(["a", "b"]))
    np.save(tmp_path / "line.npy", np.zeros(5))
    cases = {
        "a.png": "not a PNG",
        "a.npy": "not a NumPy file",
        "words.npy": "grid of heights",
        "line.npy": "at least 2 x 2",
        "none.png": "no ground file",
        "none.npy": "no ground file",
    }
    for name, said in cases.items():
        with pytest.raises(InputError, match=said) as raised:
            named(str(tmp_path / name))
        assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match=r"unknown kind of ground file '.obj'.*png"):
        Heightfield.from_file("hills.obj")


@pytest.mark.parametrize(
    "bad",
    [
        "slope",
        "slope:steep",
        "rough",
        "rough:-1",
        "rough:nan",
        "steps:0",
        "steps:2",
        "steps:1:2",
        "hills",
        "hills.png:1:2:3",
        "plane:3",
        "",
    ],
)
def test_ground_that_has_no_such_name_is_refused_in_one_sentence(bad):
    with pytest.raises(InputError) as raised:
        named(bad)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("friction", [-0.1, np.nan, np.inf, "slippery"])
def test_friction_below_zero_is_refused(friction):
    for make in (
        lambda: named("rough:0.02", friction=friction),
        lambda: named("steps:0.02", friction=friction),
        lambda: Heightfield(HILLS, friction=friction),
        lambda: Patches(Plane(), [[0.5, friction]]),
    ):
        with pytest.raises(InputError, match="friction"):
            make()


@pytest.mark.parametrize(
    "heights",
    [
        None,
        3.0,
        [1.0, 2.0],
        [[1.0, 2.0], [3.0]],
        [[1.0]],
        np.full((3, 3), np.nan),
        [[0.0, np.inf], [0.0, 0.0]],
        "hills",
    ],
)
def test_heights_that_are_no_ground_are_refused(heights):
    with pytest.raises(InputError, match="height"):
        Heightfield(heights)


def test_hole_under_the_robot_is_said():
    q, v = CHEETAH.state("stand")
    ground = Heightfield.centred(holed(), 0.1)
    with pytest.raises(InputError, match=r"hole under 'LF' at \(1\.\d+, 0\.\d+\) m"):
        ff.Simulation(CHEETAH, ground=ground, start=(q + 1.1 * np.eye(19)[0], v))
    slides = (q + 0.55 * np.eye(19)[0], v + 2.0 * np.eye(18)[3])
    sim = ff.Simulation(CHEETAH, ground=ground, start=slides, stop_on_fall=False)
    rec = sim.run(1.0)
    assert rec.meta["diverged"]
    assert "hole under" in rec.meta["stopped"]

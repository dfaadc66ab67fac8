"""Recordings keep the ground they were made on."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall.contact.ground import Plane, as_ground
from footfall.contact.heightfield import GRAIN, Heightfield
from footfall.contact.model import contact_settings
from footfall.contact.patches import Patches
from footfall.contact.steps import Steps
from footfall.contact.terrain import from_json, named
from footfall.errors import FootfallError
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.sim.simulation import Simulation

numbers = st.floats(-2.0, 2.0)
GROUNDS = ("plane", "slope:7", "steps:0.05", "stairs:0.04", "rough:0.05")


def again(ground):
    return from_json(json.loads(json.dumps(ground.to_json())))


@pytest.mark.parametrize("name", GROUNDS)
@given(x=numbers, y=numbers)
@settings(max_examples=20, deadline=None)
def test_a_named_ground_comes_back_exactly(name, x, y):
    ground = _named(name)
    back = _back(name)
    point = np.array([x, y, 0.3])
    assert float(back.distance(point)) == float(ground.distance(point))
    assert back.friction_at(point) == 0.6
    np.testing.assert_array_equal(back.frame(point), ground.frame(point))


_made = {}


def _named(name):
    return _made.setdefault(name, named(name, seed=3, friction=0.6))


def _back(name):
    return _made.setdefault(("back", name), again(_named(name)))


@given(seed=st.integers(0, 2**31), rows=st.integers(2, 30), columns=st.integers(2, 30), holes=st.booleans())
@settings(max_examples=40, deadline=None)
def test_any_heightfield_comes_back_to_a_grain(seed, rows, columns, holes):
    random = np.random.default_rng(seed)
    heights = random.normal(0.0, 0.5, (rows, columns))
    if holes:
        heights[random.random((rows, columns)) < 0.2] = np.nan
        heights[0, 0] = 0.0
    ground = Heightfield(heights, 0.1, np.array([1.0, -2.0]), 0.7)
    back = again(ground)
    np.testing.assert_allclose(back.heights, ground.heights, atol=0.51 * GRAIN, equal_nan=True)
    assert (back.spacing, back.friction, back.smooth) == (0.1, 0.7, False)
    np.testing.assert_array_equal(back.corner, ground.corner)


def test_rough_ground_takes_no_room_and_patches_keep_theirs():
    assert len(json.dumps(named("rough:0.05", 9).to_json())) < 300
    patches = Patches(named("slope:5"), np.array([[0.2, 0.9]]), 0.5)
    back = again(patches)
    assert isinstance(back.ground, Plane)
    np.testing.assert_array_equal(back.friction, patches.friction)


def test_rough_ground_with_other_heights_is_not_taken_for_its_seed():
    ground = named("rough:0.05", 9)
    object.__setattr__(ground, "heights", np.array(ground.heights) + 0.01)
    assert "recipe" not in ground.to_json()


def test_a_users_own_ground_has_no_form():
    class Mine:
        distance = frame = friction_at = None

    assert as_ground(Mine()).to_json() is None


@pytest.mark.parametrize(
    "junk",
    [
        None,
        7,
        {},
        {"kind": "lava"},
        {"kind": "plane", "tilt": 3},
        {"kind": "plane", "normal": "up"},
        {"kind": "heightfield", "recipe": {"height": 0.1, "seed": 0, "size": [1e9, 1e9]}},
        {"kind": "heightfield", "heights": None},
        {"kind": "heightfield", "heights": {"shape": [9**9, 9**9], "data": ""}},
        {"kind": "heightfield", "heights": {"shape": [2, 2], "data": "AAAA"}},
        {"kind": "patches", "ground": {}},
    ],
)
def test_what_is_no_form_is_refused(junk):
    with pytest.raises(FootfallError, match="ground"):
        from_json(junk)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("ground") / "steps.mcap"
    Simulation(library.load("mini_cheetah"), ground=named("steps:0.05", friction=0.6)).run(0.05, path)
    return path


def test_a_recording_keeps_its_ground_and_contact_settings(recording, tmp_path):
    rec = Recording.load(recording)
    assert isinstance(rec.ground, Steps)
    assert rec.ground.friction == 0.6
    assert rec.meta["ground"] == "Steps"
    assert rec.meta["contact_settings"] == json.loads(
        json.dumps(contact_settings(Simulation(rec.robot).model.world.contact))
    )
    assert isinstance(Recording.from_netcdf(rec.to_netcdf(tmp_path / "a.nc")).ground, Steps)
    assert isinstance(rec.between(0.01, 0.03).ground, Steps)


def test_old_recordings_and_damaged_grounds(recording):
    rec = Recording.load(recording)
    del rec.meta["ground_form"]
    assert rec.ground is None
    rec.meta["ground_form"] = {"kind": "steps", "levels": "high"}
    with pytest.raises(FootfallError, match="damaged"):
        _ = rec.ground

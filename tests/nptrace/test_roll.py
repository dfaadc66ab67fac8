"""Rolling: results fed back many times inside machine code, every so many of them kept."""

import numpy as np
import pytest

import nptrace as trace
from footfall.errors import InputError


def turn(state, angle):
    """A point that turns about the origin; also gives its height."""
    x, y = state["x"], state["y"]
    c, s = np.cos(angle), np.sin(angle)
    return {"x": c * x - s * y, "y": s * x + c * y}, {"height": y + 1.0, "pair": np.array([x, y])}


START = {"x": 1.0, "y": 0.0}


def by_hand(steps, every, angle=0.1):
    state, kept = START, []
    for k in range(steps):
        state, seen = turn(state, angle)
        if (k + 1) % every == 0:
            kept.append((state["x"], seen["height"], seen["pair"]))
    return state, kept


@pytest.mark.parametrize("target", ["interpret", "native"])
@pytest.mark.parametrize(("steps", "every"), [(1, 1), (12, 1), (12, 3), (13, 5), (3, 7)])
def test_a_roll_equals_steps_by_hand(target, steps, every):
    f = trace.compile(turn, START, 0.1, target=target, cache=None)
    state, (kept, seen) = f.roll(steps, START, 0.1, every=every)
    expected, rows = by_hand(steps, every)
    np.testing.assert_allclose([state["x"], state["y"]], [expected["x"], expected["y"]], rtol=1e-13, atol=1e-14)
    assert kept["x"].shape == (steps // every,)
    assert seen["pair"].shape == (steps // every, 2)
    for k, (x, height, pair) in enumerate(rows):
        np.testing.assert_allclose([kept["x"][k], seen["height"][k], *seen["pair"][k]], [x, height, *pair], atol=1e-13)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_a_roll_of_many_equals_rolls_of_one_bit_for_bit(lanes):
    angles = np.linspace(0.01, 0.3, 11)
    one = trace.compile(turn, START, 0.1, cache=None)
    many = trace.compile(turn, START, 0.1, target="batch", lanes=lanes, cache=None)
    state, (kept, seen) = many.roll(10, START, angles, every=2)
    assert seen["pair"].shape == (11, 5, 2)
    for r, angle in enumerate(angles):
        alone, (own, looked) = one.roll(10, START, float(angle), every=2)
        assert state["x"][r] == alone["x"]
        assert (kept["y"][r] == own["y"]).all()
        assert (seen["pair"][r] == looked["pair"]).all()


def test_what_cannot_be_fed_back_is_refused():
    f = trace.compile(lambda x: x[:2], np.ones(3), cache=None)
    with pytest.raises(InputError, match="feed its result back"):
        f.roll(3, np.ones(3))
    g = trace.compile(turn, START, 0.1, cache=None)
    with pytest.raises(InputError, match="at least 1"):
        g.roll(3, START, 0.1, every=0)

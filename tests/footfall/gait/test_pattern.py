"""Laws of the gait tables."""

import math

import numpy as np
import pytest

from footfall import gait
from footfall.errors import InputError
from footfall.gait.pattern import stance

TIMES = np.linspace(0.0, 7.3, 3001)


@pytest.mark.parametrize("name", gait.names())
def test_phases_repeat_after_a_period(name):
    g = gait.named(name)
    for t in TIMES[::100]:
        off = gait.clock_phase(g, t + g.period) - gait.clock_phase(g, t)
        assert np.abs(off - np.round(off)).max() < 1e-12


@pytest.mark.parametrize("name", gait.names())
def test_part_of_the_time_on_the_ground_is_the_duty(name):
    g = gait.named(name)
    times = (np.arange(4000) + 0.5) * g.period / 4000
    down = np.array([stance(g, gait.clock_phase(g, t)) for t in times])
    assert np.abs(down.mean(axis=0) - g.duty).max() < 1e-3


@pytest.mark.parametrize(
    ("name", "together"),
    [
        ("trot", [("LF", "RH"), ("RF", "LH")]),
        ("pace", [("LF", "LH"), ("RF", "RH")]),
        ("bound", [("LF", "RF"), ("LH", "RH")]),
        ("pronk", [("LF", "RF"), ("LF", "LH"), ("LF", "RH")]),
        ("canter", [("RF", "LH")]),
    ],
)
def test_pairs_of_legs_move_together(name, together):
    g = gait.named(name)
    for t in TIMES[::50]:
        phase = gait.clock_phase(g, t)
        for a, b in together:
            assert phase[gait.LEGS.index(a)] == phase[gait.LEGS.index(b)]


def test_walk_sets_its_feet_down_in_lateral_sequence():
    order = sorted(gait.LEGS, key=lambda leg: gait.walk().delays[gait.LEGS.index(leg)])
    assert order == ["LF", "RH", "RF", "LH"]


def test_walk_keeps_three_feet_down():
    g = gait.walk()
    assert min(stance(g, gait.clock_phase(g, t)).sum() for t in TIMES) >= 3


def test_speed_is_stride_over_stance_time():
    g = gait.trot(period=0.5, stride=0.1, duty=0.5, height=0.05)
    assert math.isclose(g.speed, 0.4)
    assert g.half_stride == 0.05
    assert g.frequency == 2.0


def test_there_are_ten_gaits_and_each_names_its_source():
    assert len(gait.names()) == 10
    assert all("Rotenberg" in p.source for name, p in gait.PATTERNS.items() if name != "half_bound")  # which is chosen
    assert "chosen" in gait.PATTERNS["half_bound"].source
    for name in gait.names():
        assert getattr(gait, name)(stride=0.02).stride == 0.02


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"duty": 0.0}, "duty of the gait 'trot' must be between 0 and 1, got 0.0"),
        ({"duty": 1.0}, "duty"),
        ({"duty": math.nan}, "duty"),
        ({"period": 0.0}, "period of the gait 'trot' must be positive"),
        ({"period": math.inf}, "period"),
        ({"height": -0.01}, "height of the gait 'trot' must be 0 or more, got -0.01"),
        ({"hip_height": -0.3}, "hip_height"),
        ({"hip_height": math.nan}, "hip_height"),
        ({"depth": -1e-3}, "depth"),
        ({"ramp": -1}, "ramp"),
        ({"stride": math.nan}, "stride"),
        ({"stride": "long"}, "stride"),
        ({"delays": (0, 0.5, 0.5)}, "LF, RF, LH, RH"),
        ({"delays": (0, 0.5, 0.5, math.nan)}, "LF, RF, LH, RH"),
        ({"knees": 0}, "knees"),
        ({"knees": (1, 1)}, "knees"),
        ({"strid": 0.1}, "did you mean 'stride'"),
    ],
)
def test_a_bad_number_is_refused_by_name(changes, said):
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        gait.trot(**changes)


def test_an_unknown_gait_lists_the_known():
    with pytest.raises(InputError, match=r"unknown gait 'trott' \(did you mean 'trot'\?\): choose from walk, amble"):
        gait.named("trott")


def test_delays_wrap_into_one_cycle():
    assert gait.trot(delays=(0, -0.5, 1.5, 2.0)).delays == (0.0, 0.5, 0.5, 0.0)

"""Real time by an absolute clock, moved by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.errors import InputError
from footfall.hardware.clock import RealTime
from footfall.hardware.connection import Watchdog


class Hand:
    """A wall clock that stands still until somebody works or sleeps."""

    def __init__(self):
        self.time = 100.0

    def read(self):
        return self.time

    def work(self, seconds):
        self.time += seconds


def clock(hand, **options):
    return RealTime(period=0.002, read=hand.read, sleep=hand.work, **options)


def test_ticks_come_at_multiples_of_the_period_whatever_each_took():
    hand = Hand()
    real = clock(hand)
    for took in (0.0001, 0.0019, 0.0, 0.0012):
        hand.work(took)
        assert real.wait() == 1
    assert hand.time == pytest.approx(100.0 + 4 * 0.002)
    assert real.report()["overruns"] == 0


def test_late_tick_is_made_up_for_and_moves_no_other():
    hand = Hand()
    real = clock(hand)
    hand.work(0.0075)
    assert [real.wait() for _ in range(5)] == [1] * 5
    assert hand.time == pytest.approx(100.0 + 5 * 0.002)
    report = real.report(limit=0.004)
    assert (report["overruns"], report["late"], report["skipped"]) == (2, 1, 0)


@given(st.lists(st.floats(0.0, 0.3), min_size=1, max_size=60))
def test_lag_never_grows_beyond_what_is_made_up_for(works):
    hand = Hand()
    real = clock(hand, patience=0.01)
    passed = 0
    for took in works:
        hand.work(took)
        passed += real.wait()
        assert real.behind() <= 0.01 - 0.002 + 1e-9
        assert passed * 0.002 == pytest.approx(hand.time - 100.0, abs=0.01 + 0.002)  # no time is lost or made


def test_slow_machine_is_told_by_counts():
    hand = Hand()
    real = clock(hand, patience=0.01)
    for _ in range(100):
        hand.work(0.005)
        real.wait()
    report = real.report()
    assert report["skipped"] > 100
    assert report["late_share"] > 0.3
    assert report["jitter"]["p100"] < 0.02


@pytest.mark.parametrize(("work", "share"), [(0.0019, 0.0), (0.0039, 0.48), (0.006, 0.66), (0.0101, 0.8)])
def test_tick_that_was_skipped_counts_as_late(work, share):
    """With w of work a tick of 2 ms, only 2 ms / w of the ticks that are due can come."""
    hand = Hand()
    real, passed = clock(hand, patience=0.002), 0
    while hand.time < 110.0:
        passed += real.wait()
        hand.work(work)
    report = real.report()
    assert report["ticks"] + report["skipped"] == passed == pytest.approx(5000, abs=10)
    assert report["late_share"] == pytest.approx((report["late"] + report["skipped"]) / passed)
    assert report["late_share"] >= 1.0 - 0.002 / max(work, 0.002) - 0.01
    assert report["late_share"] >= share


def test_single_stalls_cost_the_ticks_that_they_covered():
    hand = Hand()
    real = clock(hand, patience=0.002)
    for k in range(1, 5001):
        real.wait()
        if k % 250 == 0:
            hand.work(0.2)
    report = real.report()
    assert report["skipped"] == pytest.approx(19 * 99, abs=40)
    assert report["late_share"] == pytest.approx(0.28, abs=0.02)


def test_period_must_be_positive():
    for period in (0.0, -1.0, np.nan, "x"):
        with pytest.raises(InputError):
            RealTime(period=period)


def test_watchdog_barks_once_a_silence():
    dog = Watchdog(0.05)
    assert dog.starved(0.0)
    dog.feed(1.0)
    assert not dog.starved(1.049)
    assert dog.starved(1.06)
    assert dog.starved(2.0)
    dog.feed(2.1)
    assert dog.starved(3.0)
    assert dog.barked == 3

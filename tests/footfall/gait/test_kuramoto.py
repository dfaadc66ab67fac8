"""Laws of the phase oscillators."""

import math

import numpy as np
import pytest

from footfall import gait
from footfall.errors import InputError
from footfall.gait import Kuramoto
from nptrace import compile as compiled


@pytest.mark.parametrize("name", gait.names())
def test_oscillators_lock_into_every_gait_from_random_phases(name):
    oscillators = Kuramoto(gait.named(name).delays, frequency=1.5, coupling=4.0)
    # all starts at once: a column each
    phase = np.random.default_rng(1).uniform(size=(4, 20))
    for _ in range(6000):
        cycles = phase + 1e-3 * oscillators.rates(phase)
        phase = cycles - np.floor(cycles)
    worst = max(np.abs(oscillators.error(column)).max() for column in phase.T)
    assert worst < 1e-13


@pytest.mark.parametrize("name", gait.names())
def test_locked_oscillators_keep_the_clock(name):
    g = gait.named(name)
    oscillators = Kuramoto.of(g)
    phase = oscillators.start()
    for k in range(2000):
        off = phase - gait.clock_phase(g, k * 1e-3)
        assert np.abs(off - np.round(off)).max() < 1e-12
        phase = oscillators.advance(phase, 1e-3)


def test_coupling_takes_nothing_from_the_mean_frequency():
    oscillators = Kuramoto.of(gait.walk())
    phase = np.random.default_rng(2).uniform(size=4)
    assert math.isclose(oscillators.rates(phase).mean(), oscillators.frequency)


def test_uncoupled_oscillators_keep_their_distance():
    oscillators = Kuramoto(gait.trot().delays, 2.0, coupling=0.0)
    assert np.all(oscillators.rates(np.array([0.1, 0.2, 0.3, 0.4])) == 2.0)


def test_compiled_oscillators_are_the_numpy_ones():
    oscillators = Kuramoto.of(gait.amble())
    phase = np.random.default_rng(3).uniform(size=4)
    fast = compiled(lambda p: oscillators.advance(p, 1e-3), phase, target="interpret")
    assert np.abs(fast(phase) - oscillators.advance(phase, 1e-3)).max() < 1e-14


@pytest.mark.parametrize("bad", [{"frequency": math.nan}, {"frequency": 1.0, "coupling": -1.0}])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(InputError, match="oscillators"):
        Kuramoto(delays=(0.0, 0.5), **bad)

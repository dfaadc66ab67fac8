"""Laws of the Hopf oscillators and of Rulkov's maps, and what was measured of them."""

import math

import numpy as np
import pytest

from footfall import gait
from footfall.errors import InputError
from footfall.gait.oscillators.phase_equations import Hopf, Kuramoto, PolarHopf, touchdown_reset
from footfall.gait.oscillators.rulkov import Rulkov, diffusive
from nptrace import compile as compiled

STARTS = 20


def phase_error(g, phase):
    """Distance of every leg from its place after the first leg [cycles], worst leg of every start."""
    off = phase - phase[0] + np.array(g.delays)[:, None]
    return np.abs(off - np.round(off)).max(axis=0)


def settled(oscillators, state, seconds=7.0, dt=1e-3):
    for _ in range(round(seconds / dt)):
        state = oscillators.advance(state, dt)
    return state


@pytest.mark.parametrize("name", ["trot", "pace", "bound"])
def test_cartesian_hopf_oscillators_lock_from_random_starts(name):
    g = gait.named(name)
    oscillators = Hopf.of(g)
    state = settled(oscillators, np.random.default_rng(0).normal(size=(2, 4, STARTS)))
    assert phase_error(g, oscillators.phase(state)).max() < 0.01


def test_cartesian_hopf_walk_does_not_lock_from_every_start():
    g = gait.walk()
    oscillators = Hopf.of(g)
    state = settled(oscillators, np.random.default_rng(0).normal(size=(2, 4, STARTS)))
    assert phase_error(g, oscillators.phase(state)).max() > 0.05


@pytest.mark.parametrize("name", ["trot", "pace", "bound", "pronk"])
def test_polar_hopf_oscillators_lock_from_random_starts(name):
    g = gait.named(name)
    oscillators = PolarHopf.of(g)
    state = settled(oscillators, oscillators.start(np.random.default_rng(1).uniform(size=(4, STARTS))))
    assert phase_error(g, oscillators.phase(state)).max() < 0.02


@pytest.mark.parametrize("kind", [Hopf, PolarHopf])
def test_hopf_amplitude_returns_to_its_limit_cycle(kind):
    oscillators = kind.of(gait.trot())
    state = settled(oscillators, 0.3 * oscillators.start(np.array([0.1, 0.6, 0.6, 0.1])), 1.0)
    radius = np.hypot(*state) if kind is Hopf else state[0]
    assert np.abs(radius - 1.0).max() < 0.1


@pytest.mark.parametrize("kind", [Hopf, PolarHopf])
@pytest.mark.parametrize("duty", [0.4, 0.5, 0.7])
def test_part_of_the_time_in_stance_is_the_duty(kind, duty):
    oscillators = kind.of(gait.pronk(duty=duty) if kind is PolarHopf else gait.trot(duty=duty))
    state = settled(oscillators, oscillators.start(np.array([0.0, 0.5, 0.5, 0.0])), 1.0)
    down = []
    for _ in range(2000):
        state = oscillators.advance(state, 1e-3)
        down.append(oscillators.phase(state) < duty)
    assert np.abs(np.mean(down, axis=0) - duty).max() < 0.05


@pytest.mark.parametrize("kind", [Hopf, PolarHopf])
def test_phase_of_a_start_is_the_phase_given(kind):
    oscillators = kind.of(gait.trot(duty=0.6))
    phase = np.array([0.05, 0.3, 0.61, 0.97])
    assert np.abs(oscillators.phase(oscillators.start(phase)) - phase).max() < 1e-12


def test_gait_changes_smoothly_when_the_delays_do():
    trot, walk = gait.trot(), gait.walk()
    oscillators = Kuramoto.of(trot)
    phase, last = oscillators.start(), None
    for k in range(6000):
        blend = min(k / 2000, 1.0)
        delays = [(1 - blend) * a + blend * b for a, b in zip(trot.delays, walk.delays)]
        before = phase
        phase = oscillators.advance(phase, 1e-3, delays, frequency=1.0)
        step = phase - before
        last = step - np.round(step)
        assert np.all(last > 0)  # no leg ever runs backwards
    assert np.abs(Kuramoto.of(walk).error(phase)).max() < 1e-9


def test_touchdown_in_late_swing_begins_the_stance():
    phase = np.array([0.2, 0.55, 0.9, 0.9])
    contact = np.array([1.0, 1.0, 1.0, 0.0])
    assert np.all(touchdown_reset(phase, 0.5, contact) == [0.2, 0.55, 0.0, 0.9])


@pytest.mark.parametrize("kind", [Hopf, PolarHopf])
def test_compiled_hopf_oscillators_are_the_numpy_ones(kind):
    oscillators = kind.of(gait.trot())
    state = oscillators.start(np.array([0.1, 0.4, 0.55, 0.8]))
    fast = compiled(lambda s: oscillators.advance(s, 1e-3), state, target="interpret")
    assert np.abs(fast(state) - oscillators.advance(state, 1e-3)).max() < 1e-12


def test_hopf_oscillators_name_the_gaits_they_know():
    with pytest.raises(InputError, match="trot, pace, bound, walk"):
        Hopf.of(gait.canter())


def cycle(signal):
    """Steps between upward crossings of the mean, half the swing apart at least."""
    mean, swing = signal.mean(), np.ptp(signal)
    crossings, armed = [], False
    for k, value in enumerate(signal):
        if value < mean - 0.25 * swing:
            armed = True
        elif armed and value > mean:
            crossings.append(k)
            armed = False
    return np.diff(crossings).mean()


def orbit(neuron, steps, state):
    out = np.empty((steps, 2))
    for k in range(steps):
        state = neuron.step(state)
        out[k] = state[0, 0], state[1, 0]
    return out


@pytest.mark.parametrize(("alpha", "period"), [(4.1, 357), (4.3, 183), (4.5, 134)])
def test_chaotic_rulkov_bursts_at_the_measured_period(alpha, period):
    neuron = Rulkov(alpha)
    fast = orbit(neuron, 40000, neuron.start(np.array([-1.0]), np.array([-2.9])))[4000:, 0]
    # a burst begins after a silence of 20 steps or more; chaos makes "the" period a matter of that choice
    spikes = np.flatnonzero(fast > -0.5)
    bursts = np.count_nonzero(np.diff(spikes) > 20)
    assert math.isclose(len(fast) / bursts, period, rel_tol=0.2)


@pytest.mark.parametrize(("alpha", "sigma", "interval"), [(4.0, 0.01, 190), (6.0, -0.1, 331)])
def test_regular_rulkov_fires_at_the_measured_interval(alpha, sigma, interval):
    neuron = Rulkov(alpha, sigma, chaotic=False)
    slow = orbit(neuron, 30000, neuron.start(np.array([-1.0]), np.array([-3.0])))[4000:, 1]
    assert math.isclose(cycle(slow), interval, rel_tol=0.1)


def test_regular_rulkov_rests_below_its_threshold():
    neuron = Rulkov(4.0, -0.01, chaotic=False)
    fast = orbit(neuron, 20000, neuron.start(np.array([-1.0]), np.array([-3.0])))[10000:, 0]
    assert np.ptp(fast) < 1e-6


def test_electrically_coupled_neurons_conserve_their_sum_of_drives():
    x = np.random.default_rng(4).normal(size=4)
    strengths = 0.05 * (np.ones((4, 4)) - np.eye(4))
    assert abs(diffusive(x, strengths).sum()) < 1e-14
    assert np.abs(diffusive(np.ones(4), strengths)).max() < 1e-15


def test_bad_maps_are_refused():
    with pytest.raises(InputError, match="Rulkov"):
        Rulkov(mu=0.0)
    with pytest.raises(InputError, match="Rulkov"):
        Rulkov(alpha=math.nan)

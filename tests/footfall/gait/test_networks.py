"""Laws of networks of oscillators: whichever paces a gait, legs take its delays, duty and period, and feet its beat."""

import numpy as np
import pytest

from footfall import gait
from footfall.errors import InputError
from footfall.gait.oscillators.networks import NAMES, GaitTiming, Network, network_of
from footfall.gait.transition import Transition
from nptrace import compile as compiled

DT = 1e-3


def run(network, beat, seconds, state=None):
    """Phases of every tick; ``beat`` may be a function of the time."""
    at = beat if callable(beat) else lambda t: beat
    state, out = network.start(at(0.0)) if state is None else state, []
    for k in range(round(seconds / DT)):
        state = network.advance(state, DT, at(k * DT))
        out.append(network.phase(state, at(k * DT)))
    return np.array(out), state


def off_place(phase, delays):
    off = phase - phase[..., :1] + np.array(delays) - delays[0]
    return np.abs(off - np.round(off))


def onsets(phase):
    return [np.flatnonzero(np.diff(phase[:, leg]) < -0.5) for leg in range(phase.shape[1])]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "made", [gait.walk(period=0.9, duty=0.8), gait.trot(period=0.4, duty=0.55), gait.amble()], ids=lambda g: g.name
)
def test_legs_take_the_delays_duty_and_period_of_a_gait(name, made):
    phase, _ = run(network_of(name, 4.0), GaitTiming.of(made), 5.0)
    steady = phase[1500:]
    assert off_place(steady, made.delays).max() < 0.06
    for leg, begins in enumerate(onsets(steady)):
        assert DT * np.diff(begins).mean() == pytest.approx(made.period, rel=0.07)
        whole = steady[begins[0] : begins[-1], leg]
        assert np.mean(whole < made.duty) == pytest.approx(made.duty, abs=0.04)


@pytest.mark.parametrize("name", NAMES)
def test_a_disturbed_network_finds_its_gait_again(name):
    made = gait.walk(period=0.7, duty=0.75)
    beat, network = GaitTiming.of(made), network_of(name, 4.0)
    elsewhere = network.start(GaitTiming(np.random.default_rng(3).uniform(size=4), made.duty, made.period))
    phase, _ = run(network, beat, 8.0, elsewhere)
    assert off_place(phase[0], made.delays).max() > 0.1
    assert off_place(phase[-1500:], made.delays).max() < 0.06


@pytest.mark.parametrize("name", NAMES)
def test_a_change_of_gait_ends_in_the_second_and_no_leg_runs_backwards(name):
    change = Transition(gait.walk(period=0.8), gait.trot(period=0.45), 1.0, 2.0)
    phase, _ = run(network_of(name, 4.0), change.timing, 8.0)
    turns = np.diff(phase, axis=0)
    assert (turns - np.round(turns)).min() > -1e-12
    assert off_place(phase[-1000:], change.second.delays).max() < 0.06
    assert DT * np.diff(onsets(phase[-2000:])[0]).mean() == pytest.approx(0.45, rel=0.07)


@pytest.mark.parametrize("name", NAMES)
def test_a_foot_that_lands_late_in_its_swing_stands_at_once_and_no_other(name):
    made = gait.trot(period=0.5, duty=0.5)
    beat, network = GaitTiming.of(made), network_of(name, 4.0)
    state = network.start(GaitTiming((0.8, 0.4, 0.1, 0.05), made.duty, made.period))  # phases 0.2, 0.6, 0.9, 0.95
    before = network.phase(state, beat)
    after = network.phase(network.touchdown(state, np.array([1.0, 1.0, 1.0, 0.0]), beat), beat)
    np.testing.assert_allclose(after[[0, 1, 3]], before[[0, 1, 3]], atol=1e-12)
    assert after[2] == pytest.approx(0.0, abs=1e-9)
    phase, _ = run(network, beat, 0.1, network.touchdown(state, np.array([0.0, 0.0, 1.0, 0.0]), beat))
    assert (phase[:, 2] < made.duty).all()  # and stays down


def test_legs_of_bursting_neurons_stand_and_those_of_silent_ones_swing():
    made = gait.walk(period=1.0, duty=0.7)
    beat, network = GaitTiming.of(made), network_of("rulkov", 4.0)
    _, state = run(network, beat, 2.0)
    agree = []
    for _ in range(3000):
        state = network.advance(state, DT, beat)
        agree.append(network.bursting(state) == (network.phase(state, beat) < made.duty))
    assert np.mean(agree) > 0.9


@pytest.mark.parametrize("name", NAMES)
def test_a_compiled_network_is_the_numpy_one(name):
    beat, network = GaitTiming.of(gait.walk()), network_of(name, 4.0)
    state = network.start(beat)
    fast = compiled(lambda s: network.advance(s, DT, beat), state, target="interpret")
    for _ in range(50):
        np.testing.assert_allclose(fast(state), network.advance(state, DT, beat), atol=1e-12)
        state = network.advance(state, DT, beat)


def test_a_network_of_ones_own_fits_the_seam_and_what_is_none_is_refused():
    class Clocks:
        def start(self, beat):
            return beat.first_phase

        def phase(self, state, beat):
            return state

        def advance(self, state, dt, beat):
            return (state + dt / beat.period) % 1.0

        def touchdown(self, state, contact, beat):
            return state

    assert isinstance(Clocks(), Network)
    assert network_of(Clocks(), 1.0).start(GaitTiming.of(gait.trot())).shape == (4,)
    for wrong in ("vanderpol", 3.0, Clocks):
        with pytest.raises(InputError, match="oscillator"):
            network_of(wrong, 4.0)

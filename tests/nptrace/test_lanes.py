"""The lane width is measured once, remembered, and can be dictated."""

import numpy as np
import pytest

import nptrace as trace
from footfall.errors import InputError
from nptrace.runtime import lanes, machine
from nptrace.runtime.cache import Cache

F64, F32 = np.dtype(np.float64), np.dtype(np.float32)


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    monkeypatch.setattr(lanes, "_remembered", {})
    monkeypatch.delenv("NPTRACE_LANES", raising=False)


def test_candidates_are_the_native_vector_its_half_and_its_double():
    host = machine.Host("x86_64-unknown-linux-gnu", "generic", "+avx,+avx512f")
    assert lanes.candidates(host, F64) == (4, 8, 16)
    assert lanes.candidates(host.limited("-avx512f"), F32) == (4, 8, 16)
    assert lanes.candidates(machine.Host("aarch64-apple-darwin", "apple-m1", ""), F64) == (1, 2, 4)


def test_the_measured_width_is_remembered_on_disk(tmp_path, monkeypatch):
    host, store = machine.host(), Cache(tmp_path)
    width = lanes.choose(host, F64, store, 1)
    assert width in lanes.candidates(host, F64)
    monkeypatch.setattr(lanes, "_remembered", {})
    monkeypatch.setattr(lanes, "measure", None)
    assert lanes.choose(host, F64, store, 1) == width


def test_a_clear_winner_wins_and_noise_does_not(monkeypatch):
    host = machine.Host("x86_64-unknown-linux-gnu", "generic", "+avx,+avx512f")
    monkeypatch.setattr(lanes, "measure", lambda *_: {4: 0.99, 8: 1.0, 16: 1.1})
    assert lanes.choose(host, F64, None, 1) == 8
    monkeypatch.setattr(lanes, "_remembered", {})
    monkeypatch.setattr(lanes, "measure", lambda *_: {4: 0.7, 8: 1.0, 16: 1.1})
    assert lanes.choose(host, F64, None, 1) == 4


def test_a_long_program_takes_no_width_beyond_the_native_one(monkeypatch):
    host = machine.Host("x86_64-unknown-linux-gnu", "generic", "+avx,+avx512f")
    for fastest, expected in ((16, 8), (8, 8), (4, 4)):
        monkeypatch.setattr(lanes, "_remembered", {})
        monkeypatch.setattr(lanes, "measure", lambda *_, n=fastest: {4: 1.0, 8: 1.0, 16: 1.0} | {n: 0.5})
        assert lanes.choose(host, F64, None, lanes.LONG - 1) == fastest
        assert lanes.choose(host, F64, None, lanes.LONG) == expected


def test_an_entry_that_makes_no_sense_is_measured_again(tmp_path, monkeypatch):
    store = Cache(tmp_path)
    lanes.choose(machine.host(), F64, store, 1)
    (path,) = tmp_path.iterdir()
    store.put(path.stem, b"", {"lanes": 3})
    monkeypatch.setattr(lanes, "_remembered", {})
    assert lanes.choose(machine.host(), F64, store, 1) in lanes.WIDTHS


def test_environment_and_argument_dictate(monkeypatch):
    monkeypatch.setenv("NPTRACE_LANES", "2")
    x = np.ones(2)
    assert trace.compile(np.sin, x, target="batch", cache=None).lanes == 2
    assert trace.compile(np.sin, x, target="batch", cache=None, lanes=16).lanes == 16


@pytest.mark.parametrize("wrong", [0, 3, 64, "8", 2.5, True])
def test_an_illegal_width_is_refused_with_the_choices(wrong):
    with pytest.raises(InputError, match="1, 2, 4, 8, 16, 32"):
        trace.compile(np.sin, np.ones(2), target="batch", lanes=wrong, cache=None)


def test_an_illegal_environment_is_refused(monkeypatch):
    monkeypatch.setenv("NPTRACE_LANES", "many")
    with pytest.raises(InputError, match="NPTRACE_LANES='many'"):
        trace.compile(np.sin, np.ones(2), target="batch", cache=None)

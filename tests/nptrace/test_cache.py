"""The disk cache may fail at any time without harm."""

import multiprocessing
import os

import numpy as np
import pytest

import nptrace as trace
from nptrace.frontend import tracer
from nptrace.runtime import cache as storage
from nptrace.runtime import compiled
from nptrace.runtime.cache import SUFFIX, Cache, default_folder, digest


def wave(x):
    return np.sin(x) * 2


X = np.array([0.1, 0.2, 0.3])


def entries(folder):
    return sorted(p for p in folder.iterdir() if p.suffix == SUFFIX)


def test_what_is_put_is_what_is_got(tmp_path):
    store = Cache(tmp_path)
    assert store.get("a") is None
    assert store.put("a", b"code", {"shapes": [[3], []], "name": "f"})
    entry = store.get("a")
    assert (entry.code, entry.meta) == (b"code", {"shapes": [[3], []], "name": "f"})


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign", "words"])
def test_a_damaged_entry_is_rebuilt(tmp_path, damage):
    expected = trace.compile(wave, X, cache=tmp_path)(X)
    (path,) = entries(tmp_path)
    good = path.read_bytes()
    bad = {
        "flip": good[:-50] + bytes([good[-50] ^ 1]) + good[-49:],
        "cut": good[:-100],
        "empty": b"",
        "foreign": b"\x80\x04pickle" + good,
        "words": good.replace(b"workspace", b"workspice"),
    }[damage]
    path.write_bytes(bad)
    assert Cache(tmp_path).get(path.stem) is None
    path.write_bytes(bad)
    assert np.array_equal(trace.compile(wave, X, cache=tmp_path)(X), expected)
    assert path.read_bytes() == good


def test_a_second_compilation_comes_from_the_cache(tmp_path, monkeypatch):
    first = trace.compile(wave, X, cache=tmp_path)(X)
    monkeypatch.setattr(compiled.machine, "object_code", None)
    assert np.array_equal(trace.compile(wave, X, cache=tmp_path)(X), first)


@pytest.mark.parametrize("target", ["native", "batch"])
def test_a_key_makes_a_start_without_a_trace(tmp_path, monkeypatch, target):
    def nest(state, gains):
        return {"next": (state["q"] + gains, state["v"]), "power": np.sum(state["q"] * gains)}

    state, gains = {"q": np.ones(2), "v": np.zeros(3)}, np.array([0.5, 2.0])
    first = trace.compile(
        nest, state, gains, target=target, lanes=4 if target == "batch" else None, cache=tmp_path, key="nest 1"
    )
    given = state if target == "native" else {"q": np.ones((5, 2)), "v": np.zeros((5, 3))}
    expected = first(given, gains)
    monkeypatch.setattr(tracer, "trace", None)
    monkeypatch.setattr(tracer, "verify", None)
    again = trace.compile(
        nest, state, gains, target=target, lanes=4 if target == "batch" else None, cache=tmp_path, key="nest 1"
    )
    got = again(given, gains)
    assert list(got) == ["next", "power"]
    assert isinstance(got["next"], tuple)
    np.testing.assert_array_equal(got["next"][0], expected["next"][0])
    np.testing.assert_array_equal(got["power"], expected["power"])
    assert again.statistics == first.statistics
    with pytest.raises(Exception, match="'w'"):
        again({"q": np.ones(2), "w": np.zeros(3)}, gains)


def test_another_key_target_or_precision_is_another_entry(tmp_path):
    trace.compile(wave, X, cache=tmp_path, key="one")
    assert compiled.load("one", cache=tmp_path) is not None
    assert compiled.load("two", cache=tmp_path) is None
    assert compiled.load("one", cache=tmp_path, dtype=np.float32) is None
    assert compiled.load("one", cache=tmp_path, target="batch", lanes=4) is None


def test_a_key_that_says_too_little_is_not_trusted(tmp_path):
    trace.compile(wave, X, cache=tmp_path, key="k")
    longer = np.ones(5)
    np.testing.assert_allclose(trace.compile(wave, longer, cache=tmp_path, key="k")(longer), wave(longer))
    f = trace.compile(lambda a, x: a["k"] * x, {"k": X}, X, cache=tmp_path, key="n")
    g = trace.compile(lambda a, x: a["m"] * x, {"m": X}, X, cache=tmp_path, key="n")
    np.testing.assert_allclose(f({"k": X}, X), g({"m": X}, X))


def test_a_loaded_function_traces_its_program_only_when_asked(tmp_path):
    trace.compile(wave, X, cache=tmp_path, key="k")
    again = trace.compile(wave, X, cache=tmp_path, key="k")
    assert again.program.operations() == {"sin": 3, "mul": 3}
    with pytest.raises(Exception, match="without its source"):
        compiled.load("k", cache=tmp_path).program  # noqa: B018


def test_a_damaged_keyed_entry_is_traced_again(tmp_path):
    trace.compile(wave, X, cache=tmp_path, key="k")
    for path in entries(tmp_path):
        path.write_bytes(path.read_bytes()[:-1])
    assert compiled.load("k", cache=tmp_path) is None
    np.testing.assert_allclose(trace.compile(wave, X, cache=tmp_path, key="k")(X), wave(X))


def test_a_folder_that_cannot_be_written_is_no_harm(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    np.testing.assert_allclose(trace.compile(wave, X, cache=blocked / "below")(X), wave(X))
    assert not Cache(blocked / "below").put("a", b"", {})


def test_meta_that_is_no_json_is_refused_quietly(tmp_path):
    assert not Cache(tmp_path).put("a", b"", {"x": np.ones(2)})
    assert list(tmp_path.iterdir()) == []


def test_the_least_recently_used_go_first(tmp_path):
    store = Cache(tmp_path, limit=2500)
    for k, age in (("a", 300), ("b", 200), ("c", 100)):
        store.put(k, bytes(600), {})
        os.utime(tmp_path / (k + SUFFIX), (1e9 - age, 1e9 - age))
    os.utime(tmp_path / ("a" + SUFFIX), (1e9 - 50, 1e9 - 50))
    store.put("d", bytes(1000), {})
    assert [p.stem for p in entries(tmp_path)] == ["a", "c", "d"]


def _hammer(folder):
    store = Cache(folder)
    for k in range(60):
        store.put(f"k{k % 3}", bytes([k % 3]) * 50_000, {"k": k % 3})
        entry = store.get(f"k{(k + 1) % 3}")
        assert entry is None or (entry.meta["k"] == (k + 1) % 3 and set(entry.code) == {(k + 1) % 3})
    return True


def test_parallel_processes_never_see_half_an_entry(tmp_path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert all(pool.map(_hammer, [tmp_path] * 3))
    assert len(entries(tmp_path)) == 3
    assert not list(tmp_path.glob("*.part"))


def test_the_folder_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("NPTRACE_CACHE", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own"
    monkeypatch.delenv("NPTRACE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "nptrace"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder().parts[-2:] == (".cache", "nptrace")


def test_a_digest_knows_where_its_parts_end():
    assert digest("ab", "c") != digest("a", "bc")
    assert storage.opened(None) is None
    assert storage.opened(False) is None

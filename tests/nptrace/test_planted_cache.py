"""Machine code that somebody else put into the cache is not run."""

import os
import stat
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import nptrace as trace
from nptrace.runtime import cache as storage
from nptrace.runtime.cache import SUFFIX, Cache, CacheWarning

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
X = np.array([0.1, 0.2, 0.3])
SOMEBODY = 54321  # a user that is not us


def honest(x):
    return np.sin(x) * 3


def planted(x):
    return np.sin(x) * 3 + 666


@pytest.fixture(autouse=True)
def unsaid(monkeypatch):
    monkeypatch.setattr(storage, "_refused", set())


@pytest.fixture
def bait(tmp_path):
    """(name, bytes) of an entry that a reader takes for ``honest`` and that runs ``planted``."""
    names = {}
    for function in (honest, planted):
        folder = tmp_path / function.__name__
        trace.compile(function, X, cache=folder)
        (names[function],) = folder.glob(f"*{SUFFIX}")
    return names[honest].name, names[planted].read_bytes()


def plant(folder, bait):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / bait[0]).write_bytes(bait[1])


def give_away(path, monkeypatch):
    """Make a path somebody else's, or, where only root may do that, us somebody else."""
    if os.geteuid() == 0:
        os.chown(path, SOMEBODY, SOMEBODY)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)


def test_the_bait_works_where_nothing_is_wrong_with_the_folder(tmp_path, bait):
    """Else the other tests would prove nothing."""
    plant(tmp_path / "own", bait)
    (tmp_path / "own").chmod(0o700)
    assert np.array_equal(trace.compile(honest, X, cache=tmp_path / "own")(X), planted(X))


@pytest.mark.parametrize("mode", [0o770, 0o775, 0o707, 0o1777])
def test_a_folder_that_others_may_write_is_not_used_and_it_is_said_once(tmp_path, bait, mode):
    shared = tmp_path / "shared"
    plant(shared, bait)
    shared.chmod(mode)
    with pytest.warns(CacheWarning, match="can be written by others"):
        assert np.array_equal(trace.compile(honest, X, cache=shared)(X), honest(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not Cache(shared).put("a", b"", {})
    assert [file.name for file in shared.iterdir()] == [bait[0]]


def test_a_folder_of_somebody_else_is_not_used(tmp_path, bait, monkeypatch):
    theirs = tmp_path / "theirs"
    plant(theirs, bait)
    theirs.chmod(0o755)
    give_away(theirs, monkeypatch)
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert Cache(theirs).get(Path(bait[0]).stem) is None


@pytest.mark.parametrize("how", ["owner", "mode", "link"])
def test_an_entry_that_others_wrote_or_could_write_is_not_run(tmp_path, bait, monkeypatch, how):
    own = tmp_path / "own"
    plant(own, bait)
    own.chmod(0o700)
    entry = own / bait[0]
    assert Cache(own).get(entry.stem) is not None
    if how == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root can give a file away")
        give_away(entry, monkeypatch)
    elif how == "mode":
        entry.chmod(0o666)
    else:
        entry.rename(tmp_path / "elsewhere")
        entry.symlink_to(tmp_path / "elsewhere")
    assert Cache(own).get(entry.stem) is None
    assert np.array_equal(trace.compile(honest, X, cache=own)(X), honest(X))


def test_the_folder_and_its_entries_are_made_for_their_user_alone(tmp_path):
    before = os.umask(0)
    try:
        store = Cache(tmp_path / "deep" / "cache")
        assert store.put("a", b"code", {})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "deep" / "cache").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "deep" / "cache" / f"a{SUFFIX}").stat().st_mode) == 0o600
    assert store.get("a").code == b"code"


def test_without_a_home_no_folder_that_can_be_guessed_is_read_or_written(tmp_path, bait, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    plant(tmp_path / "tmp" / "nptrace-cache", bait)
    for name in ("NPTRACE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert storage.default_folder() is None
    assert np.array_equal(trace.compile(honest, X, cache=True)(X), honest(X))
    assert not Cache().put("a", b"", {})
    assert [path.name for path in (tmp_path / "tmp").rglob(f"*{SUFFIX}")] == [bait[0]]

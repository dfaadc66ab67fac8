"""Sweeps of tests remember what they may run in a folder of their own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _own_state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

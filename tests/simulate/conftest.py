"""A recording that no simulation had to make, in memory and on disk."""

from pathlib import Path

import pytest
from made_up_trot import made_up_trot, written_in_chunks

from footfall.simulate.recording import Recording


@pytest.fixture(scope="module")
def rec() -> Recording:
    return made_up_trot(0.5)


@pytest.fixture
def saved(rec, tmp_path) -> Path:
    """A recording of 501 rows in chunks of 64."""
    return written_in_chunks(tmp_path / "run.mcap", rec)

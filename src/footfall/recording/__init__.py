"""Recordings: columns of a run, in memory, in MCAP files and as tables."""

from typing import TYPE_CHECKING

from nptrace.lazy import lazy_exports

if TYPE_CHECKING:
    from footfall.recording.comparison import Difference, Differences, compare_recordings
    from footfall.recording.recording import Recording
    from footfall.recording.recording_file import recover
    from footfall.recording.recording_writer import Event, RecordingError

__all__, __getattr__, __dir__ = lazy_exports(
    "footfall.recording",
    {
        "comparison": "Difference Differences compare_recordings",
        "recording": "Recording",
        "recording_file": "recover",
        "recording_writer": "Event RecordingError",
    },
)

"""MuJoCo and Pinocchio as outside referees, ``verify``, two recordings side by side. Referees load on first use."""

from footfall.compare.mujoco import MuJoCo
from footfall.compare.pinocchio import Pinocchio
from footfall.compare.recordings import Difference, Differences, compare_recordings
from footfall.compare.report import Check, Report
from footfall.compare.states import States, random_states
from footfall.compare.verify import verify

__all__ = [
    "Check", "Difference", "Differences", "MuJoCo", "Pinocchio", "Report", "States", "compare_recordings",
    "random_states", "verify",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)

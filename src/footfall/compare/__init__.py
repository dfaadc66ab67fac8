"""MuJoCo and Pinocchio as outside referees, and ``verify``. Neither is imported before it is asked for."""

from footfall.compare.mujoco import MuJoCo
from footfall.compare.pinocchio import Pinocchio
from footfall.compare.report import Check, Report
from footfall.compare.states import States, random_states
from footfall.compare.verify import verify

__all__ = ["Check", "MuJoCo", "Pinocchio", "Report", "States", "random_states", "verify"]


def __dir__() -> list[str]:
    return sorted(__all__)

"""Every formalism against every other, and against MuJoCo and Pinocchio. Those two load on first use."""

from footfall_lab.verify.pinocchio import Pinocchio
from footfall_lab.verify.report import Check, Report
from footfall_lab.verify.verify import verify

__all__ = ["Check", "Pinocchio", "Report", "verify"]


def __dir__() -> list[str]:
    return sorted(__all__)

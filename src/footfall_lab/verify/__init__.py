"""Comparison of all formalisms with each other and with MuJoCo and Pinocchio, which are loaded on first use."""

from footfall_lab.verify.pinocchio import Pinocchio
from footfall_lab.verify.report import Check, Report
from footfall_lab.verify.verify import verify

__all__ = ["Check", "Pinocchio", "Report", "verify"]


def __dir__() -> list[str]:
    return sorted(__all__)

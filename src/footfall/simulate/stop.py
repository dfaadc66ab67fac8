"""Why a run ended."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Stop:
    """Why a run ended early."""

    time: float
    kind: str  # fell, diverged, self_collision, error
    message: str

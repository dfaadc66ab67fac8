"""Detection of foot contacts: a threshold with hysteresis, and the agreement of two force measurements.

Forces are normal forces [N]. A foot is in contact above ``on`` and lifts below ``off``; between the two its state is
kept, so that noise does not make it chatter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float


def force_contact(
    force: Float[ndarray, "nf"], before: Float[ndarray, "nf"], on: float, off: float
) -> Float[ndarray, "nf"]:
    """Return 1 for feet in contact, 0 for others; ``before`` is the last result, which NaN does not change."""
    return np.where(force > on, 1.0, np.where(force < off, 0.0, before))


@dataclass(frozen=True)
class Agreement:
    """How long two detectors have disagreed about every foot, how long they have agreed since, and which was wrong."""

    apart: Float[ndarray, "nf"]  # [s]
    together: Float[ndarray, "nf"]  # [s]
    faulty: Float[ndarray, "nf"]  # 1: the first of the two is not trusted

    @staticmethod
    def at_start(feet: int) -> Agreement:
        return Agreement(np.zeros(feet), np.zeros(feet), np.zeros(feet))


def watch_agreement(
    first: Float[ndarray, "nf"],
    second: Float[ndarray, "nf"],
    dt: float,
    patience: float,
    trust: float,
    before: Agreement,
) -> Agreement:
    """Mark a foot's first detector faulty after ``patience`` [s] of disagreement, and good after ``trust`` [s] of
    agreement.

    ``trust`` must be longer than a stance or a swing: a sensor stuck at zero agrees with every swing.
    """
    differ = np.abs(first - second) > 0.5
    apart = np.where(differ, before.apart + dt, np.maximum(before.apart - dt, 0.0))
    together = np.where(differ, 0.0, before.together + dt)
    faulty = np.where(apart > patience, 1.0, np.where(together > trust, 0.0, before.faulty))
    return Agreement(np.where(faulty > 0.5, np.minimum(apart, patience), apart), together, faulty)

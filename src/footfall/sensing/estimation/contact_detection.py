"""Which feet touch the ground: a threshold with hysteresis, and whether two ways of measuring a force agree.

Forces are normal forces [N]. A foot comes down above ``on`` and lifts below ``off``; between the two it stays what it
was, so that noise does not make it chatter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray


def force_contact(
    force: Float[ndarray, "nf"], before: Float[ndarray, "nf"], on: float, off: float
) -> Float[ndarray, "nf"]:
    """1 for feet that stand, 0 for those in the air; ``before`` is the last answer, which NaN does not change."""
    return np.where(force > on, 1.0, np.where(force < off, 0.0, before))


@dataclass(frozen=True)
class Agreement:
    """How long two detectors have disagreed about every foot, and agreed since, and which of them was wrong."""

    apart: Float[ndarray, "nf"]  # [s]
    together: Float[ndarray, "nf"]  # [s]
    faulty: Float[ndarray, "nf"]  # 1: the first of the two is not to be trusted

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
    """A foot's first detector is faulty after ``patience`` [s] of disagreement, and good again after ``trust`` [s].

    ``trust`` must be longer than a stance or a swing: a sensor stuck at zero agrees with every swing.
    """
    differ = np.abs(first - second) > 0.5
    apart = np.where(differ, before.apart + dt, np.maximum(before.apart - dt, 0.0))
    together = np.where(differ, 0.0, before.together + dt)
    faulty = np.where(apart > patience, 1.0, np.where(together > trust, 0.0, before.faulty))
    return Agreement(np.where(faulty > 0.5, np.minimum(apart, patience), apart), together, faulty)

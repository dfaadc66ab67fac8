"""Estimation of the contact mode (which feet are in stance; the mechanism's topology of Yan et al. 2021).

This is a Bayes filter over all 2ⁿ modes. In each tick every foot may land or lift with a small probability; then every
mode is weighted by the readings of the feet and the IMU. A reading contributes its log-odds of contact, which are
bounded: no single sample decides, but some milliseconds of them do, which is the debouncing. The IMU contributes to
flight alone: a robot without contact is weightless.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace._types import Scalar
from nptrace.array_types import Float

_LEAST = 1e-9  # smallest probability of any mode: a filter that is certain cannot learn


def evidence(reading: Scalar, middle: float, scale: float, most: float) -> Scalar:
    """Return log-odds of contact: zero at ``middle``, one at ``scale`` beyond, at most ``most``; zero for NaN."""
    odds = np.clip((reading - middle) / scale, -most, most)
    return np.where(np.isfinite(odds), odds, 0.0)


def update_modes(
    belief: Float[ndarray, "modes"], foot_odds: Float[ndarray, "nf"], flight_odds: Scalar, change: float
) -> Float[ndarray, "modes"]:
    """Return the probabilities of all modes (in the order of ``dynamics.formalisms.modes.all_modes``) after a tick.

    foot_odds: log-odds that each foot is in contact; flight_odds: log-odds that none is; change: probability that a
    foot lands or lifts in a tick.
    """
    feet = len(foot_odds)
    for k in range(feet):
        paired = np.reshape(belief, (2**k, 2, -1))
        paired = (1.0 - change) * paired + change * np.stack([paired[:, 1], paired[:, 0]], axis=1)
        belief = np.reshape(paired, (2**feet,))
    odds = mode_table(feet) @ foot_odds + np.concatenate([np.stack([1.0 * flight_odds]), np.zeros(2**feet - 1)])
    weighed = belief * np.exp(odds - np.max(odds))
    weighed = weighed / np.sum(weighed) + _LEAST
    return weighed / np.sum(weighed)


def foot_probabilities(belief: Float[ndarray, "modes"], feet: int) -> Float[ndarray, "nf"]:
    """Return the probability of contact of every foot: the sum over the modes that contain it."""
    return mode_table(feet).T @ belief


def debounced(probability: Float[ndarray, "nf"], before: Float[ndarray, "nf"], sure: float) -> Float[ndarray, "nf"]:
    """Return 1 for a foot in contact: it changes once the filter is ``sure`` of the other state, a probability above
    one half.
    """
    return np.where(probability > sure, 1.0, np.where(probability < 1.0 - sure, 0.0, before))


def mode_score(belief: Float[ndarray, "modes"], contact: Float[ndarray, "nf"]) -> Scalar:
    """Return the probability of a mode."""
    same = 1.0 - np.abs(mode_table(len(contact)) - contact)
    return np.sum(belief * np.prod(same, axis=1))


def mode_index(contact: Float[ndarray, "nf"]) -> Scalar:
    """Return the index of a mode in the list of all modes: flight is 0, all feet the last."""
    weights = 2.0 ** np.arange(len(contact))[::-1]
    return np.sum(weights * contact)


def mode_table(feet: int) -> Float[ndarray, "modes nf"]:
    """Return all modes, one per row."""
    return np.array([[float(row >> (feet - 1 - k) & 1) for k in range(feet)] for row in range(2**feet)])

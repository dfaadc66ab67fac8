"""The history of a policy: its last observations, oldest first."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from nptrace._types import Scalar
from nptrace.array_types import Float


def append_history(
    past: Float[ndarray, "k size"], has_past: Scalar, now: Float[ndarray, "size"]
) -> Float[ndarray, "k size"]:
    """Append the present observation and drop the oldest; without a past, the present one fills the history."""
    before = np.where(has_past, past, np.zeros_like(past) + now)
    return np.concatenate([before[1:], now[None]])

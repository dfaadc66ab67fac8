"""The attainable accuracy, known only at run time, in double or single precision."""

from __future__ import annotations

import numpy as np

from nptrace._types import Scalar

SINGLE = 2e-5  # accuracy of single precision for numbers near 1


def reachable(tolerance: float, number: Scalar) -> Scalar:
    """Return the tolerance, or in single precision the attainable one; ``number`` is any value of the data.

    Detected by rounding: 1 + 1e-9 is 1 in single precision. A trace cannot fold this, since the number is unknown.
    """
    size = 1.0 + np.abs(number)
    return np.where((size + 1e-9 * size) - size > 0.0, tolerance, max(tolerance, SINGLE))

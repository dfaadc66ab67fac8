"""How exact a result can be: known only where the program runs, in double or in single precision."""

from __future__ import annotations

import numpy as np

from nptrace._types import Scalar

SINGLE = 2e-5  # what single precision reaches, of numbers near 1


def reachable(tolerance: float, number: Scalar) -> Scalar:
    """The tolerance, or what single precision reaches if this runs in it; ``number`` is any value of the data.

    Found by rounding: 1 + 1e-9 is 1 in single precision. No trace folds it away, since the number is not known.
    """
    size = 1.0 + np.abs(number)
    return np.where((size + 1e-9 * size) - size > 0.0, tolerance, max(tolerance, SINGLE))

"""Derivatives by differences, which those of a trace are held to."""

import numpy as np


def differences(function, arguments, k, step=1e-6):
    """d out / d argument k by central differences, of shape out.shape + argument.shape."""
    x = np.array(arguments[k], float)
    columns = []
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        high, low = (function(*arguments[:k], y, *arguments[k + 1 :]) for y in (up, down))
        columns.append((high - low) / (2 * step))
    out = np.shape(function(*arguments))
    return np.stack(columns, axis=-1).reshape(out + x.shape)

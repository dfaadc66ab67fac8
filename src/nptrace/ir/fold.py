"""Constant folding."""

import math

import numpy as np

from nptrace.ir.refusal import refusal


def fold_unary(op: str, x: float) -> float:
    """Return the value of an operation on a constant; raises for a constant outside its domain."""
    with np.errstate(all="ignore"):
        y = float(_RULES[op](x))
    if (math.isnan(y) and not math.isnan(x)) or (op == "log" and x == 0):
        raise refusal(f"{op} of the constant {x:g} in a traced function")
    return y


def fold_power(base: float, exponent: float) -> float:
    """Return base**exponent of constants, as NumPy does."""
    with np.errstate(all="ignore"):
        y = float(np.power(base, exponent))
    if (math.isnan(y) and not (math.isnan(base) or math.isnan(exponent))) or (base == 0 and exponent < 0):
        raise refusal(f"{base:g} to the power {exponent:g}, both constants, in a traced function")
    return y


def safe_scale(x: float) -> bool:
    """Return whether constant factors may be merged into x: overflow or underflow would change the result."""
    return 1e-290 < abs(x) < 1e290


_RULES = {
    "sqrt": np.sqrt,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "exp": np.exp,
    "abs": np.abs,
    "floor": np.floor,
}

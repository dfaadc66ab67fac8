"""Random expressions: the trace, interpreted, is the function on NumPy; its derivatives are dual."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from replaying import flat, pull, push, replay

from nptrace import lookup, repeat
from nptrace.frontend.tracer import trace

TABLE = np.sin(np.arange(10.0))
UNARY = {
    "neg": lambda a: -a,
    "sin": np.sin,
    "tanh": np.tanh,
    "abs": np.abs,
    "floor": np.floor,
    "square": np.square,
    "sqrt1": lambda a: np.sqrt(1 + a * a),
    "exp": lambda a: np.exp(-np.abs(a)),
    "log1p": lambda a: np.log1p(np.abs(a)),
    "arctan": np.arctan,
    "sign": np.sign,
    "flip": lambda a: a[::-1],
    "roll": lambda a: np.roll(a, 1),
    "cumsum": lambda a: 0.3 * np.cumsum(a),
    "fill": lambda a: _filled(a),
    "table": lambda a: lookup(TABLE, 3 * a),
    "loop": lambda a: repeat(3, lambda i, c: 0.5 * np.sin(c) + 0.1 * i * a, a),
    "clip": lambda a: np.clip(a, -0.5, 0.7),
    "power": lambda a: np.abs(a) ** 1.7,
    "rest": lambda a: a % 0.7,
    "mean": lambda a: a - np.mean(a),
}
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / (1 + b * b),
    "max": np.maximum,
    "min": np.minimum,
    "where": lambda a, b: np.where(a > b, a, 2 * b),
    "both": lambda a, b: np.where((a > 0) & ~(b > 0.2), a, b),
    "atan2": lambda a, b: np.arctan2(a, 1 + b * b),
    "hypot": np.hypot,
    "dot": lambda a, b: a * (a @ b) * 0.1,
    "cross": np.cross,
}


def _filled(a):
    out = np.zeros(3)
    out[1:], out[0] = a[:2], 0.5
    out[2] += a[0]
    return out


@st.composite
def programs(draw):
    steps = []
    for k in range(draw(st.integers(1, 12))):
        earlier = st.integers(0, k + 1)
        if draw(st.booleans()):
            steps.append((draw(st.sampled_from(sorted(UNARY))), draw(earlier)))
        else:
            steps.append((draw(st.sampled_from(sorted(BINARY))), draw(earlier), draw(earlier)))
    return steps


def run(steps, x, y):
    values = [x, y]
    for name, *at in steps:
        values.append((UNARY if len(at) == 1 else BINARY)[name](*(values[k] for k in at)))
    return values[-1], values[-2]


vectors = st.lists(st.floats(-3, 3, allow_subnormal=False), min_size=3, max_size=3).map(np.array)


def jumps_nearby(steps, x, y):
    """Whether rounding alone may change the result: a hair beside, the function is elsewhere."""
    here = flat(run(steps, x, y))
    beside = (flat(run(steps, x * (1 + s * 1e-12) + s * 1e-13, y * (1 - s * 1e-12) - s * 1e-13)) for s in (1, -1))
    return any(np.abs(b - here).max() > 1e-6 * max(1, np.abs(here).max()) for b in beside)


@settings(max_examples=150, deadline=None)
@given(programs(), vectors, vectors)
def test_a_random_program_traces_to_itself(steps, x, y):
    expected = flat(run(steps, x, y))
    if not np.isfinite(expected).all() or np.abs(expected).max() > 1e6 or jumps_nearby(steps, x, y):
        return
    got = replay(lambda x, y: run(steps, x, y), x, y)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * max(1, np.abs(expected).max()))


@settings(max_examples=80, deadline=None)
@given(programs(), vectors, vectors, st.integers(0, 1000))
def test_reverse_and_forward_derivatives_are_dual(steps, x, y, seed):
    random = np.random.default_rng(seed)
    traced = trace(lambda x, y: run(steps, x, y), x, y)
    z = np.concatenate([x, y])
    d, w = random.normal(size=len(z)), random.normal(size=len(traced.outputs))
    tangents, pulled = push(traced, z, d)[1], pull(traced, z, w)
    if not (np.isfinite(tangents).all() and np.isfinite(pulled).all()):
        return  # hypot and arctan2 have no slope at zero
    scale = max(1, np.abs(tangents * w).max(), np.abs(pulled * d).max())
    np.testing.assert_allclose(pulled @ d, w @ tangents, rtol=1e-10, atol=1e-10 * scale)

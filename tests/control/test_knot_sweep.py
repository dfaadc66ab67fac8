"""The sweep over knots as they are expanded finds what the sweep over whole matrices finds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from footfall.control.optimal.horizon import KnotsModel
from footfall.control.optimal.knot import KnotTerms
from footfall.control.optimal.knot_sweep import swept
from footfall.control.optimal.sweep import backward

NV, M, N = 10, 4, 5  # four joints behind a base
MODEL = SimpleNamespace(robot=SimpleNamespace(nv=NV, nj=M))


def knots(seed: int, effort: float = 0.1) -> KnotsModel:
    random = np.random.default_rng(seed)
    root = random.normal(size=(N + 1, NV, NV))
    friction = random.normal(size=(N + 1, 4, M + 2 * NV))
    friction[-1] = 0.0  # no foot of the last state is said to stand
    terms = KnotTerms(
        0.5 * random.normal(size=(N + 1, M + 2 * NV, 6 + NV)), random.normal(size=(N + 1, M + 2 * NV)),
        root @ root.swapaxes(1, 2), np.full((N + 1, M), effort), friction,
    )  # fmt: skip
    goals = SimpleNamespace(
        weights=random.uniform(0.1, 1.0, (N + 1, 2 * NV)), interval=random.uniform(0.01, 0.1, N + 1)
    )
    size = M + 2 * NV + 1
    room = np.zeros((N, size, 2 * NV + 1)), np.zeros((N + 1, size, size))

    def sweep(*given):
        with np.errstate(invalid="ignore"):
            return swept(MODEL, *given)

    return KnotsModel(terms, goals, NV, sweep, *room)


@pytest.mark.parametrize("seed", range(5))
def test_both_sweeps_make_one_plan(seed):
    model, free = knots(seed), np.full((N, M), np.inf)
    ours, whole = model.plan(-free, free, 0.0), backward(model.assembled, -free, free, 0.0)
    np.testing.assert_allclose(ours.gains, whole.gains, rtol=1e-7, atol=1e-9 * np.abs(whole.gains).max())
    np.testing.assert_allclose(ours.changes, whole.changes, rtol=1e-7, atol=1e-9 * np.abs(whole.changes).max())
    assert (ours.slope, ours.curve) == pytest.approx((whole.slope, whole.curve), rel=1e-9)


def test_limits_and_prices_are_heeded_and_a_knot_without_a_minimum_is_said():
    model, free = knots(0), np.full((N, M), np.inf)
    tight = model.plan(np.full((N, M), -0.01), np.full((N, M), 0.01), 0.0)
    assert np.abs(tight.changes).max() <= 0.01
    priced = model.plan(-free, free, 10.0)
    assert np.abs(priced.changes).sum() < np.abs(model.plan(-free, free, 0.0).changes).sum()
    assert knots(0, effort=-1e4).plan(-free, free, 0.0) is None

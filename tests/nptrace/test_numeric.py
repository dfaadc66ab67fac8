"""The words of numeric on plain NumPy."""

import numpy as np
import pytest

from nptrace import lookup, norm, repeat, select, smoothstep


def test_lookup_floors_and_clamps_every_index():
    table = np.arange(6.0).reshape(2, 3)
    assert lookup(table, 0.9, 1.9) == 1
    assert lookup(table, -5, 99) == 2
    assert lookup(table, np.array([0.0, 7.0]), 1).tolist() == [1, 4]
    assert np.isnan(lookup([1.0, 2.0], np.nan))


def test_lookup_needs_a_position_for_every_axis():
    with pytest.raises(ValueError, match="2 axes needs 2 positions"):
        lookup(np.zeros((2, 3)), 1)


def test_repeat_counts_in_real_numbers():
    seen = []
    assert repeat(3, lambda i, c: seen.append(i) or c + i, 0.5) == 3.5
    assert [type(i) for i in seen] == [float] * 3
    assert repeat(0, lambda i, c: c + 1, 7) == 7


def test_smoothstep_is_flat_outside_and_smooth_at_its_ends():
    assert smoothstep(np.array([-1.0, 0.0, 0.5, 1.0, 2.0])).tolist() == [0, 0, 0.5, 1, 1]
    assert abs(smoothstep(1e-6)) < 1e-11
    assert abs(1 - smoothstep(1 - 1e-6)) < 1e-11


def test_norm_is_the_length_and_epsilon_rounds_its_kink():
    assert norm(np.array([3.0, 4.0])) == 5
    assert norm([3.0, 4.0]) == 5
    assert norm(np.zeros(3), 1e-3) == 1e-3


def test_select_takes_either():
    assert select(np.array([True, False]), 1.0, 2.0).tolist() == [1, 2]

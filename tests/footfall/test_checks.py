"""Checks of the numbers that users give."""

import math

import numpy as np
import pytest

from footfall.checks import (
    checked_number,
    finite_number,
    is_number,
    number_between,
    positive_number,
    three_numbers,
)
from footfall.errors import InputError

NOT_NUMBERS = ("long", "1.5 m", None, 1j, [1.0], object())
NOT_FINITE = (math.nan, math.inf, -math.inf)


def test_checks_of_numbers_pass_what_is_one():
    assert all(is_number(x) for x in (1, 2.5, np.float32(3), -0.0))
    assert not any(is_number(x) for x in (10**400, "1", None, math.nan, 1j))
    assert finite_number(np.float32(-2.0), "x") == -2.0
    assert positive_number(1, "x") == 1.0
    assert number_between(0.5, "x", 0.0, 1.0) == 0.5
    assert checked_number(0.0, "x", 0.0) == 0.0
    np.testing.assert_array_equal(three_numbers((1, 2, 3), "x"), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("value", [*NOT_NUMBERS, *NOT_FINITE, 10**400])
def test_checks_of_numbers_refuse_in_one_sentence_that_names_what_is_wrong(value):
    for check in (finite_number, positive_number, number_between, three_numbers):
        with pytest.raises(InputError, match=r"^the height of a step must be [^\n]*, got [^\n]*$"):
            check(value, "the height of a step")


def test_checks_of_numbers_keep_their_bounds():
    for check in (
        lambda: positive_number(0.0, "x"),
        lambda: number_between(1.0, "x", 0.0, 1.0),
        lambda: checked_number(-0.1, "x", 0.0),
        lambda: checked_number(0.0, "x", 0.0, above=True),
        lambda: checked_number(2.0, "x", 0.0, 1.0),
        lambda: three_numbers((1.0, 2.0), "x"),
        lambda: three_numbers((1.0, 2.0, math.nan), "x"),
    ):
        with pytest.raises(InputError, match=r"^x must "):
            check()

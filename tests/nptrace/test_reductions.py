"""Sums over four limbs, reassociated: the same numbers but for rounding, and few numbers leave their limb."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_programs import ANY, MIRRORED, STEPPING, captured, four_legs, limb_steps, looped, numbers

import nptrace as trace
from nptrace.codegen import interpret
from nptrace.ir.program import walk
from nptrace.passes import slp
from nptrace.passes.reductions import reassociated
from nptrace.runtime.compiled import program


def felt(x, rest):
    """A base that feels products and values of its legs in one long sum, some of them subtracted, with a rest."""
    base, legs = x[:2], x[2:].reshape(4, 3)
    ends = [
        np.stack([np.sin(leg[0]) * leg[1], leg[2] + np.cos(leg[1]), leg[0] * c[1]]) for leg, c in zip(legs, MIRRORED)
    ]
    total, plain = base[0] * base[1], 0.0
    for end, c, push in zip(ends, MIRRORED, rest):
        total = total - end[0] * end[1] + c[0] * end[2] - end[2] + base[1] * end[0] * push
        plain = plain + end[0]
    moved = np.stack([total, plain])
    return np.concatenate([moved, *(end - total * leg * plain for end, leg in zip(ends, legs))])


@settings(max_examples=60, deadline=None)
@given(limb_steps(), numbers, st.sampled_from([four_legs, looped, captured]))
def test_a_regrouped_program_computes_the_same_but_for_rounding(steps, x, function):
    code = program(lambda x, rest: function(steps, x, rest), np.ones(14), np.ones(4))
    before, after = interpret.evaluate(code, x), interpret.evaluate(reassociated(code), x)
    np.testing.assert_array_equal(np.isfinite(before), np.isfinite(after))
    fine = np.isfinite(before)
    np.testing.assert_allclose(after[fine], before[fine], rtol=1e-9, atol=1e-9)


def test_long_sums_leave_the_limbs_as_one_number_each():
    code = program(felt, np.ones(14), np.ones(4))
    plain, made = slp.vectorised(code, worth=ANY), slp.vectorised(reassociated(code), worth=ANY)
    count = {name: [o.op for o in walk(p.body)] for name, p in (("plain", plain), ("made", made))}
    assert count["made"].count("hsum") == 2
    assert count["made"].count("extract") == 12  # the outputs of the legs, nothing that the base takes
    assert count["plain"].count("extract") > 24
    assert code.size <= reassociated(code).size < 1.1 * code.size
    x = np.random.default_rng(0).normal(size=18)
    np.testing.assert_allclose(interpret.evaluate(made, x), felt(x[:14], x[14:]), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_robot_and_a_batch_have_the_same_bits_in_sums_over_limbs(dtype):
    x = np.random.default_rng(1).normal(size=(5, 18)).astype(dtype)
    one = trace.compile(felt, np.ones(14), np.ones(4), dtype=dtype, cache=None)
    many = trace.compile(felt, np.ones(14), np.ones(4), dtype=dtype, target="batch", cache=None)
    single = np.stack([one(row[:14], row[14:]) for row in x])
    np.testing.assert_array_equal(single, many(x[:, :14], x[:, 14:]))


def test_not_a_number_in_a_limb_reaches_the_sum():
    code = reassociated(program(felt, np.ones(14), np.ones(4)))
    x = np.random.default_rng(2).normal(size=18)
    x[9] = np.nan
    assert np.isnan(interpret.evaluate(slp.vectorised(code, worth=ANY), x)[:2]).all()


def test_what_has_no_four_limbs_stays_as_it_is():
    code = program(lambda x: np.sum(x * np.roll(x, 1)), np.ones(5))
    assert reassociated(code) is code
    assert reassociated(program(lambda x, rest: four_legs(STEPPING, x, rest), np.ones(14), np.ones(4))).size > 0

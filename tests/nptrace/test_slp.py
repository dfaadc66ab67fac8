"""Legs as lanes: a vectorised program gives the bits of the program it was made from, on every target that runs it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_programs import ANY, HEIGHTS, MIRRORED, STEPPING, captured, four_legs, limb_steps, looped, numbers
from trace_examples import EXAMPLES

import nptrace as trace
from nptrace import lookup, repeat
from nptrace.codegen import interpret, llvm
from nptrace.codegen.emit import first_is_state
from nptrace.ir.program import walk
from nptrace.passes import slp
from nptrace.runtime import machine
from nptrace.runtime.compiled import program
from nptrace.runtime.memory import Blocks, Code


def compiled(code, dtype, host=None):
    """``run(inputs)`` of a program as machine code for one robot."""
    host, dtype, layout = host or machine.host(), np.dtype(dtype), first_is_state([14, 4])
    ir = llvm.module(code, layout, dtype, 1, fused=host.fused, arch=host.arch)
    size = llvm.workspace(code, layout, 1)
    blocks = Blocks(Code(machine.Library(machine.object_code(ir, host)), layout, 14, size, dtype, 1), 1)

    def run(inputs):
        blocks.areas["state"][0, :, 0], blocks.areas["rest"][0, :, 0] = inputs[:14], inputs[14:]
        blocks.evaluate()
        return blocks.out[0, :, 0].copy()

    return run


def both(steps, function, lanes=(4,)):
    code = program(lambda x, rest: function(steps, x, rest), np.ones(14), np.ones(4))
    return code, slp.vectorised(code, worth=ANY, lanes=lanes)


@settings(max_examples=80, deadline=None)
@given(limb_steps(), numbers, st.sampled_from([four_legs, looped, captured]), st.sampled_from([4, 2]))
def test_a_random_program_of_four_limbs_is_packed_to_itself(steps, x, function, lanes):
    code, made = both(steps, function, [lanes])
    if made is None:  # too small to be worth a search, or one leg is too unlike the others
        assert code.size < slp.SMALLEST or function is captured
        return
    np.testing.assert_array_equal(interpret.evaluate(made, x), interpret.evaluate(code, x))


@settings(max_examples=20, deadline=None)
@given(
    limb_steps(),
    numbers,
    st.sampled_from([four_legs, looped, captured]),
    st.sampled_from([4, 2]),
    st.sampled_from([np.float64, np.float32]),
)
def test_a_packed_random_program_gives_the_same_bits_as_machine_code(steps, x, function, lanes, dtype):
    code, made = both(steps, function, [lanes])
    if made is None:
        return
    np.testing.assert_array_equal(compiled(made, dtype)(x), compiled(code, dtype)(x))


@pytest.mark.parametrize("function", [four_legs, looped])
def test_legs_that_mirror_each_other_share_nearly_all_operations(function):
    code, made = both(STEPPING, function)
    assert slp.vectorised(code) is not None  # it pays
    per_leg = sum(o.op not in ("const", "input", "item", "extract", "gather", "broadcast") for o in walk(made.body))
    assert per_leg < 0.45 * code.size
    assert not any(o.op == "gather" for o in walk(made.body))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "host",
    [
        machine.host(),
        machine.host().limited("-avx512f", "-avx512vl", "+prefer-256-bit"),
        machine.host().limited("-avx", "-avx2", "-avx512f", "-fma"),
    ],
    ids=["here", "256 bits", "128 bits"],
)
def test_vectors_of_every_width_give_the_bits_of_scalar_code(host, dtype):
    code, made = both(STEPPING, looped)
    x = np.random.default_rng(1).normal(size=(20, 18))
    wide, narrow = compiled(made, dtype, host), compiled(code, dtype, host)
    for inputs in x:
        np.testing.assert_array_equal(wide(inputs), narrow(inputs))


def test_arm_gets_packed_object_code():
    arm = machine.Host("aarch64-unknown-linux-gnu", "generic", "+neon")
    _, made = both(STEPPING, looped)
    ir = llvm.module(made, first_is_state([14, 4]), np.float64, 1, fused=True, arch=arm.arch)
    assert "fmla" in machine.assembly(ir, arm)


def test_not_a_number_stays_in_its_leg_and_reaches_the_base():
    code, made = both(STEPPING, four_legs)
    x = np.random.default_rng(2).normal(size=18)
    x[5] = np.nan  # the second leg
    wide, narrow = compiled(made, np.float64)(x), compiled(code, np.float64)(x)
    np.testing.assert_array_equal(wide, narrow)
    assert np.isnan(wide[5:8]).any()
    assert np.isfinite(wide[[2, 8, 11]]).all()


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_has_no_four_limbs_is_left_alone(name):
    function, arguments = EXAMPLES[name]
    code = program(function, *arguments)
    if name != "sweeps":  # four unknowns a sweep, one after the other
        assert slp.vectorised(code) is None
    made = slp.vectorised(code, worth=ANY)
    if made is not None:
        flat = np.concatenate([np.ravel(a) for a in arguments])
        np.testing.assert_array_equal(interpret.evaluate(made, flat), interpret.evaluate(code, flat))


def test_a_table_given_at_run_time_is_read_in_every_lane():
    def step(x, table):
        ends = [np.sin(leg) * lookup(table, 2 * leg[0], leg[1]) + np.cos(leg) * c for leg, c in zip(x, MIRRORED)]
        return np.stack([leg * np.sum(sum(ends)) - np.sqrt(1 + leg * leg) for leg in ends])

    x, table = np.random.default_rng(3).normal(size=(4, 3)), HEIGHTS
    made = slp.vectorised(program(step, x, table))
    assert any(o.op == "lookup_input" and o.result in made.wide for o in walk(made.body))
    one = trace.compile(step, x, table, cache=None)(x, table)
    np.testing.assert_array_equal(one, trace.compile(step, x, table, cache=None, vectorize=False)(x, table))


def test_reversed_loops_save_and_read_back_what_limbs_share():
    def loss(x):
        def turn(_, legs):
            moved = [np.sin(leg) * leg[0] + c * np.cos(leg[1]) for leg, c in zip(legs, MIRRORED)]
            total = moved[0] + moved[1] + moved[2] + moved[3]
            return np.stack([leg + 0.1 * total * leg[2] for leg in moved])

        return np.sum(repeat(4, turn, x))

    x = np.random.default_rng(4).normal(size=(4, 3))
    pulled = trace.gradient(loss, x, cache=None)
    made = slp.vectorised(pulled.program, worth=ANY)
    assert made is not None
    flat = np.append(x, 1.0)  # what the loss is weighed with
    np.testing.assert_array_equal(interpret.evaluate(made, flat), interpret.evaluate(pulled.program, flat))

"""Values that are parked beside the registers: the numbers stay, and few values are alive at once."""

import numpy as np
import pytest
from cuda_on_processor import COMPILER, emulate, pointer
from lane_programs import STEPPING, four_legs

import nptrace
from nptrace import repeat
from nptrace.codegen.emit import first_is_state
from nptrace.passes import slp
from nptrace.passes.parking import parked, slots
from nptrace.passes.reductions import reassociated
from nptrace.runtime.compiled import program


def step(x, rest):
    return four_legs(STEPPING, x, rest)


def alive_at_once(code):
    """Values in registers, at most; constants are part of the instructions."""
    constants = {s.result for s in code.body if s.op == "const"}
    alive, most = {x for x in code.outputs if x not in constants}, 0
    for s in reversed(code.body):
        if s.op != "const":
            alive.discard(s.result)
            alive |= {x for x in s.operands if x not in constants}
            most = max(most, len(alive))
    return most


@pytest.mark.parametrize("registers", [8, 12, 16])
def test_no_more_values_are_alive_than_there_are_registers(registers):
    """But for the operands of one operation, and for results that are wanted together."""
    code = program(step, np.ones(14), np.ones(4))
    made = parked(code, registers)
    assert slots(made.body) > 0
    assert alive_at_once(code) > registers
    assert alive_at_once(made) <= max(registers, len(code.outputs)) + 3
    assert sorted(s.op for s in made.body if s.op not in ("park", "fetch")) == sorted(s.op for s in code.body)


def test_fewer_registers_park_more_and_enough_park_nothing():
    code = program(step, np.ones(14), np.ones(4))
    parks = [sum(s.op == "park" for s in parked(code, n).body) for n in (8, 12, 16, 1000)]
    assert parks[0] > parks[1] > parks[2] > parks[3] == 0
    assert parked(code, 1000) is code


def test_loops_and_lanes_are_left_as_they_are():
    looped = program(lambda x: repeat(3, lambda k, y: np.sin(y) * x, x), np.ones(40))
    wide = slp.vectorised(program(step, np.ones(14), np.ones(4)))
    assert parked(looped, 4) is looped
    assert parked(wide, 4) is wide


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_a_program_that_parks_gives_the_same_bits(tmp_path):
    code = parked(reassociated(program(step, np.ones(14), np.ones(4))), 10)
    layout = first_is_state([14, 4])
    assert slots(code.body)
    library = emulate(code, layout, np.float64, tmp_path)
    data = np.ascontiguousarray(np.random.default_rng(0).normal(size=(18, 40)))
    state, rest, out = data[:14].copy(), data[14:].copy(), np.zeros((14, 40))
    batch = nptrace.compile(step, np.ones(14), np.ones(4), target="batch", lanes=4, cache=None)
    library.run_evaluate(pointer(state), pointer(rest), None, pointer(out), 40)
    np.testing.assert_array_equal(out.T, batch(data[:14].T, data[14:].T))
    library.run_advance(pointer(state), pointer(rest), None, 7, 40)
    np.testing.assert_array_equal(state.T, batch.advance(7, data[:14].T, data[14:].T))

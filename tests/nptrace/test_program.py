"""Laws of the SSA form."""

import numpy as np
import pytest
from trace_examples import EXAMPLES, LEG, PAIR, leg_step, nested, swapped

import nptrace
from nptrace.codegen import interpret
from nptrace.ir import program as ssa
from nptrace.ir.graph import Graph
from nptrace.runtime.compiled import program


def test_listing_is_ssa_with_named_inputs():
    listing = str(program(lambda q, k: np.stack([q[0] * q[1] + 2.5, k * q[0]]), np.ones(2), np.array(1.0)))
    assert listing.splitlines() == [
        "%0 = input q[0]",
        "%1 = input q[1]",
        "%2 = input k",
        "%3 = fma %0 %1 2.5",
        "%4 = mul %0 %2",
        "return %3 %4",
    ]


def test_listing_indents_loops():
    lines = str(program(nested, PAIR[0])).splitlines()
    assert any(line.startswith("%") and " = repeat 4" in line for line in lines)
    assert any(line.startswith("    %") and " = repeat 3" in line for line in lines)
    assert any(line.startswith("        ") for line in lines)


def test_a_fused_operation_counts_as_two_live_ones():
    code = program(lambda x: np.stack([x[0] * x[1] + x[2]]), np.ones(3))
    assert (code.size, code.live_operations) == (1, 2)
    assert code.operations() == {"fma": 1}


def test_fusing_changes_no_count_of_live_operations():
    from nptrace.frontend.tracer import trace

    traced = trace(leg_step, *LEG)
    fused = ssa.build(traced.graph, traced.outputs, traced.input_size)
    plain = ssa.build(traced.graph, traced.outputs, traced.input_size, fuse=False)
    assert plain.size == plain.live_operations == fused.live_operations
    assert fused.size < plain.size


def test_unused_work_is_not_in_the_program():
    def f(x):
        np.exp(x)
        return x[1:] + 0 * x[0]

    assert program(f, np.ones(2)).size == 0


def test_carried_values_that_nobody_reads_leave_their_loop():
    def wasteful(x):
        a, _ = nptrace.repeat(4, lambda i, c: (c[0] * x[0], np.sin(c[1]) * i), (x, x))
        return a

    def lean(x):
        return nptrace.repeat(4, lambda i, c: c * x[0], x)

    assert program(wasteful, PAIR[0]).digest() == program(lean, PAIR[0]).digest()
    assert program(wasteful, PAIR[0]).operations()["sin"] == 0


def test_a_loop_of_no_turns_is_its_start():
    graph = Graph()
    region, params = graph.open_region(0, 1)
    loop = graph.repeat(region, [graph.input(0)], [graph.unary("sin", params[0])])
    code = ssa.build(graph, [graph.item(loop, 0)], 1)
    assert interpret.evaluate(code, np.array([3.0])) == 3.0


def test_digest_depends_on_the_program_alone():
    def f(x):
        np.exp(x)  # dead, but it shifts the numbers of the graph
        return np.sin(x) * x

    assert program(f, np.ones(3)).digest() == program(lambda y: np.sin(y) * y, np.ones(3), names=["y"]).digest()
    assert program(f, np.ones(3)).digest() != program(lambda x: np.sin(x) * 2, np.ones(3)).digest()


def test_digest_sees_tables():
    def reads(table):
        return program(lambda x: nptrace.lookup(table, x), np.array(0.0)).digest()

    assert reads([1.0, 2.0]) != reads([1.0, 3.0])


def test_quotients_share_their_reciprocal():
    code = program(lambda x: x[:3] / x[3], np.ones(4))
    assert code.operations() == {"inv": 1, "mul": 3}


@pytest.mark.parametrize("name", EXAMPLES)
def test_values_are_numbered_once_and_before_use(name):
    function, arguments = EXAMPLES[name]
    made = set()

    def check(body):
        for s in body:
            if isinstance(s, ssa.Loop):
                assert made.issuperset(s.initial)
                made.update({s.node, *s.params} | ({s.counter} if s.counter is not None else set()))
                check(s.body)
                assert made.issuperset((*s.results, *s.saves))
            else:
                assert made.issuperset(s.operands), s
                assert s.result not in made
                made.add(s.result)

    code = program(function, *arguments)
    check(code.body)
    assert made.issuperset(code.outputs)


def test_swapped_carries_are_interpreted_as_in_numpy():
    x = PAIR[0]
    np.testing.assert_array_equal(interpret.evaluate(program(swapped, x), x), swapped(x))

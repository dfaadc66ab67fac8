"""What no iteration of a loop changes is done once, before it, and nothing else changes."""

import numpy as np
import pytest

import nptrace
from nptrace.ir.statements import Loop, all_loops, walk
from nptrace.passes.invariants import hoisted


def solved(x, scale):
    """Newton iterations for a root, whose inputs go through the loop unchanged; an inner loop reads them too."""

    def newton(i, carry):
        guess, x, scale = carry
        aim = np.sin(x) + np.exp(scale) * np.cos(x) + 3.0
        smaller = nptrace.repeat(3, lambda _, y: 0.5 * y + 1e-3 * np.sqrt(np.abs(x)), scale)
        return 0.5 * (guess + aim / guess) + 1e-9 * smaller * i, x, scale

    def found(carry):
        return np.abs(carry[0] * carry[0] - np.sin(x) - np.exp(scale) * np.cos(x) - 3.0) < 1e-6

    return nptrace.repeat(20, newton, (2.0 + 0.0 * x, x, scale), until=found)[0]


def test_invariants_leave_the_loop_and_the_rest_stays():
    program = nptrace.program_of(solved, 0.3, 0.1)
    made = hoisted(program)
    before, after = ([s for s in p.body if isinstance(s, Loop)] for p in (program, made))
    assert len(walk(made.body)) == len(walk(program.body))
    assert len(walk(after[0].body)) < len(walk(before[0].body))
    assert not any(o.op in ("sin", "cos", "exp") for o in walk(after[0].body) if o.operands)
    assert [loop.count for loop in all_loops(made.body)] == [loop.count for loop in all_loops(program.body)]


@pytest.mark.parametrize("target", ["native", "interpret"])
def test_results_are_those_of_numpy(target):
    random = np.random.default_rng(3)
    compiled = nptrace.compile(solved, 0.3, 0.1, target=target, cache=False)
    for x, scale in random.normal(size=(50, 2)):
        assert compiled(x, scale) == pytest.approx(solved(x, scale), rel=1e-12)


def test_a_program_without_loops_that_end_early_is_left_alone():
    program = nptrace.program_of(lambda x: nptrace.repeat(4, lambda _, y: np.sin(x) + y, x), 1.0)
    assert hoisted(program) is program


def test_a_loop_that_may_be_skipped_keeps_its_work():
    def due(x, wanted):
        def once(_, carry):
            total, x, _ = carry
            return total + np.exp(np.sin(x)), x, 1.0

        return nptrace.repeat(4, once, (x, x, 1.0 - wanted), until=lambda c: c[2] > 0.5, check_first=True)[0]

    made = hoisted(nptrace.program_of(due, 0.3, 1.0))
    (loop,) = [s for s in made.body if isinstance(s, Loop)]
    assert any(o.op == "exp" for o in walk(loop.body))

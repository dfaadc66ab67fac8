"""Loops and tables: kept as such in the trace, right on NumPy and in the trace."""

from typing import NamedTuple

import numpy as np
import pytest
from replaying import assert_traces_right, operations, replay

from footfall.errors import TraceError
from nptrace import lookup, norm, repeat, select, smoothstep
from nptrace.frontend.tracer import trace

X = np.array([0.3, -0.4, 1.2])
TABLE = np.random.default_rng(5).normal(size=(9, 7))


class Carry(NamedTuple):
    position: np.ndarray
    speed: float


def oscillator(x):
    def body(i, carry):
        return Carry(carry.position + 0.1 * carry.speed, carry.speed - 0.1 * np.sum(carry.position) + 0.01 * i)

    return repeat(20, body, Carry(x, 0.5))


def nested(x):
    def outer(i, c):
        return repeat(3, lambda j, d: np.sin(d) + 0.1 * i * x + 0.01 * j * d * x[0], c * x) + 0.2 * c

    return repeat(4, outer, 0.3 * np.ones(3)) * x


def latched(x):
    """A truth value in the carry stays one."""

    def body(i, carry):
        value, seen = carry
        return value * 1.5, seen | (value > 2)

    value, seen = repeat(5, body, (x[2], False))
    return np.stack([value, 1.0 * ~seen])


@pytest.mark.parametrize("function", [oscillator, nested, latched])
def test_loops_are_right(function):
    assert_traces_right(function, X)


def test_a_loop_is_traced_once():
    short = operations(lambda x: repeat(3, lambda i, c: np.sin(c) * x, x), X)
    assert short == operations(lambda x: repeat(1000, lambda i, c: np.sin(c) * x, x), X)


def test_what_does_not_change_in_a_loop_is_outside_of_it():
    from nptrace.ir import program

    traced = trace(lambda x: repeat(9, lambda i, c: c + np.sin(x), np.zeros(3)), X)
    code = program.build(traced.graph, traced.outputs, traced.input_size)
    (loop,) = (s for s in code.body if isinstance(s, program.Loop))
    assert "sin" not in {s.op for s in loop.body}


def test_a_loop_of_no_turns_gives_its_start():
    assert_traces_right(lambda x: repeat(0, lambda i, c: c * 2, x), X)


def test_dicts_in_a_carry_may_change_their_order():
    def body(i, c):
        return {"b": c["b"] + c["a"], "a": c["a"] * 0.5}

    assert_traces_right(lambda x: repeat(3, body, {"a": x, "b": 2 * x}), X)


@pytest.mark.parametrize("position", [[0.4, 0.9], [-3.0, 0.1], [9.0, 99.0], [8.0, 6.0], [7.99, 5.99], [np.nan, 2.0]])
def test_lookup_floors_and_clamps(position):
    assert_traces_right(lambda p: lookup(TABLE, p[0], p[1]), np.array(position))
    assert_traces_right(lambda t, p: lookup(t, p[0], p[1]), TABLE, np.array(position))
    assert_traces_right(lambda t, p: lookup(t[2], p[1]) + lookup(t[2:5], p[0], p[1]), TABLE, np.array(position))


def test_lookup_broadcasts_its_positions():
    i, j = np.array([0.2, 3.7, 11.0]), np.array([[1.0], [5.5]])
    assert_traces_right(lambda i, j: lookup(TABLE, i, j), i, j)
    assert_traces_right(lambda t, i, j: lookup(t, i, j), TABLE, i, j)
    assert replay(lambda i: lookup([1.0, 2.0, 4.0], i), 1.5) == 2


def test_a_run_time_table_is_one_node_and_no_constant():
    traced = trace(lambda t, i: lookup(t, i), np.arange(100.0), 3.0)
    assert [n[0] for n in traced.graph.nodes if n[0].startswith("lookup")] == ["lookup_input"]
    assert traced.graph.tables == []
    assert traced.graph.nodes[traced.outputs[0]] == ("lookup_input", 0, (100,), 100)


def test_a_constant_position_reads_the_input_itself():
    assert_traces_right(lambda t: lookup(t, 2, 9) + lookup(t, -1, 3.5), TABLE)
    assert operations(lambda t: lookup(t, 2, 3), TABLE)["lookup_input"] == 0


@pytest.mark.parametrize(
    "table", [lambda t: t * 2, lambda t: t.T, lambda t: t[::2], lambda t: t[:, 1:], lambda t: np.where(t > 0, t, 0)]
)
def test_a_computed_table_must_become_an_argument(table):
    with pytest.raises(TraceError, match="argument"):
        trace(lambda t, i: lookup(table(t), i, i), TABLE, 0.5)


def test_lookup_in_a_loop():
    def body(i, c):
        return c + lookup(TABLE, i, c[0]) * X

    assert_traces_right(lambda x: repeat(6, body, x), X)
    assert_traces_right(lambda t, x: repeat(6, lambda i, c: c + lookup(t, i, c[0]) * x, x), TABLE, X)


def test_smoothstep_and_norm_and_select():
    x = np.array([-0.5, 0.0, 0.3, 1.0, 1.7])
    assert_traces_right(lambda x: select(x > 0.2, smoothstep(x), norm(x) + norm(x, 0.1)), x)

"""The graph merges what is equal, simplifies what is known, and keeps NaN where NumPy has it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.errors import TraceError
from nptrace.ir.graph import Graph


@pytest.fixture
def graph():
    return Graph()


def test_equal_expressions_are_one_node(graph):
    a, b = graph.input(0), graph.input(1)
    assert graph.add(a, b) == graph.add(b, a)
    assert graph.neg(graph.sub(a, b)) == graph.sub(b, a)
    assert graph.mul(a, graph.const(-2)) == graph.neg(graph.mul(graph.const(2), a))
    assert graph.maximum(a, b) == graph.maximum(b, a)


def test_what_is_known_folds(graph):
    a, zero, one = graph.input(0), graph.const(0), graph.const(1)
    assert graph.add(a, zero) == a
    assert graph.mul(a, one) == a
    assert graph.mul(a, zero) == zero
    assert graph.sub(a, a) == zero
    assert graph.inv(graph.inv(a)) == a
    assert graph.value(graph.atan2(one, one)) == math.pi / 4
    assert graph.value(graph.power(graph.const(2), graph.const(0.5))) == 2**0.5


def test_constant_factors_do_not_underflow_by_merging(graph):
    a, tiny = graph.input(0), graph.const(1e-200)
    assert graph.value(graph.mul(tiny, graph.mul(tiny, a))) is None


def test_nan_is_one_constant_and_compares_as_false(graph):
    assert graph.const(np.nan) == graph.const(float("nan"))
    a = graph.input(0)
    assert graph.truth_value(graph.less(a, a)) is False
    assert graph.truth_value(graph.less_equal(a, a)) is None
    assert graph.truth_value(graph.less_equal(graph.const(np.nan), graph.const(np.nan))) is False
    assert math.isnan(graph.value(graph.maximum(graph.const(1), graph.const(np.nan))))


@pytest.mark.parametrize(
    "make",
    [
        lambda g: g.inv(g.const(0)),
        lambda g: g.unary("log", g.const(0)),
        lambda g: g.unary("sqrt", g.const(-1)),
        lambda g: g.power(g.const(0), g.const(-1)),
        lambda g: g.power(g.const(-1), g.const(0.5)),
    ],
)
def test_constants_outside_of_a_domain_are_refused(graph, make):
    with pytest.raises(TraceError, match="constant"):
        make(graph)


def test_signed_zeros_are_two_constants(graph):
    assert graph.const(0.0) != graph.const(-0.0)


@given(st.lists(st.sampled_from(["and", "or", "not"]), max_size=6), st.booleans(), st.booleans())
def test_known_truths_fold_to_what_python_says(steps, p, q):
    graph = Graph()
    node, value = graph.truth(p), p
    for op in steps:
        if op == "not":
            node, value = graph.logical_not(node), not value
        else:
            node, value = graph.logical(op, node, graph.truth(q)), (value and q) if op == "and" else (value or q)
    assert graph.truth_value(node) is value


def test_a_negative_base_is_looked_for_only_where_it_can_be(graph):
    a, b = graph.input(0), graph.input(1)
    assert graph.op(graph.power(graph.add(graph.mul(a, a), graph.const(1)), b)) == "pow"
    assert graph.op(graph.power(graph.maximum(a, graph.const(0)), b)) == "pow"
    assert graph.op(graph.power(a, b)) == "select"

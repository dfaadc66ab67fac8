"""Nests of arrays come apart and together again, and can be described without pickle."""

import enum
import functools
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from footfall.errors import TraceError
from nptrace.frontend import tree
from nptrace.frontend.tracer import trace
from nptrace.ir.program import Operation


class Gait(enum.Enum):
    TROT = 1


class Level(enum.IntEnum):
    HIGH = 3


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Checked:
    mass: float
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    name: str = "link"

    def __post_init__(self):
        if not self.mass > 0:
            raise ValueError("mass")

    @functools.cached_property
    def moment(self):
        return self.mass * self.com


leaves = st.one_of(st.floats(-1, 1), st.integers(-5, 5), st.just(np.ones(2)), st.just(np.float64(2)))
constants = st.one_of(st.none(), st.booleans(), st.text(max_size=3))
nests = st.recursive(
    leaves | constants,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.builds(Pair, inner, inner),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(nests)
def test_rebuild_undoes_flatten(nest):
    flat, rebuild = tree.flatten(nest)
    again = rebuild(flat)
    assert tree.difference(again, nest) is None
    assert [x is y for x, y in zip(flat, tree.flatten(again)[0])] == [True] * len(flat)


@given(nests)
def test_equal_dicts_have_their_leaves_in_the_same_order(nest):
    flat, _ = tree.flatten({"a": nest, "b": 1.0})
    other, _ = tree.flatten({"b": 1.0, "a": nest})
    assert len(flat) == len(other)
    assert all(x is y or x == y for x, y in zip(flat, other))


@pytest.mark.parametrize("constant", [None, True, "trot", Gait.TROT, Level.HIGH, print, object()])
def test_what_is_no_number_is_a_constant(constant):
    flat, rebuild = tree.flatten((constant, 2.0))
    assert flat == [2.0]
    assert rebuild([3.0])[0] is constant


def test_a_dataclass_is_rebuilt_without_its_checks_and_caches():
    link = Checked(2.0)
    assert link.moment.tolist() == [0, 0, 0]
    _, rebuild = tree.flatten(link)
    other = rebuild([-1.0, np.ones(3)])
    assert (other.mass, other.name) == (-1.0, "link")
    assert other.moment.tolist() == [-1, -1, -1]
    traced = trace(lambda link: link.moment, link)
    assert len(traced.outputs) == 3


def test_a_difference_is_said_in_words():
    assert tree.difference({"a": 1.0}, {"a": 2.0}) is None
    assert "['b']" in tree.difference({"b": 1.0}, {"a": 1.0})
    assert "'walk' rather than 'trot'" in tree.difference(("walk",), ("trot",))
    assert "rather than an array" in tree.difference([None], [1.0])


@given(nests.filter(lambda n: "Pair" not in repr(n)))
def test_a_description_survives_json(nest):
    flat, _ = tree.flatten(nest)
    rebuild = tree.from_spec(json.loads(json.dumps(tree.describe(nest))))
    again = rebuild(flat)
    assert tree.difference(again, nest) is None
    assert all(x is y for x, y in zip(flat, tree.flatten(again)[0]))


def test_classes_of_footfall_are_described_by_name():
    nest = Operation("add", 3, (1, 2))
    rebuild = tree.from_spec(json.loads(json.dumps(tree.describe(nest))))
    assert rebuild([5, 6, 7]) == Operation("add", 5, (6, 7))


@pytest.mark.parametrize("nest", [Pair(1.0, 2.0), Checked(1.0), print, {1: 2.0}, Gait.TROT])
def test_what_could_not_be_found_again_is_not_described(nest):
    with pytest.raises(TraceError):
        tree.describe(nest)


@pytest.mark.parametrize(
    "spec",
    [
        {"dataclass": "os:system", "parts": []},
        {"dataclass": "nptrace.frontend.tree:importlib", "parts": []},
        {"dataclass": "nptrace.ir.program:Operation", "parts": [["op", {"constant": "add"}]]},
        {"namedtuple": "footfall.errors:TraceError", "parts": []},
        {"dataclass": "footfall.nowhere:Thing", "parts": []},
        {"leaf": "x"},
        {"constant": [1]},
        {},
        [],
        3,
        {"tuple": 5},
    ],
)
def test_a_damaged_or_foreign_description_is_refused(spec):
    with pytest.raises(TraceError):
        tree.from_spec(spec)

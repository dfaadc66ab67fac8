"""Whatever a user changes between two runs is noticed, so that no outdated machine code runs; and can be put back."""

import array
import decimal
import queue
import sys
import threading

import numpy as np
import pytest
from ways_to_change import WAYS

import nptrace
from nptrace.frontend.tracer import verify
from nptrace.verification.closure_state import ClosureState


@pytest.mark.parametrize("make", WAYS, ids=lambda make: make.__name__)
def test_a_number_that_is_changed_is_noticed(make):
    read, change = make()
    try:
        assert read() == pytest.approx(60.0)
        before = ClosureState(read)
        assert read() == pytest.approx(60.0)
        assert before.changed() is None
        change()
        assert read() == pytest.approx(20.0)
        assert before.changed() is not None
        after = ClosureState(read)
        assert after.changed() is None
    finally:
        getattr(change, "undo", lambda: None)()


SLOW = {  # what a walk alone can compare
    "argument_of_an_exception",
    "array_class_of_a_user",
    "environment_by_its_function",
    "object_in_a_weak_set",
    "row_of_a_structured_array",
    "text_in_memory",
    "array_of_ctypes",
    "array_of_objects",
    "array_of_the_standard_library",
    "byte_array",
    "context_variable",
    "dictionary_of_an_object",
    "environment",
    "globals_by_name",
    "large_array",
    "middle_of_a_long_dict",
    "middle_of_a_long_list",
    "module_by_import_module",
    "module_by_sys_modules",
    "namespace_of_executed_code",
    "number_of_ctypes",
    "pointer_of_ctypes",
    "registered_function",
    "structure_of_ctypes",
    "table_of_another_library",
    "vars_of_a_module",
    "view_of_memory",
    "weak_dictionary",
    "weak_reference",
}


@pytest.mark.parametrize("make", [m for m in WAYS if m.__name__ not in SLOW], ids=lambda make: make.__name__)
def test_a_change_shows_without_a_walk(make):
    read, change = make()
    read()
    before = ClosureState(read)
    assert before.changed() is None
    assert before._guard.holds()
    try:
        change()
        assert not before._guard.holds()
    finally:
        getattr(change, "undo", lambda: None)()


def test_what_is_replaced_by_its_equal_is_looked_at_once():
    gains = {"kp": 60.5, "table": np.array([1.0, 2.0])}

    def read():
        return gains["kp"] * gains["table"][0]

    before = ClosureState(read)
    assert before.changed() is None
    gains["table"] = np.array([1.0, 2.0])
    assert not before._guard.holds()
    assert before.changed() is None
    assert before._guard.holds()


NOT_PUT_BACK = {  # changed from outside, or seen by a checksum alone
    "argument_of_an_exception",
    "row_of_a_structured_array",
    "table_of_another_library",
    "text_in_memory",
    "view_of_the_values_of_a_dict",
    "function_of_numpy_replaced",
    "function_of_linear_algebra_replaced",
    "number_of_a_library",
    "code_of_a_function",
    "default_argument",
    "cache_that_is_cleared",
    "large_array",
    "registered_function",
    "builtin_replaced",
    "method_of_a_base_class",
    "read_only_view_of_a_dict",
}


@pytest.mark.parametrize("make", [m for m in WAYS if m.__name__ not in NOT_PUT_BACK], ids=lambda make: make.__name__)
def test_a_number_that_is_changed_is_put_back(make):
    read, change = make()
    try:
        before = ClosureState(read)
        change()
        before.restore()
        assert read() == pytest.approx(60.0)
        assert before.changed() is None
    finally:
        getattr(change, "undo", lambda: None)()


def test_a_function_that_imports_and_looks_up_is_compiled_without_a_word():
    def blend(x):
        import math

        from numpy import linalg

        return getattr(np, "sin")(x) * math.pi + linalg.norm(x)  # noqa: B009

    x = np.array([0.3, 0.4])
    compiled = nptrace.compile(blend, x, cache=None)  # a warning would be an error
    np.testing.assert_allclose(compiled(x), blend(x))


def asks_the_recursion_limit(x):
    return x * sys.getrecursionlimit()


def asks_the_precision_of_decimals(x):
    return x * decimal.getcontext().prec


def asks_for_the_length_of_a_queue(x):
    return x * WAITING.qsize()


def asks_whether_a_lock_is_taken(x):
    return x * LOCK.locked()


WAITING, LOCK = queue.SimpleQueue(), threading.Lock()


@pytest.mark.parametrize(
    "function",
    [
        asks_the_recursion_limit,
        asks_the_precision_of_decimals,
        asks_for_the_length_of_a_queue,
        asks_whether_a_lock_is_taken,
    ],
)
def test_what_no_walk_can_see_is_not_compiled(function):
    with pytest.raises(nptrace.TraceMismatch, match="which compiled code would not do"):
        verify(function, np.ones(2))


class RaisesForItsAttributes:
    def __getattribute__(self, name):
        raise ValueError(name)


class SaysThatItIsADict:
    @property
    def __class__(self):
        return dict


class RaisesForItsElements(set):
    def __iter__(self):
        raise RuntimeError("no elements")


class WithoutHash(type):
    __hash__ = None


class ClassWithoutHash(metaclass=WithoutHash):
    pass


class RaisesWhenItIsCopied(array.array):
    def __reduce_ex__(self, protocol):
        raise SystemError("no copy")


ODD = {
    "attributes": lambda: RaisesForItsAttributes(),
    "class": lambda: SaysThatItIsADict(),
    "elements": lambda: RaisesForItsElements([1.0]),
    "hash of a class": lambda: ClassWithoutHash,
    "hash": lambda: ClassWithoutHash(),
    "copy": lambda: RaisesWhenItIsCopied("d", [1.0]),
}


@pytest.mark.parametrize("name", ODD)
def test_an_object_whose_own_methods_raise_is_passed_by(name):
    odd = ODD[name]()

    def doubled(x):
        return 2.0 * x if odd is not None else x

    before = ClosureState(doubled)
    assert before.changed() is None
    before.restore()
    assert before.changed() is None
    assert nptrace.compile(doubled, np.ones(2), cache=None)(np.ones(2)) == pytest.approx(2.0)

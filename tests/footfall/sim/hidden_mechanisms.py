"""Controllers with state outside their memory, each in its own way.

All but two change what they do only after sixty calls, so that no comparison of a few calls can tell.
"""

from __future__ import annotations

import builtins
import collections
import contextvars
import functools
import itertools
import os
import random
import types

import numpy as np

import footfall as ff

CHEETAH = ff.load("mini_cheetah")
STAND = CHEETAH.poses["stand"].joints
LATE = 60
COUNT = 0
BOARD: dict[str, int] = {}
CALLS: contextvars.ContextVar[int] = contextvars.ContextVar("calls")
NOTEBOOK = types.ModuleType("notebook_of_a_user")


def asking(calls):
    """The command after some calls: it leans from the sixtieth on."""
    return ff.JointCommand(STAND + (0.05 if calls > LATE else 0.0), kp=60.0, kd=2.0)


def in_a_closure():
    counter = {"calls": 0}

    def control(t, robot, sensed, command, memory):
        counter["calls"] += 1
        return asking(counter["calls"]), memory

    return control


def in_nonlocal():
    calls = 0

    def control(t, robot, sensed, command, memory):
        nonlocal calls
        calls += 1
        return asking(calls), memory

    return control


def in_a_global():
    global COUNT
    COUNT = 0

    def control(t, robot, sensed, command, memory):
        global COUNT
        COUNT += 1
        return asking(COUNT), memory

    return control


def in_a_global_that_is_not_there_yet():
    globals().pop("BORN", None)

    def control(t, robot, sensed, command, memory):
        global BORN
        BORN = globals().get("BORN", 0) + 1
        return asking(BORN), memory

    return control


def in_a_dict_of_the_module():
    BOARD.clear()

    def control(t, robot, sensed, command, memory):
        BOARD["calls"] = BOARD.get("calls", 0) + 1
        return asking(BOARD["calls"]), memory

    return control


def in_another_module():
    NOTEBOOK.calls = 0

    def control(t, robot, sensed, command, memory):
        NOTEBOOK.calls += 1
        return asking(NOTEBOOK.calls), memory

    return control


class Helper:
    total = 0

    def __init__(self):
        self.calls = 0

    def count(self):
        self.calls += 1
        return self.calls

    def control(self, t, robot, sensed, command, memory):
        return asking(self.count()), memory

    @classmethod
    def of_all(cls):
        cls.total += 1
        return cls.total


class Slotted:
    __slots__ = ("calls",)

    def __init__(self):
        self.calls = 0


def in_a_helper_object():
    helper = Helper()

    def control(t, robot, sensed, command, memory):
        return asking(helper.count()), memory

    return control


def in_a_helper_with_slots():
    helper = Slotted()

    def control(t, robot, sensed, command, memory):
        helper.calls += 1
        return asking(helper.calls), memory

    return control


def in_a_class():
    Helper.total = 0

    def control(t, robot, sensed, command, memory):
        return asking(Helper.of_all()), memory

    return control


def in_an_object_deep_inside():
    robot_of_a_user = {"left": [({"leg": Helper()},)]}

    def control(t, robot, sensed, command, memory):
        return asking(robot_of_a_user["left"][0][0]["leg"].count()), memory

    return control


def in_a_bound_method():
    return Helper().control


def in_a_partial():
    def control(log, t, robot, sensed, command, memory):
        log.append(0)
        return asking(len(log)), memory

    return functools.partial(control, [])


def in_a_mutable_default():
    def control(t, robot, sensed, command, memory, log=[]):  # noqa: B006
        log.append(0)
        return asking(len(log)), memory

    return control


def in_an_attribute_of_a_function():
    def control(t, robot, sensed, command, memory):
        count_calls.calls += 1
        return asking(count_calls.calls), memory

    def count_calls():
        pass

    count_calls.calls = 0
    return control


def in_a_nested_function():
    calls = 0

    def count():
        nonlocal calls
        calls += 1
        return calls

    def control(t, robot, sensed, command, memory):
        return asking((lambda: count())()), memory

    return control


def in_a_wrapped_function():
    helper = Helper()

    def doubled(function):
        @functools.wraps(function)
        def inner(*arguments):
            helper.count()
            return function(*arguments)

        return inner

    @doubled
    def control(t, robot, sensed, command, memory):
        return asking(helper.calls), memory

    return control


def in_a_callable_object():
    class Control:
        def __init__(self):
            self.log = collections.deque(maxlen=100)

        def __call__(self, t, robot, sensed, command, memory):
            self.log.append(t is None)
            return asking(len(self.log)), memory

    return Control()


def in_an_array():
    calls = np.zeros(1)

    def control(t, robot, sensed, command, memory):
        calls[0] += 1.0
        return asking(calls[0]), memory

    return control


def in_a_bytearray():
    calls = bytearray(1)

    def control(t, robot, sensed, command, memory):
        calls[0] += 1
        return asking(calls[0]), memory

    return control


def in_an_iterator():
    leans = iter([0] * LATE + [100] * 1000)

    def control(t, robot, sensed, command, memory):
        return asking(next(leans)), memory

    return control


def in_a_counter_of_itertools():
    calls = itertools.count(1)

    def control(t, robot, sensed, command, memory):
        return asking(next(calls)), memory

    return control


def in_a_generator():
    def steps():
        yield from range(1, 10_000)

    calls = steps()

    def control(t, robot, sensed, command, memory):
        return asking(next(calls)), memory

    return control


def in_a_random_generator():
    draw = np.random.default_rng(3)

    def control(t, robot, sensed, command, memory):
        return asking(LATE + 1 if draw.random() > 0.97 else 0), memory

    return control


def in_the_method_of_a_random_generator():
    draw = np.random.default_rng(3).random

    def control(t, robot, sensed, command, memory):
        return asking(LATE + 1 if draw() > 0.97 else 0), memory

    return control


def in_pythons_random_numbers():
    random.seed(1)

    def control(t, robot, sensed, command, memory):
        return asking(LATE + 1 if random.random() > 0.97 else 0), memory

    return control


def in_numpys_random_numbers():
    np.random.seed(1)  # noqa: NPY002

    def control(t, robot, sensed, command, memory):
        return asking(LATE + 1 if np.random.rand() > 0.97 else 0), memory  # noqa: NPY002

    return control


def in_the_environment():
    os.environ.pop("FOOTFALL_TEST_CALLS", None)

    def control(t, robot, sensed, command, memory):
        calls = int(os.environ.get("FOOTFALL_TEST_CALLS", "0")) + 1
        os.environ["FOOTFALL_TEST_CALLS"] = str(calls)
        return asking(calls), memory

    return control


def in_a_variable_of_the_context():
    CALLS.set(0)

    def control(t, robot, sensed, command, memory):
        CALLS.set(CALLS.get() + 1)
        return asking(CALLS.get()), memory

    return control


def in_builtins():
    builtins.footfall_test_calls = 0

    def control(t, robot, sensed, command, memory):
        builtins.footfall_test_calls += 1
        return asking(builtins.footfall_test_calls), memory

    return control


def in_what_it_saw_first():
    """Not late but early: it holds the pose that it met at its first call."""
    met = {}

    def control(t, robot, sensed, command, memory):
        if "pose" not in met:
            met["pose"] = 0.98 * sensed.q[7:]
        return ff.JointCommand(met["pose"], kp=60.0, kd=2.0), memory

    return control


def in_whether_it_was_called():
    started = []

    def control(t, robot, sensed, command, memory):
        first = not started
        if first:
            started.append(True)
        return ff.JointCommand(STAND, kp=60.0, kd=2.0, torque=5.0 if first else 0.0), memory

    return control


MECHANISMS = [
    in_a_closure,
    in_nonlocal,
    in_a_global,
    in_a_global_that_is_not_there_yet,
    in_a_dict_of_the_module,
    in_another_module,
    in_a_helper_object,
    in_a_helper_with_slots,
    in_a_class,
    in_an_object_deep_inside,
    in_a_bound_method,
    in_a_partial,
    in_a_mutable_default,
    in_an_attribute_of_a_function,
    in_a_nested_function,
    in_a_wrapped_function,
    in_a_callable_object,
    in_an_array,
    in_a_bytearray,
    in_an_iterator,
    in_a_counter_of_itertools,
    in_a_generator,
    in_a_random_generator,
    in_the_method_of_a_random_generator,
    in_pythons_random_numbers,
    in_numpys_random_numbers,
    in_the_environment,
    in_a_variable_of_the_context,
    in_builtins,
    in_what_it_saw_first,
    in_whether_it_was_called,
]

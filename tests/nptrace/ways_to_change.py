"""Ways to keep a number outside of a function's arguments, and to change it between two runs.

Every maker returns (what reads the number, what changes it); the number is 60 before and 20 after.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextvars
import ctypes
import dataclasses
import enum
import functools
import importlib
import io
import logging
import operator
import os
import sys
import threading
import types
import weakref

import numpy as np
import pytest

SETTINGS = types.ModuleType("settings_of_a_user")
PACKAGE = types.ModuleType("package_of_a_user")
PACKAGE.settings = SETTINGS
PACKAGE.__path__ = []
WAYS = []
sys.modules.update({"settings_of_a_user": SETTINGS, "package_of_a_user": PACKAGE})
sys.modules["package_of_a_user.settings"] = SETTINGS
exec("def helper(): return KP", vars(SETTINGS))


def way(make):
    WAYS.append(make)
    return make


def fresh():
    """The user's module of settings as it is at first."""
    SETTINGS.KP, SETTINGS.TABLE = 60.0, {"kp": [60.0]}
    return SETTINGS


def setting(owner, name):
    return lambda: setattr(owner, name, 20.0)


def putting(container, key):
    return lambda: container.__setitem__(key, 20.0)


class Holder:
    def __init__(self, k=60.0):
        self.k = k


# -- modules -----------------------------------------------------------------------------------------------------------
@way
def import_inside_the_function():
    fresh()

    def gain():
        import settings_of_a_user

        return settings_of_a_user.KP

    return gain, setting(SETTINGS, "KP")


@way
def import_inside_a_helper():
    fresh()

    def kp():
        import settings_of_a_user as s

        return s.KP

    return lambda: kp() + 0.0, setting(SETTINGS, "KP")


@way
def import_of_a_name_inside():
    fresh()

    def gain():
        from settings_of_a_user import KP

        return KP

    return gain, setting(SETTINGS, "KP")


@way
def import_of_a_module_of_a_package_inside():
    fresh()

    def gain():
        import package_of_a_user.settings

        return package_of_a_user.settings.KP

    return gain, setting(SETTINGS, "KP")


@way
def import_from_a_package_inside():
    fresh()

    def gain():
        from package_of_a_user import settings

        return settings.TABLE["kp"][0]

    return gain, putting(fresh().TABLE["kp"], 0)


@way
def relative_import_inside():
    fresh()
    space = {"__package__": "package_of_a_user", "__name__": "package_of_a_user.control", "__builtins__": builtins}
    exec("def gain():\n from . import settings\n return settings.KP", space)
    return space["gain"], setting(SETTINGS, "KP")


@way
def import_inside_a_method():
    fresh()

    class Gains:
        def kp(self):
            import settings_of_a_user

            return settings_of_a_user.helper()

    gains = Gains()
    return lambda: gains.kp(), setting(SETTINGS, "KP")


@way
def helper_imported_inside():
    fresh()

    def gain():
        from settings_of_a_user import helper

        return helper()

    return gain, setting(SETTINGS, "KP")


@way
def module_handed_to_a_helper():
    settings = fresh()

    def kp(module):
        return module.KP

    return lambda: kp(settings), setting(SETTINGS, "KP")


@way
def name_of_a_module_by_getattr():
    settings, name = fresh(), "KP"
    return lambda: getattr(settings, name), setting(SETTINGS, "KP")


@way
def name_put_together_at_run_time():
    settings = fresh()
    return lambda: getattr(settings, "".join(["K", "P"])), setting(SETTINGS, "KP")


@way
def name_by_attrgetter():
    settings, read = fresh(), operator.attrgetter("KP")
    return lambda: read(settings), setting(SETTINGS, "KP")


@way
def dictionary_of_a_module():
    settings = fresh()
    return lambda: settings.__dict__["KP"], setting(SETTINGS, "KP")


@way
def vars_of_a_module():
    settings = fresh()
    return lambda: vars(settings)["KP"], setting(SETTINGS, "KP")


@way
def module_by_sys_modules():
    fresh()
    return lambda: sys.modules["settings_of_a_user"].KP, setting(SETTINGS, "KP")


@way
def module_by_import_module():
    fresh()
    return lambda: importlib.import_module("settings_of_a_user").KP, setting(SETTINGS, "KP")


@way
def globals_by_name():
    globals()["HELD"] = 60.0
    return lambda: globals()["HELD"], lambda: globals().__setitem__("HELD", 20.0)


@way
def attribute_that_a_module_computes():
    store = {"k": 60.0}
    module = types.ModuleType("computing_module")
    module.__getattr__ = lambda name: store["k"]
    return lambda: module.KP, putting(store, "k")


@way
def helper_of_a_module_replaced():
    settings = fresh()
    was = settings.helper

    def change():
        settings.helper = lambda: 20.0

    change.undo = lambda: setattr(settings, "helper", was)
    return lambda: settings.helper(), change


@way
def namespace_of_executed_code():
    space = {"K": 60.0}
    exec("def f(): return K", space)
    return lambda: space["f"](), putting(space, "K")


@way
def name_among_the_builtins():
    builtins.HELD_GAIN = 60.0
    return eval("lambda: HELD_GAIN"), setting(builtins, "HELD_GAIN")


@way
def builtin_replaced():
    was = builtins.abs
    change = lambda: setattr(builtins, "abs", lambda x: 20.0)  # noqa: E731
    change.undo = lambda: setattr(builtins, "abs", was)
    return lambda: abs(-60.0), change


@way
def function_of_numpy_replaced():
    was = np.tanh
    change = lambda: setattr(np, "tanh", lambda x: was(x) / 3)  # noqa: E731
    change.undo = lambda: setattr(np, "tanh", was)
    return lambda: 60 * np.tanh(30.0), change


@way
def function_of_linear_algebra_replaced():
    was = np.linalg.norm
    change = lambda: setattr(np.linalg, "norm", lambda x: 20.0)  # noqa: E731
    change.undo = lambda: setattr(np.linalg, "norm", was)
    return lambda: np.linalg.norm([60.0]), change


@way
def number_of_a_library():
    was = np.pi
    change = lambda: setattr(np, "pi", was / 3)  # noqa: E731
    change.undo = lambda: setattr(np, "pi", was)
    return lambda: 60 / was * np.pi, change


@way
def environment():
    os.environ["HELD_KP"] = "60"
    return lambda: float(os.environ["HELD_KP"]), lambda: os.environ.__setitem__("HELD_KP", "20")


# -- functions ---------------------------------------------------------------------------------------------------------
@way
def cell_of_a_closure():
    k = 60.0

    def change():
        nonlocal k
        k = 20.0

    return lambda: k, change


@way
def default_argument():
    def f(k=60.0):
        return k

    return lambda: f(), lambda: setattr(f, "__defaults__", (20.0,))


@way
def keyword_default():
    def f(*, k=60.0):
        return k

    return lambda: f(), lambda: f.__kwdefaults__.__setitem__("k", 20.0)


@way
def attribute_of_a_function():
    def f():
        return f.k

    f.k = 60.0
    return lambda: f(), setting(f, "k")


@way
def code_of_a_function():
    def f():
        return 60.0

    return lambda: f(), lambda: setattr(f, "__code__", (lambda: 20.0).__code__)


@way
def cache_that_is_cleared():
    store = {"k": 60.0}

    @functools.lru_cache
    def f():
        return store["k"]

    def change():
        store["k"] = 20.0
        f.cache_clear()

    return lambda: f(), change


@way
def partial_of_a_dict():
    store = {"k": 60.0}
    f = functools.partial(lambda d: d["k"], store)
    return lambda: f(), putting(store, "k")


@way
def bound_method():
    class Gains(Holder):
        def read(self):
            return self.k

    gains = Gains()
    read = gains.read
    return lambda: read(), setting(gains, "k")


@way
def generator_in_a_call():
    found = [60.0]
    return lambda: next(x for x in found), putting(found, 0)


@way
def registered_function():
    @functools.singledispatch
    def f(x):
        return 60.0

    return lambda: f(1.0), lambda: f.register(float, lambda x: 20.0)


# -- classes and objects -----------------------------------------------------------------------------------------------
@way
def attribute_of_a_class():
    class Gains:
        K = 60.0

    return lambda: Gains().K, setting(Gains, "K")


@way
def attribute_of_a_base_class():
    class Base:
        K = 60.0

    class Gains(Base):
        pass

    gains = Gains()
    return lambda: gains.K, setting(Base, "K")


@way
def method_of_a_base_class():
    class Base:
        def kp(self):
            return 60.0

    class Gains(Base):
        pass

    gains = Gains()
    return lambda: gains.kp(), lambda: setattr(Base, "kp", lambda self: 20.0)


@way
def attribute_of_a_metaclass():
    class Meta(type):
        K = 60.0

    class Gains(metaclass=Meta):
        pass

    return lambda: Gains.K, setting(Meta, "K")


@way
def property_of_a_metaclass():
    store = {"k": 60.0}

    class Meta(type):
        @property
        def K(cls):
            return store["k"]

    class Gains(metaclass=Meta):
        pass

    return lambda: Gains.K, putting(store, "k")


@way
def dict_of_a_class():
    class Gains:
        TABLE = {"k": 60.0}  # noqa: RUF012

    return lambda: Gains().TABLE["k"], putting(Gains.TABLE, "k")


@way
def property_of_an_object():
    class Gains(Holder):
        @property
        def kp(self):
            return self.k

    gains = Gains()
    return lambda: gains.kp, setting(gains, "k")


@way
def slots():
    class Gains:
        __slots__ = ("k",)

    gains = Gains()
    gains.k = 60.0
    return lambda: gains.k, setting(gains, "k")


@way
def attribute_by_a_hook():
    store = {"k": 60.0}

    class Gains:
        def __getattr__(self, name):
            return store[name]

    gains = Gains()
    return lambda: gains.k, putting(store, "k")


@way
def dictionary_of_an_object():
    gains = Holder()
    return lambda: vars(gains)["k"], lambda: gains.__dict__.__setitem__("k", 20.0)


@way
def frozen_record():
    @dataclasses.dataclass(frozen=True)
    class Gains:
        k: float

    gains = Gains(60.0)
    return lambda: gains.k, lambda: object.__setattr__(gains, "k", 20.0)


@way
def deep_in_objects():
    gains = Holder(Holder({"k": [60.0]}))
    return lambda: gains.k.k["k"][0], putting(gains.k.k["k"], 0)


@way
def value_of_an_enumeration():
    class Gain(enum.Enum):
        KP = 60.0

    return lambda: Gain.KP.value, setting(Gain.KP, "_value_")


@way
def simple_namespace():
    gains = types.SimpleNamespace(k=60.0)
    return lambda: gains.k, setting(gains, "k")


@way
def weak_reference():
    gains = Holder()
    seen = weakref.ref(gains)
    change = setting(gains, "k")
    change.keep = gains
    return lambda: seen().k, change


@way
def weak_proxy():
    gains = Holder()
    seen = weakref.proxy(gains)
    change = setting(gains, "k")
    change.keep = gains
    return lambda: seen.k, change


@way
def weak_dictionary():
    gains, store = Holder(), weakref.WeakKeyDictionary()
    store[gains] = 60.0
    return lambda: store[gains], putting(store, gains)


@way
def context_variable():
    variable = contextvars.ContextVar("held")
    variable.set(60.0)
    return lambda: variable.get(), lambda: variable.set(20.0)


@way
def thread_local():
    local = threading.local()
    local.k = 60.0
    return lambda: local.k, setting(local, "k")


# -- containers and memory ---------------------------------------------------------------------------------------------
@way
def array_in_place():
    held = np.array([60.0])
    return lambda: held[0], putting(held, 0)


@way
def array_by_its_view():
    whole = np.array([60.0, 1.0])
    held = whole[:1]
    return lambda: held[0], putting(whole, 0)


@way
def large_array():
    held = np.full(9_000_000, 60.0)  # 72 MB
    return lambda: held[7_500_001], putting(held, 7_500_001)


@way
def structured_array():
    held = np.full(1, 60.0, dtype=[("k", float)])
    return lambda: held["k"][0], putting(held["k"], 0)


@way
def array_of_objects():
    held = np.array([{"k": 60.0}], dtype=object)
    return lambda: held[0]["k"], putting(held[0], "k")


@way
def middle_of_a_long_list():
    held = [60.0] * 200_000
    return lambda: held[150_000], putting(held, 150_000)


@way
def middle_of_a_long_dict():
    held = dict.fromkeys(range(50_000), 60.0)
    return lambda: held[25_000], putting(held, 25_000)


@way
def deep_in_dicts():
    whole = inner = {}
    for _ in range(300):
        inner["next"] = {}
        inner = inner["next"]
    inner["k"] = 60.0

    def read():
        found = whole
        while "next" in found:
            found = found["next"]
        return found["k"]

    return read, putting(inner, "k")


@way
def deque():
    held = collections.deque([60.0])
    return lambda: held[0], putting(held, 0)


@way
def chain_of_maps():
    held = {"k": 60.0}
    chain = collections.ChainMap({}, held)
    return lambda: chain["k"], putting(held, "k")


@way
def read_only_view_of_a_dict():
    held = {"k": 60.0}
    view = types.MappingProxyType(held)
    return lambda: view["k"], putting(held, "k")


@way
def item_getter():
    held, read = {"k": 60.0}, operator.itemgetter("k")
    return lambda: read(held), putting(held, "k")


@way
def number_of_ctypes():
    held = ctypes.c_double(60.0)
    return lambda: held.value, setting(held, "value")


@way
def array_of_ctypes():
    held = (ctypes.c_double * 2)(60.0, 1.0)
    return lambda: held[0], putting(held, 0)


@way
def structure_of_ctypes():
    class Gains(ctypes.Structure):
        _fields_ = (("k", ctypes.c_double),)

    held = Gains(60.0)
    return lambda: held.k, setting(held, "k")


@way
def pointer_of_ctypes():
    held = ctypes.c_double(60.0)
    pointer = ctypes.pointer(held)
    return lambda: pointer.contents.value, setting(held, "value")


@way
def view_of_memory():
    view = memoryview(bytearray(np.array([60.0]).tobytes())).cast("d")
    return lambda: view[0], putting(view, 0)


@way
def byte_array():
    held = bytearray([60])
    return lambda: float(held[0]), lambda: held.__setitem__(0, 20)


@way
def array_of_the_standard_library():
    held = array.array("d", [60.0])
    return lambda: held[0], putting(held, 0)


# -- what keeps more than its attributes say ---------------------------------------------------------------------------
@way
def view_of_the_values_of_a_dict():
    held = {"k": 60.0}
    values = held.values()
    return lambda: sum(values), putting(held, "k")


@way
def object_in_a_set():
    holder = Holder()
    held = {holder}
    return lambda: next(iter(held)).k, setting(holder, "k")


@way
def object_in_a_weak_set():
    holder = Holder()
    held = weakref.WeakSet([holder])
    return lambda: next(iter(held)).k + 0.0 * holder.k, setting(holder, "k")


@way
def factory_of_a_default_dict():
    store = {"k": 60.0}
    held = collections.defaultdict(lambda: store["k"])

    def read():
        found = held["a"]
        del held["a"]
        return found

    return read, putting(store, "k")


@way
def key_that_a_dict_lacks():
    store = {"k": 60.0}

    class Gains(dict):
        def __missing__(self, key):
            return store[key]

    held = Gains()
    return lambda: held["k"], putting(store, "k")


@way
def array_class_of_a_user():
    class Numbers(array.array):
        pass

    held = Numbers("d", [60.0])
    return lambda: held[0], putting(held, 0)


@way
def attribute_of_an_array():
    class Gains(np.ndarray):
        pass

    held = np.zeros(1).view(Gains)
    held.kp = 60.0
    return lambda: held.kp, setting(held, "kp")


@way
def mask_of_an_array():
    held = np.ma.array([60.0, 20.0], mask=[False, True])
    return lambda: float(held.sum()), lambda: setattr(held, "mask", [True, False])


@way
def flat_view_of_an_array():
    held = np.array([60.0])
    flat = held.flat
    return lambda: flat[0], putting(held, 0)


@way
def row_of_a_structured_array():
    held = np.array([(60.0,)], dtype=[("k", float)])
    row = held[0]
    return lambda: float(row["k"]), lambda: held["k"].__setitem__(0, 20.0)


@way
def text_in_memory():
    held = io.StringIO("60")
    return lambda: float(held.getvalue()), lambda: (held.seek(0), held.write("20"))


@way
def argument_of_an_exception():
    held = ValueError(60.0)
    return lambda: held.args[0], lambda: setattr(held, "args", (20.0,))


@way
def property_of_a_module():
    store = {"k": 60.0}

    class Module(types.ModuleType):
        @property
        def KP(self):
            return store["k"]

    module = Module("module_with_a_property")
    return lambda: module.KP, putting(store, "k")


@way
def private_name_of_a_module():
    space = {"module": types.ModuleType("module_with_secrets")}
    space["module"].__dict__["__KP"] = 60.0
    exec("def read(): return module.__KP", space)
    return space["read"], setting(space["module"], "__KP")


@way
def class_attribute_like_a_special_one():
    class Gains:
        __kp__ = 60.0

    return lambda: Gains.__kp__, setting(Gains, "__kp__")


@way
def attribute_of_a_partial():
    held = functools.partial(int)
    held.kp = 60.0
    return lambda: held.kp, setting(held, "kp")


@way
def attribute_of_a_logger():
    held = logging.getLogger("logger_of_a_user")
    held.kp = 60.0
    return lambda: held.kp, setting(held, "kp")


@way
def environment_by_its_function():
    getenv, os.environ["KP_OF_A_USER"] = os.getenv, "60"
    change = functools.partial(os.environ.__setitem__, "KP_OF_A_USER", "20")
    return lambda: float(getenv("KP_OF_A_USER")), change


@way
def globals_of_a_frame():
    space = {"sys": sys, "KP": 60.0}
    exec("def read(): return sys._getframe().f_globals['KP']", space)
    return space["read"], putting(space, "KP")


@way
def table_of_another_library():
    held = pytest.importorskip("pandas").DataFrame({"k": [60.0]})
    return lambda: float(held["k"].iloc[0]), putting(held, "k")

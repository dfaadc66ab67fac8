"""A function of a constant and arrays, bound to the constant.

The constant is any object with ``parameter``, ``with_parameters`` and ``digest``. Its numbers are folded into the
program, except those named in ``free``, which stay inputs. Shapes come from examples, or from annotations such as
``Float[ndarray, "n"]``.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import sys
import threading
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from nptrace import ownership
from nptrace._types import Foreign, Given, PyTree
from nptrace.errors import InputError, unknown
from nptrace.frontend import tree

Function = Callable[..., PyTree]


class Bound:
    """A function with its constant bound: positional array arguments, and the free parameters as a last argument.

    A derived class names its kind of constant and may override ``example`` and ``digest``.
    """

    what = "constant"
    kinds = ""  # kinds of constants, for errors
    called = "compile"  # the function that users call, for errors

    def __init__(
        self,
        function: Function,
        constant: Foreign,
        examples: Sequence[object],
        free: Sequence[str],
        given: Mapping[str, Given],
    ) -> None:
        self.original, self.constant, self.free = function, constant, tuple(free)
        self.__name__ = getattr(_unwrapped(function), "__name__", type(function).__name__)
        self._check_constant()
        self.__doc__ = function.__doc__
        parameters = _parameters(function, constant, self.what)
        for name in given:
            if name not in parameters:
                raise unknown("argument", name, parameters, f"{self.__name__} takes")
        if len(examples) > len(parameters):
            raise InputError(
                f"{self.__name__} takes {len(parameters)} arguments after the {self.what}, got {len(examples)}"
            )
        self.unnamed = {k: p.default for k, p in parameters.items() if p.kind is p.POSITIONAL_ONLY}
        self.names: list[str] = []
        self.examples: list[object] = []
        self.constants: dict[str, Given] = {}
        for position, (name, parameter) in enumerate(parameters.items()):
            if position < len(examples):
                self._input(name, examples[position])
            elif name in given and _is_example(given[name]):
                self._input(name, given[name])
            elif name in given:
                self.constants[name] = given[name]
            elif parameter.default is inspect.Parameter.empty:
                self._input(name, self._example_of(name))
        if self.free:
            self.names.append("parameters")
            self.examples.append({path: constant.parameter(path) for path in self.free})

    def _input(self, name: str, example: object) -> None:
        self.names.append(name)
        self.examples.append(example)

    def __call__(self, *arrays: object) -> PyTree:
        while _waiting:  # the function is being traced: it was not in the cache
            with contextlib.suppress(RuntimeError):  # browsers have no threads
                _waiting.pop().start()
        constant = self.constant
        if self.free:
            *arrays, parameters = arrays  # type: ignore[assignment]
            constant = constant.with_parameters(parameters)
        named = dict(zip(self.names, arrays)) | self.constants
        first = () if self.constant is None else (constant,)
        unnamed = [named.pop(name, default) for name, default in self.unnamed.items()]
        return self.original(*first, *unnamed, **named)

    @property
    def is_library(self) -> bool:
        """Whether the function belongs to a registered package, importable by its name: it needs no replay."""
        return ownership.is_library(_unwrapped(self.original))

    def _modules(self) -> tuple[str, ...] | None:
        """Return the modules that a trace may enter; None if one was modified in this process or belongs to a user."""
        constant = self.constant
        if not self.is_library or not (constant is None or ownership.is_library(type(constant))):
            return None
        constants = ownership.modules_of((constant, self.constants))
        modules = ownership.reached({__name__, type(self).__module__, _unwrapped(self.original).__module__, *constants})
        return None if ownership.modified(modules) else modules

    def digest(self) -> str:
        """Return the digest of the constant."""
        return str(self.constant.digest)

    def example(self, name: str, shape: tuple[int, ...]) -> PyTree:
        """Return generic numbers for an argument of known shape."""
        random = np.random.default_rng(len(name))
        return random.normal(size=shape) if shape else float(random.normal())

    def _example_of(self, name: str) -> PyTree:
        """Return generic numbers of the shape in an argument's annotation."""
        try:
            annotation = typing.get_type_hints(_unwrapped(self.original), include_extras=True).get(name)
        except Exception:  # the annotation uses a name that is unknown here
            annotation = None
        shape = _annotated_shape(annotation, self.constant)
        if shape is None:
            raise InputError(self.shape_unknown(name))
        return self.example(name, shape)

    def shape_unknown(self, name: str) -> str:
        """Return the error message for an argument with neither example nor annotation."""
        return f"{self.__name__}: the shape of argument '{name}' is not known; give an example, or annotate it"

    def _check_constant(self) -> None:
        """Refuse an array as the constant: it would be folded into the program, where an input was meant."""
        constant, title = self.constant, self.__name__
        if isinstance(constant, (np.ndarray, np.generic, float, int, list, tuple, Mapping)):
            raise InputError(
                f"{title}: the argument after the function must be its constant{self.kinds}, not"
                f" {type(constant).__name__}: a function of arrays alone takes None there, as in"
                f" {self.called}({title}, None, ...)"
            )

    def key(self) -> str | None:
        """Return a key for the function, its constants and shapes; None for a user's function, always retraced."""
        with ownership.one_look():
            return self._key()

    def _key(self) -> str | None:
        if getattr(self.constant, "digest", None) is None or (modules := self._modules()) is None:
            return None
        inner, parts = _unwrapped(self.original), []
        if isinstance(self.original, functools.partial):
            parts = [self.original.args, sorted(self.original.keywords.items())]
        constants = [*parts, sorted(self.constants.items())]
        if not _plain(constants):
            return None
        shapes = _shapes(self.examples)
        words = (
            ownership.digest(modules),
            inner.__module__,
            inner.__qualname__,
            constants,
            self.digest(),
            self.free,
            shapes,
        )
        return hashlib.sha256(repr(words).encode()).hexdigest()


_QUIET = 0.5  # [s]; compilation that takes longer is reported
_reported = threading.Event()
_waiting: list[threading.Timer] = []  # started by the first call for a trace


@contextlib.contextmanager
def patience(name: str, kept: bool, title: str = "nptrace") -> Iterator[None]:
    """Report once, at a terminal or in a notebook, that something is being compiled."""
    if _reported.is_set() or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield
        return
    words = f"{title}: compiling {name}{', cached from now on' if kept else ''}"

    def say() -> None:
        if not _reported.is_set():
            _reported.set()
            print(words, file=sys.stderr)

    timer = threading.Timer(_QUIET, say)
    timer.daemon = True
    _waiting.append(timer)
    try:
        yield
    finally:
        timer.cancel()
        if timer in _waiting:
            _waiting.remove(timer)


# -- shapes ------------------------------------------------------------------------------------------------------------
def _parameters(function: Function, constant: object, what: str) -> dict[str, inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InputError(f"{function!r} has no readable signature: wrap it in a def") from None
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(f"a function with *{parameter.name} cannot be compiled: name its arguments")
    if constant is not None:
        if not parameters:
            raise InputError(f"the function takes no argument for the {what}")
        parameters = parameters[1:]
    return {p.name: p for p in parameters}


def _annotated_shape(annotation: object, constant: object) -> tuple[int, ...] | None:
    if annotation is float:
        return ()
    words = getattr(annotation, "dim_str", None)  # from nptrace or jaxtyping
    if words is None:  # a union, or Annotated
        found = (_annotated_shape(choice, constant) for choice in typing.get_args(annotation) if choice is not float)
        return next((shape for shape in found if shape is not None), None)
    try:
        return tuple(int(w) if w.isdigit() else int(getattr(constant, w)) for w in words.split())
    except (AttributeError, TypeError):
        return None


def _is_example(value: object) -> bool:
    return isinstance(value, np.ndarray)


def _shapes(pytree: object) -> str:
    leaves, _ = tree.flatten(pytree)
    return repr(([np.shape(x) for x in leaves], _structure(pytree)))


def _structure(pytree: object) -> object:
    if isinstance(pytree, Mapping):
        return {k: _structure(v) for k, v in pytree.items()}
    if isinstance(pytree, (tuple, list)):
        return [_structure(v) for v in pytree]
    return type(pytree).__qualname__


def _plain(value: object) -> bool:
    """Return whether ``repr`` describes the value completely."""
    if isinstance(value, (tuple, list)):
        return all(map(_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _unwrapped(function: Function) -> Foreign:
    while isinstance(function, functools.partial):
        function = function.func
    return function

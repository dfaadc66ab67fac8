"""``ff.compile`` and its siblings: a function of a robot and arrays, bound to one robot, traced and compiled.

The first parameter of the function is the constant: a ``Robot``, or any object with ``parameter``, ``with_parameters``
and ``digest``. Its numbers are folded into the program, except those named in ``free``, which stay inputs. Shapes come
from examples, or from annotations such as ``Float[ndarray, "nq"]``.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from footfall.errors import InputError, unknown
from footfall.nests import Foreign, Given, Nest
from footfall.robot.model.description import Robot

if TYPE_CHECKING:
    from footfall.trace.compiled import CacheChoice
    from footfall.trace.differentiate import Jacobian
    from footfall.trace.passes.program import Program
    from footfall.trace.runtime.callables import Function as Compiled
    from footfall.trace.written_jacobian import WrittenJacobian

_PACKAGE = Path(__file__).parent
Function = Callable[..., Nest]


class Bound:
    """A function with its constant bound: positional array arguments, and the free parameters as a last argument."""

    def __init__(
        self, function: Function, constant: Foreign, examples: Sequence[Nest], free: Sequence[str],
        given: Mapping[str, Given],
    ) -> None:  # fmt: skip
        self.original, self.constant, self.free = function, constant, tuple(free)
        self.__name__ = getattr(_unwrapped(function), "__name__", type(function).__name__)
        _check_constant(constant, self.__name__)
        self.__doc__ = function.__doc__
        parameters = _parameters(function, constant)
        for name in given:
            if name not in parameters:
                raise unknown("argument", name, parameters, f"{self.__name__} takes")
        if len(examples) > len(parameters):
            raise InputError(f"{self.__name__} takes {len(parameters)} arguments after the robot, got {len(examples)}")
        self.unnamed = {k: p.default for k, p in parameters.items() if p.kind is p.POSITIONAL_ONLY}
        self.names: list[str] = []
        self.examples: list[Nest] = []
        self.constants: dict[str, Given] = {}
        for position, (name, parameter) in enumerate(parameters.items()):
            if position < len(examples):
                self._input(name, examples[position])
            elif name in given and _is_example(given[name]):
                self._input(name, given[name])
            elif name in given:
                self.constants[name] = given[name]
            elif parameter.default is inspect.Parameter.empty:
                self._input(name, _example_of(function, name, constant, self.__name__))
        if self.free:
            self.names.append("parameters")
            self.examples.append({path: constant.parameter(path) for path in self.free})

    def _input(self, name: str, example: Nest) -> None:
        self.names.append(name)
        self.examples.append(example)

    def __call__(self, *arrays: Nest) -> Nest:
        while _waiting:  # it is being traced: nothing was found in the cache
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
        """Whether the function is footfall's own: it needs no replay, and its source digest can name it."""
        inner = _unwrapped(self.original)
        return (getattr(inner, "__module__", None) or "").startswith("footfall.") and "<" not in getattr(
            inner, "__qualname__", "<"
        )

    def _digest(self) -> str:
        """Of the constant; numbers of a ground that are inputs do not count: no decision of a trace is made by them."""
        grounds = {p: np.zeros(np.shape(self.constant.parameter(p))) for p in self.free if p.startswith("ground.")}
        return str((self.constant.with_parameters(grounds) if grounds else self.constant).digest)

    def key(self) -> str | None:
        """A name for this function, its constants and shapes; None for a user's function, which is always retraced."""
        if not self.is_library or getattr(self.constant, "digest", None) is None:
            return None
        inner, parts = _unwrapped(self.original), []
        if isinstance(self.original, functools.partial):
            parts = [self.original.args, sorted(self.original.keywords.items())]
        constants = [*parts, sorted(self.constants.items())]
        if not _plain(constants):
            return None
        shapes = _shapes(self.examples)
        words = (
            source_digest(),
            inner.__module__,
            inner.__qualname__,
            constants,
            self._digest(),
            self.free,
            shapes,
        )
        return hashlib.sha256(repr(words).encode()).hexdigest()


def compile(
    function: Function,
    robot: Foreign = None,
    *examples: Nest,
    target: str = "native",
    dtype: DTypeLike = np.float64,
    free: Sequence[str] = (),
    lanes: int | None = None,
    cache: CacheChoice = True,
    verify: bool | None = None,
    limbs: bool = True,
    **given: Any,
) -> Compiled:
    """The function as machine code, with the same signature less the robot.

    >>> fd = ff.compile(ff.dynamics.forward_dynamics, robot)
    >>> a = fd(q, v, tau)

    target: ``native`` (one robot), ``batch`` (every argument with a leading robot axis), or ``interpret``.
    free: parameters that stay inputs: ``free=["trunk.mass"]``, then ``fd(q, v, tau, {"trunk.mass": 4.0})``.
    verify: replay the trace against NumPy; None does so for functions that are not footfall's own.
    limbs: of one robot, four legs that are alike share vector instructions; the numbers are the same either way.
    given: keyword arguments of the function; arrays become inputs (their shape counts), anything else is a constant.
    """
    from footfall import trace

    bound = Bound(function, robot, examples, free, given)
    verify = not bound.is_library if verify is None else verify
    key = bound.key() if cache else None
    with _patience(bound.__name__, key is not None):
        return trace.compile(
            bound, *bound.examples, target=target, dtype=dtype, lanes=lanes, cache=cache, verify=verify,
            names=bound.names, key=key, limbs=limbs,
        )  # fmt: skip


_QUIET = 0.5  # [s] that compiling may take before it is said
_said = threading.Event()
_waiting: list[threading.Timer] = []  # started by the first call for a trace
_STEPS = dict.fromkeys(("tick", "physics"), "the step of a simulation")


@contextlib.contextmanager
def _patience(name: str, kept: bool) -> Iterator[None]:
    """Say once, to a person who waits at a terminal or in a notebook, that something is being compiled."""
    if _said.is_set() or not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        yield
        return
    words = f"footfall: compiling {_STEPS.get(name, name)}{', cached from now on' if kept else ''}"

    def say() -> None:
        if not _said.is_set():
            _said.set()
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


def jacobian(
    function: Function, robot: Foreign = None, *examples: Nest, wrt: Given, free: Sequence[str] = (), **options: Any
) -> Jacobian | WrittenJacobian:
    """Exact derivatives by the arguments named in ``wrt``: arrays of shape result.shape + argument.shape.

    ``wrt="parameters"`` differentiates by the free parameters. Options: target (native, interpret), dtype, lanes (so
    many directions at a time), cache, at_zero (``wrt`` are deviations, zero where the derivative is taken), and keyword
    arguments of the function as in ``compile``.
    """
    from footfall import trace

    settings, given = _split_options(options, "at_zero")
    bound = Bound(function, robot, examples, free, given)
    key = bound.key() if settings.get("cache", True) else None
    return trace.jacobian(bound, *bound.examples, wrt=wrt, names=bound.names, key=key, **settings)


def gradient(
    function: Function, robot: Foreign = None, *examples: Nest, wrt: Given, free: Sequence[str] = (), **options: Any
) -> Compiled:
    """The gradient of a function that returns one number, by reverse mode.

    settled=True: a contact step moves as the solution that it settled on. That is not quite exact where a foot was
    found to slide another way than it did, and several times faster over many steps.
    """
    from footfall import trace

    settings, given = _split_options(options, "settled")
    bound = Bound(function, robot, examples, free, given)
    return trace.gradient(bound, *bound.examples, wrt=wrt, names=bound.names, **settings)


def program(
    function: Function, robot: Foreign = None, *examples: Nest, free: Sequence[str] = (), **given: Any
) -> Program:
    """The traced program: ``print(ff.program(f, robot))`` lists it, ``.size`` counts its operations."""
    from footfall import trace

    bound = Bound(function, robot, examples, free, given)
    return trace.program_of(bound, *bound.examples, names=bound.names)


def _check_constant(constant: Foreign, title: str) -> None:
    """Refuse arrays in the robot's place: they would be folded into the program, where an input was meant."""
    if isinstance(constant, (np.ndarray, np.generic, float, int, list, tuple, Mapping)):
        raise InputError(
            f"{title}: what follows the function is its constant, a Robot or the like, not {type(constant).__name__}: a"
            f" function of arrays alone takes None there, as in ff.compile({title}, None, ...)"
        )


# -- shapes -----------------------------------------------------------------------------------------------------------
def _parameters(function: Function, constant: Foreign) -> dict[str, inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise InputError(f"{function!r} has no signature that can be read: wrap it in a def") from None
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(f"a function with *{parameter.name} cannot be compiled: name its arguments")
    if constant is not None:
        if not parameters:
            raise InputError("the function takes no argument for the robot")
        parameters = parameters[1:]
    return {p.name: p for p in parameters}


def _example_of(function: Function, name: str, constant: Foreign, title: str) -> Nest:
    """An example made from the annotation of an argument: generic numbers of the right shape."""
    inner = _unwrapped(function)
    try:
        annotation = typing.get_type_hints(inner, include_extras=True).get(name)
    except Exception:  # an annotation that names something unknown here
        annotation = None
    shape = _annotated_shape(annotation, constant)
    if shape is None and constant is None and name == "robot":
        raise InputError(f"{title} takes a robot, which follows it: ff.compile({title}, robot)")
    if shape is None:
        raise InputError(f"{title}: the shape of argument '{name}' is not known; give an example, or annotate it")
    random = np.random.default_rng(len(name))
    if isinstance(constant, Robot) and name == "q" and shape == (constant.nq,):
        q = random.normal(size=shape)
        if constant.floating:
            q[3:7] /= np.sqrt(q[3:7] @ q[3:7])
        return q
    return random.normal(size=shape) if shape else float(random.normal())


def _annotated_shape(annotation: object, constant: Foreign) -> tuple[int, ...] | None:
    if annotation is float:
        return ()
    for choice in typing.get_args(annotation) or (annotation,):
        words = getattr(choice, "dim_str", None)
        if words is not None:
            try:
                return tuple(int(w) if w.isdigit() else int(getattr(constant, w)) for w in words.split())
            except (AttributeError, TypeError):
                return None
    return None


def _is_example(value: object) -> bool:
    return isinstance(value, np.ndarray)


def _shapes(nest: Nest) -> str:
    from footfall.trace.face import tree

    leaves, _ = tree.flatten(nest)
    return repr(([np.shape(x) for x in leaves], _structure(nest)))


def _structure(nest: Nest) -> object:
    if isinstance(nest, Mapping):
        return {k: _structure(v) for k, v in nest.items()}
    if isinstance(nest, (tuple, list)):
        return [_structure(v) for v in nest]
    return type(nest).__qualname__


def _plain(value: object) -> bool:
    """Whether repr names the value fully."""
    if isinstance(value, (tuple, list)):
        return all(map(_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _unwrapped(function: Function) -> Foreign:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _split_options(options: dict[str, Given], *more: str) -> tuple[dict[str, Given], dict[str, Given]]:
    known = ("target", "dtype", "lanes", "cache", *more)
    return {k: v for k, v in options.items() if k in known}, {k: v for k, v in options.items() if k not in known}


@functools.cache
def source_digest() -> str:
    """A digest of footfall's own source, by which compiled library functions are kept on disk."""
    state = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        state.update(str(path.relative_to(_PACKAGE)).encode() + path.read_bytes())
    return state.hexdigest()

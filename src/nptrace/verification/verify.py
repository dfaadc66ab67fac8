"""Verify that a trace equals its function: compare two traces, the reachable state, and results with NumPy's."""

import copy
from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from nptrace import numeric
from nptrace._types import PyTree
from nptrace.errors import TraceMismatch
from nptrace.frontend import tree
from nptrace.ir.graph import Graph, Node
from nptrace.verification.closure_state import ClosureState
from nptrace.verification.effects import effect_of

_ROUNDING = 1e-15  # relative change of an argument; a change of the result by this is rounding
_REMEDY = "a traced function must be pure: pass state as an argument and return the new state"


class Recorded(Protocol):
    """The attributes of a trace that verification reads."""

    graph: Graph
    outputs: list[Node]
    result: object

    @property
    def input_size(self) -> int: ...


T = TypeVar("T", bound=Recorded)


def verify_trace(
    trace: Callable[..., T],
    function: Callable[..., PyTree],
    examples: tuple,
    samples: int,
    tolerance: float,
    seed: int,
    subject: object = None,
) -> T:
    """Return the verified trace of ``function``; ``trace`` is the tracer.

    Hidden state is searched for in ``subject`` (by default the function itself), and restored if verification fails.
    """
    subject = function if subject is None else subject
    around, token = ClosureState(subject), numeric.verifying.set(_refuse)
    try:
        around.refuse_iterators(_name(function))
        settled = _warm_up(function, examples, around, seed)
        return _verified(trace, function, examples, samples, tolerance, seed, settled)
    except BaseException:
        around.restore()
        raise
    finally:
        numeric.verifying.reset(token)


def _refuse(words: str) -> None:
    raise TraceMismatch(words)


def _warm_up(function: Callable[..., PyTree], examples: tuple, around: ClosureState, seed: int) -> ClosureState:
    """Return the reachable state of a function after its first calls, on numbers.

    A value that it computes once and caches is not hidden state if it is always the same and changes no result. Side
    effects would be lost in compiled code.
    """
    try:
        first = _results(function, examples)
    except TraceMismatch:
        raise
    except Exception:  # tracing gives a better message for the same error
        return ClosureState(around.subject)
    kept = around
    if around.changed():
        kept = ClosureState(around.subject)
        around.restore()
        try:
            _results(function, _near(examples, 0.1, np.random.default_rng(seed)))
        except Exception:
            _results(function, examples)  # not defined there
        kept.check(_name(function), "being called for the first time")
    again: list[PyTree] = []
    try:
        effect = effect_of(lambda: again.append(_results(function, examples)))
    except Exception as error:
        raise TraceMismatch(f"{_name(function)} raises {error!r} when it is called again; {_REMEDY}") from error
    kept.check(_name(function), "being called")
    if effect:
        raise TraceMismatch(f"{_name(function)} {effect}, which compiled code would not do; {_REMEDY}")
    _check_repeats(function, _flat(first), _flat(again[0]))
    return kept


def _results(function: Callable[..., PyTree], arguments: tuple) -> PyTree:
    with np.errstate(all="ignore"):
        return function(*copy.deepcopy(arguments))


def _verified(
    trace: Callable[..., T],
    function: Callable[..., PyTree],
    examples: tuple,
    samples: int,
    tolerance: float,
    seed: int,
    around: ClosureState,
) -> T:
    from nptrace.codegen import interpret
    from nptrace.ir import program

    first = trace(function, *examples)
    second = trace(function, *examples)
    around.check(_name(function), "being traced")
    if first.graph.nodes != second.graph.nodes or first.outputs != second.outputs or not _same_constants(first, second):
        raise TraceMismatch(
            f"two traces of {_name(function)} differ: it keeps hidden state or draws random numbers; {_REMEDY}"
        )
    code = program.build(first.graph, first.outputs, first.input_size)
    random = np.random.default_rng(seed)

    def compare(arguments: tuple) -> str | None:
        reference = _call(function, arguments, first.result)
        around.check(_name(function), "being called")
        inputs = np.array([x for leaf in tree.flatten(arguments)[0] for x in np.ravel(leaf)], dtype=float)
        got = interpret.evaluate(code, inputs) if first.outputs else np.zeros(0)
        if _difference(got, reference, tolerance) is None:
            return None
        # a stiff function (a large contact force) amplifies rounding: its result shows by how much
        rounded = (_near(arguments, _ROUNDING, random) for _ in range(4))
        moves = np.max([np.abs(_call(function, beside, first.result) - reference) for beside in rounded], axis=0)
        return _difference(got, reference, tolerance, 10.0 * np.where(np.isfinite(moves), moves, 0.0))

    for sample in range(samples):
        arguments = examples if sample == 0 else _near(examples, 0.1 * sample, random)
        try:
            found = compare(arguments)
            # at a jump (x >= 0.1, floor) rounding may decide: slightly beside it the two must agree
            for _ in range(2):
                found = found and compare(_near(arguments, 1e-7, random))
        except (TraceMismatch, AssertionError):
            raise
        except Exception:
            if sample == 0:
                raise
            continue  # the function is not defined there
        if found:
            raise TraceMismatch(
                f"the trace of {_name(function)} differs from the function: {found}; it keeps hidden state, draws"
                " random"
                f" numbers, or takes a branch that depends on a value or its type; {_REMEDY}"
            )
    return first


def _call(function: Callable[..., PyTree], arguments: tuple, traced: object) -> np.ndarray:
    """Return the outputs of the function, flat; checks that arguments are unchanged and the structure is as traced."""
    given = copy.deepcopy(arguments)
    before = [np.array(x) for x in tree.flatten(given)[0]]
    with np.errstate(all="ignore"):
        result = function(*given)
        again = function(*copy.deepcopy(arguments))
    after = tree.flatten(given)[0]
    for k, argument in enumerate(given):
        changed = tree.difference(argument, arguments[k], f"argument {k}")
        if changed:
            raise TraceMismatch(f"{_name(function)} changes its argument: afterwards {changed}; {_REMEDY}")
    for k, (x, y) in enumerate(zip(before, after)):
        if x.shape != np.shape(y) or not np.array_equal(x, y, equal_nan=True):
            raise TraceMismatch(f"{_name(function)} changes array {k} of its arguments in place; {_REMEDY}")
    changed = tree.difference(result, traced, "the result")
    if changed:
        raise TraceMismatch(f"{_name(function)} returns a different structure when traced: {changed}")
    flat = _flat(result)
    _check_repeats(function, flat, _flat(again))
    return flat


def _check_repeats(function: Callable[..., PyTree], flat: np.ndarray, repeated: np.ndarray) -> None:
    if flat.shape != repeated.shape or not np.array_equal(flat, repeated, equal_nan=True):
        raise TraceMismatch(
            f"two calls of {_name(function)} with the same arguments differ: it keeps hidden state or draws random"
            f" numbers; {_REMEDY}"
        )


def _flat(result: object) -> np.ndarray:
    return np.array([x for leaf in tree.flatten(result)[0] for x in np.ravel(leaf)], dtype=float)


def _difference(got: np.ndarray, expected: np.ndarray, tolerance: float, slack: np.ndarray | float = 0.0) -> str | None:
    if got.shape != expected.shape:
        return f"it has {got.size} outputs where NumPy has {expected.size}"
    scale = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    wrong = ~np.isclose(got, expected, rtol=tolerance, atol=tolerance * scale + slack, equal_nan=True)
    if not wrong.any():
        return None
    worst = int(np.argmax(wrong))
    return f"it gives {got[worst]:g} where NumPy gives {expected[worst]:g} (output {worst})"


def _near(arguments: tuple, spread: float, random: np.random.Generator) -> tuple:
    """Return arguments near the given ones: a function may be undefined elsewhere (a quaternion, a mass)."""
    leaves, rebuild = tree.flatten(arguments)
    return rebuild([_beside(x, spread, random) for x in leaves])


def _beside(x: PyTree, spread: float, random: np.random.Generator) -> PyTree:
    values = np.asarray(x)
    if values.dtype == bool:
        moved = np.where(random.random(values.shape) < spread, ~values, values)
    elif values.dtype.kind in "iu":
        moved = values + (random.integers(-1, 2, values.shape) if spread > 1e-3 else 0)
    else:
        size = np.where(values == 0, 0.1, np.abs(values))
        moved = values + spread * size * random.normal(size=values.shape)
    if isinstance(x, np.ndarray):
        return np.asarray(moved, dtype=values.dtype)
    return type(x)(np.asarray(moved).item())


def _same_constants(first: Recorded, second: Recorded) -> bool:
    return tree.difference(first.result, second.result) is None


def _name(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)

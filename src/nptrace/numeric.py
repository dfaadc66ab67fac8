"""The functions of traced code beyond plain NumPy: choices, lookups, loops and rules for derivatives.

A running trace sets ``tracer``; without one, these functions are plain NumPy. (The types of the arguments do not tell:
a loop may carry plain zeros and use traced values only through its closure.) This file imports no other file of the
package.
"""

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

__all__ = [
    "custom_fixed_point",
    "gradient_bottleneck",
    "is_tracing",
    "lookup",
    "mark_derivative_invalid",
    "no_fold",
    "norm",
    "repeat",
    "scan",
    "select",
    "smoothstep",
    "solution",
    "stop_gradient",
    "untraced",
]

PyTree: TypeAlias = Any  # tuples, lists, dicts and dataclasses of arrays and numbers, or of symbols in their place
Scalar: TypeAlias = float | np.ndarray  # a number, or an array of them; a traced number passes for a np.float64
Operand: TypeAlias = Any  # arrays and numbers, or symbols in their place
Own: TypeAlias = Any  # internal to the tracer: unknown here
T = TypeVar("T")  # a pytree that is returned with the same structure
Rows = TypeVar("Rows")  # a pytree of arrays of one length
Outs = TypeVar("Outs")


class Running(Protocol):
    """A running trace, which replaces the functions below."""

    differentiable: bool
    scope: int

    @property
    def graph(self) -> Own: ...

    @property
    def refusals(self) -> list[Own]: ...

    def lookup(self, table: Scalar, position: tuple[Scalar, ...]) -> Scalar: ...

    def random(self, parts: Sequence[tuple[int, int, int]], words: Sequence[Scalar]) -> list[Operand]: ...

    def no_fold(self, values: Scalar, which: Scalar, name: Hashable) -> Scalar: ...

    def repeat(
        self,
        count: int,
        body: Callable[[float, T], T],
        carry: T,
        until: Callable[[T], Scalar] | None,
        check_first: bool,
        body_holds: bool,
    ) -> T: ...

    def scan(
        self, body: Callable[[T, Rows], tuple[T, Outs]], carry: T, rows: Rows, reverse: bool
    ) -> tuple[T, Outs]: ...

    def stop_gradient(self, x: T) -> T: ...

    def gradient_bottleneck(self, x: T) -> T: ...

    def custom_fixed_point(self, found: T, closer: Callable[[T], T], always: bool) -> T: ...

    def mark_derivative_invalid(self, condition: Scalar) -> None: ...


tracer: ContextVar[Running | None] = ContextVar("nptrace_tracer", default=None)
# while a function is verified before compilation: raises an error if ``body_holds`` does not hold
verifying: ContextVar[Callable[[str], None] | None] = ContextVar("nptrace_verifying", default=None)


def select(condition: Scalar, a: Scalar, b: Scalar) -> Operand:
    """Return a where the condition holds, else b; both are evaluated.

    Args:
        condition: 0 or 1.
        a: Numbers.
        b: Numbers.

    Returns:
        a or b.
    """
    return np.where(condition, a, b)


def lookup(table: Scalar, *position: Scalar) -> Operand:
    """Return table[floor(i), floor(j), ...], with every index clamped to the table.

    Its derivative by the position is zero. A table that is constant becomes part of the program; one that is an
    argument of the traced function is read at run time.

    Args:
        table: Array.
        *position: One real number per axis.

    Returns:
        The entry; NaN at a position that is NaN.
    """
    active = tracer.get()
    if active is not None:
        return active.lookup(table, position)
    table = np.asarray(table, dtype=float)
    if table.ndim != len(position):
        raise ValueError(f"lookup: a table of {table.ndim} axes needs {table.ndim} positions, got {len(position)}")
    at = (np.fmin(np.fmax(np.floor(p), 0), n - 1).astype(int) for p, n in zip(position, table.shape))
    lost = np.logical_or.reduce(np.broadcast_arrays(*map(np.isnan, position)))
    return np.where(lost, np.nan, table[tuple(at)])[()]


def no_fold(values: Scalar, which: Scalar, name: Hashable) -> Operand:
    """Return values that a trace does not simplify, even if they are 0 or 1.

    Functions of numbers that differ in their zeros and ones then have the same program.

    Args:
        values: Numbers.
        which: Mask of the values that are kept.
        name: Distinguishes these numbers: equal ones with different names are not merged.

    Returns:
        ``values``.
    """
    active = tracer.get()
    return values if active is None else active.no_fold(values, which, name)


def is_tracing() -> bool:
    """Return whether a trace is running in this thread.

    Returns:
        True if numbers may be symbols.
    """
    return tracer.get() is not None


@contextmanager
def untraced() -> Iterator[None]:
    """Run a block of code without tracing: for values that are computed from constants and outlive the trace.

    Returns:
        A context manager.
    """
    token = tracer.set(None)
    try:
        yield
    finally:
        tracer.reset(token)


def repeat(
    count: int,
    body: Callable[[float, T], T],
    carry: T,
    until: Callable[[T], Scalar] | None = None,
    check_first: bool = False,
    body_holds: bool = False,
) -> T:
    """Repeat carry = body(i, carry) for i = 0.0, 1.0, ..., count - 1, as a loop when traced.

    With ``until`` the loop ends once ``until(carry)`` holds. Elements of a batch that share a vector register continue
    until it holds for all of them; finished elements keep their carry, so that every element gets the result that it
    would get alone. Derivatives are those of the executed iterations; for solvers see ``custom_fixed_point``.

    The body is traced once, so it must not change anything outside of itself.

    Args:
        count: Number of iterations, at most.
        body: ``body(i, carry)``; i is a real number and cannot index (use ``lookup``).
        carry: Any pytree of arrays and numbers; shapes do not change.
        until: When the loop may end.
        check_first: The loop may end before its first iteration; it then cannot be differentiated.
        body_holds: Promise that the body returns, bit for bit, every carry for which ``until`` holds; saves one
            selection per carried number. The promise is tested when a function is verified.

    Returns:
        The last carry.
    """
    active = tracer.get()
    if active is not None:
        return active.repeat(count, body, carry, until, check_first, body_holds)
    if check_first and until is not None and until(carry):
        return carry
    for i in range(count):
        carry = body(float(i), carry)
        if until is not None and until(carry):
            refuse = verifying.get()
            if body_holds and refuse is not None and i + 1 < count:
                after = body(float(i + 1), carry)
                pairs = zip(_leaves(carry), _leaves(after), strict=True)
                if not all(np.array_equal(x, y, equal_nan=True) for x, y in pairs):
                    refuse(
                        "repeat(..., body_holds=True): the body changes a carry for which until already holds; leave"
                        " body_holds out"
                    )
            break
    return carry


def scan(body: Callable[[T, Rows], tuple[T, Outs]], carry: T, rows: Rows, reverse: bool = False) -> tuple[T, Outs]:
    """Compute carry, outs[i] = body(carry, rows[i]) for every row, as a loop when traced.

    >>> last, sums = nptrace.scan(lambda total, x: (total + x, total + x), 0.0, np.arange(5.0))

    Args:
        body: ``body(carry, row)`` returns the next carry and a row of ``outs``.
        carry: Any pytree of arrays and numbers; shapes do not change.
        rows: Any pytree of arrays of one length.
        reverse: From the last row to the first; row i still gives row i of ``outs``.

    Returns:
        The last carry, and ``outs``.
    """
    active = tracer.get()
    if active is not None:
        return active.scan(body, carry, rows, reverse)
    counts = {len(leaf) for leaf in _leaves(rows)}
    if len(counts) != 1 or counts == {0}:
        raise ValueError(f"scan: the rows must be arrays of equal length, at least 1, not of lengths {sorted(counts)}")
    count, outs = counts.pop(), []
    for i in reversed(range(count)) if reverse else range(count):
        carry, out = body(carry, _each(lambda leaf, row=i: leaf[row], rows))
        outs.append(out)
    return carry, _each(lambda *leaves: np.stack(leaves), *(outs[::-1] if reverse else outs))


def _leaves(pytree: object) -> list[np.ndarray]:
    found: list[np.ndarray] = []

    def keep(leaf: np.ndarray) -> np.ndarray:
        found.append(leaf)
        return leaf

    _each(keep, pytree)
    return found


def _each(function: Callable[..., PyTree], *pytrees: PyTree) -> PyTree:
    """Apply ``function`` to the arrays of pytrees of the same structure."""
    first = pytrees[0]
    if isinstance(first, dict):
        return {key: _each(function, *(pytree[key] for pytree in pytrees)) for key in first}
    if isinstance(first, (tuple, list)):
        parts = [_each(function, *part) for part in zip(*pytrees, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [f.name for f in dataclasses.fields(first)]
        parts = [_each(function, *(getattr(pytree, name) for pytree in pytrees)) for name in names]
        return dataclasses.replace(first, **dict(zip(names, parts)))
    return first if first is None else function(*map(np.asarray, pytrees))


def stop_gradient(x: T) -> T:
    """Return x with a derivative of zero.

    Args:
        x: Numbers.

    Returns:
        ``x``.
    """
    active = tracer.get()
    return x if active is None else active.stop_gradient(x)


def custom_fixed_point(found: T, closer: Callable[[T], T], always: bool = True) -> T:
    """Return a solver's result, with the derivative of the solution instead of that of the iterations.

    ``closer(x)`` is a Newton step from x, x - (dF/dx)⁻¹ F(x). At a solution its derivative by x is zero, so that with x
    constant it changes as the solution does (implicit function theorem). Only the derivative of ``closer`` is used;
    without differentiation it is not called.

    >>> root = nptrace.custom_fixed_point(root, lambda x: x - (x * x - a) / (2.0 * x))

    Args:
        found: The solver's result.
        closer: A step of Newton's method.
        always: If False, ``closer`` uses ``mark_derivative_invalid`` where the derivative of the iterations applies
            instead.

    Returns:
        ``found``.
    """
    active = tracer.get()
    return found if active is None else active.custom_fixed_point(found, closer, always)


def mark_derivative_invalid(condition: Scalar) -> None:
    """Declare, in a closer of ``custom_fixed_point(..., always=False)``, where its derivative does not apply.

    Args:
        condition: Where it does not apply.
    """
    active = tracer.get()
    if active is not None:
        active.mark_derivative_invalid(condition)


def solution(
    factors: tuple[PyTree, ...], solve: Callable[..., PyTree], b: PyTree, residual: Callable[[PyTree], PyTree]
) -> PyTree:
    """Return x = solve(*factors, b), the solution of a linear system A x = b, with the derivative of the equation.

    A dx = db - dA x: the factors are reused for all directions and are not differentiated.

    Args:
        factors: Factors of A.
        solve: ``solve(*factors, b)``.
        b: Right-hand side.
        residual: ``residual(x)`` is b - A x.

    Returns:
        x.
    """
    return custom_fixed_point(solve(*factors, b), lambda x: x + solve(*stop_gradient(factors), residual(x)))


def gradient_bottleneck(x: T) -> T:
    """Mark a few values through which many outputs depend on many inputs: the Jacobian is computed as a product there.

    Args:
        x: Numbers.

    Returns:
        ``x``.
    """
    active = tracer.get()
    return x if active is None else active.gradient_bottleneck(x)


def smoothstep(x: Scalar) -> Operand:
    """Return 0 below 0, 1 above 1, and 3 x² - 2 x³ between: continuous with its first derivative.

    Args:
        x: Number.

    Returns:
        Number from 0 to 1.
    """
    x = np.clip(x, 0, 1)
    return x * x * (3 - 2 * x)


def norm(x: Scalar, epsilon: float = 0.0) -> float:
    """Return the length of a vector, sqrt(x · x + epsilon²).

    Args:
        x: Vector.
        epsilon: A small number rounds off the kink at x = 0, where the derivative is otherwise NaN.

    Returns:
        Length.
    """
    return np.sqrt(np.sum(np.square(x)) + epsilon * epsilon)


def __dir__() -> list[str]:
    return sorted(__all__)

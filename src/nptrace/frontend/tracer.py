"""Run a plain-NumPy function on symbols and record its operations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from nptrace import numeric
from nptrace._types import PyTree
from nptrace.errors import TraceError
from nptrace.frontend import tree
from nptrace.frontend.array import elements, is_truth
from nptrace.frontend.constructors import symbolic_constructors
from nptrace.frontend.regions import Tracer, as_symbols
from nptrace.frontend.scalar import node_of
from nptrace.ir.graph import Graph, Node
from nptrace.ir.refusal import foreign, place_of
from nptrace.ir.scope import Scopes
from nptrace.verification.verify import verify_trace


@dataclass(kw_only=True)
class Trace:
    """A recorded function: flat inputs and outputs, and how to fold them into pytrees of arrays."""

    graph: Graph
    input_shapes: list[tuple[int, ...]]
    argument_sizes: list[int]  # flat inputs of every positional argument
    outputs: list[Node]
    output_shapes: list[tuple[int, ...]]
    rebuild_output: Callable[[Sequence[PyTree]], PyTree]
    invalid_flags: list[Node] = field(default_factory=list)  # numbers that are 1 where its derivatives are invalid
    result: PyTree = None  # the pytree of symbols that the function returned, for tree.describe

    @property
    def input_size(self) -> int:
        return sum(self.argument_sizes)


def trace(
    function: Callable[..., PyTree],
    *examples: object,
    differentiable: bool = False,
    track_validity: bool = False,
    assume_valid: bool = False,
    reverse: bool = False,
) -> Trace:
    """Trace a function on symbols shaped like the examples.

    Truth values are the numbers 0 and 1. Raises TraceError, naming the user's line, for anything a trace cannot record.

    Args:
        function: Plain NumPy.
        *examples: Pytrees of arrays and numbers; their shapes count.
        differentiable: Prepare for differentiation: record ``custom_fixed_point``.
        track_validity: Record where its derivative does not apply; the caller must read ``invalid_flags``.
        assume_valid: Take its derivative in any case.
        reverse: Prepare for reverse mode, through all iterations that loops can make.

    Returns:
        Graph, inputs and outputs.
    """
    graph, arguments, argument_sizes, input_shapes, position = Graph(), [], [], [], 0
    for example in examples:
        leaves, rebuild = tree.flatten(example)
        filled, start = [], position
        for leaf, shape in zip(leaves, tree.shapes(leaves)):
            _check_numeric(leaf)
            nodes = [graph.input(position + k) for k in range(tree.size(shape))]
            filled.append(as_symbols(graph, nodes, shape, is_truth(leaf)))
            input_shapes.append(shape)
            position += len(nodes)
        arguments.append(rebuild(filled))
        argument_sizes.append(position - start)
    active = Tracer(graph, differentiable, track_validity, assume_valid, reverse)
    token = numeric.tracer.set(active)
    try:
        with symbolic_constructors(), np.errstate(all="ignore"):  # NumPy warns when run on numbers
            result = function(*arguments)
            leaves, rebuild = tree.flatten(result)
            outputs = [node_of(graph, x) for leaf in leaves for x in elements(leaf)]
    except TraceError as error:
        raise _first(active, error) from error.__cause__
    except Exception as error:
        refused = _translated(active, error)
        if refused is None:
            raise  # the user's own
        raise refused from error
    finally:
        numeric.tracer.reset(token)
    if active.refusals:
        raise active.refusals[0]
    if graph.regions:
        Scopes(graph, outputs)  # raises if a value from inside a loop is used outside
    return Trace(
        graph=graph,
        input_shapes=input_shapes,
        argument_sizes=argument_sizes,
        outputs=outputs,
        output_shapes=tree.shapes(leaves),
        rebuild_output=rebuild,
        invalid_flags=active.invalid_flags or [],
        result=result,
    )


def _check_numeric(leaf: object) -> None:
    kind = np.asarray(leaf).dtype
    if kind.kind not in "fiub":
        raise TraceError(f"an example holds an array of {kind}: traced values are real numbers")


def _first(active: Tracer, error: TraceError) -> TraceError:
    """Return the first error: a later one may only be its consequence."""
    return active.refusals[0] if active.refusals else error


_NUMPY_WORDS = (
    "loop of ufunc",
    "ufunc '",
    "Scalar",
    "traced",
    "object arrays",
    "dtype('O')",
    "object_",
    "setting an array element",
    "arrays used as indices",
    "only integer",
    "only integers",
    "read-only",
    "inhomogeneous",
    "Python object",
    "a real number is required",
)


def _translated(active: Tracer, error: Exception) -> TraceError | None:
    """Return a TraceError for an exception that a traced value caused inside NumPy; None for any other exception."""
    if active.refusals:
        return active.refusals[0]
    if isinstance(error, ZeroDivisionError):
        return TraceError(f"division by the constant zero in a traced function{place_of(error)}")
    words = foreign(error)
    if words is not None:
        return TraceError(words)
    if isinstance(error, (TypeError, IndexError, ValueError, AttributeError)) and any(
        w in str(error) for w in _NUMPY_WORDS
    ):
        return TraceError(
            f"NumPy cannot do this with traced values ({error}): make arrays of traced values with np.array or"
            f" np.stack inside the traced function, choose with np.where, read tables with lookup{place_of(error)}"
        )
    return None


def verify(
    function: Callable[..., PyTree],
    *examples: object,
    samples: int = 3,
    tolerance: float = 1e-9,
    seed: int = 0,
    subject: object = None,
) -> Trace:
    """Trace twice and compare with NumPy; return the trace, or raise TraceMismatch that tells how they differ.

    Detects what a trace cannot record: counters, random numbers, clocks, changed arguments, branches on a value's type.
    ``subject``: where to look for hidden state, if ``function`` is only a wrapper.
    """
    return verify_trace(trace, function, examples, samples, tolerance, seed, subject)

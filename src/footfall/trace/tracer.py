"""Run a plain-NumPy function on symbols and keep what it did."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from footfall import numeric
from footfall.errors import TraceError
from footfall.nests import Nest, Operand
from footfall.trace.face import tree
from footfall.trace.face.array import elements, is_truth
from footfall.trace.face.constructors import symbolic_constructors
from footfall.trace.face.regions import Tracer, as_symbols
from footfall.trace.face.scalar import node_of
from footfall.trace.graph.graph import Graph, Node
from footfall.trace.graph.refusal import foreign, place_of
from footfall.trace.graph.scope import Scopes
from footfall.trace.verification.verify import verify_trace


@dataclass
class Trace:
    """A recorded function: flat inputs, flat outputs, and how to fold both back into nests of arrays."""

    graph: Graph
    input_shapes: list[tuple[int, ...]]
    argument_sizes: list[int]  # flat inputs of every positional argument
    outputs: list[Node]
    output_shapes: list[tuple[int, ...]]
    rebuild_output: Callable[[Sequence[Nest]], Nest]
    doubts: list[Node] = field(default_factory=list)  # numbers that are 1 where its derivatives are not to be trusted
    result: Nest = None  # the nest that the function returned, of symbols: for tree.describe

    @property
    def input_size(self) -> int:
        return sum(self.argument_sizes)


def trace(
    function: Callable[..., Nest], *examples: Nest, slopes: bool = False, doubts: bool = False, trusts: bool = False
) -> Trace:
    """Trace ``function`` on symbols shaped like the examples (nests of arrays and numbers, see tree.py).

    Raises TraceError, naming the user's line, for what a trace cannot record. Truth values are given and returned as
    the numbers 0 and 1. ``slopes``: the trace is to be differentiated, and knows what ``numeric.solved`` says;
    ``doubts``: also where that holds only unless ``numeric.doubted``, which its reader must heed; ``trusts``: in any
    case.
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
    active = Tracer(graph, slopes, doubts, trusts)
    token = numeric.tracer.set(active)
    try:
        with symbolic_constructors(), np.errstate(all="ignore"):  # NumPy itself warns where the numbers are
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
        Scopes(graph, outputs)  # refuses a value that was kept from inside a loop
    return Trace(
        graph, input_shapes, argument_sizes, outputs, tree.shapes(leaves), rebuild, active.doubts or [], result
    )


def _check_numeric(leaf: Operand) -> None:
    kind = np.asarray(leaf).dtype
    if kind.kind not in "fiub":
        raise TraceError(f"an example holds an array of {kind}: traced values are real numbers")


def _first(active: Tracer, error: TraceError) -> TraceError:
    """The refusal that came first: a later one may only be its consequence."""
    return active.refusals[0] if active.refusals else error


_NUMPY_WORDS = (
    "loop of ufunc", "ufunc '", "Scalar", "traced", "object arrays", "dtype('O')", "object_",
    "setting an array element", "arrays used as indices", "only integer", "only integers", "read-only",
    "inhomogeneous", "Python object", "a real number is required",
)  # fmt: skip


def _translated(active: Tracer, error: Exception) -> TraceError | None:
    """A TraceError for an exception that a traced value caused inside NumPy; None if it is the user's own."""
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
            f"NumPy cannot do this with traced values ({error}): make arrays of traced values with np.array or np.stack"
            f" inside the traced function, choose with np.where, read tables with lookup{place_of(error)}"
        )
    return None


def verify(
    function: Callable[..., Nest],
    *examples: Nest,
    samples: int = 3,
    tolerance: float = 1e-9,
    seed: int = 0,
    subject: object = None,
) -> Trace:
    """Trace twice and replay against NumPy; returns the trace, or raises TraceMismatch that says how they differ.

    Finds what a trace cannot see: counters, random numbers, clocks, changed arguments, branches on the type of a value.
    ``subject``: where to look for hidden state, if the function only stands for another thing that is called.
    """
    return verify_trace(trace, function, examples, samples, tolerance, seed, subject)

"""``compile``: turn a plain-NumPy function into a callable with the same signature on one of the targets.

Compiled code is cached on disk under the digest of its program. A caller that can identify a function's source and
constants may also give a ``key``: loading from the cache then needs no trace.
"""

from __future__ import annotations

import functools
import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from nptrace import errors
from nptrace.codegen import llvm
from nptrace.codegen.emit import Layout, first_is_state
from nptrace.errors import InputError
from nptrace.frontend import signature, tree
from nptrace.frontend.signature import Signature
from nptrace.ir import program as ssa
from nptrace.ir.graph import Graph, Node
from nptrace.ir.program import Program
from nptrace.passes.flattening import across_steps, flattened
from nptrace.passes.invariants import hoisted
from nptrace.passes.reductions import reassociated
from nptrace.passes.slp import vectorised
from nptrace.runtime import lanes as lane_width
from nptrace.runtime import machine
from nptrace.runtime.cache import Cache, Entry, digest, opened
from nptrace.runtime.callables import Function, Interpreted, PlainPython
from nptrace.runtime.gc_paused import gc_paused
from nptrace.runtime.machine_callables import Batch, Native
from nptrace.runtime.memory import Code

TARGETS = ("native", "batch", "interpret", "cuda")
FORMAT = 1  # format of the metadata in the cache
CacheChoice = Cache | str | os.PathLike | bool | None


class Lowerable(Protocol):
    """A graph and its output nodes."""

    graph: Graph
    outputs: list[Node]


def compile(
    function: Callable,
    *examples: object,
    target: str = "native",
    dtype: DTypeLike = np.float64,
    lanes: int | None = None,
    cache: CacheChoice = True,
    verify: bool = True,
    names: Sequence[str] | None = None,
    key: str | None = None,
    shared: object = (),
    host: machine.Host | None = None,
    vectorize: bool = True,
) -> Function:
    """Trace a function on the shapes of the examples and compile it.

    Args:
        function: Plain NumPy.
        *examples: Example arguments; their shapes count.
        target: ``native``, ``batch`` (a leading batch axis, ``lanes`` elements at a time) or ``interpret``.
        dtype: float64 or float32.
        lanes: Elements per vector register, for ``batch``.
        cache: Keep machine code on disk: True, False, or a folder.
        verify: Trace twice and compare with NumPy; a function whose trace differs runs in Python, with a warning.
        names: Names of the arguments.
        key: Name for the function and all its constants; code stored under it is used without tracing.
        shared: Arguments (positions or names) without a batch axis.
        host: Target machine; this one unless given.
        vectorize: Let groups of equal operations share vector instructions; the results are the same either way.

    Returns:
        A callable with the same signature.
    """
    dtype = _checked_dtype(dtype)
    _check_target(target)
    store = opened(cache)
    if key is not None and target in ("native", "batch"):
        found = load(key, target=target, dtype=dtype, lanes=lanes, cache=store, host=host, vectorize=vectorize)
        if found is not None and _fits(found, function, examples, names, shared):
            found._program = functools.partial(program, function, *examples, names=names)
            return found
    from nptrace.frontend import tracer

    try:
        with gc_paused():
            traced = tracer.verify(function, *_in_double(examples)) if verify else tracer.trace(function, *examples)
    except errors.TraceMismatch as error:
        name = signature.name_of(function)
        warnings.warn(
            f"{name} runs in Python, not compiled: {error}", machine.FallbackWarning, stacklevel=errors.callers_level()
        )
        return _plain(function, examples, dtype, target == "batch", names)
    sig = signature.of(function, examples, traced, names)
    with gc_paused():
        made = assemble(
            traced,
            sig,
            target=target,
            dtype=dtype,
            lanes=lanes,
            cache=store,
            key=key,
            shared=shared,
            host=host,
            vectorize=vectorize,
        )
    made.__doc__ = function.__doc__
    return made


def assemble(
    traced: Lowerable,
    sig: Signature,
    *,
    target: str = "native",
    dtype: DTypeLike = np.float64,
    lanes: int | None = None,
    cache: CacheChoice = True,
    key: str | None = None,
    shared: object = (),
    host: machine.Host | None = None,
    vectorize: bool = True,
) -> Function:
    """Compile a trace whose arguments and results are described by ``sig``."""
    dtype, store = _checked_dtype(dtype), opened(cache)
    code = ssa.build(traced.graph, traced.outputs, sum(sig.sizes), names=sig.labels())
    layout = first_is_state(sig.sizes, signature.positions(shared, sig.names, "shared"))
    if target == "interpret":
        return Interpreted(sig, dtype, code, False)
    if lanes is not None:
        _width(target, lanes)
    try:
        if reason := machine.unavailable():
            raise RuntimeError(reason)
        where = host or machine.host()
        waits = any(loop.stop is not None for loop in ssa.all_loops(code.body))
        width = _width(target, lanes) or lane_width.choose(where, dtype, store, code.size, waits)
        loaded, binary = build_code(code, layout, dtype, width, store, where, vectorize and target == "native")
    except (RuntimeError, OSError) as error:  # raised by llvmlite when LLVM fails
        machine.warn_interpreted(str(error))
        return Interpreted(sig, dtype, code, target == "batch")
    made = (Batch if target == "batch" else Native)(sig, loaded, code)
    made.statistics = {**code.statistics(), "one_loop": loaded.one_loop}
    if key is not None and store is not None and sig.output_spec is not None:
        _store(_full_key(key, target, dtype, lanes, where, vectorize), store, made, binary)
    return made


def program(function: Callable, *examples: object, names: Sequence[str] | None = None) -> Program:
    """Return the traced program of a function, in single-assignment form: ``print(program_of(f, x))`` lists it.

    Args:
        function: Plain NumPy.
        *examples: Example arguments; their shapes count.
        names: Names of the arguments.

    Returns:
        The program.
    """
    from nptrace.frontend import tracer

    traced = tracer.trace(function, *examples)
    sig = signature.of(function, examples, traced, names)
    return ssa.build(traced.graph, traced.outputs, sum(sig.sizes), names=sig.labels())


program_of = program


def build_code(
    code: Program,
    layout: Layout,
    dtype: np.dtype,
    lanes: int,
    store: Cache | None,
    host: machine.Host,
    vectorize: bool = False,
) -> tuple[Code, bytes]:
    """Return machine code from the cache or from LLVM: loaded, and as an object file."""
    key = digest(
        "program", FORMAT, code.digest(), layout.runs, dtype, lanes, vectorize, *machine_key(host), own_sources()
    )
    entry = store.get(key) if store else None
    if entry is None:
        entry = _lowered(code, layout, dtype, lanes, host, vectorize)
        if store:
            store.put(key, entry.code, entry.meta)
    made = Code(machine.Library(entry.code), layout, len(code.outputs), entry.meta["workspace"], dtype, lanes)
    made.one_loop = entry.meta["one_loop"]
    return made, entry.code


def _lowered(code: Program, layout: Layout, dtype: np.dtype, lanes: int, host: machine.Host, vectorize: bool) -> Entry:
    """Return the object file of a program after all passes, with the memory that it needs."""
    code = reassociated(code)  # also without groups as lanes, so that both give the same bits
    if lanes == 1:
        code = hoisted(code)
    if vectorize:
        code = vectorised(code, across=True) or code
    if lanes > 1:
        code = _for_lanes(code, layout)
    ir = llvm.module(code, layout, dtype, lanes, fused=host.fused, arch=host.arch)
    one_loop = any(isinstance(s, ssa.Operation) and s.op == "steps" for s in code.body)
    meta = {"workspace": llvm.workspace(code, layout, lanes), "one_loop": one_loop}
    return Entry(machine.object_code(ir, host, machine.code_model()), meta)


def _for_lanes(code: Program, layout: Layout) -> Program:
    """Return a program whose lanes wait for each other as little as possible."""
    flat = flattened_steps(code, layout)
    return hoisted(code) if flat is code else flat  # a flattened loop needs them in each iteration


def flattened_steps(code: Program, layout: Layout) -> Program:
    """Return the program with its loops flattened where possible, including the loop over the steps of ``advance``."""
    flat = flattened(code)
    if len(code.outputs) == layout.size("state"):
        locations = enumerate(layout.locations())
        flat = across_steps(flat, {k: at for k, (area, at) in locations if area == "state"}) or flat
    return flat


# -- code stored under a caller's key ----------------------------------------------------------------------------------
def load(
    key: str,
    *,
    target: str = "native",
    dtype: DTypeLike = np.float64,
    lanes: int | None = None,
    cache: CacheChoice = True,
    host: machine.Host | None = None,
    vectorize: bool = True,
) -> Native | Batch | None:
    """Load the code that ``compile(..., key=key)`` stored, without tracing; None without a valid entry."""
    store = opened(cache)
    if store is None or machine.unavailable():
        return None
    dtype, host = _checked_dtype(dtype), host or machine.host()
    entry = store.get(_full_key(key, target, dtype, lanes, host, vectorize))
    if entry is None:
        return None
    try:
        meta = entry.meta
        sig = Signature.from_json(meta["signature"])
        layout = Layout(tuple((area, count) for area, count in meta["layout"]))
        library = machine.Library(entry.code)
        code = Code(library, layout, meta["outputs"], meta["workspace"], dtype, meta["lanes"])
    except Exception:  # a class was moved, or LLVM rejects the object file: compile again
        return None
    made = (Batch if target == "batch" else Native)(sig, code, None)
    made.statistics = meta["statistics"]
    return made


def _fits(
    found: Native | Batch, function: Callable, examples: Sequence, names: Sequence[str] | None, shared: object
) -> bool:
    """Return whether stored code takes these arguments, in case the key is not specific enough."""
    sig: Signature = found.signature
    if sig.names != signature.argument_names(function, len(examples), names):
        return False
    shapes, plain = signature.argument_shapes(examples)
    if (shapes, plain) != (sig.shapes, sig.plain):
        return False
    if found.code.layout != first_is_state(sig.sizes, signature.positions(shared, sig.names, "shared")):
        return False
    return all(one or tree.difference(a, b) is None for one, a, b in zip(plain, examples, sig.examples))


def _store(key: str, store: Cache, made: Native | Batch, binary: bytes) -> None:
    try:
        description = made.signature.to_json()
    except errors.NptraceError:  # a pytree with unregistered classes: trace again
        return
    meta = {
        "signature": description,
        "layout": made.code.layout.runs,
        "outputs": made.code.outputs,
        "workspace": made.code.workspace,
        "lanes": made.lanes,
        "statistics": made.statistics,
    }
    store.put(key, binary, meta)


def _full_key(key: str, target: str, dtype: np.dtype, lanes: int | None, host: machine.Host, vectorize: bool) -> str:
    width = lanes if lanes is not None else os.environ.get("NPTRACE_LANES", "measured")
    return digest("key", FORMAT, key, target, dtype.name, width, vectorize, *machine_key(host), own_sources())


def machine_key(host: machine.Host) -> tuple[str, ...]:
    return host.triple, host.cpu, host.features, str(host.level), machine.version(), machine.code_model()


@functools.cache
def own_sources() -> str:
    """Return the digest of this package, since a key does not cover code generation."""
    state = hashlib.sha256()
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        state.update(path.name.encode() + path.read_bytes())
    return state.hexdigest()


# -- options -----------------------------------------------------------------------------------------------------------
def _width(target: str, lanes: int | None) -> int | None:
    """Return the lane width that target and caller determine, or None."""
    if target == "native":
        if lanes not in (None, 1):
            raise InputError(f"lanes {lanes!r}: target 'native' has one lane; use target 'batch'")
        return 1
    return None if lanes is None else lane_width.checked(lanes)


def _checked_dtype(dtype: DTypeLike) -> np.dtype:
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise InputError(f"dtype {dtype!r}: programs run in float64 or float32")
    return found


def _in_double(examples: Sequence) -> Sequence:
    """Return examples in double precision for comparison with NumPy: in single precision its rounding would differ."""
    leaves, rebuild = tree.flatten(tuple(examples))
    short = (np.dtype(np.float32), np.dtype(np.float16))
    return rebuild([np.asarray(x, np.float64)[()] if getattr(x, "dtype", None) in short else x for x in leaves])


def _check_target(target: str) -> None:
    if target not in TARGETS:
        raise errors.unknown("target", target, TARGETS)
    if target == "cuda":
        raise InputError(
            "target 'cuda' cannot run in this process: nptrace.codegen.cuda.source(program, ...) writes a"
            " function's CUDA source"
        )


def _plain(
    function: Callable, examples: Sequence, dtype: np.dtype, batched: bool, names: Sequence[str] | None
) -> PlainPython:
    """Return the original function, its results described by one call, after which hidden state is restored."""
    from nptrace.verification.closure_state import ClosureState

    around = ClosureState(function)
    with np.errstate(all="ignore"):
        leaves, rebuild = tree.flatten(function(*examples))
    around.restore()
    shapes = [np.shape(x) for x in leaves]

    class Called:
        output_shapes, rebuild_output = shapes, staticmethod(rebuild)

    return PlainPython(function, signature.of(function, examples, Called(), names), dtype, batched)

"""nptrace: plain NumPy in, machine code out. Tracing, derivatives, code generation, and solvers that trace.

Names load when they are first used, so that importing nptrace does not load LLVM.

    f = nptrace.compile(function, x, y)                  # machine code; or target="batch": SIMD lanes
    J = nptrace.jacobian(function, x, y, wrt="x")        # exact derivatives
    nptrace.repeat, nptrace.scan, nptrace.lookup, ...    # loops and tables, which plain NumPy cannot express
    nptrace.random.normal(key, counter, shape)           # random numbers, the same on every target
"""

from typing import TYPE_CHECKING

from nptrace import packages
from nptrace.lazy import lazy_exports

packages.register(__name__, __path__[0])

if TYPE_CHECKING:
    from nptrace import random, solve
    from nptrace.autodiff.differentiate import gradient, jacobian
    from nptrace.errors import InputError, NptraceError, TraceError, TraceMismatch
    from nptrace.frontend.tracer import trace
    from nptrace.numeric import (
        custom_fixed_point,
        gradient_bottleneck,
        is_tracing,
        lookup,
        mark_derivative_invalid,
        no_fold,
        norm,
        repeat,
        scan,
        select,
        smoothstep,
        solution,
        stop_gradient,
        untraced,
    )
    from nptrace.runtime.compiled import compile, program_of

__all__, __getattr__, __dir__ = lazy_exports(
    "nptrace",
    {
        "runtime.compiled": "compile program_of",
        "autodiff.differentiate": "gradient jacobian",
        "frontend.tracer": "trace",
        "numeric": "custom_fixed_point gradient_bottleneck is_tracing lookup mark_derivative_invalid no_fold norm"
        " repeat scan select smoothstep solution stop_gradient untraced",
        "errors": "InputError NptraceError TraceError TraceMismatch",
        "random": "random",
        "solve": "solve",
    },
)

"""Plain NumPy in, machine code out: tracing, derivatives and the targets. Nothing in here knows robots.

Names load when they are first used, so that importing footfall does not load LLVM.
"""

from footfall.rooms import room

__all__, __getattr__, __dir__ = room(
    "footfall.trace",
    {"compiled": "compile program_of", "differentiate": "gradient jacobian", "tracer": "trace"},
)

"""CUDA source built as C++ for the processor: its keywords defined away, its threads a loop."""

import ctypes
import shutil
import subprocess

from nptrace.codegen import cuda

COMPILER = shutil.which("g++")
EMULATION = """
#include <cmath>
#include <cstddef>
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __log2f log2f
struct Index { unsigned x; };
static Index blockIdx, blockDim, threadIdx;
"""
LAUNCH = """
#define LAUNCH(call) \\
    blockDim.x = BLOCK; \\
    for (blockIdx.x = 0; blockIdx.x * BLOCK < (unsigned)robots; ++blockIdx.x) \\
        for (threadIdx.x = 0; threadIdx.x < BLOCK; ++threadIdx.x) \\
            call
extern "C" void run_evaluate(const real *state, const real *rest, const real *shared, real *out, int robots)
{
    LAUNCH(kernel_evaluate(state, rest, shared, out, robots);)
}
"""
ADVANCE = """
extern "C" void run_advance(real *state, const real *rest, const real *shared, int steps, int robots)
{
    LAUNCH(kernel_advance(state, rest, shared, steps, robots);)
}
"""


def emulate(code, layout, dtype, folder, threads=4, **more):
    """The kernels of a program as C++ on the processor."""
    return build(cuda.source(code, layout, "kernel", dtype, block=32, threads=threads), folder, **more)


def build(source, folder, before="", entries=LAUNCH, advance=ADVANCE, level="-O1"):
    """A CUDA source as C++ on the processor: what a GPU has is in EMULATION and ``before``, ``entries`` call it."""
    text = EMULATION + before + source + entries
    if "kernel_advance" in text:
        text += advance
    (folder / "kernel.cpp").write_text(text)
    flags = [level, "-Wall", "-Werror", "-Wno-unknown-pragmas", "-ffp-contract=off", "-shared", "-fPIC"]
    command = [COMPILER, *flags, str(folder / "kernel.cpp"), "-o", str(folder / "kernel.so")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return ctypes.CDLL(str(folder / "kernel.so"))


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)

"""Cycles per instruction of a loop by its length: where the instructions of a kernel no longer fit a GPU's caches.

Run on a machine with a GPU: ``python studies/gpu_instruction_fetch.py FILE.json``. It needs NumPy and CuPy. A loop of
independent multiply-adds runs with one, two and four warps on each scheduler of every multiprocessor; an ideal one
takes a cycle for each instruction of each warp.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cupy as cp

LENGTHS = (1000, 1500, 1900, 2000, 2100, 2200, 2400, 2600, 3200, 4000, 6000, 8000, 12000)  # instructions
WARPS = (1, 2, 4)  # per scheduler
TIMES = 200  # the loop runs
CHAINS = 12  # that are independent


def kernel(length: int) -> str:
    """The CUDA source of a loop of so many multiply-adds, which no compiler leaves out."""
    body = "\n".join(
        f'asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(a{k % CHAINS}) : "f"(b), "f"(c));' for k in range(length)
    )
    begin = "".join(f"float a{k} = b + {k};\n" for k in range(CHAINS))
    total = " + ".join(f"a{k}" for k in range(CHAINS))
    return f"""extern "C" __global__ void loop(float b, float c, int times, float *out, long long *cycles)
{{
{begin}const long long start = clock64();
#pragma unroll 1
for (int i = 0; i < times; ++i) {{
{body}
}}
const long long end = clock64();
out[threadIdx.x + blockIdx.x * blockDim.x] = {total};
if (threadIdx.x == 0)
    cycles[blockIdx.x] = end - start;
}}
"""


def main() -> None:
    processors = cp.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]
    rows = []
    for length in LENGTHS:
        function = cp.RawModule(code=kernel(length), backend="nvrtc").get_function("loop")
        for warps in WARPS:
            threads = 128 * warps
            out, cycles = cp.zeros(threads * processors, cp.float32), cp.zeros(processors, cp.int64)
            for _ in range(2):  # the first run fills the caches
                function((processors,), (threads,), (cp.float32(1), cp.float32(0.5), cp.int32(TIMES), out, cycles))
            each = cp.asnumpy(cycles) / (TIMES * length)
            rows.append({"instructions": length, "warps": warps})
            rows[-1] |= {"mean": float(each.mean()), "worst": float(each.max())}
            print(rows[-1], flush=True)
    Path(sys.argv[1]).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

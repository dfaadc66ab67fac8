"""Where the time of robots that differ goes on a GPU: threads per robot, blocks, and steps and iterations in one loop.

Run on a machine with a GPU: ``python studies/gpu_as_used.py FILE.json``. It needs NumPy and CuPy. Every
kernel is compiled in a process of its own, as many at once as there are cores; one at a time is timed. The rows without
a name are the trot of ``footfall bench gpu``, alike.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from footfall.robot.library import load
from footfall.sim import gpu
from footfall_lab.bench import gpu as bench

_LOCK = Path(tempfile.gettempdir()) / "gpu_as_used.lock"
_KEYS = ("name", "threads", "one_loop", "block")


def variants() -> list[dict]:
    """What is measured; compiling one thread per robot takes longest."""
    default, planning = list(bench.USED)[:2], list(bench.USED)[2:]
    found = [(name, 1, True, None) for name in (*default, planning[1], "")]
    found += [("", 1, False, None), (default[1], 1, False, None), (default[1], 1, True, 64)]
    found += [(name, 4, one_loop, None) for name in (*default, "") for one_loop in (True, False)]
    found += [(name, 4, True, block) for name in (default[1], planning[1]) for block in (32, 64)]
    found += [(name, 4, True, None) for name in planning]
    found += [(name, 2, True, None) for name in (*default, planning[1], "")]
    return [dict(zip(_KEYS, one)) for one in found]


def measured(name: str, threads: int, one_loop: bool, block: int | None) -> list[dict]:
    """Compile one variant, wait for the GPU, and time it by number of robots."""
    options = {"threads": threads, "one_loop": one_loop, "block": block}
    if not name:
        batch = gpu.GpuBatch(load("mini_cheetah"), 65536, bench.controller(), **options, **bench.options(True))
        with _LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            batch.run(100)
            rows, kernel = [], batch.backend.function
            for apart in (False, True):
                if apart:
                    bench._set_apart(batch)
                    batch.run(20)
                seconds = bench.least_seconds(batch, 500, 3)
                rows.append({"name": "apart" if apart else "alike", "robots": 65536, "block": batch.source.block})
                rows[-1] |= {"threads": batch.source.threads, "steps_per_second": 65536 * 500 / seconds}
                rows[-1] |= {"registers": kernel.num_regs, "local_bytes": kernel.local_size_bytes}
        return rows
    bench.used_timings(name, sizes=(32,), **options)  # compiled, and kept by CuPy
    with _LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return bench.used_timings(name, **options)


def line(row: dict, one: dict) -> str:
    rates = [f"{1e-6 * row[key]:.0f}" for key in row if key.startswith("steps_per_second")]
    how = f"{row['threads']} threads {'one loop' if one['one_loop'] else 'nested'} block {row['block']}"
    kernel = f"{row['registers']} registers {row['local_bytes']} bytes"
    return f"{row['name']}: {how}: {row['robots']}: {' '.join(rates)} M ({kernel}) standing {row.get('standing')}"


def main() -> None:
    if len(sys.argv) > 2:
        print(json.dumps(measured(**json.loads(sys.argv[2]))))
        return
    out, left, running, rows = Path(sys.argv[1]), variants(), [], []
    while left or running:
        while left and len(running) < (os.cpu_count() or 1):
            one = left.pop(0)
            command = [sys.executable, __file__, str(out), json.dumps(one)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            running.append((one, process))
        for item in list(running):
            one, process = item
            if process.poll() is None:
                continue
            running.remove(item)
            text, errors = process.communicate()
            if process.returncode != 0:
                print("failed", one, errors[-500:], flush=True)
                continue
            found = json.loads(text.splitlines()[-1])
            rows += [{**row, "one_loop": one["one_loop"]} for row in found]
            print("\n".join(line(row, one) for row in found), flush=True)
            out.write_text(json.dumps(rows, indent=1))
        time.sleep(0.2)


if __name__ == "__main__":
    main()

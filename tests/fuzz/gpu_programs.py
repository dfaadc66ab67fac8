"""Random programs on a GPU: their CUDA kernels against native code, in float64 and float32.

    python tests/fuzz/gpu_programs.py prepare out/gpu_programs    # where nptrace compiles: sources and numbers
    python tests/fuzz/gpu_programs.py run out/gpu_programs --json gpu.json    # where a GPU is: needs NumPy and CuPy
    python tests/fuzz/gpu_programs.py run out/gpu_programs --processor    # the same kernels, built for the processor

Cases are the random programs of ``make fuzz``, programs of four legs with one thread and with four, random numbers, and
20 ticks of library robots under noisy sensors. Each kernel is launched for enough elements to fill several blocks. Its
``evaluate`` must give the expected numbers; three steps of its ``advance`` must give, bit for bit, what three calls of
``evaluate`` give. Beside the largest difference it is counted in how many cases all bits are those of native code.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import random
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
PROGRAMS, LEGS, ROBOTS = 500, 100, 64
COPIES, BLOCK = 10, 64  # of every element, one beside the other; threads in a block
TICKS = 20
TOLERANCE = {"float64": 1e-7, "float32": 5e-3}
EXACT = ("--std=c++17", "--fmad=false")
FAST = ("--std=c++17", "--fmad=false", "--prec-div=false", "--prec-sqrt=false", "--ftz=true")  # those of GpuBatch


# -- where nptrace compiles --------------------------------------------------------------------------------------------
def prepare(folder: Path, count: int, legs: int, ticks: bool, jobs: int) -> None:
    """Write one file for each case."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [(kind, seed) for seed in range(count) for kind in ("programs", "shaped")]
    wanted += [("legs", seed) for seed in range(legs)]
    wanted += [("random", 0), ("noisy legs", 0)]
    if ticks:
        wanted += [("ticks", k) for k in range(_robots())]
    began = time.monotonic()
    with ProcessPoolExecutor(jobs) as pool:
        written = sum(pool.map(functools.partial(_prepare, folder), wanted, chunksize=4))
    print(f"{written} kernels in {folder}, {time.monotonic() - began:.0f} s")


def _prepare(folder: Path, wanted: tuple[str, int]) -> int:
    for place in (HERE, HERE.parent, HERE.parent / "nptrace"):
        if str(place) not in sys.path:
            sys.path.append(str(place))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    kind, seed = wanted
    makers = {"random": _random, "noisy legs": _noisy_legs, "ticks": _ticks, "legs": _legs}
    written = 0
    for name, case in makers.get(kind, functools.partial(_program, kind))(seed):
        np.savez_compressed(folder / f"{kind.replace(' ', '-')}_{seed:04}_{name}.npz", **case)
        written += 1
    return written


def _case(program: Any, sizes: list[int], dtype: str, columns: np.ndarray, expected: np.ndarray, **more: Any) -> dict:
    """A kernel and its numbers: the columns of its inputs and of its outputs, (number, element)."""
    from nptrace.codegen import cuda
    from nptrace.codegen.emit import first_is_state

    text = cuda.source(program, first_is_state(sizes), "kernel", dtype, block=BLOCK)
    case = {
        "source": np.frombuffer(text.encode(), np.uint8),
        "dtype": dtype,
        "threads": 4 if program.wide else 1,
        "state": sizes[0],
        "inputs": np.ascontiguousarray(columns, dtype),
        "expected": np.ascontiguousarray(expected),
        "advances": len(program.outputs) == sizes[0],
        "compared": np.ones(columns.shape[1], bool),
        "exact": 0,  # so many outputs must have the expected bits
        "steps": 0,  # of ``advance`` until the expected numbers; 0 is ``evaluate``
        "tolerance": TOLERANCE[dtype],
    }
    return {**case, **more}


def _program(kind: str, seed: int) -> list[tuple[str, dict]]:
    """Native code in float64 and lanes of float32 are what is expected."""
    import programs
    import shaped_programs

    import nptrace
    from nptrace.runtime.compiled import program as program_of

    function = (programs if kind == "programs" else shaped_programs).make(seed)
    inputs, values = programs.points(function, seed)
    if len(inputs) < programs.POINTS // 2:
        return []
    size = programs.SIZE
    examples = inputs[0][:size], inputs[0][size:]
    compiled = functools.partial(nptrace.compile, function, *examples, cache=None, verify=False)
    native = compiled()
    double = np.stack([native(x[:size], x[size:]) for x in inputs])
    single = compiled(target="batch", dtype=np.float32)
    rounded = inputs.astype(np.float32)
    code = program_of(function, *examples)
    return [
        ("float64", _case(code, [size, size], "float64", inputs.T, double.T)),
        (
            "float32",
            _case(
                code,
                [size, size],
                "float32",
                rounded.T,
                single(rounded[:, :size], rounded[:, size:]).T,
                compared=_steady(function, inputs, values),
            ),
        ),
    ]


def _steady(function: Any, inputs: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Where rounding to float32 decides nothing."""
    rng, found = np.random.default_rng(0), []
    for x, value in zip(inputs, values):
        beside = [x * (1.0 + 2e-6 * rng.normal(size=x.size)) for _ in range(6)]
        moved = max(np.abs(function(z[:4].copy(), z[4:].copy()) - value).max() for z in beside)
        found.append(moved < 1e-3 * max(1.0, np.abs(value).max()))
    return np.array(found)


def _legs(seed: int) -> list[tuple[str, dict]]:
    """Four threads of a robot, one for each leg: a random program, once or in loops."""
    import lane_programs

    choose = random.Random(seed)
    steps = [
        (choose.choice(sorted(lane_programs.STEPS)), choose.randrange(k + 3), choose.randrange(k + 3))
        for k in range(choose.randrange(6, 20))
    ]
    rule = choose.choice([lane_programs.four_legs, lane_programs.looped, lane_programs.captured])
    return _on_both(functools.partial(rule, steps), np.ones(4), np.random.default_rng(seed).normal(size=(18, 20)))


def _noisy_legs(_: int) -> list[tuple[str, dict]]:
    import lane_programs

    from nptrace import random as draws

    def noisy(x: Any, counter: Any) -> Any:
        return lane_programs.four_legs(lane_programs.STEPPING, x, draws.normal(draws.key(1), counter, (4,)))

    counter = draws.words(np.arange(20) + 2**24 - 10, 3)
    columns = np.concatenate([np.random.default_rng(0).normal(size=(14, 20)), counter.T])
    return _on_both(noisy, np.ones(3), columns)


def _on_both(function: Any, rest: np.ndarray, columns: np.ndarray) -> list[tuple[str, dict]]:
    """A function of 14 numbers and others with one thread and with four; their lanes are what is expected."""
    import nptrace
    from nptrace.passes import slp
    from nptrace.passes.reductions import reassociated
    from nptrace.runtime.compiled import program as program_of

    code = program_of(function, np.ones(14), rest)
    wide = slp.vectorised(reassociated(code), worth=1e9, lanes=(4,), smallest=0)
    found = []
    for dtype in ("float64", "float32"):
        given = columns.astype(dtype)
        lanes = nptrace.compile(
            function, np.ones(14), rest, target="batch", dtype=dtype, lanes=4, cache=None, verify=False
        )
        values = lanes(np.ascontiguousarray(given[:14].T), np.ascontiguousarray(given[14:].T)).T
        # where a hair decides, what is expected is not: a point beside it shows
        beside = (given * (1 + (1e-11 if dtype == "float64" else 2e-6))).astype(dtype)
        beside[14:] = given[14:]
        moved = np.abs(lanes(np.ascontiguousarray(beside[:14].T), np.ascontiguousarray(beside[14:].T)).T - values)
        steady = moved.max(0) < 0.1 * TOLERANCE[dtype] * np.maximum(1.0, np.abs(values).max(0))
        for name, program in (("one", code), ("four", wide)):
            if program is not None:
                case = _case(
                    program, [14, rest.size], dtype, given, values, compared=steady & np.isfinite(values).all(0)
                )
                found.append((f"{name}_{dtype}", case))
    return found


def _random(_: int) -> list[tuple[str, dict]]:
    """Bits and uniform numbers have the same bits everywhere; normal ones, those of lanes up to roundings."""
    import nptrace
    from nptrace import random as draws
    from nptrace.runtime.compiled import program as program_of

    def three_kinds(key: Any, counter: Any) -> tuple:
        return (
            draws.bits(key, counter, (6,), width=24),
            draws.uniform(key, counter, (6,)),
            draws.normal(key, counter, 6),
        )

    key, edges = draws.key(3), [0, 2**16 - 1, 2**16, 2**24 - 1, 2**24, 2**24 + 1, 2**32 - 1, 2**40, 2**48 - 1]
    numbers = np.concatenate([np.arange(2000), edges, np.random.default_rng(0).integers(0, 2**47, 2000)])
    counter, found = draws.words(numbers, 3), []
    code = program_of(three_kinds, key, counter[0])
    for dtype in ("float64", "float32"):
        keys, given = np.tile(key, (len(counter), 1)).astype(dtype), counter.astype(dtype)
        lanes = nptrace.compile(three_kinds, key, counter[0], target="batch", dtype=dtype, cache=None, verify=False)
        bits, uniform, normal = lanes(keys, given)
        reference = three_kinds(key, counter)
        assert np.array_equal(bits, reference[0])
        assert np.array_equal(uniform, reference[1])
        expected = np.concatenate([bits, uniform, normal], axis=1).T
        columns = np.concatenate([keys.T, given.T])
        tolerance = 4.0 * float(np.finfo(dtype).eps)
        found.append((dtype, _case(code, [4, 3], dtype, columns, expected, exact=12, tolerance=tolerance)))
    return found


def _robots() -> int:
    from footfall.robot import library

    return len(library.names())


def _ticks(k: int) -> list[tuple[str, dict]]:
    """A robot under PD and noisy sensors, dropped by up to a centimetre; the interpreter says what is expected."""
    import footfall as ff
    from footfall.robot import library
    from footfall.sensing.sensors import Sensors
    from footfall.sim.gpu import TickSource
    from nptrace.codegen import interpret
    from nptrace.passes.reductions import reassociated
    from nptrace.passes.slp import vectorised

    robot, found = ff.load(library.names()[k]), []
    source = TickSource(robot, dtype=np.float32, sensors=Sensors.realistic(seed=5), stop_on_fall=False)
    state = np.concatenate([np.broadcast_to(x, (len(x), ROBOTS)) for x in source.first_columns(ROBOTS)])
    state[source.rows("q").start + 2] += np.linspace(0.0, 0.01, ROBOTS, dtype=np.float32)
    inputs = np.repeat(source.numbers((source.inputs, source.parameters))[:, None], ROBOTS, axis=1)
    columns, ends = np.concatenate([state, inputs]), {}
    for dtype in ("float64", "float32"):
        ends[dtype] = state.astype(dtype)
        for _ in range(TICKS):
            ends[dtype] = interpret.evaluate(source.program, np.concatenate([ends[dtype], inputs.astype(dtype)]))
    lost = _apart(ends["float32"], ends["float64"])
    wide = vectorised(reassociated(source.program), lanes=(4,))
    for dtype, tolerance in (("float64", 1e-9), ("float32", 4.0 * lost)):  # what float32 itself loses
        for name, program in (("one", source.program), ("four", wide)):
            if program is not None:
                sizes = [len(state), len(inputs)]
                case = _case(program, sizes, dtype, columns, ends[dtype], steps=TICKS, tolerance=tolerance)
                found.append((f"{robot.name}_{name}_{dtype}", case))
    return found


def _apart(found: np.ndarray, right: np.ndarray) -> float:
    """The largest difference of a row, relative to its largest number where that is above one."""
    with np.errstate(all="ignore"):
        off = np.abs(found - right.astype(float)) / np.maximum(1.0, np.abs(right).max(axis=1, keepdims=True))
    return float(np.nanmax(off, initial=0.0))


# -- where a GPU is ----------------------------------------------------------------------------------------------------
def run(folder: Path, processor: bool, jobs: int) -> dict[str, Any]:
    """Compare every case, in processes that share the GPU; what is lost is named."""
    files = sorted(folder.glob("*.npz"))
    report: dict[str, Any] = {"cases": {}, "lost": []}
    rounds = {"processor": EXACT} if processor else {"exact": EXACT, "as GpuBatch": FAST}
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for name, options in rounds.items():
            chosen = [f for f in files if options is EXACT or "float32" in f.name]
            for file, result in zip(chosen, pool.map(functools.partial(_result, options, processor), chosen)):
                _account(report, name, file, result)
    return report


def _result(options: tuple[str, ...], processor: bool, file: Path) -> tuple[str, float, bool]:
    with np.load(file) as case:
        try:
            kernels = _Emulated(case) if processor else _Device(case, options)
            return _compare(case, kernels, options is EXACT)
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:300]}", np.inf, False


class _Device:
    """The kernels of a case on the GPU, for arrays of the processor."""

    def __init__(self, case: Any, options: tuple[str, ...]) -> None:
        import cupy

        self.cupy = cupy
        self.module = cupy.RawModule(code=case["source"].tobytes().decode(), options=options, backend="nvrtc")

    def __call__(self, state: np.ndarray, rest: np.ndarray, outputs: int, threads: int, steps: int) -> np.ndarray:
        xp, n = self.cupy, state.shape[1]
        given, others, shared = xp.array(state), xp.array(rest), xp.zeros(1, state.dtype)
        out = given if steps else xp.zeros((outputs, n), state.dtype)
        middle = (np.int32(steps),) if steps else (out,)
        kernel = self.module.get_function("kernel_advance" if steps else "kernel_evaluate")
        kernel((-(-n * threads // BLOCK),), (BLOCK,), (given, others, shared, *middle, np.int32(n)))
        return xp.asnumpy(out)


class _Emulated:
    """The same kernels as C++ on the processor."""

    def __init__(self, case: Any) -> None:
        sys.path[:0] = [str(HERE.parent), str(HERE.parent / "nptrace")]
        import cuda_on_processor
        import test_cuda_lanes

        self.pointer = cuda_on_processor.pointer
        build = test_cuda_lanes.build if int(case["threads"]) == 4 else cuda_on_processor.build
        with tempfile.TemporaryDirectory() as folder:
            self.library = build(case["source"].tobytes().decode(), Path(folder))

    def __call__(self, state: np.ndarray, rest: np.ndarray, outputs: int, threads: int, steps: int) -> np.ndarray:
        at, given, n = self.pointer, state.copy(), state.shape[1]
        others, out = np.ascontiguousarray(rest), np.zeros((outputs, n), state.dtype)
        if steps:
            self.library.run_advance(at(given), at(others), None, steps, n)
            return given
        self.library.run_evaluate(at(given), at(others), None, at(out), n)
        return out


def _compare(case: Any, kernels: Any, exact: bool) -> tuple[str, float, bool]:
    """(what is lost, the largest difference, whether all bits are as expected)."""
    size, threads, expected = int(case["state"]), int(case["threads"]), case["expected"]
    columns = np.ascontiguousarray(np.repeat(case["inputs"], COPIES, axis=1))
    state, rest = np.ascontiguousarray(columns[:size]), np.ascontiguousarray(columns[size:])
    call = functools.partial(kernels, rest=rest, outputs=len(expected), threads=threads)
    found = call(state, steps=int(case["steps"]))
    if not np.array_equal(found, np.repeat(found[:, ::COPIES], COPIES, axis=1), equal_nan=True):
        return "elements with equal inputs differ", np.inf, False
    if case["advances"] and not case["steps"]:
        once = found
        for _ in range(2):
            once = call(once, steps=0)
        if not np.array_equal(call(state, steps=3), once, equal_nan=True):
            return "three steps of advance are not three calls of evaluate", np.inf, False
    found = found[:, ::COPIES][:, case["compared"]].astype(float)
    right = expected[:, case["compared"]].astype(float)
    same = np.array_equal(found, right, equal_nan=True)
    if not right.size or same:
        return "", 0.0, same
    fixed = int(case["exact"])
    if not np.array_equal(found[:fixed], right[:fixed]):
        return "bits that must be the same differ", np.inf, False
    found, right = found[fixed:], right[fixed:]
    if not np.array_equal(np.isfinite(found), np.isfinite(right)):
        return "finite on one side alone", np.inf, False
    worst = _apart(found, right) if case["steps"] else _apart(found.T, right.T)  # by numbers of the state, by elements
    allowed = float(case["tolerance"]) if exact else max(float(case["tolerance"]), TOLERANCE["float32"])
    return "" if worst <= allowed else f"off by {worst:g}", worst, False


def _account(report: dict[str, Any], options: str, file: Path, result: tuple[str, float, bool]) -> None:
    lost, worst, same = result
    kind, *_, dtype = file.stem.split("_")
    threads = ", 4 threads" if "_four_" in file.stem else ""
    name = f"{kind}{threads}, {dtype}, {options}"
    row = report["cases"].setdefault(name, {"cases": 0, "same_bits": 0, "lost": 0, "worst": 0.0})
    row["cases"] += 1
    row["same_bits"] += same
    row["lost"] += bool(lost)
    row["worst"] = max(row["worst"], worst if np.isfinite(worst) else 0.0)
    if lost:
        report["lost"].append([file.stem, options, lost])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["prepare", "run"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=PROGRAMS, help="programs of each of two kinds")
    parser.add_argument("--legs", type=int, default=LEGS, help="programs of four legs")
    parser.add_argument("--no-ticks", action="store_true", help="leave robots out")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--processor", action="store_true", help="build the kernels for the processor")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.what == "prepare":
        prepare(given.folder, given.count, given.legs, not given.no_ticks, given.jobs)
        return 0
    began = time.monotonic()
    report = run(given.folder, given.processor, given.jobs)
    for name, row in report["cases"].items():
        counts = f"{row['cases']:5} cases, {row['same_bits']:5} bit for bit, {row['lost']} lost"
        print(f"{name:34} {counts}, worst {row['worst']:.2g}")
    for lost in report["lost"][:40]:
        print("   ", *lost)
    print(f"{len(report['lost'])} lost, {time.monotonic() - began:.0f} s")
    if given.json:
        given.json.write_text(json.dumps(report, indent=1))
    return 1 if report["lost"] or not report["cases"] else 0


if __name__ == "__main__":
    sys.exit(main())

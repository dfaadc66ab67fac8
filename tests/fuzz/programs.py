"""Random programs for nptrace: every target computes what NumPy computes, and derivatives are those of differences.

A program is a chain of steps on vectors of four numbers: arithmetic and its functions, choices, lookups, reductions,
small linear algebra, loops with and without an early end, scans, functions that call functions, and four groups of like
operations. Points where rounding alone decides are left out; lanes and vectorised groups must agree bit for bit.
"""

from __future__ import annotations

import functools
import random
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nptrace
from nptrace import lookup, repeat, scan
from nptrace.codegen import interpret
from nptrace.codegen.c_source import write_c
from nptrace.codegen.emit import first_is_state
from nptrace.runtime.compiled import program as program_of

sys.path.append(str(Path(__file__).parent.parent))
import cuda_on_processor

Vector = Any  # of four numbers
SIZE, POINTS, LANES = 4, 20, (2, 8)
TOLERANCE = 1e-7
COMPILER = shutil.which("gcc") or shutil.which("cc")
LINE = np.cos(np.arange(9.0))
GRID = np.sin(np.arange(20.0)).reshape(4, 5)
WEIGHTS = np.array([1.0, 2.0, -1.0, 0.5])


# -- steps of one vector -----------------------------------------------------------------------------------------------
def _settles(a: Vector) -> Vector:
    """A loop whose body goes on changing what is finished."""
    return repeat(12, lambda i, c: 0.7 * c + 0.1 * np.cos(c) * i / (1 + i), a, until=lambda c: np.sum(c * c) < 0.5)


def _settles_or_not(a: Vector) -> Vector:
    good = lambda c: np.max(np.abs(c)) < 0.7  # noqa: E731
    return repeat(9, lambda i, c: np.where(good(c), c, 0.6 * c), a, until=good)


def _newton(a: Vector) -> Vector:
    """Square roots, each element by itself in one loop, which counts."""
    goal = 0.5 + a * a
    rule = lambda _, c: (0.5 * (c[0] + goal / c[0]), c[1] + 0.01)  # noqa: E731
    good = lambda c: np.all(np.abs(c[0] * c[0] - goal) < 1e-5 * goal)  # noqa: E731 : to what float32 can reach
    root, turns = repeat(30, rule, (1.0 + goal, 0.0), until=good)
    return root + nptrace.stop_gradient(turns)


def _nested(a: Vector) -> Vector:
    inner = lambda i, c: repeat(4, lambda j, d: 0.5 * np.sin(d + j) + 0.1 * i, c, until=lambda d: d[0] > 0.55)  # noqa: E731
    return repeat(3, lambda i, c: inner(i, c) + 0.1 * a, a)


def _groups(a: Vector) -> Vector:
    """Four groups of like operations with constants of their own."""

    def group(k: int) -> Any:
        x, gain, offset = a[k], 0.3 + 0.1 * k, 0.2 * k - 0.3
        s, c = np.sin(gain * x + offset), np.cos(gain * x + offset)
        length = np.sqrt(0.1 + s * s + gain * x * x)
        return np.where(x > offset, s * length, c / (0.5 + length))

    return np.stack([group(k) for k in range(SIZE)])


def _groups_that_meet(a: Vector) -> Vector:
    def group(k: int) -> tuple[Any, Any]:
        u = np.tanh(0.7 * a[k] + 0.1 * k)
        return u * u + 0.3, u * (1.0 + 0.1 * k)

    weights, forces = zip(*(group(k) for k in range(SIZE)))
    total, force = sum(weights), sum(forces)
    return np.stack([w / total * force - f for w, f in zip(weights, forces)])


def _in_place(a: Vector) -> Vector:
    y = np.zeros(SIZE)
    y[1:] = 0.5 * a[:-1]
    y[0] = a[3]
    y[::2] -= 0.3 * a[1]
    return y


def _outer(a: Vector) -> Vector:
    return np.tril(np.outer(a, np.ones(SIZE))) @ a * 0.2


ONE: dict[str, Callable[[Vector], Vector]] = {
    "neg": lambda a: -a,
    "sin": np.sin,
    "cos": lambda a: np.cos(3 * a),
    "tan": lambda a: np.tan(0.5 * np.tanh(a)),
    "tanh": np.tanh,
    "abs": np.abs,
    "square": lambda a: 0.3 * a * a,
    "sqrt": lambda a: np.sqrt(0.1 + a * a),
    "exp": lambda a: np.exp(-a * a),
    "log": lambda a: np.log(1.1 + a * a),
    "log1p": lambda a: np.log1p(a * a),
    "expm1": lambda a: np.expm1(np.clip(a, -3, 1)),
    "sinh": lambda a: np.sinh(np.clip(a, -2, 2)),
    "arcsinh": np.arcsinh,
    "arccosh": lambda a: np.arccosh(1.2 + a * a),
    "arctanh": lambda a: np.arctanh(0.9 * np.tanh(a)),
    "arctan": np.arctan,
    "arcsin": lambda a: np.arcsin(np.sin(a) * 0.9),
    "cbrt": lambda a: np.cbrt(2 + a * a),
    "floor": lambda a: np.floor(2 * a) * 0.1,
    "rint": lambda a: np.rint(3 * a) * 0.1,
    "sign": lambda a: np.sign(a) * 0.5,
    "rest": lambda a: a % 0.7,
    "rest of a negative": lambda a: a % -1.3,
    "fmod": lambda a: np.fmod(a, 0.9),
    "power": lambda a: (0.2 + np.abs(a)) ** 1.3,
    "cube": lambda a: 0.2 * a**3,
    "inverse square": lambda a: (1 + a * a) ** -2,
    "flip": lambda a: a[::-1],
    "roll": lambda a: np.roll(a, 1),
    "difference": lambda a: np.append(np.diff(a), a[0]),
    "slope": np.gradient,
    # reductions
    "cumsum": lambda a: 0.3 * np.cumsum(a),
    "cumprod": lambda a: np.cumprod(np.tanh(a)),
    "running maximum": np.maximum.accumulate,
    "mean": lambda a: a - np.mean(a),
    "deviation": lambda a: a * np.std(np.append(a, [0.0, 1.0])),
    "norm": lambda a: a / np.linalg.norm(np.append(a, 1.0)),
    "span": lambda a: a * 0.2 * np.ptp(a),
    "count": lambda a: np.cumsum(a > 0) * 0.3,
    # choices and tables
    "select": lambda a: np.select([a > 1, a > 0], [a, 2 * a], -a),
    "where": lambda a: np.where(a > 0.3, 0.1 * a, a),
    "step": lambda a: np.heaviside(a, 0.5) * a,
    "line": lambda a: lookup(LINE, 3 * a + 2),
    "grid": lambda a: lookup(GRID, 2 * a, a[::-1] + 2),
    "interpolated": lambda a: np.interp(a, [-2, -1, 0, 0.5, 1, 3], [0, 1, -1, 2, 0, 0.5]),
    # loops, groups, memory
    "settles": _settles,
    "settles or not": _settles_or_not,
    "newton": _newton,
    "nested": _nested,
    "groups": _groups,
    "groups that meet": _groups_that_meet,
    "in place": _in_place,
    "outer": _outer,
}


# -- steps of two vectors ----------------------------------------------------------------------------------------------
def _scanned(a: Vector, b: Vector) -> Vector:
    last, rows = scan(lambda c, r: (0.8 * c + r * 0.3, np.sin(c) + r), a[0], b)
    return rows + 0.1 * last


def _scanned_back(a: Vector, b: Vector) -> Vector:
    last, rows = scan(lambda c, r: (np.tanh(c + r[0]), c * r[1]), a[1], np.stack([a, b], 1), reverse=True)
    return rows + last


def _solved(a: Vector, b: Vector) -> Vector:
    A = np.outer(a[:3], b[:3]) * 0.1 + np.diag(3 + np.sum(np.abs(a)) + np.abs(b[:3]) * np.sum(np.abs(a)))
    return np.append(np.linalg.solve(A, b[1:]), a[0])


def _factored(a: Vector, b: Vector) -> Vector:
    return np.linalg.cholesky(np.outer(a, a) * 0.2 + np.diag(1 + b * b)) @ b * 0.3


def _until_both(a: Vector, b: Vector) -> Vector:
    """Two vectors are carried, and a truth value."""

    def body(i: Any, carry: tuple) -> tuple:
        x, y, up = carry
        return 0.8 * x + 0.1 * y, 0.7 * y + np.where(up, 0.1, -0.1), y[0] > x[0]

    return sum(repeat(8, body, (a, b, a[0] > 0.0), until=lambda c: np.abs(c[0][0] - c[1][0]) < 0.2)[:2])


TWO: dict[str, Callable[[Vector, Vector], Vector]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: 0.5 * a * b,
    "div": lambda a, b: a / (1 + b * b),
    "max": np.maximum,
    "min": np.minimum,
    "fmax": np.fmax,
    "clip": lambda a, b: np.clip(a, -np.abs(b), np.abs(b) + 0.1),
    "where": lambda a, b: np.where(a > b, a, 2 * b),
    "both": lambda a, b: np.where((a > 0) & ~(b > 0.2), a, b),
    "either": lambda a, b: np.where((a > 0) ^ (b > 0.2), a, -b),
    "atan2": lambda a, b: np.arctan2(a, 1 + b * b),
    "hypot": lambda a, b: np.hypot(a, 0.3 + np.abs(b)),
    "dot": lambda a, b: a * (a @ b) * 0.1,
    "cross": lambda a, b: np.append(np.cross(a[:3], b[:3]), a[3]),
    "einsum": lambda a, b: np.einsum("i,j,j->i", a, b, a) * 0.1,
    "convolve": lambda a, b: np.convolve(a, b)[:SIZE] * 0.3,
    "rest": lambda a, b: a % (1 + np.abs(b)),
    "whole": lambda a, b: (a // (0.5 + np.abs(b))) * 0.2,
    "power": lambda a, b: (0.3 + np.abs(a)) ** np.tanh(b),
    "copysign": np.copysign,
    "logaddexp": np.logaddexp,
    "table at run time": lambda a, b: np.interp(a, [-1, 0, 1, 2], b),
    "scan": _scanned,
    "scan back": _scanned_back,
    "solve": _solved,
    "cholesky": _factored,
    "until both": _until_both,
}


# -- programs ----------------------------------------------------------------------------------------------------------
def make(seed: int) -> Callable[[Vector, Vector], Vector]:
    """The program of a seed."""
    choose = random.Random(seed)
    helpers = [_chain(choose, choose.randrange(2, 5), []) for _ in range(choose.randrange(3))]
    return _chain(choose, choose.randrange(2, 10), helpers)


def _chain(choose: random.Random, count: int, helpers: list) -> Callable[[Vector, Vector], Vector]:
    steps: list[tuple[Callable[..., Vector], list[int]]] = []
    for k in range(count):
        kind = choose.random()
        if helpers and kind < 0.25:
            step, reads = _called(choose, choose.choice(helpers)), 2
        elif kind < 0.65:
            step, reads = ONE[choose.choice(sorted(ONE))], 1
        else:
            step, reads = TWO[choose.choice(sorted(TWO))], 2
        steps.append((step, [choose.randrange(k + 2) for _ in range(reads)]))

    def function(x: Vector, y: Vector) -> Vector:
        values = [x, y]
        for step, at in steps:
            values.append(step(*(values[k] for k in at)))
        return values[-1] + 0.01 * values[-2]

    return function


def _called(choose: random.Random, helper: Callable) -> Callable[[Vector, Vector], Vector]:
    """A helper as it is, in a loop, in a loop that may end early, or once for each of two orders of its arguments."""
    damped = lambda c, b: 0.5 * np.tanh(helper(c, b))  # noqa: E731
    return choose.choice(
        [
            helper,
            lambda a, b: helper(a, b) - helper(b, a),
            lambda a, b: repeat(3, lambda i, c: damped(c, b) + 0.1 * i, a),
            lambda a, b: repeat(5, lambda i, c: damped(c, b) + 0.2 * i, a, until=lambda c: c[1] > 0.4),
        ]
    )


def points(function: Callable, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(inputs, results) at points where rounding decides nothing: a hair beside them the results are the same."""
    rng, inputs, results = np.random.default_rng(seed), [], []
    for trial in range(4 * POINTS):
        x = rng.normal(size=2 * SIZE) * (0.1, 1.0, 1.0, 3.0)[trial % 4]
        at = lambda z: function(z[:SIZE].copy(), z[SIZE:].copy())  # noqa: E731
        result = at(x)
        moved = max(np.abs(at(x + 1e-11 * rng.normal(size=2 * SIZE)) - result).max() for _ in range(3))
        if np.isfinite(result).all() and moved < 0.1 * TOLERANCE * max(1.0, np.abs(result).max()):
            inputs.append(x)
            results.append(result)
        if len(inputs) == POINTS:
            break
    return np.array(inputs), np.array(results)


def programs(folder: Path, make: Callable[[int], Callable] = make) -> Callable[[int], str]:
    """A case compares one program with itself on NumPy."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")

    def case(seed: int) -> str:
        try:
            return _compared(make(seed), seed, folder)
        except nptrace.NptraceError as error:
            raise AssertionError(f"refused, and every step can be traced: {error}") from error

    return case


def _compared(function: Callable, seed: int, folder: Path) -> str:
    inputs, expected = points(function, seed)
    if len(inputs) < POINTS // 2:
        return "too few points"
    examples = inputs[0][:SIZE], inputs[0][SIZE:]
    compiled = functools.partial(nptrace.compile, function, *examples, cache=None, verify=False)
    x, y = inputs[:, :SIZE], inputs[:, SIZE:]
    native = compiled(verify=seed % 4 == 0)
    found = np.stack([native(a, b) for a, b in zip(x, y)])
    _agree("native", found, expected)
    plain = compiled(vectorize=False)
    _same("groups on lanes", found, np.stack([plain(a, b) for a, b in zip(x, y)]))
    for lanes in LANES:
        _same(f"{lanes} lanes", found, compiled(target="batch", lanes=lanes)(x, y))
    _in_float32(compiled, function, inputs, expected)
    if COMPILER is not None:
        _in_c(function, examples, inputs, expected, folder)
    if cuda_on_processor.COMPILER is not None and seed % 5 == 0:
        place = folder / str(seed)  # a library that was loaded from a path is not read again
        place.mkdir(exist_ok=True)
        _in_cuda(function, examples, inputs, found, place)
    return "with derivatives" if _derivatives(function, examples, x, y) else "values alone"


def _same(what: str, one: np.ndarray, other: np.ndarray) -> None:
    if not np.array_equal(one, other, equal_nan=True):
        raise AssertionError(f"{what}: other bits than native, by {np.nanmax(np.abs(one - other)):g}")


def _agree(what: str, found: np.ndarray, expected: np.ndarray, tolerance: float = TOLERANCE) -> None:
    scale = np.maximum(1.0, np.abs(expected).max(axis=1, keepdims=True))
    if not (np.abs(found - expected) <= tolerance * scale).all():
        raise AssertionError(f"{what}: off by {np.max(np.abs(found - expected) / scale):g}")


def _in_c(function: Callable, examples: tuple, inputs: np.ndarray, expected: np.ndarray, folder: Path) -> None:
    code = program_of(function, *examples)
    write_c(code, folder, "kernel", samples=inputs, expected=expected, tolerance=TOLERANCE)
    assert COMPILER is not None
    command = [COMPILER, "-std=c99", "-O1", "kernel.c", "kernel_test.c", "-lm", "-o", "check"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if built.returncode:
        raise AssertionError(f"C: {built.stderr[:200]}")
    ran = subprocess.run([folder / "check"], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise AssertionError(f"C: off by {ran.stdout.strip()}")


def _in_float32(compiled: Callable, function: Callable, inputs: np.ndarray, expected: np.ndarray) -> None:
    """Lanes of float32, at points where their rounding decides nothing.

    What rounded constants decide shows at no point beside one: there NumPy's float32, operation by operation, is right.
    """
    rng, safe = np.random.default_rng(0), []
    for x, result in zip(inputs, expected):
        beside = [x * (1.0 + 2e-6 * rng.normal(size=2 * SIZE)) for _ in range(4)]
        moved = max(np.abs(function(z[:SIZE].copy(), z[SIZE:].copy()) - result).max() for z in beside)
        safe.append(moved < 1e-3 * max(1.0, np.abs(result).max()))
    if any(safe):
        x = inputs[safe].astype(np.float32)
        found = compiled(target="batch", dtype=np.float32)(x[:, :SIZE], x[:, SIZE:])
        code = program_of(function, x[0, :SIZE], x[0, SIZE:])
        single = np.transpose(interpret.evaluate(code, np.ascontiguousarray(x.T)))
        right = expected[safe]
        _agree("float32", found, np.where(np.abs(found - single) < np.abs(found - right), single, right), 5e-3)


def _in_cuda(function: Callable, examples: tuple, inputs: np.ndarray, native: np.ndarray, folder: Path) -> None:
    """The CUDA source, built for the processor."""
    code = program_of(function, *examples)
    library = cuda_on_processor.emulate(code, first_is_state([SIZE, SIZE]), np.float64, folder)
    out = np.zeros((SIZE, len(inputs)))
    x, y = (np.ascontiguousarray(part.T) for part in (inputs[:, :SIZE], inputs[:, SIZE:]))
    library.run_evaluate(*map(cuda_on_processor.pointer, (x, y)), None, cuda_on_processor.pointer(out), len(inputs))
    _agree("CUDA", out.T, native)


def _derivatives(function: Callable, examples: tuple, x: np.ndarray, y: np.ndarray) -> int:
    """How many points were compared: where differences of several widths and both sides agree."""
    options = {"wrt": 0, "cache": None}
    written = nptrace.jacobian(function, *examples, **options)
    gradient = nptrace.gradient(lambda a, b: np.sum(function(a, b) * WEIGHTS), *examples, **options)
    compared = 0
    for a, b in zip(x, y):
        slopes = _differences(function, a, b)
        if slopes is None:
            continue
        compared += 1
        allowed = 5e-4 * max(1.0, np.abs(slopes).max())
        for what, found, right in (
            ("jacobian", written(a, b), slopes),
            ("gradient", gradient(a, b), WEIGHTS @ slopes),
        ):
            if not (np.abs(found - right) <= allowed).all():
                raise AssertionError(f"{what}: off by {np.max(np.abs(found - right)):g} of {np.abs(right).max():g}")
    return compared


def _differences(function: Callable, a: Vector, b: Vector) -> np.ndarray | None:
    def central(h: float) -> np.ndarray:
        return np.stack([(function(a + h * e, b) - function(a - h * e, b)) / (2 * h) for e in np.eye(SIZE)], axis=1)

    def sided(h: float) -> np.ndarray:
        return np.stack([(function(a + h * e, b) - function(a, b)) / h for e in np.eye(SIZE)], axis=1)

    fine, coarse = central(1e-5), central(1e-4)
    scale = max(1.0, np.abs(fine).max())
    smooth = np.isfinite(fine).all() and np.abs(fine - coarse).max() < 1e-5 * scale
    return fine if smooth and np.abs(sided(1e-6) - sided(-1e-6)).max() < 1e-3 * scale else None

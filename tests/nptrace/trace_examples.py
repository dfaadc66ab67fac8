"""Functions and helpers for the tests of the tracer's back end: plain NumPy, nothing of a robot library."""

import numpy as np

import nptrace
from nptrace.codegen import llvm
from nptrace.codegen.emit import Layout
from nptrace.ir.program import Operation, Program
from nptrace.runtime import machine
from nptrace.runtime.memory import Blocks, Code

LENGTHS = np.array([0.2, 0.25, 0.15])
MASSES = np.array([1.0, 0.6, 0.3])


def leg_step(x, torque, ground, dt=1e-3):
    """A planar leg of three links on a rail falls on a springy floor. x: (height, three angles; their rates)."""
    q, v = x[:4], x[4:]
    M, force, depth, J = np.zeros((4, 4)), np.zeros(4), 0.0, np.zeros(4)
    height = q[0]
    angle, slope = 0.0, [1.0, 0.0, 0.0, 0.0]
    for i in range(3):
        angle = angle + q[1 + i]
        c, s = np.cos(angle), np.sin(angle)
        height = height - LENGTHS[i] * c
        slope = [slope[0], *(slope[k] + (LENGTHS[i] * s if k <= i + 1 else 0.0) for k in (1, 2, 3))]
        J = np.stack([a + 0.0 * q[0] for a in slope])
        M = M + MASSES[i] * np.outer(J, J) + 0.01 * np.eye(4)
        force = force - 9.81 * MASSES[i] * J
    depth = np.maximum(-height, 0)
    speed = J @ v
    push = np.maximum(ground[0] * depth**2.2 - ground[1] * np.clip(depth / 1e-2, 0, 1) * speed, 0)
    force = force + push * J + np.concatenate([np.zeros(1), torque - 0.1 * v[1:]])
    v = v + dt * solve(M, force)
    return np.concatenate([q + dt * v, v])


def solve(M, b):
    """Symmetric elimination without pivots."""
    n = len(b)
    A, x = [list(row) for row in M], list(b)
    for k in range(n):
        inverse = 1 / A[k][k]
        for i in range(k + 1, n):
            factor = A[i][k] * inverse
            for j in range(k + 1, n):
                A[i][j] = A[i][j] - factor * A[k][j]
            x[i] = x[i] - factor * x[k]
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            x[k] = x[k] - A[k][j] * x[j]
        x[k] = x[k] / A[k][k]
    return np.stack(x)


LEG = (np.array([0.55, 0.3, -0.7, 0.5, 0, 0.1, -0.2, 0.3]), np.array([0.5, -0.4, 0.2]), np.array([4e4, 30.0]))


def gauss_seidel(A, b):
    """Projected sweeps, kept as a loop."""

    def sweep(_, z):
        z = list(z)
        for k in range(len(z)):
            z[k] = np.maximum(z[k] - (A[k] @ np.stack(z) - b[k]) / A[k, k], 0)
        return np.stack(z)

    return nptrace.repeat(15, sweep, np.zeros(len(b)))


_J = np.random.default_rng(5).normal(size=(4, 6))
SWEEPS = (_J @ _J.T + np.eye(4), np.array([1.0, -0.5, 0.3, 0.8]))


def nested(x):
    """A loop in a loop; the inner one reads the outer's counter."""

    def outer(i, c):
        return nptrace.repeat(3, lambda j, d: np.sin(d) + 0.1 * i * x + 0.01 * j * d * x[0], c * x) + 0.2 * c

    return nptrace.repeat(4, outer, 0.3 * np.ones(3)) * x


def swapped(x):
    """Carried values that become each other."""

    def turn(i, c):
        a, b, d = c
        return b, d * 1.5, a

    return np.stack(nptrace.repeat(5, turn, (x[0], x[1], x[2])))


TABLE = np.random.default_rng(3).normal(size=(5, 4))


def terrain(xy):
    """Bilinear height over a constant table."""
    return _height(TABLE, xy)


def own_terrain(table, xy):
    """The same over a table given at run time."""
    return _height(table, xy)


def _height(table, xy):
    i, j = np.floor(xy[0]), np.floor(xy[1])
    u, v = xy[0] - i, xy[1] - j
    low = (1 - v) * nptrace.lookup(table, i, j) + v * nptrace.lookup(table, i, j + 1)
    high = (1 - v) * nptrace.lookup(table, i + 1, j) + v * nptrace.lookup(table, i + 1, j + 1)
    return np.stack([(1 - u) * low + u * high])


def functions(x, y):
    """Every elementary function and choice once."""
    a, b = np.abs(x) + 0.1, np.abs(y) + 0.2
    return np.concatenate(
        [
            x + y,
            x - y,
            x * y,
            x / b,
            -x,
            np.sqrt(a),
            np.sin(x),
            np.cos(y),
            np.exp(x),
            np.log(a),
            a**2.2,
            a**y,
            np.arctan2(x, y),
            np.abs(x),
            np.floor(3 * x),
            np.maximum(x, y),
            np.minimum(x, 0.1),
            np.clip(y, -0.5, 0.5),
            np.where((x > y) & (x < 1) | ~(y < 0), x, y),
        ]
    )


def noise(words, x):
    """Draws of every kind, with traced keys and counters, in a loop and outside."""
    key, counter = words[:4], words[4:]
    drawn = nptrace.repeat(
        3, lambda i, c: c + x * nptrace.random.normal(key, np.stack([counter[0], counter[1], i]), (3,)), np.zeros(3)
    )
    folded = nptrace.random.fold_in(key, counter)
    few = nptrace.random.normal(folded, counter, (2, 3))
    return np.concatenate(
        [
            drawn,
            few[0] * few[1],
            nptrace.random.uniform(key, counter, (5,)),
            2.0**-16 * nptrace.random.bits(nptrace.random.key(7), counter, (2,)),
            2.0**-16 * nptrace.random.advance(counter),
        ]
    )


PAIR = (np.array([0.3, -1.2, 2.5]), np.array([-0.7, 0.4, 1.1]))

EXAMPLES = {
    "functions": (functions, PAIR),
    "leg": (leg_step, LEG),
    "sweeps": (gauss_seidel, SWEEPS),
    "nested": (nested, (PAIR[0],)),
    "swapped": (swapped, (PAIR[0],)),
    "terrain": (terrain, (np.array([1.4, 2.7]),)),
    "own terrain": (own_terrain, (TABLE, np.array([1.4, 2.7]))),
    "noise": (noise, (np.array([1.0, 2.0, 65535.0, 50000.0, 64321.0, 123.0]), PAIR[0])),
}


def one_operation(op, operands):
    """The program ``out = op(*inputs)``."""
    inputs = [Operation("input", k, (), (k,)) for k in range(operands)]
    return Program(
        body=[*inputs, Operation(op, operands, tuple(range(operands)))],
        outputs=[operands],
        input_size=operands,
        tables=[],
    )


def apply(op, dtype, *columns, lanes=8, host=None):
    """One operation compiled and run over columns of numbers."""
    host, dtype, count = host or machine.host(), np.dtype(dtype), len(columns[0])
    program, layout = one_operation(op, len(columns)), Layout((("rest", len(columns)),))
    library = machine.Library(machine.object_code(llvm.module(program, layout, dtype, lanes, fused=host.fused), host))
    code = Code(library, layout, 1, llvm.workspace(program, layout, lanes), dtype, lanes)
    blocks = Blocks(code, -(-count // lanes))
    for k, column in enumerate(columns):
        padded = np.resize(np.asarray(column, dtype), blocks.count * lanes)
        blocks.areas["rest"][:, k] = padded.reshape(blocks.count, lanes)
    blocks.evaluate()
    return blocks.out.reshape(-1)[:count].copy()

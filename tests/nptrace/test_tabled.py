"""Products with large constant matrices, in C as loops over tables: the same bits, in little code."""

import ctypes
import subprocess

import numpy as np
import pytest
from c_on_processor import COMPILER, STRICT, needs_compiler

import nptrace
from nptrace.codegen import c_source
from nptrace.ir.statements import all_loops
from nptrace.passes.tabled import with_tables

RNG = np.random.default_rng(0)
W = [RNG.normal(size=shape) / 3.0 for shape in ((9, 20), (20, 20), (20, 8))]
B = [RNG.normal(size=len(w.T)) for w in W]
SPARSE = np.where(RNG.uniform(size=W[1].shape) < 0.05, 0.0, W[1])


def elu(x):
    return np.where(x > 0.0, x, np.exp(np.minimum(x, 0.0)) - 1.0)


def network(x, activation=np.tanh, weights=tuple(W)):
    for w, b in zip(weights[:-1], B):
        x = activation(x @ w + b)
    return x @ weights[-1] + B[-1]


def residual(x):
    """Values that are read after a loop, rows that are treated alike at first, and outputs from inside."""
    y = np.tanh(x @ W[0])
    z = y + elu(y @ W[1]) * x[0]
    halves = np.concatenate([z[:10] * 2.0, np.sqrt(np.abs(z[10:]) + 1.0)])
    return np.concatenate([halves @ W[2], y, z])


def ends_in_a_loop(x):
    """A loop that reads what a product gave, and a product of what the loop gave."""
    y = np.tanh(x @ W[0])
    for_all = nptrace.repeat(5, lambda k, c: 0.5 * c + np.sin(y), y)
    return for_all @ W[2]


def counted(x):
    """A short loop that reads its counter, which is part of a longer function."""
    y = np.tanh(x @ W[0])
    total = nptrace.repeat(7, lambda k, c: c + k * y[0] * x[1], 0.0)
    return (y * total) @ W[2]


def wide(x):
    """A matrix whose columns a loop looks up, with a bias and an activation behind it."""
    given, rows = np.tanh(x @ W[0]), np.arange(20)

    def column(k, y):
        return np.concatenate([y[1:], np.stack([np.sum(nptrace.lookup(W[1], rows, k) * given)])])

    return elu(nptrace.repeat(20, column, np.zeros(20)) + B[1]) @ W[2]


FUNCTIONS = {
    "tanh": (network, 3),
    "elu": (lambda x: network(x, elu), 3),
    "relu": (lambda x: network(x, lambda y: np.maximum(y, 0.0)), 3),
    "normalised": (lambda x: network((x - 0.3) / 1.7, elu), 3),
    "sparse": (lambda x: network(x, weights=(W[0], SPARSE, W[2])), 2),
    "residual": (residual, 3),
    "loop": (ends_in_a_loop, 2),
    "counted": (counted, 2),
    "wide": (wide, 3),
    "small": (lambda x: x[:5] @ W[0][:5, :7] * x[5], 0),
}


def built(folder, name, **options):
    """The C function of a traced function, from x to its results, by ctypes."""
    function, _ = FUNCTIONS[name]
    outputs = np.size(function(np.ones(9)))
    program = nptrace.program_of(function, np.ones(9))
    header, source, _ = c_source.write_c(program, folder, "kernel", **options)
    library = folder / "kernel.so"
    command = [COMPILER, *STRICT, "-O1", "-shared", "-fPIC", str(source), "-lm", "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    dtype = np.dtype(options.get("dtype", np.float64))
    work = np.full(10_000, 1e30, dtype) if " work[" in header.read_text() else None
    call = ctypes.CDLL(str(library)).kernel

    def run(x):
        x, out = np.asarray(x, dtype), np.full(outputs, np.nan, dtype)
        call(*(ctypes.c_void_p(a.ctypes.data) for a in (x, out, work) if a is not None))
        return out

    return run


@needs_compiler
@pytest.mark.parametrize(
    ("name", "options"),
    [(name, {}) for name in FUNCTIONS]
    + [(name, {"limit": 12}) for name in ("elu", "residual", "loop", "counted", "wide")]  # several functions
    + [("residual", {"dtype": np.float32})],
    ids=str,
)
def test_tables_change_no_bit(name, options, tmp_path, monkeypatch):
    (tmp_path / "tables").mkdir()
    (tmp_path / "unrolled").mkdir()
    tabled = built(tmp_path / "tables", name, **options)
    monkeypatch.setattr(c_source, "with_tables", lambda program: program)
    unrolled = built(tmp_path / "unrolled", name, **options)
    for x in (*RNG.normal(size=(20, 9)), np.zeros(9), np.full(9, 1e9), np.full(9, -np.inf), np.full(9, np.nan)):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(tabled(x), unrolled(x))


@needs_compiler
@pytest.mark.parametrize("name", FUNCTIONS)
def test_c_with_tables_agrees_with_machine_code(name, tmp_path):
    function, _ = FUNCTIONS[name]
    native, tabled = nptrace.compile(function, np.ones(9), cache=None), built(tmp_path, name)
    for x in RNG.normal(size=(20, 9)):
        np.testing.assert_allclose(tabled(x), native(x), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_product_becomes_one_loop(name):
    """Its text has the operations of one row, and every weight is in a table."""
    function, products = FUNCTIONS[name]
    program = nptrace.program_of(function, np.ones(9))
    tabled = with_tables(program)
    new = [loop for loop in all_loops(tabled.body) if not loop.params and loop.saves]
    assert len(new) == products
    if not products:
        assert tabled is program
    else:
        assert tabled.size < 0.6 * program.size
        assert sum(table.size for table in tabled.tables) >= products * 8 * 9

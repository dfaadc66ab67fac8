"""A constant that is NaN goes where NumPy sends it, on every target: a limit that is missing does not go unnoticed."""

import cuda_on_processor
import lane_programs
import numpy as np
import pytest
from c_on_processor import build_and_run, needs_compiler
from lane_programs import ANY

import nptrace as trace
from nptrace import lookup, no_fold, repeat
from nptrace.codegen import c_source, interpret, llvm
from nptrace.codegen.emit import first_is_state
from nptrace.ir.program import walk
from nptrace.passes import slp
from nptrace.runtime.compiled import program

X = np.array([0.3, -0.4, 1.2, 0.8, -1.7, 2.3])
NAN = np.nan
LIMITS = np.array([1.0, NAN, 0.5, 2.0, NAN, 1.0])


def folded(x):
    """A constant NaN that is not written anywhere."""
    with np.errstate(invalid="ignore"):
        return (x * 0 + np.inf) - np.inf


def among(x):
    return np.stack([x[0], NAN, x[1], x[2]])


FORMS = {
    "maximum(x, nan)": lambda x: np.maximum(x, NAN),
    "maximum(nan, x)": lambda x: np.maximum(NAN, x),
    "minimum(x, nan)": lambda x: np.minimum(x, NAN),
    "minimum(nan, x)": lambda x: np.minimum(NAN, x),
    "maximum(x, folded)": lambda x: np.maximum(x, folded(x)),
    "minimum(folded, x)": lambda x: np.minimum(folded(x), x),
    "maximum(x * nan, 0)": lambda x: np.maximum(x * NAN, 0.0),
    "some limits": lambda x: np.minimum(x, LIMITS),
    "nested": lambda x: np.maximum(0.0, np.minimum(np.maximum(x, LIMITS), 0.7)),
    "reduce": lambda x: np.maximum.reduce(among(x)),
    "accumulate": lambda x: np.minimum.accumulate(among(x)),
    "clip(x, -1, nan)": lambda x: np.clip(x, -1, NAN),
    "clip(x, nan, 1)": lambda x: np.clip(x, NAN, 1),
    "clip(x, nan, nan)": lambda x: np.clip(x, NAN, NAN),
    "clip by lists": lambda x: np.clip(x, [-1.0, NAN] * 3, [NAN, 1.0, 1.0] * 2),
    "clip by symmetric limits": lambda x: np.clip(x, -LIMITS, LIMITS),
    "clip(nan)": lambda x: np.clip(x * NAN, -1, 1),
    "clip as a method": lambda x: x.clip(folded(x), 1),
    "max": lambda x: np.max(among(x)),
    "min": lambda x: among(x).min(),
    "max of an initial": lambda x: np.max(x, initial=NAN),
    "ptp": lambda x: np.ptp(among(x)),
    "largest norm": lambda x: np.linalg.norm(among(x), np.inf),
    "least norm": lambda x: np.linalg.norm(among(x), -np.inf),
    "soft threshold": lambda x: np.sign(x) * np.maximum(np.abs(x) - NAN, 0.0),
    "fmax(x, nan)": lambda x: np.fmax(x, NAN),
    "fmax(folded, x)": lambda x: np.fmax(folded(x), x),
    "fmin(nan, x)": lambda x: np.fmin(NAN, x),
    "fmin of limits": lambda x: np.fmin(x, LIMITS),
    "where(x > nan)": lambda x: np.where(x > NAN, x, 2.0),
    "~(x <= nan)": lambda x: np.where(~(x <= NAN), x, 2.0),
    "heaviside": lambda x: np.heaviside(NAN * x, 0.5),
    "in a loop": lambda x: repeat(3, lambda _, y: 0.5 * np.minimum(y, LIMITS), x),
    "max of an axis": lambda x: np.max(np.stack([x, LIMITS]), axis=0),
    "largest norm of an axis": lambda x: np.linalg.norm(np.stack([x, LIMITS]), np.inf, axis=0),
    "max of a difference": lambda x: np.max(np.diff(among(x))),
    "max of what is padded": lambda x: np.max(np.pad(x, 1, constant_values=NAN)),
    "min of a Kronecker product": lambda x: np.min(np.kron(x[:2], LIMITS[:2])),
    "rolled limits": lambda x: np.maximum(np.roll(LIMITS, 1), x),
    "max of a cross product": lambda x: np.max(np.cross(x[:3], LIMITS[:3])),
    "any": lambda x: np.where(np.any(x > LIMITS), 1.0, x),
    "all": lambda x: np.where(np.all(x >= LIMITS), 1.0, x),
    "select": lambda x: np.select([x > 1.0, x < NAN], [1.0, 2.0], NAN),
    "interp": lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, NAN, 1.0], left=NAN),
    "isnan": lambda x: np.where(np.isnan(x * LIMITS), 1.0, x),
    "hypot": lambda x: np.maximum(np.hypot(LIMITS, x), 0.5),
    "infinity less infinity": lambda x: np.maximum(x, np.inf - np.inf),
    "lookup": lambda x: lookup(np.arange(6.0).reshape(2, 3), x[0], NAN),
}


def opaque_limits(x):
    """Constants that no rule looks into, as those of limbs that are to be alike."""
    some = np.ones(6, dtype=bool)
    at = no_fold(np.array([NAN]), some[:1], "place")[0]
    read = lookup(np.arange(6.0).reshape(2, 3), x[0], at)
    return np.minimum(x, no_fold(LIMITS, some, "limits")) * np.where(x > 0, 1.0, read)


EVERY = {**FORMS, "opaque": opaque_limits}


def all_forms(x):
    return np.concatenate([np.ravel(form(x)) for form in EVERY.values()])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("target", ["interpret", "native", "batch"])
@pytest.mark.parametrize("form", EVERY)
def test_what_is_compiled_agrees_with_numpy(form, target, dtype):
    function = EVERY[form]
    compiled = trace.compile(function, X, target=target, dtype=dtype, cache=None)
    given = np.stack([X, -X, X[::-1]]).astype(dtype)
    got = compiled(given) if target == "batch" else np.stack([compiled(x) for x in given])
    np.testing.assert_allclose(got, [function(x.astype(float)) for x in given], rtol=1e-6)


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("flags", [(), ("-O0",), ("-O3", "-march=native")])
def test_exported_c_agrees_with_numpy(flags, dtype, tmp_path):
    samples = np.stack([X, -X, X[::-1]])
    expected = np.stack([all_forms(x) for x in samples])
    paths = c_source.write_c(program(all_forms, X), tmp_path, "kernel", samples=samples, expected=expected, dtype=dtype)
    assert float(build_and_run(paths, *flags).stdout) < 1e-6


@pytest.mark.skipif(cuda_on_processor.COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_cuda_source_agrees_with_numpy(dtype, tmp_path):
    code = program(all_forms, X)
    library = cuda_on_processor.emulate(code, first_is_state([len(X)]), dtype, tmp_path)
    state = np.ascontiguousarray(np.stack([X, -X, X[::-1]], axis=1).astype(dtype))
    out = np.zeros((len(code.outputs), 3), dtype)
    pointers = [cuda_on_processor.pointer(array) for array in (state, out)]
    library.run_evaluate(pointers[0], None, None, pointers[1], 3)
    np.testing.assert_allclose(out.T, [all_forms(x) for x in state.T.astype(float)], rtol=1e-6)


def test_a_limb_whose_limit_is_nan_is_nan_alone_among_the_lanes(monkeypatch):
    limits = np.array([[0.2, 0.1, 0.5], [0.2, -0.1, NAN], [-0.2, 0.1, 0.7], [-0.2, -0.1, 0.6]])
    monkeypatch.setattr(lane_programs, "MIRRORED", limits)
    steps = [("turn", 0, 1), ("larger", 3, 2), ("mul", 4, 0), ("add", 5, 1), ("sub", 6, 0)]
    x, rest = np.linspace(-2.0, 2.0, 14), np.linspace(0.1, 0.4, 4)

    def function(x, rest):
        return lane_programs.four_legs(steps, x, rest)

    packed = slp.vectorised(program(function, x, rest), worth=ANY)
    assert any(o.op == "min" and o.result in packed.wide for o in walk(packed.body))
    ir = llvm.module(packed, first_is_state([14, 4]), np.float64, 1)
    assert "fcmp uno <4 x double>" in ir
    compiled, expected = trace.compile(function, x, rest, cache=None), function(x, rest)
    assert np.isnan(expected[[5, 7]]).all()
    assert np.isfinite(expected[[2, 4, 8, 10, 11, 13]]).all()
    for got in (compiled(x, rest), interpret.evaluate(packed, np.concatenate([x, rest]))):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_a_limit_that_is_a_number_costs_no_guard():
    def guards(limit):
        code = program(lambda x: np.minimum(x, limit), X)
        return llvm.module(code, first_is_state([len(X)]), np.float64, 1).count("fcmp uno")

    assert guards(1.0) == 0
    assert guards(NAN) > 0

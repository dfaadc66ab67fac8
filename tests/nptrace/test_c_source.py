"""Exported C compiles without warnings and computes what NumPy computes."""

import numpy as np
import pytest
from c_on_processor import build_and_run, needs_compiler
from trace_examples import EXAMPLES, LEG, PAIR, SWEEPS, gauss_seidel, leg_step, nested

import nptrace as trace
from footfall.errors import InputError
from nptrace.codegen import c_source
from nptrace.codegen.c_emitter import identifier
from nptrace.runtime.compiled import program


def samples_near(arguments, count=4):
    random = np.random.default_rng(0)
    nearby = [[a * (1 + 0.05 * random.normal(size=np.shape(a))) for a in arguments] for _ in range(count)]
    return nearby, np.stack([np.concatenate([np.ravel(a) for a in sample]) for sample in nearby])


def fields(arguments):
    return [(f"argument {k}", np.shape(a)) for k, a in enumerate(arguments)]


@needs_compiler
@pytest.mark.parametrize("flags", [(), ("-mfma",), ("-O0",), ("-fsanitize=undefined", "-fno-sanitize-recover")])
@pytest.mark.parametrize("name", EXAMPLES)
def test_c_reproduces_numpy(name, flags, tmp_path):
    function, arguments = EXAMPLES[name]
    if flags == ("-mfma",) and not _runs_fma():
        pytest.skip("this processor has no fused multiply-add")
    near, flat = samples_near(arguments)
    expected = np.stack([np.ravel(function(*a)) for a in near])
    paths = c_source.write_c(
        program(function, *arguments), tmp_path, "kernel", arguments=fields(arguments), samples=flat, expected=expected
    )
    ran = build_and_run(paths, *flags)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert float(ran.stdout) < 1e-12


def _runs_fma():
    from nptrace.runtime import machine

    return machine.host().has("fma")


@needs_compiler
@pytest.mark.parametrize("name", EXAMPLES)
def test_single_precision_c(name, tmp_path):
    function, arguments = EXAMPLES[name]
    near, flat = samples_near(arguments)
    expected = np.stack([np.ravel(function(*a)) for a in near])
    paths = c_source.write_c(
        program(function, *arguments), tmp_path, "kernel", samples=flat, expected=expected, dtype=np.float32
    )
    ran = build_and_run(paths, "-Wdouble-promotion", "-Wconversion")
    assert float(ran.stdout) < 1e-4


_ALIKE = """#include <stdio.h>
#include <string.h>
#include "whole.h"
#include "split.h"
static const double in[{rows}][{inputs}] = {{{samples}}};
static double a[{outputs}], b[{outputs}], work[100000];
int main(void)
{{
    for (int s = 0; s < {rows}; ++s) {{
        for (int k = 0; k < 100000; ++k)
            work[k] = 1e300 * k;
        whole({whole});
        split({split});
        if (memcmp(a, b, sizeof a) != 0)
            return 1;
    }}
    return 0;
}}
"""


@needs_compiler
@pytest.mark.parametrize("name", [*EXAMPLES, "short loop that counts", "gradient of nested", "gradient of sweeps"])
def test_split_functions_give_the_same_bits(name, tmp_path):
    """With parts of seven operations; values travel through loops, out of them, and from loop to loop."""
    if name in EXAMPLES:
        function, arguments = EXAMPLES[name]
        code, flat = program(function, *arguments), samples_near(arguments)[1]
    elif name == "short loop that counts":
        flat = np.array([[0.3, 0.4], [0.9, -2.0]])
        code = program(
            lambda x: np.cos(trace.repeat(3, lambda i, c: 0.5 * c + i, np.sin(x) + x[0] * x[1])) * np.tan(x), flat[0]
        )
    else:
        x = PAIR[0] if name.endswith("nested") else SWEEPS[1]
        code = trace.gradient(
            lambda x: np.sum(nested(x) ** 2) if name.endswith("nested") else x[0] * np.sum(gauss_seidel(SWEEPS[0], x)),
            x,
            cache=None,
        ).program
        flat = np.array([[*x, 1.0], [*(0.9 * x), 1.0]])
    calls, paths = {}, []
    for kind, limit, out in (("whole", 10**9, "a"), ("split", 7, "b")):
        header, source, _ = c_source.write_c(code, tmp_path, kind, samples=flat, limit=limit)
        calls[kind] = f"in[s], {out}" + (", work" if " work[" in header.read_text() else "")
        paths.append(source)
    parts = paths[1].read_text().split("PART void ")[1:]
    assert len(parts) == 0 or max(part.count(";") for part in parts) < 200
    assert len(parts) > 1 or c_source.c_parts.operations(code.body) <= 14
    samples = ", ".join("{" + ", ".join(repr(float(x)) for x in row) + "}" for row in flat)
    main = tmp_path / "alike.c"
    rows, inputs = flat.shape
    main.write_text(_ALIKE.format(rows=rows, inputs=inputs, outputs=len(code.outputs), samples=samples, **calls))
    assert build_and_run([*paths, main], "-ffp-contract=off", "-O0").returncode == 0


def test_locals_are_not_constants(tmp_path):
    """clang evaluates what a constant begins with anew for every reader: programs would take it hours."""
    _, source, _ = c_source.write_c(program(leg_step, *LEG), tmp_path, "leg")
    assert "    real v1 = " in source.read_text()
    assert "const real v" not in source.read_text()


@needs_compiler
@pytest.mark.parametrize("name", ["nested", "sweeps"])
def test_reversed_loops_use_the_callers_work(name, tmp_path):
    x = PAIR[0] if name == "nested" else SWEEPS[1]
    pulled = trace.gradient(
        lambda x: np.sum(nested(x) ** 2) if name == "nested" else x[0] * np.sum(gauss_seidel(SWEEPS[0], x)),
        x,
        cache=None,
    )
    inputs = np.array([[*x, 1.0], [*(0.9 * x), 1.0]])
    expected = np.stack([pulled(row[:-1]) for row in inputs])
    paths = c_source.write_c(
        pulled.program, tmp_path, "slope", arguments=[("x", x.shape), ("seed", ())], samples=inputs, expected=expected
    )
    assert "work[" in paths[0].read_text()
    assert float(build_and_run(paths).stdout) < 1e-12


@needs_compiler
def test_special_values_travel(tmp_path):
    def f(x):
        with np.errstate(all="ignore"):
            return np.concatenate([np.log(x), np.exp(x), np.abs(x) ** 2.2, np.maximum(x, 0), np.arctan2(x, -1.0)])

    x = np.array([[0.0, 1.0, 2.0], [np.inf, 800.0, np.nan], [-1.0, -np.inf, 1e-5]])
    code = program(f, x[0])
    expected = np.stack([f(row) for row in x])
    paths = c_source.write_c(code, tmp_path, "special", samples=x, expected=expected)
    assert float(build_and_run(paths).stdout) < 1e-12


def test_the_header_names_arguments_and_sizes(tmp_path):
    header, source, test = c_source.write_c(
        program(leg_step, *LEG),
        tmp_path,
        "leg",
        arguments=[("x", (8,)), ("torque", (3,)), ("ground", (2,))],
        outputs=[("next x", (8,))],
    )
    text = header.read_text()
    assert "void leg(const double x[8], const double torque[3], const double ground[2], double next_x[8]);" in text
    assert "torque: 3 numbers, input" in text
    assert [p.name for p in (header, source, test)] == ["leg.h", "leg.c", "leg_test.c"]
    includes = {line for line in source.read_text().splitlines() if line.startswith("#include")}
    assert includes == {'#include "leg.h"', "#include <math.h>"}


@needs_compiler
def test_a_wrong_result_fails_the_test_program(tmp_path):
    paths = c_source.write_c(
        program(np.sin, np.ones(2)), tmp_path, "wrong", samples=np.ones((1, 2)), expected=np.array([[0.84, 0.84147]])
    )
    ran = build_and_run(paths)
    assert ran.returncode == 1
    assert float(ran.stdout) > 1e-3


@pytest.mark.parametrize("name", ["step", "for", "1st", "a b", "", "real", "sin(x)"])
def test_a_name_that_is_no_c_function_is_refused(name, tmp_path):
    with pytest.raises(InputError, match="cannot name a C function"):
        c_source.write_c(program(np.sin, np.ones(2)), tmp_path, name)


def test_shapes_must_add_up(tmp_path):
    with pytest.raises(InputError, match="hold 3 numbers, the program has 2"):
        c_source.write_c(program(np.sin, np.ones(2)), tmp_path, "f", arguments=[("x", (3,))])


def test_names_become_identifiers():
    assert identifier("foot force") == "foot_force"
    assert identifier("double") == "double_"
    assert identifier("3rd").isidentifier()
    assert identifier("v12") != "v12"
    assert identifier("q", ["q"]) != "q"

"""Machine code: the same bits at every width, on every host we can pretend to be."""

import dataclasses
import re

import numpy as np
import pytest
from trace_examples import EXAMPLES, LEG, apply, leg_step, one_operation

import nptrace as trace
from nptrace import scan
from nptrace.codegen import llvm
from nptrace.codegen.emit import Layout, first_is_state
from nptrace.errors import InputError
from nptrace.runtime import machine
from nptrace.runtime.compiled import program

DTYPES = [np.float64, np.float32]
HOSTS = {
    "here": machine.host(),
    "256 bits": machine.host().limited("-avx512f", "+prefer-256-bit"),
    "no fused multiply-add": machine.host().limited("-fma", "-fma4", "-avx512f"),
}


def tiled(arguments, robots):
    return [np.broadcast_to(a, (robots, *np.shape(a))) for a in arguments]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_compiled_code_is_numpy_to_rounding(name, host):
    function, arguments = EXAMPLES[name]
    reference = function(*arguments)
    got = trace.compile(function, *arguments, cache=None, verify=False, host=HOSTS[host])(*arguments)
    np.testing.assert_allclose(got, reference, rtol=1e-12, atol=1e-12 * max(1, np.abs(reference).max()))
    single = trace.compile(function, *arguments, cache=None, verify=False, dtype=np.float32, host=HOSTS[host])
    assert single(*arguments).dtype == np.float32
    np.testing.assert_allclose(single(*arguments), reference, rtol=1e-4, atol=1e-4 * max(1, np.abs(reference).max()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_width_and_batch_size_gives_the_bits_of_one_robot(name, dtype):
    function, arguments = EXAMPLES[name]
    one = trace.compile(function, *arguments, cache=None, verify=False, dtype=dtype)(*arguments)
    for lanes in (1, 2, 4, 8, 16):
        batch = trace.compile(function, *arguments, target="batch", lanes=lanes, cache=None, verify=False, dtype=dtype)
        for robots in (1, 7, 1000):
            assert np.array_equal(batch(*tiled(arguments, robots)), tiled([one], robots)[0]), (lanes, robots)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", EXAMPLES)
def test_code_that_llvm_did_not_optimise_gives_the_same_bits(name, dtype):
    function, arguments = EXAMPLES[name]
    quickly = dataclasses.replace(machine.host(), level=0)
    for target, given in (("native", arguments), ("batch", tiled(arguments, 7))):
        one, other = (
            trace.compile(function, *arguments, target=target, cache=None, verify=False, dtype=dtype, host=host)
            for host in (machine.host(), quickly)
        )
        assert np.array_equal(one(*given), other(*given), equal_nan=True)


def test_level_of_the_environment_is_checked(monkeypatch):
    monkeypatch.setenv("NPTRACE_LEVEL", "1")
    assert machine.host.__wrapped__().level == 1
    monkeypatch.setenv("NPTRACE_LEVEL", "fast")
    with pytest.raises(InputError, match="NPTRACE_LEVEL='fast': choose 0, 1, 2 or 3"):
        machine.host.__wrapped__()


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_steps_give_the_same_bits_at_every_width(dtype):
    one = trace.compile(leg_step, *LEG, cache=None, verify=False, dtype=dtype).advance(400, *LEG)
    assert np.isfinite(one).all()
    for host, lanes in (("here", 1), ("here", 8), ("here", 32), ("256 bits", 4), ("256 bits", 8)):
        batch = trace.compile(
            leg_step, *LEG, target="batch", lanes=lanes, cache=None, verify=False, dtype=dtype, host=HOSTS[host]
        )
        for robots in (1, 7, 100):
            assert np.array_equal(batch.advance(400, *tiled(LEG, robots)), tiled([one], robots)[0]), (host, lanes)


def test_different_robots_of_a_batch_do_not_mix():
    random = np.random.default_rng(0)
    many = [a + 0.01 * random.normal(size=(13, *a.shape)) for a in LEG]
    native = trace.compile(leg_step, *LEG, cache=None, verify=False)
    batch = trace.compile(leg_step, *LEG, target="batch", lanes=4, cache=None, verify=False)
    assert np.array_equal(batch(*many), np.stack([native(*(a[r] for a in many)) for r in range(13)]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["max", "min"])
def test_of_a_nan_and_a_number_the_nan_wins_on_either_side(op, dtype):
    nan = np.nan
    got = apply(op, dtype, [nan, 1, nan, 1, 2], [1, nan, nan, 2, 1])
    np.testing.assert_array_equal(got, [nan, nan, nan, *((2, 2) if op == "max" else (1, 1))])


def test_a_clamp_by_a_constant_is_one_instruction():
    code = program(lambda x: np.maximum(x, 0.5), np.ones(1))
    text = machine.assembly(llvm.module(code, Layout((("rest", 1),)), np.float64, 8), machine.host())
    kernel = text[text.index("kernel:") : text.index("nptrace_evaluate:")]
    if machine.host().has("avx512f"):
        assert len(re.findall(r"\bv(?:max|cmp|min|blend)\w*", kernel)) == 1


def test_no_host_without_fused_operations_calls_a_library():
    ir = llvm.module(program(leg_step, *LEG), first_is_state([8, 3, 2]), np.float64, 4, fused=False)
    assert "llvm.fma" not in ir
    text = machine.assembly(ir, HOSTS["no fused multiply-add"])
    assert not re.search(r"\bcall\w*\s+\*?(?!.*kernel)(fma|sin|cos|pow|exp|log|memset)\b", text)
    assert "vfmadd" not in text


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_arm_gets_object_code_with_fused_operations(dtype, lanes):
    arm = machine.Host("aarch64-unknown-linux-gnu", "generic", "+neon")
    assert (arm.arch, arm.fused, arm.vector_bits) == ("aarch64", True, 128)
    ir = llvm.module(program(leg_step, *LEG), first_is_state([8, 3, 2]), dtype, lanes, fused=True, arch=arm.arch)
    assert "llvm.aarch64.set.fpcr" in ir
    code = machine.object_code(ir, arm)
    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == 0xB7  # EM_AARCH64
    assert "fmla" in machine.assembly(ir, arm) or lanes == 1


def test_an_unknown_family_is_emitted_without_touching_its_mode_register():
    host = machine.Host("riscv64-unknown-linux-gnu", "generic-rv64", "+d")
    ir = llvm.module(one_operation("sin", 1), Layout((("rest", 1),)), np.float64, 2, arch=host.arch)
    assert "mxcsr" not in ir
    assert "fpcr" not in ir


def test_no_exported_symbol_is_named_step():
    ir = llvm.module(program(leg_step, *LEG), first_is_state([8, 3, 2]), np.float64, 4)
    exported = re.findall(r"define void @(\w+)", ir)
    assert sorted(exported) == ["nptrace_advance", "nptrace_evaluate", "nptrace_roll"]


def test_wide_kernels_keep_their_vectors_and_align_their_stack():
    ir = llvm.module(program(leg_step, *LEG), first_is_state([8, 3, 2]), np.float64, 8)
    assert "alignstack(64)" in ir
    assert '"prefer-vector-width"="512"' in ir


def test_denormals_are_flushed_inside_and_kept_outside():
    tiny = np.array([1e-310])
    halve = trace.compile(lambda x: x * 0.5, tiny, cache=None, verify=False)
    if machine.host().arch == "x86_64":
        assert halve(tiny)[0] == 0
    assert tiny[0] * 0.5 == 5e-311  # the mode is restored


def test_reversed_loops_work_in_the_callers_memory():
    from trace_examples import PAIR, nested

    pulled = trace.gradient(lambda x: np.sum(nested(x)), PAIR[0], cache=None)
    states = 2 * pulled.code.layout.size("state")
    assert pulled.code.workspace > states
    ir = llvm.module(pulled.program, pulled.code.layout, np.float64, 1)
    assert "alloca [" not in ir
    assert not re.search(r"alloca (double|<)", ir)


@pytest.mark.parametrize("name", EXAMPLES)
def test_wherever_blocks_are_cut_the_bits_are_the_same(name, monkeypatch):
    function, arguments = EXAMPLES[name]
    whole = trace.compile(function, *arguments, cache=None, verify=False)(*arguments)
    monkeypatch.setattr(llvm, "LONGEST_BLOCK", 7)
    for lanes in (1, 8):
        cut = trace.compile(function, *arguments, target="batch", lanes=lanes, cache=None, verify=False)
        assert np.array_equal(cut(*tiled(arguments, 3)), tiled([whole], 3)[0])


def test_no_block_is_long_and_zeros_are_written_at_once():
    """LLVM's schedulers take a time that grows with the loads and stores of a block squared."""

    def sparse(x):
        out = np.zeros((60, 60))
        for k in range(60):
            out[k, k] = np.sin(x[k] + out[k - 1, k - 1])
        return out

    def rows(x):
        return scan(lambda total, row: (total + row[0], row * total), 0.0, np.outer(np.sin(x), x))[1]

    x = np.linspace(0, 1, 60)
    kernels = []
    for function in (sparse, rows):
        text = llvm.module(program(function, x), first_is_state([60]), np.float64, 1)
        kernels.append(text[text.index("@kernel") : text.index(f"@{llvm.EVALUATE}")])
        lengths = [len(block.splitlines()) for block in re.split(r"^\w+:$", kernels[-1], flags=re.M)]
        assert max(lengths) < 1.5 * llvm.LONGEST_BLOCK
        assert len(lengths) > 3
    assert kernels[0].count("\nstore ") == 60
    assert kernels[0].count("memset") == 1
    assert np.array_equal(trace.compile(sparse, x, cache=None)(x) == 0, sparse(x) == 0)

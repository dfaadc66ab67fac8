"""Callables behave as the function they were compiled from, and refuse what it was not compiled for."""

import subprocess
import sys
import threading
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from trace_examples import LEG, SWEEPS, TABLE, gauss_seidel, leg_step, own_terrain

import nptrace as trace
from footfall.errors import InputError
from nptrace.runtime import machine
from nptrace.runtime.callables import PlainPython

Q, K = np.array([0.1, 0.2, 0.3]), np.array(2.0)
TARGETS = ["native", "interpret"]


def scale(q, gain):
    """q times gain."""
    return q * gain + 1


@pytest.fixture(params=TARGETS)
def target(request):
    return request.param


def made(function, *examples, **options):
    return trace.compile(function, *examples, cache=None, **options)


# -- signatures -------------------------------------------------------------------------------------------------------
def test_arguments_by_position_and_by_name(target):
    f = made(scale, Q, K, target=target)
    expected = scale(Q, K)
    for got in (f(Q, K), f(Q, gain=K), f(gain=2.0, q=list(Q)), f(Q.astype(np.float32).astype(float), 2)):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert (f.target, f.dtype, f.lanes, f.__name__) == (target, np.float64, 1, "scale")
    assert f.__doc__ == "q times gain."
    assert f.program.live_operations == 6


def test_results_are_fresh_arrays(target):
    f = made(scale, Q, K, target=target)
    first = f(Q, K)
    kept = first.copy()
    f(Q + 1, K)
    np.testing.assert_array_equal(first, kept)
    first[:] = 7
    np.testing.assert_array_equal(f(Q, K), kept)


def test_non_contiguous_and_integer_arguments_are_fine(target):
    f = made(lambda A, b: A @ b, np.ones((3, 2)), np.ones(2), target=target)
    A = np.arange(6).reshape(2, 3).T
    np.testing.assert_array_equal(f(A, np.array([2.0, 9, 3])[::2]), A @ [2, 3])


@dataclass(frozen=True)
class Pose:
    p: np.ndarray
    angle: float
    frame: str = "world"


def test_nests_go_in_and_come_out(target):
    def move(pose, by):
        return Pose(pose.p + by["p"], pose.angle + by["angle"], pose.frame), [np.sin(pose.angle), by["p"][:, None]]

    pose, by = Pose(Q, 0.5), {"p": Q, "angle": 0.25}
    f = made(move, pose, by, target=target)
    moved, (sine, column) = f(Pose(Q + 1, 0.75), {"angle": 0.5, "p": Q})
    assert isinstance(moved, Pose)
    np.testing.assert_allclose(moved.p, 2 * Q + 1)
    assert moved.angle == 1.25
    assert np.shape(sine) == ()
    assert column.shape == (3, 1)
    with pytest.raises(InputError, match=r"pose\.frame is 'body'"):
        f(Pose(Q, 0.5, "body"), by)
    with pytest.raises(InputError, match="by has the parts"):
        f(pose, {"p": Q, "speed": 0.5})


def test_examples_in_single_precision_say_only_their_shape(target):
    f = made(scale, Q.astype(np.float32), np.float32(2), target=target)
    assert f.target == target
    np.testing.assert_allclose(f(Q, K), scale(Q, K), rtol=1e-15)


def test_a_function_of_nothing_is_a_constant(target):
    np.testing.assert_array_equal(made(lambda: np.array([1.0, 2.0]), target=target)(), [1, 2])


def test_empty_arrays_and_constants_pass_through(target):
    f = made(lambda q, none: {"q": q, "none": none, "word": "up", "two": 2.0}, Q, np.zeros(0), target=target)
    got = f(Q, np.zeros(0))
    assert got["word"] == "up"
    assert got["none"].shape == (0,)
    assert got["two"] == 2


def test_a_scalar_result_is_a_number(target):
    assert made(lambda q: q @ q, Q, target=target)(Q) == pytest.approx(Q @ Q)


# -- refusals ---------------------------------------------------------------------------------------------------------
def test_a_wrong_shape_names_the_argument_and_both_shapes(target):
    f = made(scale, Q, K, target=target)
    with pytest.raises(InputError, match=r"scale: argument 'q' has shape \(4,\); it was compiled for \(3,\)"):
        f(np.ones(4), K)
    with pytest.raises(InputError, match=r"argument 'gain' has shape \(1,\); it was compiled for \(\)"):
        f(Q, np.ones(1))


def test_a_wrong_count_or_name_is_refused(target):
    f = made(scale, Q, K, target=target)
    for arguments, keywords in (((Q,), {}), ((Q, K, K), {}), ((Q, K), {"gain": K})):
        with pytest.raises(InputError, match=r"scale takes 2 arguments \(q, gain\)"):
            f(*arguments, **keywords)
    with pytest.raises(InputError, match="no argument 'speed': it takes q, gain"):
        f(Q, speed=K)


@pytest.mark.parametrize("value", [Q + 0j, Q.astype(object), np.array(["a", "b", "c"]), None, [[1, 2], [3]]])
def test_what_is_not_real_is_refused(target, value):
    with pytest.raises(InputError, match="argument 'q'"):
        made(scale, Q, K, target=target)(value, K)


def test_refused_calls_leave_no_trace(target):
    f = made(scale, Q, K, target=target)
    expected = f(Q, K)
    with pytest.raises(InputError):
        f(Q + 5, np.ones(2))
    np.testing.assert_array_equal(f(Q, K), expected)


def test_unknown_targets_and_precisions_name_the_choices():
    with pytest.raises(InputError, match="did you mean 'batch'"):
        made(scale, Q, K, target="bach")
    with pytest.raises(InputError, match="float64 or float32"):
        made(scale, Q, K, dtype=np.float16)
    with pytest.raises(InputError, match="float64 or float32"):
        made(scale, Q, K, dtype="nonsense")
    with pytest.raises(InputError, match="writes a function's CUDA source"):
        made(scale, Q, K, target="cuda")
    with pytest.raises(InputError, match="has one lane"):
        made(scale, Q, K, lanes=4)
    with pytest.raises(InputError, match="1 names for 2 arguments"):
        made(scale, Q, K, names=["q"])


# -- advance ----------------------------------------------------------------------------------------------------------
def test_advancing_is_repeated_calling(target):
    f = made(leg_step, *LEG, target=target)
    x = LEG[0]
    for _ in range(5):
        x = f(x, *LEG[1:])
    np.testing.assert_array_equal(f.advance(5, *LEG), x)
    np.testing.assert_array_equal(f.advance(0, *LEG), LEG[0])


def test_only_whole_steps_of_a_function_that_returns_its_state(target):
    f = made(leg_step, *LEG, target=target)
    for steps in (-1, 1.5, "2"):
        with pytest.raises(InputError, match="whole number"):
            f.advance(steps, *LEG)
    with pytest.raises(InputError, match="cannot feed its result back"):
        made(lambda q, k: q[:2] * k, Q, K, target=target).advance(3, Q, K)


# -- batches ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("machine_code", [True, False])
def test_an_argument_without_robot_axis_is_shared(machine_code, monkeypatch):
    if not machine_code:
        monkeypatch.setattr(machine, "unavailable", lambda: "a test")
        monkeypatch.setattr(machine, "_warned", True)
    f = made(scale, Q, K, target="batch", lanes=4)
    assert f.target == ("batch" if machine_code else "interpret")
    many = np.arange(18.0).reshape(6, 3)
    expected = scale(many, 2.0)
    np.testing.assert_array_equal(f(many, 2.0), expected)
    np.testing.assert_array_equal(f(many, np.full(6, 2.0)), expected)
    np.testing.assert_array_equal(f(Q, np.arange(5.0)), np.stack([scale(Q, k) for k in range(5)]))


def test_a_declared_shared_argument_is_never_copied_a_robot():
    A, b = SWEEPS
    f = made(gauss_seidel, A, b, target="batch", lanes=4, shared="A")
    assert f.code.layout.size("shared") == A.size
    targets = np.random.default_rng(0).normal(size=(9, 4))
    expected = made(gauss_seidel, A, b, target="batch", lanes=4)(A, targets)
    np.testing.assert_array_equal(f(A, targets), expected)
    with pytest.raises(InputError, match="argument 'A' is shared"):
        f(np.tile(A, (9, 1, 1)), targets)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_robots_read_one_shared_table_or_their_own(lanes):
    tables = np.random.default_rng(0).normal(size=(9, 5, 4))
    at = np.random.default_rng(1).uniform(0, 4, size=(9, 2))
    own = made(own_terrain, TABLE, at[0], target="batch", lanes=lanes)
    np.testing.assert_allclose(own(tables, at), [own_terrain(t, p) for t, p in zip(tables, at)], rtol=1e-12)
    shared = made(own_terrain, TABLE, at[0], target="batch", lanes=lanes, shared=0)
    np.testing.assert_array_equal(shared(TABLE, at), own(TABLE, at))
    with pytest.raises(InputError, match="cannot feed"):
        shared.advance(2, TABLE, at)


def test_batches_that_make_no_sense_are_refused():
    f = made(scale, Q, K, target="batch", lanes=4)
    with pytest.raises(InputError, match="holds no elements"):
        f(np.ones((0, 3)), K)
    with pytest.raises(InputError, match="argument 'gain' has 4 elements, argument 'q' 5"):
        f(np.ones((5, 3)), np.ones(4))
    with pytest.raises(InputError, match="no argument has a batch axis"):
        f(Q, K)
    with pytest.raises(InputError, match=r"argument 'q' has shape \(5, 4\).*for a batch of n"):
        f(np.ones((5, 4)), K)


def test_changing_batch_sizes_reuse_nothing_wrong():
    f = made(scale, Q, K, target="batch", lanes=8)
    random = np.random.default_rng(0)
    for robots in (3, 17, 8, 1, 17):
        many = random.normal(size=(robots, 3))
        np.testing.assert_array_equal(f(many, 3.0), made(scale, Q, K, target="batch", lanes=1)(many, 3.0))


# -- fallbacks --------------------------------------------------------------------------------------------------------
def test_without_llvm_programs_are_interpreted_with_one_warning(monkeypatch):
    monkeypatch.setattr(machine, "unavailable", lambda: "no such processor")
    monkeypatch.setattr(machine, "_warned", False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f, g = made(scale, Q, K), made(np.sin, Q)
        slopes = trace.jacobian(scale, Q, K, cache=None)
    assert [w.category for w in caught] == [machine.FallbackWarning]
    assert "no such processor" in str(caught[0].message)
    assert issubclass(machine.FallbackWarning, RuntimeWarning)
    assert f.target == g.target == slopes.target == "interpret"
    np.testing.assert_array_equal(f(Q, K), scale(Q, K))


def test_when_llvm_gives_up_the_program_is_interpreted(monkeypatch):
    def fail(*_):
        raise RuntimeError("cannot select")

    monkeypatch.setattr(machine, "object_code", fail)
    monkeypatch.setattr(machine, "_warned", False)
    with pytest.warns(machine.FallbackWarning, match="cannot select"):
        f = made(scale, Q, K, target="batch", lanes=2)
    np.testing.assert_array_equal(f(np.ones((3, 3)), 2.0), np.full((3, 3), 3.0))


def test_a_missing_llvmlite_is_found_out(monkeypatch):
    monkeypatch.setattr(machine, "_works", False)
    monkeypatch.setattr(machine, "host", lambda: (_ for _ in ()).throw(ImportError("No module named 'llvmlite'")))
    assert "llvmlite" in machine.unavailable()


def test_a_function_with_hidden_state_runs_in_python_with_a_warning():
    calls = []

    def counting(q, gain):
        calls.append(1)
        return q * gain + len(calls)

    with pytest.warns(machine.FallbackWarning, match="counting runs in Python"):
        f = made(counting, Q, K)
    assert isinstance(f, PlainPython)
    assert f.target == "python"
    before = len(calls)
    np.testing.assert_allclose(f(Q, K), Q * K + before + 1)
    with pytest.raises(InputError, match="no program"):
        f.program  # noqa: B018
    with pytest.raises(InputError, match="argument 'q' has shape"):
        f(np.ones(4), K)


def test_a_python_batch_is_a_loop_over_robots():
    state = {"n": 0}

    def drifting(q, gain):
        state["n"] += 1
        return {"q": q * gain, "n": 0.0 * gain + state["n"]}

    with pytest.warns(machine.FallbackWarning):
        f = made(drifting, Q, K, target="batch")
    got = f(np.ones((4, 3)), np.arange(4.0))
    np.testing.assert_array_equal(got["q"], np.arange(4.0)[:, None] * np.ones(3))
    assert got["n"].shape == (4,)


# -- threads ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["native", "batch"])
def test_threads_share_a_function_without_mixing_numbers(kind):
    f = made(leg_step, *LEG, target=kind, lanes=4 if kind == "batch" else None)
    random = np.random.default_rng(1)
    starts = [LEG[0] + 0.01 * random.normal(size=(5, 8) if kind == "batch" else 8) for _ in range(6)]
    expected = [f.advance(50, x, *LEG[1:]) for x in starts]
    wrong = []

    def work(k):
        for _ in range(200):
            if not np.array_equal(f.advance(50, starts[k], *LEG[1:]), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_threads_compile_at_the_same_time():
    results = {}

    def work(k):
        results[k] = made(lambda q: np.sin(q) * k, Q, verify=False)(Q)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(6):
        np.testing.assert_allclose(results[k], np.sin(Q) * k, rtol=1e-14)


# -- imports ----------------------------------------------------------------------------------------------------------
def test_importing_the_tracer_loads_no_llvm():
    code = "import sys, nptrace, nptrace.runtime.compiled; sys.exit('llvmlite' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

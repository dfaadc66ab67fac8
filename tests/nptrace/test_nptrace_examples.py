"""The examples outside robotics: every target gives the numbers of the plain NumPy function."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from c_on_processor import build_and_run, needs_compiler
from cuda_on_processor import COMPILER, emulate, pointer

import nptrace
from nptrace.codegen import c_source
from nptrace.codegen.emit import first_is_state

FOLDER = Path(__file__).parents[2] / "examples" / "nptrace"


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KALMAN, BODIES, CART = map(load, ("kalman_filter", "n_body", "cart_mpc"))
CASES = {
    "kalman_filter": (KALMAN.step, (np.array([0.3, 1.0]), np.array([[0.5, 0.1], [0.1, 0.8]]), 0.4), 1e-12),
    "n_body": (BODIES.orbit, BODIES.START, 1e-11),
    "cart_mpc": (CART.force, (np.array([0.2, 0.4]), 1.0), 1e-6),
}


def flat(result):
    return np.concatenate([np.ravel(part) for part in (result if isinstance(result, tuple) else (result,))])


def nearby(arguments, count):
    random = np.random.default_rng(0)
    return [tuple(a * (1 + 0.02 * random.normal(size=np.shape(a))) for a in arguments) for _ in range(count)]


@pytest.mark.parametrize("name", CASES)
def test_native_and_batch_are_numpy(name):
    function, arguments, tolerance = CASES[name]
    rows = nearby(arguments, 5)
    expected = np.stack([flat(function(*row)) for row in rows])
    native = nptrace.compile(function, *arguments, cache=None)
    np.testing.assert_allclose([flat(native(*row)) for row in rows], expected, rtol=tolerance, atol=tolerance)
    batch = nptrace.compile(function, *arguments, target="batch", cache=None, lanes=4)
    found = batch(*(np.stack(column) for column in zip(*rows)))
    found = np.hstack([np.reshape(part, (5, -1)) for part in (found if isinstance(found, tuple) else (found,))])
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_c_is_numpy(name, tmp_path):
    function, arguments, tolerance = CASES[name]
    rows = nearby(arguments, 3)
    paths = c_source.write_c(
        nptrace.program_of(function, *arguments),
        tmp_path,
        "kernel",
        samples=np.stack([flat(row) for row in rows]),
        expected=np.stack([flat(function(*row)) for row in rows]),
        tolerance=tolerance,
    )
    ran = build_and_run(paths)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", CASES)
def test_cuda_source_is_numpy(name, tmp_path):
    function, arguments, tolerance = CASES[name]
    rows, sizes = nearby(arguments, 37), [np.size(a) for a in arguments]
    code = nptrace.program_of(function, *arguments)
    library = emulate(code, first_is_state(sizes), np.float64, tmp_path)
    data = np.ascontiguousarray(np.stack([flat(row) for row in rows], axis=1))
    state, rest = np.ascontiguousarray(data[: sizes[0]]), np.ascontiguousarray(data[sizes[0] :])
    out = np.zeros((len(code.outputs), len(rows)))
    library.run_evaluate(pointer(state), pointer(rest), None, pointer(out), len(rows))
    expected = np.stack([flat(function(*row)) for row in rows], axis=1)
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)


def test_the_gradient_through_the_orbit_is_that_of_differences():
    gradient = nptrace.gradient(BODIES.miss, *BODIES.START, wrt="velocities", cache=None)
    exact, (places, velocities) = np.asarray(gradient(*BODIES.START)), BODIES.START
    for k in np.ndindex(velocities.shape):
        push = np.zeros_like(velocities)
        push[k] = 1e-5
        ahead, behind = (BODIES.miss(places, velocities + s * push) for s in (1.0, -1.0))
        assert abs((ahead - behind) / 2e-5 - exact[k]) < 1e-7


@pytest.mark.parametrize("module", [KALMAN, BODIES, CART], ids=["kalman_filter", "n_body", "cart_mpc"])
def test_the_example_runs(module, capsys):
    module.main()
    assert capsys.readouterr().out

"""Functions of a robot as machine code: shapes from annotations, free parameters, derivatives, bits, the cache."""

import os
import subprocess
import sys

import jaxtyping
import numpy as np
import pytest

import footfall as ff
from footfall.dynamics.random_states import random_states
from footfall.errors import InputError
from nptrace import array_types

FUNCTIONS = {
    "forward_dynamics": (ff.dynamics.forward_dynamics, ("q", "v", "tau")),
    "inverse_dynamics": (ff.dynamics.inverse_dynamics, ("q", "v", "a")),
    "feet_jacobian": (ff.kinematics.feet_jacobian, ("q",)),
    "mass_matrix": (ff.dynamics.mass_matrix, ("q",)),
}


@pytest.fixture(scope="module")
def cheetah():
    return ff.load("mini_cheetah")


def state(robot, seed=0):
    one = random_states(robot, 1, seed=seed)
    rng = np.random.default_rng(seed)
    q = np.asarray(one.q[0])
    return {"q": q, "v": rng.normal(size=robot.nv), "tau": rng.normal(size=robot.nj), "a": rng.normal(size=robot.nv)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_come_from_annotations(name, cheetah):
    function, arguments = FUNCTIONS[name]
    given = [state(cheetah)[key] for key in arguments]
    expected = function(cheetah, *given)
    np.testing.assert_allclose(ff.compile(function, cheetah, cache=False)(*given), expected, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("kinds", [array_types, jaxtyping], ids=["nptrace", "jaxtyping"])
@pytest.mark.parametrize(("axes", "shape"), [("nq", (19,)), ("3 nv", (3, 18)), ("", ())])
@pytest.mark.parametrize("or_number", [False, True])
def test_annotations_may_be_ours_or_of_jaxtyping(kinds, axes, shape, or_number, cheetah):
    kind = kinds.Float[np.ndarray, axes]

    def total(robot, x: kind | float if or_number else kind):
        return np.sum(x) + robot.nv

    compiled = ff.compile(total, cheetah, target="interpret", cache=False)
    assert compiled.signature.shapes == [[shape]]
    assert compiled(np.ones(shape)) == np.prod(shape) + 18


@pytest.mark.parametrize("axes", ["unknown", "*T", "nq _", "..."])
def test_an_axis_that_the_robot_lacks_is_no_shape(axes, cheetah):
    def total(robot, x: array_types.Float[np.ndarray, axes]):
        return np.sum(x)

    with pytest.raises(InputError, match="argument 'x' is not known; give an example"):
        ff.compile(total, cheetah, target="interpret", cache=False)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("robot_name", ["mini_cheetah", "spined", "dynakat"])
def test_exact_derivatives_agree_with_central_differences(name, robot_name):
    robot = ff.load(robot_name)
    function, arguments = FUNCTIONS[name]
    at = state(robot, seed=3)
    given = {key: at[key] for key in arguments}
    for wrt in arguments:
        exact = ff.jacobian(function, robot, wrt=wrt, cache=False)(*given.values())
        for k in np.random.default_rng(1).choice(len(given[wrt]), 4, replace=False):
            step = 1e-6 * np.eye(len(given[wrt]))[k]
            ahead, behind = ({**given, wrt: given[wrt] + sign * step} for sign in (1, -1))
            slope = (function(robot, **ahead) - function(robot, **behind)) / 2e-6
            scale = max(np.abs(exact).max(), 1.0)
            assert np.abs(exact[..., k] - slope).max() < 1e-5 * scale


def test_a_gradient_by_reverse_mode_agrees_with_forward_mode(cheetah):
    at = state(cheetah)
    gradient = ff.gradient(ff.dynamics.kinetic_energy, cheetah, wrt="q", cache=False)(at["q"], at["v"])
    forward = ff.jacobian(ff.dynamics.kinetic_energy, cheetah, wrt="q", cache=False)(at["q"], at["v"])
    np.testing.assert_allclose(gradient, forward, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("robots", [1, 7, 1000])
@pytest.mark.parametrize("lanes", [None, 2, 4])
def test_one_robot_is_the_same_bit_for_bit_in_any_company(robots, lanes, cheetah):
    random = np.random.default_rng(robots)
    many = random_states(cheetah, robots, seed=robots)
    q, v, tau = np.asarray(many.q), random.normal(size=(robots, 18)), random.normal(size=(robots, 12))
    native = ff.compile(ff.dynamics.forward_dynamics, cheetah)
    batch = ff.compile(ff.dynamics.forward_dynamics, cheetah, target="batch", lanes=lanes)
    together = batch(q, v, tau)
    for k in range(0, robots, max(1, robots // 20)):
        assert (together[k] == native(q[k], v[k], tau[k])).all()


def test_free_parameters_stay_inputs(cheetah):
    at = state(cheetah)
    free = ["trunk.mass", "LF_knee_link.com", "LF_hip.armature"]
    fd = ff.compile(ff.dynamics.forward_dynamics, cheetah, free=free)
    for mass in (3.3, 6.0):
        values = {"trunk.mass": mass, "LF_knee_link.com": np.array([0.0, 0.01, -0.05]), "LF_hip.armature": 0.004}
        expected = ff.dynamics.forward_dynamics(cheetah.replace(values), at["q"], at["v"], at["tau"])
        np.testing.assert_allclose(fd(at["q"], at["v"], at["tau"], values), expected, rtol=1e-9, atol=1e-8)


def test_derivative_by_a_free_parameter(cheetah):
    at = state(cheetah)
    slope = ff.jacobian(ff.dynamics.gravity_terms, cheetah, wrt="parameters", free=["trunk.mass"])
    exact = slope(at["q"], {"trunk.mass": 3.3})["trunk.mass"]
    more, less = (
        ff.dynamics.gravity_terms(cheetah.replace({"trunk.mass": m}), at["q"]) for m in (3.3 + 1e-4, 3.3 - 1e-4)
    )
    np.testing.assert_allclose(exact, (more - less) / 2e-4, rtol=1e-6, atol=1e-8)


def test_keyword_constants_are_folded_and_arrays_become_inputs(cheetah):
    at = state(cheetah)
    classical = ff.compile(ff.dynamics.forward_dynamics, cheetah, classical=True)
    expected = ff.dynamics.forward_dynamics(cheetah, at["q"], at["v"], at["tau"], classical=True)
    np.testing.assert_allclose(classical(at["q"], at["v"], at["tau"]), expected, rtol=1e-10, atol=1e-9)
    tilted = ff.compile(ff.dynamics.gravity_terms, cheetah, gravity=np.zeros(3))
    g = np.array([0.1, -0.2, -3.0])
    np.testing.assert_allclose(tilted(at["q"], g), ff.dynamics.gravity_terms(cheetah, at["q"], g), atol=1e-12)


def test_the_operation_count_of_forward_dynamics_stays_low(cheetah):
    assert ff.program(ff.dynamics.forward_dynamics, cheetah).live_operations <= 3500


def test_bad_calls_name_the_argument(cheetah):
    fd = ff.compile(ff.dynamics.forward_dynamics, cheetah)
    at = state(cheetah)
    with pytest.raises(InputError, match="'v'"):
        fd(at["q"], np.zeros(17), at["tau"])
    with pytest.raises(InputError, match=r"unknown parameter 'trunk\.mas'"):
        ff.compile(ff.dynamics.forward_dynamics, cheetah, free=["trunk.mas"])
    with pytest.raises(InputError, match="shape of argument 'x' is not known"):
        ff.compile(lambda robot, x: x, cheetah)
    with pytest.raises(InputError, match="unknown argument 'gravty'"):
        ff.compile(ff.dynamics.gravity_terms, cheetah, gravty=1)


def test_a_function_with_hidden_state_runs_in_python_with_a_warning():
    count = [0]

    def counting(x):
        count[0] += 1
        return x * count[0]

    with pytest.warns(RuntimeWarning, match="runs in Python"):
        compiled = ff.compile(counting, None, np.ones(2), cache=False)
    assert compiled.target == "python"


SECOND_START = """
import sys, footfall as ff
from nptrace.frontend import tracer
def refuse(frame, event, argument):
    if frame.f_code in (tracer.trace.__code__, tracer.verify.__code__): raise SystemExit("traced again")
robot = ff.load("mini_cheetah")
if {again}: sys.setprofile(refuse)
fd = ff.compile(ff.dynamics.forward_dynamics, robot)
print(fd(*(robot.state("stand")[0], robot.state("stand")[1], [0.0] * 12))[5])
"""


def test_a_second_start_needs_no_trace(tmp_path):
    seen = []
    for again in (False, True):
        run = subprocess.run(
            [sys.executable, "-c", SECOND_START.format(again=again)],
            capture_output=True,
            text=True,
            env={**os.environ, "NPTRACE_CACHE": str(tmp_path)},
        )
        assert run.returncode == 0, run.stderr + run.stdout
        seen.append(run.stdout)
    assert seen[0] == seen[1]


def test_importing_footfall_loads_no_heavy_module():
    heavy = ("llvmlite", "scipy", "matplotlib", "mujoco", "rich")
    code = f"import sys, footfall; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize(
    "constant", [np.eye(3), 2.0, [1.0, 2.0], {"a": np.ones(2)}], ids=["array", "number", "list", "dict"]
)
@pytest.mark.parametrize("use", [ff.compile, ff.program, ff.jacobian, ff.gradient])
def test_arrays_in_the_place_of_the_robot_are_refused_and_none_is_named(use, constant):
    def product(a, x):
        return x @ x

    wrt = {"wrt": "x"} if use in (ff.jacobian, ff.gradient) else {}
    with pytest.raises(InputError, match=r"product.*constant.*ff.compile\(product, None, ...\)"):
        use(product, constant, np.ones(3), **wrt)

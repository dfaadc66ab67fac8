"""``footfall derive``: the formulas of legs and robots are the numbers that the algorithms compute."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall.dynamics.formalisms.derive import QUANTITIES, derive, leg_alone
from footfall.errors import InputError
from footfall.kinematics.leg_chain import foot_jacobian, foot_position, leg_chain

ROBOTS = ("mini_cheetah", "dynakat", "spined", "xiling")


def function(formula):
    """Return the function that a formula in Python defines."""
    names: dict = {}
    exec(formula.text, names)
    return next(value for key, value in names.items() if key not in ("np", "__builtins__"))


def angles(robot: str, leg: str, seed: int = 0) -> tuple[np.ndarray, list[int]]:
    """Return random joint values, and those of a leg in the order of its own robot."""
    model = ff.load(robot)
    q = np.random.default_rng(seed).uniform(-1.0, 1.0, model.nj)
    return q, [model.joint_names.index(name) for name in leg_alone(model, leg).joint_names]


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("leg", ["LF", "RH"])
def test_kinematics_of_a_leg_as_formulas_are_its_numbers(robot: str, leg: str) -> None:
    model = ff.load(robot)
    q, own = angles(robot, leg)
    chain = leg_chain(model, leg)
    inside = [own.index(j) for j in chain.joints]
    position, J = foot_jacobian(chain, q[list(chain.joints)])
    alone = leg_alone(model, leg)
    T = function(derive(model, "forward_kinematics", leg, "python"))(q[own])
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-12)
    # chain.foot is in the carrier's frame, the leg alone in that of what it is mounted on
    again = function(derive(model, "forward_kinematics", leg, "python"))(0.0 * q[own])[:3, 3]
    rest = foot_position(chain, np.zeros(len(chain)))
    np.testing.assert_allclose(np.linalg.norm(T[:3, 3] - again), np.linalg.norm(position - rest), atol=1e-12)
    got = function(derive(model, "contact_jacobian", leg, "python"))(q[own])
    np.testing.assert_allclose(got[:, inside].T @ got[:, inside], J.T @ J, atol=1e-12)
    whole = function(derive(model, "jacobian", leg, "python"))(q[own])
    np.testing.assert_allclose(whole, ff.kinematics.feet_jacobian(alone, q[own])[0], atol=1e-12)
    np.testing.assert_allclose(whole[3:], got, atol=1e-12)


@pytest.mark.parametrize("robot", ROBOTS[:3])
def test_dynamics_of_a_leg_as_formulas_are_the_recursive_algorithms(robot: str) -> None:
    model = ff.load(robot)
    alone = leg_alone(model, "LF")
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=alone.nq), rng.normal(size=alone.nv)
    M = function(derive(model, "mass_matrix", "LF", "python"))(q)
    np.testing.assert_allclose(M, ff.dynamics.mass_matrix(alone, q), rtol=1e-9, atol=1e-10)
    G = function(derive(model, "gravity", "LF", "python"))(q)
    np.testing.assert_allclose(G, ff.dynamics.gravity_terms(alone, q), rtol=1e-9, atol=1e-10)
    if robot != "dynakat":  # whose C takes seconds
        C = function(derive(model, "coriolis_matrix", "LF", "python"))(q, v)
        np.testing.assert_allclose(C @ v, ff.dynamics.velocity_terms(alone, q, v), rtol=1e-9, atol=1e-10)


def test_feet_and_gravity_of_a_whole_robot_are_written_too() -> None:
    model = ff.load("spined")
    rng = np.random.default_rng(2)
    x = 0.4 * rng.normal(size=model.nv)
    q = np.concatenate(
        [x[3:6], ff.spatial.quaternion.from_rotation(ff.spatial.rotation.from_euler(x[:3], "xyz")), x[6:]]
    )
    feet = function(derive(model, "forward_kinematics", form="python"))(x)
    np.testing.assert_allclose(feet, ff.kinematics.foot_positions(model, q), atol=1e-12)
    G = function(derive(model, "gravity", form="python"))(x)
    np.testing.assert_allclose(G[6:], ff.dynamics.gravity_terms(model, q)[6:], atol=1e-9)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("quantity", ["gravity", "coriolis_matrix", "jacobian"])
def test_c_computes_what_python_does(quantity: str, tmp_path: Path) -> None:
    model = ff.load("mini_cheetah")
    formula, python = derive(model, quantity, "LF", "c"), function(derive(model, quantity, "LF", "python"))
    arrays = [np.array([0.3, -0.7, 1.1]), np.array([0.5, -0.2, 0.9])][: 1 + (quantity == "coriolis_matrix")]
    wanted = np.ravel(python(*arrays))
    name = QUANTITIES[quantity]
    given = ", ".join(f"(double[]){{{', '.join(map(repr, map(float, array)))}}}" for array in arrays)
    main = f"int main(void) {{ double r[{wanted.size}]; {name}({given}, r);"
    main += f' for (int k = 0; k < {wanted.size}; ++k) printf("%.17g ", r[k]); return 0; }}'
    (tmp_path / "f.c").write_text("#include <stdio.h>\n" + formula.text + main)
    subprocess.run(["cc", "-Wall", "-Werror", "-o", tmp_path / "f", tmp_path / "f.c", "-lm"], check=True)
    said = subprocess.run([tmp_path / "f"], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose(np.array(said.split(), float), wanted, rtol=1e-12, atol=1e-14)


def test_the_command_says_what_it_costs_and_what_its_symbols_are(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    out = tmp_path / "m.tex"
    assert cli.run(["derive", "mini_cheetah", "mass_matrix", "--leg", "LF", "--out", str(out), "--json"]) == 0
    shown = capsys.readouterr()
    said = json.loads(shown.out)
    assert out.read_text().strip() == said["formula"].strip()
    assert said["operations"] > 100
    assert said["characters"] == len(said["formula"]) < 1000
    assert list(said["variables"]) == ["q1", "q2", "q3"]
    assert said["variables"]["q3"] == "LF_knee [rad]"
    assert "too large" not in shown.err
    assert cli.run(["derive", "spined", "contact_jacobian", "--out", str(out)]) == 0
    assert "too large to read: --leg LF" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mini_cheetah", "mass"], "unknown quantity"),
        (["mini_cheetah", "jacobian", "--leg", "XX"], "XX"),
        (["mini_cheetah", "jacobian", "--format", "fortran"], "choose latex, python, c"),
        (["fivebar", "jacobian", "--leg", "LF"], "closed loops"),
        (["mini_cheetah", "jacobian", "--order", "abc", "--leg", "LF"], "zyx, xyz"),
    ],
)
def test_what_cannot_be_derived_is_refused_in_one_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture
) -> None:
    assert cli.run(["derive", *words]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "deriving" not in line]
    assert len(said) == 1
    assert says in said[0]


def test_a_leg_keeps_its_total_mass() -> None:
    model = ff.load("mini_cheetah")
    legs = [leg_alone(model, leg) for leg in model.foot_names]
    assert all(not leg.floating for leg in legs)
    assert len({round(leg.mass, 12) for leg in legs}) == 1
    with pytest.raises(InputError, match="unknown foot"):
        leg_alone(model, "XX")

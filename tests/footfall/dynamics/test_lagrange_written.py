"""Equations of motion written out: the Python text runs and agrees, the LaTeX is what a textbook prints."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import numpy as np
import pytest
from random_trees import random_tree

from footfall.dynamics.formalisms import lagrange
from footfall.errors import InputError
from footfall.robot import Joint, Link, Robot
from footfall.robot.model.shapes import box_inertia
from nptrace.frontend import notation, tracer

FUNCTIONS = {
    "mass_matrix": lagrange.euler_mass_matrix,
    "coriolis_matrix": lagrange.euler_coriolis_matrix,
    "coriolis_terms": lagrange.euler_coriolis_terms,
    "gravity_terms": lagrange.euler_gravity_terms,
}
L1, L2, M1, M2, I1, I2 = 0.3, 0.2, 0.9, 0.6, 0.01, 0.02


def two_link_leg() -> Robot:
    """Two rods that swing about y, their masses in their middles: every textbook has it."""
    links = [
        Link.massless("hip"),
        Link(name="thigh", mass=M1, com=np.array([0.0, 0.0, -L1 / 2]), inertia=I1 * np.eye(3)),
        Link(name="shank", mass=M2, com=np.array([0.0, 0.0, -L2 / 2]), inertia=I2 * np.eye(3)),
    ]
    y = np.array([0.0, 1.0, 0.0])
    joints = [
        Joint(name="hip", kind="revolute", parent="hip", child="thigh", axis=y),
        Joint(name="knee", kind="revolute", parent="thigh", child="shank", origin=np.array([0.0, 0.0, -L1]), axis=y),
    ]
    return Robot(name="two_link_leg", links=links, joints=joints, floating=False)


def three_joint_leg() -> Robot:
    x, y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    links = [
        Link.massless("base"),
        Link(name="abad", mass=0.4, com=np.array([0.01, 0.02, 0.0]), inertia=box_inertia(0.4, (0.06, 0.05, 0.07))),
    ]
    links += [
        Link(name=n, mass=m, com=np.array([0, 0.01, -0.1]), inertia=box_inertia(m, (0.05, 0.04, 0.2)))
        for n, m in (("hip", 0.9), ("knee", 0.5))
    ]
    joints = [
        Joint(name="abad", kind="revolute", parent="base", child="abad", axis=x),
        Joint(name="hip", kind="revolute", parent="abad", child="hip", origin=np.array([0.0, 0.06, 0.0]), axis=y),
        Joint(name="knee", kind="revolute", parent="hip", child="knee", origin=np.array([0.0, 0.0, -0.2]), axis=y),
    ]
    return Robot(name="three_joint_leg", links=links, joints=joints, floating=False)


def executed(text: str, name: str, *arrays: np.ndarray) -> Any:
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    return space[name](*arrays)


@pytest.mark.parametrize("quantity", FUNCTIONS)
@pytest.mark.parametrize("robot", [two_link_leg(), three_joint_leg()], ids=lambda robot: robot.name)
def test_python_text_computes_the_same(robot: Robot, quantity: str) -> None:
    x, rate = np.random.default_rng(1).normal(size=(2, robot.nv))
    arrays = (x, rate) if quantity.startswith("coriolis") else (x,)
    text = lagrange.written(robot, quantity, "python")
    assert text.count("\n") < 60
    assert np.allclose(executed(text, quantity, *arrays), FUNCTIONS[quantity](robot, *arrays), atol=1e-12)


def test_what_is_too_large_for_harmonics_is_written_step_by_step() -> None:
    robot = random_tree(np.random.default_rng(0), bodies=6, floating=True, rotors="exact")
    x, rate = np.random.default_rng(1).uniform(-1, 1, (2, robot.nv))
    text = lagrange.written(robot, "coriolis_terms", "python")
    assert "    t100 = " in text
    expected = lagrange.euler_coriolis_terms(robot, x, rate)
    assert np.allclose(executed(text, "coriolis_terms", x, rate), expected, atol=1e-10 * np.abs(expected).max())


def test_two_link_leg_reads_as_in_a_textbook() -> None:
    """M11 = I1 + I2 + m1 l1²/4 + m2 (l1² + l2²/4 + l1 l2 cos q2), and so on: nothing else is left over."""
    robot = two_link_leg()
    m11, m22, coupling = I1 + I2 + M1 * L1**2 / 4 + M2 * (L1**2 + L2**2 / 4), I2 + M2 * L2**2 / 4, M2 * L1 * L2
    lines = lagrange.written(robot, "mass_matrix").splitlines()
    assert lines == [
        r"\begin{aligned}",
        rf"M_{{11}} &= {m11:.4g} + {coupling:.4g} \, \cos(q_{{2}}) \\",
        rf"M_{{12}} &= M_{{21}} = {m22:.4g} + {coupling / 2:.4g} \, \cos(q_{{2}}) \\",
        rf"M_{{22}} &= {m22:.4g}",
        r"\end{aligned}",
    ]
    gravity = lagrange.written(robot, "gravity_terms")
    assert r"G_{2} &= 0.5886 \, \sin(q_{1} + q_{2})" in gravity
    coriolis = lagrange.written(robot, "coriolis_terms")
    assert r"c_{2} &= 0.018 \, \dot{q}_{1}^{2} \, \sin(q_{2})" in coriolis


def test_intermediate_terms_have_names_that_say_what_they_are() -> None:
    text = lagrange.written(two_link_leg(), "gravity_terms", "python")
    assert "    s1 = np.sin(q1)\n" in text
    assert "    s12 = np.sin(q1 + q2)\n" in text


@pytest.mark.parametrize("quantity", FUNCTIONS)
def test_latex_is_well_formed_and_can_be_drawn(quantity: str) -> None:
    from matplotlib import mathtext

    robot = three_joint_leg()
    block = lagrange.written(robot, quantity)
    for left, right in ("{}", "()"):
        assert block.count(left) == block.count(right)
    for line in block.splitlines()[1:-1]:
        formula = line.removesuffix(r"\\").replace("&", "").strip()
        mathtext.math_to_image(f"${formula}$", io.BytesIO(), format="png")  # raises on what it cannot read


def test_steps_can_be_drawn_too() -> None:
    from matplotlib import mathtext

    def f(x: np.ndarray) -> np.ndarray:
        y = np.sqrt(x[0] ** 2 + 1.5e-7) / x[1]
        return np.stack([np.sin(y) * y, np.arctan2(y, -x[0] * (x[1] - 2.0)), np.exp(y) - np.log(np.abs(y))])

    names = notation.Names(("q1", "q2"), ("q_{1}", "q_{2}"))
    traced = tracer.trace(f, np.ones(2))
    for formula in notation.equations(traced, "f", names):
        mathtext.math_to_image(f"${formula}$", io.BytesIO(), format="png")
    text = notation.python_text(traced, "f", ["x"], names, "f of x.")
    x = np.array([0.4, -1.3])
    assert np.allclose(executed(text, "f", x), f(x), atol=1e-13)


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown quantity 'M'.*mass_matrix"):
        lagrange.written(two_link_leg(), "M")
    with pytest.raises(InputError, match=r"unknown form 'word'.*latex, python"):
        lagrange.written(two_link_leg(), "mass_matrix", "word")
    names = notation.Names(("a",), ("a",))
    with pytest.raises(InputError, match="'max' cannot be written as a formula"):
        notation.equations(tracer.trace(partial(np.maximum, 0.5), 1.0), "f", names)
    with pytest.raises(InputError, match="one number, vector or matrix"):
        notation.equations(tracer.trace(lambda a: (a, a), 1.0), "f", names)

"""What a step computes with is the same robot: base parameters, axes shared by parallel joints, composite bodies."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from third_party_models import third_party_path, walker

import footfall as ff
from footfall.dynamics.base_parameters import base_parameters
from footfall.dynamics.composite_bias import composite_bias
from footfall.dynamics.forward_dynamics import bias_terms
from footfall.dynamics.mass_matrix import composite_bodies, composite_mass_matrix, mass_matrix
from footfall.dynamics.parallel_joints import posture
from footfall.kinematics.forward import body_poses, foot_positions, poses_in_base
from footfall.robot import Robot
from footfall.robot.model.parts import Joint, Link
from footfall.spatial.rotation import about_axis

GRAVITY = np.array([0.7, -1.1, -8.9])  # not along an axis


def chain(seed: int, floating: bool) -> Robot:
    """Nine joints in two branches: rows of parallel and opposed axes, askew ones, a slide between; frames at random."""
    random = np.random.default_rng(seed)
    names, links, joints = ["base"], [], []
    turned = np.eye(3)  # of the last link's frame, at zero

    def body(name: str) -> Link:
        root = random.normal(size=(3, 3))
        tensor = np.trace(root @ root.T) * np.eye(3) - root @ root.T
        return Link(name=name, mass=random.uniform(0.2, 2.0), com=random.normal(size=3), inertia=0.1 * tensor)

    def unit() -> np.ndarray:
        axis = random.normal(size=3)
        return axis / np.sqrt(axis @ axis)

    links.append(body("base"))
    row, pattern = unit(), ["new", "same", "opposed", "new", "slide", "same", "new", "new", "same"]
    for k, kind in enumerate(pattern):
        parent = "base" if k in (0, 6) else names[-1]
        turned = np.eye(3) if parent == "base" else turned
        row = unit() if kind == "new" else -row if kind == "opposed" else row  # in the base's axes, at zero
        R = about_axis(unit(), random.uniform(-3.0, 3.0))
        turned = turned @ R
        names.append(f"link {k}")
        links.append(body(names[-1]))
        along = unit() if kind == "slide" else turned.T @ row
        joints.append(
            Joint(
                name=f"joint {k}",
                kind="prismatic" if kind == "slide" else "revolute",
                parent=parent,
                child=names[-1],
                origin=random.normal(size=3),
                rotation=R,
                axis=along,
                lower=-np.inf,
                upper=np.inf,
            )
        )
    return Robot(name="chain", links=links, joints=joints, floating=floating)


MADE = {f"chain {k}": (k, k != 1) for k in range(3)}
NAMES = ("armature", "exact", "spined", "dynakat", "hyq", "anymal_c", *MADE)


@pytest.fixture(scope="module", params=NAMES)
def robot(request: pytest.FixtureRequest) -> Robot:
    """The Mini Cheetah with either kind of rotors, robots of files, and chains made here."""
    name = request.param
    if name in ("armature", "exact"):
        return ff.load("mini_cheetah", rotors=name)
    if name in MADE:
        return chain(*MADE[name])
    return walker(name) if name in ("spined", "dynakat") else ff.load(third_party_path(name))


def some_state(robot: Robot, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    q, v = random.normal(size=robot.nq), 2.0 * random.normal(size=robot.nv)
    if robot.floating:
        q[3:7] /= np.sqrt(q[3:7] @ q[3:7])
    return q, v


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-13) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


def test_mass_matrix_and_bias_of_a_step_are_those_of_the_papers_algorithms(robot: Robot) -> None:
    for same in (robot, robot.in_limb_frames()):
        for seed in range(3):
            q, v = some_state(robot, seed)
            at = posture(same, q)
            composite = composite_bodies(at.robot, at.X)
            close(composite_mass_matrix(at.robot, at.X, composite), mass_matrix(robot, q))
            for still in (at.still, ()):  # to be told which axes are still saves work, and changes nothing
                bias = composite_bias(at.robot, at.X, composite, v, GRAVITY, still)
                close(bias, bias_terms(robot, q, v, GRAVITY, classical=True))


def test_points_of_bodies_are_where_they_were(robot: Robot) -> None:
    q, _ = some_state(robot, 4)
    at, own, p = posture(robot, q), body_poses(robot, q), np.array([0.3, -0.7, 0.2])
    poses = poses_in_base(at.robot, at.X)
    for i, pose in enumerate(poses):
        close((at.X[0] @ pose).point(at.point(i, p)), own[i].point(p))
    for foot, i, p_B in zip(foot_positions(robot, q), at.robot.tree.feet, at.robot.tree.foot_positions):
        close((at.X[0] @ poses[i]).point(p_B), foot)


def test_rows_of_parallel_joints_share_axes_and_no_others_do() -> None:
    robot = chain(3, True)
    assert robot.parallel_joints == {2: 1.0, 3: -1.0, 9: 1.0}
    assert posture(robot, some_state(robot, 0)[0]).still == {1, 2, 3, 8, 9}
    assert robot.with_parameters({"joint 1.axis": np.array([0.0, 0.0, 1.0])}).parallel_joints == {}


def test_base_parameters_leave_a_turning_body_nothing_on_its_axis() -> None:
    robot = chain(5, True)
    for body, inertia in list(zip(robot.tree.bodies, base_parameters(robot.tree)))[1:]:
        if body.kind == "revolute":
            assert inertia.m == 0.0
            assert abs(body.axis @ inertia.h) < 1e-14
            assert abs(body.axis @ inertia.J @ body.axis) < 1e-14
        else:
            assert inertia.m > 0.0
    whole = sum(inertia.m for inertia in base_parameters(robot.tree))
    assert whole == pytest.approx(robot.mass, rel=1e-14)


def test_a_free_mass_moves_with_its_base_parameters() -> None:
    """A traced mass of a shank ends in the program of the trunk, too."""
    robot = ff.load("mini_cheetah")
    name = robot.tree.bodies[3].name

    def bias(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        at = posture(robot, q)
        return composite_bias(at.robot, at.X, composite_bodies(at.robot, at.X), v, GRAVITY, at.still)

    q, v = some_state(robot, 6)
    compiled = ff.compile(bias, robot, q, v, free=[f"{name}.mass"])
    heavier = dataclasses.replace(robot.link(name), mass=0.9)
    links = [heavier if link.name == name else link for link in robot.links]
    expected = bias_terms(robot.replace(links=links), q, v, GRAVITY, classical=True)
    close(compiled(q, v, {f"{name}.mass": 0.9}), expected, 1e-12)

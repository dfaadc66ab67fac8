"""Joint-space inertia matrix: Algorithm 5, eqs. (26)-(28) of de Paula et al. 2024 (composite rigid bodies).

Erratum of eq. (26): parent and child are swapped in X; Algorithm 5 has it right.
"""

import numpy as np
from numpy import ndarray

from footfall.kinematics.forward import base_joint_twists, joint_transforms, joint_twist
from footfall.robot.model.description import Robot
from footfall.spatial import Inertia, Transform, skew
from nptrace.array_types import Float


def mass_matrix(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv nv"]:
    """Return the joint-space inertia matrix M(q), by the composite rigid body algorithm (CRBA).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].

    Returns:
        M [kg m², kg m, kg], symmetric and positive definite; angular before linear velocity, in base axes.
    """
    return composite_mass_matrix(robot, joint_transforms(robot, q))


def composite_bodies(robot: Robot, X: list[Transform]) -> list[Inertia]:
    """Return the inertia of every body with all that it carries, eq. (26)."""
    composite = [body.inertia for body in robot.tree.bodies]
    for i in reversed(range(1, len(X))):
        j = robot.tree.parent[i]
        composite[j] = composite[j] + composite[i].to_parent(X[i])
    return composite


def armatures(robot: Robot) -> Float[ndarray, "nj"]:
    """Return the inertia that rotors add at every joint [kg m²]."""
    return np.array([body.armature for body in robot.tree.bodies[1:]])


def composite_mass_matrix(
    robot: Robot,
    X: list[Transform],
    composite: list[Inertia] | None = None,
    armature: Float[ndarray, "nj"] | None = None,
) -> Float[ndarray, "nv nv"]:
    """Return M of bodies at X; their composites are given. ``armature``: used instead of the bodies' own."""
    tree, armature = robot.tree, armatures(robot) if armature is None else armature
    M, on_base = np.zeros((robot.nv, robot.nv)), base_joint_twists(robot)
    composite = composite_bodies(robot, X) if composite is None else composite
    for i in reversed(range(1, len(X))):
        F = composite[i].times(joint_twist(robot, i, 1.0))
        M[tree.dof(i), tree.dof(i)] = _along(robot, i, F) + armature[i - 1]
        for j in reversed(tree.support[i][:-1]):
            F = X[_child_towards(robot, j, i)].wrench_to_parent(F)
            M[tree.dof(i), tree.dof(j)] = M[tree.dof(j), tree.dof(i)] = _along(robot, j, F)
        if robot.floating:
            F = X[tree.support[i][0]].wrench_to_parent(F)
            if tree.dof(i) in on_base:  # fewer operations: its limb has been moved to the base's axes anyway
                F = composite[i].to_parent(X[i]).times(on_base[tree.dof(i)])
            M[tree.dof(i), :6] = M[:6, tree.dof(i)] = F
    if robot.floating:
        M[:6, :6] = _base_block(composite[0])
    return _with_spins(robot, X, M)


def _along(robot: Robot, i: int, F: Float[ndarray, "6"]) -> float:
    """Return S_iᵀ F."""
    body = robot.tree.bodies[i]
    return body.axis @ (F[:3] if body.kind == "revolute" else F[3:])


def _child_towards(robot: Robot, j: int, i: int) -> int:
    """Return the child of body j on the path to body i."""
    path = robot.tree.support[i]
    return path[path.index(j) + 1]


def _base_block(composite: Inertia) -> Float[ndarray, "6 6"]:
    """Return I_c0, the inertia of the locked robot about the base's origin."""
    top = np.concatenate([composite.I, skew(composite.h)], axis=1)
    return np.concatenate([top, np.concatenate([-skew(composite.h), composite.m * np.eye(3)], axis=1)])


def _with_spins(robot: Robot, X: list[Transform], M: ndarray) -> ndarray:
    """Add exact rotors: the spin of joint k couples to the rotation of the body that carries its rotor."""
    tree = robot.tree
    for i, body in enumerate(tree.bodies):
        for spin in body.spins:
            k, axis = tree.dof(spin.joint), spin.momentum  # in the axes of body i, then of its ancestors
            for j in reversed(tree.support[i]):
                if tree.bodies[j].kind == "revolute":
                    coupling = M[k, tree.dof(j)] + axis @ tree.bodies[j].axis
                    M[k, tree.dof(j)] = M[tree.dof(j), k] = coupling
                axis = X[j].R @ axis
            if robot.floating:
                M[k, :3] = M[:3, k] = M[k, :3] + axis
    return M

"""Forward dynamics by articulated bodies (Featherstone 2008, table 7.1), as an independent check of
``forward_dynamics``.

Full 6x6 matrices and spatial accelerations throughout: it shares the robot and its transforms with the inertia-matrix
method, and nothing after that. Exact rotors couple a joint to the body before its parent, which this recursion cannot
represent; robots with them are refused.
"""

import numpy as np
from numpy import ndarray

from footfall.dynamics.forward_dynamics import generalised
from footfall.errors import InputError
from footfall.kinematics.forward import base_twist, check_shape, joint_rates, joint_transforms, joint_twist
from footfall.robot.model.description import Robot
from footfall.spatial import cross_force_matrix, cross_motion_matrix
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float


def articulated_body(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    tau: Float[ndarray, "nj"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
) -> Float[ndarray, "nv"]:
    """Return the accelerations dv/dt by the articulated body algorithm (ABA).

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates [rad/s or m/s].
        tau: Joint torques [N m or N].
        gravity: Acceleration of gravity in world axes [m/s²].

    Returns:
        a; the acceleration of the base is spatial, in base axes.
    """
    if robot.rotors == "exact" and any(body.spins for body in robot.tree.bodies):
        raise InputError(f"robot '{robot.name}' has exact rotors: use forward_dynamics, or rotors='armature'")
    check_shape(robot, v=(v, robot.nv))
    tree, force, rates = robot.tree, generalised(robot, tau), joint_rates(robot, v)
    pose = joint_transforms(robot, q)
    X = [x.motion_matrix() for x in pose]
    S = [np.zeros(6)] + [joint_twist(robot, i, 1.0) for i in range(1, len(X))]

    V, c = [base_twist(robot, v)], [np.zeros(6)]
    for i in range(1, len(X)):
        V.append(X[i] @ V[tree.parent[i]] + S[i] * rates[i - 1])
        c.append(cross_motion_matrix(V[i]) @ (S[i] * rates[i - 1]))
    inertia = [body.inertia.matrix() for body in tree.bodies]  # from here on, articulated inertias and bias wrenches
    bias = [cross_force_matrix(V[i]) @ (inertia[i] @ V[i]) for i in range(len(X))]

    U, u, reciprocal = [np.zeros(6)] * len(X), [0.0] * len(X), [0.0] * len(X)
    for i in reversed(range(1, len(X))):
        j = tree.parent[i]
        U[i] = inertia[i] @ S[i]
        reciprocal[i] = 1.0 / (S[i] @ U[i] + tree.bodies[i].armature)
        u[i] = force[tree.dof(i)] - S[i] @ bias[i]
        left = inertia[i] - np.outer(U[i], U[i]) * reciprocal[i]
        inertia[j] = inertia[j] + X[i].T @ left @ X[i]
        bias[j] = bias[j] + X[i].T @ (bias[i] + left @ c[i] + U[i] * (u[i] * reciprocal[i]))

    upward = np.concatenate([np.zeros(3), -(pose[0].R.T @ np.asarray(gravity))])
    A = [_solve(inertia[0], force[:6] - bias[0]) if robot.floating else upward]
    joints = []
    for i in range(1, len(X)):
        carried = X[i] @ A[tree.parent[i]] + c[i]
        joints.append((u[i] - U[i] @ carried) * reciprocal[i])
        A.append(carried + S[i] * joints[-1])
    base = [A[0] - upward] if robot.floating else []
    return np.concatenate([*base, np.stack(joints)] if joints else base)


def _solve(A: Float[ndarray, "6 6"], b: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
    """Solve A x = b for symmetric positive definite A, by A = L D Lᵀ."""
    n = len(b)
    L, d = np.eye(n), [A[0, 0]] * n
    for k in range(n):
        d[k] = A[k, k] - sum(L[k, j] * L[k, j] * d[j] for j in range(k))
        for i in range(k + 1, n):
            L[i, k] = (A[i, k] - sum(L[i, j] * L[k, j] * d[j] for j in range(k))) / d[k]
    x = [b[k] for k in range(n)]
    for k in range(n):
        for j in range(k):
            x[k] = x[k] - L[k, j] * x[j]
    x = [x[k] / d[k] for k in range(n)]
    for k in reversed(range(n)):
        for i in range(k + 1, n):
            x[k] = x[k] - L[i, k] * x[i]
    return np.stack(x)

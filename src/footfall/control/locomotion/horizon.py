"""The convex MPC stage by stage: its program with the horizon kept as a loop, solved inside a trace.

Forces are in robot weights: a foot that is up in a stage stays an unknown that
nothing depends on and nothing bounds, so that the form of the program does not change with the schedule.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

import nptrace
from footfall.control.locomotion.single_body import ConvexMpc, friction_pyramid
from footfall.spatial import skew
from footfall.spatial.rotation import about_z
from nptrace._types import PyTree, Scalar
from nptrace.solve import stagewise

GIVES = 0.05  # part of a stage that a foot must be down to push in it
LEAST = 0.02  # of the robot's weight, on a foot that is down
_ITERATIONS, _TOLERANCE = 20, 1e-9


def stages_of(
    mpc: ConvexMpc,
    reference: Float[ndarray, "steps 12"],
    share: Float[ndarray, "steps 4"],
    feet: Float[ndarray, "steps 4 3"],
    normal: Float[ndarray, "3"],
    friction: Scalar,
    dt: float,
) -> tuple[stagewise.Stages, Float[ndarray, "steps 12"]]:
    """Return (the program, forces that carry the weight), for the arguments of ``mpc_forces``."""
    body, weight = mpc.body, mpc.body.weight
    Q, R = np.diag(np.array(mpc.weights)), mpc.force_weight * np.eye(12)
    cone = friction_pyramid(friction, normal)
    C, D = np.zeros((20, 12)), np.zeros((20, 12))
    for k in range(4):
        D[5 * k : 5 * k + 5, 3 * k : 3 * k + 3] = cone
    c = np.zeros(12)
    c[3:6], c[9:12] = 0.5 * dt * dt * np.array(body.gravity), dt * np.array(body.gravity)

    def stage(carry: PyTree, row: tuple[PyTree, ...]) -> tuple[PyTree, tuple[PyTree, ...]]:
        wanted, share, feet = row
        R_z = about_z(wanted[2])
        A, B = np.eye(12), np.zeros((12, 12))
        A[:3, 6:9], A[3:6, 9:12] = dt * R_z.T, dt * np.eye(3)
        inverse = R_z @ body.inverse @ R_z.T
        part = np.where(share > GIVES, share, 0.0) * weight
        for k in range(4):
            turn, push = inverse @ skew(part[k] * feet[k]), part[k] / body.mass * np.eye(3)
            columns = slice(3 * k, 3 * k + 3)
            B[6:9, columns], B[9:12, columns] = dt * turn, dt * push
            B[:3, columns], B[3:6, columns] = 0.5 * dt * dt * (R_z.T @ turn), 0.5 * dt * dt * push
        pushes = share > GIVES
        low, high = np.zeros(20), np.full(20, 2.0 * stagewise.INFINITE)
        for k in range(4):
            low[5 * k : 5 * k + 4] = np.where(pushes[k], 0.0, -1.0)
            low[5 * k + 4] = np.where(pushes[k], LEAST, -1.0)
            high[5 * k + 4] = np.where(pushes[k], mpc.largest_force, 1.0)
        carried = np.where(pushes, 1.0, 0.0) / np.maximum(np.sum(np.where(pushes, share, 0.0)), 0.25)
        guess = np.stack([x for k in range(4) for x in (0.0 * carried[k], 0.0 * carried[k], carried[k])])
        return carry, (A, B, -np.array(mpc.weights) * wanted, low, high, guess)

    _, (A, B, q, low, high, guess) = nptrace.scan(stage, 0.0, (reference, share, feet))
    n = mpc.steps
    same = [np.stack([x] * n) for x in (c, Q, R, np.zeros(12), C, D)]
    return stagewise.Stages(
        A=A, B=B, c=same[0], Q=same[1], q=q, R=same[2], r=same[3], C=same[4], D=same[5], low=low, high=high
    ), guess


def mpc_forces(
    mpc: ConvexMpc,
    x: Float[ndarray, "12"],
    reference: Float[ndarray, "steps 12"],
    share: Float[ndarray, "steps 4"],
    feet: Float[ndarray, "steps 4 3"],
    normal: Float[ndarray, "3"],
    friction: Scalar,
    dt: float,
) -> tuple[Float[ndarray, "4 3"], stagewise.Solution]:
    """Return (forces [N] in world axes for the first step, how it went).

    Args:
        x: (Θ roll pitch yaw, p of the centre of mass, ω, v), all in world axes.
        reference: x as wanted at the end of each step.
        share: the fraction of each step that each foot is down.
        feet: positions relative to the planned centre of mass [m].
        normal: of the ground.
        friction: that may be counted on.
        dt: of a step [s].
    """
    stages, guess = stages_of(mpc, reference, share, feet, normal, friction, dt)
    found = stagewise.solve(stages, x, guess, _ITERATIONS, _TOLERANCE)
    down = np.where(share[0] > GIVES, 1.0, 0.0)
    return mpc.body.weight * down[:, None] * np.reshape(found.u[0], (4, 3)), found

"""Eq. (19) of Yan et al. 2021 solved by its structure: without a matrix of all links, one program for all topologies.

The constraint columns of C express that a link moves like its parent except along its joint. So their null space is
known beforehand: a = b + N z with z = (acceleration of the base, joint accelerations), N made of joint screws, b the
velocity-dependent acceleration. Projected onto N, the constraint wrenches vanish, Nᵀ I N is branch-sparse, and stance
feet add a few rows. Wrenches follow by summation from the feet to the base. As in eq. (19), either the acceleration or
the torque of each joint is given.

All quantities are in one frame, as in the paper; here in the axes of the base, where the base's inertia is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.dynamics.factor import dense_factor, dense_solve, factor, solve_inward, solve_outward
from footfall.kinematics.forward import base_pose, base_twist, joint_rates
from footfall.kinematics.iterative.product_of_exponentials import screw_poses
from footfall.robot.model.description import Robot
from footfall.spatial import Inertia, Transform, cross, cross_force, cross_motion, skew
from footfall.spatial.screw import motion_screw
from nptrace.array_types import Float


@dataclass(frozen=True, kw_only=True)
class ScrewChain:
    """All links at one instant in the base's axes: poses, joint screws, twists, inertias, biases and required
    wrenches.
    """

    poses: list[Transform]
    screws: list[ndarray]
    twists: list[ndarray]
    inertias: list[Inertia]
    turning: list[ndarray]  # b: accelerations at zero acceleration of base and joints
    needed: list[ndarray]  # f_p of eq. (18) without foot forces: v ⊛ I v - I g, plus spinning rotors
    rates: ndarray


@dataclass(frozen=True, kw_only=True)
class Known:
    """Which of the unknowns of eq. (19) are given, by joint and foot; all may be traced."""

    force: Float[ndarray, "nv"]  # on the base and by the motors, where the acceleration is not given
    accelerations: Float[ndarray, "nj"]  # accelerations, where they are given
    given: Float[ndarray, "nj"]  # 1: the joint's acceleration is given, 0: its torque
    mode: Float[ndarray, "nf"]  # 1: the foot is constrained
    foot_forces: Float[ndarray, "nf 3"]  # measured at the other feet, world axes [N]
    base: Float[ndarray, "6"] | None = None  # acceleration of the base, if it is measured
    flat: bool = False  # whether constrained feet are soles, which do not rotate either


@dataclass(frozen=True, kw_only=True)
class Solved:
    """a of the base and the joints, torques, foot forces (world axes) and the wrench each joint passes on."""

    a: Float[ndarray, "nv"]
    torques: Float[ndarray, "nj"]
    foot_forces: Float[ndarray, "nf 3"]
    foot_moments: Float[ndarray, "nf 3"]  # moments at constrained soles; zero at points
    reactions: Float[ndarray, "nb 6"]
    inertia: Float[ndarray, "nj"]  # inertia at each joint while nothing else moves [kg m²]


def solve_by_structure(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    known: Known,
    gravity: Float[ndarray, "3"] | tuple[float, float, float],
) -> Solved:
    """Return everything that eq. (19) determines. The constrained feet must be independent."""
    R_WB = base_pose(robot, q).R
    chain = chain_of(robot, q, v, R_WB.T @ np.asarray(gravity))
    M = _mass_matrix(robot, chain)
    feet = _Feet.of(robot, chain, known.flat)
    measured = (1.0 - known.mode)[:, None] * (known.foot_forces @ R_WB) if robot.nf else np.zeros((0, 3))
    nothing = np.zeros((robot.nf, 3))
    force = known.force - _bias(robot, chain) + feet.pushed(measured)
    z, held = _accelerations(robot, M, force, feet, known)
    by_foot = np.reshape(held, (robot.nf, feet.width))
    forces, moments = measured + by_foot[:, -3:], by_foot[:, :3] if known.flat else nothing
    wrenches, torques = _passed_on(robot, chain, z, forces, moments, known.force, feet)
    reactions = np.stack([X.wrench_to_child(W) for X, W in zip(chain.poses, wrenches)])
    return Solved(
        a=z,
        torques=torques,
        foot_forces=forces @ R_WB.T,
        foot_moments=moments @ R_WB.T,
        reactions=reactions,
        inertia=joint_rates(robot, np.diag(M)),
    )


def chain_of(robot: Robot, q: ndarray, v: ndarray, g_B: Float[ndarray, "3"]) -> ScrewChain:
    """Return links by the product of exponentials; twists and biases are sums of screws from the base outwards."""
    poses, rates, tree = screw_poses(robot, q), joint_rates(robot, v), robot.tree
    screws, twists, turning = [np.zeros(6)], [base_twist(robot, v)], [np.zeros(6)]
    for i, body in enumerate(tree.bodies[1:], start=1):
        screws.append(poses[i].to_parent(motion_screw(body.kind, body.axis)))
        twists.append(twists[body.parent] + screws[i] * rates[i - 1])
        # -dCᵀ/dt v of eq. (17): constraint screws move with the child, across its motion screw
        turning.append(turning[body.parent] + cross_motion(twists[i], screws[i] * rates[i - 1]))
    inertias = [body.inertia if i == 0 else body.inertia.to_parent(poses[i]) for i, body in enumerate(tree.bodies)]
    needed = []
    for i, (body, V, inertia) in enumerate(zip(tree.bodies, twists, inertias)):
        pull = np.concatenate([cross(inertia.h, g_B), inertia.m * g_B])
        wrench = cross_force(V, inertia.times(V)) - pull
        for spin in body.spins:
            h = poses[i].R @ spin.momentum
            wrench = wrench + np.concatenate([cross(V[:3], h) * rates[spin.joint - 1], np.zeros(3)])
        needed.append(wrench)
    return ScrewChain(
        poses=poses, screws=screws, twists=twists, inertias=inertias, turning=turning, needed=needed, rates=rates
    )


def _inward(robot: Robot, wrenches: Sequence[ndarray]) -> list[ndarray]:
    """Return the wrenches that joints transmit so that all links beyond them have theirs."""
    out = list(wrenches)
    for i in reversed(range(1, len(out))):
        out[robot.tree.parent[i]] = out[robot.tree.parent[i]] + out[i]
    return out


def _bias(robot: Robot, chain: ScrewChain) -> Float[ndarray, "nv"]:
    """Return Nᵀ (I b + f_p), including rotors."""
    wrenches = [inertia.times(b) + needed for inertia, b, needed in zip(chain.inertias, chain.turning, chain.needed)]
    passed = _inward(robot, wrenches)
    joints = [S @ W for S, W in zip(chain.screws[1:], passed[1:])]
    for i, body in enumerate(robot.tree.bodies):
        for spin in body.spins:
            along = (chain.poses[i].R @ spin.momentum) @ chain.turning[i][:3]
            joints[spin.joint - 1] = joints[spin.joint - 1] + along
    stacked = np.stack(joints) if joints else np.zeros(0)
    return np.concatenate([passed[0], stacked]) if robot.floating else stacked


def _mass_matrix(robot: Robot, chain: ScrewChain) -> Float[ndarray, "nv nv"]:
    """Return Nᵀ I N: inertias in one frame simply add up to composite ones."""
    tree, composite = robot.tree, list(chain.inertias)
    M = np.zeros((robot.nv, robot.nv))
    for i in reversed(range(1, len(composite))):
        composite[tree.parent[i]] = composite[tree.parent[i]] + composite[i]
        F, k = composite[i].times(chain.screws[i]), tree.dof(i)
        for j in tree.support[i]:
            M[k, tree.dof(j)] = M[tree.dof(j), k] = chain.screws[j] @ F
        M[k, k] = M[k, k] + tree.bodies[i].armature
        if robot.floating:
            M[k, :6] = M[:6, k] = F
    if robot.floating:
        top = np.concatenate([composite[0].I, skew(composite[0].h)], axis=1)
        bottom = np.concatenate([-skew(composite[0].h), composite[0].m * np.eye(3)], axis=1)
        M[:6, :6] = np.concatenate([top, bottom])
    for i, body in enumerate(tree.bodies):
        # rotor of joint k carried by link i: rotation of that link acts on it, and its torque on the link
        for spin in body.spins:
            k, h = tree.dof(spin.joint), chain.poses[i].R @ spin.momentum
            for j in tree.support[i]:
                M[k, tree.dof(j)] = M[tree.dof(j), k] = M[k, tree.dof(j)] + chain.screws[j][:3] @ h
            if robot.floating:
                M[k, :3] = M[:3, k] = M[k, :3] + h
    return M


@dataclass(frozen=True)
class _Feet:
    """Rows J of all feet, three each in the base's axes, or six for soles (rotation first), and dJ/dt v."""

    robot: Robot
    points: list[ndarray]
    J: Float[ndarray, "rows nv"]
    bias: Float[ndarray, "rows"]
    width: int = 3

    @staticmethod
    def of(robot: Robot, chain: ScrewChain, flat: bool) -> _Feet:
        tree, points, rows, bias = robot.tree, [], [], []
        for i, p_B in zip(tree.feet, tree.foot_positions):
            p, J, turns = chain.poses[i].point(p_B), np.zeros((3, robot.nv)), np.zeros((3, robot.nv))
            if robot.floating:
                J[:, :3], J[:, 3:6], turns[:, :3] = -skew(p), np.eye(3), np.eye(3)
            for j in tree.support[i]:
                S = chain.screws[j]
                J[:, tree.dof(j)], turns[:, tree.dof(j)] = S[3:] + cross(S[:3], p), S[:3]
            V, b = chain.twists[i], chain.turning[i]
            points.append(p)
            if flat:
                rows.append(turns)
                bias.append(b[:3])
            rows.append(J)
            bias.append(b[3:] + cross(b[:3], p) + cross(V[:3], V[3:] + cross(V[:3], p)))
        if not points:
            return _Feet(robot, [], np.zeros((0, robot.nv)), np.zeros(0))
        return _Feet(robot, points, np.concatenate(rows), np.concatenate(bias), 6 if flat else 3)

    def pushed(self, forces: Float[ndarray, "nf 3"]) -> Float[ndarray, "nv"]:
        """Return Nᵀ f_e of forces at the feet, base axes."""
        if not self.points:
            return np.zeros(self.robot.nv)
        rows = forces if self.width == 3 else np.concatenate([np.zeros(forces.shape), forces], axis=1)
        return self.J.T @ np.reshape(rows, len(self.J))


def _accelerations(
    robot: Robot, M: ndarray, force: ndarray, feet: _Feet, known: Known
) -> tuple[Float[ndarray, "nv"], Float[ndarray, "rows"]]:
    """Return (z, forces at the constrained feet) of M z = force + Jᵀ f, J z = -bias, with the given accelerations
    substituted.
    """
    base = robot.nv - robot.nj
    at_base = 0.0 * known.force[:base] if known.base is None else known.base
    fixed = np.zeros(base) if known.base is None else np.ones(base)
    given = np.concatenate([fixed, known.given])
    put_in = given * np.concatenate([at_base, known.accelerations])
    free = 1.0 - given
    reduced = M * (free[:, None] * free[None, :]) + np.diag(given)
    right = free * (force - M @ put_in) + put_in
    L, d = factor(robot, reduced)
    if not feet.points:
        return solve_inward(robot, L, solve_outward(robot, L, right) / d), np.zeros(0)
    J, wanted = feet.J * free, -feet.bias - feet.J @ put_in
    Y, x = solve_outward(robot, L, J.T), solve_outward(robot, L, right)
    stands = np.concatenate([np.stack([m] * feet.width) for m in known.mode])
    A = (Y.T @ (Y * (1.0 / d)[:, None])) * (stands[:, None] * stands[None, :]) + np.diag(1.0 - stands)
    f = dense_solve(*dense_factor(A), stands * (wanted - Y.T @ (x / d)))
    return solve_inward(robot, L, (x + Y @ f) / d), f


def _passed_on(
    robot: Robot, chain: ScrewChain, z: ndarray, forces: ndarray, moments: ndarray, given: ndarray, feet: _Feet
) -> tuple[list[ndarray], Float[ndarray, "nj"]]:
    """Return (wrench on every link by its joint, torques of the motors)."""
    tree, base = robot.tree, robot.nv - robot.nj
    joints = z[base:]
    a = [z[:6] if robot.floating else np.zeros(6)]
    for i in range(1, len(tree.bodies)):
        a.append(a[tree.parent[i]] + chain.screws[i] * joints[i - 1])
    a = [x + b for x, b in zip(a, chain.turning)]
    wrenches = [inertia.times(x) + needed for inertia, x, needed in zip(chain.inertias, a, chain.needed)]
    if robot.floating:
        wrenches[0] = wrenches[0] - given[:6]
    rotors = [body.armature * joints[k] for k, body in enumerate(tree.bodies[1:])]
    for i, body in enumerate(tree.bodies):
        for spin in body.spins:
            h, k = chain.poses[i].R @ spin.momentum, spin.joint - 1
            wrenches[i] = wrenches[i] + np.concatenate([h * joints[k], np.zeros(3)])
            rotors[k] = rotors[k] + h @ a[i][:3]
    for i, p, f, n in zip(tree.feet, feet.points, forces, moments):
        wrenches[i] = wrenches[i] - np.concatenate([cross(p, f) + n, f])
    passed = _inward(robot, wrenches)
    torques = [S @ W + r for S, W, r in zip(chain.screws[1:], passed[1:], rotors)]
    return passed, np.stack(torques) if torques else np.zeros(0)

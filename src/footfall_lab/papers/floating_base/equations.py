"""The displayed equations of the slides on coordinates, contact and M, compared with independent mechanics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from footfall import dynamics
from footfall.dynamics.coordinates import configuration_rate, virtual_velocity_map
from footfall.dynamics.formalisms.constrained import constrained_dynamics
from footfall.dynamics.formalisms.modes import all_modes
from footfall.dynamics.random_states import States
from footfall.kinematics import feet_bias_acceleration, feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import from_zyx, to_rotation
from footfall_lab.papers.claims import Claim
from footfall_lab.papers.floating_base.facts import Measured, assess, error, every, worst
from footfall_lab.papers.mechanics import Mechanics, hat, of_quaternion, turned

_DEFINITE = 1e-9  # least over largest eigenvalue; registered


def full_dynamics(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    """Check the KKT system in every mode with independent M, c and G; standing feet do not accelerate."""
    errors = []
    for robot, q, v, _, tau in _without_rotors(robots, states):
        own = Mechanics.of(robot, q, v)
        M, h = own.M, _spatial_bias(own, v) + own.G(dynamics.GRAVITY)
        J = np.concatenate([own.point(i, r)[1] for i, r in zip(robot.tree.feet, robot.tree.foot_positions)])
        turning = feet_bias_acceleration(robot, q, v)[:, 3:].reshape(-1)
        for mode in all_modes(robot):
            stands = np.repeat(mode, 3) > 0
            a, f = constrained_dynamics(robot, q, v, tau[6:], mode)
            errors.append(error(M @ a + h - J.T @ f.reshape(-1), np.concatenate([np.zeros(6), tau[6:]])))
            errors.append(float(np.abs((J @ a + turning)[stands]).max(initial=0.0) / np.abs(a).max()))
    return assess(
        "full_dynamics",
        worst(errors),
        "the accelerations and forces of the KKT system in every contact mode, put into both equations with"
        " independent M, h and J_c",
    )


def bias(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        own = Mechanics.of(robot, q, v)
        h = dynamics.coriolis_matrix(robot, q, v) @ v + dynamics.gravity_terms(robot, q)
        return error(h, _spatial_bias(own, v) + own.G(dynamics.GRAVITY))

    return assess(
        "bias_is_coriolis_and_gravity",
        worst(one, _without_rotors(robots, states)),
        "C q' + G compared with the forces of Newton's and Euler's laws, body by body; our copy of the slides has C"
        " q''",
    )


def contact_jacobian(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    def one(robot: Robot, q: ndarray, v: ndarray, a: ndarray, tau: ndarray) -> float:
        own = Mechanics.of(robot, q, v)
        pairs = []
        for J, i, r in zip(feet_jacobian(robot, q), robot.tree.feet, robot.tree.foot_positions):
            twist = np.concatenate([own.point(i, r)[1] @ v, own.omega[i]])
            pairs += [(J[[3, 4, 5, 0, 1, 2]] @ v, twist), (J[3:, 6:], own.point(i, r)[1][:, 6:])]
        return max(error(x, y) for x, y in pairs)

    return assess(
        "contact_jacobian",
        worst(one, every(robots, states)),
        "twists of the feet and their joint columns, point by point. The derivative of x_f - x_b gives the three linear"
        " rows of J_cj; the three angular ones are the joints' axes",
    )


def base_jacobian(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    errors, axes = [], np.eye(3)
    for robot, q, v, _, _ in every(robots, states):
        angles = np.array([0.4, -0.7, 0.9]) * v[:3] / np.linalg.norm(v[:3])  # yaw, pitch, roll
        q = np.concatenate([q[:3], from_zyx(angles), q[7:]])
        yaw = turned(axes[2], angles[0])
        pitch = yaw @ turned(axes[1], angles[1])
        J_w = np.stack([axes[2], yaw @ axes[1], pitch @ axes[0]], axis=1)  # each rotation about its rotated axis
        R = pitch @ turned(axes[0], angles[2])
        T = virtual_velocity_map(robot, q)  # from rates of virtual joints to our velocities, base axes, angular first
        rates = v[:6]  # positions, then angles
        found = T[:6, :6] @ rates
        twist = np.concatenate([rates[:3], J_w @ rates[3:]])
        errors.append(error(np.concatenate([R @ found[3:], R @ found[:3]]), twist))
        moved = configuration_rate(robot, q, v)[:3]  # of a free body: its velocity is the base's
        errors.append(error(moved, to_rotation(q[3:7]) @ v[3:6]))
    return assess(
        "base_jacobian",
        worst(errors),
        "columns of J_w by hand, each rotation about its rotated axis; the twist of a free base is its velocity, here"
        " in base axes",
    )


def quaternion_step(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    """Compare the rate of Q by the printed product with the rate of the rotation that it represents."""
    errors, lengths, dT = [], [], 1e-3
    for robot, q, v, _, _ in every(robots, states):
        Q, w = q[3:7], to_rotation(q[3:7]) @ v[:3]  # ω in world axes, as the slides multiply it from the left
        dQ = 0.5 * np.array([-w @ Q[1:], *(Q[0] * w + np.cross(w, Q[1:]))])
        rate = 0.5 * (of_quaternion(Q + dQ) - of_quaternion(Q - dQ))  # exact: of second degree in Q
        errors.append(error(rate, hat(w) @ of_quaternion(Q)))
        errors.append(error(configuration_rate(robot, q, v)[3:7], dQ))
        lengths.append((np.linalg.norm(Q + dT * dQ) - 1.0) / (0.125 * (dT * np.linalg.norm(w)) ** 2))
    return assess(
        "quaternion_step",
        worst(errors),
        "the rate of the rotation, exactly. The step is of first order and lengthens Q by (dT ω)² / 8 each time"
        f" ({np.mean(lengths):.3f} of that, dT 1 ms): normalisation is needed, which the slides omit",
    )


def positive_definite(robots: Sequence[Robot], states: Sequence[States]) -> Claim:
    uneven, least = [], []
    for robot, q, _, _, _ in every(robots, states):
        M = dynamics.mass_matrix(robot, q)
        values = np.linalg.eigvalsh(M)
        uneven.append(float(np.abs(M - M.T).max() / np.abs(M).max()))
        least.append(float(values[0] / values[-1]))
    return assess(
        "mass_matrix_is_positive_definite",
        min(least),
        f"over the largest one; symmetric to {max(uneven):.1e}",
        holds=max(uneven) <= 1e-12 and min(least) > _DEFINITE,
    )


def _without_rotors(robots: Sequence[Robot], states: Sequence[States]) -> list[Measured]:
    """Return samples of robots without rotor inertia, which the independent mechanics lacks."""
    plain = [robot.replace({f"{j.name}.armature": 0.0 for j in robot.joints}, rotors="none") for robot in robots]
    return every(plain, states)


def _spatial_bias(own: Mechanics, v: ndarray) -> ndarray:
    """Return the velocity-dependent bias forces for the spatial acceleration of the base, as in footfall."""
    return own.c + own.M @ np.concatenate([np.zeros(3), np.cross(v[:3], v[3:6]), np.zeros(own.robot.nj)])


CLAIMS = (full_dynamics, bias, contact_jacobian, base_jacobian, quaternion_step, positive_definite)

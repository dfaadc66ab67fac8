"""Screws: exponential, logarithm, adjoint, motion and constraint screws of joints; eqs. (7)-(13) of Yan et al. 2021.

A motion screw is a twist (ω, v at the frame's origin), a constraint screw a wrench (n about the origin, f). The two are
reciprocal when a constraint does no work in a motion: W · S = 0. The paper writes both halves in the opposite order.

Erratum of eq. (13): its first half prints J = T_f M_cmo; constraint screws transform like all wrenches, J = T_f J_cmo.
"""

import numpy as np
from numpy import ndarray

from footfall.spatial.quaternion import from_rotation, rotation_vector
from footfall.spatial.transform import Transform
from footfall.spatial.vector import cross, skew
from nptrace.array_types import Float


# -- moving along screws -----------------------------------------------------------------------------------------------
def screw_motion(screw: Float[ndarray, "6"], amount: float) -> Transform:
    """Return exp(S θ), the factor P of eq. (10), for a *constant* screw: unit rotation and any pitch, or pure
    translation.
    """
    axis, v = screw[:3], screw[3:]
    if not axis.any():
        return Transform(np.eye(3), v * amount)
    K, s, versine = skew(axis), np.sin(amount), 2.0 * np.sin(0.5 * amount) ** 2  # 1 - cos, without cancellation
    R = np.eye(3) + s * K + versine * (K @ K)
    return Transform(R, v * amount + versine * cross(axis, v) + (amount - s) * cross(axis, cross(axis, v)))


def exponential(twist: Float[ndarray, "6"]) -> Transform:
    """Return the pose reached after one second of a constant numeric twist."""
    twist = np.asarray(twist, dtype=float)
    angle = float(np.sqrt(twist[:3] @ twist[:3]))
    return screw_motion(twist / angle, angle) if angle > 0.0 else Transform(np.eye(3), twist[3:])


def logarithm(X: Transform) -> Float[ndarray, "6"]:
    """Return the twist whose exponential is X, rotating by at most π."""
    omega = rotation_vector(from_rotation(X.R))
    angle = float(np.sqrt(omega @ omega))
    if angle == 0.0:
        return np.concatenate([omega, X.p])
    axis, half = omega / angle, 0.5 * angle
    bend = 1.0 - half * np.cos(half) / np.sin(half)
    return np.concatenate([omega, X.p - half * cross(axis, X.p) + bend * cross(axis, cross(axis, X.p))])


def adjoint(X_AB: Transform) -> Float[ndarray, "6 6"]:
    """Return T_v: maps a twist given in B to the same motion given in A."""
    return np.block([[X_AB.R, np.zeros((3, 3))], [skew(X_AB.p) @ X_AB.R, X_AB.R]])


def coadjoint(X_AB: Transform) -> Float[ndarray, "6 6"]:
    """Return T_f: maps a wrench given in B to the same wrench given in A; the inverse transpose of T_v."""
    return np.block([[X_AB.R, skew(X_AB.p) @ X_AB.R], [np.zeros((3, 3)), X_AB.R]])


# -- screws of joints, in the frame of the child at the joint ----------------------------------------------------------
def motion_screw(kind: str, axis: Float[ndarray, "3"]) -> Float[ndarray, "6"]:
    """Return ŝ of eq. (9), the twist of a joint at unit rate."""
    return np.concatenate([axis, np.zeros(3)] if kind == "revolute" else [np.zeros(3), axis])


def drive_screw(kind: str, axis: Float[ndarray, "3"]) -> Float[ndarray, "6"]:
    """Return the wrench of a unit torque or force of the motor, M_cmo of eq. (12): a couple, or a force, along the
    axis.
    """
    return np.concatenate([axis, np.zeros(3)] if kind == "revolute" else [np.zeros(3), axis])


def constraint_screws(kind: str, axis: Float[ndarray, "3"]) -> Float[ndarray, "6 5"]:
    """Return J_cmo of eq. (12): five wrenches that a joint transmits and that do no work in its motion.

    A revolute joint transmits every force and the couples across its axis, a prismatic joint every couple and the
    forces across its axis.
    """
    whole, across = np.eye(3), normals(axis)
    none = np.zeros((3, 3)), np.zeros((3, 2))
    if kind == "revolute":
        return np.block([[none[0], across], [whole, none[1]]])
    return np.block([[whole, none[1]], [none[0], across]])


def spherical_screws(point: Float[ndarray, "3"]) -> Float[ndarray, "6 3"]:
    """Return s_i of the stance foot: forces along x, y and z through a point about which the foot can rotate."""
    return np.concatenate([skew(point), np.eye(3)])


def reciprocal(wrenches: Float[ndarray, "6 m"], twists: Float[ndarray, "6 n"]) -> Float[ndarray, "m n"]:
    """Return power of every wrench in every twist: zero where a constraint is reciprocal to a motion."""
    return wrenches.T @ twists


def normals(axis: Float[ndarray, "3"]) -> Float[ndarray, "3 2"]:
    """Return two unit vectors perpendicular to a constant unit axis and to each other."""
    least = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = cross(axis, least)
    first = first / np.sqrt(first @ first)
    return np.stack([first, cross(axis, first)], axis=1)


__all__ = [
    "adjoint",
    "coadjoint",
    "constraint_screws",
    "drive_screw",
    "exponential",
    "logarithm",
    "motion_screw",
    "normals",
    "reciprocal",
    "screw_motion",
    "spherical_screws",
]


def __dir__() -> list[str]:
    return sorted(__all__)

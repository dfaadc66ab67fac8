"""Rotation matrices: about an axis, from Euler angles in the papers' two orders, and their rate maps.

R_AB maps components in B to components in A. Euler angles are body-fixed (intrinsic): ``zyx`` is (yaw ψ, pitch θ, roll
φ) with R = Rz Ry Rx (de Paula et al. 2024, eq. 41); ``xyz`` is (φ, θ, ψ) with R = Rx Ry Rz (Adak et al. 2021).
"""

import numpy as np
from numpy import ndarray

from footfall.spatial.vector import skew
from nptrace.array_types import Float

EULER_ORDERS = ("zyx", "xyz")
_SNAP = 1e-14  # entries this close to -1, 0, 1 come from rounding
_DIGITS = 1e-10  # remainder of a right angle's zero in a file with eleven digits: 1.57079632679


def about_x(angle: float) -> Float[ndarray, "3 3"]:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_y(angle: float) -> Float[ndarray, "3 3"]:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def about_z(angle: float) -> Float[ndarray, "3 3"]:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


_ABOUT = (about_x, about_y, about_z)


def coordinate_axis(axis: Float[ndarray, "3"] | tuple[float, ...]) -> int | None:
    """Return which coordinate axis a constant unit axis is along, in either direction."""
    return next((k for k in range(3) if abs(abs(axis[k]) - 1.0) < _SNAP), None)


def about_axis(axis: Float[ndarray, "3"] | tuple[float, ...], angle: float) -> Float[ndarray, "3 3"]:
    """Return the rotation about a constant unit axis; a coordinate axis of either sign keeps its zeros (otherwise
    Rodrigues).
    """
    k = coordinate_axis(axis)
    if k is not None:
        return _ABOUT[k](angle if axis[k] > 0 else -angle)
    c, s, K = np.cos(angle), np.sin(angle), skew(axis)
    return np.eye(3) + s * K + (1.0 - c) * (K @ K)


def from_euler(angles: Float[ndarray, "3"], order: str = "zyx") -> Float[ndarray, "3 3"]:
    """Return R_WB of body-fixed Euler angles, given in the order of the rotations."""
    a, b, c = (_ABOUT["xyz".index(letter)](angle) for letter, angle in zip(order, angles))
    return a @ b @ c


def to_euler(R_WB: Float[ndarray, "3 3"], order: str = "zyx") -> Float[ndarray, "3"]:
    """Return Euler angles in the order of the rotations; the middle one lies in [-π/2, π/2]."""
    if order == "zyx":
        yaw = np.arctan2(R_WB[1, 0], R_WB[0, 0])
        roll = np.arctan2(R_WB[2, 1], R_WB[2, 2])
        level = np.sqrt(R_WB[0, 0] ** 2 + R_WB[1, 0] ** 2)
        return np.array([yaw, np.arctan2(-R_WB[2, 0], level), roll])
    first = np.arctan2(-R_WB[1, 2], R_WB[2, 2])
    last = np.arctan2(-R_WB[0, 1], R_WB[0, 0])
    level = np.sqrt(R_WB[0, 0] ** 2 + R_WB[0, 1] ** 2)
    return np.array([first, np.arctan2(R_WB[0, 2], level), last])


def euler_rates_to_world(angles: Float[ndarray, "3"], order: str = "zyx") -> Float[ndarray, "3 3"]:
    """Return G with ω_W = G dξ/dt: eq. (41) of de Paula 2024 for zyx. Erratum: called ω_0 there, it is in *world*
    axes.
    """
    first, second, third = (np.eye(3)[:, "xyz".index(letter)] for letter in order)
    R_1 = _ABOUT["xyz".index(order[0])](angles[0])
    R_2 = _ABOUT["xyz".index(order[1])](angles[1])
    return np.stack([first, R_1 @ second, R_1 @ R_2 @ third], axis=1)


def euler_rates_to_body(angles: Float[ndarray, "3"], order: str = "zyx") -> Float[ndarray, "3 3"]:
    """Return E with ω_B = E dξ/dt, for angular velocities in base axes."""
    return from_euler(angles, order).T @ euler_rates_to_world(angles, order)


def snapped(R: Float[ndarray, "*shape"]) -> Float[ndarray, "*shape"]:
    """Return R with entries within rounding of -1, 0 and 1 made exact, so that structural zeros stay zeros in a
    trace.
    """
    whole = np.round(R)
    return np.where(np.abs(R - whole) < _SNAP, whole, R)


def right_angled(R: Float[ndarray, "3 3"]) -> Float[ndarray, "3 3"]:
    """Return R with its right angles made exact: rounding errors of a file's digits become zeros.

    This is done only if the result is a rotation to rounding: otherwise the angles are not right angles, and R is
    unchanged.
    """
    if type(R) is not ndarray or R.dtype == object:  # traced
        return R
    exact = np.where(np.abs(R) < _DIGITS, 0.0, R)
    return exact if np.abs(exact @ exact.T - R @ R.T).max() < _SNAP else R


def is_rotation(R: Float[ndarray, "3 3"], tolerance: float = 1e-8) -> bool:
    """Return whether R is orthonormal and right-handed, within a tolerance."""
    return bool(np.abs(R.T @ R - np.eye(3)).max() < tolerance and np.linalg.det(R) > 0)


__all__ = [
    "EULER_ORDERS",
    "about_axis",
    "about_x",
    "about_y",
    "about_z",
    "euler_rates_to_body",
    "euler_rates_to_world",
    "from_euler",
    "is_rotation",
    "right_angled",
    "snapped",
    "to_euler",
]


def __dir__() -> list[str]:
    return sorted(__all__)

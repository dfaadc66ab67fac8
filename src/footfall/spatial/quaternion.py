"""Unit quaternions (w, x, y, z), Hamilton's convention: quat_AB maps components in B to components in A."""

import numpy as np
from numpy import ndarray

from footfall.spatial.vector import cross
from nptrace.array_types import Float


def to_rotation(quat: Float[ndarray, "4"]) -> Float[ndarray, "3 3"]:
    """Return R_AB of a unit quaternion."""
    w, x, y, z = quat[0], quat[1], quat[2], quat[3]
    x2, y2, z2 = 2 * x, 2 * y, 2 * z
    return np.array(
        [
            [1 - (y * y2 + z * z2), x * y2 - w * z2, x * z2 + w * y2],
            [x * y2 + w * z2, 1 - (x * x2 + z * z2), y * z2 - w * x2],
            [x * z2 - w * y2, y * z2 + w * x2, 1 - (x * x2 + y * y2)],
        ]
    )


def from_rotation(R: Float[ndarray, "3 3"]) -> Float[ndarray, "4"]:
    """Return the quaternion with w >= 0 of a numeric rotation matrix (Shepperd: the largest component is computed
    first).
    """
    R = np.asarray(R, dtype=float)
    squares = np.array([1 + R[0, 0] + R[1, 1] + R[2, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2],
                        1 - R[0, 0] + R[1, 1] - R[2, 2], 1 - R[0, 0] - R[1, 1] + R[2, 2]])  # fmt: skip
    a, b, c = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    d, e, f = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    rows = np.array([[squares[0], a, b, c], [a, squares[1], d, e], [b, d, squares[2], f], [c, e, f, squares[3]]])
    quat = rows[int(np.argmax(squares))]
    quat = quat / np.sqrt(quat @ quat)
    return -quat if quat[0] < 0 else quat


def from_zyx(angles: Float[ndarray, "3"]) -> Float[ndarray, "4"]:
    """Return the quaternion of (yaw, pitch, roll), of either sign; also for symbols."""
    c, s = np.cos(0.5 * angles), np.sin(0.5 * angles)
    return np.stack([
        c[0] * c[1] * c[2] + s[0] * s[1] * s[2], c[0] * c[1] * s[2] - s[0] * s[1] * c[2],
        c[0] * s[1] * c[2] + s[0] * c[1] * s[2], s[0] * c[1] * c[2] - c[0] * s[1] * s[2],
    ])  # fmt: skip


def multiply(a: Float[ndarray, "4"], b: Float[ndarray, "4"]) -> Float[ndarray, "4"]:
    """Return a ⊗ b: quat_AC = multiply(quat_AB, quat_BC)."""
    real = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([np.stack([real]), a[0] * b[1:] + b[0] * a[1:] + cross(a[1:], b[1:])])


def conjugate(quat: Float[ndarray, "4"]) -> Float[ndarray, "4"]:
    return np.array([quat[0], -quat[1], -quat[2], -quat[3]])


def rate(quat_WB: Float[ndarray, "4"], omega_B: Float[ndarray, "3"]) -> Float[ndarray, "4"]:
    """Return d quat_WB / dt of a body that rotates at omega_B (its own axes)."""
    return 0.5 * multiply(quat_WB, np.concatenate([np.zeros(1), omega_B]))


def rotated(quat_WB: Float[ndarray, "4"], turn_B: Float[ndarray, "3"]) -> Float[ndarray, "4"]:
    """Return quat_WB followed by the rotation vector turn_B [rad] in body axes, normalised: exact for any rotation.

    sin(x)/x and cos(x) are series in x² below 0.1 rad, exact to rounding there, so that nothing divides by zero.
    """
    half = 0.5 * turn_B
    square = half @ half
    angle = np.sqrt(np.maximum(square, 1e-6))
    small = square < 0.01
    sinc = np.where(
        small, 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72))), np.sin(angle) / angle
    )
    cosine = np.where(small, 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56))), np.cos(angle))
    product = multiply(quat_WB, np.concatenate([np.stack([cosine]), sinc * half]))
    return product / np.sqrt(product @ product)


def rotated_in_a_step(quat_WB: Float[ndarray, "4"], turn_B: Float[ndarray, "3"]) -> Float[ndarray, "4"]:
    """Return ``rotated`` for a small rotation: no branches and no sine, exact to rounding up to 1 rad and to 3e-9 up to
    3 rad.

    Only the ratio of sine and cosine matters: Lambert's continued fraction of the tangent, seven terms of it.
    """
    half = 0.5 * turn_B
    y = half @ half
    cosine = 135135 - y * (62370 - y * (3150 - y * 28))
    sinc = 135135 - y * (17325 - y * (378 - y))
    product = multiply(quat_WB, np.concatenate([np.stack([cosine]), sinc * half]))
    return product / np.sqrt(product @ product)


def rotation_vector(quat: Float[ndarray, "4"]) -> Float[ndarray, "3"]:
    """Return the rotation vector [rad] of a unit quaternion, at most π long."""
    quat = np.where(quat[0] < 0, -quat, quat)
    sine = np.sqrt(quat[1:] @ quat[1:] + 1e-30)  # never zero, and far below rounding unless it is small
    return 2 * np.arctan2(sine, quat[0]) / sine * quat[1:]


__all__ = [
    "conjugate",
    "from_rotation",
    "from_zyx",
    "multiply",
    "rate",
    "rotated",
    "rotated_in_a_step",
    "rotation_vector",
    "to_rotation",
]


def __dir__() -> list[str]:
    return sorted(__all__)

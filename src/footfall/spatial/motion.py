"""Twist and wrench cross products, eqs. (A2)-(A3) of de Paula et al. 2024.

Erratum in the text of (A3): the entries of the printed matrix are called a couple and a force; the operator is that of
the *twist*, v ⊛ = -(v *)ᵀ, applied to a wrench, as in (20).
"""

import numpy as np
from numpy import ndarray

from footfall.spatial.vector import cross, skew
from nptrace.array_types import Float


def cross_motion(V: Float[ndarray, "6"], W: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
    """Return V * W, the rate of change of a twist W that is fixed in a frame moving with V.

    Args:
        V: Twist: angular, then linear velocity.
        W: Twist: angular, then linear velocity.

    Returns:
        Rate of the twist.
    """
    omega, v = V[:3], V[3:]
    return np.concatenate([cross(omega, W[:3]), cross(v, W[:3]) + cross(omega, W[3:])])


def cross_force(V: Float[ndarray, "6"], F: Float[ndarray, "6"]) -> Float[ndarray, "6"]:
    """Return V ⊛ F, the rate of change of a wrench F that is fixed in a frame moving with V.

    Args:
        V: Twist: angular, then linear velocity.
        F: Wrench: moment, then force.

    Returns:
        Rate of the wrench.
    """
    omega, v = V[:3], V[3:]
    return np.concatenate([cross(omega, F[:3]) + cross(v, F[3:]), cross(omega, F[3:])])


def cross_motion_matrix(V: Float[ndarray, "6"]) -> Float[ndarray, "6 6"]:
    """Return the matrix of V *, eq. (A2).

    Args:
        V: Twist: angular, then linear velocity.

    Returns:
        Matrix.
    """
    return np.block([[skew(V[:3]), np.zeros((3, 3))], [skew(V[3:]), skew(V[:3])]])


def cross_force_matrix(V: Float[ndarray, "6"]) -> Float[ndarray, "6 6"]:
    """Return the matrix of V ⊛, minus the transpose of the matrix of V *.

    Args:
        V: Twist: angular, then linear velocity.

    Returns:
        Matrix.
    """
    return np.block([[skew(V[:3]), skew(V[3:])], [np.zeros((3, 3)), skew(V[:3])]])

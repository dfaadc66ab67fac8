"""Three-vectors: cross product and its matrix, eq. (A1) of de Paula et al. 2024."""

import numpy as np
from numpy import ndarray

from nptrace.array_types import Float


def cross(a: Float[ndarray, "3"], b: Float[ndarray, "3"]) -> Float[ndarray, "3"]:
    """Return the cross product a × b.

    ``np.cross`` handles many shapes and is ten times slower on three numbers.

    Args:
        a: Vector.
        b: Vector.

    Returns:
        Vector.
    """
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: Float[ndarray, "3"] | tuple[float, ...]) -> Float[ndarray, "3 3"]:
    """Return the skew-symmetric matrix ã with ã b = a × b, eq. (A1).

    Args:
        a: Vector.

    Returns:
        Matrix.
    """
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def symmetric(A: Float[ndarray, "3 3"]) -> Float[ndarray, "3 3"]:
    """Return a matrix with its upper triangle mirrored.

    For a product known to be symmetric, a trace then never computes the other half.

    Args:
        A: Matrix whose lower triangle is not read.

    Returns:
        Symmetric matrix.
    """
    return np.array([[A[0, 0], A[0, 1], A[0, 2]], [A[0, 1], A[1, 1], A[1, 2]], [A[0, 2], A[1, 2], A[2, 2]]])

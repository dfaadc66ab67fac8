"""Branch-sparse factorisation M = Lᵀ D L, leaves first (Featherstone 2008, section 6.5).

Eliminating a joint touches only its ancestors, so legs never meet before the base: no fill-in. L is unit lower
triangular, and every division is a product with one of nv reciprocals.
"""

import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.robot.model.description import Robot


def next_above(robot: Robot, coupled: bool = False) -> list[int]:
    """For every degree of freedom the next one towards the root, or -1: the base's six form a chain of their own.

    ``coupled``: something ties branches to each other, and all degrees of freedom are one chain.
    """
    tree = robot.tree
    if coupled:
        return [k - 1 for k in range(robot.nv)]
    chain = [k - 1 for k in range(tree.base_dof)]
    return chain + [tree.dof(j) if j > 0 else tree.base_dof - 1 for j in tree.parent[1:]]


def ancestors(parent: list[int], k: int) -> Iterator[int]:
    k = parent[k]
    while k >= 0:
        yield k
        k = parent[k]


def factor(
    robot: Robot, M: Float[ndarray, "nv nv"], coupled: bool = False
) -> tuple[Float[ndarray, "nv nv"], Float[ndarray, "nv"]]:
    """(L, d) with M = Lᵀ diag(d) L; reads the lower triangle of M, on the branches of the tree only unless coupled."""
    parent, n = next_above(robot, coupled), robot.nv
    A = {(k, i): M[k, i] for k in range(n) for i in (k, *ancestors(parent, k))}
    L = np.eye(n)
    for k in reversed(range(n)):
        reciprocal = 1.0 / A[k, k]
        for i in ancestors(parent, k):
            L[k, i] = A[k, i] * reciprocal
            for j in (i, *ancestors(parent, i)):
                A[i, j] = A[i, j] - L[k, i] * A[k, j]
    return L, np.stack([A[k, k] for k in range(n)])


def solve_outward(robot: Robot, L: Float[ndarray, "nv nv"], B: ndarray) -> ndarray:
    """L⁻ᵀ B of a vector or of the columns of a matrix, from the leaves to the root: half of a solution."""
    parent, x = next_above(robot), [B[k] for k in range(robot.nv)]
    for k in reversed(range(robot.nv)):
        for i in ancestors(parent, k):
            x[i] = x[i] - L[k, i] * x[k]
    return np.stack(x)


def solve_inward(robot: Robot, L: Float[ndarray, "nv nv"], b: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """L⁻¹ b, from the root to the leaves: the other half."""
    parent, x = next_above(robot), [b[k] for k in range(robot.nv)]
    for k in range(robot.nv):
        for i in ancestors(parent, k):
            x[k] = x[k] - L[k, i] * x[i]
    return np.stack(x)


def solve_factored(
    robot: Robot, L: Float[ndarray, "nv nv"], d: Float[ndarray, "nv"], b: Float[ndarray, "nv *columns"],
    coupled: bool = False,
) -> Float[ndarray, "nv *columns"]:  # fmt: skip
    """x with Lᵀ diag(d) L x = b, a vector or columns."""
    parent, n = next_above(robot, coupled), robot.nv
    x = [b[k] for k in range(n)]
    for k in reversed(range(n)):
        for i in ancestors(parent, k):
            x[i] = x[i] - L[k, i] * x[k]
    for k in range(n):
        x[k] = x[k] * (1.0 / d[k])
        for i in ancestors(parent, k):
            x[k] = x[k] - L[k, i] * x[i]
    return np.stack(x)


def solution(robot: Robot, M: Float[ndarray, "nv nv"], b: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """x with M x = b; its derivative takes the same factors (``numeric.solution``)."""
    solve = functools.partial(solve_factored, robot)
    return numeric.solution(factor(robot, M), solve, b, lambda x: b - branch_product(robot, M, x))


def branch_product(robot: Robot, M: Float[ndarray, "nv nv"], x: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """M x; reads the lower triangle of M on the branches of the tree only."""
    parent, y = next_above(robot), [M[k, k] * x[k] for k in range(robot.nv)]
    for k in range(robot.nv):
        for i in ancestors(parent, k):
            y[k] = y[k] + M[k, i] * x[i]
            y[i] = y[i] + M[k, i] * x[k]
    return np.stack(y)


def factor_unsymmetric(
    robot: Robot, below: Float[ndarray, "nv nv"], above: Float[ndarray, "nv nv"], coupled: bool = False
) -> tuple[Float[ndarray, "nv nv"], Float[ndarray, "nv nv"], Float[ndarray, "nv"]]:
    """(U, L, d) with A = U diag(1 / d) L for an A with the sparsity of M but not its symmetry, as friction makes it.

    L is unit lower triangular, U upper triangular with d on its diagonal (left out). A is read from ``below`` on
    and below its diagonal, and from ``above`` elsewhere.
    """
    parent, n = next_above(robot, coupled), robot.nv
    chains = [tuple(ancestors(parent, k)) for k in range(n)]
    A = {(k, i): below[k, i] for k in range(n) for i in (k, *chains[k])}
    A |= {(i, k): above[i, k] for k in range(n) for i in chains[k]}
    U, L = np.zeros((n, n)), np.eye(n)
    for k in reversed(range(n)):
        reciprocal = 1.0 / A[k, k]
        for i in chains[k]:
            L[k, i], U[i, k] = A[k, i] * reciprocal, A[i, k]
            for j in chains[k]:
                A[j, i] = A[j, i] - A[j, k] * L[k, i]
    return U, L, np.stack([A[k, k] for k in range(n)])


def solve_unsymmetric(
    robot: Robot,
    U: Float[ndarray, "nv nv"],
    L: Float[ndarray, "nv nv"],
    d: Float[ndarray, "nv"],
    b: Float[ndarray, "nv *columns"],
    coupled: bool = False,
) -> Float[ndarray, "nv *columns"]:
    """x with A x = b, a vector or columns, for the factors of ``factor_unsymmetric``."""
    parent, x = next_above(robot, coupled), [b[k] for k in range(robot.nv)]
    for k in reversed(range(robot.nv)):
        x[k] = x[k] * (1.0 / d[k])
        for i in ancestors(parent, k):
            x[i] = x[i] - U[i, k] * x[k]
    for k in range(robot.nv):
        for i in ancestors(parent, k):
            x[k] = x[k] - L[k, i] * x[i]
    return np.stack(x)

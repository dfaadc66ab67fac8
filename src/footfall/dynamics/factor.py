"""Branch-sparse factorisation M = Lᵀ D L, leaves first (Featherstone 2008, section 6.5).

Eliminating a joint affects only its ancestors, so legs meet only at the base: no fill-in. L is unit lower
triangular, and every division is a product with one of nv reciprocals.
"""

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy import ndarray

import nptrace
from footfall.kinematics.forward import base_joint_twists
from footfall.robot.model.description import Robot
from nptrace._types import Scalar
from nptrace.array_types import Float


def next_above(robot: Robot, coupled: bool = False) -> list[int]:
    """Return for every degree of freedom the next one towards the root, or -1: the base's six form a chain.

    ``coupled``: branches are coupled to each other, and all degrees of freedom form one chain.
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
    """Return the branch-sparse LTL factors of the mass matrix, M = Lᵀ diag(d) L (Featherstone 2005).

    Args:
        robot: The robot.
        M: Mass matrix; only its lower triangle is read.
        coupled: Also read entries between different branches of the tree.

    Returns:
        L (unit lower triangular) and d.
    """
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
    """Return L⁻ᵀ B for a vector or the columns of a matrix, from the leaves to the root: half of a solve."""
    parent, x = next_above(robot), [B[k] for k in range(robot.nv)]
    for k in reversed(range(robot.nv)):
        for i in ancestors(parent, k):
            x[i] = x[i] - L[k, i] * x[k]
    return np.stack(x)


def solve_inward(robot: Robot, L: Float[ndarray, "nv nv"], b: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Return L⁻¹ b, from the root to the leaves: the other half of a solve."""
    parent, x = next_above(robot), [b[k] for k in range(robot.nv)]
    for k in range(robot.nv):
        for i in ancestors(parent, k):
            x[k] = x[k] - L[k, i] * x[i]
    return np.stack(x)


def solve_factored(
    robot: Robot,
    L: Float[ndarray, "nv nv"],
    d: Float[ndarray, "nv"],
    b: Float[ndarray, "nv *columns"],
    coupled: bool = False,
) -> Float[ndarray, "nv *columns"]:
    """Solve Lᵀ diag(d) L x = b, for a vector or for columns.

    Args:
        robot: The robot.
        L: Factor from ``factor``.
        d: Diagonal from ``factor``.
        b: Right-hand side.
        coupled: Whether branches are coupled, as in ``factor``.

    Returns:
        x, shaped like b.
    """
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
    """Return x with M x = b; its derivative uses the same factors (``nptrace.solution``)."""
    solve = functools.partial(solve_factored, robot)
    return nptrace.solution(factor(robot, M), solve, b, lambda x: b - branch_product(robot, M, x))


def branch_product(robot: Robot, M: Float[ndarray, "nv nv"], x: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Return M x; reads only the lower triangle of M, along the branches of the tree."""
    parent, y = next_above(robot), [M[k, k] * x[k] for k in range(robot.nv)]
    for k in range(robot.nv):
        for i in ancestors(parent, k):
            y[k] = y[k] + M[k, i] * x[i]
            y[i] = y[i] + M[k, i] * x[k]
    return np.stack(y)


def _limbs(
    robot: Robot, coupled: bool
) -> tuple[dict[int, Float[ndarray, "6"]], list[int | None], list[tuple[int, ...]]]:
    """Return (twists of the joints on the base; the first joint above a degree of freedom; the ones it couples to).

    Degrees of freedom below a joint on the base couple to the base alone, unless limbs are ``coupled`` or free bodies
    precede the base, which limbs touch and twists of the base do not move.
    """
    parent = next_above(robot, coupled)
    twists = {} if coupled or robot.tree.base_dof != 6 else base_joint_twists(robot)
    above = [tuple(ancestors(parent, k)) for k in range(robot.nv)]
    behind = [next((i for i in above[k] if i in twists), None) for k in range(robot.nv)]
    return twists, behind, [tuple(i for i in chain if i not in twists) for chain in above]


def factor_unsymmetric(
    robot: Robot,
    M: Float[ndarray, "nv nv"],
    contacts: Sequence[tuple[Float[ndarray, "3 nv"], Float[ndarray, "3 3"], tuple[int, ...]]] = (),
    coupled: bool = False,
) -> tuple[Float[ndarray, "nv nv"], Float[ndarray, "nv nv"], Float[ndarray, "nv"]]:
    """Return (U, L, d) of A = M + Σ JᵀDJ, with the sparsity of M but not its symmetry, as friction makes it.

    ``contacts``: (J, D, columns in which J is not zero). L is unit lower triangular, U upper triangular with d on its
    diagonal (omitted). Everything below a limb's first joint f moves with V = V_base + s a_f, s its twist: so it acts
    on the base through a 6x6 matrix C, like an articulated body (Featherstone 2008, section 7.3), and on that joint
    through s:

        A_f = M_f + sᵀ C,   A_base = M_base + Σ C
    """
    twists, behind, chains = _limbs(robot, coupled)
    base, n = range(6), robot.nv

    def at(i: int, f: int | None) -> object:
        """Return where an entry is stored: those of the base, as seen by a limb, separately."""
        return i if f is None or i >= 6 else (f, i)

    A: dict[tuple[object, object], Scalar] = defaultdict(float)
    for k in range(n):
        A[k, k] = M[k, k]
        for i in chains[k]:
            A[k, at(i, behind[k])], A[at(i, behind[k]), k] = M[k, i], M[i, k]
    for J, D, columns in contacts:
        f = next((k for k in columns if k in twists), None)
        # ordered so that the simple columns of the base come last: fewer operations
        below, above = (D.T @ J).T @ J, J.T @ (D @ J)
        for i, j in itertools.product((k for k in columns if k != f), repeat=2):
            A[at(i, f), at(j, f)] = A[at(i, f), at(j, f)] + (below if j <= i else above)[i, j]

    U, L = np.zeros((n, n)), np.eye(n)
    for k in reversed(range(n)):
        if k in twists:
            C = np.stack([np.stack([A[(k, i), (k, j)] for j in base]) for i in base])
            row, column = twists[k] @ C, C @ twists[k]
            A[k, k] = A[k, k] + row @ twists[k]
            for i in base:
                A[k, i], A[i, k] = A[k, i] + row[i], A[i, k] + column[i]
                for j in base:
                    A[i, j] = A[i, j] + C[i, j]
        reciprocal = 1.0 / A[k, k]
        chain = [(i, at(i, behind[k])) for i in chains[k]]
        for i, a in chain:
            L[k, i], U[i, k] = A[k, a] * reciprocal, A[a, k]
            for _, b in chain:
                A[b, a] = A[b, a] - A[b, k] * L[k, i]
    return U, L, np.stack([A[k, k] for k in range(n)])


def solve_unsymmetric(
    robot: Robot,
    U: Float[ndarray, "nv nv"],
    L: Float[ndarray, "nv nv"],
    d: Float[ndarray, "nv"],
    b: Float[ndarray, "nv *columns"],
    coupled: bool = False,
) -> Float[ndarray, "nv *columns"]:
    """Return x with A x = b, a vector or columns, for the factors of ``factor_unsymmetric``."""
    twists, behind, chains = _limbs(robot, coupled)
    x: dict[object, Scalar] = {k: b[k] for k in range(robot.nv)}
    pushed = {f: [0.0 * b[0]] * 6 for f in twists}  # force on the base from below a limb's first joint
    for k in reversed(range(robot.nv)):
        for i in range(6) if k in twists else ():
            x[k], x[i] = x[k] - twists[k][i] * pushed[k][i], x[i] - pushed[k][i]
        x[k] = x[k] * (1.0 / d[k])
        for i in chains[k]:
            if i < 6 and (first := behind[k]) is not None:
                pushed[first][i] = pushed[first][i] + U[i, k] * x[k]
            else:
                x[i] = x[i] - U[i, k] * x[k]
    for k in range(robot.nv):
        f = behind[k]
        for i in chains[k]:
            x[k] = x[k] - L[k, i] * (x[i] if f is None or i >= 6 else x[f, i])
        for i in range(6) if k in twists else ():
            x[k, i] = x[i] + twists[k][i] * x[k]  # motion of the limb
    return np.stack([x[k] for k in range(robot.nv)])


# -- a = L D Lᵀ of a small dense symmetric matrix, written with loops: what a trace can unroll (contact sets, 12 x ----
def dense_factor(A: Float[ndarray, "n n"]) -> tuple[Float[ndarray, "n n"], Float[ndarray, "n"]]:
    """Return (L, d), L unit lower triangular; reads the lower triangle of a positive definite A. No pivoting."""
    n = len(A)
    L = np.eye(n)
    d: list[float] = []
    for k in range(n):
        column = A[k:, k]
        for j in range(k):
            column = column - L[k:, j] * (L[k, j] * d[j])
        d.append(column[0])
        L[k + 1 :, k] = column[1:] * (1.0 / d[k])
    return L, np.stack(d) if d else np.zeros(0)


def dense_solve(L: Float[ndarray, "n n"], d: Float[ndarray, "n"], b: Float[ndarray, "n"]) -> Float[ndarray, "n"]:
    """Return x with L diag(d) Lᵀ x = b."""
    n = len(d)
    x = [b[k] for k in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            x[i] = x[i] - L[i, k] * x[k]
    for k in reversed(range(n)):
        x[k] = x[k] * (1.0 / d[k])
        for i in range(k + 1, n):
            x[k] = x[k] - L[i, k] * x[i]
    return np.stack(x) if x else np.zeros(0)

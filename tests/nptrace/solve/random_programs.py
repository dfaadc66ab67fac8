"""Programs for the tests of the solvers: drawn at random, and the condensed form of stage-wise ones."""

import dataclasses

import numpy as np

from nptrace.solve import stagewise
from nptrace.solve.quadratic import QP


def random_program(seed, n=7, m=9, p=2, scale=1.0):
    """Feasible by construction: some x meets all bounds, many of them tightly."""
    random = np.random.default_rng(seed)
    G = random.normal(size=(n, n))
    A, E, x = random.normal(size=(m, n)), random.normal(size=(p, n)), random.normal(size=n)
    reach = A @ x
    low = np.where(random.random(m) < 0.3, -1e30, reach - random.exponential(0.3, m))
    high = np.where(random.random(m) < 0.4, 1e30, reach + random.exponential(0.3, m))
    return QP(H=G @ G.T + 0.1 * np.eye(n), f=scale * random.normal(size=n), A=A, low=low, high=high, E=E, e=E @ x)


def random_stages(seed, N=6, n=4, m=2, k=3):
    random = np.random.default_rng(seed)
    A, B = np.eye(n) + 0.2 * random.normal(size=(N, n, n)), random.normal(size=(N, n, m))
    C, D = np.stack([0.3 * random.normal(size=(k, n))] * N), random.normal(size=(N, k, m))
    Q, R = np.stack([np.diag(random.uniform(0.5, 2, n))] * N), np.stack([np.diag(random.uniform(0.1, 0.3, m))] * N)
    u, x = random.normal(size=(N, m)), random.normal(size=n)
    stages = stagewise.Stages(
        A=A,
        B=B,
        c=0.1 * random.normal(size=(N, n)),
        Q=Q,
        q=random.normal(size=(N, n)),
        R=R,
        r=random.normal(size=(N, m)),
        C=C,
        D=D,
        low=np.zeros((N, k)),
        high=np.zeros((N, k)),
    )
    reach = np.einsum("Nkn,Nn->Nk", C, stagewise.rollout(stages, x, u)) + np.einsum("Nkm,Nm->Nk", D, u)
    low = np.where(random.random((N, k)) < 0.2, -1e30, reach - random.exponential(0.3, (N, k)))
    high = np.where(random.random((N, k)) < 0.4, 1e30, reach + random.exponential(0.3, (N, k)))
    return dataclasses.replace(stages, low=low, high=high), x


def condensed(stages, x):
    """(H, f, A, low, high) of the same program with the states eliminated."""
    N, _, m = stages.B.shape

    def states(u):
        return stagewise.rollout(stages, x, u.reshape(N, m)).ravel()

    free = states(np.zeros(N * m))
    G = np.stack([states(e) - free for e in np.eye(N * m)], axis=1)

    def diagonal(M):
        rows, columns = M.shape[1:]
        out = np.zeros((N * rows, N * columns))
        for i in range(N):
            out[i * rows : (i + 1) * rows, i * columns : (i + 1) * columns] = M[i]
        return out

    Q, R, C, D = (diagonal(M) for M in (stages.Q, stages.R, stages.C, stages.D))
    H, f = G.T @ Q @ G + R, G.T @ (Q @ free + stages.q.ravel()) + stages.r.ravel()
    offset = C @ free
    return H, f, C @ G + D, stages.low.ravel() - offset, stages.high.ravel() - offset

"""Model predictive control of a cart with bounded force: a quadratic program stage by stage, in compiled code.

Run this file: the cart goes 1 m and stops there, with the force never beyond its bound.
"""

import numpy as np

import nptrace
from nptrace.solve import stagewise

DT, MASS, MOST, HORIZON = 0.1, 2.0, 3.0, 20
A = np.array([[1.0, DT], [0.0, 1.0]])
B = np.array([[0.5 * DT**2 / MASS], [DT / MASS]])


def _rows(matrix: np.ndarray) -> np.ndarray:
    return np.tile(matrix, (HORIZON,) + (1,) * np.ndim(matrix))


def force(x: np.ndarray, goal: float) -> float:
    """Return the force [N] now of the best plan from a state to standing still at a goal.

    Args:
        x: position [m] and velocity [m/s].
        goal: position [m].
    """
    weight = np.diag([10.0, 1.0])
    stages = stagewise.Stages(
        A=_rows(A), B=_rows(B), c=np.zeros((HORIZON, 2)),
        Q=_rows(weight), q=np.zeros((HORIZON, 2)), R=_rows(np.array([[0.01]])), r=np.zeros((HORIZON, 1)),
        C=np.zeros((HORIZON, 1, 2)), D=np.ones((HORIZON, 1, 1)),
        low=np.full((HORIZON, 1), -MOST), high=np.full((HORIZON, 1), MOST),
    )  # fmt: skip
    error = x - np.stack([goal, 0.0])
    return stagewise.solve(stages, error, np.zeros((HORIZON, 1)), iterations=15).u[0, 0]


def main() -> None:
    x = np.zeros(2)
    compiled = nptrace.compile(force, x, 1.0)
    largest = 0.0
    for _ in range(60):
        u = compiled(x, 1.0)
        largest = max(largest, abs(u))
        x = A @ x + B[:, 0] * u
    print(f"after 6 s: {x[0]:.3f} m, {x[1]:.3f} m/s; largest force {largest:.2f} N of {MOST} N")


if __name__ == "__main__":
    main()

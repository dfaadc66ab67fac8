"""A Kalman filter of a point on a line, from noisy positions: one predict and update step, written in plain NumPy.

Run this file: the compiled filter follows the signal, and gives the numbers of the NumPy function.
"""

import numpy as np

import nptrace

DT = 0.1
F = np.array([[1.0, DT], [0.0, 1.0]])  # position and velocity over one interval
Q = 0.5 * np.array([[DT**4 / 4, DT**3 / 2], [DT**3 / 2, DT**2]])  # of a random acceleration
H = np.array([[1.0, 0.0]])  # a position is measured
R = 0.04  # [m²]


def step(x: np.ndarray, P: np.ndarray, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (mean, covariance) after one interval and one measured position.

    Args:
        x: position [m] and velocity [m/s] before.
        P: their covariance.
        z: measured position [m].
    """
    x, P = F @ x, F @ P @ F.T + Q
    gain = P @ H.T / (H @ P @ H.T + R)
    return x + gain @ (z - H @ x), (np.eye(2) - gain @ H) @ P


def main() -> None:
    rng = np.random.default_rng(0)
    x, P = np.zeros(2), np.eye(2)
    compiled = nptrace.compile(step, x, P, 0.0)
    for k in range(100):
        truth = np.sin(0.3 * DT * k)
        x, P = compiled(x, P, truth + 0.2 * rng.normal())
    print(f"after 100 measurements: {x[0]:.3f} m, true {truth:.3f} m, standard deviation {np.sqrt(P[0, 0]):.3f} m")


if __name__ == "__main__":
    main()

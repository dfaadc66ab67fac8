"""Bodies under each other's gravity, by the leapfrog method, with the gradient of where they end by where they start.

Run this file: it aims a probe at a place by descending that gradient.
"""

import numpy as np

import nptrace

MASSES = np.array([1.0, 1e-3, 1e-6])
STEPS, DT, SOFTENING = 50, 0.02, 1e-3


def accelerations(places: np.ndarray) -> np.ndarray:
    """Return the acceleration of every body, with G = 1."""
    apart = places[None, :, :] - places[:, None, :]
    cubed = (np.sum(apart * apart, axis=2) + SOFTENING**2) ** 1.5
    return np.sum(MASSES[None, :, None] * apart / cubed[:, :, None], axis=1)


def orbit(places: np.ndarray, velocities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (positions, velocities) after so many leapfrog steps; the loop stays a loop in the compiled code."""

    def leap(_: float, moving: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        x, v = moving
        v = v + 0.5 * DT * accelerations(x)
        x = x + DT * v
        return x, v + 0.5 * DT * accelerations(x)

    return nptrace.repeat(STEPS, leap, (places, velocities))


def miss(places: np.ndarray, velocities: np.ndarray) -> float:
    """Return the squared distance of the last body from (0, 1.2) at the end."""
    end, _ = orbit(places, velocities)
    return np.sum((end[2] - np.array([0.0, 1.2])) ** 2)


START = np.array([[0.0, 0.0], [0.0, -1.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def main() -> None:
    places, velocities = START
    gradient = nptrace.gradient(miss, places, velocities, wrt="velocities")
    compiled = nptrace.compile(miss, places, velocities)
    print(f"squared miss before: {compiled(places, velocities):.4f}")
    for _ in range(200):
        slope = np.asarray(gradient(places, velocities))
        velocities = velocities - 0.1 * slope * np.array([[0.0], [0.0], [1.0]])
    print(f"squared miss after:  {compiled(places, velocities):.6f}")


if __name__ == "__main__":
    main()

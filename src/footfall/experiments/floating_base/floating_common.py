"""What the claims of the lecture slides share: states, errors, momentum."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy import ndarray

from footfall import dynamics, kinematics
from footfall.compare.laws import rate_along
from footfall.compare.states import States
from footfall.experiments.claims import Claim
from footfall.experiments.claims import judge as judged
from footfall.experiments.registered import Value, registration
from footfall.robot import Robot
from footfall.spatial import Transform
from footfall.spatial.quaternion import to_rotation

NAME = "floating_base"
ROUNDING = registration().bounds["identity"].value  # relative error up to which an identity holds

Measured = tuple[Robot, ndarray, ndarray, ndarray, ndarray]  # robot, q, v, a, tau


def every(robots: Sequence[Robot], states: Sequence[States]) -> list[Measured]:
    return [
        (robot, *row) for robot, few in zip(robots, states) for row in zip(few.q, few.v, few.a, few.tau)
    ]  # fmt: skip


def error(x: ndarray, y: ndarray) -> float:
    """max |x - y| / max |y|."""
    return float(np.abs(np.asarray(x) - y).max() / max(float(np.abs(y).max()), 1e-300))


def worst(errors: Sequence[float] | Callable[..., float], samples: Sequence[Measured] = ()) -> float:
    return max(errors(*sample) for sample in samples) if callable(errors) else max(errors)


def judge(id: str, measured: Value, note: str, holds: bool | None = None) -> Claim:
    """A claim of the slides by its registered bound."""
    return judged(NAME, id, measured, note, holds=holds)


def weight(robot: Robot) -> ndarray:
    return robot.mass * np.array([0.0, 0.0, 0.0, *dynamics.GRAVITY])


def about_com(robot: Robot, q: ndarray) -> Transform:
    """The base's pose in a frame at the centre of mass with world axes."""
    return Transform(to_rotation(q[3:7]), q[:3] - kinematics.center_of_mass(robot, q))


def momentum_rate(robot: Robot, q: ndarray, v: ndarray, a: ndarray) -> ndarray:
    """d(A v)/dt about the centre of mass, A differentiated along the motion."""
    turning = rate_along(robot, lambda x: dynamics.momentum_matrix(robot, x), q, v) @ v
    return dynamics.momentum_matrix(robot, q) @ a + turning

"""External wrenches: Algorithm 4 of de Paula et al. 2024."""

import numpy as np
from numpy import ndarray

from footfall.dynamics.propagate import joint_space_forces
from footfall.errors import InputError
from footfall.kinematics.forward import joint_transforms
from footfall.robot.model.description import Robot
from nptrace.array_types import Float


def external_terms(robot: Robot, q: Float[ndarray, "nq"], wrenches: Float[ndarray, "nb 6"]) -> Float[ndarray, "nv"]:
    """Return τ_e, the generalised forces of wrenches on the bodies.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        wrenches: (n, f) on every body, at its origin in its axes [N m, N].

    Returns:
        τ_e [N m, N].
    """
    bodies = len(robot.tree.bodies)
    if np.shape(wrenches) != (bodies, 6):
        raise InputError(f"wrenches on robot '{robot.name}' must have shape ({bodies}, 6), got {np.shape(wrenches)}")
    return joint_space_forces(robot, joint_transforms(robot, q), [wrenches[i] for i in range(bodies)])

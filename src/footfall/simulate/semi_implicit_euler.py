"""Semi-implicit Euler: velocities first, then positions with the new velocities."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.robot.model.description import Robot
from footfall.simulate.free_rotation import gyroscopic_change
from footfall.simulate.state import State
from footfall.spatial.quaternion import rotated_in_a_step, to_rotation


def advance(robot: Robot, state: State, a: Float[ndarray, "nv"], dt: float) -> State:
    """The state to which classical accelerations lead.

    The linear velocity advances in world axes and is rotated back: Euler steps on base-axes components would gain speed
    while the base turns. So would the angular velocity: what turns the base without a force is taken at the middle of
    the step, see ``free_rotation``.
    """
    q, v = state.q, state.v
    if not robot.floating:
        rates = v + dt * a
        return State(q + dt * rates, rates)
    spun, carried, past = gyroscopic_change(robot, v[:3], dt)
    v_W = to_rotation(q[3:7]) @ (v[3:6] + dt * a[3:6] + carried)
    omega, rates = v[:3] + dt * a[:3] + spun, v[6:] + dt * a[6:]
    quat = rotated_in_a_step(q[3:7], dt * (omega - past))
    return State(
        np.concatenate([q[:3] + dt * v_W, quat, q[7:] + dt * rates]),
        np.concatenate([omega, to_rotation(quat).T @ v_W, rates]),
    )

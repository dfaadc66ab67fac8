"""Random states at which algorithms are compared."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy import ndarray

from footfall.dynamics.formalisms.modes import all_modes
from footfall.errors import InputError
from footfall.kinematics.jacobian import feet_jacobian
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import weight_of
from nptrace.array_types import Float

_APART = 1e-2  # smallest relative singular value of the contact rows


@dataclass(frozen=True, kw_only=True)
class States:
    """Random samples in rows: positions, velocities, accelerations, generalized forces, wrenches on the bodies."""

    q: Float[ndarray, "n nq"]
    v: Float[ndarray, "n nv"]
    a: Float[ndarray, "n nv"]
    tau: Float[ndarray, "n nv"]
    wrenches: Float[ndarray, "n nb 6"]
    mode: Float[ndarray, "n nf"] | None = None  # which feet are in stance: see ``with_modes``
    closed_q: Float[ndarray, "n nq"] | None = None  # for robots with loops, closed: see ``loop_sides``
    closed_v: Float[ndarray, "n nv"] | None = None

    def __len__(self) -> int:
        return len(self.q)

    def arrays(self, names: tuple[str, ...]) -> list[ndarray]:
        return [getattr(self, name) for name in names]

    def first(self, count: int) -> States:
        given = [f.name for f in fields(self) if getattr(self, f.name) is not None]
        return replace(self, **{name: getattr(self, name)[:count] for name in given})


def random_states(robot: Robot, samples: int, seed: int = 0) -> States:
    """Return random states, for tests.

    Joints are uniform within their limits (and within ±π), the attitude is uniform, the base within a metre of the
    origin, velocities are normal. Forces have the size of the robot's weight, so that no term of an equation dominates.

    Args:
        robot: The robot.
        samples: Number of states.
        seed: Seed of the random numbers.

    Returns:
        q, v, a, tau and wrenches, one row per state.
    """
    if samples < 1:
        raise InputError(f"samples must be at least 1, got {samples}")
    rng = np.random.default_rng(seed)
    lower, upper = _range_of_joints(robot)
    q = rng.uniform(lower, upper, (samples, robot.nj))
    if robot.floating:
        attitude = rng.normal(size=(samples, 4))
        attitude /= np.linalg.norm(attitude, axis=1, keepdims=True)
        q = np.concatenate([rng.uniform(-1.0, 1.0, (samples, 3)), attitude, q], axis=1)
    v, a, tau = (rng.normal(size=(samples, robot.nv)) for _ in range(3))
    weight = weight_of(robot.mass)
    wrenches = weight * rng.normal(size=(samples, len(robot.tree.bodies), 6))
    return States(q=q, v=v, a=a, tau=weight * tau, wrenches=wrenches)


def with_modes(robot: Robot, states: States) -> States:
    """Return the states, each with a contact mode: all of them in turn, the one with all feet down first.

    A mode that its robot cannot hold at a state (feet whose constraints depend on each other, or nearly so) is replaced
    by the next: there the formalisms have no unique solution.
    """
    modes = all_modes(robot)[::-1]
    found = np.zeros((len(states), robot.nf))
    for k, q in enumerate(states.q):
        found[k] = _mode_to_hold(robot, q, modes[k % len(modes) :] + modes)
    return replace(states, mode=found)


def _mode_to_hold(robot: Robot, q: ndarray, modes: list[ndarray]) -> ndarray:
    try:
        J = feet_jacobian(robot, q)[:, 3:]
        return next(mode for mode in modes if holds(J, mode))
    except Exception:  # a broken Jacobian is for the checks to find, not for the choice of states
        return np.zeros(robot.nf)


def holds(J: Float[ndarray, "nf 3 nv"], mode: Float[ndarray, "nf"]) -> bool:
    """Return whether the stance feet are independent; in flight they always are."""
    rows = J[np.asarray(mode) > 0].reshape(-1, J.shape[-1])
    if not rows.size:
        return not mode.any()
    sizes = np.linalg.svd(rows, compute_uv=False)
    return len(rows) <= J.shape[-1] and bool(sizes[-1] > _APART * sizes[0])


def _range_of_joints(robot: Robot) -> tuple[ndarray, ndarray]:
    joints = [body.joint for body in robot.tree.bodies if body.joint is not None]
    lower = np.array([joint.lower for joint in joints])
    upper = np.array([joint.upper for joint in joints])
    low, high = np.maximum(lower, -np.pi), np.minimum(upper, np.pi)
    beyond = low > high  # limits that lie wholly outside ±π are kept
    return np.where(beyond, lower, low), np.where(beyond, upper, high)

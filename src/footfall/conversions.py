"""Converters between footfall's coordinates and those of Pinocchio and MuJoCo.

| | q of the base | v of the base (its rates, component by component, are a) |
|---|---|---|
| footfall | position, quaternion w x y z | ω, velocity of the origin, both in base axes |
| Pinocchio | position, quaternion x y z w | velocity of the origin, ω, both in base axes |
| MuJoCo | position, quaternion w x y z | velocity of the origin in *world* axes, ω in base axes |

``to_pinocchio``, ``from_pinocchio``, ``to_mujoco`` and ``from_mujoco`` convert states to and from the layout of one of
their models, whose joints may come in another order and, in MuJoCo, beside others:

    qpos, qvel = ff.conversions.to_mujoco(robot, sim.q, sim.v, model)
    q, v = ff.conversions.from_pinocchio(robot, q_pin, v_pin, pin_model)

In the other functions joints are in the order of ``robot.joint_names``. Each velocity map is a matrix T, v_theirs = T
v_ours, so generalised forces transform by τ_ours = Tᵀ τ_theirs and Jacobians by J_ours = J_theirs T. Our accelerations
and Pinocchio's are spatial, MuJoCo's are classical.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, unknown
from footfall.hints import takes
from footfall.robot.model.description import Robot
from nptrace._types import Foreign, Given
from nptrace.array_types import Float

_XYZW = np.array([0, 1, 2, 4, 5, 6, 3])
_WXYZ = np.array([0, 1, 2, 6, 3, 4, 5])


# -- states in the layout of a model -----------------------------------------------------------------------------------
@takes({})
def to_pinocchio(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"] | None = None, model: Foreign = None
) -> tuple[ndarray, ndarray]:
    """Return (q, v) of a robot in Pinocchio's layout.

    Args:
        robot: The robot; joints are mapped by name.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates; zero unless given.
        model: a ``pinocchio.Model`` with a free-flyer as its root, or the names of its joints in its order; the order
            of ``robot.joint_names`` unless given. A robot on a fixed base has no root joint.

    Returns:
        Base position, base quaternion (x, y, z, w) and joints; linear then angular velocity of the base in base axes
        and joint rates.
    """
    q, v = _checked(robot, q, v)
    order = _pinocchio_order(robot, model)
    at, moving = robot.nq - robot.nj, robot.nv - robot.nj
    base_q, base_v = to_pinocchio_q(robot, q)[:at], to_pinocchio_v(robot, v)[:moving]
    return np.concatenate([base_q, q[at:][order]]), np.concatenate([base_v, v[moving:][order]])


@takes({})
def from_pinocchio(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"] | None = None, model: Foreign = None
) -> tuple[ndarray, ndarray]:
    """Return (q, v) in footfall's layout of a state in Pinocchio's; see ``to_pinocchio``.

    Args:
        robot: The robot.
        q: Pinocchio's configuration, with its quaternion as (x, y, z, w).
        v: Pinocchio's velocity; zero unless given.
        model: Model as for ``to_pinocchio``.

    Returns:
        q and v.
    """
    q, v = _checked(robot, q, v)
    order = np.argsort(_pinocchio_order(robot, model))
    at, moving = robot.nq - robot.nj, robot.nv - robot.nj
    ours_q, ours_v = from_pinocchio_q(robot, q), from_pinocchio_v(robot, v)
    return np.concatenate([ours_q[:at], q[at:][order]]), np.concatenate([ours_v[:moving], v[moving:][order]])


@takes({})
def to_mujoco(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"] | None = None, model: Foreign = None
) -> tuple[ndarray, ndarray]:
    """Return (qpos, qvel) of a robot in MuJoCo's layout.

    Args:
        robot: Whose joints are mapped by name.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular then linear velocity of the base in base axes [rad/s, m/s], joint rates; zero unless given.
        model: An ``MjModel``, in which the robot's base has the first free joint above its joints, or the names of its
            joints in its order; the order of ``robot.joint_names`` unless given.

    Returns:
        Base position, base quaternion (w, x, y, z) and joints; linear velocity of the base in *world* axes, angular
        velocity in base axes, and joint rates. Other joints of the model are at ``qpos0`` and at rest.
    """
    q, v = _checked(robot, q, v)
    at, moving, size_q, size_v, start = _mujoco_places(robot, model)
    qpos, qvel = np.array(start), np.zeros(size_v)
    assert len(qpos) == size_q
    qpos[at], qvel[moving] = q, to_mujoco_v(robot, q, v)
    return qpos, qvel


@takes({})
def from_mujoco(
    robot: Robot, qpos: Float[ndarray, "n"], qvel: Float[ndarray, "m"] | None = None, model: Foreign = None
) -> tuple[ndarray, ndarray]:
    """Return (q, v) in footfall's layout of a state in MuJoCo's; see ``to_mujoco``.

    Args:
        robot: The robot.
        qpos: MuJoCo's configuration.
        qvel: MuJoCo's velocity; zero unless given.
        model: Model as for ``to_mujoco``.

    Returns:
        q and v.
    """
    at, moving, size_q, size_v, _ = _mujoco_places(robot, model)
    qpos = np.asarray(qpos, dtype=float)
    qvel = np.zeros(size_v) if qvel is None else np.asarray(qvel, dtype=float)
    for name, array, size in (("qpos", qpos, size_q), ("qvel", qvel, size_v)):
        if array.shape != (size,):
            raise InputError(f"{name} for robot '{robot.name}' must have shape ({size},), got {array.shape}")
    q = qpos[at]
    return q, from_mujoco_v(robot, q, qvel[moving])


def _checked(robot: Robot, q: Given, v: Given) -> tuple[ndarray, ndarray]:
    if not isinstance(robot, Robot):
        raise InputError(f"conversions take the robot first, then q and v, got {type(robot).__name__} for it")
    q, v = np.asarray(q, dtype=float), np.zeros(robot.nv) if v is None else np.asarray(v, dtype=float)
    for name, array, size in (("q", q, robot.nq), ("v", v, robot.nv)):
        if array.shape != (size,):
            raise InputError(f"{name} of robot '{robot.name}' must have shape ({size},), got {array.shape}")
    return q, v


def _order(robot: Robot, names: list[str], whose: str) -> ndarray:
    """Return the indices in ``robot.joint_names`` of their joints."""
    known = {name: k for k, name in enumerate(robot.joint_names)}
    for name in names:
        if name not in known:
            raise unknown(f"joint of {whose}", name, known, f"robot '{robot.name}' has")
    missing = [name for name in known if name not in names]
    if missing or len(names) != len(known):
        raise InputError(
            f"{whose} lacks the joint '{missing[0]}' of robot '{robot.name}'"
            if missing
            else f"{whose} names a joint twice"
        )
    return np.array([known[name] for name in names], dtype=int)


def _pinocchio_order(robot: Robot, model: Foreign) -> ndarray:
    if model is None:
        return np.arange(robot.nj)
    if not hasattr(model, "idx_qs"):
        return _order(robot, [str(name) for name in model], "the order of joints")
    numbers = sorted(range(2 if robot.floating else 1, model.njoints), key=lambda k: int(model.idx_qs[k]))
    if model.nq != robot.nq or model.nv != robot.nv:
        raise InputError(
            f"the Pinocchio model has nq = {model.nq} and nv = {model.nv}, robot '{robot.name}' {robot.nq} and"
            f" {robot.nv}: {'build it with a free-flyer' if robot.floating else 'build it without a root joint'}"
        )
    return _order(robot, [str(model.names[k]) for k in numbers], "the Pinocchio model")


def _mujoco_places(robot: Robot, model: Foreign) -> tuple[ndarray, ndarray, int, int, ndarray]:
    """Return (indices of our q in qpos, indices of our v in qvel, both lengths, initial qpos)."""
    base_q, base_v = robot.nq - robot.nj, robot.nv - robot.nj
    if not hasattr(model, "jnt_qposadr"):
        order = np.arange(robot.nj) if model is None else _order(robot, [str(n) for n in model], "the order of joints")
        positions = np.argsort(order)
        at, moving = np.r_[np.arange(base_q), base_q + positions], np.r_[np.arange(base_v), base_v + positions]
        return at, moving, robot.nq, robot.nv, np.zeros(robot.nq)
    numbers = mujoco_joints(robot, model)
    at, moving = model.jnt_qposadr[numbers], model.jnt_dofadr[numbers]
    if robot.floating:
        free = free_joint(robot, model)
        first_q, first_v = int(model.jnt_qposadr[free]), int(model.jnt_dofadr[free])
        at, moving = np.r_[first_q : first_q + 7, at], np.r_[first_v : first_v + 6, moving]
    return at, moving, int(model.nq), int(model.nv), np.array(model.qpos0)


def mujoco_joints(robot: Robot, model: Foreign) -> ndarray:
    """Return the ids that an ``MjModel`` gives to the robot's joints, in the robot's order."""
    known = {model.joint(k).name: k for k in range(model.njnt)}
    for name in robot.joint_names:
        if name not in known:
            raise unknown(f"joint of robot '{robot.name}'", name, known, "the MuJoCo model has")
    return np.array([known[name] for name in robot.joint_names], dtype=int)


def free_joint(robot: Robot, model: Foreign) -> int:
    """Return the id of the free joint above the robot's joints in an ``MjModel``."""
    body = int(model.jnt_bodyid[mujoco_joints(robot, model)[0]]) if robot.nj else 1
    root = int(model.body_rootid[body])
    for k in range(model.njnt):
        if int(model.jnt_type[k]) == 0 and int(model.body_rootid[model.jnt_bodyid[k]]) == root:  # mjJNT_FREE
            return k
    raise InputError(
        f"the MuJoCo model has no free joint above the joints of robot '{robot.name}', which has a floating base"
    )


# -- Pinocchio --------------------------------------------------------------------------------------------------------
def to_pinocchio_q(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    return np.concatenate([q[_XYZW], q[7:]]) if robot.floating else np.array(q)


def from_pinocchio_q(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    return np.concatenate([q[_WXYZ], q[7:]]) if robot.floating else np.array(q)


def pinocchio_map(robot: Robot) -> Float[ndarray, "nv nv"]:
    """Return T with v_pinocchio = T v: a permutation, the same for accelerations."""
    T = np.eye(robot.nv)
    if robot.floating:
        T[:6] = T[[3, 4, 5, 0, 1, 2]]
    return T


def to_pinocchio_v(robot: Robot, v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Convert velocities, or accelerations: both sides differentiate the components."""
    return pinocchio_map(robot) @ v


def from_pinocchio_v(robot: Robot, v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return pinocchio_map(robot).T @ v


def to_pinocchio_tau(robot: Robot, tau: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return pinocchio_map(robot) @ tau


def from_pinocchio_tau(robot: Robot, tau: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return pinocchio_map(robot).T @ tau


def from_pinocchio_jacobian(robot: Robot, J: Float[ndarray, "6 nv"]) -> Float[ndarray, "6 nv"]:
    """Reorder rows (linear, angular) to (angular, linear), and columns to ours."""
    return np.concatenate([J[3:], J[:3]]) @ pinocchio_map(robot)


def _rotation(quat: Float[ndarray, "4"]) -> Float[ndarray, "3 3"]:
    """Return the rotation matrix of a unit quaternion, independently of ``spatial.quaternion``."""
    w, u = quat[0], quat[1:]
    turned = np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])
    return (w * w - u @ u) * np.eye(3) + 2.0 * np.outer(u, u) + 2.0 * w * turned


# -- MuJoCo -----------------------------------------------------------------------------------------------------------
def to_mujoco_q(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    return np.array(q)


def from_mujoco_q(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    return np.array(q)


def mujoco_map(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nv nv"]:
    """Return T(q) with v_mujoco = T v."""
    T = np.eye(robot.nv)
    if robot.floating:
        T[:6, :6] = 0.0
        T[:3, 3:6] = _rotation(q[3:7])
        T[3:6, :3] = np.eye(3)
    return T


def mujoco_map_rate(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    """Return dT/dt v: the linear velocity rotates with the base, R (ω x v)."""
    out = np.zeros(robot.nv)
    if robot.floating:
        out[:3] = _rotation(q[3:7]) @ np.cross(v[:3], v[3:6])
    return out


def to_mujoco_v(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return mujoco_map(robot, q) @ v


def from_mujoco_v(robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return mujoco_map(robot, q).T @ v  # T is orthogonal


def to_mujoco_a(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], a: Float[ndarray, "nv"]
) -> Float[ndarray, "nv"]:
    """Convert footfall's spatial acceleration to MuJoCo's classical one; ``v`` is footfall's."""
    return mujoco_map(robot, q) @ a + mujoco_map_rate(robot, q, v)


def from_mujoco_a(
    robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"], a: Float[ndarray, "nv"]
) -> Float[ndarray, "nv"]:
    """Convert MuJoCo's classical acceleration to footfall's spatial one; ``v`` is footfall's."""
    return mujoco_map(robot, q).T @ (a - mujoco_map_rate(robot, q, v))


def to_mujoco_tau(robot: Robot, q: Float[ndarray, "nq"], tau: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return mujoco_map(robot, q) @ tau


def from_mujoco_tau(robot: Robot, q: Float[ndarray, "nq"], tau: Float[ndarray, "nv"]) -> Float[ndarray, "nv"]:
    return mujoco_map(robot, q).T @ tau


def from_mujoco_jacobian(
    robot: Robot, q: Float[ndarray, "nq"], linear: Float[ndarray, "3 nv"], angular: Float[ndarray, "3 nv"]
) -> Float[ndarray, "6 nv"]:
    return np.concatenate([angular, linear]) @ mujoco_map(robot, q)


__all__ = ["from_mujoco", "from_pinocchio", "to_mujoco", "to_pinocchio"]


def __dir__() -> list[str]:
    return sorted(__all__)

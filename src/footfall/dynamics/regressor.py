"""The regressor: inverse dynamics as a matrix times inertial parameters, and their identifiable combinations.

A body is ten numbers in its own frame: mass m, first moment h and second moment J (``spatial.inertia``). With a the
classical acceleration of its origin less gravity, and B = α̃ + ω̃ ω̃, the wrench it needs is linear in them,

    f = m a + B h,    n = h x a + axial(B J)

(Atkeson, An & Hollerbach 1986, here with J in place of the inertia tensor). Propagated to the joints it is Y θ. Only
some combinations of θ ever show in a motion: columns of Y that depend on others are lumped into them by a QR
factorisation over random states (Gautier 1991), which leaves the base parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.dynamics.passive import STICK_RATE, friction_fraction, joint_values
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import base_twist, check_shape, joint_rates, joint_transforms, joint_twist
from footfall.robot.model.description import Robot
from footfall.spatial import Inertia, cross, cross_motion, skew
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Float

BODY_PARAMETERS = ("m", "h_x", "h_y", "h_z", "J_xx", "J_xy", "J_xz", "J_yy", "J_yz", "J_zz")
JOINT_COLUMNS = ("damping", "dry_friction", "armature")
_DEPENDENT = 1e-8  # remainder of a column of length 1 after projection onto the columns before it


def regressor(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    a: Float[ndarray, "nv"],
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
    joint_columns: Sequence[str] = (),
    stick_rate: float = STICK_RATE,
) -> Float[ndarray, "nv np"]:
    """Return the regressor Y, in which inverse dynamics are linear: Y @ parameters(robot) = generalized forces.

    Ten columns per body in the order of ``BODY_PARAMETERS``, then one per joint for every name in ``joint_columns``.
    Without these, Y θ is ``inverse_dynamics`` without armature and exact rotors.

    Args:
        robot: The robot.
        q: Base position [m], base quaternion (w, x, y, z), joint positions [rad or m].
        v: Angular, then linear velocity of the base in base axes [rad/s, m/s]; joint velocities.
        a: Accelerations dv/dt, spatial at the base.
        gravity: Acceleration of gravity in world axes [m/s²].
        joint_columns: ``damping`` (q̇), ``dry_friction`` (``passive.friction_fraction``), ``armature`` (q̈).
        stick_rate: Stick rate of dry friction [rad/s].

    Returns:
        Y [N m, N per unit of the parameter].
    """
    check_shape(robot, v=(v, robot.nv), a=(a, robot.nv))
    tree, X = robot.tree, joint_transforms(robot, q)
    rates, accelerations = joint_rates(robot, v), joint_rates(robot, a)
    upward = np.concatenate([np.zeros(3), -(X[0].R.T @ np.asarray(gravity))])
    V, A = [base_twist(robot, v)], [base_twist(robot, a) + upward]
    for i in range(1, len(X)):
        j, across = tree.parent[i], joint_twist(robot, i, rates[i - 1])
        V.append(X[i].to_child(V[j]) + across)
        A.append(X[i].to_child(A[j]) + joint_twist(robot, i, accelerations[i - 1]) + cross_motion(V[i], across))

    Y = np.zeros((robot.nv, 10 * len(tree.bodies)))
    for i in range(len(tree.bodies)):
        n, f = _body_wrench(V[i], A[i])
        columns, j = slice(10 * i, 10 * i + 10), i
        while j > 0:  # every joint on the path to the base carries this body
            body = tree.bodies[j]
            Y[tree.dof(j), columns] = body.axis @ (n if body.kind == "revolute" else f)
            f = X[j].R @ f
            n = X[j].R @ n + skew(X[j].p) @ f
            j = tree.parent[j]
        if robot.floating:
            Y[:3, columns], Y[3:6, columns] = n, f
    blocks = [_joint_block(robot, name, rates, accelerations, stick_rate) for name in joint_columns]
    return np.concatenate([Y, *blocks], axis=1)


def _body_wrench(
    V: Float[ndarray, "6"], A: Float[ndarray, "6"]
) -> tuple[Float[ndarray, "3 10"], Float[ndarray, "3 10"]]:
    """Return (n, f) of one body by its ten parameters, from its twist and spatial acceleration."""
    w, a = V[:3], A[3:] + cross(V[:3], V[3:])
    B = skew(A[:3]) + skew(w) @ skew(w)
    n, f = np.zeros((3, 10)), np.zeros((3, 10))
    f[:, 0], f[:, 1:4], n[:, 1:4] = a, B, -skew(a)
    n[0, 5:] = np.array([B[2, 0], -B[1, 0], B[2, 1], B[2, 2] - B[1, 1], -B[1, 2]])
    n[1, 4:] = np.array([-B[2, 0], -B[2, 1], B[0, 0] - B[2, 2], 0.0, B[0, 1], B[0, 2]])
    n[2, 4:9] = np.array([B[1, 0], B[1, 1] - B[0, 0], B[1, 2], -B[0, 1], -B[0, 2]])
    return n, f


def _joint_block(
    robot: Robot, name: str, rates: Float[ndarray, "nj"], accelerations: Float[ndarray, "nj"], stick_rate: float
) -> Float[ndarray, "nv nj"]:
    if name not in JOINT_COLUMNS:
        raise unknown("joint column", name, JOINT_COLUMNS)
    values = {"damping": rates, "dry_friction": friction_fraction(rates, stick_rate), "armature": accelerations}[name]
    return np.concatenate([np.zeros((robot.tree.base_dof, robot.nj)), np.diag(values)])


def parameters(robot: Robot, joint_columns: Sequence[str] = ()) -> Float[ndarray, "np"]:
    """Return θ in the order of the regressor's columns [kg, kg m, kg m²; N m s/rad, N m, kg m²].

    The armature of a joint includes the inertia its rotor reflects.
    """
    parts = [inertia_parameters(body.inertia) for body in robot.tree.bodies]
    for name in joint_columns:
        if name not in JOINT_COLUMNS:
            raise unknown("joint column", name, JOINT_COLUMNS)
        armatures = [body.armature for body in robot.tree.bodies[1:]]
        parts.append(np.array(armatures) if name == "armature" else joint_values(robot, name))
    return np.concatenate(parts)


def parameter_names(robot: Robot, joint_columns: Sequence[str] = ()) -> list[str]:
    """Return names: ``trunk.m``, ``trunk.h_x``, ... (bodies are named after their first link); then
    ``LF_hip.damping``, ...
    """
    names = [f"{body.name}.{key}" for body in robot.tree.bodies for key in BODY_PARAMETERS]
    return names + [f"{joint}.{key}" for key in joint_columns for joint in robot.joint_names]


def inertia_parameters(inertia: Inertia) -> Float[ndarray, "10"]:
    """Return the ten numbers of a body in the order of ``BODY_PARAMETERS``."""
    m, h, J = inertia.m, inertia.h, inertia.J
    return np.stack([m, h[0], h[1], h[2], J[0, 0], J[0, 1], J[0, 2], J[1, 1], J[1, 2], J[2, 2]])


def inertia_of(ten: Float[ndarray, "10"]) -> Inertia:
    """Return the inverse of ``inertia_parameters``."""
    xx, xy, xz, yy, yz, zz = ten[4:]
    return Inertia(ten[0], ten[1:4], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def pseudo_inertia(ten: Float[ndarray, "10"]) -> Float[ndarray, "4 4"]:
    """Return [[J, h], [hᵀ, m]]: positive definite exactly when some body has these parameters (Wensing, Kim &
    Slotine 2018).
    """
    inertia = inertia_of(ten)
    P = np.zeros((4, 4))
    P[:3, :3], P[:3, 3], P[3, :3], P[3, 3] = inertia.J, inertia.h, inertia.h, inertia.m
    return P


@dataclass(frozen=True)
class BaseParameters:
    """The identifiable combinations of parameters.

    β = ``combinations`` @ θ, and Y θ = Y[:, independent] β for every state: a base parameter is the parameter of an
    independent column plus those lumped into it.
    """

    names: tuple[str, ...]  # names of all parameters
    independent: tuple[int, ...]  # columns of the regressor that define the base parameters
    combinations: Float[ndarray, "count np"]
    joint_columns: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.independent)

    def of(self, theta: Float[ndarray, "np"]) -> Float[ndarray, "count"]:
        """Return β for all parameters θ."""
        return self.combinations @ theta

    @property
    def unseen(self) -> tuple[str, ...]:
        """Return parameters in no base parameter: no motion excites them."""
        seen = np.abs(self.combinations).max(axis=0, initial=0.0) > 0
        return tuple(name for name, is_seen in zip(self.names, seen) if not is_seen)

    def descriptions(self, most: int = 6) -> list[str]:
        """Return every base parameter as text: ``trunk.m + LF_abad_link.m + ...``, with at most ``most`` terms each."""
        lines = []
        for row, own in zip(self.combinations, self.independent):
            others = sorted((k for k in np.flatnonzero(row) if k != own), key=lambda k: -abs(row[k]))
            terms = [self.names[own]]
            for k in others[: most - 1]:
                size = abs(row[k])
                factor = "" if abs(size - 1.0) < 1e-9 else f"{size:.4g} "
                terms.append(f"{'-' if row[k] < 0 else '+'} {factor}{self.names[k]}")
            hidden = len(others) - (most - 1)
            lines.append(" ".join(terms) + (f" + {hidden} more" if hidden > 0 else ""))
        return lines


def base_parameters(
    robot: Robot,
    joint_columns: Sequence[str] = (),
    gravity: Float[ndarray, "3"] | tuple[float, float, float] = GRAVITY,
    seed: int = 0,
) -> BaseParameters:
    """Return the identifiable combinations of the inertial parameters, by QR over random states (Gautier 1991).

    Columns are processed base first, so that parameters that a leg cannot reveal are attributed to the body that
    carries it. Entries below 1e-8 of their column count as zero; all states share one scale of joint rates, so that
    columns are comparable.

    Args:
        robot: The robot.
        joint_columns: Further parameters of the joints: ``damping``, ``dry_friction``, ``armature``.
        gravity: Acceleration of gravity in world axes [m/s²].
        seed: Seed of the random states.

    Returns:
        The combinations, and the parameters in each.
    """
    rng = np.random.default_rng(seed)
    names = parameter_names(robot, joint_columns)
    count = max(12, int(np.ceil(2.5 * len(names) / max(robot.nv, 1))))
    Y = np.concatenate([regressor(robot, *_random_state(robot, rng), gravity, joint_columns) for _ in range(count)])
    sizes = np.linalg.norm(Y, axis=0)
    seen = sizes > _DEPENDENT * max(float(sizes.max(initial=0.0)), 1e-300)
    scaled = Y / np.where(seen, sizes, 1.0)
    independent: list[int] = []
    Q = np.zeros((len(Y), 0))
    for k in np.flatnonzero(seen):
        rest = scaled[:, k]
        for _ in range(2):  # twice is enough (Kahan, Parlett): the rest is orthogonal to rounding
            rest = rest - Q @ (Q.T @ rest)
        size = float(np.linalg.norm(rest))
        if size > _DEPENDENT:
            independent.append(int(k))
            Q = np.concatenate([Q, (rest / size)[:, None]], axis=1)
    chosen = scaled[:, independent]
    lumped = np.linalg.lstsq(chosen, scaled, rcond=None)[0] * np.where(seen, sizes, 0.0)
    combinations = lumped / sizes[independent][:, None]
    combinations[np.abs(combinations) < 1e-9] = 0.0
    combinations[:, independent] = np.eye(len(independent))
    return BaseParameters(tuple(names), tuple(independent), combinations, tuple(joint_columns))


def _random_state(robot: Robot, rng: np.random.Generator) -> tuple[ndarray, ndarray, ndarray]:
    """Return (q, v, a): joints within ±π and any attitude; rates of 2 and accelerations of 5 units, so that both
    matter.
    """
    if robot.nv == 0:
        raise InputError(f"robot '{robot.name}' cannot move: it has no parameters to identify")
    q = rng.uniform(-np.pi, np.pi, robot.nj)
    if robot.floating:
        attitude = rng.normal(size=4)
        q = np.concatenate([np.zeros(3), attitude / np.linalg.norm(attitude), q])
    return q, 2.0 * rng.normal(size=robot.nv), 5.0 * rng.normal(size=robot.nv)


__all__ = [
    "BODY_PARAMETERS",
    "JOINT_COLUMNS",
    "BaseParameters",
    "base_parameters",
    "inertia_of",
    "inertia_parameters",
    "parameter_names",
    "parameters",
    "pseudo_inertia",
    "regressor",
]

"""Identification of inertial parameters from a recording.

This is named as future work by Yan et al. 2021. Motions, joint torques and foot forces of a run give, row by row,

    Y(q, q̇, q̈) θ = Sᵀ τ + Jᵀ f - what is known (springs, and armature unless it is to be identified)

in the parameters θ of ``dynamics.regressor``. Their base parameters follow by weighted least squares: every degree of
freedom is weighted by the noise that its own residual shows. All of θ, including those that no motion excites, follows
from a second fit in which every body is physically consistent (``analysis.consistent_inertia``).

    result = identify(recording)
    result.values, result.deviations, result.base.descriptions()   # base parameters, one standard deviation, as text
    result.joint("damping"), result.inertias               # [N m s/rad] per joint; (m, h, J) per body

A run of ``Simulation`` recorded at every step returns its robot to rounding. Recovered from noise
(``tests/footfall/analysis/test_identification.py``): Mini Cheetah, 10 s at 200 Hz of random Fourier motion on four
feet, accelerations from filtered rates, a prior 30 % too heavy and without joint losses. With noise (standard
deviations) of 2e-4 rad, 5e-3 rad/s and m/s, 0.05 N m and 0.5 N, the 94 inertial base parameters come back within 0.03
kg (mass), 4e-3 kg m (first moments) and 4e-3 kg m² (second moments), damping within 6e-3 N m s/rad, dry friction within
0.02 N m, and every one of them within five of its standard deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.analysis.consistent_inertia import physical_parameters
from footfall.analysis.named_parameters import fit_named
from footfall.analysis.sensed_torques import foot_terms
from footfall.checks import positive_number
from footfall.dynamics.checks import check_finite
from footfall.dynamics.free_rotation import free_rotation
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.passive import STICK_RATE, friction_fraction, spring_torques
from footfall.dynamics.regressor import (
    JOINT_COLUMNS,
    BaseParameters,
    base_parameters,
    inertia_of,
    pseudo_inertia,
    regressor,
)
from footfall.dynamics.regressor import parameters as inertial_parameters
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import joint_rates
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.spatial import Inertia, quaternion
from footfall.spatial.gravity import GRAVITY
from nptrace.array_types import Bool, Float

if TYPE_CHECKING:
    from footfall.analysis.named_parameters import NamedFit

ACCELERATIONS = ("recorded", "step", "smooth")
WORST_CONDITION = (
    2000.0  # limit on the condition number of the regressor with unit columns: errors grow at most by this factor
)
_CHUNK = 512  # rows processed at a time
_FINEST = 1e-4  # fraction of the loads: no degree of freedom is weighted beyond it, however small its residual


# -- rows of a recording ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Samples:
    """Motions and loads at the same times, one row per time."""

    q: Float[ndarray, "n nq"]
    v: Float[ndarray, "n nv"]
    a: Float[ndarray, "n nv"]  # dv/dt; the base's is spatial
    rates: Float[ndarray, "n nj"]  # joint velocities at which the joint losses act [rad/s]
    torque: Float[ndarray, "n nj"]
    force: Float[ndarray, "n nf 3"]
    reverses: Bool[ndarray, "n nj"]  # joints that reverse: the direction of their dry friction is unknown

    def __len__(self) -> int:
        return len(self.q)

    def at(self, rows: ndarray) -> Samples:
        """Return a subset of the rows."""
        return Samples(**{name: getattr(self, name)[rows] for name in self.__dataclass_fields__})


def samples(recording: Recording, acceleration: str | None = None, window: float = 0.055) -> Samples:
    """Return the rows of a recording with accelerations.

    ``recorded`` takes them from the column ``a``. ``step`` takes the difference of consecutive velocities: exact for a
    Simulation recorded at every step of its default integrator, and only there; rows in flight are left out unless
    there are no others. ``smooth`` fits a cubic to v (Savitzky & Golay 1964), for measured data.

    Args:
        recording: The recording.
        acceleration: ``recorded``, ``step`` or ``smooth``; unless given, ``recorded`` if there is such a column,
            otherwise ``smooth``.
        window: Window of the smoothing [s].

    Returns:
        q, v, a, torques and forces by row.
    """
    robot = recording.robot
    how = acceleration or ("recorded" if "a" in recording else "smooth")
    if how not in ACCELERATIONS:
        raise unknown("kind of acceleration", how, ACCELERATIONS)
    if "torque" not in recording:
        raise InputError(f"identification of robot '{robot.name}' needs the joint torques, the recording has none")
    if len(recording) < 2:
        raise InputError(f"identification needs at least two rows, the recording has {len(recording)}")
    force = recording.force if "force" in recording else np.zeros((len(recording), robot.nf, 3))
    q, v, torque = recording.q, recording.v, recording.torque
    check_finite(robot, q=q, v=v, torque=torque, force=force)
    if how == "recorded":
        a = recording["a"]
        if a.shape != v.shape:
            raise InputError(f"column 'a' of {robot.name} must have shape {v.shape}, got {a.shape}")
        check_finite(robot, a=a)
        rates = v[:, robot.nv - robot.nj :]
        return Samples(
            q=q, v=v, a=a, rates=rates, torque=torque, force=force, reverses=np.zeros(rates.shape, dtype=bool)
        )
    dt = np.diff(recording.time)
    if dt.min() <= 0 or np.ptp(dt) > 1e-3 * dt.mean():
        raise InputError("accelerations need rows at one constant time step: give them as the column 'a'")
    if how == "step":
        a, turning = _step_accelerations(robot, q, v, float(dt.mean()))
        rates = v[:, robot.nv - robot.nj :]
        touching = (force[1:] != 0.0).any(axis=(1, 2))
        kept = touching if touching.any() else np.ones(len(a), dtype=bool)
        return Samples(
            q=q[:-1][kept],
            v=turning[kept],
            a=a[kept],
            rates=rates[1:][kept],
            torque=torque[1:][kept],
            force=force[1:][kept],
            reverses=(rates[:-1] * rates[1:] < 0.0)[kept],
        )
    return _smooth(robot, q, v, torque, force, float(dt.mean()), window)


def _step_accelerations(
    robot: Robot, q: ndarray, v: ndarray, dt: float
) -> tuple[Float[ndarray, "n nv"], Float[ndarray, "n nv"]]:
    """Return (dv/dt from row to row, velocities for the centrifugal forces), as a simulation step in contact has them.

    The linear velocity of a base changes in world axes, as in ``sim.step``.
    """
    a, turning = np.diff(v, axis=0) / dt, v[:-1].copy()
    if robot.floating:
        R_WB = np.moveaxis(quaternion.to_rotation(q[:, 3:7].T), -1, 0)
        v_W = np.einsum("nij,nj->ni", R_WB, v[:, 3:6])
        classical = np.einsum("nji,nj->ni", R_WB[:-1], np.diff(v_W, axis=0) / dt)
        past = compiling.compile(free_rotation, robot, target="batch")
        turning[:, :3] += past(v[:-1, :3], np.full(len(v) - 1, dt))
        a[:, 3:6] = classical - np.cross(turning[:, :3], v[:-1, 3:6])
    return a, turning


def _smooth(robot: Robot, q: ndarray, v: ndarray, torque: ndarray, force: ndarray, dt: float, span: float) -> Samples:
    """Return rates and their derivatives from a cubic through each window; half a window is dropped at both ends.

    Loads stay as measured: a filter would smear dry friction where a joint reverses; least squares average them.
    """
    from scipy.ndimage import maximum_filter, minimum_filter
    from scipy.signal import savgol_filter

    half = max(2, round(0.5 * span / dt))
    if len(q) < 4 * half + 2:
        raise InputError(f"a window of {span:g} s needs more than {4 * half} rows, the recording has {len(q)}")
    inner = slice(half, -half)

    def fitted(x: ndarray, order: int = 0) -> ndarray:
        return savgol_filter(x, 2 * half + 1, 3, deriv=order, delta=dt, axis=0)[inner]

    rates, joints = fitted(v), slice(robot.nv - robot.nj, robot.nv)
    low, high = (filtered(v[:, joints], (2 * half + 1, 1))[inner] for filtered in (minimum_filter, maximum_filter))
    return Samples(
        q=q[inner],
        v=rates,
        a=fitted(v, 1),
        rates=rates[:, joints],
        torque=torque[inner],
        force=force[inner],
        reverses=low * high <= 0.0,
    )


# -- identification --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Identified:
    """Parameters of a robot identified from a recording."""

    robot: Robot
    base: BaseParameters
    values: Float[ndarray, "count"]  # base parameters, by weighted least squares
    deviations: Float[ndarray, "count"]  # one standard deviation of each, from noise on the loads alone
    theta: Float[ndarray, "np"]  # all parameters, with physically consistent bodies
    condition: float  # condition number of the weighted regressor with unit columns
    residual: Float[ndarray, "nv"]  # rms residual of each degree of freedom [N m, N]
    rows: int

    @property
    def physical_values(self) -> Float[ndarray, "count"]:
        """Return the base parameters of the physically consistent estimate."""
        return self.base.of(self.theta)

    @property
    def inertias(self) -> tuple[Inertia, ...]:
        """Return (m, h, J) of every body of the physically consistent estimate."""
        return tuple(inertia_of(ten) for ten in _tens(self.robot, self.theta))

    @property
    def least_eigenvalue(self) -> float:
        """Return the smallest eigenvalue of all bodies' pseudo-inertias; it is positive."""
        return min(float(np.linalg.eigvalsh(pseudo_inertia(ten))[0]) for ten in _tens(self.robot, self.theta))

    def joint(self, name: str) -> Float[ndarray, "nj"]:
        """Return ``damping`` [N m s/rad], ``dry_friction`` [N m] or ``armature`` [kg m²] of every joint."""
        if name not in self.base.joint_columns:
            raise unknown("joint column", name, self.base.joint_columns, "this identification has")
        start = 10 * len(self.robot.tree.bodies) + self.base.joint_columns.index(name) * self.robot.nj
        return self.theta[start : start + self.robot.nj]


def identify(
    recording: Recording,
    *,
    prior: Robot | None = None,
    joint_columns: Sequence[str] = ("damping", "dry_friction"),
    acceleration: str | None = None,
    window: float = 0.055,
    stick_rate: float | None = None,
    ground_axes: Float[ndarray, "3 3"] | None = None,
    external: Float[ndarray, "n nv"] | None = None,
    spread: float = 0.5,
    most_rows: int = 4000,
    worst_condition: float = WORST_CONDITION,
    parameters: Sequence[str] | None = None,
) -> Identified | NamedFit:
    """Identify base parameters, joint friction and physically consistent inertias from a recording.

    The recording needs the columns q, v and torque, and force if the feet touch anything. One without excitation is
    refused.

    Args:
        recording: The recording.
        prior: Robot that supplies its geometry and parameters that no motion excites; the recording's unless given.
        joint_columns: Joint parameters to identify: ``damping``, ``dry_friction``, ``armature``.
        acceleration: Source of the accelerations; see ``samples``.
        window: Window of smoothing [s]; see ``samples``.
        stick_rate: Stick rate of dry friction [rad/s]; the recording's unless given.
        ground_axes: Axes of the ground, normal last; level unless given.
        external: Further generalized forces, such as pushes, one row per row of the recording [N m, N].
        spread: Standard deviation of the deviation of inertias from the prior, in log space.
        most_rows: Largest number of evenly spaced rows that are used.
        worst_condition: Refuse a regressor with a larger condition number.
        parameters: Names of the only unknown parameters: ``["trunk.mass", "LF_knee.damping"]``.

    Returns:
        An ``Identified``, or with ``parameters`` a ``NamedFit``: values and standard deviations by name.
    """
    robot = prior or recording.robot
    _check_request(robot, recording, joint_columns, spread)
    rows = samples(recording, acceleration, window)
    g_x, g_y, g_z = map(float, recording.meta.get("gravity", GRAVITY))
    gravity = (g_x, g_y, g_z)
    rows, extra = _used_rows(recording, rows, external, most_rows)
    width = float(recording.meta.get("stick_rate", STICK_RATE)) if stick_rate is None else stick_rate
    if parameters is not None:
        names = (parameters,) if isinstance(parameters, str) else tuple(parameters)
        return fit_named(robot, rows, extra, names, gravity, width, ground_axes)
    base = base_parameters(robot, joint_columns, gravity)
    Y, y = _equations(robot, base, rows, extra, gravity, width, ground_axes)
    factors = _factors(Y, y)
    _, condition = _solved(factors, np.ones(robot.nv))
    if not condition <= worst_condition:
        raise InputError(
            f"the recording does not excite robot '{robot.name}' enough to identify it: the condition number of its"
            f" regressor is {condition:.3g}, more than {worst_condition:g}; move every joint and the base more"
        )
    sigma, least = np.ones(robot.nv), _FINEST * float(np.sqrt(np.mean(y**2))) + 1e-12
    for _ in range(3):  # weights from residuals converge at once
        beta, condition = _solved(factors, sigma)
        residual = np.linalg.norm(factors @ np.append(beta, -1.0), axis=1) / np.sqrt(len(rows))
        sigma = np.maximum(residual, least)
    R, z = _reduced(factors, sigma)
    deviations = np.linalg.norm(np.linalg.inv(R), axis=1)
    theta = physical_parameters(robot, base, R, z, spread)
    return Identified(
        robot=robot,
        base=base,
        values=beta,
        deviations=deviations,
        theta=theta,
        condition=condition,
        residual=residual,
        rows=len(rows),
    )


def _check_request(robot: Robot, recording: Recording, joint_columns: Sequence[str], spread: float) -> None:
    if (robot.nq, robot.nj, robot.nf) != (recording.robot.nq, recording.robot.nj, recording.robot.nf):
        raise InputError(f"the prior '{robot.name}' has other joints than the recorded robot '{recording.robot.name}'")
    for name in joint_columns:
        if name not in JOINT_COLUMNS:
            raise unknown("joint column", name, JOINT_COLUMNS)
    positive_number(spread, "the spread around a prior")


def _used_rows(
    recording: Recording, rows: Samples, external: ndarray | None, most: int
) -> tuple[Samples, Float[ndarray, "n nv"]]:
    """Return a limited number of evenly spaced rows, and the external forces that belong to them."""
    shape = (len(recording), rows.v.shape[1])
    extra = np.zeros(shape) if external is None else np.asarray(external, dtype=float)
    if extra.shape != shape:
        raise InputError(f"external forces must have shape {shape}, got {extra.shape}")
    lost = len(recording) - len(rows)  # drop the first row of steps, or both ends of smoothed rows
    keep = np.unique(np.round(np.linspace(0, len(rows) - 1, min(len(rows), most))).astype(int))
    return rows.at(keep), extra[lost - lost // 2 :][: len(rows)][keep]


def _equations(
    robot: Robot,
    base: BaseParameters,
    rows: Samples,
    extra: ndarray,
    gravity: tuple[float, float, float],
    stick_rate: float,
    ground_axes: ndarray | None,
) -> tuple[Float[ndarray, "n nv count"], Float[ndarray, "n nv"]]:
    """Yield (Y of the base parameters, right-hand side) row by row."""
    inertial = [k for k in base.independent if k < 10 * len(robot.tree.bodies)]
    fast = compiling.compile(regressor, robot, target="batch", gravity=gravity)
    axes = None if ground_axes is None else tuple(map(tuple, np.asarray(ground_axes, dtype=float)))
    loads = compiling.compile(_loads, robot, target="batch", gravity=gravity, ground_axes=axes)
    Y, y = [], []
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        q, v, a = rows.q[part], rows.v[part], rows.a[part]
        Y.append(np.asarray(fast(q, v, a))[:, :, inertial])
        y.append(np.asarray(loads(q, v, a, rows.torque[part], rows.force[part])))
    goal = np.concatenate(y) + extra
    behind = slice(robot.nv - robot.nj, robot.nv)
    joint_a = rows.a[:, behind]
    if "armature" in base.joint_columns:
        goal[:, behind] += np.array([body.armature for body in robot.tree.bodies[1:]]) * joint_a
    blocks = [np.concatenate(Y)]
    losses = {"damping": rows.rates, "dry_friction": friction_fraction(rows.rates, stick_rate), "armature": joint_a}
    for name in base.joint_columns:
        block = np.zeros((len(rows), robot.nv, robot.nj))
        block[:, np.arange(robot.nv - robot.nj, robot.nv), np.arange(robot.nj)] = losses[name]
        blocks.append(block)
    all_columns = np.concatenate(blocks, axis=2)
    if "dry_friction" in base.joint_columns:
        row, joint = np.nonzero(rows.reverses)
        all_columns[row, robot.nv - robot.nj + joint] = goal[row, robot.nv - robot.nj + joint] = 0.0
    count = 10 * len(robot.tree.bodies)
    kept = [*range(len(inertial)), *(len(inertial) + k - count for k in base.independent if k >= count)]
    return all_columns[:, :, kept], goal


def _loads(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    a: Float[ndarray, "nv"],
    torque: Float[ndarray, "nj"],
    force: Float[ndarray, "nf 3"],
    gravity: tuple[float, float, float],
    ground_axes: tuple[tuple[float, ...], ...] | None = None,
) -> Float[ndarray, "nv"]:
    """Return the loads on the bodies: motors, springs and feet, minus the torques of armature and exact rotors."""
    axes = None if ground_axes is None else np.array(ground_axes)
    joints = torque + spring_torques(robot, q)
    if any(body.spins for body in robot.tree.bodies):
        known = regressor(robot, q, v, a, gravity) @ inertial_parameters(robot)
        taken = inverse_dynamics(robot, q, v, a, gravity) - known
    else:
        armature = np.array([body.armature for body in robot.tree.bodies[1:]]) * joint_rates(robot, a)
        taken = np.concatenate([np.zeros(robot.tree.base_dof), armature])
    return np.concatenate([np.zeros(robot.tree.base_dof), joints]) + foot_terms(robot, q, force, axes) - taken


def _factors(Y: Float[ndarray, "n nv count"], y: Float[ndarray, "n nv"]) -> Float[ndarray, "nv count+1 count+1"]:
    """Return triangular factors of (Y, y), one per degree of freedom: sufficient for least squares with any weights."""
    size = Y.shape[2] + 1
    factors = np.zeros((Y.shape[1], size, size))
    for k in range(Y.shape[1]):
        R = np.linalg.qr(np.concatenate([Y[:, k], y[:, k, None]], axis=1), mode="r")
        factors[k, : len(R)] = R
    return factors


def _reduced(factors: ndarray, sigma: ndarray) -> tuple[Float[ndarray, "count count"], Float[ndarray, "count"]]:
    """Return (R, z): |R β - z|² is the weighted sum of squares up to a constant."""
    size = factors.shape[1]
    R: ndarray = np.asarray(np.linalg.qr((factors / sigma[:, None, None]).reshape(-1, size), mode="r"))
    return R[:-1, :-1], R[:-1, -1]


def _solved(factors: ndarray, sigma: ndarray) -> tuple[Float[ndarray, "count"], float]:
    """Return (weighted least-squares solution, condition number of the regressor with unit columns)."""
    R, z = _reduced(factors, sigma)
    lengths = np.linalg.norm(R, axis=0)
    if not lengths.all():
        return np.zeros(len(z)), np.inf
    U, s, Vt = np.linalg.svd(R / lengths)
    if s[-1] <= 1e-14 * s[0]:
        return np.zeros(len(z)), np.inf
    return (Vt.T @ ((U.T @ z) / s)) / lengths, float(s[0] / s[-1])


def _tens(robot: Robot, theta: ndarray) -> Float[ndarray, "nb 10"]:
    return theta[: 10 * len(robot.tree.bodies)].reshape(-1, 10)


__all__ = ["Identified", "Samples", "identify", "samples"]

"""Identification of named parameters; all other parameters of the robot are taken as known.

    found = identify(recording, parameters=["trunk.mass", "LF_knee.damping"])
    found.values["trunk.mass"], found.deviations["trunk.mass"], found.robot

The equations of motion must hold row by row, M v̇ + c + g = Sᵀ(τ - losses) + Jᵀf. The residual is differentiated by
tracing, and a Gauss-Newton iteration finds the parameters; every degree of freedom is weighted by the noise of its
residual. Without names, ``identify`` would distribute a load on the trunk among all bodies, since only base parameters
are identifiable; with names, it is attributed to the trunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall.analysis.sensed_torques import foot_terms
from footfall.dynamics.inverse_dynamics import inverse_dynamics
from footfall.dynamics.passive import friction_fraction, joint_values, spring_torques
from footfall.errors import InputError, unknown
from footfall.robot.model.description import Robot
from nptrace._types import Given, Scalar
from nptrace.array_types import Float

if TYPE_CHECKING:
    from footfall.analysis.identification import Samples

_ITERATIONS, _STILL = 30, 1e-7  # maximum number of iterations; the relative change that ends them
_FINEST = 1e-4  # fraction of the loads: no degree of freedom is weighted beyond it, however small its residual
_SHOWN = 1e-8  # fraction of the largest singular value: a recording carries no information about directions below it


@dataclass(frozen=True, kw_only=True)
class NamedFit:
    """Fitted parameters by name: values, standard deviations from the noise of the loads, and the robot with them."""

    robot: Robot
    values: dict[str, Scalar]
    deviations: dict[str, Scalar]
    correlation: Float[ndarray, "count count"]  # correlations between all parameters, in alphabetical order
    residual: Float[ndarray, "nv"]  # rms residual of each degree of freedom [N m, N]
    before: Float[ndarray, "nv"]  # the same with the prior robot
    rows: int

    def __repr__(self) -> str:
        parts = [f"{p} = {_reported(x, self.deviations[p])}" for p, x in self.values.items()]
        return f"NamedFit({'; '.join(parts)}; {self.rows} rows)"


def fit_named(
    robot: Robot,
    rows: Samples,
    extra: Float[ndarray, "n nv"],
    names: Sequence[str],
    gravity: tuple[float, float, float],
    stick_rate: float,
    ground_axes: Float[ndarray, "3 3"] | None,
) -> NamedFit:
    """Return the named parameters that fit the equations of motion best."""
    known = robot.parameter_names()
    for name in names:
        if name not in known:
            raise unknown(f"parameter of robot '{robot.name}'", name, known)
    if not names or len(set(names)) != len(names):
        raise InputError(f"name the parameters to identify, each once, got {list(names)}")
    # in the order in which pytrees are flattened
    nominal = {name: np.asarray(robot.parameter(name), dtype=float) for name in sorted(names)}
    axes = None if ground_axes is None else tuple(map(tuple, np.asarray(ground_axes, dtype=float)))
    fixed: dict[str, Given] = {"gravity": gravity, "stick_rate": float(stick_rate), "ground_axes": axes}
    miss = compiling.compile(unbalanced, robot, target="batch", free=names, **fixed)
    slopes = compiling.jacobian(unbalanced, robot, wrt="parameters", free=names, **fixed)
    given = [rows.q, rows.v, rows.a, rows.rates, rows.torque, rows.force]
    trusted = np.ones((len(rows), robot.nv))
    trusted[:, robot.nv - robot.nj :] -= rows.reverses  # the direction of dry friction is unknown there

    def at(theta: ndarray) -> tuple[ndarray, ndarray]:
        values = _split(theta, nominal)
        many = {name: np.broadcast_to(x, (len(rows), *x.shape)) for name, x in values.items()}
        return trusted * (np.asarray(miss(*given, many)) - extra), trusted[..., None] * slopes.matrices(*given, many)

    theta = np.concatenate([x.ravel() for x in nominal.values()])
    scale = np.maximum(np.abs(theta), 1e-3)
    r, J = at(theta)
    before = np.sqrt(np.mean(r**2, axis=0))
    sigma = _sigma(r, rows)
    for iteration in range(_ITERATIONS):
        A, y = (J / sigma[:, None]).reshape(-1, len(theta)) * scale, (r / sigma).ravel()
        _check_shown(A, nominal)
        change = -scale * np.linalg.lstsq(A, y, rcond=None)[0]
        theta = theta + change
        r, J = at(theta)
        sigma = _sigma(r, rows) if iteration < 3 else sigma  # weights from residuals converge at once
        if iteration and np.abs(change / scale).max() < _STILL:
            break
    else:
        raise InputError(f"the parameters {', '.join(names)} do not converge: leave out some, or start closer (prior=)")
    A = (J / sigma[:, None]).reshape(-1, len(theta)) * scale
    covariance = np.linalg.inv(A.T @ A) * np.outer(scale, scale)
    spread = np.sqrt(np.diag(covariance))
    apart = {name: x if x.ndim else float(x) for name, x in _split(spread, nominal).items()}
    values = {name: _possible(name, x, apart[name]) for name, x in _split(theta, nominal).items()}
    found = robot.replace(values)  # raises for a robot that cannot exist, with the reason
    return NamedFit(
        robot=found,
        values={name: values[name] for name in names},
        deviations={name: apart[name] for name in names},
        correlation=covariance / np.outer(spread, spread),
        residual=np.sqrt(np.mean(r**2, axis=0)),
        before=before,
        rows=len(rows),
    )


def unbalanced(
    robot: Robot,
    q: Float[ndarray, "nq"],
    v: Float[ndarray, "nv"],
    a: Float[ndarray, "nv"],
    rates: Float[ndarray, "nj"],
    torque: Float[ndarray, "nj"],
    force: Float[ndarray, "nf 3"],
    gravity: tuple[float, float, float],
    stick_rate: float = 1e-4,
    ground_axes: tuple[tuple[float, ...], ...] | None = None,
) -> Float[ndarray, "nv"]:
    """Return M v̇ + c + g minus the loads of motors, springs, losses and feet [N m, N]."""
    axes = None if ground_axes is None else np.array(ground_axes)
    losses = joint_values(robot, "damping") * rates
    losses = losses + joint_values(robot, "dry_friction") * friction_fraction(rates, stick_rate)
    joints = torque + spring_torques(robot, q) - losses
    given = np.concatenate([np.zeros(robot.tree.base_dof), joints]) + foot_terms(robot, q, force, axes)
    return inverse_dynamics(robot, q, v, a, gravity) - given


def _sigma(r: Float[ndarray, "n nv"], rows: Samples) -> Float[ndarray, "nv"]:
    """Return the noise of each degree of freedom, from its residual."""
    least = _FINEST * float(np.sqrt(np.mean(rows.torque**2))) + 1e-12
    return np.maximum(np.sqrt(np.mean(r**2, axis=0)), least)


def _check_shown(A: Float[ndarray, "m count"], nominal: dict[str, ndarray]) -> None:
    """Raise if the recording carries no information about a parameter, naming it."""
    labels = [name for name, x in nominal.items() for _ in range(x.size)]
    lengths = np.linalg.norm(A, axis=0)
    if not (lengths > 0).all():
        raise InputError(f"the recording carries no information about '{labels[int(np.argmin(lengths))]}'")
    _, s, Vt = np.linalg.svd(A / lengths, full_matrices=False)
    if s[-1] < _SHOWN * s[0]:
        mixed = sorted({labels[k] for k in np.flatnonzero(np.abs(Vt[-1]) > 0.1)})
        raise InputError(f"the recording cannot distinguish {' and '.join(mixed)}: name fewer, or move more")


def _possible(name: str, value: ndarray, deviation: Scalar) -> Scalar:
    """Set a loss to zero if it is negative by no more than its noise."""
    if value.ndim:
        return value
    least = name.rpartition(".")[2] in ("damping", "dry_friction", "armature", "stiffness")
    return 0.0 if least and -3.0 * deviation - 1e-9 < value < 0.0 else float(value)


def _split(theta: ndarray, like: dict[str, ndarray]) -> dict[str, ndarray]:
    parts, at = {}, 0
    for name, x in like.items():
        parts[name] = theta[at : at + x.size].reshape(x.shape)
        at += x.size
    return parts


def _reported(value: Scalar, deviation: Scalar) -> str:
    if np.ndim(value):
        return np.array2string(np.asarray(value), precision=4)
    return f"{value:.5g} ± {deviation:.2g}"

"""Contact-aided invariant Kalman filter: Hartley, Ghaffari, Eustice and Grizzle 2020 (feet after Bloesch et al. 2012).

The state is an element of SE_k(3), (R, v, p, d_1 .. d_n) of the IMU frame I and the feet in the world, and the two
biases of the IMU. Errors are right-invariant, X̂ = exp(ξ) X, ordered (ξ_R, ξ_v, ξ_p, gyro and acceleration bias, feet).
With them the measurement of a foot, its position in the IMU frame by the encoders, is linear with a *constant* matrix:

    z_k = R̂ h_k(q) - (d̂_k - p̂) = H ξ' + R̂ n,   H = [0 0 -1 0 0 .. 1 ..],   ξ' = -ξ.

Yaw and position, which neither IMU nor legs can measure, stay unobservable in the linearised filter too, so that it
does not become overconfident. Covariances are updated in Joseph form and symmetrised. Plain NumPy, functional.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

import nptrace
from footfall.dynamics.factor import dense_factor, dense_solve
from footfall.spatial import skew
from footfall.spatial.quaternion import multiply, rotated, to_rotation
from nptrace._types import PyTree, Scalar
from nptrace.array_types import Float

TURN, SPEED, PLACE, GYRO_BIAS, ACCELERATION_BIAS = (slice(3 * k, 3 * k + 3) for k in range(5))
FEET = 15  # index of the first foot
LOST = 1.0  # variance of the position of a foot that is unknown [m²]


@dataclass(frozen=True, kw_only=True)
class FilterState:
    """The state of the filter, and its covariance."""

    quat: Float[ndarray, "4"]  # quat_WI
    v: Float[ndarray, "3"]  # velocity of the IMU, world axes [m/s]
    p: Float[ndarray, "3"]  # [m]
    gyro_bias: Float[ndarray, "3"]  # IMU axes [rad/s]
    acceleration_bias: Float[ndarray, "3"]  # IMU axes [m/s²]
    feet: Float[ndarray, "nf 3"]  # centres, world axes [m]
    P: Float[ndarray, "n n"]  # covariance of the right-invariant error, n = 15 + 3 nf


# -- prediction --------------------------------------------------------------------------------------------------------
def propagate(
    state: FilterState,
    gyro: Float[ndarray, "3"],
    acceleration: Float[ndarray, "3"],
    dt: float,
    gravity: Float[ndarray, "3"],
    variances: Float[ndarray, "5"],
    feet_move: Float[ndarray, "nf 3"],
    feet_variance: Float[ndarray, "nf"],
) -> FilterState:
    """Propagate one period by the IMU: the sample is the mean over the period, in the axes at its end.

    variances: variances of the samples of gyro [rad²/s²] and accelerometer [m²/s⁴], of the random walk of their biases
    in a period, and of a tilt [rad²] of robot and feet together about the robot, added after a faulty gyro. feet_move
    [m]: displacement of rolling feet; feet_variance [m²]: its uncertainty, ``LOST`` for a foot in the air.
    """
    quat = rotated(state.quat, dt * (gyro - state.gyro_bias))
    R = to_rotation(quat)
    v = state.v + dt * (R @ (acceleration - state.acceleration_bias) + gravity)
    p, feet = state.p + dt * v, state.feet + feet_move
    n, nf = state.P.shape[0], state.feet.shape[0]

    lever = np.zeros((n, 3))  # effect of a gyro error: the adjoint's first columns
    lever[TURN], lever[SPEED], lever[PLACE] = np.eye(3), skew(v), skew(p)
    for k in range(nf):
        lever[_foot(k)] = skew(feet[k])
    F = np.eye(n)
    F[SPEED, TURN] = dt * skew(gravity)
    F[PLACE, SPEED] = dt * np.eye(3)
    F[SPEED, ACCELERATION_BIAS] = -dt * R
    turned = -dt * (lever @ R)
    for block in (TURN, SPEED, PLACE, *(_foot(k) for k in range(nf))):
        F[block, GYRO_BIAS] = turned[block]
    P = F @ _symmetric(state.P) @ F.T + (dt * dt * variances[0]) * (lever @ lever.T)
    tilt = np.zeros((n, 2))
    tilt[TURN], tilt[PLACE] = np.eye(3)[:, :2], skew(p)[:, :2]
    for k in range(nf):
        tilt[_foot(k)] = skew(p)[:, :2]
    P = P + variances[4] * (tilt @ tilt.T)
    zeros, ones = np.zeros(3), np.ones(3)
    own = [
        zeros,
        dt * dt * variances[1] * ones,
        zeros,
        variances[2] * ones,
        variances[3] * ones,
        *(feet_variance[k] * ones for k in range(nf)),
    ]
    return FilterState(
        quat=quat,
        v=v,
        p=p,
        gyro_bias=state.gyro_bias,
        acceleration_bias=state.acceleration_bias,
        feet=feet,
        P=_symmetric(P) + np.diag(np.concatenate(own)),
    )


# -- correction --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class FootSeen:
    """Positions of the feet from leg kinematics."""

    position: Float[ndarray, "nf 3"]  # from the IMU, in its axes [m]
    noise: Float[ndarray, "nf 3 3"]  # covariance, IMU axes [m²]; huge for a leg without valid readings
    stands: Float[ndarray, "nf"]  # 1: the foot is assumed at rest, and may fail the gate


def correct(state: FilterState, seen: FootSeen, gate: float) -> tuple[FilterState, Float[ndarray, "nf"]]:
    """Return (state after all feet, their normalised innovations squared, three degrees of freedom each).

    Feet are processed one by one. A stance foot whose innovation is beyond the gate has slipped: its old position is
    discarded before the update, which then moves the foot and leaves the body unchanged.
    """
    nf = state.feet.shape[0]

    def first_foot(_: float, carry: PyTree) -> PyTree:
        """Correct by the first foot, and move it to the end: one loop body serves all feet."""
        state, position, noise, stands, found = carry
        state, nis = _correct_first(state, position[0], noise[0], stands[0], gate)
        order = np.concatenate([np.arange(FEET), FEET + np.roll(np.arange(3 * nf), -3)])
        state = FilterState(
            quat=state.quat,
            v=state.v,
            p=state.p,
            gyro_bias=state.gyro_bias,
            acceleration_bias=state.acceleration_bias,
            feet=_rolled(state.feet),
            P=state.P[order][:, order],
        )
        return state, _rolled(position), _rolled(noise), _rolled(stands), np.concatenate([found[1:], np.stack([nis])])

    carry = state, seen.position, seen.noise, seen.stands, np.zeros(nf)
    state, _, _, _, nis = nptrace.repeat(nf, first_foot, carry)
    return state, nis


def _correct_first(
    state: FilterState, position: ndarray, noise: ndarray, stands: Scalar, gate: float
) -> tuple[PyTree, ...]:
    R, P, foot = to_rotation(state.quat), _symmetric(state.P), _foot(0)
    z = R @ position - (state.feet[0] - state.p)
    N = R @ noise @ R.T
    PH = P[:, foot] - P[:, PLACE]
    S = PH[foot] - PH[PLACE] + N
    nis = z @ dense_solve(*dense_factor(S), z)
    forgotten = np.where((stands > 0.5) & (nis > gate), LOST, 0.0)
    P = P + forgotten * np.diag(np.where((np.arange(len(P)) >= FEET) & (np.arange(len(P)) < FEET + 3), 1.0, 0.0))
    PH = P[:, foot] - P[:, PLACE]
    S = PH[foot] - PH[PLACE] + N
    factors = dense_factor(S)
    K = PH @ np.stack([dense_solve(*factors, unit) for unit in np.eye(3)])
    left = P - K @ PH.T  # (1 - K H) P
    P = left - (left[:, foot] - left[:, PLACE]) @ K.T + K @ N @ K.T
    return _moved(state, K @ z, _symmetric(P)), nis


def on_level_ground(
    state: FilterState, radii: Float[ndarray, "nf"], variance: float, settles: Float[ndarray, "nf"]
) -> FilterState:
    """Return the state after a further correction by feet that settle on ground known to be level, at height 0.

    z = r - d̂_z is ξ'_d + ξ'_R x d̂ in z, and the unevenness of the ground (its ``variance`` [m²]). A foot beyond three
    standard deviations stands on something else, and is ignored.
    """
    for k in range(state.feet.shape[0]):
        P, foot = _symmetric(state.P), state.feet[k]
        H = np.zeros(len(P))
        H[TURN], H[_foot(k)] = np.array([foot[1], -foot[0], 0.0]), np.array([0.0, 0.0, 1.0])
        z, PH = radii[k] - foot[2], P @ H
        S = H @ PH + variance
        K = np.where(settles[k] & (z * z < 9.0 * S), 1.0, 0.0) * PH / S
        left = P - K[:, None] * PH  # (1 - K H) P
        P = left - (left @ H)[:, None] * K + variance * K[:, None] * K
        state = _moved(state, K * z, _symmetric(P))
    return state


def _moved(state: FilterState, step: ndarray, P: ndarray) -> FilterState:
    """Return exp(ξ') X̂, and the biases."""
    turn = step[TURN]
    quat = multiply(rotated(np.array([1.0, 0.0, 0.0, 0.0]), turn), state.quat)
    R = to_rotation(rotated(np.array([1.0, 0.0, 0.0, 0.0]), turn))
    K = skew(turn)
    left = np.eye(3) + 0.5 * K + (K @ K) / 6.0  # left Jacobian; corrections are small rotations
    feet = np.stack([R @ foot + left @ step[_foot(k)] for k, foot in enumerate(state.feet)])
    return FilterState(
        quat=quat / np.sqrt(quat @ quat),
        v=R @ state.v + left @ step[SPEED],
        p=R @ state.p + left @ step[PLACE],
        gyro_bias=state.gyro_bias + step[GYRO_BIAS],
        acceleration_bias=state.acceleration_bias + step[ACCELERATION_BIAS],
        feet=feet,
        P=P,
    )


# -- what it means in the world ----------------------------------------------------------------------------------------
def plain_covariance(state: FilterState) -> Float[ndarray, "9 9"]:
    """Return the covariance of (rotation in world axes, v, p): δv = ξ_v - v̂ x ξ_R, and likewise for p."""
    T = np.eye(9)
    T[3:6, :3], T[6:9, :3] = -skew(state.v), -skew(state.p)
    return T @ state.P[:9, :9] @ T.T


def _foot(k: int) -> slice:
    return slice(FEET + 3 * k, FEET + 3 * k + 3)


def _rolled(rows: ndarray) -> ndarray:
    return np.concatenate([rows[1:], rows[:1]])


def _symmetric(P: ndarray) -> ndarray:
    """Return the lower triangle, mirrored: the upper one is never computed in a trace."""
    rows, columns = np.indices(P.shape)
    return P[np.maximum(rows, columns), np.minimum(rows, columns)]

"""Linear-quadratic regulation of the linearised step: the Riccati recursion, and a standing controller based on it.

The recursion P <- Q + Aᵀ P A - Aᵀ P B (R + BᵀPB)⁻¹ BᵀPA is taken 2^k steps at a time by doubling (Chu, Fan, Lin and
Wang 2004): feet that creep on viscous friction have time constants of minutes, millions of steps of the plain
recursion.

A and B are inputs (``sim.linearization`` computes them, ``sim.lqr_stand`` makes the controller).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, JointCommand, Sensed
from footfall.control.stand_gains import stand_gains
from footfall.draw.notebook import Summarised
from footfall.dynamics.coordinates import difference
from footfall.errors import FootfallError, InputError
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from footfall.spatial.quaternion import conjugate, multiply, to_rotation
from nptrace.array_types import Float

_DOUBLINGS = 60
_CONVERGED = 1e-12  # change of P in a doubling, relative to P
_MAX_RESIDUAL = 1e-8  # residual of the Riccati equation, relative to P


@dataclass(frozen=True)
class Regulator:
    """u = -K x regulates x' = A x + B u to zero at the lowest cost Σ xᵀQx + uᵀRu, which is xᵀPx from x on."""

    K: Float[ndarray, "nu nx"]
    P: Float[ndarray, "nx nx"]
    doublings: int  # 2^doublings steps of the recursion
    residual: float  # residual of the Riccati equation, relative to P


def regulate(
    A: Float[ndarray, "nx nx"], B: Float[ndarray, "nx nu"], Q: Float[ndarray, "nx nx"], R: Float[ndarray, "nu nu"]
) -> Regulator:
    """Return the linear-quadratic regulator with infinite horizon of a discrete-time system.

    Args:
        A: x⁺ = A x + B u.
        B: x⁺ = A x + B u.
        Q: Weights of the state.
        R: Weights of the input.

    Returns:
        Gain and cost matrix (``Regulator``); raises for a system that cannot be stabilized.
    """
    A, B, Q, R = (np.asarray(x, dtype=float) for x in (A, B, Q, R))
    _check(A, B, Q, R)
    one = np.eye(len(A))
    G, H, step = B @ np.linalg.solve(R, B.T), Q, A
    doublings, change = 0, np.inf
    while doublings < _DOUBLINGS and not change < _CONVERGED:
        doublings += 1
        with np.errstate(all="ignore"):
            W = one + G @ H
            if not np.isfinite(W).all():
                break
            ahead = np.linalg.solve(W, step)
            G, H, before = G + step @ np.linalg.solve(W, G) @ step.T, H + ahead.T @ H @ step, H
            step = step @ ahead
        G, H = 0.5 * (G + G.T), 0.5 * (H + H.T)
        change = np.abs(H - before).max() / max(np.abs(H).max(), 1e-300)
    if not change < _CONVERGED:
        raise FootfallError(
            "the Riccati recursion does not converge: some direction with a cost cannot be stabilised by any input;"
            " set its weight to zero, or remove it"
        )
    K = np.linalg.solve(R + B.T @ H @ B, B.T @ H @ A)
    residual = float(np.abs(Q + A.T @ H @ (A - B @ K) - H).max() / max(np.abs(H).max(), 1e-300))
    if residual > _MAX_RESIDUAL:
        raise FootfallError(f"the Riccati equation has a residual of {residual:.1e}: it is too ill conditioned")
    return Regulator(K, H, doublings, residual)


def _check(A: ndarray, B: ndarray, Q: ndarray, R: ndarray) -> None:
    for name, matrix in (("A", A), ("B", B), ("Q", Q), ("R", R)):
        if not np.isfinite(matrix).all():
            raise InputError(f"{name} of a regulator has a value that is not finite")
    n, m = A.shape[0], B.shape[-1]
    wanted = {"A": (A, (n, n)), "B": (B, (n, m)), "Q": (Q, (n, n)), "R": (R, (m, m))}
    for name, (matrix, shape) in wanted.items():
        if matrix.shape != shape:
            raise InputError(f"{name} of a regulator must have shape {shape}, got {matrix.shape}")
    for name, matrix, least in (("Q", Q, 0.0), ("R", R, np.finfo(float).tiny)):
        low = np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min()
        if low < least - 1e-12 * np.abs(matrix).max() or not np.allclose(matrix, matrix.T):
            raise InputError(f"{name} of a regulator must be symmetric and positive, its least eigenvalue is {low:.3g}")


# -- standing ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class StandWeights:
    """Weights of the LQR; ``stiffness`` sets that of torque: approximately the gain of a joint [N m/rad]."""

    tilt: float = 50.0  # weights of roll and pitch
    height: float = 100.0
    joints: float = 20.0
    turning: float = 1.0  # weight of the trunk's angular velocity
    moving: float = 5.0  # weight of its linear velocity
    joint_rates: float = 0.05
    stiffness: float | None = None  # half the weight unless given

    def __post_init__(self) -> None:
        for key, value in vars(self).items():
            if value is not None and not (np.isfinite(value) and value >= 0.0):
                raise InputError(f"{key} of the weights of a stand must not be negative, got {value}")
        if not self.joints > 0 or self.stiffness == 0.0:
            raise InputError("joints and stiffness of StandWeights must be positive")


def observable_directions(robot: Robot, q: Float[ndarray, "nq"]) -> Float[ndarray, "nd m"]:
    """Return an orthonormal basis of the deviations observable on level ground: all but two translations and a
    rotation.

    Moving robot and feet along the ground, or rotating them about the vertical, changes no force: A e = e for these
    three. No torque can undo it either: friction moves feet by internal forces, whose sum is zero. So they are
    excluded.
    """
    up = to_rotation(q[3:7]).T
    unobservable = np.zeros((2 * robot.nv, 3))
    unobservable[:3, 0], unobservable[3:6, 1:] = up[:, 2], up[:, :2]
    basis, _ = np.linalg.qr(np.concatenate([unobservable, np.eye(2 * robot.nv)], axis=1))
    return basis[:, 3:]


@dataclass(frozen=True, repr=False, kw_only=True)
class LqrStand(Summarised, Controller):
    """A linear-quadratic regulator for standing: feedforward torques minus K times the deviation.

    Every joint also has local feedback (part of A), which controls legs whose feet have left the ground. Horizontal
    position and heading have no effect: deviations are relative to a stand at the current position.
    """

    q: Float[ndarray, "nq"]
    torque: Float[ndarray, "nj"]  # torques that hold it there [N m]
    gain: Float[ndarray, "nj nd"]
    kp: Float[ndarray, "nj"] | float  # stiffness of the joints' local feedback, which the step contains [N m/rad]
    kd: Float[ndarray, "nj"] | float  # [N m s/rad]
    rate: float = 1000.0  # [Hz]

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        least, most = np.abs(self.gain).min(), np.abs(self.gain).max()
        gain = f"{self.gain.shape[0]} x {self.gain.shape[1]}, entries of {least:.3g} to {most:.3g}"
        return f"u = u0 - K dx at {self.rate:g} Hz", [("K", gain)]

    @staticmethod
    def designed(
        robot: Robot,
        A: Float[ndarray, "nd nd"],
        B: Float[ndarray, "nd nj"],
        q: Float[ndarray, "nq"],
        command: JointCommand,
        rate: float = 1000.0,
        weights: StandWeights | None = None,
        gravity: Gravity = GRAVITY,
    ) -> LqrStand:
        """Design the regulator from the step under ``command``, linearised at rest in the stand, over one period."""
        N, found = observable_directions(robot, q), stand_regulator(robot, A, B, q, weights, gravity)
        return LqrStand(
            q=np.array(q), torque=np.array(command.torque), gain=found.K @ N.T, kp=command.kp, kd=command.kd, rate=rate
        )

    def start(self, robot: Robot) -> dict[str, ndarray]:
        if np.shape(self.gain) != (robot.nj, 2 * robot.nv) or np.shape(self.q) != (robot.nq,):
            raise InputError(f"this LqrStand was made for a robot other than '{robot.name}'")
        return {}

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        return self.q[robot.nq - robot.nj :]

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Return an empty dictionary: it stands and takes no command."""
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        deviation = np.concatenate([difference(robot, self.q, _at_same_heading(self.q, sensed.q)), sensed.v])
        torque = self.torque - self.gain @ deviation
        return JointCommand(self.posture(robot), 0.0, self.kp, self.kd, torque), memory


def stand_regulator(
    robot: Robot,
    A: Float[ndarray, "nd nd"],
    B: Float[ndarray, "nd nj"],
    q: Float[ndarray, "nq"],
    weights: StandWeights | None = None,
    gravity: Gravity = GRAVITY,
) -> Regulator:
    """Return the regulator in the coordinates of ``observable_directions``."""
    weights = weights or StandWeights()
    N, nv = observable_directions(robot, q), robot.nv
    cost = np.zeros(2 * nv)
    cost[:3], cost[3:6], cost[6:nv] = weights.tilt, weights.height, weights.joints
    cost[nv : nv + 3], cost[nv + 3 : nv + 6], cost[nv + 6 :] = weights.turning, weights.moving, weights.joint_rates
    stiffness = weights.stiffness or stand_gains(robot, gravity)[0]
    effort = weights.joints / stiffness**2 * np.eye(robot.nj)
    return regulate(N.T @ A @ N, N.T @ B, N.T @ (cost[:, None] * N), effort)


def _at_same_heading(q_ref: Float[ndarray, "nq"], q: Float[ndarray, "nq"]) -> Float[ndarray, "nq"]:
    """Return q moved along the ground and rotated about the vertical to q_ref: only tilt, height and joints differ."""
    turn = multiply(q[3:7], conjugate(q_ref[3:7]))
    heading = np.stack([turn[0], 0.0 * turn[1], 0.0 * turn[2], turn[3]]) / np.sqrt(turn[0] ** 2 + turn[3] ** 2 + 1e-30)
    return np.concatenate([q_ref[:2], q[2:3], multiply(conjugate(heading), q[3:7]), q[7:]])

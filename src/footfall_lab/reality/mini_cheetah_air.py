"""From commanded torque to motion of a Mini Cheetah's legs in the air: an effective response, by output error.

The trunk is fixed at the mean recorded attitude. A motor gives ``gain`` times the command ``delay`` earlier; the joint
has ``inertia`` in addition to the model's, viscous and dry friction, the same for all legs. Windows are rolled out from
their first reading, without further free parameters. The result is the response from command to motion: no torque was
measured, and ``profile`` shows how well gain, inertia and delay can be separated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

import footfall as ff
import nptrace
from footfall.analysis.row_times import RowTimes
from footfall.robot.model.description import Robot
from footfall_lab.reality.mini_cheetah import BLOCK, FIT, GAP, Log
from nptrace.array_types import Float

if TYPE_CHECKING:
    from mujoco import MjModel

KINDS = ("abad", "hip", "knee")
NAMES = ("delay", "gain", "inertia", "viscous", "dry")
UNITS = ("ms", "1", "g m²", "mN m s", "N m")
NOMINAL = np.array([[0.0, 1.0, 0.0, 10.0, 0.2]] * 3)  # for the library's robot, in UNITS
_TO_SI = np.array([1e-3, 1.0, 1e-3, 1e-3, 1.0])
_LOW = np.array([-4.0, 0.05, -4.0, 0.0, 0.0])
_HIGH = np.array([30.0, 2.0, 40.0, 200.0, 1.5])
_STEP = 1e-3  # [s]
_ENCODER = 2.45e-4  # [rad], resolution of the recorded joint angles
_CREEP = 0.1  # [rad/s], below which dry friction is regularised
_SCALE = np.array([1.0, 0.05, 0.5, 5.0, 0.05])  # finite-difference steps and prior widths, in UNITS


@dataclass(frozen=True, eq=False, kw_only=True)
class Windows:
    """Windows of equal length in a recording: their beginnings, commands and readings."""

    start: Float[ndarray, "n 2 12"]  # q and v of the first reading
    began: Float[ndarray, "n"]  # [s]
    steps: int
    command: CommandHistory
    gravity: Float[ndarray, "3"]
    grid: tuple[ndarray, ...]  # per window, times of the readings after its beginning [s]
    read: tuple[ndarray, ...]  # per window, joint angles


class CommandHistory:
    """The mean command over steps, constant between readings."""

    def __init__(self, time: Float[ndarray, "n"], command: Float[ndarray, "n 12"]) -> None:
        self.time = time
        held = command[:-1] * np.diff(time)[:, None]
        self.integral = np.concatenate([np.zeros((1, command.shape[1])), np.cumsum(held, axis=0)])

    def means(self, edges: Float[ndarray, "m"], delays: Float[ndarray, "12"]) -> Float[ndarray, "m-1 12"]:
        """Return the mean command of every step, for joints with delays [s]."""
        columns = [np.interp(edges - delay, self.time, self.integral[:, j]) for j, delay in enumerate(delays)]
        return np.diff(np.stack(columns, axis=1), axis=0) / np.diff(edges)[:, None]


def windows(log: Log, length: float, part: str) -> Windows:
    """Return windows of a recording [s]: from its first 60 % to ``fit``, after a gap of 1 s to ``test``, or ``all``."""
    times = log.times
    time, q, v = times.time, log.q[times.rows], log.v[times.rows]
    end = FIT * time[-1]
    low, high = {"fit": (0.05, end), "test": (end + GAP, time[-1]), "all": (0.05, time[-1])}[part]
    starts, at = [], low
    while (k := int(np.searchsorted(time, at))) < len(time) and time[k] + length < high:
        starts.append(k)
        at = time[k] + length
    grid, read = [], []
    for k in starts:
        here = np.arange(k + 1, int(np.searchsorted(time, time[k] + length)))
        grid.append(time[here] - time[k])
        read.append(q[here])
    roll, pitch, _ = log.attitude.mean(axis=0)
    c, s = np.cos(pitch), np.sin(pitch)
    down = np.array([-s, c * np.sin(roll), c * np.cos(roll)])  # the vertical in base axes
    return Windows(
        start=np.stack([np.stack([q[k], v[k]]) for k in starts]),
        began=time[starts],
        steps=round(length / _STEP),
        command=CommandHistory(time, log.command[times.rows]),
        gravity=-9.81 * down,
        grid=tuple(grid),
        read=tuple(read),
    )


# -- ours --------------------------------------------------------------------------------------------------------------
def advance(
    robot: Robot,
    state: Float[ndarray, "2 12"],
    torque: Float[ndarray, "12"],
    gravity: Float[ndarray, "3"],
    table: Float[ndarray, "12 4"],
) -> Float[ndarray, "2 12"]:
    """Return (q, v) a step later under a torque; ``table``: gain, inertia, viscous and dry friction of every joint."""
    gain, inertia, viscous, dry = table[:, 0], table[:, 1], table[:, 2], table[:, 3]
    q, v = state[0], state[1]
    M = ff.dynamics.mass_matrix(robot, q)
    force = gain * torque - ff.dynamics.bias_terms(robot, q, v, gravity) - dry * np.tanh(v / _CREEP) - viscous * v
    own = inertia + _STEP * viscous
    legs = [slice(i, i + 3) for i in (0, 3, 6, 9)]
    a = np.concatenate([np.linalg.solve(M[leg, leg] + np.diag(own[leg]), force[leg]) for leg in legs])
    v = v + _STEP * a
    return np.stack([q + _STEP * v, v])


def rollout(
    robot: Robot,
    start: Float[ndarray, "2 12"],
    torque: Float[ndarray, "T 12"],
    gravity: Float[ndarray, "3"],
    table: Float[ndarray, "12 4"],
) -> Float[ndarray, "T 12"]:
    """Return joint angles after every step, under torques."""

    def step(state: ndarray, row: ndarray) -> tuple[ndarray, ndarray]:
        state = advance(robot, state, row, gravity, table)
        return state, state[0]

    return nptrace.scan(step, start, torque)[1]


class Ours:
    """Rollouts by footfall's dynamics."""

    name = "footfall"

    def __init__(self) -> None:
        self.robot = ff.load("mini_cheetah").replace(floating=False)

    def angles(self, found: Windows, parameters: Float[ndarray, "3 5"]) -> list[ndarray]:
        """Return joint angles at the readings of every window."""
        table = np.tile(parameters * _TO_SI, (4, 1))
        out = []
        for k, start in enumerate(found.start):
            edges = found.began[k] + _STEP * np.arange(found.steps + 1)
            torque = found.command.means(edges, table[:, 0])
            q = _compiled_rollout(self.robot, found.steps)(
                start, torque, found.gravity, np.ascontiguousarray(table[:, 1:])
            )
            out.append(_at(found.grid[k], start[0], np.asarray(q)))
        return out


@lru_cache(maxsize=8)
def _compiled_rollout(robot: Robot, steps: int):  # type: ignore[no-untyped-def]
    examples = np.zeros((2, 12)), np.zeros((steps, 12)), np.zeros(3), np.ones((12, 4))
    return ff.compile(rollout, robot, *examples)


def _at(grid: Float[ndarray, "n"], first: Float[ndarray, "12"], q: Float[ndarray, "T 12"]) -> Float[ndarray, "n 12"]:
    """Interpolate rolled out angles at the times of readings."""
    known = np.concatenate([first[None], q])
    times = _STEP * np.arange(len(known))
    return np.stack([np.interp(grid, times, known[:, j]) for j in range(known.shape[1])], axis=1)


# -- MuJoCo ------------------------------------------------------------------------------------------------------------
class Theirs:
    """Rollouts by MuJoCo of the same robot with the same parameters and MuJoCo's dry friction."""

    name = "MuJoCo"

    def __init__(self) -> None:
        import mujoco

        self.mj = mujoco
        robot = ff.load("mini_cheetah").replace(floating=False)
        options = {"timestep": _STEP, "integrator": "implicitfast"}
        self.model: MjModel = mujoco.MjModel.from_xml_string(ff.robot.to_mjcf(robot, options=options))
        self.model.jnt_limited[:] = 0
        self.data = mujoco.MjData(self.model)
        ids = [mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, name) for name in robot.joint_names]
        self.q, self.v = self.model.jnt_qposadr[ids], self.model.jnt_dofadr[ids]
        self.inertia = self.model.dof_armature.copy()

    def angles(self, found: Windows, parameters: Float[ndarray, "3 5"]) -> list[ndarray]:
        """Return joint angles at the readings of every window."""
        table = np.tile(parameters * _TO_SI, (4, 1))
        model, data, mj, out = self.model, self.data, self.mj, []
        model.opt.gravity[:] = found.gravity
        model.dof_armature[self.v] = np.maximum(self.inertia[self.v] + table[:, 2], 1e-6)
        model.dof_damping[self.v], model.dof_frictionloss[self.v] = table[:, 3], table[:, 4]
        for k, start in enumerate(found.start):
            edges = found.began[k] + _STEP * np.arange(found.steps + 1)
            torque = found.command.means(edges, table[:, 0]) * table[:, 1]
            mj.mj_resetData(model, data)
            data.qpos[self.q], data.qvel[self.v] = start
            q = np.zeros((found.steps, 12))
            for i in range(found.steps):
                data.qfrc_applied[self.v] = torque[i]
                mj.mj_step(model, data)
                q[i] = data.qpos[self.q]
            out.append(_at(found.grid[k], start[0], q))
        return out


# -- fitting -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False, kw_only=True)
class Response:
    """Parameters of each kind of joint, their covariance, and the cost."""

    parameters: Float[ndarray, "3 5"]  # rows: abad, hip, knee; columns: NAMES, in UNITS
    correlation: Float[ndarray, "15 15"]
    deviation: Float[ndarray, "3 5"]  # for independent errors of readings: a lower bound
    cost: float


def residuals(model: Ours | Theirs, found: Sequence[Windows], parameters: Float[ndarray, "3 5"]) -> Float[ndarray, "n"]:
    """Return errors of joint angles at all readings [rad]; a rollout that leaves all bounds counts as a radian."""
    parts = [
        np.clip(np.nan_to_num(q - read, nan=1.0), -1.0, 1.0).ravel()
        for each in found
        for q, read in zip(model.angles(each, parameters), each.read)
    ]
    return np.concatenate(parts)


def fit(
    model: Ours | Theirs,
    found: Sequence[Windows],
    held: dict[tuple[int, int], float] | None = None,
    begin: Float[ndarray, "3 5"] | None = None,
    rounds: int = 12,
) -> Response:
    """Find the parameters by least squares, with errors beyond 20 mrad counted linearly; ``held`` are fixed."""
    x = (NOMINAL + np.array([6.0, -0.4, 0.0, 0.0, 0.0]) if begin is None else begin).ravel().copy()
    low, high, scale = (np.tile(each, 3) for each in (_LOW, _HIGH, _SCALE))
    fixed = np.zeros(15, dtype=bool)
    for (kind, name), value in (held or {}).items():
        x[5 * kind + name], fixed[5 * kind + name] = value, True
    free = np.flatnonzero(~fixed)

    def robust(r: ndarray) -> tuple[float, ndarray]:
        size = np.maximum(np.abs(r) / 0.02, 1.0)
        return float(np.sum(np.where(size > 1.0, 2.0 * 0.02 * np.abs(r) - 0.02**2, r * r))), 1.0 / size

    r = residuals(model, found, x.reshape(3, 5))
    cost, weight = robust(r)
    damping = 1e-3
    J = np.zeros((len(r), len(free)))
    for _ in range(rounds):
        for c, i in enumerate(free):
            moved = x.copy()
            h = 0.1 * scale[i] * (1.0 if x[i] + 0.1 * scale[i] < high[i] else -1.0)
            moved[i] += h
            J[:, c] = (residuals(model, found, moved.reshape(3, 5)) - r) / h * scale[i]
        H, g = J.T @ (weight[:, None] * J), J.T @ (weight * r)
        better = False
        for _ in range(6):
            step = np.linalg.solve(H + damping * np.diag(np.diag(H) + 1e-12), -g)
            tried = x.copy()
            tried[free] = np.clip(x[free] + step * scale[free], low[free], high[free])
            r_tried = residuals(model, found, tried.reshape(3, 5))
            cost_tried, weight_tried = robust(r_tried)
            if cost_tried < cost:
                better = cost - cost_tried > 1e-5 * cost
                x, r, cost, weight, damping = tried, r_tried, cost_tried, weight_tried, 0.3 * damping
                break
            damping *= 10.0
        if not better:
            break
    covariance = np.linalg.pinv(H) * float(np.sum(weight * r * r)) / max(1, len(r) - len(free))
    deviation, correlation = np.zeros(15), np.eye(15)
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-30))
    deviation[free] = spread * scale[free]
    correlation[np.ix_(free, free)] = covariance / np.outer(spread, spread)
    return Response(
        parameters=x.reshape(3, 5), correlation=correlation, deviation=deviation.reshape(3, 5), cost=float(cost)
    )


def profile(
    model: Ours | Theirs, found: Sequence[Windows], best: Response, kind: int, gains: Sequence[float]
) -> list[tuple[float, float, Float[ndarray, "5"]]]:
    """Return (gain, cost over the best, that kind's parameters) with a fixed gain and all else refitted."""
    out = []
    for gain in gains:
        begin = best.parameters.copy()
        begin[kind, 1] = gain
        held = fit(model, found, {(kind, 1): gain}, begin)
        out.append((gain, held.cost / best.cost, held.parameters[kind]))
    return out


def drawn_blocks(found: Windows, seed: int, block: float = BLOCK) -> Windows:
    """Return a bootstrap sample of windows, drawn in blocks of ``block`` [s]."""
    rng, n = np.random.default_rng(seed), len(found.start)
    size = max(1, round(block / (found.steps * _STEP)))
    starts = rng.integers(0, max(1, n - size + 1), -(-n // size))
    which = np.concatenate([np.arange(a, min(a + size, n)) for a in starts])[:n]
    return replace(
        found,
        start=found.start[which],
        began=found.began[which],
        grid=tuple(found.grid[k] for k in which),
        read=tuple(found.read[k] for k in which),
    )


def simulated(
    log: Log, parameters: Float[ndarray, "3 5"], seed: int = 0, kp: float = 15.0, kd: float = 0.4, noise: float = 0.1
) -> Log:
    """Return a recording like ``log`` of a plant with known parameters, under feedback of noisy readings.

    The plant follows the recorded angles by PD on readings: quantised angles, and rates with noise [rad/s]. So the
    command also contains the noise, as on the robot.
    """
    rng, times = np.random.default_rng(seed), log.times
    robot = ff.load("mini_cheetah").replace(floating=False)
    step = ff.compile(advance, robot)
    table = np.tile(parameters * _TO_SI, (4, 1))
    lag = np.round(table[:, 0] / _STEP).astype(int)
    gravity, rows = windows(log, 0.05, "all").gravity, times.rows
    state = np.stack([log.q[rows[0]], log.v[rows[0]]])
    ticks = np.round(times.time / _STEP).astype(int)
    ticks = np.maximum.accumulate(np.maximum(ticks, np.arange(len(ticks))))
    history = np.zeros((ticks[-1] + 1, 12))
    q, v, command = (np.zeros((len(rows), 12)) for _ in range(3))
    reading = 0
    for k in range(ticks[-1] + 1):
        if reading < len(ticks) and ticks[reading] == k:
            q[reading] = _ENCODER * np.round(state[0] / _ENCODER)
            v[reading] = state[1] + rng.normal(0.0, noise, 12)
            wanted, rate = log.q[rows[reading]], log.v[rows[reading]]
            command[reading] = log.command[rows[reading]] + kp * (wanted - q[reading]) + kd * (rate - v[reading])
            reading += 1
        history[k] = command[reading - 1]
        past = history[np.maximum(k - lag, 0), np.arange(12)]
        state = np.asarray(step(state, past, gravity, np.ascontiguousarray(table[:, 1:])))
    made = replace(
        log, q=q, v=v, command=command, gyroscope=log.gyroscope[rows], attitude=log.attitude[rows], name=log.name
    )
    made.__dict__["times"] = RowTimes(rows=np.arange(len(rows)), time=ticks * _STEP, deviation=times.deviation)
    return made


__all__ = [
    "KINDS",
    "NAMES",
    "NOMINAL",
    "UNITS",
    "Ours",
    "Response",
    "Theirs",
    "Windows",
    "drawn_blocks",
    "fit",
    "profile",
    "residuals",
    "simulated",
    "windows",
]

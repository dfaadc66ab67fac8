"""A robot suspended in the air whose joints follow recorded angles by PD control: measured against simulated encoders.

    q̇⁺, q⁺ = tick(robot, motors(wanted angles)),     only the joint angles are measured

Parameters are a table with one row per joint and one column for each of ``COLUMNS``. Legs on a fixed base do not
interact: a candidate for one leg may run in the same lane as any candidate for another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

import nptrace
from footfall import compiling
from footfall._io.archive import NoArchive, read_archive
from footfall.analysis.search import Range
from footfall.control.interface import Command, Controller, JointCommand, Sensed
from footfall.errors import SPOILED, InputError, reason
from footfall.robot.model.description import Robot
from footfall.sim.joints import JointModel
from footfall.sim.motors import COLUMNS, OF_MOTORS, OF_ROBOT, MotorModel
from footfall.sim.rollouts import compile_tick
from footfall.sim.tick import Inputs, RunState, SimulationModel, at_rest, reduced, repeated, rollout_tick
from footfall.sim.world import World
from nptrace._types import Operand, PyTree
from nptrace.array_types import Float
from nptrace.frontend import tree

if TYPE_CHECKING:
    from nptrace.autodiff.differentiate import Jacobian
    from nptrace.autodiff.written_jacobian import WrittenJacobian

UNITS = ("kg m²", "N m s/rad", "N m", "", "rad", "", "s")
RANGES = (
    Range("armature", 0.0, 0.15, 0.01),
    Range("damping", 0.0, 2.0, 0.1),
    Range("dry_friction", 0.0, 2.0, 0.2),
    Range("static_ratio", 1.0, 2.0, 1.1),
    Range("bias", -0.2, 0.2, 0.0),
    Range("gain", 0.3, 2.0, 1.0),
    Range("delay", 0.0, 0.03, 0.005),
)
_NAMES = {"measured": ("measured", "dof_pos"), "wanted": ("wanted", "des_dof_pos")}
_STEP = 1e-3  # [s], about
_LEAST_ROWS = 200
_RATES = (1.0, 1e4)  # [1/s], accepted rates of rows
_FARTHEST = 1e6  # [rad], largest joint angle accepted
_MOST_BYTES = 1 << 28  # largest file: twenty minutes of twelve joints at 1 kHz


@dataclass(frozen=True)
class Encoders:
    """Wanted and measured joint angles [rad] at one constant rate, in the order of a robot's joints."""

    time: Float[ndarray, "n"]  # [s]
    wanted: Float[ndarray, "n nj"]
    measured: Float[ndarray, "n nj"]

    def __post_init__(self) -> None:
        shape = self.measured.shape
        if self.measured.ndim != 2 or self.wanted.shape != shape or self.time.shape != shape[:1]:
            raise InputError(
                "wanted and measured joint angles need one row per time and one column per joint, got"
                f" {self.wanted.shape}, {shape} and {len(self.time)} times"
            )
        if len(self.time) < _LEAST_ROWS:
            raise InputError(f"identifying motors needs at least {_LEAST_ROWS} rows, got {len(self.time)}")
        for name in ("time", "wanted", "measured"):
            if not np.isfinite(getattr(self, name)).all():
                raise InputError(f"column '{name}' has a value that is not finite")
        rows = np.diff(self.time)
        if rows.min() <= 0 or not np.ptp(rows) <= 0.02 * rows.mean():
            raise InputError("identifying motors needs rows at a constant rate")
        if not _RATES[0] <= 1.0 / self.period <= _RATES[1]:
            raise InputError(
                f"motors are identified from {_RATES[0]:g} to {_RATES[1]:g} rows a second, got {1.0 / self.period:g}"
            )
        farthest = max(float(np.abs(x).max(initial=0.0)) for x in (self.wanted, self.measured))
        if farthest > _FARTHEST:
            raise InputError(f"a joint angle must lie within {_FARTHEST:g} rad, got {farthest:g}")

    @property
    def period(self) -> float:
        return float((self.time[-1] - self.time[0]) / (len(self.time) - 1))

    def of(self, columns: ndarray) -> Encoders:
        """Return the recording with its columns in another order."""
        return Encoders(self.time, self.wanted[:, columns], self.measured[:, columns])

    @staticmethod
    def read(path: str | Path) -> Encoders:
        """Read a NumPy archive with ``time``, ``wanted`` and ``measured`` (or ``des_dof_pos`` and ``dof_pos``)."""
        try:
            arrays = read_archive(path, _MOST_BYTES, {"time", *(name for names in _NAMES.values() for name in names)})
            found = {key: next(arrays[name] for name in names if name in arrays) for key, names in _NAMES.items()}
            return Encoders(
                np.asarray(arrays["time"], dtype=float), **{k: np.asarray(a, float) for k, a in found.items()}
            )
        except OSError as error:
            raise InputError(f"cannot read the joint angles {path}: {reason(error)}") from None
        except (NoArchive, *SPOILED) as error:
            why = f": {error}" if isinstance(error, NoArchive) else ""
            raise InputError(
                f"'{path}' is not a NumPy archive with time, wanted and measured joint angles (.npz){why}"
            ) from None


@dataclass(frozen=True, eq=False, kw_only=True)
class Wanted(Controller):
    """The recorded command through motors: PD with gains kp [N m/rad] and kd [N m s/rad], zero desired velocity."""

    table: Float[ndarray, "n nj"]
    motors: MotorModel
    kp: float
    kd: float
    rate: float
    kept: int  # how many past commands a delay may reach back to

    def start(self, robot: Robot) -> dict[str, ndarray]:
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        tick, joints = t * self.rate, self.table.shape[1]
        line = []
        for back in range(self.kept + 1):
            row = np.stack([nptrace.lookup(self.table, tick - back + 0.5, float(j)) for j in range(joints)])
            flat = np.zeros(joints)
            line.append(np.stack([row, flat, flat + self.kp, flat + self.kd, flat]))
        return self.motors.act(line, self.rate), memory


_INPUTS = Inputs(Command(), np.zeros(6))  # for every tick: only the recorded command moves the robot


def _state(model: SimulationModel, tick: Operand, q: ndarray, v: ndarray) -> RunState:
    """Return the state of the hanging robot after a number of rows."""
    empty = reduced(at_rest(model.world, np.zeros(0), np.zeros(0)))
    return replace(empty, tick=tick, q=q, v=v)


def moved(
    model: SimulationModel, tick: float, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]
) -> Float[ndarray, "2nv"]:
    """Return (q, v) at the next row, for differentiation."""
    after = rollout_tick(model, _state(model, tick, q, v), _INPUTS)
    return np.concatenate([after.q, after.v])


class Hanging:
    """The suspended robot, compiled with the parameters of all motors free."""

    def __init__(self, robot: Robot, encoders: Encoders, kp: float, kd: float) -> None:
        if encoders.measured.shape[1] != robot.nj:
            raise InputError(
                f"the recording has {encoders.measured.shape[1]} joints and robot '{robot.name}' has {robot.nj}"
            )
        self.robot = robot.replace(floating=False, feet=(), name=f"hung {robot.name}")
        self.encoders, joints = encoders, robot.nj
        longest = RANGES[COLUMNS.index("delay")].high
        kept = int(np.ceil(longest / encoders.period))
        wanted = Wanted(
            table=encoders.wanted,
            motors=MotorModel(*np.zeros((3, joints))),
            kp=kp,
            kd=kd,
            rate=1.0 / encoders.period,
            kept=kept,
        )
        effects = JointModel(static_ratio=np.ones(joints), end_stops=False)
        steps = max(1, round(encoders.period / _STEP))
        world = World(robot=self.robot, joints=effects)
        self.model = SimulationModel(world, wanted, "linearly_implicit", encoders.period / steps, steps)
        names = self.robot.joint_names
        self.free = [f"{name}.{key}" for key in OF_ROBOT for name in names]
        self.free += ["joints.static_ratio", *(f"controller.motors.{key}" for key in OF_MOTORS)]
        example = _state(self.model, 0.0, encoders.measured[0], np.zeros(joints))
        self._tick = compile_tick(self.model, example, _INPUTS, target="batch", free=self.free)
        self._slopes: Jacobian | WrittenJacobian | None = None
        self.groups = _groups(self.robot)

    @property
    def nominal(self) -> Float[ndarray, "nj 7"]:
        """Return the robot's original parameters: ideal motors."""
        table = np.zeros((self.robot.nj, len(COLUMNS)))
        for k, key in enumerate(OF_ROBOT):
            table[:, k] = [self.robot.parameter(f"{name}.{key}") for name in self.robot.joint_names]
        table[:, COLUMNS.index("static_ratio")] = table[:, COLUMNS.index("gain")] = 1.0
        return table

    def start(self, row: int) -> tuple[ndarray, ndarray]:
        """Return (q, q̇) as measured around a row."""
        measured, T = self.encoders.measured, self.encoders.period
        low, high = max(row - 3, 0), min(row + 4, len(measured))
        at = np.arange(low, high) - row
        return measured[row], np.polyfit(at * T, measured[low:high], 1)[0] if row else np.zeros(self.robot.nj)

    def rollout(self, tables: Float[ndarray, "lanes nj 7"], rows: slice) -> Float[ndarray, "lanes n nj"]:
        """Return the joint angles of every candidate over some rows, starting from the measurement at the first."""
        return self._rolled_out(tables, rows).q

    def _rolled_out(self, tables: ndarray, rows: slice) -> RunState:
        """Return the states of every candidate at some rows, including the first."""
        lanes, (q, v) = len(tables), self.start(rows.start)
        start = repeated(_state(self.model, float(rows.start), q, v), lanes)
        _, found = self._tick.roll(rows.stop - rows.start - 1, start, _INPUTS, self._parameters(tables))
        return replace(
            found,
            tick=np.concatenate([start.tick[:, None], found.tick], axis=1),
            q=np.concatenate([start.q[:, None], found.q], axis=1),
            v=np.concatenate([start.v[:, None], found.v], axis=1),
        )

    def _parameters(self, tables: Float[ndarray, "lanes nj 7"]) -> dict[str, ndarray]:
        names = self.robot.joint_names
        own = {f"{n}.{key}": tables[:, j, k] for k, key in enumerate(OF_ROBOT) for j, n in enumerate(names)}
        own["joints.static_ratio"] = tables[:, :, len(OF_ROBOT)]
        for k, key in enumerate(OF_MOTORS, start=len(OF_ROBOT) + 1):
            own[f"controller.motors.{key}"] = tables[:, :, k]
        return own

    def errors(self, tables: Float[ndarray, "lanes nj 7"], rows: slice) -> Float[ndarray, "lanes n nj"]:
        """Return computed minus measured angles [rad]."""
        return self.rollout(tables, rows) - self.encoders.measured[rows]

    def sensitivities(self, table: Float[ndarray, "nj 7"], rows: slice) -> tuple[ndarray, ndarray]:
        """Return (errors (n, nj), exact derivative with respect to the table (n, nj, nj, 7))."""
        joints = self.robot.nj
        if self._slopes is None:
            q, v = self.start(0)
            self._slopes = compiling.jacobian(
                moved, self.model, 0.0, q, v, wrt=("q", "v", "parameters"), free=self.free
            )
        path = self._rolled_out(table[None], rows)
        q, v, tick = path.q[0], path.v[0], np.asarray(path.tick)[0]
        values = {key: np.repeat(x, len(q) - 1, axis=0) for key, x in self._parameters(table[None]).items()}
        both = self._slopes.matrices(tick[:-1], q[:-1], v[:-1], values)
        A, B = both[:, :, : 2 * joints], both[:, :, 2 * joints :][:, :, self._places()]
        S = np.zeros((len(q), 2 * joints, joints * len(COLUMNS)))
        for k in range(len(A)):
            S[k + 1] = A[k] @ S[k] + B[k]
        away = q - self.encoders.measured[rows]
        return away, S[:, :joints].reshape(len(q), joints, joints, len(COLUMNS))

    def _places(self) -> ndarray:
        """Return which derivative direction belongs to which number of the table, row by row."""
        numbers = np.arange(self.robot.nj * len(COLUMNS), dtype=float).reshape(1, self.robot.nj, len(COLUMNS))
        parameters = {key: self._parameters(numbers)[key][0] for key in self.free}
        flat = np.concatenate([np.ravel(leaf) for leaf in tree.flatten(parameters)[0]])
        return np.argsort(flat)


def _groups(robot: Robot) -> tuple[tuple[int, ...], ...]:
    """Return groups of joints that interact: those of one branch from the base."""
    branches: dict[int, list[int]] = {}
    for body in range(1, len(robot.tree.bodies)):
        branches.setdefault(robot.tree.support[body][0], []).append(robot.tree.dof(body))
    return tuple(tuple(joints) for joints in branches.values())


__all__ = ["COLUMNS", "RANGES", "UNITS", "Encoders", "Hanging", "Wanted"]

"""``ff.Batch``: n robots with one traced step and controller, each with its own state, command, push and parameters.

Robots are packed into SIMD lanes, lanes into blocks, blocks into threads. What a robot does depends on its own numbers
alone: one robot's trajectory is the same bit for bit in any batch of any size.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import DTypeLike

from footfall import compiling
from footfall.batch.lean import Lean, lean_of, lean_tick
from footfall.control.interface import Command
from footfall.errors import InputError
from footfall.robot.description import Robot
from footfall.simulate.simulation import Simulation
from footfall.simulate.tick import Inputs
from footfall.trace import tree


class Batch:
    """n robots. ``free`` names parameters that differ between them: ``free=["trunk.mass", "ground.friction"]``.

    feels: the controller looks at the forces at the feet. dtype: float64 or float32. threads: all cores unless given.
    Other options are those of ``Simulation``. A controller that cannot be traced is refused.
    """

    def __init__(
        self,
        robot: Robot,
        n: int,
        controller: Any = None,
        *,
        free: Sequence[str] = (),
        dtype: DTypeLike = np.float64,
        feels: bool = False,
        threads: int | None = None,
        lanes: int | None = None,
        **options: Any,
    ) -> None:
        if int(n) != n or n < 1:
            raise InputError(f"a batch needs at least one robot, got n = {n}")
        self.robot, self.n, self.free, self.dtype = robot, int(n), tuple(free), np.dtype(dtype)
        self.simulation = Simulation(robot, controller, **options)
        rig = self.simulation.rig
        self.first = lean_of(self.simulation.carried, feels)
        inputs = Inputs(Command(), np.zeros(6))
        self.function = compiling.compile(
            lean_tick, rig, self.first, inputs, target="batch", dtype=self.dtype, lanes=lanes, free=free, verify=False
        )
        self.period = rig.period
        lanes = self.function.lanes
        blocks = math.ceil(self.n / lanes)
        count = max(1, min(threads or os.cpu_count() or 1, blocks))
        share = math.ceil(blocks / count) * lanes
        self.parts = [slice(a, min(a + share, self.n)) for a in range(0, self.n, share)]
        self._pool = ThreadPoolExecutor(len(self.parts)) if len(self.parts) > 1 else None
        self.parameters = {path: np.tile(np.asarray(rig.parameter(path), float), (self.n, *_ones(rig.parameter(path))))
                           for path in self.free}  # fmt: skip
        self.command = {key: np.zeros(self.n) for key in ("forward", "sideways", "turn", "height")}
        self.push = np.zeros((self.n, 6))
        self.state = self._tiled(self.first)

    # -- state -------------------------------------------------------------------------------------------------------
    def _tiled(self, lean: Lean) -> Lean:
        leaves, rebuild = tree.flatten(lean)
        return rebuild([np.tile(np.asarray(x, self.dtype), (self.n, *_ones(x))) for x in leaves])

    @property
    def q(self) -> ndarray:
        return self.state.q

    @property
    def v(self) -> ndarray:
        return self.state.v

    @property
    def time(self) -> ndarray:
        return np.asarray(self.state.tick) * self.period

    def set_state(self, q: ndarray, v: ndarray | None = None, which: Any = slice(None)) -> None:
        """Put robots somewhere else: arrays with a robot axis, or one state for all of ``which``."""
        q, v = np.asarray(q), np.zeros(self.robot.nv) if v is None else np.asarray(v)
        if q.shape[-1] != self.robot.nq or v.shape[-1] != self.robot.nv:
            raise InputError(f"a state of robot '{self.robot.name}' has {self.robot.nq} and {self.robot.nv} numbers")
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise InputError("the states of a batch must be finite")
        self.state.q[which], self.state.v[which] = q, v

    def reset(self, which: Any = slice(None)) -> None:
        """Back to the start, memory included: all robots, or those of a mask or of indices."""
        fresh, _ = tree.flatten(self.first)
        for array, start in zip(tree.flatten(self.state)[0], fresh):
            array[which] = start

    def set(self, parameters: Mapping[str, Any], which: Any = slice(None)) -> None:
        """Free parameters of robots: ``batch.set({"trunk.mass": masses})``."""
        for path, value in parameters.items():
            if path not in self.parameters:
                from footfall.errors import unknown

                raise unknown("free parameter", path, self.parameters, "this batch has")
            self.parameters[path][which] = value

    # -- running -----------------------------------------------------------------------------------------------------
    def run(self, ticks: int) -> None:
        """Advance every robot by a number of ticks of its controller."""
        if int(ticks) != ticks or ticks < 1:
            raise InputError(f"a batch runs for at least one tick, got {ticks}")
        work = [(part, int(ticks)) for part in self.parts]
        done = list(map(self._part, work)) if self._pool is None else list(self._pool.map(self._part, work))
        for part, after in zip(self.parts, done):
            for mine, new in zip(tree.flatten(self.state)[0], tree.flatten(after)[0]):
                mine[part] = new

    def _arguments(self, which: Any) -> list[Any]:
        """State, inputs and free parameters of some robots."""
        leaves, rebuild = tree.flatten(self.state)
        command: Any = {key: values[which] for key, values in self.command.items()}
        arguments = [rebuild([x[which] for x in leaves]), Inputs(Command(**command), self.push[which])]
        if self.free:
            arguments.append({path: value[which] for path, value in self.parameters.items()})
        return arguments

    def _part(self, work: tuple[slice, int]) -> Lean:
        part, ticks = work
        return self.function.advance(ticks, *self._arguments(part))

    def record(self, which: Sequence[int], ticks: int, every: int = 1) -> Lean:
        """What chosen robots will do in the next ticks, kept row by row (robot, row, ...); the batch stays as it is."""
        arguments = self._arguments(np.asarray(which))
        _, rows = self.function.roll(ticks, *arguments, every=every)
        return rows

    def fallen(self, lean: float = 75.0) -> ndarray:
        """Which robots lean by more than so many degrees, or are no longer finite."""
        x, y = self.state.q[:, 4], self.state.q[:, 5]
        with np.errstate(invalid="ignore"):
            return ~(1.0 - 2.0 * (x * x + y * y) >= np.cos(np.radians(lean)))


def _ones(x: Any) -> tuple[int, ...]:
    return (1,) * np.ndim(x)

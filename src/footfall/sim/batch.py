"""``ff.Batch``: n robots with one traced step and controller, each with its own state, command, push and parameters.

Robots are packed into SIMD lanes, lanes into blocks, blocks into threads; a block runs all ticks of a call while its
state is in the cache. A robot depends on its own numbers alone: its trajectory is bit-identical in any batch of any
size.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import threading
from collections.abc import Mapping, Sequence, Sized
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy import ndarray
from numpy.typing import DTypeLike

from footfall import compiling, hints
from footfall.control.interface import Command
from footfall.draw.notebook import Summarised
from footfall.errors import FootfallError, InputError, unknown
from footfall.recording.force_mean import ForceMeans, window_stride
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import MOST_INERTIA, MOST_LENGTH, MOST_MASS
from footfall.sim.commanding import warn_unfollowed
from footfall.sim.cores import cores
from footfall.sim.recorder import columns_of
from footfall.sim.rollouts import check_controller, check_world, compile_tick, native_lanes, select_rows, unstack_tree
from footfall.sim.simulation import Simulation
from footfall.sim.tick import Inputs, RunState, counted_tick, no_impulse, reduced, repeated, states_at_rest
from nptrace._types import Given, Json, PyTree
from nptrace.array_types import Bool, Float
from nptrace.frontend import tree
from nptrace.runtime.callables import Function

_OF_ONE_RUN = ("pushes", "record_rate", "self_collision")
_INSTEAD = {"pushes": ": batch.set_push(...) does", "record_rate": ": batch.run(..., every=...) does"}


def check_options(options: Mapping[str, Given]) -> None:
    """Raise for options of a simulation that a batch would ignore."""
    for key in _OF_ONE_RUN:
        if options.get(key):
            raise InputError(f"a batch takes no {key}{_INSTEAD.get(key, '')}")


def constant_command(simulation: Simulation) -> Command:
    """Return the initial command of all robots of a batch."""
    if not isinstance(simulation.command, Command):
        raise InputError("commands of a batch are constant until set again: batch.set_command(...) between runs")
    return simulation.command


def solution_report(counts: Float[ndarray, "n steps"], lanes: int, one_loop: bool) -> dict[str, float]:
    """Return solutions per step and how well robots fill their lanes, as ``Batch.report`` does.

    Args:
        counts: Solutions of every step of every robot.
        lanes: Robots that run together; the last of them may be fewer.
        one_loop: Whether a robot begins its next step without waiting for the others.
    """
    groups = [counts[k : k + lanes] for k in range(0, len(counts), lanes)]
    slowest = np.concatenate([group.max(axis=0) for group in groups])
    if one_loop:
        work = sum(len(group) * group.sum(axis=1).max() for group in groups)
    else:
        work = sum(len(group) * group.max(axis=0).sum() for group in groups)
    return {
        "solutions": float(counts.mean()),
        "solutions_p99": float(np.quantile(counts, 0.99)),
        "slowest": float(slowest.mean()),
        "lanes": lanes,
        "occupancy": float(counts.sum() / work),
    }


_CHUNK = 2048  # robots that are packed, run and unpacked together: their state stays in a core's cache
REPORTED = 256  # robots in a report
_COPIES = 3  # copies of the state of all robots in memory at once, at most
COMMANDS = tuple(field.name for field in dataclasses.fields(Command))

Which: TypeAlias = slice | Sequence[int] | ndarray  # indices of some robots


class Batch(Summarised):
    """Many robots simulated by one compiled program. ``free`` names parameters that differ between them.

    uses_foot_forces: the controller uses the foot forces. dtype: float64 or float32. threads: all cores
    unless given. Other options are those of ``Simulation``. A controller that cannot be traced raises an error.

    ``q``, ``v`` and ``state`` are arrays with the robot first that stay in place, so that PyTorch and JAX can share
    them (``torch.from_dlpack(batch.q)``); ``command`` and ``push`` may be written to, or set by name.
    """

    @hints.takes(hints.BATCH)
    def __init__(
        self,
        robot: Robot,
        n: int,
        controller: Given = None,
        *,
        free: Sequence[str] = (),
        dtype: DTypeLike = np.float64,
        uses_foot_forces: bool = False,
        threads: int | None = None,
        lanes: int | None = None,
        **options: Any,
    ) -> None:
        free = (free,) if isinstance(free, str) else tuple(free)
        self.n, self.free, self.dtype = checked_count(n), free, _checked_dtype(dtype)
        if threads is not None and threads < 1:
            raise InputError(f"a batch needs at least one thread, got {threads}")
        check_options(options)
        self.simulation = Simulation(robot, controller, **options)
        self.robot, model = self.simulation.robot, self.simulation.model
        if not model.acting.info.traceable:
            name = self.simulation.model.acting.name
            raise InputError(f"a batch compiles its controller, and {name} runs in Python: use one in plain NumPy")
        looks_at = ("forces",) if uses_foot_forces or model.acting.info.uses_foot_forces else ()
        self.first = reduced(self.simulation.state, *looks_at)
        inputs = Inputs(Command(), np.zeros(6))
        self.nominal = {path: np.asarray(model.parameter(path), float) for path in self.free}
        self._check_memory(inputs)
        self._closures = (
            *check_world(model, self.simulation.state, inputs),
            *check_controller(model, self.simulation.state, inputs),
        )
        self.period = model.period
        self._prepare(threads, lanes)
        self.parameters = repeated(self.nominal, self.n)
        first = constant_command(self.simulation)
        self.command = {key: np.full(self.n, getattr(first, key)) for key in COMMANDS}
        self.push = np.zeros((self.n, 6))
        self._start = states_at_rest(model, self.first, self.n, self.dtype)
        self.state: RunState = tree.flatten(self.first)[1]([array.copy() for array in self._start])

    def _prepare(self, threads: int | None, lanes: int | None) -> None:
        """Compile the tick, and distribute the robots over threads."""
        self._options = threads, lanes
        lanes = native_lanes(self.simulation.model, self.dtype) if lanes is None else lanes
        self.function = self._compiled(self.first, lanes=lanes)
        self._halt = self.function.halt = threading.Event()
        lanes = self.function.lanes
        blocks = math.ceil(self.n / lanes)
        count = max(1, min(threads or cores(), blocks))
        share = math.ceil(blocks / count) * lanes
        self.slices = [slice(a, min(a + share, self.n)) for a in range(0, self.n, share)]
        self._pool = ThreadPoolExecutor(len(self.slices)) if len(self.slices) > 1 else None

    def _compiled(self, first: RunState, rows: Sequence[str] = (), lanes: int | None = None) -> Function:
        """Return a tick of all robots as machine code."""
        inputs = Inputs(Command(), np.zeros(6))
        return compile_tick(
            self.simulation.model,
            first,
            inputs,
            rows,
            target="batch",
            dtype=self.dtype,
            lanes=lanes,
            free=self.free,
        )

    def _summary(self) -> tuple[str, list[tuple[str, str]]]:
        rows = [("controller", self.simulation.model.acting.name), ("dtype", self.dtype.name)]
        return f"{self.n} x '{self.robot.name}'", [*rows, ("free", " ".join(self.free) or "nothing")]

    def __getstate__(self) -> dict[str, object]:
        """Return the state for copies and other processes, where machine code and threads are made again."""
        made = ("function", "_halt", "_pool", "slices", "_recording_tick", "_closures")
        return {key: value for key, value in self.__dict__.items() if key not in made}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.pop("_recording_tick", None)
        self.__dict__ |= {"_closures": (), **state}
        self._prepare(*self._options)

    def _check_memory(self, inputs: Inputs) -> None:
        """Raise for a batch too large for memory: a system that overcommits would kill the process later."""
        state = sum(int(np.size(x)) for x in tree.flatten(self.first)[0]) * self.dtype.itemsize
        given = [*tree.flatten(inputs)[0], *self.nominal.values()]
        needed = self.n * (_COPIES * state + 8 * sum(int(np.size(x)) for x in given))
        there = _memory()
        if there is not None and needed > there:
            raise FootfallError(
                f"{self.n} robots need about {needed / 2**30:.3g} GiB, and this machine has {there / 2**30:.3g}: use a"
                " smaller batch, or float32"
            )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise hints.missing("a Batch", name, dir(type(self)), hints.BATCH)

    def _free(self, path: str) -> str:
        """Return the free parameter for a path; the trunk may be called by its own name, or trunk, or base."""
        if path in self.parameters:
            return path
        link, _, key = path.rpartition(".")
        trunk = (self.robot.trunk, "trunk", "base")
        for other in trunk if link in trunk else ():
            if f"{other}.{key}" in self.parameters:
                return f"{other}.{key}"
        raise unknown("free parameter", path, self.parameters, "this batch has")

    # -- state -------------------------------------------------------------------------------------------------------
    @property
    def q(self) -> Float[ndarray, "n nq"]:
        """Base position [m], base quaternion (w, x, y, z), joint positions [rad]."""
        return self.state.q

    @property
    def v(self) -> Float[ndarray, "n nv"]:
        """Angular [rad/s] and linear [m/s] velocity of the base in its own axes, joint rates [rad/s]."""
        return self.state.v

    @property
    def time(self) -> Float[ndarray, "n"]:
        """Time of each robot since its start [s]."""
        return self.state.count * self.period

    @hints.takes({})
    def set_state(self, q: ndarray, v: ndarray | None = None, which: Which = slice(None)) -> None:
        """Set the states of robots: arrays with a robot axis, or one state for all of ``which``."""
        q, v = np.asarray(q), np.zeros(self.robot.nv) if v is None else np.asarray(v)
        if q.shape[-1] != self.robot.nq or v.shape[-1] != self.robot.nv:
            raise InputError(f"a state of robot '{self.robot.name}' has {self.robot.nq} and {self.robot.nv} numbers")
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise InputError("the states of a batch must be finite")
        if self.robot.floating and np.abs(np.linalg.norm(q[..., 3:7], axis=-1) - 1.0).max(initial=0.0) > 1e-6:
            raise InputError("the quaternions (w, x, y, z) of a batch's states must have length 1")
        _put(self.state.q, which, q, "q of the states")
        _put(self.state.v, which, v, "v of the states")

    @hints.takes({})
    def reset(self, which: Which = slice(None)) -> None:
        """Reset robots and their memory: all robots, or those of a mask or of indices."""
        try:
            start = [array[which] for array in self._start]
        except IndexError as error:
            raise InputError(f"the initial states of the robots do not fit: {error}") from None
        for array, fresh in zip(tree.flatten(self.state)[0], start):
            _put(array, which, fresh, "the start of robots")

    # -- what differs between robots ---------------------------------------------------------------------------------
    @hints.takes({})
    def set(self, parameters: Mapping[str, Given], which: Which = slice(None)) -> None:
        """Set free parameters of robots: ``batch.set({"trunk.mass": masses})``."""
        for name, value in parameters.items():
            path = self._free(name)
            _check_parameter(path, value)
            _put(self.parameters[path], which, value, f"the parameter '{path}'", _least(path), _most(path))

    def set_command(self, which: Which = slice(None), **command: Any) -> None:
        """Set the commands of robots: ``batch.set_command(forward=speeds)`` [m/s], [rad/s], [m]."""
        for key, value in command.items():
            if key not in self.command:
                raise unknown("command", key, self.command, "a batch has")
            _put(self.command[key], which, value, f"the command '{key}'")
            most = float(np.max(np.abs(self.command[key][which]), initial=0.0))
            warn_unfollowed(self.simulation.model.acting, self.robot, Command(**{key: most}))

    @hints.takes({})
    def set_push(self, force: Given = 0.0, moment: Given = 0.0, which: Which = slice(None)) -> None:
        """Set a force and moment on the trunks at their origins, world axes [N], [N m]; ``set_push()`` ends all
        pushes."""
        for columns, value, name in ((slice(3, 6), force, "force"), (slice(0, 3), moment, "moment")):
            _put(self.push[:, columns], which, value, f"the {name} of a push")

    @hints.takes({})
    def randomise(
        self, ranges: Mapping[str, tuple[Given, Given]], seed: int, which: Which = slice(None)
    ) -> dict[str, ndarray]:
        """Draw free parameters uniformly: ``batch.randomise({"trunk.mass": (3.0, 5.0)}, seed=1)``; returns them.

        A robot's numbers depend only on the seed, the ranges' names and its index, not on n or ``which``.
        """
        drawn: dict[str, ndarray] = {}
        for name, bounds in ranges.items():
            path = self._free(name)
            try:
                low, high = (np.broadcast_to(np.asarray(x, float), self.nominal[path].shape) for x in bounds)
            except (TypeError, ValueError):
                raise InputError(f"the range of '{path}' must be (low, high), got {bounds!r}") from None
            if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all()):
                raise InputError(f"the range of '{path}' must rise and be finite, got {bounds!r}")
            key = [seed, *path.encode()]  # so that a further parameter does not change the others
            u = np.random.default_rng(key).random((self.n, *low.shape))
            drawn[path] = (low + (high - low) * u)[which]
        self.set(drawn, which)
        return drawn

    # -- running -----------------------------------------------------------------------------------------------------
    @hints.takes(hints.RUN_BATCH)
    def run(self, ticks: int, record: Sequence[int] = (), every: int = 1) -> list[Recording]:
        """Advance every robot by a number of ticks of its controller; those of ``record`` give a Recording each.

        A recording has the rows of every ``every``-th tick, with torques, forces, contact and work since the call, and
        the robot with its parameters. Ctrl-C ends it within a second; each robot is then either before or after the
        run, as shown by its ``time``.
        """
        if isinstance(ticks, bool) or not isinstance(ticks, int | np.integer) or ticks < 1:
            seconds = isinstance(ticks, float | np.floating) and 0.0 < ticks * self.period < np.inf
            hint = f": {ticks:g} s are {max(1, round(ticks / self.period))} ticks" if seconds else ""
            raise InputError(f"a batch runs for a whole number of ticks, at least one, got {ticks!r}{hint}")
        if not isinstance(record, Sized):
            raise InputError(f"record must be a list of robot numbers, got {record!r}")
        if any(closure.changed() is not None for closure in self._closures):  # a global, a gain, an entry of a dict
            self.__setstate__({**self.__getstate__(), "_closures": tuple(type(a)(a.subject) for a in self._closures)})
        recorded = self._recordings(record, int(ticks), every) if len(record) else []
        work = [(part, int(ticks)) for part in self.slices]
        if self._pool is None:
            for piece in work:
                self._run_slice(piece)
            return recorded
        running = [self._pool.submit(self._run_slice, piece) for piece in work]
        try:
            for future in running:
                future.result()
        except BaseException:
            self._halt.set()  # let the other threads finish before raising this error
            wait(running)
            raise
        finally:
            self._halt.clear()
        return recorded

    def _run_slice(self, work: tuple[slice, int]) -> None:
        """Advance some robots, chunk by chunk, so that packing uses the cache as well."""
        robots, ticks = work
        mine, lanes = tree.flatten(self.state)[0], self.function.lanes
        blocks = math.ceil((robots.stop - robots.start) / lanes)
        size = math.ceil(blocks / math.ceil(blocks * lanes / _CHUNK)) * lanes  # chunks of one size, except the last
        for start in range(robots.start, robots.stop, size):
            chunk = slice(start, min(start + size, robots.stop))
            after = self.function.advance(ticks, *self._arguments(chunk))
            for array, new in zip(mine, tree.flatten(after)[0]):
                array[chunk] = new

    def _arguments(self, which: Which) -> list[PyTree]:
        """Return state, inputs and free parameters of some robots."""
        leaves, rebuild = tree.flatten(self.state)
        command: Given = {key: values[which] for key, values in self.command.items()}
        arguments = [rebuild([x[which] for x in leaves]), Inputs(Command(**command), self.push[which])]
        if self.free:
            arguments.append({path: value[which] for path, value in self.parameters.items()})
        return arguments

    def record(self, which: Sequence[int], ticks: int, every: int = 1) -> RunState:
        """Run the next ticks and return rows of chosen robots (robot, row, ...).

        The batch is not changed.
        """
        _, rows = self.function.roll(ticks, *self._arguments(self._indices(which)), every=every)
        return rows

    def _indices(self, which: Sequence[int]) -> ndarray:
        indices = np.asarray(which)
        if indices.ndim != 1 or not len(indices) or indices.dtype.kind not in "iu" or not (abs(indices) < self.n).all():
            raise InputError(f"robots to record are whole numbers from 0 to {self.n - 1}, got {which!r}")
        return indices

    def _recordings(self, which: Sequence[int], ticks: int, every: int) -> list[Recording]:
        indices, stride = self._indices(which), window_stride(every, self.period)
        state, *rest = self._arguments(indices)
        sums = repeated(self._sums, len(indices), self.dtype)
        _, (rows, row) = self._recording_tick.roll(ticks, dataclasses.replace(state, **sums), *rest, every=stride)
        rows = dataclasses.replace(rows, motor=row["motor"], forces=row["forces"], memory=())
        recorded = slice(every // stride - 1, None, every // stride)
        meta: dict[str, Json] = {"n": self.n, "dt": self.simulation.model.dt, "rate": 1.0 / self.period}
        meta |= {"controller": self.simulation.model.acting.name, "start_time": 0.0}
        found = []
        for index, (states, commands) in zip(indices, unstack_tree((rows, row["command"]), len(indices))):
            own = {path: value[index].tolist() for path, value in self.parameters.items()}
            means = ForceMeans(float(self.time[index]), self._sums["impulse"], self.period)
            force_mean = means.add(states.count * self.period, states.impulse)
            kept, given = select_rows((states, commands), recorded)
            columns = columns_of(kept, given, self.period, force_mean[recorded])
            commanded = [float(values[index]) for values in self.command.values()]
            columns["command"] = np.tile(commanded, (len(columns["time"]), 1))
            found.append(Recording(self._robot(int(index)), columns, meta={**meta, "place": int(index), **own}))
        return found

    @property
    def _sums(self) -> dict[str, PyTree]:
        """Return work and impulses before a recorded run, by their names in its state."""
        return {"work": np.zeros(5), "impulse": no_impulse(self.robot, self.period)}

    @functools.cached_property
    def _recording_tick(self) -> Function:
        """Return machine code that records torques, forces and work as well; compiled on first use."""
        first = dataclasses.replace(self.first, **self._sums)
        return self._compiled(first, ("motor", "forces", "command"), self.function.lanes)

    def _robot(self, index: int) -> Robot:
        """Return one robot with its parameters."""
        names = set(self.robot.parameter_names())
        own = {p: x[index] if x.ndim > 1 else float(x[index]) for p, x in self.parameters.items() if p in names}
        return self.robot.replace(own) if own else self.robot

    # -- what it costs -----------------------------------------------------------------------------------------------
    def report(self, ticks: int = 50) -> dict[str, float]:
        """Return how often steps solve the equations of motion, in the next ticks of up to 256 of the robots.

        A step of compliant contact is solved again until the modes of its feet and joints agree, and robots that share
        lanes of a vector may wait for the slowest of them. The batch is not changed.

        Args:
            ticks: Ticks of the controller to evaluate.

        Returns:
            ``solutions``: mean number per step; ``solutions_p99``: their 99th percentile; ``slowest``: mean over steps
            of the largest number in a vector; ``lanes``: robots in a vector; ``occupancy``: the fraction of the lanes'
            work that robots need, from 1 / lanes to 1.
        """
        most, lanes = min(self.n, REPORTED), self.function.lanes
        counted = compiling.compile(
            counted_tick,
            self.simulation.model,
            self.first,
            Inputs(Command(), np.zeros(6)),
            target="batch",
            dtype=self.dtype,
            lanes=lanes,
            free=self.free,
            verify=False,
        )
        _, (_, rows) = counted.roll(ticks, *self._arguments(np.arange(most)))
        counts = np.asarray(rows, float).reshape(most, -1)  # of every step
        return solution_report(counts, lanes, bool(self.function.statistics.get("one_loop")))

    def fallen(self, lean: float = 75.0) -> Bool[ndarray, "n"]:
        """Return which robots are tilted by more than a limit [degrees], or are no longer finite."""
        x, y = self.state.q[:, 4], self.state.q[:, 5]
        with np.errstate(invalid="ignore"):
            return ~(1.0 - 2.0 * (x * x + y * y) >= np.cos(np.radians(lean)))


def checked_count(n: Given) -> int:
    """Return the number of robots, checked."""
    if isinstance(n, bool) or not isinstance(n, int | float | np.integer | np.floating) or n != n // 1:
        raise InputError(f"the number of robots must be a whole number, got {n!r}")
    if n < 1:
        raise InputError(f"a batch needs at least one robot, got n = {n}")
    return int(n)


def _checked_dtype(dtype: DTypeLike) -> np.dtype:
    found = np.dtype(dtype)
    if found not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise InputError(f"a batch computes in float64 or float32, not in {found.name}")
    return found


def _least(path: str) -> float:
    """Return the smallest sensible value of a parameter, as far as its name reveals it."""
    name = path.rpartition(".")[2]
    if name == "mass":
        return float(np.finfo(float).tiny)
    bounded = ("friction", "damping", "dry_friction", "armature", "stiffness", "radius", "kp", "kd")
    return 0.0 if name in bounded else -math.inf


def _most(path: str) -> float:
    """Return the largest sensible value, as for a robot's parts: beyond it the others lose all their digits."""
    name = path.rpartition(".")[2]
    of_parts = {
        "mass": MOST_MASS,
        "com": MOST_LENGTH,
        "origin": MOST_LENGTH,
        "inertia": MOST_INERTIA,
        "armature": MOST_INERTIA,
    }
    return of_parts.get(name, math.inf)


def _check_parameter(path: str, value: Given) -> None:
    """Raise for impossible tensors and matrices that are not rotations, which single numbers do not reveal."""
    name = path.rpartition(".")[2]
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        return  # an error is raised when it is set
    if not np.isfinite(array).all():
        return
    if name == "inertia" and array.shape[-2:] == (3, 3):
        size = np.abs(array).max(axis=(-2, -1))
        skewed = np.abs(array - np.swapaxes(array, -1, -2)).max(axis=(-2, -1)) > 1e-9 * np.maximum(size, 1e-12)
        least = np.linalg.eigvalsh(0.5 * (array + np.swapaxes(array, -1, -2)))[..., 0]
        if skewed.any() or (least < -1e-12 * np.maximum(size, 1e-12)).any() or (size <= 0).any():
            raise InputError(f"the parameter '{path}' must be symmetric tensors with positive principal moments")
    if name == "rotation" and array.shape[-2:] == (3, 3):
        off = array @ np.swapaxes(array, -1, -2) - np.eye(3)
        if (np.abs(off) > 1e-9).any() or (np.linalg.det(array) < 0).any():
            raise InputError(f"the parameter '{path}' must be rotation matrices")


def _put(
    array: ndarray, which: Which, value: Given, what: str, least: float = -math.inf, most: float = math.inf
) -> None:
    """Set rows of an array to finite numbers."""
    try:
        number = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be numbers, got {value!r}") from None
    if not np.isfinite(number).all():
        raise InputError(f"{what} must be finite")
    if number.min(initial=math.inf) < least:
        raise InputError(f"{what} must be {'positive' if least > 0 else '0 or more'}, got {number.min():g}")
    if np.abs(number).max(initial=0.0) > most:
        raise InputError(f"{what} holds a value beyond {most:g}: {number.flat[np.abs(number).argmax()]:g}")
    try:
        array[which] = number
    except (ValueError, IndexError) as error:
        raise InputError(f"{what} does not fit: {error}") from None


def _memory() -> int | None:
    """Return the bytes of this machine's memory, if known."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None

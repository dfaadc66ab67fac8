"""The seam between a controller and the simulation: what it is told, and what it returns.

A controller is called at its own ``rate`` with the time, the robot, what is sensed, the user's command and its own
memory, and returns a ``JointCommand`` and the memory for next time. Plain NumPy without hidden state is traced and
compiled with the physics; anything else (a solver from elsewhere) runs in Python between compiled steps.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar, Protocol, overload, runtime_checkable

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.control.command import Command, check_command
from footfall.control.joint_command import JointCommand
from footfall.control.sensed import Inertial, Sensed
from footfall.errors import InputError
from footfall.gravity import GRAVITY, Gravity
from footfall.nests import Given, Nest, Scalar
from footfall.robot.model.description import Robot
from footfall.seams import Adapter, function_name, has_members

Log = list[tuple[float, str]]  # (time [s], what happened): a recording has it as events


class StateEstimates(Protocol):
    """What a controller with an estimator in it tells of its estimates (``control.Estimated``)."""

    keep: int  # every so many ticks are kept
    seen: Sensed | None  # in the last tick

    def history(self) -> Nest:
        """What was kept: ``control.estimation.estimated.History``."""
        ...


@runtime_checkable
class Controller(Protocol):
    """All that is asked of a controller. A user's own class needs a rate, a start and a call alone: the rest has
    defaults in ``ControllerBase``, and ``as_controller`` lends them to a class that does not derive from it."""

    @property
    def rate(self) -> float:
        """Ticks per second [Hz]."""
        ...

    @property
    def name(self) -> str:
        """What it is called where something is said of it."""
        ...

    @property
    def traceable(self) -> bool:
        """Plain NumPy that can be compiled with the physics; otherwise it runs in Python between compiled steps."""
        ...

    @property
    def needs_sensors(self) -> bool:
        """Runs on readings, not on the true state."""
        ...

    @property
    def follows_command(self) -> bool:
        """Walks as fast as it is commanded to."""
        ...

    @property
    def uses_foot_forces(self) -> bool:
        """Looks at the forces at the feet: a batch keeps them for it."""
        ...

    @property
    def long_to_compile(self) -> bool:
        """Takes seconds: numbers of the ground then stay inputs, and another ground of its kind is not compiled."""
        ...

    @property
    def estimates(self) -> StateEstimates | None:
        """What it, or what it wraps, estimates of the robot's state; None of one that takes what it is told."""
        ...

    @property
    def logs(self) -> list[Log]:
        """Lists in which it, and what it wraps, writes down what happens."""
        ...

    def start(self, robot: Robot) -> Nest:
        """The memory before the first tick: any nest of arrays."""
        ...

    def take_step(self, horizon: Callable[..., Nest]) -> None:
        """Be handed what makes optimal control of the simulator's own step, which controllers do not import."""
        ...

    def prepare(self, robot: Robot, compile: Callable[..., Nest], gravity: Gravity = GRAVITY) -> None:
        """Compile what it needs, before a run in Python: controllers do not import the compiler."""
        ...

    def posture(self, robot: Robot) -> Float[ndarray, "nj"] | None:
        """The joints [rad] it stands with, where a run may begin; None if it does not say."""
        ...

    def command_limits(self, robot: Robot) -> dict[str, float] | None:
        """How far it follows each part of a command, either way; one that is not named is ignored. None: not known."""
        ...

    def renewed(self, memory: Nest) -> Nest:
        """The memory with what a user has changed of the controller since, which machine code does not see."""
        ...

    def beat(self, memory: Nest, t: Scalar) -> tuple[Nest, Nest] | None:
        """(phase of the first leg, part of its full stride) of a controller that steps; None of others."""
        ...

    def observe(self, times: Float[ndarray, "n"], command: Command, before: Nest, rows: Nest) -> None:
        """Log what happened in ticks that were run as machine code: ``rows`` has the memories after each of them."""
        ...

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Nest
    ) -> tuple[JointCommand, Nest]: ...


class ControllerBase:
    """What a controller does that says nothing else. A ``rate``, ``start`` and the call are its own."""

    traceable: ClassVar[bool] = True
    needs_sensors: ClassVar[bool] = False
    follows_command: ClassVar[bool] = False
    uses_foot_forces: ClassVar[bool] = False
    long_to_compile: ClassVar[bool] = False
    estimates: StateEstimates | None = None
    log: Log | None = None  # a list of its own makes events

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def logs(self) -> list[Log]:
        return [] if self.log is None else [self.log]

    def take_step(self, horizon: Callable[..., Nest]) -> None:
        """It plans with none."""

    def prepare(self, robot: Robot, compile: Callable[..., Nest], gravity: Gravity = GRAVITY) -> None:
        """Nothing to compile."""

    def posture(self, robot: Robot) -> Float[ndarray, "nj"] | None:
        return None

    def command_limits(self, robot: Robot) -> dict[str, float] | None:
        return None

    def renewed(self, memory: Nest) -> Nest:
        return memory

    def beat(self, memory: Nest, t: Scalar) -> tuple[Nest, Nest] | None:
        return None

    def observe(self, times: Float[ndarray, "n"], command: Command, before: Nest, rows: Nest) -> None:
        """Nothing to log."""


class ControllerWrapper(ControllerBase):
    """A controller around ``inner``: whatever it does not change is the inner one's. Its memory is the inner one's too,
    unless it has some of its own: then that is a dictionary with the inner one's under "inner"."""

    inner: Controller

    def __post_init__(self) -> None:
        as_controller(self.inner, f"what {type(self).__name__} wraps must be a controller: ")

    @property
    def wrapped(self) -> Controller:
        """The inner controller with all that may be asked of it, whatever its class."""
        return as_controller(self.inner)

    @property
    def rate(self) -> float:
        return self.inner.rate

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        return self.wrapped.traceable

    @property
    def needs_sensors(self) -> bool:  # type: ignore[override]
        return self.wrapped.needs_sensors

    @property
    def follows_command(self) -> bool:  # type: ignore[override]
        return self.wrapped.follows_command

    @property
    def uses_foot_forces(self) -> bool:  # type: ignore[override]
        return self.wrapped.uses_foot_forces

    @property
    def long_to_compile(self) -> bool:  # type: ignore[override]
        return self.wrapped.long_to_compile

    @property
    def estimates(self) -> StateEstimates | None:  # type: ignore[override]
        return self.wrapped.estimates

    @property
    def logs(self) -> list[Log]:
        return [*super().logs, *self.wrapped.logs]

    def start(self, robot: Robot) -> Nest:
        return self.inner.start(robot)

    def take_step(self, horizon: Callable[..., Nest]) -> None:
        self.wrapped.take_step(horizon)

    def prepare(self, robot: Robot, compile: Callable[..., Nest], gravity: Gravity = GRAVITY) -> None:
        self.wrapped.prepare(robot, compile, gravity)

    def posture(self, robot: Robot) -> Float[ndarray, "nj"] | None:
        return self.wrapped.posture(robot)

    def command_limits(self, robot: Robot) -> dict[str, float] | None:
        return self.wrapped.command_limits(robot)

    def renewed(self, memory: Nest) -> Nest:
        if _keeps_inner(memory):
            return {**memory, "inner": self.wrapped.renewed(memory["inner"])}
        return self.wrapped.renewed(memory)

    def beat(self, memory: Nest, t: Scalar) -> tuple[Nest, Nest] | None:
        return self.wrapped.beat(memory["inner"] if _keeps_inner(memory) else memory, t)

    def observe(self, times: Float[ndarray, "n"], command: Command, before: Nest, rows: Nest) -> None:
        if _keeps_inner(before):
            before, rows = before["inner"], rows["inner"]
        self.wrapped.observe(times, command, before, rows)


def _keeps_inner(memory: Nest) -> bool:
    """Whether a wrapper has a memory of its own beside that of the controller in it."""
    return isinstance(memory, dict) and "inner" in memory


@dataclass(frozen=True, eq=False)
class AdaptedController(Adapter, ControllerBase):
    """A user's own controller that does not derive from ``ControllerBase``: what it has is its own, the rest usual."""

    adapted: Given

    @property
    def rate(self) -> float:
        return self.adapted.rate

    @property
    def name(self) -> str:
        return str(self.own("name", type(self.adapted).__name__))

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        return bool(self.own("traceable", self.own("prepare", None) is None))

    @property
    def needs_sensors(self) -> bool:  # type: ignore[override]
        return bool(self.own("needs_sensors", False))

    @property
    def follows_command(self) -> bool:  # type: ignore[override]
        return bool(self.own("follows_command", not self.traceable))

    @property
    def uses_foot_forces(self) -> bool:  # type: ignore[override]
        return bool(self.own("uses_foot_forces", False))

    @property
    def long_to_compile(self) -> bool:  # type: ignore[override]
        return bool(self.own("long_to_compile", False))

    @property
    def estimates(self) -> StateEstimates | None:  # type: ignore[override]
        return self.own("estimates", None)

    @property
    def logs(self) -> list[Log]:
        log = self.own("log", None)
        return list(self.own("logs", [log] if isinstance(log, list) else []))

    def start(self, robot: Robot) -> Nest:
        return self.adapted.start(robot)

    def take_step(self, horizon: Callable[..., Nest]) -> None:
        self.own("take_step", super().take_step)(horizon)

    def prepare(self, robot: Robot, compile: Callable[..., Nest], gravity: Gravity = GRAVITY) -> None:
        self.own("prepare", super().prepare)(robot, compile, gravity)

    def posture(self, robot: Robot) -> Float[ndarray, "nj"] | None:
        return self.own("posture", super().posture)(robot)

    def command_limits(self, robot: Robot) -> dict[str, float] | None:
        return self.own("command_limits", super().command_limits)(robot)

    def renewed(self, memory: Nest) -> Nest:
        return self.own("renewed", super().renewed)(memory)

    def beat(self, memory: Nest, t: Scalar) -> tuple[Nest, Nest] | None:
        return self.own("beat", super().beat)(memory, t)

    def observe(self, times: Float[ndarray, "n"], command: Command, before: Nest, rows: Nest) -> None:
        self.own("observe", super().observe)(times, command, before, rows)

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Nest
    ) -> tuple[JointCommand, Nest]:
        return self.adapted(t, robot, sensed, command, memory)


def as_controller(given: Given, what: str = "") -> Controller:
    """A controller as it is, a user's own with what it leaves out, or one sentence about what it lacks.

    what: what must be one, for that sentence.
    """
    if isinstance(given, type):
        raise InputError(f"{what}a controller must be an object, such as {given.__name__}(...), got its class")
    if isinstance(given, str):
        raise InputError(
            f"{what}a controller is an object, not the name {given!r}: ff.control.on_command('whole_body', 'trot') and"
            " ff.control.JointPD.tuned(robot, 'trot') make some, @ff.controller(rate=...) one of a function"
        )
    if not callable(given) or not has_members(given, "rate", "start"):
        raise InputError(
            f"{what}a controller needs a rate, start(robot) and a call, which {type(given).__name__} has not;"
            " @ff.controller(rate=...) makes one of a function"
        )
    return given if isinstance(given, ControllerBase) else AdaptedController(given)  # type: ignore[return-value]


@dataclass(frozen=True)
class FunctionController(ControllerBase):
    """A controller made of one function."""

    function: Callable[..., tuple[JointCommand, Nest]]
    rate: float
    memory: Nest = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.function).bind(*range(5))
        except TypeError as error:
            raise InputError(f"{self.name}(t, robot, sensed, command, memory) is how it is called: {error}") from None

    @property
    def name(self) -> str:
        return function_name(self.function)

    def start(self, robot: Robot) -> Nest:
        return self.memory(robot) if callable(self.memory) else copy.deepcopy(self.memory)  # it may be changed in place

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Nest
    ) -> tuple[JointCommand, Nest]:
        return self.function(t, robot, sensed, command, memory)


def check_rate(rate: Given) -> None:
    """Refuse what is no rate of a controller [Hz]."""
    if not isinstance(rate, Real) or not np.isfinite(float(rate)) or rate <= 0:
        raise InputError(f"the rate of a controller must be positive, got {rate!r}")


@overload
def controller(rate: Callable[..., tuple[JointCommand, Nest]]) -> FunctionController: ...
@overload
def controller(rate: float = 1000.0, memory: Nest = None) -> Callable[[Callable[..., Nest]], FunctionController]: ...
def controller(
    rate: Given = 1000.0, memory: Nest = None
) -> FunctionController | Callable[[Callable[..., Nest]], FunctionController]:
    """Make a controller of a function: ``@ff.controller(rate=1000)``, or ``@ff.controller`` at 1000 Hz.

    ``memory`` is the first memory, a nest of arrays, or a function of the robot that makes it.
    """
    if callable(rate):
        return FunctionController(rate, 1000.0)
    check_rate(rate)
    return lambda function: FunctionController(function, rate, {} if memory is None else memory)


__all__ = [
    "AdaptedController", "Command", "Controller", "ControllerBase", "ControllerWrapper", "FunctionController",
    "Inertial", "JointCommand", "Log", "Sensed", "as_controller", "check_command", "check_rate", "controller",
]  # fmt: skip

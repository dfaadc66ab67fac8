"""The interface of controllers: their inputs and outputs.

A controller is called at its ``rate`` with the time, the robot, the sensed state, the user's command and its memory,
and returns a ``JointCommand`` and the memory for the next tick. Plain NumPy without hidden state is traced and compiled
with the physics; anything else (an external solver) runs in Python between compiled steps.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Protocol, overload

from numpy import ndarray

from footfall.adapters import Adapter, function_name, has_members
from footfall.checks import positive_number
from footfall.control.command import Command, check_command
from footfall.control.joint_command import JointCommand
from footfall.control.sensed import Inertial, Sensed
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import Given, PyTree, Scalar
from nptrace.array_types import Float, Integer

Log = list[tuple[float, str]]  # (time [s], description): recorded as events


class StateEstimates(Protocol):
    """The state estimates of a controller that contains an estimator (``control.Estimated``)."""

    keep: int  # interval of kept estimates, in ticks
    seen: Sensed | None  # those of the last tick

    def history(self) -> PyTree:
        """Return the recorded estimates: ``sensing.estimation.estimated.History``."""
        ...


@dataclass(frozen=True, kw_only=True)
class ControllerInfo:
    """Properties of a controller that are known before it runs."""

    traceable: bool = True  # plain NumPy, compiled with the physics; otherwise it runs in Python between compiled steps
    needs_sensors: bool = False  # runs on sensor readings, not on the true state
    follows_command: bool = False  # follows the velocity command
    uses_foot_forces: bool = False  # reads the foot forces: a batch stores them for it
    # slow to compile: numbers of the ground stay inputs, and one program serves all grounds of a kind
    long_to_compile: bool = False


_INFO_FIELDS = tuple(f.name for f in fields(ControllerInfo))


class Controller(ABC):
    """The base class of controllers.

    A controller is called at its own rate with time, robot, sensed state, command and memory.

    A subclass needs a ``rate`` [Hz], ``start`` and ``__call__``; everything else has a default. ``as_controller`` makes
    an instance of a user's object that does not derive from this class.
    """

    if TYPE_CHECKING:  # an attribute, a field or a property: a property here would be mistaken for a field's default

        @property
        def rate(self) -> float:
            """Ticks per second [Hz]."""
            ...

    log: Log | None = None  # its entries become events in a recording

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in _INFO_FIELDS:
            if name in vars(cls):
                raise InputError(f"{cls.__name__}.{name} belongs in its info: info = ControllerInfo({name}=...)")

    @abstractmethod
    def start(self, robot: Robot) -> PyTree:
        """Return the memory before the first tick: any pytree of arrays."""

    def memory_of_robots(self, memory: PyTree, numbers: Integer[ndarray, "n"]) -> PyTree:
        """Return the initial memory for the robots of a batch with these indices, counted from 0.

        Leaves that differ between robots, such as noise, have a leading robot axis.
        """
        return memory

    @abstractmethod
    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        """Return the command to the joints, and the memory for the next tick."""

    @property
    def info(self) -> ControllerInfo:
        """Return the properties of the controller; a class attribute if they are the same for all instances."""
        return ControllerInfo()

    @property
    def name(self) -> str:
        """Return the name used in messages and recordings."""
        return type(self).__name__

    # -- what a run asks before it begins ----------------------------------------------------------------------------
    def posture(self, robot: Robot) -> Float[ndarray, "nj"] | None:
        """Return the joint positions [rad] in which a run starts; None if undefined."""
        return None

    def command_limits(self, robot: Robot) -> dict[str, float] | None:
        """Return the limit of each component of a command, in both directions; None if unknown.

        A component that is not named is ignored.
        """
        return None

    def nominal_command(self, robot: Robot) -> Command:
        """Return the command of a run without a given command: zero, or the speed of its gait."""
        return Command()

    def limit_reasons(self, robot: Robot) -> dict[str, str]:
        """Return explanations of the command limits, by component."""
        return {}

    def gait_phase(self, memory: PyTree, t: Scalar) -> tuple[PyTree, PyTree] | None:
        """Return (phase of the first leg [cycles], fraction of its full stride); None if it does not step."""
        return None

    # -- compiling ---------------------------------------------------------------------------------------------------
    def prepare(self, robot: Robot, compile: Callable[..., PyTree], gravity: Gravity = GRAVITY) -> None:  # noqa: B027
        """Compile the required functions before a run in Python."""

    def set_horizon(self, make_horizon: Callable[..., PyTree]) -> None:  # noqa: B027
        """Receive the factory of optimal control problems on the simulator's step."""

    def refresh_memory(self, memory: PyTree) -> PyTree:
        """Return the memory, updated with changes that a user has made to the controller."""
        return memory

    # -- logging -----------------------------------------------------------------------------------------------------
    @property
    def logs(self) -> list[Log]:
        """Return the logs of this controller and of those that it wraps."""
        return [] if self.log is None else [self.log]

    @property
    def estimates(self) -> StateEstimates | None:
        """Return the state estimates of this controller or of the one it wraps; None without an estimator."""
        return None

    def log_ticks(self, times: Float[ndarray, "n"], command: Command, before: PyTree, rows: PyTree) -> None:  # noqa: B027
        """Log the events of compiled ticks; ``rows`` has the memories after each of them."""


class ControllerWrapper(Controller):
    """A controller around another one, ``inner``, to which it delegates everything that it does not override.

    Its memory is that of the inner controller, or, if it has memory itself, a dictionary with the inner memory under
    "inner".
    """

    inner: Controller

    def __post_init__(self) -> None:
        as_controller(self.inner, f"what {type(self).__name__} wraps must be a controller: ")

    @property
    def wrapped(self) -> Controller:
        """Return the inner controller as a ``Controller``."""
        return self.inner if isinstance(self.inner, Controller) else as_controller(self.inner)

    @property
    def rate(self) -> float:
        return self.inner.rate

    @property
    def info(self) -> ControllerInfo:
        return self.wrapped.info

    @property
    def logs(self) -> list[Log]:
        return [*super().logs, *self.wrapped.logs]

    @property
    def estimates(self) -> StateEstimates | None:
        return self.wrapped.estimates

    def start(self, robot: Robot) -> PyTree:
        return self.inner.start(robot)

    def memory_of_robots(self, memory: PyTree, numbers: Integer[ndarray, "n"]) -> PyTree:
        if _keeps_inner(memory):
            return {**memory, "inner": self.wrapped.memory_of_robots(memory["inner"], numbers)}
        return self.wrapped.memory_of_robots(memory, numbers)

    def posture(self, robot: Robot) -> Float[ndarray, "nj"] | None:
        return self.wrapped.posture(robot)

    def command_limits(self, robot: Robot) -> dict[str, float] | None:
        return self.wrapped.command_limits(robot)

    def nominal_command(self, robot: Robot) -> Command:
        return self.wrapped.nominal_command(robot)

    def limit_reasons(self, robot: Robot) -> dict[str, str]:
        return self.wrapped.limit_reasons(robot)

    def gait_phase(self, memory: PyTree, t: Scalar) -> tuple[PyTree, PyTree] | None:
        return self.wrapped.gait_phase(memory["inner"] if _keeps_inner(memory) else memory, t)

    def prepare(self, robot: Robot, compile: Callable[..., PyTree], gravity: Gravity = GRAVITY) -> None:
        self.wrapped.prepare(robot, compile, gravity)

    def set_horizon(self, make_horizon: Callable[..., PyTree]) -> None:
        self.wrapped.set_horizon(make_horizon)

    def refresh_memory(self, memory: PyTree) -> PyTree:
        if _keeps_inner(memory):
            inner = self.wrapped.refresh_memory(memory["inner"])
            return memory if inner is memory["inner"] else {**memory, "inner": inner}
        return self.wrapped.refresh_memory(memory)

    def log_ticks(self, times: Float[ndarray, "n"], command: Command, before: PyTree, rows: PyTree) -> None:
        if _keeps_inner(before):
            before, rows = before["inner"], rows["inner"]
        self.wrapped.log_ticks(times, command, before, rows)


def _keeps_inner(memory: PyTree) -> bool:
    """Return whether a wrapper has memory besides that of the controller in it."""
    return isinstance(memory, dict) and "inner" in memory


@dataclass(frozen=True, eq=False)
class AdaptedController(Adapter, Controller):
    """A user-defined object that does not derive from ``Controller``: its members, with defaults for missing ones."""

    adapted: Given

    @property
    def rate(self) -> float:
        return self.adapted.rate

    @property
    def name(self) -> str:
        return str(self.get("name", type(self.adapted).__name__))

    @property
    def info(self) -> ControllerInfo:
        """Return its ``info``, or flags by name; an object with ``prepare`` runs in Python unless it states
        otherwise.
        """
        if isinstance(info := self.get("info", None), ControllerInfo):
            return info
        flags = {name: bool(getattr(self.adapted, name)) for name in _INFO_FIELDS if hasattr(self.adapted, name)}
        traceable = flags.setdefault("traceable", self.get("prepare", None) is None)
        return ControllerInfo(**{"follows_command": not traceable, **flags})

    @property
    def logs(self) -> list[Log]:
        log = self.get("log", None)
        return list(self.get("logs", [log] if isinstance(log, list) else []))

    @property
    def estimates(self) -> StateEstimates | None:
        return self.get("estimates", None)

    def start(self, robot: Robot) -> PyTree:
        return self.adapted.start(robot)

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        return self.adapted(t, robot, sensed, command, memory)


def _own_or_default(name: str, default: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """Return a method that calls the member ``name`` of the user's object, or the default if it has none."""

    def method(self: AdaptedController, *arguments: PyTree) -> PyTree:
        return getattr(self.adapted, name, partial(default, self))(*arguments)

    return method


for _name, _default in vars(Controller).items():
    if inspect.isfunction(_default) and _name not in vars(AdaptedController):
        setattr(AdaptedController, _name, _own_or_default(_name, _default))


def as_controller(given: Given, what: str = "") -> Controller:
    """Return a controller unchanged, or a user-defined one with defaults; raise if a required member is missing.

    what: the subject of the error message.
    """
    if isinstance(given, type):
        raise InputError(f"{what}a controller must be an object, such as {given.__name__}(...), got its class")
    if isinstance(given, str):
        raise InputError(
            f"{what}a controller must be an object, not the name {given!r}: ff.control.on_command('whole_body',"
            " 'trot') and"
            " ff.control.JointPD.tuned(robot, 'trot') create controllers, @ff.controller(rate=...) makes one from a"
            " function"
        )
    if not callable(given) or not has_members(given, "rate", "start"):
        raise InputError(
            f"{what}a controller needs a rate, start(robot) and a call, which {type(given).__name__} lacks;"
            " @ff.controller(rate=...) makes one from a function"
        )
    return given if isinstance(given, Controller) else AdaptedController(given)


@dataclass(frozen=True)
class FunctionController(Controller):
    """A controller made from a function."""

    function: Callable[..., tuple[JointCommand, PyTree]]
    rate: float
    memory: PyTree = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            inspect.signature(self.function).bind(*range(5))
        except TypeError as error:
            raise InputError(
                f"{self.name}(t, robot, sensed, command, memory) is the required signature: {error}"
            ) from None

    @property
    def name(self) -> str:
        return function_name(self.function)

    def start(self, robot: Robot) -> PyTree:
        return self.memory(robot) if callable(self.memory) else copy.deepcopy(self.memory)  # may be modified in place

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        return self.function(t, robot, sensed, command, memory)


def check_rate(rate: Given) -> None:
    """Raise for an invalid rate of a controller [Hz]."""
    positive_number(rate, "the rate of a controller")


@overload
def controller(rate: Callable[..., tuple[JointCommand, PyTree]]) -> FunctionController: ...
@overload
def controller(
    rate: float = 1000.0, memory: PyTree = None
) -> Callable[[Callable[..., PyTree]], FunctionController]: ...
def controller(
    rate: Given = 1000.0, memory: PyTree = None
) -> FunctionController | Callable[[Callable[..., PyTree]], FunctionController]:
    """Make a controller from a function: ``@ff.controller(rate=1000)``, or ``@ff.controller`` for 1000 Hz.

    Args:
        rate: Calls per second [Hz].
        memory: First memory: a pytree of arrays, or a function of the robot that returns it.

    Returns:
        The controller, or a decorator.
    """
    if callable(rate):
        return FunctionController(rate, 1000.0)
    check_rate(rate)
    return lambda function: FunctionController(function, rate, {} if memory is None else memory)


__all__ = [
    "AdaptedController",
    "Command",
    "Controller",
    "ControllerInfo",
    "ControllerWrapper",
    "FunctionController",
    "Inertial",
    "JointCommand",
    "Log",
    "Sensed",
    "as_controller",
    "check_command",
    "check_rate",
    "controller",
]

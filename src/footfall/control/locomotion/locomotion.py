"""Locomotion under a velocity command: a gait's schedule, footsteps, contact forces in two stages, joint torques.

Stage one finds forces for the unactuated rows (convex MPC on the single rigid body, or a balance QP at the present
time); stage two finds joint torques (the whole-body QP, or Jᵀf with impedance for swing feet). The whole tick is plain
NumPy, solvers included (``locomotion_tick``), and is compiled with the physics.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

import nptrace
from footfall.checks import is_number
from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed, check_command
from footfall.control.locomotion.driven import actuated_joints
from footfall.control.locomotion.last_sensed import sensed_names
from footfall.control.locomotion.locomotion_tick import (
    QP_FAILURES,
    gait_numbers,
    locomotion_tick,
)
from footfall.control.locomotion.reach import Reach, hand_of
from footfall.control.locomotion.reflexes import Reflexes
from footfall.control.locomotion.reflexes.log import new_events, update_last_acting
from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.locomotion.rolling import wheels_of
from footfall.control.locomotion.single_body import SingleBody
from footfall.control.locomotion.types import COMMAND_LIMITS, LocomotionModel, Memory
from footfall.control.locomotion.whole_body import LocomotionGains
from footfall.control.posture import standing_joints
from footfall.errors import InputError, TraceError, unknown
from footfall.gait.pattern import LEGS, Gait, trot
from footfall.hints import LOCOMOTION, names_arguments
from footfall.identity import digest_of
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import Given, PyTree, Scalar
from nptrace.array_types import Float

STAGES = ("balance", "mpc", "whole_body")
_FULL_STRIDE_SPEED = 0.5  # [m/s] of command from which joints that swing with the legs swing fully
_PROGRAMS = {"balance": "balance program", "mpc": "MPC", "whole_body": "MPC"}  # QPs of stage one


@names_arguments("argument of Locomotion", LOCOMOTION)
@dataclass(eq=False, kw_only=True)
class Locomotion(Controller):
    """Whole-body control or MPC of a quadruped that follows a velocity command.

    stage: ``balance`` and ``mpc`` find forces and use Jᵀf; ``whole_body`` is MPC followed by the whole-body QP.
    ``log`` lists problems with their times: clipped commands, QPs without a solution, sensor readings that are not
    finite. Each is reported when it begins, as an event of recordings.
    """

    gait: Gait = field(default_factory=lambda: trot(duty=0.6))
    stage: str = "whole_body"
    rate: float = 1000.0  # [Hz]
    mpc_rate: float = 40.0  # [Hz]
    friction: float = 0.5
    clearance: float | None = None  # clearance of a swing foot; a fifth of the standing height unless given [m]
    hip_height: float | None = None  # height of the hips over the ground; the robot's stand unless given [m]
    gains: LocomotionGains = field(default_factory=LocomotionGains)
    reflexes: Given = True  # Reflexes, True for the default ones, False for none, or names
    joint_kd: float = 0.01  # damping of all joints, per kg of robot [N m s/rad]
    reach: Reach | None = None  # task of an arm; without one it keeps its posture

    info = ControllerInfo(follows_command=True, uses_foot_forces=True, long_to_compile=True)
    NOT_IN_DIGEST = ("gait", "reflexes")  # these are in its memory: one program serves all values

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise unknown("stage", self.stage, STAGES)
        if not isinstance(self.gait, Gait):
            raise InputError(f"gait of the locomotion must be a Gait, such as ff.gait.trot(), got {self.gait!r}")
        for key in ("rate", "mpc_rate", "friction", "clearance", "joint_kd", "hip_height"):
            value = getattr(self, key)
            if value is None and key in ("clearance", "hip_height"):
                continue
            if not is_number(value) or value < 0 or (value == 0 and key != "joint_kd"):
                raise InputError(f"{key} of the locomotion must be a positive number, got {value!r}")
        if not 1.0 <= self.mpc_rate <= self.rate:
            raise InputError(f"the MPC rate must lie between 1 Hz and {self.rate:g} Hz, got {self.mpc_rate}")
        if self.reach is not None and self.stage != "whole_body":
            raise InputError(f"reaching needs the whole-body QP: stage '{self.stage}' has none")
        self.reflexes = Reflexes.of(self.reflexes)
        self.log: list[tuple[float, str]] = []
        self._failures: set[str] = set()  # present problems, already reported
        self._missing_sensor = ""  # sensor that is failing, already reported
        self._checked: tuple[PyTree, ...] = (None,) * 4  # arguments of the last check of the command
        self.model: LocomotionModel
        self.body: SingleBody
        self._robot: Robot | None = None
        self._compile: Callable[..., PyTree] | None = None

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Return the joint positions in which a run starts."""
        return standing_joints(robot, self.hip_height)

    def gait_phase(self, memory: Memory, t: Scalar) -> tuple[PyTree, PyTree]:
        stride_fraction = np.clip(np.abs(memory.velocity[0]) / _FULL_STRIDE_SPEED, 0.0, 1.0)
        return memory.phase - memory.delays[0], memory.is_walking * stride_fraction

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Return the limits of a command; a gait with short stances, or a robot with long legs, may go faster."""
        self._set_up(robot, GRAVITY if self._robot is None else self.body.gravity)
        gait = GEARS[-1] if self.reflexes.speed_gait else self.gait
        return vars(COMMAND_LIMITS) | {"forward": float(self.model.fastest(gait.duty, gait.period))}

    def limit_reasons(self, robot: Robot) -> dict[str, str]:
        self.command_limits(robot)  # sets up the model
        gait = GEARS[-1] if self.reflexes.speed_gait else self.gait
        return {} if self.model.wheels else {"forward": self.model.legs.reason(gait.duty, gait.period)}

    # -- set-up ------------------------------------------------------------------------------------------------------
    def start(self, robot: Robot) -> Memory:
        missing = [leg for leg in LEGS if leg not in robot.foot_names]
        if missing or not robot.floating:
            has = f"the feet {', '.join(robot.foot_names) or 'none'}" if missing else "a fixed base"
            raise InputError(
                f"locomotion needs a floating robot with the feet {', '.join(LEGS)}, and robot '{robot.name}' has {has}"
            )
        if self.stage == "whole_body" and actuated_joints(robot) is None:
            for motor in robot.actuators:
                if type(motor.torque_limit) is float and motor.torque_limit == 0.0:
                    raise InputError(
                        f"the whole-body QP needs a torque at every joint, and '{motor.joint}' of robot '{robot.name}'"
                        " has none: mpc and balance walk with it"
                    )
        if actuated_joints(robot) is not None and self.reach is not None:
            raise InputError("a robot with closed loops cannot reach with an arm")
        if wheels_of(robot) and self.stage != "whole_body":
            raise InputError("driving on wheels needs the whole-body QP: stage='whole_body'")
        if self.reach is not None:
            hand_of(robot, self.reach.link, self.reach.point)  # raises now if a point cannot be reached
        self._set_up(robot, GRAVITY if self._robot is None else self.body.gravity)
        self.log.clear()
        self._failures.clear()
        self._missing_sensor, self._checked = "", (None,) * 4
        self._last_acting: dict[tuple[str, str], float] = {}
        return Memory.at_start(self.model, self.reflexes)

    def _set_up(self, robot: Robot, gravity: Gravity) -> bool:
        """Set up the model; return whether anything was created anew."""
        if self._robot is not None and self.body.gravity == gravity and _same(self._robot, robot):
            return False
        if not gravity[2] < 0.0:
            raise InputError(f"locomotion needs gravity that points downwards, got {gravity}")
        with nptrace.untraced():  # constants, which outlive the trace that may be running here
            self._make(robot, gravity)
        return True

    def _make(self, robot: Robot, gravity: Gravity) -> None:
        self._robot = robot
        self.model = LocomotionModel.of(
            robot,
            self.gait,
            rate=self.rate,
            friction=self.friction,
            clearance=self.clearance,
            gains=self.gains,
            hip_height=self.hip_height,
            gravity=gravity,
            reach=self.reach,
            stage=self.stage,
            mpc_rate=self.mpc_rate,
            joint_kd=self.joint_kd,
        )
        self.body = self.model.stage_one_body
        self._tick: Callable[..., PyTree] = lambda *arguments: locomotion_tick(self.model, *arguments)

    def prepare(self, robot: Robot, compile: Callable[..., PyTree], gravity: Gravity = GRAVITY) -> None:
        """Compile the controller; called by the simulation."""
        self._set_up(robot, gravity)
        self._compile = compile
        self._compile_tick(robot)

    def _compile_tick(self, robot: Robot) -> None:
        assert self._compile is not None
        q, v = robot.state(standing_joints(robot, self.hip_height))
        sensed, memory = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3))), Memory.at_start(self.model)
        self._tick = self._compile(locomotion_tick, self.model, sensed, Command(), memory)

    # -- a tick ------------------------------------------------------------------------------------------------------
    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Memory
    ) -> tuple[JointCommand, Memory]:
        traced = nptrace.is_tracing()
        if not traced:
            check_command(command)
            self._check_command(t, command)
        if self._set_up(robot, sensed.gravity) and self._compile is not None and not traced:
            self._compile_tick(robot)
        # the controller has no use for more, and is compiled without it
        sensed = Sensed(q=sensed.q, v=sensed.v, forces=sensed.forces)
        if traced:
            return locomotion_tick(self.model, sensed, command, memory)
        joint_command, after = self._tick(sensed, command, self.refresh_memory(memory))
        self._observe(t, memory, after)
        return joint_command, after

    def refresh_memory(self, memory: Memory) -> Memory:
        """Return the memory, updated with the current gait."""
        goal, hand = gait_numbers(self.gait), memory.hand if self.reach is None else self.reach.goal
        if _alike(memory.gait_goal, goal) and (hand is memory.hand or _alike(memory.hand, hand)):
            return memory
        return dataclasses.replace(memory, gait_goal=goal, hand=hand)

    def log_ticks(self, times: ndarray, command: Command, before: Memory, rows: Memory) -> None:
        """Log the events of compiled ticks; ``rows`` has the memories after them."""
        if not len(times):
            return
        if self.log:
            self.log[:] = [entry for entry in self.log if entry[0] < times[0]]
        self._check_command(float(times[0]), command)
        acting, failures = np.asarray(rows.reflex.acting), np.asarray(rows.trouble)
        if len(times) == 1 and _alike(acting, before.reflex.acting) and _alike(failures, before.trouble):
            update_last_acting(float(times[0]), acting[0], self._last_acting)
            return
        begun_before = np.concatenate([np.asarray(before.reflex.acting)[None], acting[:-1]])
        failures_before = np.concatenate([np.asarray(before.trouble)[None], failures[:-1]])
        changed = (acting != begun_before).any(axis=(1, 2)) | (failures != failures_before).any(axis=1)
        for k in np.flatnonzero(changed).tolist():
            if k:
                update_last_acting(float(times[k - 1]), acting[k - 1], self._last_acting)
            self._observe(float(times[k]), before if k == 0 else _row(rows, k - 1), _row(rows, k))
        update_last_acting(float(times[-1]), acting[-1], self._last_acting)

    def _observe(self, t: float, before: Memory, after: Memory) -> None:
        self.log += new_events(t, before.reflex, after.reflex, self._last_acting)
        self._log_missing_sensor(t, after.trouble[2])
        one, two = (QP_FAILURES[round(float(code))] for code in after.trouble[:2])
        self._log_failure(t, self.stage, one and f"{_PROGRAMS[self.stage]}: {one}; the feet share the weight equally")
        self._log_failure(t, "torques", two and f"whole-body QP: {two}; the feet that are down hold the weight")

    def _check_command(self, t: float, command: Command) -> None:
        assert self._robot is not None
        given = (command, self.gait, self.reflexes, self.model)
        if command == self._checked[0] and all(map(operator.is_, given[1:], self._checked[1:])):  # at an earlier tick
            return
        self._checked = given
        for key, limit in self.command_limits(self._robot).items():
            value = getattr(command, key)
            clipped = f"the command {key} = {value:g} is clipped to ±{limit:.3g}" if abs(value) > limit else ""
            self._log_failure(t, key, clipped)

    def _log_failure(self, t: float, key: str, message: str) -> None:
        """Log what is wrong when it begins, not every tick."""
        if message and key not in self._failures:
            self.log.append((t, message))
        (self._failures.add if message else self._failures.discard)(key)

    def _log_missing_sensor(self, t: float, code: Scalar) -> None:
        """Log which sensor reports an invalid number, when it starts."""
        assert self._robot is not None
        name = sensed_names(self._robot)[-round(float(code))] if code > 0.5 else ""
        if name and name != self._missing_sensor:
            self.log.append((t, f"{name} is not finite; the feet that are down hold the weight"))
        self._missing_sensor = name

    def switch(self, gait: Gait) -> None:
        """Change to another gait while walking: delays, duty and period move over within about a second."""
        self.gait = gait


def _alike(one: PyTree, other: PyTree) -> bool:
    """Return whether two arrays of the same shape are equal, faster than NumPy does."""
    return bool(np.asarray(one, float).tobytes() == np.asarray(other, float).tobytes())


def _row(rows: Memory, k: int) -> Memory:
    """Return one memory out of many, restricted to the fields that a log needs."""
    reflex = dataclasses.replace(
        rows.reflex, acting=rows.reflex.acting[k], friction=np.asarray(rows.reflex.friction)[k]
    )
    return dataclasses.replace(rows, reflex=reflex, trouble=rows.trouble[k])


def _same(one: Robot, other: Robot) -> bool:
    """Return whether two robots are the same, including poses, which are not part of a digest."""
    if one is other:
        return True
    if digest_of(other) is None:
        raise TraceError(
            "Locomotion needs constant robot parameters, and here some of them are inputs: FixedModel(Locomotion(),"
            " robot) plans with the parameters of the given robot"
        )
    if one.digest != other.digest:
        return False
    a, b = (robot.poses["stand"].joints if "stand" in robot.poses else None for robot in (one, other))
    return a is b or (a is not None and b is not None and bool(np.array_equal(a, b)))


__all__ = ["COMMAND_LIMITS", "STAGES", "Locomotion"]

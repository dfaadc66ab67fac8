"""Locomotion under a velocity command: a gait's schedule, footsteps, contact forces in two stages, joint torques.

Stage one finds forces for the rows that no torque reaches (convex MPC on the single rigid body, or a balance program on
the present moment); stage two finds joint torques (the whole-body program, or Jᵀf with impedance for swinging feet).
The whole tick is plain NumPy, solvers included (``locomotion_tick``), and is compiled with the physics. With
``solver="daqp"`` the programs go to that solver instead: then it runs in Python at its own rate, and only what is not a
solver is compiled, when a simulation hands over the compiler (``prepare``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall import numeric
from footfall.checks import is_number
from footfall.control.interface import Command, ControllerBase, JointCommand, Sensed, check_command
from footfall.control.locomotion.balance import balance_forces
from footfall.control.locomotion.driven import driven_of
from footfall.control.locomotion.last_sensed import LastSensed, sensed_names, trusted
from footfall.control.locomotion.legged_plan import LIMITS, Memory, Plan, Walker, plan
from footfall.control.locomotion.locomotion_tick import (
    MPC_STEP,
    TROUBLES,
    Walking,
    beat_of,
    locomotion_tick,
    shared_weight,
    towards_gait,
)
from footfall.control.locomotion.qp import solve_bounded
from footfall.control.locomotion.reach import Reach, hand_of
from footfall.control.locomotion.reflexes import Reflexes
from footfall.control.locomotion.reflexes.log import begun, still_acting
from footfall.control.locomotion.reflexes.responses import GEARS
from footfall.control.locomotion.reflexes.safe_stop import crouch, fold
from footfall.control.locomotion.rolling import wheels_of
from footfall.control.locomotion.single_body import ConvexMpc, SingleBody
from footfall.control.locomotion.whole_body import Gains, leg_torques, torque_bounds
from footfall.control.posture import standing_joints
from footfall.errors import InputError, TraceError, unknown
from footfall.gait.pattern import LEGS, Gait, trot
from footfall.gravity import GRAVITY, Gravity
from footfall.identity import digest_of
from footfall.nests import Given, Nest, Scalar
from footfall.robot.model.description import Robot
from footfall.spatial.quaternion import to_rotation
from footfall.spatial.rotation import about_z

STAGES = ("balance", "mpc", "whole_body")
_FULL_STRIDE = 0.5  # [m/s] of command, from which on what swings with the legs swings fully
SOLVERS = ("inside", "daqp")
_FINE = 8
_PROGRAMS = {"balance": "balance program", "mpc": "MPC", "whole_body": "MPC"}  # of stage one


@dataclass(eq=False)
class Locomotion(ControllerBase):
    """A quadruped that follows a velocity command.

    stage: ``balance`` and ``mpc`` find forces and use Jᵀf; ``whole_body`` is MPC above the whole-body program.
    solver: ``inside`` is part of the controller and compiled with it; ``daqp`` is called from Python.
    ``log`` lists what went wrong since the start, with its time: commands that were clipped, programs without a
    solution, sensors that say what is no number. Each is said when it begins, and a recording has it as an event.
    """

    gait: Gait = field(default_factory=lambda: trot(duty=0.6))
    stage: str = "whole_body"
    rate: float = 1000.0  # [Hz]
    mpc_rate: float = 40.0  # [Hz]
    friction: float = 0.5
    clearance: float | None = None  # of a swinging foot; a fifth of the standing height unless given [m]
    hip_height: float | None = None  # of the hips over the ground; the robot's stand unless given [m]
    gains: Gains = field(default_factory=Gains)
    reflexes: Given = True  # Reflexes, True for the usual ones, False for none, or names
    joint_kd: float = 0.01  # of all joints, per kg of robot [N m s/rad]
    solver: str = "inside"
    reach: Reach | None = None  # what an arm does meanwhile; it keeps its posture without

    uses_foot_forces = True
    long_to_compile = True
    NOT_IN_DIGEST = ("gait", "reflexes")  # they are in its memory: one program serves all of them

    follows_command = True

    def __post_init__(self) -> None:
        if self.stage not in STAGES:
            raise unknown("stage", self.stage, STAGES)
        if self.solver not in SOLVERS:
            raise unknown("solver", self.solver, SOLVERS)
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
            raise InputError(f"an arm reaches in the whole-body program: stage '{self.stage}' has none")
        self.reflexes = Reflexes.of(self.reflexes)
        self.log: list[tuple[float, str]] = []
        self._wrong: set[str] = set()  # what is wrong now, and was said
        self._missing = ""  # the sensor that says nothing now, which was said
        self.walker: Walker
        self.body: SingleBody
        self._robot: Robot | None = None
        self._compile: Callable[..., Nest] | None = None

    @property
    def traceable(self) -> bool:  # type: ignore[override]
        """Whether the whole of it can be compiled with the physics."""
        return self.solver == "inside"

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """The joints it stands with, for the start of a run."""
        return standing_joints(robot, self.hip_height)

    def beat(self, memory: Memory, t: Scalar) -> tuple[Nest, Nest]:
        part = np.clip(np.abs(memory.velocity[0]) / _FULL_STRIDE, 0.0, 1.0)
        return memory.phase - memory.delays[0], memory.walking * part

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Beyond these a command is clipped; a gait that stands shortly, or a robot with long legs, may go faster."""
        self._set_up(robot, GRAVITY if self._robot is None else self.body.gravity)
        gait = GEARS[-1] if self.reflexes.speed_gait else self.gait
        return dataclasses.asdict(LIMITS) | {"forward": float(self.walker.fastest(gait.duty, gait.period))}

    # -- set-up ------------------------------------------------------------------------------------------------------
    def start(self, robot: Robot) -> Memory:
        missing = [leg for leg in LEGS if leg not in robot.foot_names]
        if missing or not robot.floating:
            raise InputError(f"locomotion needs a floating robot with the feet {', '.join(LEGS)}")
        if driven_of(robot) is not None and (self.reach is not None or self.solver != "inside"):
            raise InputError("a robot with closed loops walks with its solver inside, and reaches for nothing")
        if wheels_of(robot) and (self.stage != "whole_body" or self.solver != "inside"):
            raise InputError("wheels roll in the whole-body program with its solver inside: stage 'whole_body'")
        if self.reach is not None:
            hand_of(robot, self.reach.link, self.reach.point)  # says now what cannot reach
        self._set_up(robot, GRAVITY if self._robot is None else self.body.gravity)
        self.log.clear()
        self._wrong.clear()
        self._missing = ""
        self._told: dict[tuple[str, str], float] = {}
        return Memory.at_start(self.walker, self.reflexes)

    def _set_up(self, robot: Robot, gravity: Gravity) -> bool:
        """Whether anything had to be made anew."""
        if self._robot is not None and self.body.gravity == gravity and _same(self._robot, robot):
            return False
        if not gravity[2] < 0.0:
            raise InputError(f"locomotion needs a gravity that pulls the robot down, got {gravity}")
        with numeric.untraced():  # constants, which outlive the trace that may run here
            self._make(robot, gravity)
        return True

    def _make(self, robot: Robot, gravity: Gravity) -> None:
        self._robot = robot
        self.walker = Walker.of(
            robot,
            self.gait,
            self.rate,
            self.friction,
            self.clearance,
            self.gains,
            self.hip_height,
            gravity,
            self.reach,
        )
        self.body = self.walker.body
        if self.stage != "whole_body":  # which finds torques that move the trunk as asked, whatever its inertia
            self.body = SingleBody.on_its_feet(robot, self.walker.stand, gravity)
        self.limits = torque_bounds(self.walker.own)
        self.crouch = crouch(robot, self.hip_height)
        self.walking = Walking(
            self.walker, self.body, self.stage, self.mpc_rate, self.joint_kd, self.limits, self.crouch
        )
        self._plan: Callable[..., Nest] = lambda *arguments: plan(self.walker, *arguments)
        self._tick: Callable[..., Nest] = lambda *arguments: locomotion_tick(self.walking, *arguments)

    def prepare(self, robot: Robot, compile: Callable[..., Nest], gravity: Gravity = GRAVITY) -> None:
        """Compile what can be; called by the simulation, which has the compiler."""
        self._set_up(robot, gravity)
        self._compile = compile
        self._compile_plan(robot)

    def _compile_plan(self, robot: Robot) -> None:
        assert self._compile is not None
        q, v = robot.state(standing_joints(robot, self.hip_height))
        sensed, memory = Sensed(q, v, np.zeros((robot.nf, 3))), Memory.at_start(self.walker)
        if self.traceable:
            self._tick = self._compile(locomotion_tick, self.walking, sensed, Command(), memory)
        else:
            self._plan = self._compile(plan, self.walker, sensed, Command(), memory)

    # -- a tick ------------------------------------------------------------------------------------------------------
    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: Memory
    ) -> tuple[JointCommand, Memory]:
        traced = numeric.tracer.get() is not None
        if not traced:
            check_command(command)
            self._check_command(t, command)
        if self._set_up(robot, sensed.gravity) and self._compile is not None and not traced:
            self._compile_plan(robot)
        sensed = Sensed(sensed.q, sensed.v, sensed.forces)  # it has no use for more, and is compiled without
        if traced:
            return locomotion_tick(self.walking, sensed, command, memory)
        if not self.traceable:
            return self._by_daqp(t, sensed, command, self.renewed(memory))
        asked, after = self._tick(sensed, command, self.renewed(memory))
        self._observe(t, memory, after)
        return asked, after

    def renewed(self, memory: Memory) -> Memory:
        """The memory, which knows the gait that is wanted now."""
        goal, hand = beat_of(self.gait), memory.hand if self.reach is None else self.reach.wanted
        if np.array_equal(memory.goal, goal) and np.array_equal(memory.hand, hand):
            return memory
        return dataclasses.replace(memory, goal=goal, hand=hand)

    def observe(self, times: ndarray, command: Command, before: Memory, rows: Memory) -> None:
        """Log what happened in ticks that were run without Python: ``rows`` has the memories after them."""
        if not len(times):
            return
        self.log[:] = [entry for entry in self.log if entry[0] < times[0]]
        self._check_command(float(times[0]), command)
        acting, trouble = np.asarray(rows.reflex.acting), np.asarray(rows.trouble)
        begun_before = np.concatenate([np.asarray(before.reflex.acting)[None], acting[:-1]])
        wrong_before = np.concatenate([np.asarray(before.trouble)[None], trouble[:-1]])
        changed = (acting != begun_before).any(axis=(1, 2)) | (trouble != wrong_before).any(axis=1)
        for k in np.flatnonzero(changed).tolist():
            if k:
                still_acting(float(times[k - 1]), acting[k - 1], self._told)
            self._observe(float(times[k]), before if k == 0 else _row(rows, k - 1), _row(rows, k))
        still_acting(float(times[-1]), acting[-1], self._told)

    def _observe(self, t: float, before: Memory, after: Memory) -> None:
        self.log += begun(t, before.reflex, after.reflex, self._told)
        self._tell_missing(t, after.trouble[2])
        one, two = (TROUBLES[round(float(code))] for code in after.trouble[:2])
        self._tell(t, self.stage, one and f"{_PROGRAMS[self.stage]}: {one}; the weight is shared")
        self._tell(t, "torques", two and f"whole-body program: {two}; the feet that are down hold the weight")

    def _by_daqp(self, t: float, sensed: Sensed, command: Command, memory: Memory) -> tuple[JointCommand, Memory]:
        """The same tick with its programs solved outside."""
        assert self._robot is not None
        sensed, command, missing = trusted(sensed, command, memory.last)
        found, after = self._plan(sensed, command, towards_gait(self.walker, memory))
        self._tell_missing(t, missing)
        if missing > 0.5:
            torque = leg_torques(self._robot, found, after.down, shared_weight(self.body, after.down), self.limits)
            troubles = np.array([*memory.trouble[:2], missing])
            asked = JointCommand(velocity=np.zeros(len(torque)), kd=self.joint_kd * self._robot.mass, torque=torque)
            return asked, dataclasses.replace(memory, trouble=troubles)
        self.log += begun(t, memory.reflex, after.reflex, self._told)
        after = dataclasses.replace(after, last=LastSensed(sensed.q, sensed.v, sensed.forces), trouble=np.zeros(3))
        if after.reflex.folded > 0.5:
            return fold(self.crouch, sensed.q[7:], self.limits, self.body.weight), after
        forces = self._forces(t, sensed, command, found, memory, after)
        after = dataclasses.replace(after, forces=forces)
        torque = self._torque(t, sensed, found, after)
        return JointCommand(velocity=sensed.v[6:], kd=self.joint_kd * self._robot.mass, torque=torque), after

    def _check_command(self, t: float, command: Command) -> None:
        assert self._robot is not None
        for key, most in self.command_limits(self._robot).items():
            asked = getattr(command, key)
            clipped = f"the command {key} = {asked:g} is clipped to ±{most:.3g}" if abs(asked) > most else ""
            self._tell(t, key, clipped)

    def _tell(self, t: float, key: str, wrong: str) -> None:
        """Log what is wrong when it begins, not every tick."""
        if wrong and key not in self._wrong:
            self.log.append((t, wrong))
        (self._wrong.add if wrong else self._wrong.discard)(key)

    def _tell_missing(self, t: float, code: Scalar) -> None:
        """Log which sensor says what is no number, when it begins."""
        assert self._robot is not None
        name = sensed_names(self._robot)[-round(float(code))] if code > 0.5 else ""
        if name and name != self._missing:
            self.log.append((t, f"{name} is not finite; the feet that are down hold the weight"))
        self._missing = name

    def switch(self, gait: Gait) -> None:
        """Change to another gait while walking: delays, duty and period move over within about a second."""
        self.gait = gait

    def _forces(
        self, t: float, sensed: Sensed, command: Command, found: Plan, before: Memory, after: Memory
    ) -> Float[ndarray, "4 3"]:
        """Stage one: at its own rate, and whenever a foot has come or gone."""
        if self.stage == "balance":
            forces, status = balance_forces(self.body, sensed, found, after.down, float(found.friction))
            self._tell(t, "balance", "" if forces is not None else f"balance program: {status}; the weight is shared")
            return shared_weight(self.body, after.down) if forces is None else forces
        every = max(1, round(self.rate / self.mpc_rate))
        if int(before.tick) % every and (after.down == before.down).all():
            return before.forces
        forces, status = self._mpc(sensed, command, found, after)
        self._tell(t, "mpc", "" if forces is not None else f"MPC: {status}; the weight is shared")
        return shared_weight(self.body, after.down) if forces is None else forces

    def _mpc(
        self, sensed: Sensed, command: Command, found: Plan, after: Memory
    ) -> tuple[Float[ndarray, "4 3"] | None, str]:
        mpc = ConvexMpc(self.body, friction=float(found.friction))
        walking = after.walking > 0.5
        dt = MPC_STEP
        R, yaw = to_rotation(sensed.q[3:7]), float(found.euler[2])
        com = sensed.q[:3] + R @ self.body.com
        x = np.concatenate([found.euler, com, R @ sensed.v[:3], R @ sensed.v[3:6]])
        times = dt * np.arange(1, mpc.steps + 1)
        turn = float(after.velocity[2])
        place = np.array([after.wanted[0], after.wanted[1]]) + np.outer(times, found.travel[:2])
        offset = about_z(yaw) @ self.body.com
        reference = np.zeros((mpc.steps, 12))
        reference[:, :2] = found.level
        reference[:, 2] = yaw + np.remainder(after.wanted[2] - yaw + np.pi, 2 * np.pi) - np.pi + turn * times
        reference[:, 3:5] = place + offset[:2]
        reference[:, 5] = place @ found.slope[:2] + found.slope[2] + found.lift + offset[2]
        reference[:, 8], reference[:, 9:12] = turn, found.travel
        share, ahead = np.ones((mpc.steps, 4)), np.zeros((mpc.steps, 4))
        if walking:  # finer than the steps, so that a foot that is about to lift counts for what it still gives
            fine = (np.arange(mpc.steps * _FINE) + 0.5) * dt / _FINE
            duty, period = found.beat
            phases = np.remainder((after.phase + fine / period)[:, None] - after.delays, 1.0)
            share = (phases < duty).reshape(mpc.steps, _FINE, 4).mean(axis=1)
            own = np.remainder(after.phase - after.delays, 1.0)  # and a foot that comes again comes further on
            ahead = period * np.maximum(0.0, np.floor(own + (times - 0.5 * dt)[:, None] / period) - (own >= duty))
        share[0] = np.where(after.down > 0.5, np.maximum(share[0], 0.2), 0.0)
        stand = np.where((after.down > 0.5)[:, None], found.feet, found.touchdown)
        stand = stand - np.array([[0.0, 0.0, foot.radius] for foot in self.walker.robot.feet[:4]])
        # arms from where the body will be, not from where it is wanted: centimetres make newton metres
        feet = stand - (com + np.outer(times - 0.5 * dt, found.travel))[:, None]
        feet += ahead[:, :, None] * (found.travel + np.cross([0.0, 0.0, turn], stand - com))
        forces, solution = mpc.solve(x, reference, share, feet, found.normal, dt)
        return forces, solution.status

    def _torque(self, t: float, sensed: Sensed, found: Plan, after: Memory) -> Float[ndarray, "nj"]:
        """Stage two."""
        if self.stage != "whole_body":
            return self._transposed(sensed, found, after)
        program, nv = found.program, len(found.bias)
        f = program.f + program.F @ after.forces.ravel()
        solution = solve_bounded(program.H, f, program.A, program.low, program.high)
        if solution.x is None:
            wrong = f"whole-body program: {solution.status}; the feet that are down hold the weight"
            self._tell(t, "whole_body", wrong)
            return self._transposed(sensed, found, after)
        self._tell(t, "whole_body", "")
        torque = program.A[6:nv] @ solution.x + found.bias[6:]
        return np.clip(torque, -self.limits, self.limits)

    def _transposed(self, sensed: Sensed, found: Plan, after: Memory) -> Float[ndarray, "nj"]:
        assert self._robot is not None
        return leg_torques(self._robot, found, after.down, after.forces, self.limits)


def _row(rows: Memory, k: int) -> Memory:
    """One memory out of many, as far as a log is made of it."""
    reflex = dataclasses.replace(
        rows.reflex, acting=rows.reflex.acting[k], friction=np.asarray(rows.reflex.friction)[k]
    )
    return dataclasses.replace(rows, reflex=reflex, trouble=rows.trouble[k])


def _same(one: Robot, other: Robot) -> bool:
    """Poses are no part of a robot's digest."""
    if one is other:
        return True
    if digest_of(other) is None:
        raise TraceError(
            "Locomotion plans with the robot's numbers, and here some of them are inputs: FixedModel(Locomotion(),"
            " robot) plans with those of the robot it is given"
        )
    if one.digest != other.digest:
        return False
    a, b = (robot.poses["stand"].joints if "stand" in robot.poses else None for robot in (one, other))
    return a is b or (a is not None and b is not None and bool(np.array_equal(a, b)))


__all__ = ["LIMITS", "SOLVERS", "STAGES", "Locomotion"]

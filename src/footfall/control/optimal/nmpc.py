"""Nonlinear model predictive control of the whole robot: one warm-started iteration of ``trajectory.improved`` per
solve, and its gains between solves. The contact schedule comes from a gait, or contacts are found.

Knots lie on a time grid that advances by a knot when one has passed; the first knot lasts for the rest of its interval.
So the trajectory of the last solve is directly a guess for the next one. Where contacts are found, knots are whole
steps of the simulator: they start at every solve, and the guess is the last trajectory, interpolated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy import ndarray

import nptrace
from footfall.checks import checked_number, whole_number
from footfall.contact.ground import Ground, as_ground
from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed, check_command
from footfall.control.locomotion.footsteps import ground_slope
from footfall.control.locomotion.speed_limit import LegLimits
from footfall.control.locomotion.types import COMMAND_LIMITS
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.optimal.between_solves import TickConstants, act, follow, lowest_points, read_between
from footfall.control.optimal.gait_goals import GaitGoals, GaitState, Heights, Prices, window
from footfall.control.optimal.horizon import AimedProblem, FindingHorizon, HorizonProblem
from footfall.control.optimal.knot import Goal, KnotModel
from footfall.control.optimal.trajectory import Trajectory, improve
from footfall.control.posture import standing_joints, standing_state
from footfall.control.stand_gains import stand_gains
from footfall.errors import FootfallError, InputError, unknown
from footfall.gait.pattern import LEGS, Gait, trot
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Operand, PyTree
from nptrace.array_types import Float

# entries of the memory
_FOLLOW_KEYS = ("velocity", "pose_des", "is_walking", "phase", "v_mean", "lift_off", "last_down", "feet")
_SEARCH_HEIGHT, _SEARCH_STEPS = 3.0, 40  # [m] from which the ground is searched, and in how many steps down
_GUESS_STIFFNESS = 5.0  # stiffness of joints in a first guess [N m/rad]
_FIRST_ITERATIONS = 8  # iterations of the first solve, which has no warm start
_MAX_KNOTS = 1000  # with more knots, a solve takes longer than what it plans
SCHEDULED, IMPLICIT = CONTACTS = ("scheduled", "implicit")
_FREE_JOINT_RANGE = 3.0  # [rad]: range of joints without limits, about the stand


@dataclass(eq=False, kw_only=True)
class Nmpc(Controller):
    """Nonlinear MPC with the whole-body model, for a quadruped that follows a velocity command.

    ``log`` lists clipped commands and restarted solves, with their times.
    """

    gait: Gait = field(default_factory=lambda: trot(duty=0.6))
    rate: float = 1000.0  # rate of the gains [Hz]
    solve_rate: float = 200.0  # [Hz]
    knots: int = 25
    knot: float = 0.02  # [s]
    friction: float = 0.5
    clearance: float | None = None  # clearance of a swing foot; a fifth of the standing height unless given [m]
    hip_height: float | None = None  # height of the hips over the ground; the robot's stand unless given [m]
    prices: Prices = field(default_factory=Prices)
    barrier: float = 0.1  # weight of inequalities
    ground: Ground | None = None  # known terrain; without it, the plane through the last footholds
    plan: Goal | None = None  # knots to follow, on the same grid, instead of a gait and a command
    joint_kd: float = 0.01  # damping of all joints about their planned rates, per kg of robot [N m s/rad]
    # feet are in contact as scheduled by the gait; or implicit: as found by the simulator's step
    contact: str = SCHEDULED

    info = ControllerInfo(traceable=False, follows_command=True)

    def __post_init__(self) -> None:
        for key in ("rate", "solve_rate", "knot", "friction", "barrier"):
            checked_number(getattr(self, key), f"{key} of nmpc", 0.0, above=True)
        if self.solve_rate > self.rate or self.rate / self.solve_rate > self.rate * self.knot:
            raise InputError(f"nmpc must solve at least once per knot and at most at its rate of {self.rate:g} Hz")
        for key in ("clearance", "hip_height", "joint_kd"):
            if (value := getattr(self, key)) is not None or key == "joint_kd":
                checked_number(value, f"{key} of nmpc", 0.0, above=key != "joint_kd")
        self.knots = whole_number(self.knots, "the knots of nmpc", 2, _MAX_KNOTS)
        for key, kind in {"gait": Gait, "prices": Prices, "plan": Goal | None}.items():
            if not isinstance(value := getattr(self, key), kind):
                raise InputError(f"{key} of nmpc must be a {key.capitalize()}, got {value!r}")
        if self.contact not in CONTACTS:
            raise unknown("contact of nmpc", self.contact, CONTACTS)
        if isinstance(self.ground, str):
            raise InputError(f"ground of nmpc must be a Ground, such as contact.Plane(), got {self.ground!r}")
        if self.ground is not None:
            self.ground = as_ground(self.ground)
        if self.plan is not None and not np.allclose(self.plan.interval, self.knot):
            raise InputError(f"the knots of a plan for nmpc must last {self.knot:g} s, like its own knots")
        self.log: list[tuple[float, str]] = []
        self._failures: set[str] = set()
        self.goals: GaitGoals
        self.problem: AimedProblem | None = None
        self._finding: FindingHorizon | None = None
        self._legs: tuple[Robot, LegLimits] | None = None  # a robot, and the capabilities of its legs
        self._last_command: Command | None = None

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        return standing_joints(robot, self.hip_height)

    def command_limits(self, robot: Robot) -> dict[str, float]:
        if self._legs is None or self._legs[0] is not robot:  # it is called at every tick
            self._legs = robot, LegLimits.of(robot, standing_joints(robot, self.hip_height))
        forward = float(self._legs[1].fastest(self.gait.duty, self.gait.period))
        return {"forward": forward, "sideways": COMMAND_LIMITS.sideways, "turn": COMMAND_LIMITS.turn}

    def limit_reasons(self, robot: Robot) -> dict[str, str]:
        self.command_limits(robot)
        assert self._legs is not None
        return {"forward": self._legs[1].reason(self.gait.duty, self.gait.period)}

    def over(self, ground: Ground) -> Nmpc:
        """Return this controller with a known ground: it adapts its footholds to the terrain ahead."""
        return replace(self, ground=ground)

    # -- set-up ------------------------------------------------------------------------------------------------------
    def start(self, robot: Robot) -> dict[str, ndarray]:
        if not robot.floating or tuple(robot.foot_names) != LEGS:
            raise InputError(f"nmpc needs a floating robot with the feet {', '.join(LEGS)} and no others")
        if robot.loops:
            raise InputError(f"nmpc does not support closed loops, which robot '{robot.name}' has: use JointPD")
        self.log.clear()
        self._failures.clear()
        self._last_command = None
        q, v = standing_state(robot, self.hip_height)
        x, N = np.concatenate([q, v]), self.knots
        feet = lowest_points(robot, q)
        return {
            "tick": np.zeros(()),
            "phase": np.zeros(()),
            "is_walking": np.zeros(()),
            "pose_des": np.zeros(3),
            "velocity": np.zeros(3),
            "v_mean": np.zeros(2),
            "lift_off": feet,
            "last_down": feet,
            "into": np.zeros(()),
            "since": np.zeros(()),
            "feet": feet,
            "x": np.tile(x, (N + 1, 1)),
            "u": np.zeros((N, robot.nj)),
            "gains": np.zeros((N, robot.nj, 2 * robot.nv)),
            "solved": np.zeros(()),
        }

    def set_horizon(self, horizon: FindingHorizon) -> None:
        """Receive the factory of horizons of the simulator's steps."""
        self._finding = horizon

    def prepare(self, robot: Robot, compile: Callable[..., PyTree], gravity: Gravity = GRAVITY) -> None:
        """Compile the horizon; called by the simulation."""
        stand = standing_joints(robot, self.hip_height)
        joints = [body.joint for body in robot.tree.bodies[1:] if body.joint is not None]
        low = np.maximum([joint.lower for joint in joints], stand - _FREE_JOINT_RANGE)
        high = np.minimum([joint.upper for joint in joints], stand + _FREE_JOINT_RANGE)
        model = KnotModel(
            robot=robot,
            limits=torque_bounds(robot),
            low=low,
            high=high,
            friction=self.friction,
            price=self.barrier,
            gravity=gravity,
        )
        heights = None if self.ground is None else _heights(self.ground, compile)
        self.goals = GaitGoals.of(model, self.knots, self.knot, self.clearance, self.hip_height, self.prices, heights)
        q, v = standing_state(robot, self.hip_height)
        x, feet = np.concatenate([q, v]), lowest_points(robot, q)
        still = GaitState(
            x=x,
            pose_des=np.zeros(3),
            velocity=np.zeros(3),
            v_mean=np.zeros(2),
            cycle=np.zeros(4),
            is_walking=False,
            feet=feet,
            lift_off=feet,
            plane=np.zeros(3),
            time_left=self.knot,
        )
        self.problem = self._horizon(model, self.goals(self.gait, still), compile)
        ticks = TickConstants(model, self.gait, self.rate)
        none, three = np.zeros(()), np.zeros(3)
        walk = three, three, three, none, none, np.zeros(2), feet, feet
        self._follow = compile(follow, ticks, q, v, *walk, verify=False)
        gains = np.zeros((robot.nj, 2 * robot.nv))
        self._act = compile(act, ticks, x, x, x, np.zeros(robot.nj), gains, none, verify=False)
        self._gains = stand_gains(robot, gravity)

    def _horizon(self, model: KnotModel, goals: Goal, compile: Callable[..., PyTree]) -> AimedProblem:
        if self.contact == SCHEDULED:
            return HorizonProblem(model, goals, compile)
        if self._finding is None:
            raise InputError(
                "nmpc with contact 'implicit' plans with the step of a simulation: pass it to a Simulation"
            )
        return self._finding(model, goals, compile, self.ground)

    # -- a tick ------------------------------------------------------------------------------------------------------
    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        if self.problem is None:
            raise InputError(
                "nmpc must be compiled before it runs: pass it to a Simulation, or call prepare(robot, compile)"
            )
        x = np.concatenate([sensed.q, sensed.v])
        if not np.isfinite(x).all():
            raise InputError("the sensed q and v of nmpc must be finite")
        memory = self._follow_command(sensed, self._clipped_command(t, robot, command), memory)
        if round(float(memory["tick"])) % max(1, round(self.rate / self.solve_rate)) == 0:
            memory = self._solve(t, robot, x, memory)
        memory["tick"] = memory["tick"] + 1.0
        if memory["solved"] < 0.5:  # no valid solution: the legs hold as much as they can
            kp, kd = self._gains
            return JointCommand(self.goals.stand, 0.0, kp, kd), memory
        states, since = memory["x"], float(memory["since"])
        fraction = min(1.0, since / (self.knot - float(memory["into"])))
        torque, rates = self._act(x, states[0], states[1], memory["u"][0], memory["gains"][0], fraction)
        memory["since"] = np.array(since + 1.0 / self.rate)
        none = np.zeros(robot.nj)
        return JointCommand(none, rates, none, np.full(robot.nj, self.joint_kd * robot.mass), torque), memory

    def _follow_command(
        self, sensed: Sensed, velocity_command: Float[ndarray, "3"], memory: dict[str, ndarray]
    ) -> dict[str, ndarray]:
        """Return a new memory in which the command has been followed for a tick."""
        pose_des = memory["pose_des"]
        if memory["tick"] < 0.5:
            R = to_rotation(sensed.q[3:7])
            pose_des = np.array([*sensed.q[:2], np.arctan2(R[1, 0], R[0, 0])])
        before = (memory[key] for key in _FOLLOW_KEYS[2:7])
        after = self._follow(sensed.q, sensed.v, velocity_command, memory["velocity"], pose_des, *before)
        return {**memory, **dict(zip(_FOLLOW_KEYS, map(np.asarray, after)))}

    def _clipped_command(self, t: float, robot: Robot, command: Command) -> Float[ndarray, "3"]:
        """Return the command within its limits; exceeded limits are logged when they change."""
        if command is not self._last_command:
            check_command(command)
            limits = self.command_limits(robot)
            self._clipped_values = np.array(
                [self._clipped(t, key, getattr(command, key), limit) for key, limit in limits.items()]
            )
            self._last_command = command
        return self._clipped_values

    def _solve(self, t: float, robot: Robot, x: ndarray, memory: dict[str, ndarray]) -> dict[str, ndarray]:
        """Run one iteration, or several without a warm start."""
        assert self.problem is not None
        into, (states, u, gains) = float(memory["into"] + memory["since"]), (memory[k] for k in ("x", "u", "gains"))
        if self.contact != SCHEDULED:
            states, u, gains = (read_between(rows, into / self.knot) for rows in (states, u, gains))
            into = 0.0
        elif into > self.knot - 1e-9:  # the first knot has passed
            into -= self.knot
            states, u, gains = (np.concatenate([rows[1:], rows[-1:]]) for rows in (states, u, gains))
        plane, _ = ground_slope(memory["last_down"])
        cycle = float(memory["phase"]) - np.array(self.gait.delays)
        steps = GaitState(
            x=x,
            pose_des=memory["pose_des"],
            velocity=memory["velocity"],
            v_mean=memory["v_mean"],
            cycle=cycle,
            is_walking=bool(memory["is_walking"] > 0.5),
            feet=memory["feet"],
            lift_off=memory["lift_off"],
            plane=plane,
            time_left=self.knot - into,
        )
        goals = self.goals(self.gait, steps)
        if self.plan is not None:
            goals = window(self.plan, round((t - into) / self.knot), self.knots, self.knot - into, self.prices.last)
        self.problem.aim(goals)
        about = Trajectory(np.concatenate([x[None], states[1:]]), u, gains)
        try:
            found = improve(self.problem, about, x) if memory["solved"] > 0.5 else self._first_trajectory(x, goals)
            self._log_failure(t, "solve", "")
        except FootfallError as wrong:
            self._log_failure(t, "solve", f"nmpc restarts: {wrong}")
            return {**memory, "into": np.zeros(()), "since": np.zeros(()), "solved": np.zeros(())}
        return {
            **memory,
            "x": found.x,
            "u": found.u,
            "gains": found.gains,
            "into": np.array(into),
            "since": np.zeros(()),
            "solved": np.ones(()),
        }

    def _first_trajectory(self, x: ndarray, goals: PyTree) -> Trajectory:
        """Return a trajectory from the goals alone."""
        assert self.problem is not None
        u, nj = goals.torque[:-1], goals.torque.shape[1]
        states, nv = np.concatenate([goals.q, goals.v], axis=1), goals.v.shape[1]
        gains, joints = np.zeros((*u.shape, 2 * nv)), np.arange(nj)
        gains[:, joints, 6 + joints], gains[:, joints, nv + 6 + joints] = -_GUESS_STIFFNESS * np.array(
            [[[1.0]], [[self.knot]]]
        )
        found = Trajectory(states, u, gains)
        for _ in range(_FIRST_ITERATIONS):
            found = improve(self.problem, found, x, weight=1e-2)
        return found

    def _clipped(self, t: float, key: str, value: float, limit: float) -> float:
        self._log_failure(
            t, key, f"the command {key} = {value:g} is clipped to ±{limit:.3g}" if abs(value) > limit else ""
        )
        return float(np.clip(value, -limit, limit))

    def _log_failure(self, t: float, key: str, wrong: str) -> None:
        """Log what is wrong when it begins, not at every tick."""
        if wrong and key not in self._failures:
            self.log.append((t, wrong))
        (self._failures.add if wrong else self._failures.discard)(key)


def _heights(ground: Ground, compile: Callable[..., PyTree]) -> Heights:
    """Return the heights of a ground at many points, as one compiled call."""
    found = compile(height_under, ground, np.zeros(2), target="batch", verify=False)
    return lambda positions: found(np.ascontiguousarray(positions))


def height_under(ground: Ground, point: Float[ndarray, "2"]) -> Operand:
    """Return the height of any ground under a point [m], by sphere tracing from high above (Hart 1996)."""

    def lower(_: float, z: ndarray) -> ndarray:
        return z - ground.distance(np.stack([point[0], point[1], z]))

    return nptrace.repeat(_SEARCH_STEPS, lower, np.zeros(()) + _SEARCH_HEIGHT)

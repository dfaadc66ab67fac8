"""The terms of tasks: rewards, terminations, and a critic's inputs, each a plain NumPy function.

A task names terms, with a weight and parameters, in a TOML file (``task_file``); the tasks that come with footfall are
such files too. A term is a function of a ``Tick``: a robot after a tick, with its command, action and forces. It is
written for one robot and traced with the rest of the episode, for SIMD lanes and GPUs. A user-defined term is such a
function in the user's module, ``module:name``.

Rewards are per second, before their weight. Lengths, speeds and times are for a robot of the Mini Cheetah's size if the
task scales (``task.Size``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.checks import is_number
from footfall.control.interface import Command
from footfall.control.learned.policy import Drive
from footfall.errors import InputError, unknown
from footfall.gait.pattern import clock_phase, stance
from footfall.kinematics.forward import foot_positions, foot_velocities
from footfall.robot.model.description import Robot
from footfall.sim.joints import JointModel, joint_forces
from footfall.sim.tick import RunState
from footfall.spatial.gravity import STANDARD
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Given, Operand, Scalar
from nptrace.array_types import Float

if TYPE_CHECKING:
    from footfall.learn.task import Parameters, Size, TermTask

# a robot is up if it leans less [deg], is higher [fraction of its stand], and only its feet touch
UP_LEAN, UP_HEIGHT = 25.0, 0.75
_BESIDE, _VOID = 0.03, 0.08  # [m]: a foot with such a drop this close stands on an edge
_SLOW = 0.1  # [m/s] for a Mini Cheetah: smaller commands do not define a distance
_FASTEST = 10.0  # unit of a critic's velocities [m/s]
_STRONGEST = 5.0  # unit of a critic's forces [weights of the robot]
_COURSE = ("friction", "slope", "rise", "bumps", "gap", "tread")


@dataclass(frozen=True, eq=False)
class Tick:
    """A robot after a tick of the policy, as read by terms. Unused quantities are not computed.

    parameters: those that differ between robots, by path, such as ``ground.friction``.
    """

    task: TermTask
    state: RunState
    command: Command
    parameters: Parameters

    @property
    def robot(self) -> Robot:
        return self.task.robot

    @property
    def drive(self) -> Drive:
        return self.task.drive

    @property
    def size(self) -> Size:
        """Return the size of the robot relative to the Mini Cheetah."""
        return self.task.size

    @property
    def t(self) -> float:
        """Return the time of the policy's clock [s]."""
        return self.state.tick / self.drive.rate

    @property
    def q(self) -> Float[ndarray, "nq"]:
        return self.state.q

    @property
    def v(self) -> Float[ndarray, "nv"]:
        return self.state.v

    @property
    def joints(self) -> Float[ndarray, "nj"]:
        """Return the joint positions [rad]."""
        return self.state.q[self.robot.nq - self.robot.nj :]

    @property
    def rates(self) -> Float[ndarray, "nj"]:
        """Return the joint rates [rad/s]."""
        return self.state.v[self.robot.nv - self.robot.nj :]

    @property
    def action(self) -> Float[ndarray, "nj"]:
        return self.state.memory["action"]

    @property
    def last_action(self) -> Float[ndarray, "nj"]:
        return self.state.memory["last"]

    @property
    def forces(self) -> Float[ndarray, "nf 3"]:
        """Return the ground's forces on the feet, world axes [N]."""
        return self.state.forces[: self.robot.nf]

    @property
    def link_force(self) -> Scalar:
        """Return the vertical force of the ground on all links other than feet [N]."""
        return np.sum(self.state.forces[:, 2][self.robot.nf :])

    @cached_property
    def R_WB(self) -> Float[ndarray, "3 3"]:
        return to_rotation(self.state.q[3:7])

    @cached_property
    def velocity(self) -> Float[ndarray, "3"]:
        """Return forward and sideways speed [m/s] and turn rate [rad/s], in level axes along the trunk's heading."""
        return heading_velocity(self.R_WB, self.state.v)

    @cached_property
    def height(self) -> Scalar:
        """Return the height of the trunk's origin over the ground [m]."""
        return self.task.trunk_height(self.state.q, self.parameters)

    @cached_property
    def contact(self) -> Float[ndarray, "nf"]:
        """Return 1 for each foot in contact."""
        return np.where(self.forces[:, 2] > 1.0, 1.0, 0.0)

    @cached_property
    def foot_heights(self) -> Float[ndarray, "nf"]:
        """Return the heights of the feet's lowest points over the ground [m]."""
        return self.task.foot_heights(self.state.q, self.parameters)

    @cached_property
    def motor(self) -> Float[ndarray, "nj"]:
        """Return torques of ideal motors at the end of the tick [N m]."""
        command = self.drive.command(self.robot, self.action, self.state.memory["gains"])
        return joint_forces(self.robot, JointModel(), self.joints, self.rates, command, 0.0).motor

    @property
    def stand_height(self) -> float:
        return self.robot.poses["stand"].height

    @property
    def stand_joints(self) -> Float[ndarray, "nj"]:
        return self.robot.poses["stand"].joints


def heading_velocity(R_WB: Float[ndarray, "3 3"], v: Float[ndarray, "nv"]) -> Float[ndarray, "3"]:
    """Return forward and sideways speed [m/s] and turn rate [rad/s], in level axes along the trunk's heading."""
    length = np.sqrt(R_WB[0, 0] * R_WB[0, 0] + R_WB[1, 0] * R_WB[1, 0] + 1e-12)
    c, s = R_WB[0, 0] / length, R_WB[1, 0] / length
    v_W, omega_W = R_WB @ v[3:6], R_WB @ v[:3]
    return np.stack([c * v_W[0] + s * v_W[1], c * v_W[1] - s * v_W[0], omega_W[2]])


# -- rewards -----------------------------------------------------------------------------------------------------------
def velocity_tracking(tick: Tick, error: float = 0.1) -> Scalar:
    """1 / (1 + e²), where e is the error of the forward and sideways velocity divided by ``error`` [m/s]."""
    aim = np.stack([tick.command.forward, tick.command.sideways])
    return 1.0 / (1.0 + np.sum((tick.velocity[:2] - aim) ** 2) / (error * tick.size.speed) ** 2)


def turn_tracking(tick: Tick, error: float = 0.2) -> Scalar:
    """1 / (1 + e²), where e is the error of the turn rate divided by ``error`` [rad/s]."""
    missed = tick.command.turn - tick.velocity[2]
    return 1.0 / (1.0 + missed * missed * tick.size.length / error**2)


def gait_timing(tick: Tick) -> Scalar:
    """Fraction of feet whose contact agrees with the gait clock."""
    down = stance(tick.drive.gait, clock_phase(tick.drive.gait, tick.t)) > 0.5
    return np.sum(np.where(down, tick.contact, 1.0 - tick.contact)) / 4.0


def foot_clearance(tick: Tick, height: float = 0.05) -> Scalar:
    """Mean over the feet of the squared lack of height in a swing, relative to ``height`` [m] of a sine."""
    gait, most = tick.drive.gait, height * tick.size.length
    swing = np.clip((clock_phase(gait, tick.t) - gait.duty) / (1.0 - gait.duty), 0.0, 1.0)
    lack = np.maximum(most * np.sin(np.pi * swing) - tick.foot_heights, 0.0) / most
    return np.sum(lack * lack) / 4.0


def lean(tick: Tick) -> Scalar:
    """Squared sine of the trunk's lean."""
    R = tick.R_WB
    return R[2, 0] * R[2, 0] + R[2, 1] * R[2, 1]


def height_error(tick: Tick) -> Scalar:
    """Squared error of the trunk's height, relative to its height in the standing pose."""
    return (tick.height / tick.stand_height - 1.0) ** 2


def vertical_speed(tick: Tick) -> Scalar:
    """Squared vertical speed of the trunk [m²/s²]."""
    return (tick.R_WB[2] @ tick.v[3:6]) ** 2 / tick.size.length


def rocking(tick: Tick) -> Scalar:
    """Squared roll and pitch rates of the trunk [rad²/s²]."""
    return (tick.v[0] * tick.v[0] + tick.v[1] * tick.v[1]) * tick.size.length


def action_change(tick: Tick) -> Scalar:
    """Squared change of the action from the tick before."""
    step = tick.action - tick.last_action
    return np.sum(step * step)


def joint_offset(tick: Tick) -> Scalar:
    """Squared joint offsets from the standing pose [rad²]."""
    return np.sum((tick.joints - tick.stand_joints) ** 2)


def joint_speed(tick: Tick) -> Scalar:
    """Squared joint rates [rad²/s²]."""
    return np.sum(tick.rates * tick.rates)


def power(tick: Tick) -> Scalar:
    """Mechanical power of the motors [W]; regenerated power does not count."""
    return np.sum(np.maximum(tick.motor * tick.rates, 0.0)) / tick.size.power


def torque(tick: Tick) -> Scalar:
    """Squared motor torques, relative to the robot's weight times its standing height."""
    share = tick.motor / (tick.robot.mass * STANDARD * tick.stand_height)
    return np.sum(share * share)


def foot_slip(tick: Tick) -> Scalar:
    """Squared horizontal speed of the feet in contact, summed over the feet [m²/s²]."""
    u = foot_velocities(tick.robot, tick.q, tick.v)[:, 3:5]
    return np.sum(tick.contact * np.sum(u * u, axis=1)) / tick.size.length


def feet_on_edge(tick: Tick) -> Scalar:
    """Fraction of the feet that stand where the ground drops beside them: next to a trench, on the edge of a stair."""
    robot, feet, on_edge = tick.robot, foot_positions(tick.robot, tick.q), []
    for k, foot in enumerate(robot.feet):
        behind, ahead = (tick.task.ground_height(feet[k, 0] + x, tick.parameters) for x in (-_BESIDE, _BESIDE))
        near = feet[k, 2] - foot.radius - np.minimum(behind, ahead) > _VOID
        on_edge.append(np.where(near, tick.contact[k], 0.0))
    return sum(on_edge) / len(on_edge)


def progress(tick: Tick) -> Scalar:
    """Velocity along the course (world x), as a fraction of the forward command, between -1 and 1."""
    along = tick.R_WB[0] @ tick.v[3:6]
    return np.clip(along / np.maximum(tick.command.forward, _SLOW * tick.size.speed), -1.0, 1.0)


def alive(tick: Tick) -> Scalar:
    """1 as long as the episode lasts."""
    return 1.0


def fallen(tick: Tick) -> Scalar:
    """1 in the tick that ends an episode by a termination: its weight is per fall, not per second."""
    return np.where(tick.task.goes_on(tick), 0.0, 1.0)


def _upright(tick: Tick) -> Scalar:
    return (0.5 + 0.5 * tick.R_WB[2, 2]) ** 2


def uprightness(tick: Tick) -> Scalar:
    """Fraction of the way from lying on the back to upright."""
    return 0.5 + 0.5 * tick.R_WB[2, 2]


def righting(tick: Tick) -> Scalar:
    """Rate of change of the uprightness [1/s]: rewarded at once, and zero in sum over a cycle."""
    return 0.5 * tick.drive.rate * (tick.R_WB[2, 2] - tick.state.memory["upright"])


def at_height(tick: Tick, error: float = 0.3) -> Scalar:
    """1 / (1 + e²) times the uprightness, e the relative error of the trunk's height divided by ``error``."""
    height = (tick.height / tick.stand_height - 1.0) / error
    return _upright(tick) / (1.0 + height * height)


def at_posture(tick: Tick, error: float = 0.5) -> Scalar:
    """1 / (1 + e²) times the uprightness, e the mean joint offset from standing divided by ``error`` [rad]."""
    off = tick.joints - tick.stand_joints
    return _upright(tick) / (1.0 + np.sum(off * off) / (tick.robot.nj * error**2))


def feet_down(tick: Tick) -> Scalar:
    """Fraction of the feet in contact, times the uprightness."""
    return _upright(tick) * np.sum(tick.contact) / tick.robot.nf


def link_load(tick: Tick) -> Scalar:
    """Fraction of the weight that links other than feet bear, at most 1."""
    return np.minimum(tick.link_force / (tick.robot.mass * STANDARD), 1.0)


def restlessness(tick: Tick) -> Scalar:
    """Squared angular velocity of the trunk, times the uprightness [rad²/s²]."""
    v = tick.v
    return _upright(tick) * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


def standing_up(tick: Tick) -> Scalar:
    """1 if the robot is up: leans less than 25 degrees, is higher than 0.75 of its stand, and only its feet touch."""
    others = tick.link_force / (tick.robot.mass * STANDARD)
    high = (tick.R_WB[2, 2] > np.cos(np.radians(UP_LEAN))) & (tick.height > UP_HEIGHT * tick.stand_height)
    return np.where(high & (others < 0.01), 1.0, 0.0)


# -- terminations: whether an episode goes on --------------------------------------------------------------------------
def leans(tick: Tick, degrees: float = 50.0) -> Scalar:
    """The trunk leans less than ``degrees``."""
    return tick.R_WB[2, 2] > np.cos(np.radians(degrees))


def low(tick: Tick, height: float = 0.4) -> Scalar:
    """The trunk is higher than ``height`` of its standing height."""
    return tick.height > height * tick.stand_height


def rests(tick: Tick, weight: float = 0.1) -> Scalar:
    """Links other than feet bear less than ``weight`` of the robot's weight."""
    return tick.link_force < weight * tick.robot.mass * STANDARD


# -- what a critic is given beside what a policy sees ------------------------------------------------------------------
def ground_heights(tick: Tick) -> Float[ndarray, "k"]:
    """Heights of the ground at points around the robot [m]."""
    return tick.task.heights_around(tick.q, tick.parameters)


def base_velocity(tick: Tick) -> Float[ndarray, "3"]:
    """Forward, sideways and vertical velocity of the trunk [m/s]."""
    speed = np.stack([*heading_velocity(tick.R_WB, tick.v)[:2], tick.R_WB[2] @ tick.v[3:6]])
    return np.clip(speed, -_FASTEST, _FASTEST)


def foot_pushes(tick: Tick) -> Float[ndarray, "nf"]:
    """Forward force of the ground on every foot, relative to the robot's weight."""
    return np.clip(tick.forces[:, 0] / (tick.robot.mass * STANDARD), -_STRONGEST, _STRONGEST)


def foot_contacts(tick: Tick) -> Float[ndarray, "nf"]:
    """1 for each foot in contact."""
    return tick.contact


def foot_heights(tick: Tick) -> Float[ndarray, "nf"]:
    """Heights of the feet over the ground [m]."""
    return np.clip(tick.foot_heights, -1.0, 1.0)


def link_forces(tick: Tick) -> Float[ndarray, "1"]:
    """Force on links other than feet, relative to the robot's weight."""
    others = np.sum(np.abs(tick.state.forces[tick.robot.nf :])) / (tick.robot.mass * STANDARD)
    return np.stack([np.minimum(others, _STRONGEST)])


def course(tick: Tick) -> Float[ndarray, "6"]:
    """Friction, slope, rise, bumps, gap and tread of the robot's course."""
    return np.stack([tick.parameters[f"ground.{key}"] for key in _COURSE])


def friction(tick: Tick) -> Float[ndarray, "1"]:
    """Friction of the ground."""
    return np.stack([tick.parameters["ground.friction"]])


def trunk_mass(tick: Tick) -> Float[ndarray, "1"]:
    """Mass of the trunk, payload included [kg]."""
    return np.stack([tick.parameters[f"{tick.robot.trunk}.mass"]])


def action_delay(tick: Tick) -> Float[ndarray, "1"]:
    """Delay of actions [ticks]."""
    return np.stack([tick.state.memory["delay"]])


def gain_factors(tick: Tick) -> Float[ndarray, "2"]:
    """Factors of stiffness and damping."""
    return tick.state.memory["gains"]


Function = Callable[..., Operand]


def _table(*functions: Function) -> dict[str, Function]:
    return {function.__name__: function for function in functions}


REWARDS: Mapping[str, Function] = _table(
    velocity_tracking, turn_tracking, gait_timing, foot_clearance, lean, height_error, vertical_speed, rocking,
    action_change, joint_offset, joint_speed, power, torque, foot_slip, feet_on_edge, progress, alive, fallen,
    uprightness, righting, at_height, at_posture, feet_down, link_load, restlessness, standing_up,
)  # fmt: skip
TERMINATIONS: Mapping[str, Function] = _table(leans, low, rests)
CRITIC: Mapping[str, Function] = _table(
    ground_heights, base_velocity, foot_pushes, foot_contacts, foot_heights, link_forces, course, friction, trunk_mass,
    action_delay, gain_factors,
)  # fmt: skip
BOUNDED = ("fallen", "progress")  # rewards that are never clipped: those between -1 and 1, and that of a fall
ON_COURSES = ("feet_on_edge", "course")  # terms that require courses as terrain


@dataclass(frozen=True)
class Term:
    """One term of a task: a function by its name in a table, or a user-defined one, with its parameters.

    own: the function, for a user-defined ``module:name``. weight: weight of a reward.
    """

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)
    weight: float = 0.0
    own: Function | None = None

    def value(self, table: Mapping[str, Function], tick: Tick) -> Operand:
        """Return the value of the term after a tick."""
        return (self.own or table[self.name])(tick, **self.parameters)


def checked_parameters(function: Function, given: Mapping[str, Given], what: str) -> dict[str, float]:
    """Return the parameters of a term; raise for unknown ones and for values that are not numbers."""
    known = list(inspect.signature(function).parameters)[1:]
    for key, value in given.items():
        if key not in known:
            if not known:
                raise InputError(f"{what} takes no parameters, got {key!r}")
            raise unknown(f"parameter of {what}", key, known)
        if isinstance(value, bool) or not is_number(value):
            raise InputError(f"{key} of {what} must be a number, got {value!r}")
    return {key: float(value) for key, value in given.items()}

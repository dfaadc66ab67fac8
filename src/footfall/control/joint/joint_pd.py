"""Joint PD on a gait: section 6.2 and eq. (44) of de Paula et al. 2024.

Oscillators give phases, phases give foot positions, inverse kinematics gives joint angles, and gains give torques.

Erratum of eq. (44): τ = kp (q - q_d) + kd q̇ as printed is positive feedback; it is τ = kp (q_d - q) - kd q̇. It has no
desired velocity, and neither has this controller.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, JointCommand, Sensed, check_rate
from footfall.control.joint.pacing import Strider
from footfall.control.joint.rhythm import first_rhythm, next_rhythm, on_the_ground
from footfall.errors import InputError, callers_level, unknown
from footfall.gait.foot_path import foot_offset, start_ramp
from footfall.gait.oscillators.networks import GaitTiming, Network, network_of
from footfall.gait.pattern import LEGS, Gait, clock_phase
from footfall.gait.tuned import MOST_STRIDES, at_speed, for_robot, within_motors
from footfall.hints import JOINT_PD, names_arguments
from footfall.kinematics.closed_loops import closed_joints, loop_joints
from footfall.kinematics.iterative.fabrik_leg import bent, fabrik_leg
from footfall.kinematics.iterative.numerical_leg import numerical_leg
from footfall.kinematics.iterative.resolved_rate import resolved_rate_leg
from footfall.kinematics.leg_chain import leg_chain
from footfall.kinematics.leg_geometry import Leg, has_closed_form, leg_geometry
from footfall.kinematics.leg_inverse import LegPose, hip_height, knee_direction, place_of, planar_inverse
from footfall.robot.model.description import Robot
from nptrace._types import Given, Operand, PyTree, Scalar
from nptrace.array_types import Float

Gain = float | Float[ndarray, "nj"]
INVERSES = ("closed", "fabrik", "resolved_rate")
MAX_STRIDES = 3.0  # longest step, in strides of the gait
_SWING_REACH = 1.37  # half strides that a swing reaches from under the hip
FABRIK_ITERATIONS, RESOLVED_RATE_ITERATIONS = 30, 8  # iterations in a tick, at most: of FABRIK, of the resolved rate
_REACH_TOLERANCE = 1e-4  # [m] from its target, a foot that is in reach
SPEED_FEEDBACK = 0.5  # [1/s]: gain from the speed error to the stride of tuned controllers
FEEDBACK_PER_CYCLE = 0.55  # and its limit per cycle, since the mean over a cycle is delayed
SPINE_GAINS = (1200.0, 20.0)  # [N m/rad], [N m s/rad]: chosen, holds the spined robot's back straight


@names_arguments("argument of JointPD", JOINT_PD)
@dataclass(frozen=True, kw_only=True)
class JointPD(Controller):
    """Joint PD on the foot trajectories of a gait, by inverse kinematics; roll joints stay at zero.

    Gains in N m/rad and N m s/rad, one for all leg joints; joints outside the legs (a spine) are held at zero with
    their own gains. Phases come from oscillators in the controller's memory (``kuramoto``, ``hopf``, ``rulkov``, or a
    user-defined ``Network``), or with ``clock`` from the time alone. With ``touchdown``, a foot that lands early
    begins its stance at once, and the other oscillators follow.

    ``inverse``: ``closed``, ``fabrik``, or ``resolved_rate``, steps of the leg's Jacobian; the latter two start from
    the joints of the last tick (with ``clock``, from the standing pose) and need one or two iterations.

    ``speed_feedback`` [1/s] above zero closes the loop on the stride: the commanded speed sets it, and the speed error
    of the trunk, as a fraction of the gait's nominal speed, is integrated at this rate. A run without a command
    commands the gait's nominal speed. At zero the gait is open loop and takes no command; slip and sinking then make
    most gaits slower than their nominal speed, some faster. ``tuned`` follows the speed. ``max_strides``: the longest
    step that feedback or command may take, in strides of the gait.
    """

    gait: Gait
    kp: float = 40.0
    kd: float = 1.0
    rate: float = 1000.0  # [Hz]
    clock: bool = False
    coupling: float = 4.0  # coupling of the oscillators [1/s]
    spine_kp: float = SPINE_GAINS[0]
    spine_kd: float = SPINE_GAINS[1]
    inverse: str = "closed"
    speed_feedback: float = 0.0
    oscillator: str | Network = "kuramoto"
    touchdown: bool = False
    max_strides: float = MAX_STRIDES

    def __post_init__(self) -> None:
        if not isinstance(self.gait, Gait):
            raise InputError(f"JointPD needs a Gait, such as gait.trot(), got {type(self.gait).__name__}")
        check_rate(self.rate)
        check_inverse(self.inverse, "JointPD")
        for key in ("kp", "kd", "spine_kp", "spine_kd", "coupling", "speed_feedback", "max_strides"):
            check_gain(getattr(self, key), f"{key} of JointPD", ())
        network_of(self.oscillator, self.coupling)
        if self.clock and (self.touchdown or self.oscillator != "kuramoto"):
            raise InputError("JointPD with clock has no oscillators: it takes no oscillator and no touchdown")
        if self.speed_feedback and (self.clock or not self.gait.stride):
            why = "has no memory" if self.clock else "belongs to a gait that steps in place and cannot change"
            raise InputError(
                f"JointPD with speed_feedback {self.speed_feedback:g} follows a speed by its stride, which {why}"
            )

    @staticmethod
    def tuned(
        robot: Robot | str,
        gait: str = "trot",
        choice: str = "A",
        *,
        speed: float | None = None,
        open_loop: bool = False,
        changes: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> JointPD:
        """Return the controller that ``footfall simulate`` uses: a gait and gains for a robot, and a speed it follows.

        Args:
            robot: A library robot, with tuned constants; or any other that can stand, with constants scaled to its size
                and weight.
            gait: Name of the gait.
            choice: Set of constants, A to E for the Mini Cheetah's trot.
            speed: Speed [m/s] for which the stride and, if it is much faster, the period are chosen; that of the
                constants unless given.
            open_loop: Omit the speed feedback, like the published controller of de Paula et al.
            changes: Fields of the gait to replace, such as ``{"duty": 0.6}``.
            options: Options of JointPD; ``clock`` has no memory and is open loop.

        Returns:
            The controller, which follows the commanded speed; without a command, the speed of its gait.
        """
        known = for_robot(robot, gait, choice, **(changes or {}))
        chosen, shortened = known.gait if speed is None else at_speed(known.gait, speed), known.shortened
        if shortened is not None and isinstance(robot, Robot):
            if speed is not None:
                chosen, shortened = within_motors(robot, chosen)
            if shortened is not None:
                warnings.warn(f"the {gait} of robot '{robot.name}' takes {shortened}", stacklevel=callers_level())
        if not (open_loop or options.get("clock") or not chosen.stride):
            feedback = min(SPEED_FEEDBACK, FEEDBACK_PER_CYCLE / chosen.period)
            strides = {} if shortened is None else {"max_strides": MOST_STRIDES}
            options = {"speed_feedback": feedback, **strides, **options}
        return JointPD(gait=chosen, **{"kp": known.kp, "kd": known.kd, **options})

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """Return the initial memory: the phases [cycles], and FABRIK's joints (none with ``clock``)."""
        check_gait(robot, self.gait)  # raises now for what it cannot do
        if self.clock:
            return {}
        memory = first_rhythm(self._network, GaitTiming.of(self.gait))
        if self.inverse != "closed":
            memory["joints"] = joint_targets(robot, self.gait, memory["phase"], 0.0)
        if self.speed_feedback:
            memory["stride"] = np.zeros(2)  # mean trunk speed over a cycle [m/s]; addition to the stride
        return memory

    def gait_phase(self, memory: PyTree, t: Scalar) -> tuple[PyTree, PyTree] | None:
        return None if self.clock else (memory["phase"][0], start_ramp(self.gait, t))

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Return the initial joint positions [rad]: those of the first tick, whose knees may bend differently from
        the stand's.
        """
        check_gait(robot, self.gait)
        phase = clock_phase(self.gait, 0.0) if self.clock else GaitTiming.of(self.gait).first_phase
        return joint_targets(robot, self.gait, phase, start_ramp(self.gait, 0.0))

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Return its limits: with speed feedback the speed of its longest stride [m/s], otherwise that of its gait."""
        if not self.speed_feedback:
            return {}
        return {"forward": abs(float(self._longest_stride(robot) * self.gait.speed))}

    def nominal_command(self, robot: Robot) -> Command:
        """Return its gait's speed, if it follows one."""
        return Command(forward=float(self.gait.speed)) if self.speed_feedback else Command()

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        if self.clock:
            phase, after = clock_phase(self.gait, t), {}
        else:
            phase = memory["phase"]
            landed = on_the_ground(robot, sensed) if self.touchdown else None
            after = next_rhythm(self._network, memory, 1.0 / self.rate, GaitTiming.of(self.gait), landed)
        kp, kd = self._gains(robot)
        ramp, stride = start_ramp(self.gait, t), 1.0
        if self.speed_feedback:
            gait, speed_command = self.gait, command.forward
            strider = Strider(gait.speed, gait.period, self._longest_stride(robot))
            stride, after["stride"] = strider.strides(
                speed_command,
                speed_command / gait.speed,
                sensed,
                memory["stride"],
                ramp,
                self.speed_feedback,
                1.0 / self.rate,
            )
        if self.inverse == "closed":
            position = joint_targets(robot, self.gait, phase, ramp, stride)
        else:
            last = joint_targets(robot, self.gait, np.zeros(4), 0.0) if self.clock else memory["joints"]
            position = iterative_joint_targets(robot, self.gait, phase, last, ramp, stride, self.inverse)
            after = after if self.clock else {**after, "joints": position}
        return JointCommand(position=position, kp=kp, kd=kd), after

    def _longest_stride(self, robot: Robot) -> Scalar:
        return np.minimum(longest_stride(robot, self.gait), self.max_strides)

    @property
    def _network(self) -> Network:
        return network_of(self.oscillator, self.coupling)

    def _gains(self, robot: Robot) -> tuple[ndarray, ndarray]:
        return gains_of(robot, self.kp, self.spine_kp), gains_of(robot, self.kd, self.spine_kd)


def gains_of(robot: Robot, legs: PyTree, spine: Scalar) -> Float[ndarray, "nj"]:
    """Return one gain per joint: one value for the joints of legs and those tied to them by loops, one for the
    others.
    """
    of_legs = {j for leg in LEGS for j in leg_geometry(robot, leg, nearly=True).joints}
    if robot.loops:
        of_legs |= set(loop_joints(robot).involved)
    return np.array([legs if j in of_legs else spine for j in range(robot.nj)])


def joint_targets(
    robot: Robot, gait: Gait, phase: Float[ndarray, "4"], ramp: float = 1.0, stride: Scalar = 1.0
) -> Float[ndarray, "nj"]:
    """Return joint angles [rad] that put the feet on a gait's paths, at phases in [0, 1) of LF, RF, LH, RH.

    A foot's centre is at (A x, -(H - r) + A z) from its hip, with A the start ramp. Roll and spine joints are zero.
    ``stride`` stretches the steps.
    """
    x, z = foot_offset(gait, phase)
    return planar_targets(robot, gait, ramp * stride * x, ramp * z)


def planar_targets(robot: Robot, gait: Gait, x: Float[ndarray, "4"], z: Float[ndarray, "4"]) -> Float[ndarray, "nj"]:
    """Return joint angles [rad] that put the feet at offsets (x, z) [m] from below the hips, at zero roll."""
    targets = _rest_targets(robot)
    for k, stance in enumerate(stances(robot, gait)):
        depth = stance.hip_height - stance.leg.radius
        joints, _ = _place_foot(robot, stance, x[k], z[k] - depth, gait.foot_pitch)
        for j, angle in zip(stance.leg.joints, joints):
            targets[j] = angle
    return with_loops(robot, np.array(targets))


def _place_foot(robot: Robot, stance: LegStance, x: Operand, z: Operand, foot_pitch: Operand) -> LegPose:
    """Return joints of a leg, and whether they reach: the foot at x ahead of and z above its hip [m], in the leg's
    plane.

    Closed form at zero roll; for legs with skew axes, iteration continues from there until the foot is at its target.
    """
    leg = stance.leg
    found = planar_inverse(leg, x, z, stance.knee, foot_pitch)
    if has_closed_form(robot, leg.name):
        return found
    position = place_of(leg, leg.hip[0] + x, leg.hip[1] + leg.side, leg.hip[2] + z)
    return LegPose(*numerical_leg(leg_chain(robot, leg.name), position, found.joints))


def iterative_joint_targets(
    robot: Robot,
    gait: Gait,
    phase: Float[ndarray, "4"],
    last: Float[ndarray, "nj"],
    ramp: Scalar = 1.0,
    stride: Scalar = 1.0,
    rule: str = "fabrik",
) -> Float[ndarray, "nj"]:
    """Compute ``joint_targets`` by FABRIK or resolved rate from the joints ``last``: within limits, feet to 1e-6 m."""
    x, z = foot_offset(gait, phase)
    return iterative_planar_targets(robot, gait, ramp * stride * x, ramp * z, last, rule)


def iterative_planar_targets(
    robot: Robot, gait: Gait, x: Float[ndarray, "4"], z: Float[ndarray, "4"], last: Float[ndarray, "nj"], rule: str
) -> Float[ndarray, "nj"]:
    """Compute ``planar_targets`` by FABRIK or resolved rate, from the joints ``last``."""
    targets = _rest_targets(robot)
    for k, stance in enumerate(stances(robot, gait)):
        leg = stance.leg
        depth = stance.hip_height - leg.radius
        position = place_of(leg, leg.hip[0] + x[k], leg.hip[1] + leg.side, leg.hip[2] - depth + z[k])
        rest_angles = [targets[j] for j in leg.joints]
        found = iterative_leg_inverse(
            robot, leg, stance.knee, position, [last[j] for j in leg.joints], gait.foot_pitch, rule, rest_angles
        )
        for j, angle in zip(leg.joints, found.joints):
            targets[j] = angle
    return with_loops(robot, np.stack(targets))


def iterative_leg_inverse(
    robot: Robot,
    leg: Leg,
    knee: int,
    position: Float[ndarray, "3"],
    start: list[PyTree],
    foot_pitch: Operand,
    rule: str,
    rest_angles: list[Operand],
) -> LegPose:
    """Return joints that put a foot at a point in its carrier's frame [m], by FABRIK or resolved rate from
    ``start``; the latter keeps redundant joints near ``rest_angles``.
    """
    chain = bent(leg_chain(robot, leg.name), knee)
    if rule == "fabrik":
        found = fabrik_leg(
            chain, position, start, foot_pitch if leg.foot is not None else None, FABRIK_ITERATIONS, 1e-6
        )
    else:
        if len(leg.joints) > 3:  # then the foot is moved to its target
            start = list(resolved_rate_leg(chain, position, start, "manipulability", rest_angles, 1, 1e-6).joints)
        found = resolved_rate_leg(chain, position, start, iterations=RESOLVED_RATE_ITERATIONS, tolerance=1e-6)
    return LegPose(found.joints, found.residual < _REACH_TOLERANCE)


def check_inverse(inverse: str, who: str) -> None:
    if inverse not in INVERSES:
        raise unknown(f"inverse kinematics of {who}", inverse, INVERSES)


def with_loops(robot: Robot, joints: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """Return joints in which the other joints of loops follow those of the legs."""
    if not robot.loops:
        return joints
    return closed_joints(robot, joints, [j for leg in LEGS for j in leg_geometry(robot, leg, nearly=True).joints])


def _rest_targets(robot: Robot) -> list[Scalar]:
    """Return positions of the joints outside legs: arms and spines as in the stand, or zero without one."""
    stand = robot.poses.get("stand")
    return [0.0] * robot.nj if stand is None else [float(angle) for angle in stand.joints]


@dataclass(frozen=True, eq=False)
class Hold(Controller):
    """PD control to one posture: a named pose of the robot, or joint angles [rad]."""

    pose: str | Float[ndarray, "nj"] = "stand"
    kp: Gain = 40.0  # [N m/rad]
    kd: Gain = 1.0  # [N m s/rad]
    rate: float = 1000.0  # [Hz]
    torque: Gain = field(default=0.0)  # feedforward [N m], such as gravity's

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """Return an empty memory; check the posture and the gains against the robot."""
        joints = self._joints(robot)
        if not np.isfinite(joints).all():
            raise InputError(f"the posture to hold is not finite: {joints.tolist()}")
        for key in ("kp", "kd"):
            check_gain(getattr(self, key), f"{key} of Hold", ((robot.nj,),))
        return {}

    def command_limits(self, robot: Robot) -> dict[str, float]:
        """Return an empty dictionary: it stands and takes no command."""
        return {}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: dict[str, ndarray]
    ) -> tuple[JointCommand, dict[str, ndarray]]:
        return JointCommand(position=self._joints(robot), kp=self.kp, kd=self.kd, torque=self.torque), memory

    def _joints(self, robot: Robot) -> Float[ndarray, "nj"]:
        return robot.state(self.pose)[0][robot.nq - robot.nj :]


# -- what a robot makes of a gait --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class LegStance:
    """A leg, the way its knee bends (+1 behind the hip) and the height of its hip [m]."""

    leg: Leg
    knee: int
    hip_height: float


def stances(robot: Robot, gait: Gait) -> tuple[LegStance, ...]:
    """Return the legs and their stances in a gait; the gait's numbers may be traced."""
    knees = gait.knees if isinstance(gait.knees, tuple) else (gait.knees,) * len(LEGS)
    found = []
    for name, gait_knee in zip(LEGS, knees):
        leg, knee, height = _standing(robot, name)
        if (knee is None and gait_knee is None) or (height is None and gait.hip_height is None):
            raise InputError(f"robot '{robot.name}' has no pose 'stand': give the gait hip_height and knees")
        knee_used, hip_height_used = (
            gait_knee if gait_knee is not None else knee,
            gait.hip_height if gait.hip_height is not None else height,
        )
        assert knee_used is not None
        assert hip_height_used is not None
        found.append(LegStance(leg, knee_used, hip_height_used))
    return tuple(found)


@lru_cache(maxsize=64)
def _standing(robot: Robot, name: str) -> tuple[Leg, int | None, float | None]:
    """Return (a leg, its knee direction and hip height in the robot's stand, if it has one)."""
    missing = [leg for leg in LEGS if leg not in robot.foot_names]
    if missing:
        has = ", ".join(robot.foot_names) or "none"
        raise InputError(f"a gait needs the feet {', '.join(LEGS)}: robot '{robot.name}' has {has}")
    leg, stand = leg_geometry(robot, name, nearly=True), robot.poses.get("stand")
    if stand is None:
        return leg, None, None
    joints = [stand.joints[j] for j in leg.joints]
    return leg, knee_direction(leg, stand.joints[list(leg.joints)]), hip_height(leg, joints)


def check_gait(robot: Robot, gait: Gait) -> None:
    """Raise for a gait whose stance a leg cannot reach within its joints' limits."""
    for name, stance in zip(LEGS, stances(robot, gait)):
        leg, knee, height = stance.leg, stance.knee, stance.hip_height
        joints, reachable = _place_foot(robot, stance, 0.0, leg.radius - height, gait.foot_pitch)
        if not reachable:
            raise InputError(
                f"hip_height {height:g} m of gait '{gait.name}' is out of reach of {name} of '{robot.name}'"
            )
        for j, angle, (lower, upper) in zip(leg.joints, joints, leg.limits):
            if not lower <= angle <= upper:
                where = "behind the hip" if knee > 0 else "in front of the hip"
                raise InputError(
                    f"gait '{gait.name}' needs {robot.joint_names[j]} of '{robot.name}' at {float(angle):.3f} rad (knee"
                    f" {where}), outside its limits {lower:g} to {upper:g}"
                )


def longest_stride(robot: Robot, gait: Gait) -> Scalar:
    """Return by how much the stride can be scaled before the legs reach 0.95 of their length, at most threefold."""
    reaches = [
        (stance.leg.stretch + (stance.leg.foot.length if stance.leg.foot else 0.0)) ** 2
        - (stance.hip_height - stance.leg.radius) ** 2
        for stance in stances(robot, gait)
    ]
    shortest_reach = np.sqrt(np.maximum(np.min(np.stack(reaches)), 0.0))
    return np.minimum(MAX_STRIDES, 0.95 * shortest_reach / (_SWING_REACH * np.abs(gait.half_stride)))


def check_gain(value: Given, what: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(math.nan)
    if array.shape not in ((), *shapes) or not np.isfinite(array).all() or (array < 0).any():
        if array.shape not in ((), *shapes):
            several = [f"{size[0]} of them" if len(size) == 1 else f"an array {size}" for size in shapes]
            raise InputError(f"{what} must be {' or '.join(['a number', *several])}, got shape {array.shape}")
        raise InputError(f"{what} must be 0 or more, got {' '.join(repr(value).split())}")

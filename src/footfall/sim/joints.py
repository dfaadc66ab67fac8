"""Joints in a step: from a joint command to the torque at the joint, and its damping -dτ/dq̇ (for implicit steps).

Motor limits follow the published Mini Cheetah model: the torque is limited by the motor's torque limit and by the
voltage remaining after back-EMF. A motor at its torque limit has no damping, one limited by voltage that of its
back-EMF. Dry friction holds a joint up to its limit (``static_ratio`` times it, in implicit steps) and acts with that
limit against the motion beyond. Both are functions of the speed at the *end* of an implicit step, and piecewise linear:
the piece of each joint is guessed, checked against the solution, and the step is solved again until they agree
(``joint_modes``).

Gears lose torque and have play, as options (``gear_loss``, ``backlash``). Teeth rub in proportion to the torque they
transmit: dry friction of ``gear_loss`` times the motor's torque. Backlash is a dead band on the position between motor
and joint: the motor is at its commanded position, the joint is free within half the band on either side of it, and the
motor's spring engages where the teeth meet. This neglects the motor's motion within the band (and the impacts of its
rotor), and so needs no further state; damping and feedforward torque act within the band as they do outside.

A ``Belt`` has a separate rotor: its inertia on one side, the joint on the other, elasticity and play between.

    J ω̇ = τ_motor - b,   b = k s(θ - q) + c (θ̇ - q̇),   s(δ) = δ beyond half the play, less that half, and 0 within

θ and ω are the rotor's angle and rate, all as seen at the joint (inertia times the squared gear ratio), and b is the
torque on the joint. Teeth only push: b never pulls. This is the two-mass system used to tune drives, with k (1/J + 1/I)
for its eigenfrequency's square. A motor's limits are those of its rotor's speed at the start of the step. In an
implicit step the rotor's rate is eliminated: it is linear in the joint's rate at the end of the step, so that the joint
receives torque and damping as from any motor, both bodies end the step together, and b acts on both of them. The
elastic part is evaluated at the start of the step (with positions moved by new velocities: no damping that is not in
the belt), and gradually at the end if the belt is too stiff for that.

A closed ``Brake`` is dry friction: it holds a joint up to its torque, and slides with that torque beyond. Brakes are
closed by springs and opened by power. The memory of a step contains how long each of them still holds, and how long the
motors still have power (``Brake``, ``power_loss``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from footfall.contact.force_law import FREEZE_AFTER
from footfall.control.interface import JointCommand
from footfall.dynamics.mass_matrix import armatures
from footfall.dynamics.passive import STICK_RATE, friction_fraction, joint_values
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.parameters import replaced
from footfall.robot.model.description import Robot
from footfall.robot.model.parts import Actuator
from nptrace._types import Operand, PyTree, Scalar
from nptrace.array_types import Float

if TYPE_CHECKING:
    from footfall.sim.equations_of_motion import State
    from footfall.sim.world import World


# -- belts -------------------------------------------------------------------------------------------------------------
ENCODERS = ("motor", "joint")
ROTOR = POSITION, RATE = "rotor_position", "rotor_velocity"  # names in the memory of a step, and in recordings


@dataclass(frozen=True)
class Belt:
    """Elastic belts between motors and joints, as seen at the joint; one number for all joints, or one each.

    Without ``inertia`` the joints' own armature is the rotor's, and turns behind the belt instead of with the joint.
    ``encoder`` is the side of the belt that the motor's feedback measures.
    """

    stiffness: Scalar = 4000.0  # [N m/rad]
    damping: Scalar = 2.0  # [N m s/rad]
    play: Scalar = 0.0  # [rad], from end to end
    inertia: Scalar | None = None  # inertia of the rotor [kg m²]
    encoder: str = "motor"

    def __post_init__(self) -> None:
        for key, above in {"stiffness": True, "damping": False, "play": False, "inertia": True}.items():
            value = getattr(self, key)
            if key == "inertia" and value is None:
                continue
            try:
                array = np.array(value)
            except ValueError:  # rows of different lengths
                array = np.array(None)
            fits = array.dtype.kind in "fiu" and array.ndim < 2 and np.isfinite(array).all()
            if not fits or (array < 0.0).any() or (above and (array == 0.0).any()):
                bound = "positive" if above else "at least 0"
                raise InputError(f"{key} of a belt must be {bound}, one for all joints or one each: got {value!r}")
            if array.ndim:
                object.__setattr__(self, key, array.astype(float))
        if self.encoder not in ENCODERS:
            raise unknown("side of a belt's encoder", self.encoder, ENCODERS)

    @property
    def has_play(self) -> bool:
        """Return whether there is play; a traced play counts."""
        return isinstance(self.play, ndarray) or type(self.play) not in (int, float, np.float64) or self.play != 0.0

    def rotors(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Return the inertia of every rotor [kg m²]."""
        if self.inertia is not None:
            return self.inertia * np.ones(robot.nj)
        return armatures(robot)

    def start(self, robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> dict[str, ndarray]:
        """Return rotors that turn with their joints; raise an error if the belt does not fit the robot."""
        for key in ("stiffness", "damping", "play", "inertia"):
            value = getattr(self, key)
            if value is not None and np.shape(value) not in ((), (robot.nj,)):
                raise InputError(f"{key} of the belts of robot '{robot.name}' must be one number or {robot.nj} of them")
        if self.inertia is None:
            if robot.rotors == "exact":
                raise InputError(
                    f"rotors of robot '{robot.name}' are modelled as 'exact' and turn with their joints: a belt needs"
                    " robot.replace(rotors='armature'), or an inertia of its own"
                )
            bare = [name for name, J in zip(robot.joint_names, armatures(robot)) if not J > 0.0]
            if bare:
                raise InputError(f"joint '{bare[0]}' of robot '{robot.name}' has no armature: a belt needs inertia=...")
        return {POSITION: np.array(joint_positions(robot, q)), RATE: np.array(joint_rates(robot, v))}

    def kinetic(
        self, robot: Robot, rates: Float[ndarray, "*T nj"], rotor_rates: Float[ndarray, "*T nj"]
    ) -> Float[ndarray, "*T"]:
        """Return the kinetic energy [J] in excess of that with the armatures at the joints' rates.

        Args:
            rates: Rates of the joints [rad/s], after any other axes.
            rotor_rates: Rates of the rotors behind belts [rad/s].
        """
        turning = armatures(robot) if self.inertia is None else np.zeros(robot.nj)
        return 0.5 * np.sum(self.rotors(robot) * rotor_rates**2 - turning * rates**2, axis=-1)

    def elastic(
        self, ahead: Float[ndarray, "*T nj"], faster: Float[ndarray, "*T nj"], dt: float
    ) -> Float[ndarray, "*T"] | float:
        """Return the energy that belts store [J]: k s s_0 / 2, by their stretches at the end and the start of a step.

        A step takes the elastic torque at its start and moves positions with its new rates; it conserves this energy,
        which is k s² / 2 to first order in dt.

        Args:
            ahead: Angles of the rotors less those of their joints [rad], after any other axes.
            faster: Rates of the rotors less those of their joints [rad/s].
            dt: Length of the step that led there [s].
        """
        before = ahead - dt * faster
        s, s_0 = (np.sign(x) * np.maximum(np.abs(x) - 0.5 * self.play, 0.0) for x in (ahead, before))
        return 0.5 * np.sum(self.stiffness * s * s_0, axis=-1)

    def set_apart(
        self, armature: Float[ndarray, "nj"], inertia: Float[ndarray, "nj"], memory: Mapping[str, ndarray]
    ) -> tuple[Float[ndarray, "nj"], RotorState]:
        """Return (armature that remains at the joints, rotors).

        ``inertia`` is that of the joints without it.
        """
        if self.inertia is None:
            armature = 0.0 * armature
        return armature, RotorState(memory[POSITION], memory[RATE], inertia + armature)


@dataclass(frozen=True)
class RotorState:
    """Rotors at the start of a step, and the inertia on the joint's side [kg m²]."""

    position: Float[ndarray, "nj"]  # [rad]
    rate: Float[ndarray, "nj"]  # [rad/s]
    load: Float[ndarray, "nj"]

    def moved(self, driven: BeltTorque, dt: float, faster: Float[ndarray, "nj"]) -> dict[str, ndarray]:
        """Return the rotors after a step in which the joints' rates have grown by ``faster``."""
        rate = driven.rotor_rate + driven.follows * faster
        return {POSITION: self.position + dt * rate, RATE: rate}


@dataclass(frozen=True, kw_only=True)
class BeltTorque:
    """Torque of belts on joints at the joints' rates, its derivatives, and the rotors' rates at the joints."""

    torque: Float[ndarray, "nj"]
    damping: Float[ndarray, "nj"]
    rotor_rate: Float[ndarray, "nj"]  # at the end of the step if the joint kept its rate
    follows: Float[ndarray, "nj"]  # how much of a change of the joint's rate it absorbs
    motor: Float[ndarray, "nj"]  # torque of the motor on the rotor at the initial rates
    on_rotor: Float[ndarray, "nj"]  # its damping with respect to the rotor's rate
    on_joint: Float[ndarray, "nj"]  # and with respect to the joint's


def sides(belt: Belt, rotor: RotorState, q_J: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """Return 1 or -1 where the play is taken up with the rotor ahead of the joint or behind it, otherwise 0."""
    ahead = rotor.position - q_J
    return np.where(np.abs(ahead) > 0.5 * belt.play, np.sign(ahead), 0.0)


def through_belt(
    robot: Robot,
    belt: Belt,
    rotor: RotorState,
    q_J: Float[ndarray, "nj"],
    rates: Float[ndarray, "nj"],
    motor: Float[ndarray, "nj"],
    damping: Float[ndarray, "nj"],
    dt: float,
    side: Scalar | None = None,
) -> BeltTorque:
    """Return the torque on a joint in a step whose motors give ``motor`` minus ``damping`` times the encoder's rate
    change.

    With g the belt's damping over the step and N that of the rotor, the rotor's equation gives
    ω' = (J/dt ω + s ω + τ - b_0 + g q̇') / N, and b = b_0 + g (ω' - q̇').
    """
    k, J = belt.stiffness, belt.rotors(robot) / dt
    taut: Scalar = 1.0
    stretch = rotor.position - q_J
    if side is not None:
        stretch, taut = stretch - 0.5 * belt.play * side, np.abs(side)
    stiff = k * dt * dt * (1.0 / belt.rotors(robot) + 1.0 / rotor.load)  # (ω dt)² of the two masses, at least
    late = np.maximum(0.5 - 0.5 / stiff, 0.0)
    pull, g = taut * k * stretch, taut * (belt.damping + late * dt * k)
    on_rotor, on_joint = (damping, 0.0 * damping) if belt.encoder == "motor" else (0.0 * damping, damping)
    N = J + on_rotor + g
    free = (J + on_rotor) * rotor.rate + motor - pull
    follows = (g - on_joint) / N
    rotor_rate = (free + g * rates) / N
    return BeltTorque(
        torque=pull + g * (rotor_rate - rates),
        damping=g * (1.0 - follows),
        rotor_rate=rotor_rate,
        follows=follows,
        motor=motor,
        on_rotor=on_rotor,
        on_joint=on_joint,
    )


# -- brakes and power --------------------------------------------------------------------------------------------------
BRAKE, POWER = "brake", "power"  # names in the memory of a step
JOINT_MEMORY = (*ROTOR, BRAKE, POWER)
BRAKE_CREEP = 1e-6  # [rad/s], of a closed brake under its torque
FOREVER = 1e9  # [s], of a brake that stays closed, and of power that does not fail


@dataclass(frozen=True)
class Brake:
    """Brakes on joints, which springs close and power opens; one number for all joints, or one each.

    A closed brake holds its joint up to ``torque`` (creeping at 1e-6 rad/s at most), and slides with
    that torque beyond. A brake that is opened still holds for ``release``. All brakes close when the motors lose power.
    """

    torque: Scalar  # [N m]; 0 for a joint without a brake
    release: Scalar = 0.05  # [s]
    closed: Scalar = False  # whether it is closed at the start of a run; opened at once, it holds for ``release``

    def __post_init__(self) -> None:
        for key in ("torque", "release", "closed"):
            value = getattr(self, key)
            try:
                array = np.array(value)
            except ValueError:  # rows of different lengths
                array = np.array(None)
            fits = array.dtype.kind in "fiub" and array.ndim < 2 and np.isfinite(array).all()
            if not fits or (array < 0.0).any():
                raise InputError(f"{key} of a brake must be at least 0, one for all joints or one each: got {value!r}")
            if array.ndim:
                object.__setattr__(self, key, array.astype(float))

    def start(self, robot: Robot) -> dict[str, ndarray]:
        """Return how long every brake holds at the start of a run [s]; raise an error if they do not fit the robot."""
        for key in ("torque", "release", "closed"):
            if np.shape(getattr(self, key)) not in ((), (robot.nj,)):
                raise InputError(
                    f"{key} of the brakes of robot '{robot.name}' must be one number or {robot.nj} of them"
                )
        return {BRAKE: self.after(np.zeros(robot.nj), self.closed)}

    def after(self, held: Float[ndarray, "nj"], closed: Scalar) -> Float[ndarray, "nj"]:
        """Return how long brakes hold that are closed, or else opened, unless they are open [s].

        Args:
            held: Time for which each still holds [s].
            closed: Whether to close them, one for all or one each.
        """
        opened = np.where(held > 0.5 * FOREVER, self.release, held)
        return np.where(closed, FOREVER, opened) * np.ones(len(held))


def parse_brake(text: str) -> Brake:
    """Return the brakes of a text, ``"40"`` or ``"40:0.1"``: torque [N m] and time to open [s]."""
    torque, _, release = text.partition(":")
    try:
        numbers = [float(torque), *([float(release)] if release else [])]
    except ValueError:
        raise InputError(f"brakes are TORQUE[:RELEASE], as in 40:0.05 [N m, s], got {text!r}") from None
    return Brake(*numbers)


# -- motors, friction, springs and end stops ---------------------------------------------------------------------------
Modes = dict[str, PyTree]
_EXPLICIT_STICK_RATE = 0.05  # [rad/s], over which explicit dry friction reverses
_ONE_JOINT_AFTER = 6.0  # iterations after which joints are held or released one at a time: together they would cycle
_RELEASE_AFTER = 12.0  # iterations after which dry friction that would drive a joint is removed
_RESIDUAL_FRICTION = 1e-6  # fraction of its dry friction left to such a joint
_FAR = 10.0  # multiple of the rate that dry friction can stop: a faster joint is not held while reversing
_LAST_OF_SPEED = 0.01  # fraction of a motor's top speed over which its torque falls to zero, unless its curve is known


@dataclass(frozen=True, kw_only=True)
class JointForces:
    """Torques at the joints [N m] and their damping -dτ/dq̇ over one step [N m s/rad]."""

    motor: Float[ndarray, "nj"]  # torques of the motors, or of belts, on the joints
    passive: Float[ndarray, "nj"]  # springs, damping, dry friction, end stops
    motor_damping: Float[ndarray, "nj"]
    passive_damping: Float[ndarray, "nj"]
    spring: Float[ndarray, "nj"]  # the springs' part of ``passive``, whose work is potential energy
    spring_damping: Float[ndarray, "nj"]
    commanded: Float[ndarray, "nj"]  # torques of the motors without limits
    commanded_damping: Float[ndarray, "nj"]
    driven: BeltTorque | None = None  # for joints behind belts


@dataclass(frozen=True, kw_only=True)
class JointModel:
    """Which joint effects a simulation includes."""

    motor_limits: bool = True
    damping: bool = True
    dry_friction: bool = True
    springs: bool = True
    end_stops: bool = True
    stop_stiffness: float = 500.0  # [N m/rad]
    stop_damping: float = 5.0  # [N m s/rad]
    stick_rate: float = STICK_RATE  # [rad/s], at which a joint creeps under a torque equal to its dry friction
    backlash: float = 0.0  # [rad], play between motor and joint, from end to end
    gear_loss: float = 0.0  # fraction of the motor's torque lost to friction between teeth
    # static over sliding dry friction, one for all joints or one each
    static_ratio: Scalar = 1.0
    belt: Belt | None = None  # between motors and joints
    brake: Brake | None = None  # on the joints
    power_loss: float = np.inf  # [s] from the start, when the motors lose power: no torque, and brakes close

    def __post_init__(self) -> None:
        if isinstance(self.gear_loss, Real) and not float(self.gear_loss) < 1.0:
            raise InputError(f"gear loss of a joint model must be less than 1, got {self.gear_loss!r}")
        ratio = np.asarray(self.static_ratio)
        if ratio.dtype.kind not in "fiu" or ratio.ndim > 1 or not (np.isfinite(ratio) & (ratio >= 1.0)).all():
            raise InputError(f"static ratio of a joint model must be at least 1, got {self.static_ratio!r}")
        if self.belt is not None and not isinstance(self.belt, Belt):
            raise InputError(f"belt of a joint model must be a Belt or None, got {self.belt!r}")
        if self.brake is not None and not isinstance(self.brake, Brake):
            raise InputError(f"brake of a joint model must be a Brake or None, got {self.brake!r}")
        if isinstance(self.power_loss, Real) and not float(self.power_loss) >= 0.0:
            raise InputError(f"power loss of a joint model must be a time of at least 0, got {self.power_loss!r}")
        if self.belt is not None and not _is_zero(self.backlash):
            raise InputError("a joint model with a belt cannot have backlash as well: set the play of the belt")
        limits = {"stop_stiffness": 0.0, "stop_damping": 0.0, "stick_rate": 1e-6, "backlash": 0.0, "gear_loss": 0.0}
        for key, least in limits.items():
            value = getattr(self, key)
            if not isinstance(value, Real) or not (np.isfinite(float(value)) and float(value) >= least):
                raise InputError(f"{key.replace('_', ' ')} of a joint model must be at least {least:g}, got {value!r}")

    def has_dry_friction(self, robot: Robot) -> bool:
        own = self.dry_friction and not all(_is_zero(f) for f in joint_values(robot, "dry_friction"))
        return own or self.brake is not None or not _is_zero(self.gear_loss)

    def dry_friction_of(self, robot: Robot, motor: Float[ndarray, "nj"], ratio: Scalar = 1.0) -> Float[ndarray, "nj"]:
        """Return the largest dry friction at every joint [N m], including gears under the motors' torque, and brakes.

        ``ratio``: of static over sliding friction, for joints at rest; brakes have none.
        """
        friction = joint_values(robot, "dry_friction") if self.dry_friction else np.zeros(robot.nj)
        friction = friction if _is_zero(self.gear_loss) else friction + self.gear_loss * np.abs(motor)
        return ratio * friction if self.brake is None else ratio * friction + self.brake.torque

    @property
    def can_lose_power(self) -> bool:
        """Return whether the memory of a step says how long the motors have power."""
        return self.brake is not None or not (isinstance(self.power_loss, Real) and np.isinf(float(self.power_loss)))

    def start(self, robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> dict[str, ndarray]:
        """Return the memory of joints at the start of a run: rotors behind belts, brakes, power."""
        memory = {} if self.belt is None else self.belt.start(robot, q, v)
        memory |= {} if self.brake is None else self.brake.start(robot)
        return memory | ({POWER: np.array(np.minimum(self.power_loss, FOREVER))} if self.can_lose_power else {})

    def under_power(
        self, memory: Mapping[str, ndarray], command: JointCommand, dt: float
    ) -> tuple[JointModel, JointCommand, dict[str, ndarray]]:
        """Return (joints whose brakes have the torque that acts, the command that motors execute, memory afterwards).

        Args:
            memory: Memory of the step, with brakes and power.
            command: What the controller commands.
            dt: Length of the step [s].
        """
        if not self.can_lose_power:
            return self, command, {}
        left = memory[POWER]
        on = np.where(left > 0.5 * dt, 1.0, 0.0)  # that much is rounding
        command = replace(command, kp=on * command.kp, kd=on * command.kd, torque=on * command.torque)
        after = {POWER: np.where(left > 0.5 * FOREVER, left, np.maximum(left - dt, 0.0))}
        if self.brake is None:
            return self, command, after
        held = np.where(on > 0.5, memory[BRAKE], FOREVER)
        after[BRAKE] = np.where(held > 0.5 * FOREVER, held, np.maximum(held - dt, 0.0))
        acting = np.where(held > 0.5 * dt, 1.0, 0.0) * self.brake.torque
        return replaced(self, "brake.torque", acting), command, after

    @property
    def creep(self) -> Scalar:
        """Return the rate at which a joint creeps under a torque equal to its dry friction [rad/s]."""
        if self.brake is None:
            return self.stick_rate
        return np.where(np.asarray(self.brake.torque) > 0.0, np.minimum(BRAKE_CREEP, self.stick_rate), self.stick_rate)

    def reversal(self, implicit: bool) -> Scalar:
        """Return the joint rate below which dry friction is proportional to the rate [rad/s]."""
        return self.stick_rate if implicit else np.maximum(self.stick_rate, _EXPLICIT_STICK_RATE)

    @staticmethod
    def ideal() -> JointModel:
        """Return ideal motors and joints, as in de Paula et al. 2024."""
        return JointModel(motor_limits=False, damping=False, dry_friction=False, springs=False, end_stops=False)


def with_brakes(model: JointModel, brakes: str | None, power_loss: float | None) -> JointModel:
    """Return joint effects with brakes as on the command line, ``"40:0.05"``, and a time of power loss [s]."""
    brake = model.brake if brakes is None else parse_brake(brakes)
    return replace(model, brake=brake, power_loss=model.power_loss if power_loss is None else power_loss)


def joint_modes(robot: Robot, model: JointModel) -> Modes:
    """Return the modes of an implicit step for the joints, before its first iteration.

    Empty if there are none.

    ``saturated``: motors at their lowest (-1) or highest torque (1); ``piece``: of that limit, see ``_limit_pieces``;
    ``slides``: the direction in which dry friction is overcome, times the fraction of it that acts, or 0 where it
    holds; ``side``: the side of a belt's play that is taken up, or 0.
    """
    none = np.zeros(robot.nj)
    if model.belt is not None:
        modes = {"side": none} if robot.nj and model.belt.has_play else {}
    else:
        modes = {"saturated": none, "piece": none} if model.motor_limits and robot.actuators and robot.nj else {}
    return modes | ({"slides": none} if robot.nj and model.has_dry_friction(robot) else {})


def joint_forces(
    robot: Robot,
    model: JointModel,
    q_J: Float[ndarray, "nj"],
    rates: Float[ndarray, "nj"],
    command: JointCommand,
    dt: float,
    modes: Modes | None = None,
    rotor: RotorState | None = None,
    about: Float[ndarray, "nj"] | None = None,
) -> JointForces:
    """Return torques for positions at the *end* of a step of length dt (dt = 0: explicit), and their damping.

    PD: τ = kp (q_d - q) + kd q̇_d - (kd + dt kp) q̇, damping kd + dt kp: implicit Euler to first order. ``modes``: see
    ``joint_modes``; without them limits and dry friction are evaluated at the initial speed. ``rotor``: for belts.
    ``about``: rates about which limits and dry friction are linearised instead, as dampers (no modes).
    """
    if not robot.nj:
        none = np.zeros(0)
        return JointForces(
            motor=none,
            passive=none,
            motor_damping=none,
            passive_damping=none,
            spring=none,
            spring_damping=none,
            commanded=none,
            commanded_damping=none,
        )
    driven, belt = None, model.belt
    if belt is None or rotor is None:
        motor, motor_damping, commanded, commanded_damping = _motors(
            robot, model, q_J, rates, command, dt, modes, about
        )
    else:
        seen = (rotor.position, rotor.rate) if belt.encoder == "motor" else (q_J, rates)
        motor, motor_damping, *_ = _motors(robot, model, *seen, command, dt, None)
        side = (modes or {}).get("side")
        if side is None and belt.has_play:
            side = sides(belt, rotor, q_J)
        driven = through_belt(robot, belt, rotor, q_J, rates, motor, motor_damping, dt, side)
        motor, motor_damping = commanded, commanded_damping = driven.torque, driven.damping
    spring = spring_damping = np.zeros(robot.nj)
    if model.springs and not all(_is_zero(k) for k in joint_values(robot, "stiffness")):
        k = joint_values(robot, "stiffness")
        spring, spring_damping = -k * (q_J + dt * rates - joint_values(robot, "rest")), dt * k
    passive, passive_damping = spring, spring_damping
    if model.damping:
        b = joint_values(robot, "damping")
        passive, passive_damping = passive - b * rates, passive_damping + b
    if model.has_dry_friction(robot):
        friction = model.dry_friction_of(robot, motor)
        if modes and "slides" in modes:
            at_rest = model.dry_friction_of(robot, motor, model.static_ratio)
            drag = np.where(_is_held(modes["slides"]), at_rest / model.creep, 0.0)
            passive, passive_damping = passive - drag * rates - modes["slides"] * friction, passive_damping + drag
        elif about is not None:
            drag = friction / np.maximum(np.abs(about), model.reversal(implicit=False))
            passive, passive_damping = passive - drag * rates, passive_damping + drag
        else:
            passive = passive - friction * friction_fraction(rates, model.reversal(implicit=False))
    if model.end_stops:
        passive, passive_damping = _with_end_stops(robot, model, q_J, rates, dt, passive, passive_damping)
    return JointForces(
        motor=motor,
        passive=passive,
        motor_damping=motor_damping,
        passive_damping=passive_damping,
        spring=spring,
        spring_damping=spring_damping,
        commanded=commanded,
        commanded_damping=commanded_damping,
        driven=driven,
    )


def _motors(
    robot: Robot,
    model: JointModel,
    position: ndarray,
    rates: ndarray,
    command: JointCommand,
    dt: float,
    modes: Modes | None,
    about: ndarray | None = None,
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return (torque, damping) of motors at the rates of their encoders, with limits and as commanded."""
    play: Scalar = 0.0
    stiffness = command.kp
    if not _is_zero(model.backlash):
        error = command.position - position - dt * rates
        play = np.clip(error, -0.5 * model.backlash, 0.5 * model.backlash)
        stiffness = np.where(np.abs(error) > 0.5 * model.backlash, stiffness, 0.0)
    commanded_damping = (command.kd + dt * stiffness) * np.ones(robot.nj)
    wanted = stiffness * (command.position - position - play) + command.kd * command.velocity + command.torque
    commanded = wanted - commanded_damping * rates
    if robot.passive_joints:
        driven = np.array([0.0 if j in robot.passive_joints else 1.0 for j in range(robot.nj)])
        commanded, commanded_damping = driven * commanded, driven * commanded_damping
    motor, damping = commanded, commanded_damping
    if model.motor_limits and robot.actuators and about is not None:
        # a motor at its limit has a reduced gain: without any, a light joint would be thrown from limit to limit
        there = wanted - commanded_damping * about
        limited = np.clip(there, *torque_limits(robot, about))
        same, within = limited * there > 0.0, np.abs(limited - there) <= 0.0  # zero torque is within the limits, too
        damping = np.where(within, 1.0, np.where(same, limited / np.where(same, there, 1.0), 0.0)) * commanded_damping
        motor = limited - damping * (rates - about)
    elif model.motor_limits and robot.actuators:
        known = modes or _saturation_modes(robot, commanded, rates)
        motor, damping = _limited(robot, commanded, commanded_damping, rates, known["saturated"], known["piece"])
    return motor, damping, commanded, commanded_damping


def guessed_modes(
    robot: Robot,
    model: JointModel,
    modes: Modes,
    rates: Float[ndarray, "nj"],
    commanded: Float[ndarray, "nj"],
    inertia: Float[ndarray, "nj"],
    dt: float,
    side: Float[ndarray, "nj"] | None = None,
) -> Modes:
    """Return the modes of a step's first iteration, by the initial speed unless dry friction stops the joint.

    ``side``: for belts with play, their initial side.
    """
    guess = _saturation_modes(robot, commanded, rates) if "saturated" in modes else {}
    if "side" in modes:
        guess["side"] = side
    if "slides" in modes:
        stopped = _stopped(robot, model, commanded, inertia, dt)
        guess["slides"] = np.where(np.abs(rates) > stopped, np.sign(rates), 0.0)
    return guess


def update_joint_modes(
    robot: Robot,
    model: JointModel,
    modes: Modes,
    torques: JointForces,
    rates: Float[ndarray, "nj"],
    a: Float[ndarray, "nj"],
    inertia: Float[ndarray, "nj"],
    dt: float,
    iteration: float,
) -> tuple[Modes, Operand]:
    """Return (modes for another iteration, number of joints in which they differ) for the accelerations found.

    A motor may exceed its limit only until the step is solved again; late iterations revert nothing.
    """
    after, differ, ends = dict(modes), 0.0, rates + dt * a
    if "saturated" in modes:
        saturated, piece = modes["saturated"], modes["piece"]
        wanted = motor_saturation(robot, torques.commanded - dt * torques.commanded_damping * a, ends)
        wanted = np.where(saturated * wanted < 0.0, 0.0, wanted)  # from one limit to the other, via neither
        wanted = np.where((iteration > FREEZE_AFTER) & _is_none(wanted), saturated, wanted)
        found = np.where(_is_none(wanted), piece, _limit_pieces(robot, wanted, ends))
        same = (saturated * wanted > 0.5) & ~_is_none(found - piece)  # at a limit, but on another piece of it
        # via the line between; in late iterations, to its far end, where torque is least and within the limit at any
        # speed
        found = np.where(same & (iteration > FREEZE_AFTER), 1.0, np.where(same & (piece * found < 0.0), 0.0, found))
        changes = ~(_is_none(wanted - saturated) & _is_none(found - piece))
        after |= {"saturated": wanted, "piece": found}
        differ = differ + np.sum(np.where(changes, 1.0, 0.0))
    if "side" in modes:  # teeth engage, or separate
        pulls = modes["side"] * (torques.motor - dt * torques.motor_damping * a) < 0.0
        after["side"] = np.where(pulls, 0.0, modes["side"])
        differ = differ + np.sum(np.where(pulls, 1.0, 0.0))
    if "slides" in modes:
        slides = modes["slides"]
        overcome = _is_held(slides) & (np.abs(ends) > model.creep)
        stopped = _stopped(robot, model, torques.commanded, inertia, dt)
        # friction drives no joint, however slow: one that would reverse is held first
        back = (np.abs(slides) > 0.5) & (slides * ends < 0.0) & (np.abs(ends) > model.creep)
        turned = np.where(np.abs(ends) > _FAR * stopped, np.sign(ends), 0.0)
        turned = np.where(iteration < _RELEASE_AFTER, turned, _RESIDUAL_FRICTION * slides)
        wrong = np.where(overcome | back, np.abs(ends), 0.0)
        alone = (iteration < _ONE_JOINT_AFTER) | (iteration >= _RELEASE_AFTER) | (wrong >= np.max(wrong))
        after["slides"] = np.where(alone & back, turned, np.where(alone & overcome, np.sign(ends), slides))
        differ = differ + np.sum(np.where(overcome | back, 1.0, 0.0))
    return after, differ


def _stopped(robot: Robot, model: JointModel, motor: ndarray, inertia: ndarray, dt: float) -> Float[ndarray, "nj"]:
    """Return the change of rate that dry friction can stop for a joint of the given inertia in a step [rad/s]."""
    return np.maximum(model.creep, dt * model.dry_friction_of(robot, motor) / inertia)


def _is_held(slides: Scalar) -> Operand:
    """Return whether dry friction holds a joint."""
    return np.abs(slides) < 0.5 * _RESIDUAL_FRICTION


def _is_none(mode: Scalar) -> Operand:
    """Return whether a mode of -1, 0 or 1 is 0."""
    return np.abs(mode) < 0.5


def _is_zero(value: Scalar) -> bool:
    """Return whether an effect is absent; a traced value never is."""
    return type(value) in (int, float, np.float64) and value == 0.0  # a traced value passes for a float


def _with_end_stops(
    robot: Robot, model: JointModel, q_J: ndarray, rates: ndarray, dt: float, passive: ndarray, damping: ndarray
) -> tuple[ndarray, ndarray]:
    """Add a stiff spring and a damper beyond each limit, which only push back."""
    lower, upper = joint_values(robot, "lower"), joint_values(robot, "upper")
    out_torque, out_damping = [], []
    gradient = model.stop_damping + dt * model.stop_stiffness
    for k in range(robot.nj):
        torque, gain = passive[k], damping[k]
        if np.isfinite(lower[k]) or np.isfinite(upper[k]):
            beyond = q_J[k] - np.clip(q_J[k], lower[k], upper[k])  # of one limit at most
            push = -model.stop_stiffness * beyond - gradient * rates[k]
            hit = push * beyond < 0.0
            torque, gain = torque + np.where(hit, push, 0.0), gain + np.where(hit, gradient, 0.0)
        out_torque.append(torque)
        out_damping.append(gain)
    return np.stack(out_torque), np.stack(out_damping)


def _limited(
    robot: Robot, commanded: ndarray, damping: ndarray, rates: ndarray, saturated: ndarray, piece: ndarray
) -> tuple[Float[ndarray, "nj"], Float[ndarray, "nj"]]:
    """Return (torque at ``rates``, its damping) of motors, on their piece of the limit."""
    by_joint = {actuator.joint: actuator for actuator in robot.actuators}
    bounds, falls = [], []
    for k, name in enumerate(robot.joint_names):
        actuator = by_joint.get(name)
        most, line = np.inf if actuator is None else actuator.torque_limit, _speed_line(actuator)
        bound, fall = np.where(saturated[k] > 0.0, most, -most), 0.0 * saturated[k]
        if line is not None:
            stall, drop, least = line
            on_line = _is_none(piece[k])
            bound = np.where(
                on_line, saturated[k] * stall - drop * rates[k], saturated[k] * np.where(piece[k] > 0.0, least, most)
            )
            fall = np.where(on_line, drop, 0.0)
        bounds.append(bound)
        falls.append(fall)
    free = _is_none(saturated)
    return np.where(free, commanded, np.stack(bounds)), np.where(free, damping, np.stack(falls))


def _saturation_modes(robot: Robot, commanded: Float[ndarray, "nj"], rates: Float[ndarray, "nj"]) -> Modes:
    """Return the modes of motors with a commanded torque at ``rates``."""
    saturated = motor_saturation(robot, commanded, rates)
    return {"saturated": saturated, "piece": _limit_pieces(robot, saturated, rates)}


def motor_saturation(
    robot: Robot, commanded: Float[ndarray, "nj"], rates: Float[ndarray, "nj"]
) -> Float[ndarray, "nj"]:
    """Return -1, 0 or 1 for motors commanded below, within, or above their limits at ``rates``."""
    low, high = torque_limits(robot, rates)
    return np.where(commanded > high, 1.0, np.where(commanded < low, -1.0, 0.0))


def _limit_pieces(robot: Robot, saturated: ndarray, rates: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """Return -1, 0 or 1 for motors at their torque limit, on the torque-speed line, or at its far end."""
    by_joint = {actuator.joint: actuator for actuator in robot.actuators}
    pieces = []
    for k, name in enumerate(robot.joint_names):
        line = _speed_line(by_joint.get(name))
        if line is None:
            pieces.append(0.0 * saturated[k] - 1.0)
            continue
        stall, drop, least = line
        left = stall - drop * saturated[k] * rates[k]  # of the torque towards the limit
        limit = by_joint[name].torque_limit
        pieces.append(np.where(left >= limit, -1.0, np.where(left > least, 0.0, 1.0)))
    return np.stack(pieces)


def _speed_line(actuator: Actuator | None) -> tuple[float, float, float] | None:
    """Return (stall torque, loss of it per rate [N m s/rad], least torque) at the joint.

    From the motor's electrical data, down to its full torque against the motion; or, with a speed limit alone, from
    full torque to zero over the last hundredth of the speed.
    """
    if actuator is None:
        return None
    if actuator.voltage and actuator.torque_constant and actuator.resistance:
        kt, g = actuator.torque_constant, actuator.gear
        per_volt = 1.5 * kt / actuator.resistance * abs(g)
        return per_volt * actuator.voltage, per_volt * 2.0 * kt * abs(g), -actuator.torque_limit
    if np.isfinite(actuator.speed_limit) and np.isfinite(actuator.torque_limit):
        drop = actuator.torque_limit / (_LAST_OF_SPEED * actuator.speed_limit)
        return drop * actuator.speed_limit, drop, 0.0
    return None


def torque_limits(robot: Robot, rates: Float[ndarray, "nj"]) -> tuple[Float[ndarray, "nj"], Float[ndarray, "nj"]]:
    """Return (lowest, highest) torque of every motor at the given rates [N m].

    Joints without an actuator are not limited.
    """
    by_joint = {actuator.joint: actuator for actuator in robot.actuators}
    low, high = [], []
    for k, name in enumerate(robot.joint_names):
        actuator = by_joint.get(name)
        limit = np.inf if actuator is None else actuator.torque_limit
        least: Scalar = -limit
        most: Scalar = limit
        line = _speed_line(actuator)
        if line is not None:
            stall, drop, floor = line
            most = np.maximum(np.minimum(limit, stall - drop * rates[k]), floor)
            least = np.minimum(np.maximum(-limit, -stall - drop * rates[k]), -floor)
        low.append(least)
        high.append(most)
    return np.stack(low), np.stack(high)


# -- joints in a step --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class JointFeedback:
    """Torques of the joints at the start of a step, and their modes, guessed in its first iteration."""

    world: World
    rates: Float[ndarray, "nj"]
    modes: dict[str, PyTree]
    torques: JointForces
    inertia: Float[ndarray, "nj"]  # inertia of each joint alone
    # equivalent inertia: an implicit torque decreases with the rate at the end of the step
    armature: Float[ndarray, "nj"]
    rotor: RotorState | None  # for belts
    power: dict[str, ndarray]  # brakes and power after the step

    def at_end(self, a_J: Float[ndarray, "nj"], dt: float) -> tuple[ndarray, ndarray, ndarray]:
        """Return (motor or belt, passive, springs' part of it) as they acted on the joints over the step [N m]."""
        motor, passive, spring = self.torques.motor, self.torques.passive, self.torques.spring
        if self.world.contact.implicit:
            motor = motor - dt * self.torques.motor_damping * a_J
            passive = passive - dt * self.torques.passive_damping * a_J
            spring = spring - dt * self.torques.spring_damping * a_J
        return motor, passive, spring

    def motor_torque(self, a_J: Float[ndarray, "nj"], dt: float) -> Float[ndarray, "nj"]:
        """Return the motor torques over the step, on their rotors behind belts [N m]."""
        driven, faster = self.torques.driven, dt * a_J
        if driven is None or self.rotor is None:
            return self.at_end(a_J, dt)[0]
        turned = driven.rotor_rate + driven.follows * faster - self.rotor.rate
        return driven.motor - driven.on_rotor * turned - driven.on_joint * faster

    def update_modes(
        self, a_J: Float[ndarray, "nj"], dt: float, iteration: Operand
    ) -> tuple[dict[str, PyTree], PyTree]:
        """Return (modes for another iteration, number of joints in which they differ) from the accelerations found."""
        if not self.modes:
            return self.modes, 0.0
        world = self.world
        return update_joint_modes(
            world.robot, world.joints, self.modes, self.torques, self.rates, a_J, self.inertia, dt, iteration
        )

    def memory_after(self, a_J: Float[ndarray, "nj"], dt: float) -> dict[str, ndarray]:
        """Return rotors behind belts, brakes and power, as the next step stores them."""
        if self.rotor is None or self.torques.driven is None:
            return self.power
        return self.rotor.moved(self.torques.driven, dt, dt * a_J) | self.power


def joint_feedback(
    world: World,
    state: State,
    own: Float[ndarray, "nj"],
    command: JointCommand,
    dt: float,
    modes: dict[str, PyTree],
    iteration: Scalar,
    about: Float[ndarray, "nj"] | None = None,
) -> JointFeedback:
    """Return the joints at the start of a step; ``own`` is the inertia of each without armature.

    ``about``: rates at which a model without modes evaluates limits and dry friction; the initial ones unless given.
    """
    effects, command, power = world.joints.under_power(state.memory, command, dt)
    world = world if effects is world.joints else replaced(world, "joints", effects)
    robot, belt, armature, rotor = world.robot, world.joints.belt, armatures(world.robot), None
    q_J, rates = joint_positions(robot, state.q), joint_rates(robot, state.v)
    ahead = dt if world.contact.implicit else 0.0
    if belt is not None:
        armature, rotor = belt.set_apart(armature, own, state.memory)
    inertia = own + armature
    if modes:
        wanted = joint_forces(robot, world.joints, q_J, rates, command, ahead, modes, rotor).commanded
        side = None if belt is None or rotor is None else sides(belt, rotor, q_J)
        guess = guessed_modes(robot, world.joints, modes, rates, wanted, inertia, dt, side)
        modes = {key: np.where(iteration < 0.5, guess[key], modes[key]) for key in modes}
    if about is None and world.contact.implicit and world.contact.one_solve:
        about = rates
    torques = joint_forces(robot, world.joints, q_J, rates, command, ahead, modes, rotor, about)
    if world.contact.implicit:
        armature = armature + dt * (torques.motor_damping + torques.passive_damping)
    return JointFeedback(
        world=world,
        rates=rates,
        modes=modes,
        torques=torques,
        inertia=inertia,
        armature=armature,
        rotor=rotor,
        power=power,
    )

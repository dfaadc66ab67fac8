"""A motor's rotor behind a belt or a gear train: its inertia here, the joint there, elasticity and play between.

    J ω̇ = τ_motor - b,   b = k s(θ - q) + c (θ̇ - q̇),   s(δ) = δ beyond half the play, less that half, and 0 within

θ and ω are the rotor's angle and rate, all of it as seen at the joint (inertia times the gear's ratio squared), and b
is what the joint receives. Teeth only push: b never pulls the side that it stands on. This is the two-mass system that
drives are tuned by, with k (1/J + 1/I) for its eigenfrequency's square; ``JointModel.backlash`` is the same play with
a rotor that stands where it is told to, and needs no state.

In an implicit step the rotor's rate is eliminated: it is straight in the joint's rate at the end of the step, so that
the joint gets a torque and a slope as from any motor, both bodies end the step together, and b acts on both of them.
The elastic part is taken at the start of the step (with positions moved by new velocities: no damping that is not in
the belt), and gradually at the end where the belt is too stiff for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from footfall.dynamics.mass_matrix import armatures
from footfall.errors import InputError, unknown
from footfall.kinematics.forward import joint_positions, joint_rates
from footfall.nests import Scalar
from footfall.robot.model.description import Robot

ENCODERS = ("motor", "joint")
ROTOR = POSITION, RATE = "rotor_position", "rotor_velocity"  # in the memory of a step, and in recordings


@dataclass(frozen=True)
class Belt:
    """What lies between motors and joints; one number for all joints, or one each, as seen at the joint.

    Without ``inertia`` the joints' own armature is the rotor's, and turns behind the belt instead of with the joint.
    ``encoder`` says which side the motor's feedback measures.
    """

    stiffness: Scalar = 4000.0  # [N m/rad]
    damping: Scalar = 2.0  # [N m s/rad]
    play: Scalar = 0.0  # [rad], from end to end
    inertia: Scalar = None  # of the rotor [kg m²]
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
        """A traced play is one."""
        return isinstance(self.play, ndarray) or type(self.play) not in (int, float, np.float64) or self.play != 0.0

    def rotors(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Inertia of every rotor [kg m²]."""
        if self.inertia is not None:
            return self.inertia * np.ones(robot.nj)
        return armatures(robot)

    def start(self, robot: Robot, q: Float[ndarray, "nq"], v: Float[ndarray, "nv"]) -> dict[str, ndarray]:
        """Rotors that turn with their joints, the belts slack; refuses a robot that this belt does not fit."""
        for key in ("stiffness", "damping", "play", "inertia"):
            value = getattr(self, key)
            if value is not None and np.shape(value) not in ((), (robot.nj,)):
                raise InputError(f"{key} of the belts of robot '{robot.name}' must be one number or {robot.nj} of them")
        if self.inertia is None:
            if robot.rotors == "exact":
                raise InputError(
                    f"rotors of robot '{robot.name}' count as exact, and turn with their joints: a belt needs"
                    " robot.replace(rotors='armature'), or an inertia of its own"
                )
            bare = [name for name, J in zip(robot.joint_names, armatures(robot)) if not J > 0.0]
            if bare:
                raise InputError(f"joint '{bare[0]}' of robot '{robot.name}' has no armature: a belt needs inertia=...")
        return {POSITION: np.array(joint_positions(robot, q)), RATE: np.array(joint_rates(robot, v))}

    def set_apart(
        self, armature: Float[ndarray, "nj"], inertia: Float[ndarray, "nj"], memory: Mapping[str, ndarray]
    ) -> tuple[Float[ndarray, "nj"], Rotor]:
        """(what of the armature stays with the joints, the rotors); ``inertia`` is that of the joints without it."""
        if self.inertia is None:
            armature = 0.0 * armature
        return armature, Rotor(memory[POSITION], memory[RATE], inertia + armature)


@dataclass(frozen=True)
class Rotor:
    """Rotors at the start of a step, and the joints' own inertia, which is on the other side [kg m²]."""

    position: Float[ndarray, "nj"]  # [rad]
    rate: Float[ndarray, "nj"]  # [rad/s]
    load: Float[ndarray, "nj"]

    def moved(self, driven: Driven, dt: float, faster: Float[ndarray, "nj"]) -> dict[str, ndarray]:
        """The rotors after a step in which the joints' rates have grown by ``faster``."""
        rate = driven.rotor_rate + driven.follows * faster
        return {POSITION: self.position + dt * rate, RATE: rate}


@dataclass(frozen=True)
class Driven:
    """What a joint receives: a torque at its rate and the slope; and the rotor's rate, straight in the joint's."""

    torque: Float[ndarray, "nj"]
    slope: Float[ndarray, "nj"]
    rotor_rate: Float[ndarray, "nj"]  # at the end of the step if the joint kept its rate
    follows: Float[ndarray, "nj"]  # how much of a change of the joint's rate it takes up


def sides(belt: Belt, rotor: Rotor, q_J: Float[ndarray, "nj"]) -> Float[ndarray, "nj"]:
    """1 or -1 where the play is taken up and the rotor is ahead of the joint or behind it, 0 within the play."""
    ahead = rotor.position - q_J
    return np.where(np.abs(ahead) > 0.5 * belt.play, np.sign(ahead), 0.0)


def through_belt(
    robot: Robot, belt: Belt, rotor: Rotor, q_J: Float[ndarray, "nj"], rates: Float[ndarray, "nj"],
    motor: Float[ndarray, "nj"], slope: Float[ndarray, "nj"], dt: float, side: Scalar = None,
) -> Driven:  # fmt: skip
    """The joint's share of a step in which motors give ``motor`` less ``slope`` times their encoder's change of rate.

    With g the belt's slope over the step and N that of the rotor, the rotor's equation gives
    ω' = (J/dt ω + s ω + τ - b_0 + g q̇') / N, and b = b_0 + g (ω' - q̇').
    """
    k, J = belt.stiffness, belt.rotors(robot) / dt
    stretch, taut = rotor.position - q_J, 1.0
    if side is not None:
        stretch, taut = stretch - 0.5 * belt.play * side, np.abs(side)
    steep = k * dt * dt * (1.0 / belt.rotors(robot) + 1.0 / rotor.load)  # (ω dt)² of the two masses, at least
    late = np.maximum(0.5 - 0.5 / steep, 0.0)
    pull, g = taut * k * stretch, taut * (belt.damping + late * dt * k)
    on_rotor, on_joint = (slope, 0.0 * slope) if belt.encoder == "motor" else (0.0 * slope, slope)
    N = J + on_rotor + g
    free = (J + on_rotor) * rotor.rate + motor - pull
    follows = (g - on_joint) / N
    rotor_rate = (free + g * rates) / N
    return Driven(pull + g * (rotor_rate - rates), g * (1.0 - follows), rotor_rate, follows)

"""Joint PD on a gait with reflexes and responses: the controller of the DynaKat report, on any robot with a gait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, ControllerInfo, JointCommand, Sensed, check_rate
from footfall.control.joint.joint_pd import SPINE_GAINS, check_gain, check_gait, check_inverse, planar_targets
from footfall.control.joint.rhythm import first_rhythm
from footfall.control.locomotion.reflex_steps import StepMemory, Stepper, step
from footfall.control.locomotion.reflexes import Reflexes
from footfall.control.locomotion.reflexes.log import new_events
from footfall.control.locomotion.reflexes.safe_stop import crouch
from footfall.control.locomotion.reflexes.state import ReflexMemory
from footfall.control.locomotion.whole_body import torque_bounds
from footfall.control.posture import standing_joints
from footfall.errors import InputError
from footfall.gait.oscillators.networks import Network, network_of
from footfall.gait.pattern import Gait
from footfall.gait.transition import Transition
from footfall.gait.tuned import for_robot
from footfall.kinematics.forward import foot_positions
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import GRAVITY, Gravity
from nptrace._types import Given, PyTree
from nptrace.array_types import Float


@dataclass(eq=False, kw_only=True)
class ReflexPD(Controller):
    """Joint PD on the foot trajectories of a gait driven by oscillators, with reflexes that change the trajectories.

    ``reflexes`` are as in Locomotion: ``Reflexes(...)``, True, False or names. ``faster`` is the gait that the
    response ``speed_gait`` changes to, with its gains. Activations are listed in ``log`` and recorded as events.
    """

    gait: Gait
    kp: float = 40.0  # [N m/rad]
    kd: float = 1.0  # [N m s/rad]
    rate: float = 1000.0  # [Hz]
    coupling: float = 4.0  # of the oscillators [1/s]
    oscillator: str | Network = "kuramoto"
    speed_feedback: float = 0.5  # [1/s], as in JointPD
    reflexes: Given = True
    faster: Gait | None = None
    faster_gains: tuple[float, float] | None = None
    spine_kp: float = SPINE_GAINS[0]
    spine_kd: float = SPINE_GAINS[1]
    friction: float = 0.6  # assumed unless feet slide
    inverse: str = "closed"  # as in JointPD

    info = ControllerInfo(traceable=False)  # reflexes are logged as they act

    def __post_init__(self) -> None:
        if not isinstance(self.gait, Gait):
            raise InputError(f"ReflexPD needs a Gait, such as gait.trot(), got {type(self.gait).__name__}")
        check_rate(self.rate)
        check_inverse(self.inverse, "ReflexPD")
        network_of(self.oscillator, self.coupling)
        for key in ("kp", "kd", "spine_kp", "spine_kd", "coupling", "speed_feedback", "friction"):
            check_gain(getattr(self, key), f"{key} of ReflexPD", ())
        self.reflexes = Reflexes.of(self.reflexes)
        if self.reflexes.speed_gait and self.faster is None:
            raise InputError(
                "the response speed_gait of ReflexPD needs the gait to change to: give it faster=gait.trot()"
            )
        self.log: list[tuple[float, str]] = []
        self._last_acting: dict[tuple[str, str], float] = {}
        self._compile: Callable[..., PyTree] | None = None
        self._stepper: Stepper | None = None
        self._step: Callable[..., PyTree] = step

    @staticmethod
    def tuned(robot: Robot | str, gait: str = "walk", **options: Any) -> ReflexPD:
        """Create the controller with a robot's tuned constants; its faster gait is its trot."""
        known, trot = for_robot(robot, gait), for_robot(robot, "trot")
        faster = {"faster": trot.gait.replace(knees=known.gait.knees), "faster_gains": (trot.kp, trot.kd)}
        return ReflexPD(gait=known.gait, **{"kp": known.kp, "kd": known.kd, **faster, **options})

    def posture(self, robot: Robot) -> Float[ndarray, "nj"]:
        """Return the initial joint positions, with the feet under the hips."""
        return planar_targets(robot, self.gait, np.zeros(4), np.zeros(4))

    def nominal_command(self, robot: Robot) -> Command:
        """Return its gait's speed, if it follows one."""
        follows = self.speed_feedback and self.gait.stride
        return Command(forward=float(self.gait.speed)) if follows else Command()

    def start(self, robot: Robot) -> StepMemory:
        if not robot.floating:
            raise InputError(f"robot '{robot.name}' has a fixed base: reflexes need a robot that walks")
        check_gait(robot, self.gait)
        self.log.clear()
        self._last_acting.clear()
        return self._first_memory(self._set_up(robot, GRAVITY if self._stepper is None else self._stepper.gravity))

    def _first_memory(self, stepper: Stepper) -> StepMemory:
        robot = stepper.robot
        q, _ = robot.state(self.posture(robot))
        positions = foot_positions(robot, q)[:4]
        return StepMemory(
            time=0.0,
            rhythm=first_rhythm(stepper.network, stepper.change.timing_between(0.0)),
            stride=np.zeros(2),
            blend=0.0,
            sidestep_offset=np.zeros((4, 2)),
            tilt=np.zeros(2),
            down=np.ones(4),
            last_down=positions - positions[:, 2:].min() * np.array([0.0, 0.0, 1.0]),
            reflex=ReflexMemory.at_start(self.reflexes, self.friction),
            joints=self.posture(robot),
        )

    def prepare(self, robot: Robot, compile: Callable[..., PyTree], gravity: Gravity = GRAVITY) -> None:
        """Compile a tick; called by the simulation."""
        self._compile = compile
        self._set_up(robot, gravity)

    def _set_up(self, robot: Robot, gravity: Gravity) -> Stepper:
        """Create the constants anew for another robot or gravity, and compile the tick if there is a compiler."""
        stepper = self._stepper
        if stepper is None or stepper.robot is not robot or stepper.gravity != gravity:
            faster = self.faster or self.gait
            faster_gains = self.faster_gains or (self.kp, self.kd)
            stepper = self._stepper = Stepper(
                robot=robot,
                change=Transition(self.gait, faster),
                network=network_of(self.oscillator, self.coupling),
                kp=(self.kp, faster_gains[0]),
                kd=(self.kd, faster_gains[1]),
                spine=(self.spine_kp, self.spine_kd),
                rate=self.rate,
                speed_feedback=self.speed_feedback if self.gait.stride else 0.0,
                friction=self.friction,
                crouch=crouch(robot, None),
                limits=torque_bounds(robot),
                gravity=gravity,
                inverse=self.inverse,
            )
            self._step = step
        if self._compile is not None and self._step is step:
            q, v = robot.state(standing_joints(robot))
            sensed, memory = Sensed(q=q, v=v, forces=np.zeros((robot.nf, 3))), self._first_memory(stepper)
            compiled_step = self._compile(step, stepper, sensed, Command(), memory)
            self._step = lambda stepper, *arguments: compiled_step(*arguments)
        return stepper

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: StepMemory
    ) -> tuple[JointCommand, StepMemory]:
        stepper = self._set_up(robot, sensed.gravity)
        joint_command, after = self._step(
            stepper, Sensed(q=sensed.q, v=sensed.v, forces=sensed.forces), command, memory
        )
        self.log += new_events(t, memory.reflex, after.reflex, self._last_acting)
        return joint_command, after

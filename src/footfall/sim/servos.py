"""Position servos of hobby robots: a target in steps, followed at a limited speed, with a deadband around it.

A servo is given an angle alone: no velocity, no torque, no gains. With the period T of the commands it computes

    g = r round(q_d / r),   s ← s + clip(g - s, -ω T, ω T),   τ = k z(s - q) - d q̇,   z(e) = sign(e) max(|e| - δ, 0)

r is the resolution of its input, s its setpoint, ω the largest speed of the setpoint, δ the deadband, within which the
motor is off. Whether q is in the deadband is decided at every command; between commands the spring acts in the physics.
k and d are the gains of the servo's own loop, or those of the command. The torque-speed limits of its motor are the
robot's (``ff.Actuator``), play of its gears is ``JointModel(backlash=...)``.

    servo = ff.sim.ServoModel(speed=6.0, deadband=0.01, resolution=np.radians(0.29), stiffness=8.0, damping=0.1)
    sim = ff.Simulation(robot, servo.of(controller))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from footfall.control.interface import Command, Controller, ControllerWrapper, JointCommand, Sensed
from footfall.errors import InputError
from footfall.kinematics.forward import joint_positions
from footfall.robot.model.description import Robot
from nptrace._types import PyTree
from nptrace.array_types import Float


@dataclass(frozen=True, eq=False, kw_only=True)
class ServoModel:
    """Position servos, for all joints or each: speed [rad/s], deadband to either side and resolution [rad], gains.

    ``stiffness`` [N m/rad] and ``damping`` [N m s/rad] of the servo's own loop replace those of commands.
    """

    speed: Float[ndarray, "nj"] | float = np.inf
    deadband: Float[ndarray, "nj"] | float = 0.0
    resolution: Float[ndarray, "nj"] | float = 0.0
    stiffness: Float[ndarray, "nj"] | float | None = None
    damping: Float[ndarray, "nj"] | float | None = None

    def __post_init__(self) -> None:
        for key in ("speed", "deadband", "resolution", "stiffness", "damping"):
            given = getattr(self, key)
            if given is None and key in ("stiffness", "damping"):
                continue
            try:
                value = np.array(given, dtype=float)
            except (TypeError, ValueError):
                raise InputError(f"{key} of a servo must be numbers, got {given!r}") from None
            least = value > 0.0 if key == "speed" else (value >= 0.0) & np.isfinite(value)
            if value.ndim > 1 or not least.all():
                bound = "positive" if key == "speed" else "at least 0 and finite"
                raise InputError(f"{key} of a servo must be {bound}, one for all joints or one each: got {given!r}")
            object.__setattr__(self, key, value)

    def check_fits(self, robot: Robot) -> None:
        """Raise for a robot with a different number of joints."""
        for key, value in vars(self).items():
            if value is not None and value.shape not in ((), (robot.nj,)):
                raise InputError(
                    f"{key} of the servos of robot '{robot.name}' must be one number or {robot.nj} of them"
                )

    def goal(self, position: Float[ndarray, "nj"] | float) -> Float[ndarray, "nj"]:
        """Return the commanded positions in whole steps of the resolution [rad]; halves are rounded up."""
        step = np.where(self.resolution > 0.0, self.resolution, 1.0)
        return np.where(self.resolution > 0.0, step * np.floor(position / step + 0.5), position)

    def moved(self, setpoint: Float[ndarray, "nj"], goal: Float[ndarray, "nj"], dt: float) -> Float[ndarray, "nj"]:
        """Return the setpoints [rad] after ``dt`` seconds, moved towards their goals by the speed at most."""
        far = self.speed * dt
        return np.where(np.abs(goal - setpoint) <= far, goal, setpoint + np.clip(goal - setpoint, -far, far))

    def carried_out(
        self, command: JointCommand, setpoint: Float[ndarray, "nj"], q_J: Float[ndarray, "nj"]
    ) -> JointCommand:
        """Return the command that acts: a spring to the near edge of the deadband, and none within it.

        Args:
            command: Command, whose gains count if the servo has none.
            setpoint: Setpoints [rad].
            q_J: Measured joint positions [rad].
        """
        away = setpoint - q_J
        off = np.abs(away) <= self.deadband
        kp = command.kp if self.stiffness is None else self.stiffness
        kd = command.kd if self.damping is None else self.damping
        edge = setpoint - np.where(away > 0.0, self.deadband, -self.deadband)
        return JointCommand(
            position=np.where(self.deadband > 0.0, edge, setpoint),
            velocity=np.zeros(len(q_J)),
            kp=np.where(off & (self.deadband > 0.0), 0.0, kp),
            kd=kd + np.zeros(len(q_J)),
            torque=np.zeros(len(q_J)),
        )

    def of(self, controller: Controller) -> ThroughServos:
        """Return the controller behind these servos."""
        return ThroughServos(controller, self)


@dataclass(frozen=True, eq=False)
class ThroughServos(ControllerWrapper):
    """A controller behind position servos; compiled with the physics if the controller is.

    Setpoints begin where the joints are measured at the first call.
    """

    inner: Controller
    servos: ServoModel

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.servos, ServoModel):
            raise InputError(f"servos must be a ServoModel, got {type(self.servos).__name__}")

    def start(self, robot: Robot) -> dict[str, PyTree]:
        self.servos.check_fits(robot)
        return {"inner": self.inner.start(robot), "setpoint": np.zeros(robot.nj), "begun": 0.0}

    def __call__(
        self, t: float, robot: Robot, sensed: Sensed, command: Command, memory: PyTree
    ) -> tuple[JointCommand, PyTree]:
        requested, inner = self.inner(t, robot, sensed, command, memory["inner"])
        requested = requested.broadcast(robot.nj)
        q_J = joint_positions(robot, sensed.q)
        before = np.where(memory["begun"] > 0.5, memory["setpoint"], q_J)
        setpoint = self.servos.moved(before, self.servos.goal(requested.position), 1.0 / self.rate)
        kept = {"inner": inner, "setpoint": setpoint, "begun": 1.0}
        return self.servos.carried_out(requested, setpoint, q_J), kept

"""What the node does, without ROS: a simulation that walks by velocities or obeys joint commands, and its messages.

Messages are plain dictionaries with the fields of ROS 2's; ``messages`` makes real ones of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import footfall as ff

PERIOD = 0.01  # [s] between messages
HOLD = 0.5  # [s] that a velocity or a joint command holds
WORLD = "odom"


class Simulator:
    """A robot that stands or walks by ``velocity``, and obeys ``joint_command`` while those come.

    Args:
        robot: name in footfall's library, or a URDF or MJCF file.
        controller: that follows velocities: whole_body, mpc, balance, or a policy's file.
        gait: of the controller.
        ground: plane, slope:5, steps:0.02, rough:0.03 ...
        kp: gain of position commands [N m/rad]; the robot's ``stand_gains`` unless given.
        kd: gain of velocity commands [N m s/rad].
    """

    def __init__(
        self,
        robot: str = "mini_cheetah",
        controller: str = "whole_body",
        gait: str = "trot",
        ground: str = "plane",
        kp: float = 0.0,
        kd: float = 0.0,
    ) -> None:
        model = ff.load(robot)
        acting = ff.control.on_command(controller, gait)
        self.simulation = ff.Simulation(model, acting, ground=ground, command=ff.Command(), stop_on_fall=False)
        self.robot = self.simulation.robot
        stand = ff.control.stand_gains(self.robot)
        self.kp, self.kd = (given or float(usual) for given, usual in zip((kp, kd), stand))
        self.base = self.robot.tree.bodies[0].name  # the root of the URDF, so that the frames hang together
        self._order = {name: k for k, name in enumerate(self.robot.joint_names)}
        self._heard = self._asked = -np.inf
        self._joints: ff.JointCommand | None = None

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.simulation.time

    # -- what comes in -------------------------------------------------------------------------------------------------
    def velocity(self, twist: Any) -> None:
        """Take a ``geometry_msgs/Twist``; one with a number that is not finite is left alone."""
        wanted = (float(twist.linear.x), float(twist.linear.y), float(twist.angular.z))
        if np.isfinite(wanted).all():
            self.simulation.set_command(forward=wanted[0], sideways=wanted[1], turn=wanted[2])
            self._heard = self.time

    def joint_command(self, message: Any) -> str | None:
        """Take a ``sensor_msgs/JointState`` as a command: positions and velocities with gains, efforts [N m].

        Returns:
            What is wrong with the message, in a sentence; None if it was taken. Joints that it leaves out keep what
            they were commanded, at first the stand.
        """
        names = list(message.name)
        for name in names:
            if name not in self._order:
                return f"robot '{self.robot.name}' has no joint '{name}': it has {', '.join(self._order)}"
        fields = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
        for field, numbers in fields.items():
            if len(numbers) not in (0, len(names)):
                return f"the joint command has {len(names)} names and {len(numbers)} numbers of {field}"
            if not np.isfinite(np.asarray(numbers, float)).all():
                return f"the joint command has a {field} that is not finite"
        before = self._joints or ff.JointCommand(position=self._stand(), kp=self.kp, kd=self.kd)
        position, velocity, kp, kd, torque = (
            np.array(getattr(before.broadcast(self.robot.nj), key))
            for key in ("position", "velocity", "kp", "kd", "torque")
        )
        at = [self._order[name] for name in names]
        for numbers, held in (
            (fields["position"], position),
            (fields["velocity"], velocity),
            (fields["effort"], torque),
        ):
            if len(numbers):
                held[at] = numbers
        if len(fields["position"]) or len(fields["velocity"]):
            kp[at], kd[at] = self.kp * bool(len(fields["position"])), self.kd
            torque[at] = fields["effort"] if len(fields["effort"]) else 0.0
        elif len(fields["effort"]):
            kp[at], kd[at] = 0.0, 0.0
        self._joints = ff.JointCommand(position=position, velocity=velocity, kp=kp, kd=kd, torque=torque)
        self._asked = self.time
        return None

    def _stand(self) -> np.ndarray:
        return np.asarray(self.robot.poses["stand"].joints)

    # -- time ----------------------------------------------------------------------------------------------------------
    def advance(self, seconds: float = PERIOD) -> None:
        """Go on by some simulated time [s]: under the joint command while it holds, else under the controller."""
        sim = self.simulation
        if self.time - self._heard > HOLD and sim.command_now != ff.Command():
            sim.set_command(ff.Command())  # nobody steers any more: it stands still
        ticks = max(1, round(seconds / sim.model.period))
        if self._joints is not None and self.time - self._asked > HOLD:
            self._joints = None
            sim.set_state(restart_controller=True)  # it begins anew from where the joints are
        if sim.stopped is not None:
            sim.reset()
            self._joints = None
        if self._joints is None:
            sim.step(ticks)
        else:
            sim.step(self._joints, n=ticks)

    # -- what goes out -------------------------------------------------------------------------------------------------
    def joint_state(self) -> dict[str, Any]:
        """Return a ``sensor_msgs/JointState``."""
        state = self.simulation.state
        return {
            "header": self._header(""),
            "name": list(self.robot.joint_names),
            "position": state.q[7:].tolist(),
            "velocity": state.v[6:].tolist(),
            "effort": np.asarray(state.motor).tolist(),
        }

    def imu(self) -> dict[str, Any]:
        """Return a ``sensor_msgs/Imu`` of the trunk: attitude, rates and specific force in its own axes."""
        sensed = self.simulation.sensed
        return {
            "header": self._header(self.base),
            "orientation": _quaternion(sensed.q[3:7]),
            "angular_velocity": _vector(sensed.gyro),
            "linear_acceleration": _vector(sensed.acceleration),
        }

    def odometry(self) -> dict[str, Any]:
        """Return a ``nav_msgs/Odometry``: the pose in the world, the twist in the trunk's axes."""
        q, v = self.simulation.q, self.simulation.v
        return {
            "header": self._header(WORLD),
            "child_frame_id": self.base,
            "pose": {"pose": {"position": _vector(q[:3]), "orientation": _quaternion(q[3:7])}},
            "twist": {"twist": {"linear": _vector(v[3:6]), "angular": _vector(v[:3])}},
        }

    def transforms(self) -> dict[str, Any]:
        """Return a ``tf2_msgs/TFMessage`` with the trunk in the world."""
        q = self.simulation.q
        placed = {"translation": _vector(q[:3]), "rotation": _quaternion(q[3:7])}
        return {"transforms": [{"header": self._header(WORLD), "child_frame_id": self.base, "transform": placed}]}

    def _header(self, frame: str) -> dict[str, Any]:
        nanoseconds = round(self.time * 1e9)
        stamp = {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9}
        return {"stamp": stamp, "frame_id": frame}


def _vector(xyz: Sequence[float] | np.ndarray) -> dict[str, float]:
    return dict(zip("xyz", map(float, xyz)))


def _quaternion(wxyz: Sequence[float] | np.ndarray) -> dict[str, float]:
    return dict(zip("wxyz", map(float, wxyz)))

"""ROS 2 without ROS: joint states, IMU, odometry and tf as plain DDS topics with ROS 2's names, and ``cmd_vel`` as
input.

A ROS 2 topic ``/odom`` of type ``nav_msgs/msg/Odometry`` is on the wire the DDS topic ``rt/odom`` of type
``nav_msgs::msg::dds_::Odometry_``.
"""

from __future__ import annotations

import numpy as np

from footfall.control.interface import Sensed
from footfall.hardware import ros2_messages as ros
from footfall.hardware.connection import RobotState
from footfall.hardware.dds.definitions import declared
from footfall.hardware.dds.domain import Participant
from footfall.robot.model.description import Robot
from nptrace._types import Foreign


def _raw(kind: Foreign) -> Foreign:
    """Return a type whose instances may hold encoded bytes (``of``) from ``ros2_messages``, which are sent
    unchanged.
    """
    usual = kind.serialize
    kind.serialize = lambda self, *a, **k: self.__dict__["raw"] if "raw" in self.__dict__ else usual(self, *a, **k)
    kind.of = classmethod(_of)
    return kind


def _of(kind: type, data: bytes) -> Foreign:
    message: Foreign = object.__new__(kind)
    message.__dict__["raw"] = data
    return message


_types = declared(ros.PARTS)
JointState, Imu = _raw(_types["sensor_msgs/JointState"]), _raw(_types["sensor_msgs/Imu"])
Odometry, TFMessage = _raw(_types["nav_msgs/Odometry"]), _raw(_types["tf2_msgs/TFMessage"])
Twist = _raw(_types["geometry_msgs/Twist"])


class Ros2:
    """The robot's topics: ``/joint_states``, ``/imu``, ``/odom`` and ``/tf`` out, ``/cmd_vel`` in."""

    def __init__(self, participant: Participant, robot: Robot) -> None:
        self.robot = robot
        self._joints = participant.writer("rt/joint_states", JointState)
        self._imu = participant.writer("rt/imu", Imu)
        self._odometry = participant.writer("rt/odom", Odometry)
        self._tf = participant.writer("rt/tf", TFMessage)
        self._velocities = participant.reader("rt/cmd_vel", Twist)

    def publish(self, time: float, state: RobotState, sensed: Sensed) -> None:
        """Send one message on every topic; ``time`` is the robot's [s]."""
        stamp, q = round(time * 1e9), sensed.q
        joints = ros.joint_state(stamp, self.robot.joint_names, state.position, state.velocity, state.torque)
        self._joints.write(JointState.of(joints))
        self._imu.write(Imu.of(ros.imu(stamp, state.attitude, state.imu.gyro, state.imu.acceleration)))
        self._odometry.write(Odometry.of(ros.odometry(stamp, q, sensed.v)))
        self._tf.write(TFMessage.of(ros.transforms(stamp, [(ros.WORLD, ros.BASE, q[:3], q[3:7])])))

    def commanded(self) -> tuple[float, float, float] | None:
        """Return the newest velocity received (forward, sideways [m/s], turn [rad/s]), if there is one and it is
        finite.
        """
        for message in self._velocities.take()[-1:]:
            velocity = (message.linear.x, message.linear.y, message.angular.z)
            if np.isfinite(velocity).all():
                return velocity
        return None


__all__ = ["Imu", "JointState", "Odometry", "Ros2", "TFMessage", "Twist"]

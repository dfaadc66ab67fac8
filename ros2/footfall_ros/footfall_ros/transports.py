"""Where messages go: to ROS through rclpy, or to the same topics as plain DDS where rclpy is not installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from footfall.hardware.ros2_messages import PARTS
from footfall_ros.messages import built, filled, imported

OUT = {
    "joint_states": "sensor_msgs/JointState",
    "imu": "sensor_msgs/Imu",
    "odom": "nav_msgs/Odometry",
    "tf": "tf2_msgs/TFMessage",
}
IN = {"cmd_vel": "geometry_msgs/Twist", "joint_commands": "sensor_msgs/JointState"}


class RosTransport:
    """Topics of an rclpy node."""

    def __init__(self, node: Any, hear: Callable[[str, Any], None]) -> None:
        self._publishers = {
            topic: (imported(kind), node.create_publisher(imported(kind), topic, 10)) for topic, kind in OUT.items()
        }
        self._subscriptions = [
            node.create_subscription(imported(kind), topic, lambda message, topic=topic: hear(topic, message), 10)
            for topic, kind in IN.items()
        ]

    def publish(self, topic: str, values: Mapping[str, Any]) -> None:
        """Send a message."""
        kind, publisher = self._publishers[topic]
        publisher.publish(filled(kind(), values))


class DdsTransport:
    """The topics as ROS 2 names them on DDS (``rt/...``), by footfall's own participant."""

    def __init__(self, hear: Callable[[str, Any], None], domain: int = 0, interface: str = "lo") -> None:
        from footfall.hardware.dds.definitions import declared
        from footfall.hardware.dds.domain import Participant

        self._types, self._hear = declared(PARTS), hear
        self.participant = Participant(domain, interface)
        self._writers = {
            topic: self.participant.writer(f"rt/{topic}", self._types[kind]) for topic, kind in OUT.items()
        }
        self._readers = {
            topic: self.participant.reader(f"rt/{topic}", self._types[kind], 10) for topic, kind in IN.items()
        }

    def publish(self, topic: str, values: Mapping[str, Any]) -> None:
        """Send a message."""
        self._writers[topic].write(built(OUT[topic], values, lambda kind, fields: self._types[kind](**fields)))

    def listen(self) -> None:
        """Hand on what has come."""
        for topic, reader in self._readers.items():
            for message in reader.take():
                self._hear(topic, message)

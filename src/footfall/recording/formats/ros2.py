"""A recording as a ROS 2 bag in one MCAP file: joint states, IMU, odometry, tf, forces on the feet, events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy import ndarray

from footfall._io.whole_file import whole_file
from footfall.hardware import ros2_messages as ros
from footfall.recording import mcap_file
from footfall.recording.formats.frames import Frame, frames
from footfall.recording.mcap_file import McapWriter
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot

_CHUNK = 256  # frames
_LEVELS = {"fell": 40, "diverged": 40, "error": 40, "warning": 30, "controller": 30}
_QOS = (  # of recorded topics: reliable, keep the last ten
    "- history: 1\n  depth: 10\n  reliability: 1\n  durability: 2\n  deadline: {sec: 9223372036, nsec: 854775807}\n"
    "  lifespan: {sec: 9223372036, nsec: 854775807}\n  liveliness: 1\n"
    "  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}\n  avoid_ros_namespace_conventions: false\n"
)

Makes = Callable[[Frame], bytes]


def topics(robot: Robot) -> dict[str, tuple[str, Makes]]:
    """Return the topics of every frame: type and message by topic."""
    names = robot.joint_names
    found: dict[str, tuple[str, Makes]] = {
        "/joint_states": (
            "sensor_msgs/JointState",
            lambda f: ros.joint_state(f.stamp, names, f.q[7:], f.v[6:], f.torque),
        ),
        "/imu": ("sensor_msgs/Imu", lambda f: ros.imu(f.stamp, f.q[3:7], f.gyro, f.acceleration)),
        "/odom": ("nav_msgs/Odometry", lambda f: ros.odometry(f.stamp, f.q, f.v)),
        "/tf": ("tf2_msgs/TFMessage", lambda f: ros.transforms(f.stamp, [(ros.WORLD, ros.BASE, f.q[:3], f.q[3:7])])),
    }
    for k, foot in enumerate(robot.foot_names):
        found[f"/foot/{foot}"] = (
            "geometry_msgs/WrenchStamped",
            lambda f, k=k: ros.wrench(f.stamp, ros.WORLD, f.force[k]),  # type: ignore[misc]
        )
    return found


def write(recording: Recording, path: Path, rate: float | None = None) -> int:
    """Write the file atomically; return its number of messages."""
    total = 0
    with whole_file(path) as passing:
        file = mcap_file.McapWriter(passing, "footfall", "zstd", "ros2")
        try:
            reported = topics(recording.robot)
            channels = {topic: _channel(file, topic, kind) for topic, (kind, _) in reported.items()}
            waiting: dict[str, list[tuple[int, bytes]]] = {topic: [] for topic in reported}
            for frame in frames(recording, rate):
                for topic, (_, makes) in reported.items():
                    waiting[topic].append((frame.stamp, makes(frame)))
                if len(waiting["/tf"]) >= _CHUNK:
                    total += _flush(file, channels, waiting)
            total += _flush(file, channels, waiting)
            total += _events(file, recording)
            file.finish("footfall.end", {})
        except BaseException:
            file.abandon()
            raise
    return total


def _channel(file: McapWriter, topic: str, kind: str) -> int:
    package, _, name = kind.partition("/")
    schema = file.schema(f"{package}/msg/{name}", "ros2msg", ros.definition(kind).encode())
    return file.channel(topic, "cdr", schema, {"offered_qos_profiles": _QOS})


def _flush(file: McapWriter, channels: dict[str, int], waiting: dict[str, list[tuple[int, bytes]]]) -> int:
    """Write one chunk of all waiting messages; messages of one topic have equal length."""
    runs = [_run(channels[topic], messages) for topic, messages in waiting.items() if messages]
    file.chunk(runs)
    for messages in waiting.values():
        messages.clear()
    return sum(map(len, runs))


def _run(channel: int, messages: list[tuple[int, bytes]]) -> ndarray:
    dtype = mcap_file.message_dtype([("bytes", "u1", (len(messages[0][1]),))])
    rows = mcap_file.messages(dtype, channel, 0, np.array([stamp for stamp, _ in messages], "<u8"))
    rows["data"]["bytes"] = np.frombuffer(b"".join(data for _, data in messages), "u1").reshape(len(messages), -1)
    return rows


def _events(file: McapWriter, recording: Recording) -> int:
    if not recording.events:
        return 0
    channel = _channel(file, "/rosout", "rcl_interfaces/Log")
    for event in recording.events:
        stamp = round(max(event.time, 0.0) * 1e9)
        data = ros.log(stamp, _LEVELS.get(event.kind, 20), event.kind, event.message)
        file.chunk([_run(channel, [(stamp, data)])])
    return len(recording.events)


__all__ = ["topics", "write"]

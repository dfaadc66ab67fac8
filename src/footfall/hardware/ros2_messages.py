"""ROS 2 messages without ROS: their definitions, and their bytes (plain CDR, little-endian).

Joint states, IMU, odometry, transforms, contact forces and velocity commands, as in ``sensor_msgs``, ``nav_msgs``,
``tf2_msgs`` and ``geometry_msgs`` of ROS 2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

import numpy as np
from numpy import ndarray

PARTS = {  # definitions without comments, in the order of the fields
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1",
    "geometry_msgs/Pose": "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation",
    "geometry_msgs/Twist": "geometry_msgs/Vector3 linear\ngeometry_msgs/Vector3 angular",
    "geometry_msgs/Wrench": "geometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque",
    "geometry_msgs/WrenchStamped": "std_msgs/Header header\ngeometry_msgs/Wrench wrench",
    "geometry_msgs/PoseWithCovariance": "geometry_msgs/Pose pose\nfloat64[36] covariance",
    "geometry_msgs/TwistWithCovariance": "geometry_msgs/Twist twist\nfloat64[36] covariance",
    "geometry_msgs/Transform": "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation",
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort"
    ),
    "sensor_msgs/Imu": (
        "std_msgs/Header header\ngeometry_msgs/Quaternion orientation\nfloat64[9] orientation_covariance\n"
        "geometry_msgs/Vector3 angular_velocity\nfloat64[9] angular_velocity_covariance\n"
        "geometry_msgs/Vector3 linear_acceleration\nfloat64[9] linear_acceleration_covariance"
    ),
    "nav_msgs/Odometry": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/PoseWithCovariance pose\n"
        "geometry_msgs/TwistWithCovariance twist"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "rcl_interfaces/Log": (
        "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\nstring file\nstring function\nuint32 line"
    ),
}
_LINE = "=" * 80
WORLD, BASE = "odom", "base_link"


def definition(name: str) -> str:
    """Return the definition of a message such as ``sensor_msgs/JointState``, including those of nested messages."""
    order = [name]
    for part in order:
        for line in PARTS[part].splitlines():
            inner = line.split()[0].partition("[")[0]
            if "/" in inner and inner not in order:
                order.append(inner)
    return "\n".join([PARTS[name], *(f"{_LINE}\nMSG: {part}\n{PARTS[part]}" for part in order[1:])]) + "\n"


class Cdr:
    """The encoded bytes of a message, field by field, each aligned to a multiple of its size."""

    def __init__(self) -> None:
        self._data = bytearray()

    def put(self, code: str, *numbers: float) -> Cdr:
        size = struct.calcsize("<" + code[-1])
        self._data += bytes(-len(self._data) % size)
        self._data += struct.pack(f"<{len(numbers)}{code[-1]}", *numbers)
        return self

    def text(self, text: str) -> Cdr:
        data = text.encode() + b"\0"
        self.put("I", len(data))
        self._data += data
        return self

    def doubles(self, numbers: Iterable[float]) -> Cdr:
        """Write a sequence, preceded by its length."""
        values = list(numbers)
        self.put("I", len(values))
        return self.put("d", *values) if values else self

    def header(self, nanoseconds: int, frame: str) -> Cdr:
        return self.put("i", nanoseconds // 10**9).put("I", nanoseconds % 10**9).text(frame)

    @property
    def message(self) -> bytes:
        return b"\x00\x01\x00\x00" + bytes(self._data)


def joint_state(
    stamp: int,
    names: Sequence[str],
    position: Sequence[float] | ndarray,
    velocity: Sequence[float] | ndarray,
    effort: Sequence[float] | ndarray,
) -> bytes:
    """Encode joint states: stamp [ns]; positions [rad], velocities [rad/s] and torques [N m]."""
    cdr = Cdr().header(stamp, "").put("I", len(names))
    for name in names:
        cdr.text(name)
    for numbers in (position, velocity, effort):
        cdr.doubles(np.asarray(numbers).tolist())
    return cdr.message


def imu(
    stamp: int,
    attitude: Sequence[float] | ndarray,
    gyro: Sequence[float] | ndarray,
    acceleration: Sequence[float] | ndarray,
) -> bytes:
    """Encode an IMU: attitude as w x y z; angular velocity [rad/s], specific force [m/s²], in base axes."""
    w, x, y, z = np.asarray(attitude).tolist()
    nothing = [0.0] * 9
    cdr = Cdr().header(stamp, BASE).put("d", x, y, z, w, *nothing)
    return cdr.put("d", *np.asarray(gyro).tolist(), *nothing, *np.asarray(acceleration).tolist(), *nothing).message


def odometry(stamp: int, q: Sequence[float] | ndarray, v: Sequence[float] | ndarray) -> bytes:
    """Encode the pose of the base in the world and its twist in its own axes, from q and v of footfall."""
    (x, y, z, w, i, j, k), (a, b, c, d, e, f) = np.asarray(q[:7]).tolist(), np.asarray(v[:6]).tolist()
    cdr, nothing = Cdr().header(stamp, WORLD).text(BASE), [0.0] * 36
    return cdr.put("d", x, y, z, i, j, k, w, *nothing, d, e, f, a, b, c, *nothing).message


def transforms(
    stamp: int, frames: Iterable[tuple[str, str, Sequence[float] | ndarray, Sequence[float] | ndarray]]
) -> bytes:
    """Encode (parent, child, position [m], quaternion as w x y z) of every frame."""
    frames = list(frames)
    cdr = Cdr().put("I", len(frames))
    for parent, child, place, (w, x, y, z) in frames:
        cdr.header(stamp, parent).text(child).put(
            "d", *np.asarray(place).tolist(), float(x), float(y), float(z), float(w)
        )
    return cdr.message


def twist(forward: float, sideways: float, turn: float) -> bytes:
    """Encode a velocity command [m/s, m/s, rad/s]."""
    return Cdr().put("d", forward, sideways, 0.0, 0.0, 0.0, turn).message


def wrench(stamp: int, frame: str, force: Sequence[float] | ndarray) -> bytes:
    """Encode a force [N] in the axes of a frame."""
    return Cdr().header(stamp, frame).put("d", *np.asarray(force).tolist(), 0.0, 0.0, 0.0).message


def log(stamp: int, level: int, name: str, text: str) -> bytes:
    """Encode a line of a log; level: 20 information, 30 warning, 40 error."""
    cdr = Cdr().put("i", stamp // 10**9).put("I", stamp % 10**9).put("B", level)
    return cdr.text(name).text(text).text("").text("").put("I", 0).message


__all__ = ["definition", "imu", "joint_state", "log", "odometry", "transforms", "twist", "wrench"]

"""Foxglove: the robot for its app, written to an MCAP file or streamed live.

Scene, transforms, pose, odometry, joint states and events have Foxglove's own schemas; the IMU and plotted quantities
have JSON schemas, since Foxglove has none for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy import ndarray

from footfall import compiling
from footfall._io.whole_file import whole_file
from footfall.errors import need_extra
from footfall.kinematics.forward import foot_positions, joint_transforms, poses_in_base
from footfall.recording.formats.frames import Frame, frames
from footfall.recording.recording import Recording
from footfall.robot.model.description import Robot
from footfall.spatial.gravity import weight_of
from footfall.spatial.quaternion import from_rotation, to_rotation
from nptrace._types import Foreign

WORLD, BASE = "world", "base"
_ARROW = 0.4  # [m], length of an arrow for a force as large as the robot's weight
_LEVELS = {"fell": "Error", "diverged": "Error", "error": "Error", "warning": "Warning", "controller": "Warning"}
_VECTOR = {"type": "object", "properties": {axis: {"type": "number"} for axis in "xyz"}}
_IMU = {
    "type": "object",
    "title": "footfall.Imu",
    "properties": {"angular_velocity": _VECTOR, "linear_acceleration": _VECTOR},
}
_LIST = {"type": "array", "items": {"type": "number"}}
_PLOTS = {
    "type": "object",
    "title": "footfall.Plots",
    "properties": {
        "position": _LIST,
        "velocity": _LIST,
        "torque": _LIST,
        "height": {"type": "number"},
        "speed": _LIST,
        "load": _LIST,
    },
}


class Channel(Protocol):
    """A topic, in a file or streamed to viewers."""

    def log(self, message: Foreign, log_time: int) -> None: ...


OpenChannel = Callable[[str, Foreign], Channel]  # topic, and a message class of foxglove-sdk or a JSON schema


class FoxgloveChannels:
    """A robot's channels, in a file or streamed to viewers."""

    def __init__(self, robot: Robot, channel: OpenChannel) -> None:
        from foxglove import messages

        self.robot, self._messages = robot, messages
        self._scene = channel("/scene", messages.SceneUpdate)
        self._frames = channel("/tf", messages.FrameTransforms)
        self._pose = channel("/pose", messages.PoseInFrame)
        self._odometry = channel("/odometry", messages.Odometry)
        self._joints = channel("/joints", messages.JointStates)
        self._log = channel("/events", messages.Log)
        self._imu = channel("/imu", _IMU)
        self._plots = channel("/plots", _PLOTS)
        self._weight = weight_of(robot.mass)
        self._names = [body.name for body in robot.tree.bodies]
        self._places = compiling.compile(_places, robot, robot.state()[0], verify=False)

    def show(self, frame: Frame) -> None:
        """Send one state on every channel."""
        stamp = self._stamp(frame.stamp)
        places, turns, feet = self._places(frame.q)
        self._show_frames(frame, stamp, places, turns)
        self._show_scene(frame, stamp, places, feet)
        self._show_numbers(frame, stamp)

    def say(self, time: float, kind: str, text: str) -> None:
        """Send an event."""
        level = getattr(self._messages.LogLevel, _LEVELS.get(kind, "Info"))
        nanoseconds = round(max(time, 0.0) * 1e9)
        message = self._messages.Log(timestamp=self._stamp(nanoseconds), level=level, message=text, name=kind)
        self._log.log(message, log_time=nanoseconds)

    def _stamp(self, nanoseconds: int) -> Foreign:
        return self._messages.Timestamp(nanoseconds // 10**9, nanoseconds % 10**9)

    def _vector(self, value: ndarray) -> Foreign:
        x, y, z = (float(part) for part in value)
        return self._messages.Vector3(x=x, y=y, z=z)

    def _turn(self, quat: ndarray) -> Foreign:
        w, x, y, z = (float(part) for part in quat)
        return self._messages.Quaternion(x=x, y=y, z=z, w=w)

    def _placed(self, place: ndarray, quat: ndarray) -> Foreign:
        return self._messages.Pose(position=self._vector(place), orientation=self._turn(quat))

    def _show_frames(self, frame: Frame, stamp: Foreign, places: ndarray, turns: ndarray) -> None:
        own = [(WORLD, BASE, frame.q[:3], frame.q[3:7])]
        own += [(BASE, name, places[k], from_rotation(turns[k])) for k, name in enumerate(self._names) if k]
        transforms = [
            self._messages.FrameTransform(
                timestamp=stamp,
                parent_frame_id=parent,
                child_frame_id=child,
                translation=self._vector(place),
                rotation=self._turn(turn),
            )
            for parent, child, place, turn in own
        ]
        self._frames.log(self._messages.FrameTransforms(transforms=transforms), log_time=frame.stamp)
        pose = self._placed(frame.q[:3], frame.q[3:7])
        message = self._messages.PoseInFrame(timestamp=stamp, frame_id=WORLD, pose=pose)
        self._pose.log(message, log_time=frame.stamp)
        odometry = self._messages.Odometry(
            timestamp=stamp,
            frame_id=WORLD,
            body_frame_id=BASE,
            pose=pose,
            linear_velocity=self._vector(frame.v[3:6]),
            angular_velocity=self._vector(frame.v[:3]),
        )
        self._odometry.log(odometry, log_time=frame.stamp)

    def _show_scene(self, frame: Frame, stamp: Foreign, places: ndarray, feet: ndarray) -> None:
        """Draw the robot as lines from the trunk through its joints to its feet, and the ground's forces."""
        m, tree = self._messages, self.robot.tree
        lines = []
        for k, body in enumerate(tree.feet):
            chain = [np.zeros(3), *(places[i] for i in tree.support[body] if i), feet[k]]
            points = [m.Point3(x=float(p[0]), y=float(p[1]), z=float(p[2])) for p in chain]
            lines.append(
                m.LinePrimitive(
                    type=m.LinePrimitiveLineType.LineStrip,
                    thickness=0.02,
                    points=points,
                    color=m.Color(r=0.25, g=0.35, b=0.55, a=1.0),
                )
            )
        robot = m.SceneEntity(timestamp=stamp, frame_id=BASE, id="robot", lines=lines)
        arrows = [self._arrow(place, force) for place, force in zip(self._in_world(frame, feet), frame.force)]
        forces = m.SceneEntity(
            timestamp=stamp, frame_id=WORLD, id="forces", arrows=[arrow for arrow in arrows if arrow is not None]
        )
        self._scene.log(m.SceneUpdate(entities=[robot, forces]), log_time=frame.stamp)

    def _in_world(self, frame: Frame, feet: ndarray) -> ndarray:
        return frame.q[:3] + feet @ to_rotation(frame.q[3:7]).T

    def _arrow(self, place: ndarray, force: ndarray) -> Foreign:
        size = float(np.linalg.norm(force))
        if size < 1e-3 * self._weight:
            return None
        m, along = self._messages, np.asarray(force) / size
        half = np.array([1.0 + along[0], 0.0, -along[2], along[1]])  # rotates e_x to the force
        half = half / np.linalg.norm(half) if np.linalg.norm(half) > 1e-6 else np.array([0.0, 0.0, 0.0, 1.0])
        length = _ARROW * size / self._weight
        return m.ArrowPrimitive(
            pose=self._placed(place, half),
            shaft_length=0.8 * length,
            shaft_diameter=0.01,
            head_length=0.2 * length,
            head_diameter=0.025,
            color=m.Color(r=0.85, g=0.3, b=0.2, a=1.0),
        )

    def _show_numbers(self, frame: Frame, stamp: Foreign) -> None:
        m = self._messages
        joints = [
            m.JointState(name=name, position=float(q), velocity=float(v), effort=float(torque))
            for name, q, v, torque in zip(self.robot.joint_names, frame.q[7:], frame.v[6:], frame.torque)
        ]
        self._joints.log(m.JointStates(timestamp=stamp, joints=joints), log_time=frame.stamp)
        imu = {"angular_velocity": frame.gyro, "linear_acceleration": frame.acceleration}
        axes = {key: dict(zip("xyz", np.asarray(value).tolist())) for key, value in imu.items()}
        self._imu.log(axes, log_time=frame.stamp)
        plots = {
            "position": frame.q[7:].tolist(),
            "velocity": frame.v[6:].tolist(),
            "torque": frame.torque.tolist(),
            "height": float(frame.q[2]),
            "speed": frame.v[3:6].tolist(),
            "load": frame.force[:, 2].tolist(),
        }
        self._plots.log(plots, log_time=frame.stamp)


def _places(robot: Robot, q: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Return (positions, rotations) of the bodies and positions of the feet, in base axes."""
    poses = poses_in_base(robot, joint_transforms(robot, q))
    at_origin = np.concatenate([np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), q[7:]])
    places = np.stack([pose.p for pose in poses])
    return places, np.stack([pose.R for pose in poses]), foot_positions(robot, at_origin)


def _in_file(context: Foreign, topic: str, kind: Foreign) -> Channel:
    """Return a channel of a foxglove-sdk context that a file listens to."""
    import foxglove
    from foxglove import channels

    if isinstance(kind, dict):
        raw: Foreign = foxglove.Channel(topic, schema=kind, message_encoding="json", context=context)
        return raw
    made: Channel = getattr(channels, f"{kind.__name__}Channel")(topic, context=context)
    return made


def write(recording: Recording, path: Path, rate: float | None = 50.0) -> int:
    """Write an MCAP file atomically; return its number of frames."""
    need_extra("foxglove", "foxglove", "a file for Foxglove")
    import foxglove

    count = 0
    with whole_file(path) as passing:
        context = foxglove.Context()
        with foxglove.open_mcap(passing, context=context, allow_overwrite=True):
            stage = FoxgloveChannels(recording.robot, functools.partial(_in_file, context))
            for frame in frames(recording, rate):
                stage.show(frame)
                count += 1
            for event in recording.events:
                stage.say(event.time, event.kind, event.message)
    return count


__all__ = ["Channel", "FoxgloveChannels", "OpenChannel", "write"]

"""Rerun: the robot for its viewer, written to an ``.rrd`` file or streamed live.

The robot is lines from the trunk through its joints to its feet, in the frame of the trunk; forces of the ground are
arrows in the world. Every plotted quantity is a separate series.
"""

from __future__ import annotations

from pathlib import Path

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
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Foreign
from nptrace.array_types import Float

APPLICATION, TIMELINE = "footfall", "time"
_ARROW = 0.4  # [m], length of an arrow for a force as large as the robot's weight
_ROBOT, _FORCE = (64, 90, 140), (217, 77, 51)  # colours
_LEVELS = {"fell": "ERROR", "diverged": "ERROR", "error": "ERROR", "warning": "WARN", "controller": "WARN"}


class RerunEntities:
    """A robot's entities in a ``rerun.RecordingStream``, for a file or for viewers.

    | entity | what it is |
    |---|---|
    | ``world/base`` | pose of the trunk |
    | ``world/base/legs`` | lines from the trunk to the feet |
    | ``world/forces`` | forces of the ground on the feet |
    | ``joints/position/NAME``, ``velocity``, ``torque`` | [rad], [rad/s], [N m] |
    | ``base/height``, ``base/velocity/x`` | [m]; in the trunk's axes [m/s] |
    | ``imu/gyro/x``, ``imu/acceleration/x`` | [rad/s], [m/s²], in the trunk's axes |
    | ``feet/load/NAME`` | vertical force of the ground [N] |
    | ``events`` | falls, pushes and what the controller reports, as text |
    """

    def __init__(self, robot: Robot, stream: Foreign) -> None:
        import rerun

        self.robot, self._stream, self._rerun = robot, stream, rerun
        self._weight = weight_of(robot.mass)
        self._points = compiling.compile(_points, robot, robot.state()[0], verify=False)
        stream.log("world", rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)

    def show(self, frame: Frame) -> None:
        """Send one state of every entity."""
        rr, robot, q, v = self._rerun, self.robot, frame.q, frame.v
        self._stream.set_time(TIMELINE, duration=frame.stamp * 1e-9)
        joints, feet = self._points(q)
        w, x, y, z = (float(part) for part in q[3:7])
        placed = rr.Transform3D(translation=q[:3], quaternion=rr.Quaternion(xyzw=[x, y, z, w]))
        self._stream.log("world/base", placed)
        chains = [
            np.stack([np.zeros(3), *(joints[i] for i in robot.tree.support[body] if i), feet[k]])
            for k, body in enumerate(robot.tree.feet)
        ]
        self._stream.log("world/base/legs", rr.LineStrips3D(chains, radii=0.012, colors=_ROBOT))
        in_world = q[:3] + feet @ to_rotation(q[3:7]).T
        vectors = frame.force * (_ARROW / self._weight)
        self._stream.log("world/forces", rr.Arrows3D(origins=in_world, vectors=vectors, colors=_FORCE))
        for kind, values in (("position", q[7:]), ("velocity", v[6:]), ("torque", frame.torque)):
            self._plot(f"joints/{kind}", robot.joint_names, values)
        self._plot("base", ("height",), q[2:3])
        self._plot("base/velocity", "xyz", v[3:6])
        self._plot("imu/gyro", "xyz", frame.gyro)
        self._plot("imu/acceleration", "xyz", frame.acceleration)
        self._plot("feet/load", robot.foot_names, frame.force[:, 2])

    def say(self, time: float, kind: str, text: str) -> None:
        """Send an event, at its time [s]."""
        self._stream.set_time(TIMELINE, duration=max(time, 0.0))
        level = getattr(self._rerun.TextLogLevel, _LEVELS.get(kind, "INFO"))
        self._stream.log("events", self._rerun.TextLog(f"{kind}: {text}", level=level))

    def _plot(self, entity: str, names: object, values: Float[ndarray, "n"]) -> None:
        for name, value in zip(names, values):  # type: ignore[call-overload]
            self._stream.log(f"{entity}/{name}", self._rerun.Scalars(float(value)))


def _points(robot: Robot, q: ndarray) -> tuple[ndarray, ndarray]:
    """Return the positions of the bodies and of the feet, in base axes."""
    poses = poses_in_base(robot, joint_transforms(robot, q))
    at_origin = np.concatenate([np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), q[7:]])
    return np.stack([pose.p for pose in poses]), foot_positions(robot, at_origin)


def write(recording: Recording, path: str | Path, rate: float | None = 50.0) -> int:
    """Write an ``.rrd`` file atomically.

    Returns:
        How many frames it has.
    """
    need_extra("rerun", "rerun", "a file for Rerun")
    import rerun

    count = 0
    with whole_file(Path(path)) as passing:
        stream: Foreign = rerun.RecordingStream(APPLICATION)
        stream.save(str(passing))
        entities = RerunEntities(recording.robot, stream)
        for frame in frames(recording, rate):
            entities.show(frame)
            count += 1
        for event in recording.events:
            entities.say(event.time, event.kind, event.message)
        stream.flush()
        stream.disconnect()
    return count


__all__ = ["RerunEntities", "write"]

"""Live data for Foxglove: a robot that follows ``/cmd_vel``, or a recording in a loop.

It is served on this machine only, to clients with the printed address, which contains a token.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time

import numpy as np

from footfall.errors import need_extra
from footfall.recording.formats.foxglove import FoxgloveChannels
from footfall.recording.formats.frames import Frame, frames
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.run_options import page_options
from footfall.spatial.quaternion import to_rotation
from footfall.view.driver import SimulationThread, fitting_controller, with_stand
from footfall.view.foxglove_server import FoxgloveServer

COMMAND = "/cmd_vel"
_HEARD = 0.5  # [s] for which a velocity holds
_RATE = 50.0  # [Hz], frames of a recording
_MOST_BYTES = 4096  # largest message from a viewer


class FoxgloveLive:
    """Serve until ``stop``. ``address`` is for Foxglove's "open connection"."""

    def __init__(self, subject: Robot | Recording, host: str = "127.0.0.1", port: int = 0) -> None:
        need_extra("foxglove", "foxglove", "live data for Foxglove")
        need_extra("websockets", "foxglove", "live data for Foxglove")
        self._last = -np.inf
        self._ended = threading.Event()
        self.driver: SimulationThread | None = None
        self.server = FoxgloveServer(host, port, self.hear)
        self.address = self.server.address
        if isinstance(subject, Recording):
            self._stage = FoxgloveChannels(subject.robot, self.server.channel)
            self.server.start()
            threading.Thread(target=self._play, args=(subject,), name="footfall-foxglove", daemon=True).start()
        else:
            robot = with_stand(subject)
            self._stage = FoxgloveChannels(robot, self.server.channel)
            self.server.start()
            self.driver = SimulationThread(
                choice=page_options(robot=robot.name, controller=fitting_controller(robot)),
                own=None if _shipped(robot) else robot,
                present=lambda: time.monotonic() - self._last < _HEARD,
                on_frame=self._frame,
            )
            self.driver.start()

    def stop(self) -> None:
        self._ended.set()
        if self.driver is not None:
            self.driver.stop()
        self.server.stop()

    def _frame(self) -> None:
        assert self.driver is not None
        sim = self.driver.sim
        body, robot = sim.state, sim.robot
        up = to_rotation(body.q[3:7]).T @ -np.array(sim.model.world.gravity)
        self._stage.show(
            Frame(
                stamp=round(sim.time * 1e9),
                q=body.q,
                v=body.v,
                torque=body.motor,
                gyro=body.v[:3],
                acceleration=up,
                force=body.forces[: robot.nf],
            )
        )

    def _play(self, recording: Recording) -> None:
        shown = list(frames(recording, _RATE))
        while not self._ended.is_set():
            began = time.monotonic()
            for frame in shown:
                if self._ended.wait(max(0.0, began + (frame.stamp - shown[0].stamp) * 1e-9 - time.monotonic())):
                    return
                self._stage.show(frame)
            self._ended.wait(1.0 / _RATE)

    # -- what viewers say ----------------------------------------------------------------------------------------------
    def hear(self, topic: str, data: bytes) -> None:
        """Process a velocity on ``/cmd_vel`` as JSON, in the form of a ROS Twist; anything else is ignored."""
        if topic != COMMAND or len(data) > _MOST_BYTES or self.driver is None:
            return
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError, AttributeError):
            twist = json.loads(data)
            linear, angular = twist.get("linear", {}), twist.get("angular", {})
            self.driver.set_command(
                forward=linear.get("x", 0.0), sideways=linear.get("y", 0.0), turn=angular.get("z", 0.0)
            )
            self._last = time.monotonic()


def _shipped(robot: Robot) -> bool:
    return robot.name in library.names() and library.load(robot.name).digest == robot.digest


__all__ = ["FoxgloveLive"]

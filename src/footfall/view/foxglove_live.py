"""Live data for Foxglove: a robot that walks as ``/cmd_vel`` says, or a recording that is played over and over.

The link has no password, and Foxglove's page comes from anywhere: it is served on this machine alone.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable

import numpy as np

from footfall.errors import FootfallError, InputError, need_extra
from footfall.recording.formats.foxglove import FoxgloveChannels
from footfall.recording.formats.frames import Frame, frames
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.run_options import page_options
from footfall.spatial.quaternion import to_rotation
from footfall.view.driver import SimulationThread, fitting_controller, with_stand
from nptrace._types import Foreign

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COMMAND = "/cmd_vel"
_HEARD = 0.5  # [s] that a velocity holds
_RATE = 50.0  # [Hz] of frames of a recording
_MOST_BYTES = 4096  # of a message from a viewer


class FoxgloveLive:
    """Serves until ``stop``. ``address`` is what Foxglove's "open connection" wants."""

    def __init__(self, subject: Robot | Recording, host: str = "127.0.0.1", port: int = 0) -> None:
        need_extra("foxglove", "foxglove", "live data for Foxglove")
        import foxglove

        if host not in LOOPBACK:
            raise InputError(
                f"data for Foxglove is served on this machine alone ({', '.join(LOOPBACK)}), not at {host!r}: the link"
                " has no password"
            )
        context = self._context = foxglove.Context()  # its channels close with it
        listener: Foreign = _Listener(self)
        self._last, self._channels = -np.inf, dict[tuple[int, int], str]()
        self._ended = threading.Event()
        try:
            self.server: Foreign = foxglove.start_server(
                name="footfall",
                host=host,
                port=port,
                capabilities=[foxglove.Capability.ClientPublish],
                supported_encodings=["json"],
                server_listener=listener,
                context=context,
            )
        except Exception as error:  # foxglove's own, or of the operating system: a port that is taken
            raise FootfallError(f"cannot serve data for Foxglove at {host}:{port}: {error}") from None
        self.address = f"ws://{host}:{self.server.port}"
        self.driver: SimulationThread | None = None
        if isinstance(subject, Recording):
            self._stage = FoxgloveChannels(subject.robot, context)
            threading.Thread(target=self._play, args=(subject,), name="footfall-foxglove", daemon=True).start()
        else:
            robot = with_stand(subject)
            self._stage = FoxgloveChannels(robot, context)
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
    def advertised(self, client: int, channel: int, topic: str, encoding: str) -> None:
        if len(self._channels) < 100 and encoding == "json":
            self._channels[client, channel] = topic

    def gone(self, client: int, channel: int) -> None:
        self._channels.pop((client, channel), None)

    def hear(self, client: int, channel: int, data: bytes) -> None:
        """A velocity on ``/cmd_vel`` as JSON, in the form of a ROS Twist; anything else is left alone."""
        if self._channels.get((client, channel)) != COMMAND or len(data) > _MOST_BYTES or self.driver is None:
            return
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError, AttributeError):
            twist = json.loads(data)
            linear, angular = twist.get("linear", {}), twist.get("angular", {})
            self.driver.set_command(
                forward=linear.get("x", 0.0), sideways=linear.get("y", 0.0), turn=angular.get("z", 0.0)
            )
            self._last = time.monotonic()


class _Listener:
    """The callbacks of foxglove-sdk, which run in its own threads."""

    def __init__(self, live: FoxgloveLive) -> None:
        self._live = live

    def on_client_advertise(self, client: Foreign, channel: Foreign) -> None:
        self._live.advertised(client.id, channel.id, channel.topic, channel.encoding)

    def on_client_unadvertise(self, client: Foreign, client_channel_id: int) -> None:
        self._live.gone(client.id, client_channel_id)

    def on_message_data(self, client: Foreign, client_channel_id: int, data: bytes) -> None:
        self._live.hear(client.id, client_channel_id, data)

    def __getattr__(self, name: str) -> Callable[..., None]:
        """All other events are of no interest."""
        if name.startswith("on_"):
            return lambda *_, **__: None
        raise AttributeError(name)


def _shipped(robot: Robot) -> bool:
    return robot.name in library.names() and library.load(robot.name).digest == robot.digest


__all__ = ["FoxgloveLive"]

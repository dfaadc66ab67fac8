"""Live data for Rerun: a robot that walks, or a recording, in Rerun's own viewer in a browser.

Rerun's server runs in a separate process, on this machine only.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
import urllib.parse
from pathlib import Path

import numpy as np

from footfall.errors import FootfallError, need_extra, reason
from footfall.recording.formats.frames import Frame, frames
from footfall.recording.formats.rerun import APPLICATION, RerunEntities
from footfall.recording.recording import Recording
from footfall.sim.simulation import Simulation
from footfall.spatial.quaternion import to_rotation
from nptrace._types import Foreign

_RATE = 50.0  # [Hz], rate of frames
_PATIENCE = 30.0  # [s] for the server to start


class RerunLive:
    """Serve until ``stop``. ``address`` is a page with Rerun's viewer.

    subject: a simulation, which is run in real time, or a recording, which is sent as a whole.
    """

    def __init__(self, subject: Simulation | Recording, host: str = "127.0.0.1", port: int = 0) -> None:
        need_extra("rerun", "rerun", "Rerun's viewer")
        import rerun

        self._ended = threading.Event()
        data = _free_port(host)
        page = port or _free_port(host)
        command = [program(), "--serve-web", "--bind", host]
        command += ["--port", str(data), "--web-viewer-port", str(page)]
        self._server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._wait_for(host, data)
            self._wait_for(host, page)
            url = f"rerun+http://{host}:{data}/proxy"
            self.address = f"http://{host}:{page}/?url={urllib.parse.quote(url, safe='')}"
            self.stream: Foreign = rerun.RecordingStream(APPLICATION)
            self.stream.connect_grpc(url)
            self._entities = RerunEntities(subject.robot, self.stream)
        except BaseException:
            self.stop()
            raise
        show = self._play if isinstance(subject, Recording) else self._run
        self._thread = threading.Thread(target=show, args=(subject,), name="footfall-rerun", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the server and the simulation."""
        self._ended.set()
        with contextlib.suppress(AttributeError):
            self._thread.join(timeout=5.0)
            self.stream.disconnect()
        self._server.terminate()
        try:
            self._server.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self._server.kill()

    def _wait_for(self, host: str, port: int) -> None:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            if self._server.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1.0):
                return
            self._ended.wait(0.1)
        raise FootfallError(f"Rerun's server did not start at {host}, port {port}: try another --port")

    def _play(self, recording: Recording) -> None:
        for frame in frames(recording, _RATE):
            if self._ended.is_set():
                return
            self._entities.show(frame)
        for event in recording.events:
            self._entities.say(event.time, event.kind, event.message)
        self.stream.flush()

    def _run(self, sim: Simulation) -> None:
        """Step in real time, and send a frame every fiftieth of a second."""
        ticks = max(1, round(1.0 / (_RATE * sim.model.period)))
        began, start = time.monotonic(), sim.time
        while sim.stopped is None and not self._ended.wait(max(0.0, began + sim.time - start - time.monotonic())):
            sim.step(ticks)
            self._entities.show(frame_of(sim))
        if sim.stopped is not None:
            self._entities.say(sim.time, sim.stopped.kind, sim.stopped.message)
            self.stream.flush()


def program() -> str:
    """Return the path of Rerun's executable: ``python -m rerun`` would start it as a child, which outlives it."""
    import rerun_cli

    return str(Path(str(rerun_cli.__file__)).with_name("rerun.exe" if os.name == "nt" else "rerun"))


def frame_of(sim: Simulation) -> Frame:
    """Return the present state of a simulation as a frame."""
    state = sim.state
    return Frame(
        stamp=round(sim.time * 1e9),
        q=state.q,
        v=state.v,
        torque=state.motor,
        gyro=state.v[:3],
        acceleration=to_rotation(state.q[3:7]).T @ -np.array(sim.model.world.gravity),
        force=state.forces[: sim.robot.nf],
    )


def _free_port(host: str) -> int:
    try:
        with socket.socket() as free:
            free.bind((host, 0))
            port: int = free.getsockname()[1]
    except OSError as error:
        raise FootfallError(f"cannot listen at {host!r}: {reason(error)}") from None
    return port


__all__ = ["RerunLive"]

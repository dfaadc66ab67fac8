"""The page of a recording: the robot with a timeline, and plots of the whole run."""

from __future__ import annotations

import threading
import time

import numpy as np

from footfall.draw.ground_surface import height_under
from footfall.draw.solids import size_of
from footfall.errors import InputError
from footfall.recording.recording import Recording
from footfall.spatial.gravity import GRAVITY
from footfall.view.plots import AXES, COLORS
from footfall.view.replay import look_from
from footfall.view.safe_text import as_text
from footfall.view.server import Server
from footfall.view.stage import Stage, draw_ground, light
from nptrace._types import Foreign

PACES = {"real time": 1.0, "1/2": 0.5, "1/4": 0.25, "1/10": 0.1, "2 ×": 2.0}
_FRAME = 1.0 / 30.0  # [s]


class PlaybackPage:
    """Play a recording on a server's page in a loop, until it is stopped."""

    def __init__(self, server: Server, rec: Recording, title: str = "") -> None:
        if not len(rec):
            raise InputError("the recording has no rows to show")
        self.server, self.rec, self.title = server, rec, title or rec.robot.name
        gui, scene = server.viser.gui, server.viser.scene
        light(scene)
        look_from(server.viser.initial_camera, size_of(rec.robot))
        self.world = scene.add_frame("/world", show_axes=False)
        self.ground = rec.ground
        draw_ground(scene, self.ground, rec.q[:, :2] if rec.robot.floating else None)
        self.stage = Stage(scene, rec.robot, gravity=rec.meta.get("gravity", GRAVITY), objects=rec.objects)
        self.start, self.end = float(rec.time[0]), float(rec.time[-1])
        self.pace, self._moved = 1.0, False
        self._stop = threading.Event()
        gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        gui.main_panel.dock_right()
        self.status = gui.add_markdown(self._words(0))
        step = max(1e-3, round((self.end - self.start) / 2000, 3))
        last = max(self.end, self.start + step)
        self.timeline = gui.add_slider("time [s]", min=self.start, max=last, step=step, initial_value=self.start)
        self.timeline.on_update(self._slid)
        self.playing = gui.add_checkbox("play", True)
        pace = gui.add_dropdown("speed", tuple(PACES))
        pace.on_update(lambda event: setattr(self, "pace", PACES.get(str(event.target.value), 1.0)))
        self._plots(gui)
        gui.add_command("Play or pause", hotkey="space").on_trigger(lambda _: self._toggle())
        self._thread = threading.Thread(target=self._run, name="footfall-playback", daemon=True)
        self.show(0)

    def begin(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5.0)

    def show(self, row: int) -> None:
        """Show the robot in one row."""
        rec = self.rec
        with self.server.viser.atomic():
            self.stage.show(rec.q[row], rec.force[row] if "force" in rec else None, objects=rec.object_poses(row))
            if rec.robot.floating:
                level = height_under(self.ground, rec.q[row, :2])
                self.world.position = (-rec.q[row, 0], -rec.q[row, 1], -level)
        self.status.content = self._words(row)

    def _toggle(self) -> None:
        self.playing.value = not self.playing.value

    def _slid(self, event: Foreign) -> None:
        if event.client_id is not None:  # moved by a person, not by the clock
            self._moved = True

    def _run(self) -> None:
        at, before = self.start, time.monotonic()
        while not self._stop.wait(_FRAME):
            now = time.monotonic()
            if self._moved:
                self._moved, value = False, float(self.timeline.value)
                at = min(max(value, self.start), self.end) if np.isfinite(value) else self.start
                self.stage.forget()
            elif self.playing.value and self.server.viser.get_clients():
                at += (now - before) * self.pace
                if at > self.end:
                    at = self.start
                    self.stage.forget()
                self.timeline.value = min(max(at, self.start), self.end)
            else:
                before = now
                continue
            before = now
            self.show(min(int(np.searchsorted(self.rec.time, at)), len(self.rec) - 1))

    def _words(self, row: int) -> str:
        events = [event for event in self.rec.events if event.time <= self.rec.time[row] + 1e-9]
        reported = ""
        if events:
            reported = f"\n\n*{as_text(events[-1].kind)} at {events[-1].time:.2f} s: {as_text(events[-1].message)}*"
        reported += f"\n\n*{as_text(self.stage.note)}*" if self.stage.note else ""
        if self.ground is None:
            reported += "\n\n*its ground is not in the recording: a level plane is shown*"
        whose = f"**{as_text(self.title)}** ({as_text(self.rec.robot.name)})"
        return f"{whose}\n\n{self.rec.time[row]:.2f} of {self.end:.2f} s{reported}"

    def _plots(self, gui: Foreign) -> None:
        rec, rows = self.rec, slice(None, None, max(1, len(self.rec) // 600))
        time_ = np.ascontiguousarray(rec.time[rows])

        def plot(title: str, lines: dict[str, np.ndarray]) -> None:
            series = (
                {"label": "s"},
                *({"label": n, "stroke": COLORS[k % 6], "width": 1.2} for k, n in enumerate(lines)),
            )
            data = (time_, *(np.ascontiguousarray(np.nan_to_num(line[rows])) for line in lines.values()))
            gui.add_uplot(
                data,
                series,
                title=title,
                height=150,
                scales={"x": {"time": False}, "y": {"auto": True}},
                axes=AXES,
                legend={"show": len(lines) > 1, "live": False},
            )

        with gui.add_folder("Plots"):
            if rec.robot.floating:
                plot("trunk height [mm]", {"height": 1e3 * rec.q[:, 2]})
                _, pitch, roll = np.degrees(rec.trunk_euler()).T
                plot("trunk angle [deg]", {"roll": roll, "pitch": pitch})
                plot("trunk position [m]", {"x": rec.q[:, 0], "y": rec.q[:, 1]})
            if "force" in rec and rec.robot.nf:
                loads = dict(zip(rec.robot.foot_names, rec.force_mean[:, :, 2].T))
                plot("vertical force, mean over 10 ms [N]", loads)
            if "torque" in rec and rec.robot.nj:
                plot("largest joint torque [N m]", {"torque": np.abs(rec.torque).max(axis=1)})
                power = np.maximum(rec.torque * rec.motor_velocity, 0.0).sum(axis=1)
                plot("positive motor power [W]", {"power": power})
            if "kinetic" in rec:
                plot("kinetic energy [J]", {"kinetic": rec["kinetic"]})

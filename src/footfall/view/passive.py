"""``ff.viewer``: a web page for a user-written loop, which passes it states.

with ff.viewer(sim) as v:
    while v.is_running():
        sim.set_command(v.command)          # from keys, sliders or a gamepad
        sim.step()
        v.sync()
"""

from __future__ import annotations

import sys
import time
import webbrowser
from typing import Self

import numpy as np
from numpy import ndarray

from footfall.contact.ground import Ground, Plane
from footfall.control.interface import Command
from footfall.draw.ground_surface import height_under
from footfall.draw.solids import size_of
from footfall.errors import InputError
from footfall.robot.model.description import Robot
from footfall.sim.simulation import Simulation
from footfall.spatial.gravity import GRAVITY
from footfall.view.driver import clipped
from footfall.view.gamepad import PROTOCOL, SCRIPT, Gamepad
from footfall.view.live import SPEEDS, STEPS, UNITS, rounded_limit
from footfall.view.replay import look_from
from footfall.view.safe_text import as_text
from footfall.view.server import Server
from footfall.view.stage import Stage, draw_ground, light
from nptrace._types import Foreign, Given
from nptrace.array_types import Float

_FRAME = 1.0 / 30.0  # [s] of wall time between pictures
_TEXT_EVERY = 0.25  # [s]
_NOBODY: int | Gamepad | None = None
_BEHIND = 0.25  # [s]: a loop that lags by more is no longer synchronised with the clock


class Viewer:
    """A page that shows the states passed to ``sync``; created by ``ff.viewer``, and a context manager.

    ``command`` is the command from the page: zero without a connected browser.
    """

    def __init__(
        self,
        subject: Simulation | Robot,
        *,
        ground: Ground | None = None,
        port: int = 0,
        browse: bool = True,
        real_time: bool = True,
    ) -> None:
        if not isinstance(subject, (Simulation, Robot)):
            raise InputError(f"viewer takes a Simulation or a Robot, got {type(subject).__name__}")
        self.simulation = subject if isinstance(subject, Simulation) else None
        self.robot = subject.robot if isinstance(subject, Simulation) else subject
        self.ground = self.simulation.model.world.ground if self.simulation is not None else ground or Plane()
        gravity = GRAVITY if self.simulation is None else self.simulation.model.world.gravity
        self.real_time, self.text = real_time, ""
        self._command, self._commander = Command(), _NOBODY
        self._ended = False
        self.server = Server(port=port)
        page = self.server.viser
        page.gui.configure_theme(control_width="medium", show_logo=False, show_share_button=False)
        page.gui.main_panel.dock_right()
        light(page.scene)
        look_from(page.initial_camera, size_of(self.robot))
        self._world = page.scene.add_frame("/world", show_axes=False)
        self.stage = Stage(page.scene, self.robot, gravity=gravity)
        draw_ground(page.scene, self.ground)
        self._status = page.gui.add_markdown("waiting for sync()")
        self._sliders: dict[str, Foreign] = {}
        with page.gui.add_folder("Command"):
            for key in SPEEDS:
                most = rounded_limit(key, self.simulation)
                slider = page.gui.add_slider(
                    f"{key} [{UNITS[key]}]", min=-most, max=most, step=STEPS[key], initial_value=0.0
                )
                slider.on_update(lambda event, key=key: self._slid(key, event))
                self._sliders[key] = slider
            page.gui.add_button("Stand still", color="red").on_click(lambda _: self._told(dict.fromkeys(SPEEDS, 0.0)))
        page.gui.add_button("End the loop", hint="is_running() is False from then on").on_click(lambda _: self._end())
        self.server.script = SCRIPT
        self.server.links[PROTOCOL] = lambda: Gamepad(self._moved, lambda pad, name: None, self._gone)
        page.on_client_disconnect(self._left)
        self._drawn = self._texted = -np.inf
        self._clock: tuple[float, float] | None = None  # (wall time, simulated time) at which real time started
        opened = browse and webbrowser.open(self.address)
        print(self.address if opened else f"open {self.address} in a browser", file=sys.stderr, flush=True)
        if self.stage.note:
            print(self.stage.note, file=sys.stderr)

    # -- for the loop ------------------------------------------------------------------------------------------------
    @property
    def address(self) -> str:
        """Return the address of the page, for a browser on this machine."""
        return self.server.address

    @property
    def command(self) -> Command:
        """Return the command from keys, sliders or a gamepad; zero once no browser responds."""
        who = self._commander
        lost = who is not None and (who.lost if isinstance(who, Gamepad) else self.server.lost(who))
        return Command() if lost else self._command

    def is_running(self) -> bool:
        """Return whether the loop should continue: until ``stop``, or the button on the page."""
        return not self._ended

    def sync(
        self,
        q: Float[ndarray, "nq"] | None = None,
        forces: Float[ndarray, "nf 3"] | None = None,
        time_now: float | None = None,
    ) -> None:
        """Show the present state of the robot; called in every iteration of a loop, it draws thirty times a second.

        With ``real_time`` it also waits until the clock has reached the simulated time.

        Args:
            q: Configuration; the simulation's unless given. A viewer of a Robot requires it.
            forces: Forces of the ground on the feet, world axes [N]; the simulation's unless given.
            time_now: Time for the clock and the status [s]; the simulation's unless given.
        """
        sim = self.simulation
        if q is None and sim is None:
            raise InputError("a viewer of a Robot needs a configuration: v.sync(q)")
        if q is not None and np.shape(q) != (self.robot.nq,):
            raise InputError(f"q of robot '{self.robot.name}' must have shape ({self.robot.nq},), got {np.shape(q)}")
        now = time.monotonic()
        simulated = time_now if time_now is not None else sim.time if sim is not None else None
        if self.real_time and simulated is not None:
            now = self._wait(now, simulated)
        if now - self._drawn < _FRAME:
            return
        self._drawn = now
        if q is None and sim is not None:
            q, forces = sim.q, sim.state.forces[: self.robot.nf] if forces is None else forces
        shown = np.asarray(q, dtype=float)
        text = now - self._texted > _TEXT_EVERY
        with self.server.viser.atomic():
            self.stage.show(shown, forces, text)
            if self.robot.floating:
                self._world.position = (-shown[0], -shown[1], -height_under(self.ground, shown[:2]))
        if text:
            self._texted = now
            self._status.content = self._words(simulated)

    def stop(self) -> None:
        """Close the page."""
        self._ended = True
        self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _repr_html_(self) -> str:
        import html

        address = html.escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">{address}</a>'

    def _wait(self, now: float, simulated: float) -> float:
        """Sleep while the simulation is ahead of the clock; return the present time."""
        if (
            self._clock is None
            or simulated < self._clock[1]
            or now - self._clock[0] > simulated - self._clock[1] + _BEHIND
        ):
            self._clock = (now, simulated)  # started, set back, or too slow to catch up
        ahead = (simulated - self._clock[1]) - (now - self._clock[0])
        if ahead > 1e-3:
            time.sleep(ahead)
            return time.monotonic()
        return now

    def _words(self, simulated: float | None) -> str:
        stopped = self.simulation.stopped if self.simulation is not None else None
        lines = [f"**{as_text(self.robot.name)}**" + ("" if simulated is None else f": {simulated:.1f} s")]
        if stopped is not None:
            lines.append(as_text(stopped.message))
        return "\n\n".join([*lines, *([as_text(self.text)] if self.text else [])])

    # -- what a person does --------------------------------------------------------------------------------------------
    def _told(self, values: dict[str, Given]) -> None:
        known = {key: clipped(key, value, self.simulation) for key, value in values.items()}
        self._command = Command(**{key: known.get(key, getattr(self._command, key)) for key in vars(Command())})
        for key, slider in self._sliders.items():
            if key in known and abs(float(slider.value) - known[key]) > 1e-6:
                slider.value = known[key]

    def _slid(self, key: str, event: Foreign) -> None:
        if event.client_id is not None:
            self._commander = int(event.client_id)
            self._told({key: event.target.value})

    def _moved(self, pad: Gamepad, command: dict[str, float]) -> None:
        self._commander = pad
        self._told(dict(command))

    def _left(self, client: Foreign) -> None:
        if client.client_id == self._commander:
            self._commander, self._command = None, Command()

    def _gone(self, pad: Gamepad) -> None:
        if pad is self._commander:
            self._commander, self._command = None, Command()

    def _end(self) -> None:
        self._ended = True


def viewer(
    subject: Simulation | Robot,
    *,
    ground: Ground | None = None,
    port: int = 0,
    browse: bool = True,
    real_time: bool = True,
) -> Viewer:
    """Open a page that shows your own simulation loop: ``with ff.viewer(sim) as v: ...; sim.step(); v.sync()``.

    Only your loop advances the simulation. Arrow keys, W A S D, sliders and a gamepad set ``v.command``, which the
    loop may pass to ``sim.set_command``. In a notebook, the return value displays the page's address.

    Args:
        subject: A Simulation; or a Robot whose states are passed by ``v.sync(q)``.
        ground: Ground to draw under a Robot; a level plane unless given.
        port: Port of the page; 0 chooses a free one.
        browse: Open it in this machine's browser; otherwise the address is printed.
        real_time: Limit the loop to real time in ``sync``.

    Returns:
        The viewer: ``sync``, ``command``, ``is_running``, ``text`` (a line under the status) and ``stop``.
    """
    return Viewer(subject, ground=ground, port=port, browse=browse, real_time=real_time)


__all__ = ["Viewer", "viewer"]

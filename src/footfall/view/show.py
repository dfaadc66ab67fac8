"""``ff.show``: a robot or a recording on the web page, from Python."""

from __future__ import annotations

import html
import sys
import threading
import webbrowser
from dataclasses import dataclass

from footfall.errors import InputError
from footfall.loading import load
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.run_options import page_options
from footfall.view.driver import SimulationThread, fitting_controller
from footfall.view.live import LivePage
from footfall.view.playback import PlaybackPage
from footfall.view.server import Server
from nptrace._types import Foreign


@dataclass
class Shown:
    """A page that is served until ``stop``."""

    server: Server
    page: Foreign  # has stop
    note: str = ""  # what is not as one may expect it, in a sentence

    @property
    def address(self) -> str:
        return self.server.address

    def stop(self) -> None:
        self.page.stop()
        self.server.stop()

    def _repr_html_(self) -> str:
        address = html.escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">{address}</a>'


def serve(server: Server, subject: Robot | Recording, title: str = "") -> Shown:
    """Put a robot or a recording on a server's page."""
    if isinstance(subject, Recording):
        playback = PlaybackPage(server, subject, title)
        playback.begin()
        return Shown(server, playback, playback.stage.note)
    controller = fitting_controller(subject)
    own = None if subject.name in library.names() and _is_library(subject) else subject
    driver = SimulationThread(choice=page_options(robot=subject.name, controller=controller), own=own)
    live = LivePage(server, driver)
    driver.start()
    notes = [live.stage.note] if live.stage.note else []
    if controller == "hold":
        notes.append(f"robot '{subject.name}' lacks four feet LF, RF, LH, RH on a floating base: it is held still")
    return Shown(server, driver, "; ".join(notes))


def show(subject: Robot | Recording | str, port: int = 0, browse: bool = True, block: bool | None = None) -> Shown:
    """Open the web page of a robot or a recording: ``ff.show(rec)``.

    In a script it serves until Ctrl-C, in a notebook or at a prompt it returns at once (``block`` decides otherwise);
    ``stop`` of what it returns ends it. Without a browser it prints the address alone.
    """
    if isinstance(subject, str):
        subject = Recording.load(subject) if subject.endswith(".mcap") else load(subject)
    if not isinstance(subject, (Robot, Recording)):
        raise InputError(f"show takes a Robot, a Recording or a name, got {type(subject).__name__}")
    server = Server(port=port)
    try:
        shown = serve(server, subject)
    except BaseException:
        server.stop()
        raise
    opened = browse and webbrowser.open(shown.address)
    print(shown.address if opened else f"open {shown.address} in a browser", flush=True)
    if shown.note:
        print(shown.note, file=sys.stderr)
    if block if block is not None else not (hasattr(sys, "ps1") or "ipykernel" in sys.modules):
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
        finally:
            shown.stop()
    return shown


def _is_library(robot: Robot) -> bool:
    return library.load(robot.name).digest == robot.digest


__all__ = ["Shown", "serve", "show"]

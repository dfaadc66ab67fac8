"""``ff.show``: a robot, a simulation or a recording on the web page, from Python."""

from __future__ import annotations

import copy
import html
import sys
import threading
import webbrowser
from dataclasses import dataclass

from footfall.contact.compliant import Compliant
from footfall.contact.ground import Plane
from footfall.control.interface import Controller
from footfall.errors import InputError
from footfall.loading import load
from footfall.recording.provenance import settings_of
from footfall.recording.recording import Recording
from footfall.robot import library
from footfall.robot.model.description import Robot
from footfall.sim.run_options import page_options
from footfall.sim.simulation import Simulation
from footfall.view.driver import SimulationThread, fitting_controller
from footfall.view.live import LivePage
from footfall.view.playback import PlaybackPage
from footfall.view.server import Server
from nptrace._types import Foreign, Given


@dataclass
class Shown:
    """A page that is served until ``stop``."""

    server: Server
    page: Foreign  # an object with ``stop``
    note: str = ""  # unexpected differences, in a sentence

    @property
    def address(self) -> str:
        return self.server.address

    def stop(self) -> None:
        self.page.stop()
        self.server.stop()

    def __repr__(self) -> str:
        return f"Shown({self.address})"

    def _repr_html_(self) -> str:
        address = html.escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">{address}</a>'


def serve(
    server: Server,
    subject: Robot | Recording | Simulation,
    title: str = "",
    controller: str | None = None,
    own: Controller | None = None,
    **chosen: str,
) -> Shown:
    """Put a robot, a simulation or a recording on a server's page.

    Args:
        server: Server of the page.
        subject: Robot, simulation or recording to show.
        title: Title of a recording.
        controller: Controller of a robot, by its name, a policy's file, or the name under which ``own`` is shown.
        own: A user-defined controller.
        chosen: Initial choices of the page's menus, such as ``ground="steps:0.02"``.
    """
    if isinstance(subject, Recording):
        playback = PlaybackPage(server, subject, title)
        playback.begin()
        return Shown(server, playback, playback.stage.note)
    notes = []
    if isinstance(subject, Simulation):
        driver = _running(subject)
    else:
        usual = fitting_controller(subject)
        if usual == "hold" and controller is None:
            notes.append(f"robot '{subject.name}' lacks four feet LF, RF, LH, RH on a floating base: it is held still")
        choice = page_options(robot=subject.name, controller=controller or usual, **chosen)
        given = {} if own is None else {choice.controller: own}
        driver = SimulationThread(choice=choice, own=_unless_known(subject), given=given)
    live = LivePage(server, driver)
    driver.start()
    if live.stage.note:
        notes.insert(0, live.stage.note)
    return Shown(server, driver, "; ".join(notes))


def _running(subject: Simulation) -> SimulationThread:
    """Return a thread that continues a copy of a simulation; the page's menus can change its ground."""
    simulation = copy.copy(subject)
    world, acting = simulation.model.world, simulation.model.acting
    given: dict[str, Given] = {acting.name: simulation.controller}
    chosen = {"controller": acting.name}
    for key, part, usual in (("ground", world.ground, Plane()), ("contact", world.contact, Compliant())):
        if settings_of(part) != settings_of(usual):
            chosen[key] = f"own {key}"
            given[chosen[key]] = part
    choice = page_options(robot=simulation.robot.name, **chosen)
    return SimulationThread(choice=choice, own=_unless_known(subject.robot), given=given, simulation=simulation)


def show(
    subject: Robot | Recording | Simulation | str, port: int = 0, browse: bool = True, block: bool | None = None
) -> Shown:
    """Open the web page of a robot, a simulation or a recording: ``ff.show(rec)``, ``ff.show(sim)``.

    A simulation continues from its current state in real time, with its own controller or policy, and keeps its command
    until a user takes control. The page runs a copy: the simulation itself is not changed. For your own loop, see
    ``ff.viewer``.

    Args:
        subject: Robot, simulation or recording to show; a string is a robot's name or file, or a recording's file.
        port: Port of the page; 0 takes a free one.
        browse: Open it in this machine's browser; otherwise the address is printed.
        block: Serve until Ctrl-C; unless given, True in a script, and False in a notebook or at a prompt.

    Returns:
        The page, closed by ``stop``.
    """
    if isinstance(subject, str):
        subject = Recording.load(subject) if subject.endswith(".mcap") else load(subject)
    if not isinstance(subject, (Robot, Recording, Simulation)):
        raise InputError(f"show takes a Robot, a Simulation, a Recording or a name, got {type(subject).__name__}")
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


def _unless_known(robot: Robot) -> Robot | None:
    """Return the robot unless it is the library's of that name."""
    known = robot.name in library.names() and library.load(robot.name).digest == robot.digest
    return None if known else robot


__all__ = ["Shown", "serve", "show"]

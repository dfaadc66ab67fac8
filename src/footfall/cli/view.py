"""``footfall view``: the web page."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli import completing
from footfall.cli.common import ModelOption, examples, load_recording, load_robot, note, with_model_options
from footfall.errors import InputError
from footfall.sim.run_options import OPTIONS

if TYPE_CHECKING:
    from footfall.control.interface import Controller
    from footfall.recording.recording import Recording
    from footfall.robot.model.description import Robot

NAME = "view"
EXAMPLES = examples(
    "footfall view",
    "footfall view xiling --port 0",
    "footfall view trot.mcap --open",
    "footfall view mini_cheetah --controller policy.npz --ground rough:0.03",
    "footfall view mini_cheetah --controller my_module:my_controller",
    "footfall view mini_cheetah --foxglove --port 8765",
)


@with_model_options
def command(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="[RECORDING|ROBOT]",
            autocompletion=completing.robots,
            help="A recording (.mcap), a library name, or a model file.",
        ),
    ] = "mini_cheetah",
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen at; what is printed holds the token that the page wants."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.")] = 8080,
    browse: Annotated[bool, typer.Option("--open", help="Open the page in this machine's browser.")] = False,
    model: ModelOption = None,
    controller: Annotated[
        str | None,
        typer.Option(
            "--controller",
            help="Of a robot: a name, a policy's file (.npz, .onnx), or module:name of your own.",
            autocompletion=completing.offer(lambda: OPTIONS["controller"].metadata["choices"]()),
        ),
    ] = None,
    ground: Annotated[
        str | None, typer.Option("--ground", help="Of a robot: plane, slope:D, steps:H, rough:H, FILE.png:H:L ...")
    ] = None,
    gait: Annotated[str | None, typer.Option("--gait", help="Of a robot: trot, walk, bound ...")] = None,
    foxglove: Annotated[
        bool, typer.Option("--foxglove", help="Serve live data to the Foxglove app instead of a page.")
    ] = False,
) -> None:
    """Show a robot that walks as you command it, or a recording, on a web page; Ctrl-C ends it.

    The page is served on this machine alone. The first line of output is its address.
    """
    from footfall.plugins import names_code
    from footfall.robot.model.description import Robot
    from footfall.sim.runfile import own_controller

    seen: Robot | Recording
    title = ""
    if Path(subject).suffix == ".mcap":
        seen, title = load_recording(subject, model), Path(subject).name
    elif model is not None:
        raise InputError("--model is for recordings: give a robot's file in place of the robot")
    else:
        seen = load_robot(subject)
    own: Controller | None = None
    chosen = {key: value for key, value in (("ground", ground), ("gait", gait)) if value is not None}
    if not isinstance(seen, Robot):
        for key in (*chosen, *(["controller"] if controller is not None else [])):
            raise InputError(f"--{key} is for robots: a recording is shown as it was made")
    elif controller is not None and names_code(controller):
        own = own_controller(controller, seen)
    if foxglove:
        _serve_foxglove(seen, host, port)
        return
    from footfall.view.server import Server

    server = Server(host, port)
    try:
        typer.echo(server.address)
        _flush()
        from footfall.view.show import serve

        shown = serve(server, seen, title, controller, own, **chosen)
        if shown.note:
            note(shown.note)
        try:
            if browse:
                _open(server.address)
            _until_interrupted()
        finally:
            shown.page.stop()
    finally:
        server.stop()


def _serve_foxglove(subject: Robot | Recording, host: str, port: int) -> None:
    from footfall.view.foxglove_live import FoxgloveLive

    live = FoxgloveLive(subject, host, port)
    try:
        typer.echo(live.address)
        _flush()
        note("in Foxglove: open connection, Foxglove WebSocket, with the address above")
        _until_interrupted()
    finally:
        live.stop()


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        note("no browser was found here: open the address above in one")


def _flush() -> None:
    import sys

    sys.stdout.flush()


def _until_interrupted() -> None:
    """Wait for Ctrl-C or SIGTERM."""
    ended = threading.Event()
    previous = signal.signal(signal.SIGTERM, lambda *_: ended.set())
    try:
        while not ended.wait(0.5):
            pass
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, previous)

"""``footfall view``: serve the web page."""

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
    from footfall.sim.simulation import Simulation

NAME = "view"
_PORT = 8080
EXAMPLES = examples(
    "footfall view",
    "footfall view xiling --port 0",
    "footfall view trot.mcap --open",
    "footfall view mini_cheetah --controller policy.npz --ground rough:0.03",
    "footfall view mini_cheetah --controller my_module:my_controller",
    "footfall view mini_cheetah --foxglove --port 8765",
    "footfall view mini_cheetah --rerun",
)


@with_model_options
def command(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="[RECORDING|ROBOT]",
            autocompletion=completing.robots,
            help="A recording (.mcap), a library name, or a URDF or MJCF file.",
        ),
    ] = "mini_cheetah",
    host: Annotated[
        str,
        typer.Option("--host", help="Address to listen on; the printed URL contains the access token."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port; 0 chooses a free one.")] = _PORT,
    browse: Annotated[bool, typer.Option("--open", help="Open the page in this machine's browser.")] = False,
    model: ModelOption = None,
    controller: Annotated[
        str | None,
        typer.Option(
            "--controller",
            help="A controller's name, a policy file (.npz, .onnx), or your own controller as module:name.",
            autocompletion=completing.offer(lambda: OPTIONS["controller"].metadata["choices"]()),
        ),
    ] = None,
    ground: Annotated[
        str | None, typer.Option("--ground", help="Ground: plane, slope:D, steps:H, rough:H, FILE.png:H:L, ...")
    ] = None,
    gait: Annotated[str | None, typer.Option("--gait", help="Gait: trot, walk, bound, ...")] = None,
    foxglove: Annotated[bool, typer.Option("--foxglove", help="Stream to the Foxglove app instead.")] = False,
    rerun: Annotated[bool, typer.Option("--rerun", help="Show it in Rerun's viewer instead.")] = False,
) -> None:
    """Drive a robot, or play a recording, in the browser.

    The first line of output is the address of the page, which is served on this machine only. Ctrl-C ends it.
    """
    from footfall.plugins import names_code
    from footfall.robot.model.description import Robot
    from footfall.sim.runfile import own_controller

    seen: Robot | Recording
    title = ""
    if Path(subject).suffix == ".mcap":
        seen, title = load_recording(subject, model), Path(subject).name
    elif model is not None:
        raise InputError("--model is for recordings: pass the model file in place of the robot")
    else:
        seen = load_robot(subject)
    own: Controller | None = None
    chosen = {key: value for key, value in (("ground", ground), ("gait", gait)) if value is not None}
    if not isinstance(seen, Robot):
        for key in (*chosen, *(["controller"] if controller is not None else [])):
            raise InputError(f"--{key} is for robots: a recording is shown as it was made")
    elif controller is not None and names_code(controller):
        own = own_controller(controller, seen)
    if foxglove and rerun:
        raise InputError("--foxglove and --rerun are two viewers: choose one")
    if foxglove:
        _serve_foxglove(seen, host, port)
        return
    if rerun:
        chosen |= {} if controller is None else {"controller": controller}
        _serve_rerun(_simulation(seen, subject, chosen, own) if isinstance(seen, Robot) else seen, host, port)
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


def _simulation(robot: Robot, name: str, chosen: dict[str, str], own: Controller | None) -> Simulation:
    from footfall.sim.runfile import options_of, plan

    return plan(robot, options_of({"robot": name, **chosen}), own=own).simulation


def _serve_rerun(subject: Simulation | Recording, host: str, port: int) -> None:
    from footfall.view.rerun_live import RerunLive

    live = RerunLive(subject, host, 0 if port == _PORT else port)
    try:
        typer.echo(live.address)
        _flush()
        note("Rerun's viewer is on the page above")
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

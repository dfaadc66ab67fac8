"""Helpers shared by commands: finding the robot, printing tables or one JSON object, progress on standard error."""

from __future__ import annotations

import functools
import inspect
import json
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footfall.cli import completing
from footfall.errors import printable
from footfall.sim.run_options import model_options
from nptrace._types import Json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from footfall.recording.recording import Recording
    from footfall.robot.model.description import Robot

RobotArgument = Annotated[
    str,
    typer.Argument(
        metavar="ROBOT", autocompletion=completing.robots, help="A library name, or a path to a URDF or MJCF file."
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", help="URDF or MJCF file of the recorded robot, to draw its meshes."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]

_QUIET = 2.0  # [s] before any progress is shown
_REPEAT = 5.0  # [s] between lines of progress where there is no terminal


def examples(*lines: str) -> str:
    """Return the end of a command's help, kept line by line (click marks it with \b)."""
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)])


# model options of the present command
_model_options: ContextVar[Mapping[str, Any] | None] = ContextVar("_model_options", default=None)


def with_model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how a model file is read to a command that calls ``load_robot``."""
    from footfall.sim.run_options import MODEL_KEYS, OPTIONS

    @functools.wraps(command)
    def with_options(**arguments: Any) -> Any:
        given = {key: arguments.pop(key) for key in MODEL_KEYS}
        token = _model_options.set(model_options(given))
        try:
            return command(**arguments)
        finally:
            _model_options.reset(token)

    signature = inspect.signature(command, eval_str=True)
    added = []
    for key in MODEL_KEYS:
        kind = bool if OPTIONS[key].type == "bool" else str | None
        shown = typer.Option(f"--{key.replace('_', '-')}", help=OPTIONS[key].metadata["help"])
        default = OPTIONS[key].default
        added.append(Parameter(key, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, shown]))
    parameters = [*signature.parameters.values(), *added]
    kept = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    with_options.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in kept}
    return with_options


def load_robot(name: str, **options: Any) -> Robot:
    """Return a robot by library name or path; an import's assumptions go to standard error. Options are those of
    ``load``.
    """
    from footfall.loading import load

    with noted_warnings():
        return load(name, **{**(_model_options.get() or {}), **options})


@contextmanager
def noted_warnings() -> Iterator[None]:
    """Print warnings as our lines on standard error, each once, without the line of code."""
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in reported):
        note(message)


def load_recording(path: str, model: str | None = None) -> Recording:
    """Return a recording, with the meshes of a model file if one is given."""
    from footfall.draw.solids import dressed
    from footfall.recording.recording import Recording

    rec = Recording.load(path)
    if model is not None:
        rec.robot = dressed(rec.robot, model)
    return rec


_typed: list[str] = []  # the command line being run


def command_line() -> str:
    """Return the command line as it was typed."""
    return shlex.join(["footfall", *_typed])


def note(text: str) -> None:
    """Print one line on standard error."""
    typer.echo(f"footfall: {printable(' '.join(text.split()))}", err=True)


def tell(text: str) -> None:
    """Print a line on standard output."""
    typer.echo(printable(text))


def print_json(value: dict[str, Json]) -> None:
    """Print exactly one JSON object on standard output."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


def console() -> Console:
    """Return a console for tables: as wide as the terminal, or wide enough where there is none."""
    from footfall.cli.plain_console import PlainConsole

    return PlainConsole() if sys.stdout.isatty() else PlainConsole(width=140)


@contextmanager
def progress(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """Yield ``report(what, done, of)``: a bar on a terminal, otherwise a line now and then; silent for quick work."""
    bar = _Bar(title) if sys.stderr.isatty() else _Lines(title)
    try:
        yield bar.report
    finally:
        bar.close()


class _Lines:
    def __init__(self, title: str) -> None:
        self.title, self.next = title, time.monotonic() + _QUIET

    def report(self, what: str, done: int, of: int) -> None:
        if time.monotonic() >= self.next:
            note(f"{self.title}: {done} of {of}{self.doing(what, ', ')}")
            self.next = time.monotonic() + _REPEAT

    def doing(self, what: str, before: str) -> str:
        """Return the current activity, unless the title names it already."""
        return "" if self.title.startswith(what) else f"{before}{what}"

    def close(self) -> None:
        pass


class _Bar(_Lines):
    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.bar: Progress | None = None

    def report(self, what: str, done: int, of: int) -> None:
        if self.bar is None and time.monotonic() >= self.next:
            from rich.console import Console
            from rich.progress import Progress

            self.bar = Progress(console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("")
        if self.bar is not None:
            self.bar.update(
                self.task, description=_marked_down(f"{self.title}{self.doing(what, ': ')}"), completed=done, total=of
            )

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


def _marked_down(text: str) -> str:
    """Return a text escaped so that a rich progress bar, which parses markup, shows it unchanged."""
    from rich.markup import escape

    return escape(printable(text))

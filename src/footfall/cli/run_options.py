"""Options of a run on the command line, made from the fields of ``RunOptions``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footfall.cli.common import load_robot, noted_warnings
from footfall.cli.completing import offer
from footfall.errors import InputError
from footfall.sim.run_options import KEYS, OPTIONS
from nptrace._types import Given

if TYPE_CHECKING:
    from footfall.control.interface import Controller
    from footfall.robot.model.description import Robot
    from footfall.sim.runfile import PlannedRun

_TYPES: dict[str, Any] = {"str": str, "float": float, "int": int, "bool": bool}


def with_run_options(*keys: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace the keyword ``given`` of a command by options of a run; the command receives those that were given."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_options(**arguments: Any) -> None:
            values = {key: arguments.pop(key) for key in keys}
            given = {key: str(v) if isinstance(v, Path) else v for key, v in values.items() if v is not None}
            command(given=given, **arguments)

        signature = inspect.signature(command, eval_str=True)
        parameters: list[Parameter] = []
        for parameter in signature.parameters.values():
            parameters += [_parameter(key) for key in keys] if parameter.name == "given" else [parameter]
        with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return with_options

    return decorate


def _parameter(key: str) -> Parameter:
    option = OPTIONS[key]
    choices = option.metadata["choices"]
    shown = typer.Option(
        f"--{key.replace('_', '-')}",
        help=option.metadata["help"],
        autocompletion=offer(choices) if choices is not None else None,
    )
    kind = Path if option.metadata["path"] else _TYPES[str(option.type).partition(" |")[0]]
    return Parameter(key, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, shown])


MotorsOption = Annotated[Path | None, typer.Option("--motors", help=OPTIONS["motors"].metadata["help"])]
BrakesOption = Annotated[str | None, typer.Option("--brakes", help=OPTIONS["brakes"].metadata["help"])]
PowerLossOption = Annotated[float | None, typer.Option("--power-loss", help=OPTIONS["power_loss"].metadata["help"])]


def planned(subject: str, given: Mapping[str, Given]) -> PlannedRun:
    """Return the simulation of a robot or a run file; options on the command line win over those in the file."""
    from footfall.robot.files.table import is_table
    from footfall.sim.runfile import load_options, options_of, plan, read_run_file

    is_run = subject.endswith(".toml") and not is_table(Path(subject))
    inside = read_run_file(subject) if is_run else {"robot": subject}
    options = options_of({**inside, **given})
    robot = load_robot(options.robot, **load_options(options))
    with noted_warnings():
        return plan(robot, options, own=own_of(given, robot))


def own_of(given: Mapping[str, Given], robot: Robot) -> Controller | None:
    """Return the controller that the command line names as ``module:name``; files may not name one."""
    from footfall.plugins import names_code
    from footfall.sim.runfile import own_controller

    name = given.get("controller")
    return own_controller(name, robot) if isinstance(name, str) and names_code(name) else None


def repeated(recording: Path, given: Mapping[str, Given]) -> PlannedRun:
    """Return the simulation of a recorded run again; options on the command line win over the recorded ones."""
    from footfall.recording.recording import Recording
    from footfall.robot import library
    from footfall.sim.runfile import load_options, options_of, plan

    rec = Recording.load(recording)
    rec.rerun_command()  # raises now if the recording was not made from options
    known = {key: value for key, value in rec.meta["options"].items() if key in KEYS and key != "out"}
    options = options_of({**known, **given})
    if options.robot in library.names() or Path(options.robot).exists():
        robot = load_robot(options.robot, **load_options(options))
    elif options.motors is not None:
        raise InputError(f"the robot {options.robot} of {recording} does not exist")
    else:  # the recording contains the robot, with the spine that it was given
        robot, options = rec.robot, replace(options, spine=given.get("spine"))
    with noted_warnings():
        run = plan(robot, options, own=own_of(given, robot))
    if run.simulation.robot.digest != rec.meta["digest"]:
        raise InputError(f"the robot {options.robot} is not the one that {recording} was made with: it has changed")
    return run

"""The command line: ``footfall robots | verify | export | ...``. Each command has its own file in ``commands``.

Exit status: 0 done and all checks hold, 1 a check failed, 2 bad usage or input (one line on standard error says what),
130 Ctrl-C, 143 SIGTERM. Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from footfall import __version__
from footfall.cli import common
from footfall.errors import FootfallError, printable
from footfall.plugins import entry_points

app = typer.Typer(
    name="footfall",
    help="Model, simulate and control quadruped robots.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
GROUP = "footfall.commands"  # group of entry points: modules with NAME, EXAMPLES and ``command``
_ORDER = (
    "demo", "robots", "verify", "simulate", "compare", "reproduce", "bench", "sweep", "train", "policy", "view",
    "video", "export", "identify", "recover", "convert", "serve", "drive",
)  # fmt: skip


def _add_commands() -> None:
    """Add every registered command; one that cannot be loaded costs a warning, not the others."""
    known = entry_points(GROUP)
    for name in sorted(known, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)):
        try:
            module = known[name].load()
            inspect.signature(module.command, eval_str=True)  # when typer reads it, later than here
            app.command(module.NAME, epilog=module.EXAMPLES)(module.command)
        except Exception as error:  # of a third-party or partly installed package
            _reported(f"warning: the command '{name}' cannot be loaded: {type(error).__name__}: {error}", 0)


_INTERRUPTED, _TERMINATED = 130, 143
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # click's error, which typer vendors


def _version(requested: bool) -> None:
    if requested:
        typer.echo(__version__)
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the stack trace of an error.")] = False,
) -> None:
    """Model, simulate and control quadruped robots."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the ``footfall`` command."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; errors print one line on standard error."""
    if sys.stdout is None:  # standard output closed by the shell: >&-
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    debug = "--debug" in arguments
    common._typed[:] = arguments
    rest = [argument for argument in arguments if argument != "--debug"] or ["--help"]
    try:
        status = typer.main.get_command(app).main(rest, prog_name="footfall", standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        return _reported("interrupted", _INTERRUPTED)
    except SystemExit as end:
        if end.code != _TERMINATED:
            raise
        return _reported("terminated by SIGTERM", _TERMINATED)
    except _UsageError as error:
        return _usage(error)
    except BrokenPipeError:  # the reader of the pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (FootfallError, OSError) as error:
        if debug:
            raise
        return _reported(f"error: {_sentence(error)}", 2)
    if status == _INTERRUPTED:  # typer has caught the Ctrl-C
        return _reported("interrupted", _INTERRUPTED)
    return status if isinstance(status, int) else 0


def _sentence(error: Exception) -> str:
    """Return the message of an error, without errno for an operating-system error."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _usage(error: Exception) -> int:
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "footfall"
    return _reported(f"error: {text.rstrip('.')} (try: {path} --help)", 2)


def _reported(text: str, status: int) -> int:
    """Print one line on standard error, whatever line breaks an exception's text has."""
    typer.echo(f"footfall: {printable(' '.join(text.split()))}", err=True)
    return status


_add_commands()

if __name__ == "__main__":
    main()

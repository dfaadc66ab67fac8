"""The four packages: nptrace alone, commands and protocols by entry points, one registry of what is ours."""

import importlib.metadata
import subprocess
import sys
from types import SimpleNamespace

import pytest

from footfall import plugins
from footfall.cli import main as cli
from footfall.errors import FootfallError, InputError, ModelError, TraceError, TraceMismatch
from footfall.hardware.pipe import PipeBroken
from footfall.hardware.protocol import protocol_named
from footfall.recording.recording_writer import RecordingError
from footfall_go2.client import ConnectionLost
from nptrace.errors import NptraceError

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, *_):
        if name.partition(".")[0].startswith("footfall"):
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
"""


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


def test_nptrace_works_without_footfall():
    code = "import nptrace; print(nptrace.compile(lambda x: x * x, 2.0)(3.0), nptrace.solve.cholesky([[4.0]]))"
    assert python(BLOCKED + code).startswith("9.0")


def test_importing_nptrace_loads_neither_llvm_nor_numpy():
    assert python("import sys, nptrace; print([m for m in ('llvmlite', 'numpy') if m in sys.modules])") == "[]"


def test_every_error_is_caught_under_both_names():
    assert FootfallError is NptraceError
    assert issubclass(InputError, NptraceError)


@pytest.fixture
def broken(monkeypatch):
    """A command of another package that cannot be imported."""
    theirs = importlib.metadata.EntryPoint("theirs", "no_such_package.command", cli.GROUP)
    known = plugins.entry_points(cli.GROUP)
    monkeypatch.setattr(cli, "entry_points", lambda group: {**known, "theirs": theirs})


def test_a_command_that_cannot_be_imported_costs_one_warning(broken, monkeypatch, capsys):
    app = type(cli.app)()
    monkeypatch.setattr(cli, "app", app)
    cli._add_commands()
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("footfall: warning: the command 'theirs' cannot be loaded: ModuleNotFoundError")
    assert said.err.count("\n") == 1
    assert len(app.registered_commands) == len(plugins.entry_points(cli.GROUP))


def test_a_command_whose_parameters_cannot_be_read_costs_one_warning(monkeypatch, capsys):
    def command(x: "no_such_type") -> None: ...

    theirs = SimpleNamespace(load=lambda: SimpleNamespace(NAME="theirs", EXAMPLES="", command=command))
    monkeypatch.setattr(cli, "entry_points", lambda group: {"theirs": theirs})
    app = type(cli.app)()
    monkeypatch.setattr(cli, "app", app)
    cli._add_commands()
    assert capsys.readouterr().err.startswith("footfall: warning: the command 'theirs' cannot be loaded: NameError")
    assert app.registered_commands == []


@pytest.mark.parametrize(
    "error", [InputError, TraceError, TraceMismatch, ModelError, RecordingError, PipeBroken, ConnectionLost, OSError]
)
def test_an_error_of_any_package_ends_as_one_line(error, monkeypatch, capsys):
    app = type(cli.app)()
    monkeypatch.setattr(cli, "app", app)

    @app.command("first")
    def first() -> None:
        raise error("what is wrong,\nand the remedy")

    @app.command("second")
    def second() -> None: ...

    assert cli.run(["first"]) == 2
    assert capsys.readouterr().err == "footfall: error: what is wrong, and the remedy\n"


def test_a_protocol_that_is_not_registered_is_refused():
    with pytest.raises(InputError, match=r"^unknown protocol 'go3' \(did you mean 'go2'\?\)"):
        protocol_named("go3")


def test_commands_of_all_packages_are_found_without_installed_metadata(monkeypatch):
    monkeypatch.setattr(plugins, "installed", lambda group: ())
    if plugins._in_checkout(cli.GROUP) is None:
        pytest.skip("not in a checkout")
    assert {"simulate", "verify"} <= set(plugins.entry_points(cli.GROUP))

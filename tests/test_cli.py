"""The command line: tables for people, one JSON object for machines, one line for an error, exit statuses."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from footfall import __version__, dynamics
from footfall.cli import main as cli
from footfall.robot import library

COMMANDS = [command.name or "" for command in cli.app.registered_commands]


def footfall(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "footfall.cli.main", *arguments], capture_output=True, text=True, timeout=300
    )


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.startswith("footfall: ")


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 0
    text = capsys.readouterr().out
    assert len(COMMANDS) >= 12
    assert all(f" {command} " in text for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Examples:" in text
    assert f"footfall {command}" in text
    assert "--json" in text or command == "view"  # serves until Ctrl-C: it has nothing to report


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_robots_lists_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["robots", "--json"]) == 0
    robots = json.loads(capsys.readouterr().out)["robots"]
    assert [robot["name"] for robot in robots] == [*library.names(), *library.machines()]
    cheetah = robots[0]
    assert set(cheetah) == {"name", "dof", "bodies", "mass", "feet", "provenance"}
    assert (cheetah["dof"], cheetah["bodies"], cheetah["feet"]) == (18, 13, 4)
    assert cheetah["mass"] == pytest.approx(8.912)
    assert cheetah["provenance"]["published"] > 0
    assert cli.run(["robots"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in library.names())


def test_verify_prints_one_json_object_and_succeeds() -> None:
    done = footfall("verify", "mini_cheetah", "--samples", "3", "--seed", "4", "--json")
    assert done.returncode == 0, done.stderr  # where progress goes, if it takes longer than a moment
    report = json.loads(done.stdout)
    assert (report["robot"], report["samples"], report["pass"]) == ("mini_cheetah", 3, True)


def test_verify_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["verify", "mini_cheetah", "--samples", "2"]) == 0
    text = capsys.readouterr().out
    assert "mass matrix" in text
    assert "pinocchio" in text
    assert "all hold" in text


def test_verify_fails_with_status_1_and_names_the_quantity(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = dynamics.gravity_terms
    monkeypatch.setattr(dynamics, "gravity_terms", lambda *arguments: -right(*arguments))
    assert cli.run(["verify", "mini_cheetah", "--samples", "2", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["pass"] is False
    assert "gravity fails: recursive against pinocchio" in said.err


def test_verify_takes_a_model_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", "mini_cheetah", "urdf", "--out", str(tmp_path), "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert cli.run(["verify", file, "--samples", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pass"] is True


@pytest.mark.parametrize("what", ["urdf", "mjcf"])
def test_export_writes_a_model_file(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", "xiling", what, "--out", str(tmp_path / "new" / "folder")]) == 0
    file = Path(capsys.readouterr().out.strip())
    assert file.is_file()
    assert file.parent == tmp_path / "new" / "folder"


def test_export_writes_a_function_as_c(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["export", "mini_cheetah", "gravity_terms", "--out", str(tmp_path), "--json"]) == 0
    files = [Path(file).name for file in json.loads(capsys.readouterr().out)["files"]]
    assert sorted(files) == ["gravity_terms.c", "gravity_terms.h", "gravity_terms_test.c"]
    assert "q[19]" in (tmp_path / "gravity_terms.h").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "mini_chetah"], "unknown robot 'mini_chetah' (did you mean 'mini_cheetah'?)"),
        (["verify", "no/such/file.urdf"], "file.urdf"),
        (["verify"], "Missing argument 'ROBOT'"),
        (["verify", "mini_cheetah", "--samples", "0"], "--samples"),
        (["verify", "mini_cheetah", "--samples", "many"], "--samples"),
        (["verify", "mini_cheetah", "--backend", "abacus"], "unknown backend 'abacus': choose auto, numpy, batch"),
        (["verify", "mini_cheetah", "--bogus"], "--bogus"),
        (
            ["export", "mini_cheetah", "obj", "--out", "x"],
            "unknown thing to export 'obj': choose urdf, mjcf, body_velocities",
        ),
        (["export", "mini_cheetah", "urdf"], "--out"),
        (["dance"], "dance"),
    ],
)
def test_bad_input_is_one_line_on_standard_error(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert one_line(said.err)
    assert words in said.err


def test_an_error_shows_no_stack_trace_unless_asked() -> None:
    plain, debug = footfall("verify", "nobody"), footfall("verify", "nobody", "--debug")
    assert plain.returncode == 2
    assert one_line(plain.stderr)
    assert "Traceback" in debug.stderr
    assert debug.returncode != 0


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert cli.run(["export", "mini_cheetah", "urdf", "--out", str(tmp_path / "file" / "sub")]) == 2
    assert one_line(capsys.readouterr().err)


def test_ctrl_c_ends_with_130_and_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(library, "load", interrupted)
    assert cli.run(["verify", "mini_cheetah"]) == 130
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.strip() == "footfall: interrupted"


def test_progress_is_silent_for_quick_work_and_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from footfall.cli import common

    with common.progress("working") as report:
        report("first", 0, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(common, "_QUIET", 0.0)
    with common.progress("working") as report:
        report("first", 0, 2)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "footfall: working: 0 of 2, first\n"


def test_help_starts_quickly_because_nothing_heavy_is_imported() -> None:
    heavy = ("numpy", "scipy", "mujoco", "rich.table")
    code = f"import sys, footfall.cli.main; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("footfall sim", "simulate"),
        ("footfall simulate mini", "mini_cheetah"),
        ("footfall simulate mini_cheetah --gait tr", "trot"),
        ("footfall simulate mini_cheetah --controller who", "whole_body"),
        ("footfall simulate mini_cheetah --contact sta", "stance"),
        ("footfall reproduce yan", "yan2021"),
    ],
)
def test_the_shell_completes_commands_and_names(words, offered, monkeypatch, capsys):
    monkeypatch.setenv("_FOOTFALL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    with contextlib.suppress(SystemExit):
        cli.run([])
    assert offered in capsys.readouterr().out.split()

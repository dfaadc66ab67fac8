"""Names of others in the terminal: neither markup nor escapes of theirs are obeyed."""

from __future__ import annotations

import io
import sys

import pytest

from footfall.cli.common import _Bar, console, note
from footfall.cli.main import run as command
from footfall.errors import printable
from footfall.robot.files.guard import shown
from footfall_lab.verify.report import Check, Report

ESCAPE = "\x1b]0;owned\x07\x1b[2J"
TENSOR = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LIMB = '<link name="{0}"><inertial><mass value="1"/>' + TENSOR + "</inertial></link>"
ARM = (
    '<robot name="{name}">' + LIMB.format("a") + LIMB.format("b") + '<joint name="j" type="continuous">'
    '<parent link="a"/><child link="b"/><axis xyz="0 1 0"/></joint></robot>'
)


def arm(tmp_path, name, file="arm.urdf"):
    path = tmp_path / file
    path.write_text(ARM.format(name=name))
    return str(path)


@pytest.mark.parametrize("name", ["[/x]", "[bold red]x", "[link=http://e.x]y[/link]", ":smile:", "a[0]"])
def test_markup_in_a_robots_name_is_printed_as_it_is(tmp_path, capsys, name):
    path = arm(tmp_path, name)
    assert command(["verify", path, "--samples", "2", "--backend", "numpy"]) == 0
    assert name in capsys.readouterr().out


def test_markup_in_the_name_of_a_free_robot_does_not_end_a_run(tmp_path, capsys):
    from footfall.robot import library
    from footfall.robot.files.urdf_mjcf import write

    robot = library.load("mini_cheetah").replace(name="[/x]")
    path = write(robot, "mjcf", tmp_path)
    assert command(["simulate", str(path), "--controller", "hold", "--duration", "0.01"]) in (0, 1)
    assert "[/x]" in capsys.readouterr().out


def test_escapes_in_file_names_are_shown_and_not_obeyed(tmp_path, capsys):
    for arguments in (
        ["simulate", arm(tmp_path, "x", f"a{ESCAPE}.urdf"), "--controller", "hold", "--duration", "0.01"],
        ["simulate", str(tmp_path / f"none{ESCAPE}.urdf")],
        ["video", str(tmp_path / f"none{ESCAPE}.mcap")],
        ["sweep", str(tmp_path / f"none{ESCAPE}.toml")],
        [f"no{ESCAPE}command"],
        ["export", arm(tmp_path, "x"), "urdf", "--out", str(tmp_path / f"out{ESCAPE}")],
    ):
        command(arguments)
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
        assert "\x07" not in said.out + said.err


def test_tables_notes_and_bars_print_what_they_are_given(monkeypatch, capsys):
    note(f"a {ESCAPE} b")
    assert capsys.readouterr().err == "footfall: a \\x1b]0;owned\\x07\\x1b[2J b\n"
    check = Check(
        quantity="mass_matrix",
        left="[/x]",
        right=ESCAPE,
        max_rel_error=1.0,
        median_rel_error=1.0,
        tolerance=1e-9,
        samples=2,
        note="[/y]",
    )
    report = Report(robot="[/x]", samples=2, seed=0, backend="numpy", checks=(check,), skipped={})
    console().print(report.table())
    said = capsys.readouterr().out
    assert "[/x]" in said
    assert "FAILS [/y]" in said
    assert "\x1b]" not in said
    screen = io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    bar = _Bar(f"[/x] {ESCAPE}")
    bar.next = 0.0
    bar.report("[/z]", 1, 2)
    bar.close()
    assert "\x1b]0" not in screen.getvalue()


def test_printable_keeps_every_script_and_shows_what_it_takes_away():
    text = "Rösti 机器狗 — ok\n\tline"
    assert printable(text) == text
    assert printable("\x1b[0m\u202e\x85") == "\\x1b[0m\\x202e\\x85"
    assert "\x1b" not in shown(ESCAPE)

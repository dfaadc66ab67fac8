"""A study's function is code, and runs only where somebody has said that it may."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from footfall import sweep
from footfall.cli.main import run as command
from footfall.errors import InputError
from footfall.sweep.journal import Journal
from footfall.sweep.permission import allow, code_digest, default_folder, is_allowed

EXAMPLES = Path(__file__).parents[3] / "examples" / "studies"


@pytest.fixture
def study(tmp_path):
    """A study whose module leaves a mark when it is but imported."""
    (tmp_path / "evil.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef double(k):\n    return 2 * k\n"
    )
    file = tmp_path / "study.toml"
    file.write_text('function = "evil:double"\n[grid]\nk = [1, 2]')
    yield file
    sys.modules.pop("evil", None)
    sys.path[:] = [path for path in sys.path if path != str(tmp_path)]


def options(study, *more):
    return ["sweep", str(study), "--out", str(study.parent / "out"), "--workers", "1", *more]


@pytest.mark.parametrize("more", [(), ("--resume",), ("--retry-failed",), ("--cluster", "tcp://127.0.0.1:9")])
def test_without_leave_nothing_is_imported_and_one_sentence_says_how(study, capsys, more):
    assert command(options(study, *more)) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert "'evil:double'" in said
    assert "--allow-code" in said
    assert not (study.parent / "ran").exists()
    assert not (study.parent / "out").exists()


def test_a_function_of_the_system_is_refused_too(tmp_path, capsys):
    file = tmp_path / "study.toml"
    file.write_text(f'function = "os:system"\n[run]\ncommand = "touch {tmp_path}/ran"\n[grid]\nk = [1]')
    assert command(options(file)) == 2
    assert "os:system" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()
    with pytest.raises(InputError, match="allow_code=True"):
        sweep.run(file, tmp_path / "out")


def test_leave_is_remembered_for_resume_of_the_same_function_alone(study, capsys):
    assert command(options(study, "--allow-code")) == 0
    assert (study.parent / "ran").exists()
    assert is_allowed("evil:double", study.parent)
    study.write_text('function = "evil:double"\n[grid]\nk = [1, 2, 3]')
    assert command(options(study, "--resume", "--json")) == 0
    assert json.loads(capsys.readouterr().out.strip().splitlines()[-1])["done"] == 3
    assert command(options(study)) == 2  # without --resume it is another beginning
    study.write_text('function = "os:getcwd"\n[grid]\nk = [1, 2, 3]')
    capsys.readouterr()
    assert command(options(study, "--resume")) == 2
    assert "os:getcwd" in capsys.readouterr().err


def _edit(folder):
    (folder / "evil.py").write_text((folder / "evil.py").read_text() + "# more\n")


def _shadow(folder):
    (folder / "numpy.py").write_text("")


def _nested(folder):
    (folder / "helpers").mkdir()
    (folder / "helpers" / "inner.py").write_text("")


@pytest.mark.parametrize("change", [_edit, _shadow, _nested])
def test_leave_ends_when_code_in_the_studys_folder_changes(study, change):
    assert command(options(study, "--allow-code")) == 0
    assert is_allowed("evil:double", study.parent)
    (study.parent / "notes.txt").write_text("no code")
    assert is_allowed("evil:double", study.parent)
    change(study.parent)
    (study.parent / "ran").unlink()
    assert command(options(study, "--resume", "--retry-failed")) == 2
    assert not (study.parent / "ran").exists()


def test_leave_does_not_go_with_a_copy_of_the_folder(study, tmp_path):
    assert command(options(study, "--allow-code")) == 0
    copy = tmp_path / "elsewhere"
    shutil.copytree(study.parent, copy, ignore=shutil.ignore_patterns("elsewhere", "state"))
    assert not is_allowed("evil:double", copy)


def test_a_journal_beside_a_study_gives_no_leave(study, capsys):
    """A stranger's folder brings a journal along: finished items, and what once was a permission."""
    assert command(options(study, "--allow-code")) == 0
    for kept in (study.parent / "state").rglob("*"):
        kept.unlink() if kept.is_file() else None
    journal = study.parent / "out" / "journal.jsonl"
    journal.write_text(journal.read_text() + '{"allow_code": "evil:double"}\n')
    (study.parent / "ran").unlink()
    assert command(options(study, "--resume")) == 2
    assert "--allow-code" in capsys.readouterr().err
    assert not (study.parent / "ran").exists()
    assert "allow_code" not in (Journal(study.parent / "out", "study", True, {}).header or {})


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files here")
def test_a_state_folder_that_others_write_gives_no_leave(study):
    allow("evil:double", study.parent)
    assert is_allowed("evil:double", study.parent)
    default_folder().chmod(0o777)
    assert not is_allowed("evil:double", study.parent)


@pytest.mark.parametrize(
    ("function", "kept"), [("os:system", False), ("json.decoder:scanstring", True), ("no_such:f", False)]
)
def test_modules_elsewhere_are_identified_by_their_file_or_allowed_once(study, function, kept):
    allow(function, study.parent)
    assert is_allowed(function, study.parent) == kept


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.stem)
def test_our_own_studies_need_no_leave(file):
    assert not sweep.read_study(file).runs_code


def test_a_module_beside_a_study_without_code_is_never_imported(tmp_path):
    """Neither by the sweep nor by its workers, which would start in the study's folder."""
    for name in ("numpy", "json", "xarray", "queue", "footfall"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').write({name!r})\n")
    spine = (EXAMPLES / "spine.toml").read_text().split("[grid]")[0]
    plain = '[run]\nrobot = "mini_cheetah"\nduration = 0.01\n[grid]\nspeed = [0.1]\n'
    (tmp_path / "plain.toml").write_text(plain)
    (tmp_path / "ours.toml").write_text(spine + "[grid]\nno_such_parameter = [1]\n")
    run = "import sys; from footfall.cli.main import run; sys.exit(run(sys.argv[1:]))"
    for study, ends in (("plain.toml", 0), ("ours.toml", 2)):
        done = subprocess.run(
            [sys.executable, "-P", "-c", run, "sweep", study, "--workers", "1", "--out", f"out-{study}"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == ends, done.stderr
        assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def test_bytecode_beside_a_study_is_not_what_runs(study, tmp_path):
    """A folder may come with a source that anybody can read, and with bytecode of another for it."""
    other = tmp_path / "other.txt"
    other.write_text(
        "from pathlib import Path\nPath(__file__).with_name('bad').touch()\ndef double(k):\n    return 0\n"
    )
    for place in (study.parent, study.parent / "package"):
        place.mkdir(exist_ok=True)
        (place / "evil.py").write_text("def double(k):\n    return 2 * k\n")
        (place / "__init__.py").touch()
        py_compile.compile(
            str(other),
            cfile=importlib.util.cache_from_source(str(place / "evil.py")),
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    for module in ("evil", "package.evil"):
        study.write_text(f'function = "{module}:double"\n[grid]\nk = [1, 2]')
        done = sweep.run(study, tmp_path / f"out {module}", allow_code=True, workers=2)
        assert sorted(next(iter(entry["result"].values())) for entry in done.entries.values()) == [2.0, 4.0]
    assert not list(tmp_path.rglob("bad"))


def test_code_behind_a_link_to_a_folder_is_part_of_what_is_allowed(study, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "gains.py").write_text("K = 1\n")
    (study.parent / "linked").symlink_to(elsewhere)
    before = code_digest("evil:double", study.parent)
    (elsewhere / "gains.py").write_text("K = 2\n")
    assert code_digest("evil:double", study.parent) != before

"""Exported C, built without a warning and run."""

import shutil
import subprocess

import pytest

COMPILER = shutil.which("gcc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def build_and_run(paths, *flags):
    folder = paths[0].parent
    sources = [str(p) for p in paths if p.suffix == ".c"]
    command = [COMPILER, *STRICT, *flags, *sources, "-lm", "-o", str(folder / "check")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / "check"], capture_output=True, text=True, check=False)

"""Exported C, built without a warning and run."""

import importlib.util
import shutil
import subprocess
import sys

import pytest

COMPILER = shutil.which("gcc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
ZIG = importlib.util.find_spec("ziglang") is not None
needs_zig = pytest.mark.skipif(not ZIG, reason="ziglang is not installed: pip install 'footfall[wasm]'")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def build_and_run(paths, *flags):
    folder = paths[0].parent
    sources = [str(p) for p in paths if p.suffix == ".c"]
    command = [COMPILER, *STRICT, *flags, *sources, "-lm", "-o", str(folder / "check")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / "check"], capture_output=True, text=True, check=False)


def zig(*arguments):
    """Run ``zig cc`` of the package ziglang; returns what it said where it failed."""
    command = [sys.executable, "-m", "ziglang", "cc", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

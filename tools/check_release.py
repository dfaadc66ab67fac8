"""Builds wheel and sdist, and tries both from another folder on every Python from 3.11 to 3.13 that is here.

A Python is here if it is on the PATH, or among those of pyenv.

python tools/check_release.py [--out dist] [--pythons python3.11,python3.12]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13")
NEEDED = ("footfall/py.typed", "footfall/experiments/registered.toml", "footfall/control/learned/policies/")
TRIAL = """
import footfall as ff, numpy as np
assert "site-packages" in ff.__file__, ff.__file__
robot = ff.load("mini_cheetah")
rec = ff.Simulation(robot).run(0.1)
assert rec.q.shape == (100, 19) and np.isfinite(rec.q).all()
walker = ff.control.Policy.load("mini_cheetah")
print(ff.__version__, len(rec))
"""


def run(*command: str, **options: object) -> str:
    """A command's output; one that fails ends the script with what it said."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, capture_output=True, text=True, env=clean, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def here(python: str) -> str | None:
    """A Python that runs, by its name: on the PATH, or the newest of pyenv's."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(root.glob(f"versions/{python.removeprefix('python')}.*/bin/python"), key=_version, reverse=True)
    for command in (shutil.which(python), *map(str, kept)):
        if command is not None and not subprocess.run([command, "-c", ""], capture_output=True).returncode:
            return command
    return None


def _version(path: Path) -> list[int]:
    return [int(part) for part in path.parents[1].name.split(".") if part.isdecimal()]


def python_of(folder: Path) -> str:
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def build(out: Path) -> tuple[Path, Path]:
    """(wheel, sdist): the wheel is built from what the sdist holds, as a packager would."""
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = python_of(Path(folder))
        run(python, "-m", "pip", "install", "--quiet", "build")
        run(python, "-m", "build", "--outdir", str(out), str(ROOT))
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def check_wheel(wheel: Path) -> None:
    """Data files and all modules are in it, and nothing that belongs to a checkout."""
    inside = zipfile.ZipFile(wheel).namelist()
    modules = [path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "footfall").rglob("*.py")]
    for name in (*NEEDED, *modules):
        if not any(entry.startswith(name) for entry in inside):
            sys.exit(f"{wheel.name} lacks {name}")
    foreign = [entry for entry in inside if not entry.startswith(("footfall/", "footfall-"))]
    if foreign:
        sys.exit(f"{wheel.name} holds what is not footfall's: {foreign[0]}")


def check_contents(wheel: Path, sdist: Path) -> None:
    """The wheel's are whole, and data files are in both."""
    check_wheel(wheel)
    packed = ["/".join(name.split("/")[1:]) for name in tarfile.open(sdist).getnames()]
    for name in NEEDED:
        if not any(entry.startswith(f"src/{name}") for entry in packed):
            sys.exit(f"{sdist.name} lacks src/{name}")


def try_out(python: str, package: Path) -> str:
    """Install into an environment of its own and run from an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", f"{folder}/env")
        inside = python_of(Path(folder) / "env")
        run(inside, "-m", "pip", "install", "--quiet", str(package), cwd=folder)
        said = run(inside, "-c", TRIAL, cwd=folder).strip()
        run(str(Path(inside).with_name("footfall")), "robots", "--json", cwd=folder)
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default=str(ROOT / "dist"))
    parser.add_argument("--pythons", default=",".join(PYTHONS))
    given = parser.parse_args()
    wheel, sdist = build(Path(given.out))
    check_contents(wheel, sdist)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB; {sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
    for k, python in enumerate(given.pythons.split(",")):
        command = here(python)
        if command is None:
            print(f"{python}: not here")
            continue
        print(f"{python}: wheel runs, {try_out(command, wheel)}")
        if k == 0:
            print(f"{python}: sdist runs, {try_out(command, sdist)}")


if __name__ == "__main__":
    main()

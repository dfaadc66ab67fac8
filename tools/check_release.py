"""Build wheel and sdist, and try both from another folder on every installed Python from 3.11 to 3.13.

Pythons are looked for on the PATH and among those of pyenv.

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
PACKAGES = ("nptrace", "footfall", "footfall_go2", "footfall_lab")
COMMANDS = (  # they read data files of every package
    ("--help",),
    ("robots", "--json"),
    ("reproduce", "floating_base", "--json", "--out", "report"),
    ("export", "mini_cheetah", "pd", "--gait", "trot", "--format", "fmu", "--out", "units"),
)
COMPILER = """
import sys
import nptrace, numpy as np
double = nptrace.compile(lambda x: 2.0 * x, np.ones(3))
assert double(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
assert not any(name.startswith("footfall") for name in sys.modules)
"""
TRIAL = """
import footfall as ff, numpy as np
assert "site-packages" in ff.__file__, ff.__file__
robot = ff.load("mini_cheetah")
rec = ff.Simulation(robot).run(0.1)
assert rec.q.shape == (100, 19) and np.isfinite(rec.q).all()
policy = ff.control.Policy.load("mini_cheetah")
walk = ff.Simulation(robot, policy, command=ff.Command(forward=0.5)).run(1.0)
assert walk.q[-1, 0] > 0.2 and walk.q[-1, 2] > 0.2
print(ff.__version__, len(rec))
"""


def run(*command: str, **options: object) -> str:
    """Return a command's output; one that fails ends the script with its output."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, capture_output=True, text=True, env=clean, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def installed(python: str) -> str | None:
    """Return the path of a Python that runs, by its name: on the PATH, or the newest of pyenv's."""
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
    """Return (wheel, sdist), the wheel built from the sdist, both with a description that `twine check` accepts."""
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = python_of(Path(folder))
        run(python, "-m", "pip", "install", "--quiet", "build", "twine")
        run(python, "-m", "build", "--outdir", str(out), str(ROOT))
        (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
        run(python, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    return wheel, sdist


def sources() -> list[str]:
    """Return every file of the packages that is installed with them: modules, data files and ``py.typed``."""
    files = [path for package in PACKAGES for path in (ROOT / "src" / package).rglob("*") if path.is_file()]
    return sorted(path.relative_to(ROOT / "src").as_posix() for path in files if path.suffix != ".pyc")


def check_wheel(wheel: Path) -> None:
    """Refuse a wheel that lacks a file of the packages, or holds any other."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    for name in sources():
        if name not in inside:
            sys.exit(f"{wheel.name} lacks {name}")
    foreign = [entry for entry in inside if not entry.startswith((*(f"{name}/" for name in PACKAGES), "footfall-"))]
    if foreign:
        sys.exit(f"{wheel.name} holds {foreign[0]}, which belongs to no package")


def check_contents(wheel: Path, sdist: Path) -> None:
    """Refuse a wheel or an sdist that lacks a file of the packages."""
    check_wheel(wheel)
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    for name in sources():
        if f"src/{name}" not in packed:
            sys.exit(f"{sdist.name} lacks src/{name}")


def try_out(python: str, package: Path) -> str:
    """Install into an environment of its own, run from an empty folder and return what the trial prints."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", f"{folder}/env")
        inside = python_of(Path(folder) / "env")
        run(inside, "-m", "pip", "install", "--quiet", str(package), cwd=folder)
        run(inside, "-c", COMPILER, cwd=folder)
        said = run(inside, "-c", TRIAL, cwd=folder).strip()
        for words in COMMANDS:
            run(str(Path(inside).with_name("footfall")), *words, cwd=folder)
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
        command = installed(python)
        if command is None:
            print(f"{python}: not installed")
            continue
        print(f"{python}: wheel runs, {try_out(command, wheel)}")
        if k == 0:
            print(f"{python}: sdist runs, {try_out(command, sdist)}")


if __name__ == "__main__":
    main()

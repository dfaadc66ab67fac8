"""Write the call paths of docs/architecture.md: which files run, in the order of their first call.

``python docs/generate_call_paths.py [NAME ...]`` runs the real thing under ``sys.setprofile``, each in a process of its
own; a file that is only imported, and never called, is not listed. ``call_path(name)`` returns the list of one.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE / "architecture.md"
SOURCE = HERE.parent / "src"


def load_urdf(folder: Path) -> None:
    """``ff.load("robot.urdf")``.

    The text is validated first (`guard.py`: nothing is fetched or executed), then parsed into a `Draft`: links, joints
    and shapes as in the file. Feet are found by geometry. The draft becomes a `Robot`, whose kinematic tree (bodies,
    placements, movable joints) is built once and kept. Finally a standing pose is computed.
    """
    import footfall as ff

    ff.load(folder / "robot.urdf")


def compile_function(folder: Path) -> None:
    """``ff.compile(ff.dynamics.mass_matrix, robot)``, called once, with nothing in the cache.

    `compiling.py` binds the function to its robot and calls nptrace. The key is a digest of everything that the
    function can reach; if the cache has it, the machine code is loaded. Otherwise the function runs once on symbolic
    arrays, which build a graph. The graph becomes a program in SSA form, passes vectorize isomorphic legs, LLVM
    generates machine code, and the result is written to the cache.
    """
    import numpy as np

    import footfall as ff

    robot = ff.load("mini_cheetah")
    ff.compile(ff.dynamics.mass_matrix, robot)(np.concatenate([np.zeros(3), [1.0], np.zeros(15)]))


def tick(folder: Path) -> None:
    """One tick of a simulation that is ready: ``simulation.run(1e-3)``, its program compiled before.

    A tick is one call of the controller and the physics steps until the next call. Both are one compiled program, so
    the algorithms themselves (contact, dynamics, integrator) are not called here: they ran once, on symbols, when the
    program was traced. What runs is the loop around it: the current inputs, the program, checks, and a recorded row.
    """
    _prepared().run(1e-3)


def command(folder: Path) -> None:
    """``footfall simulate mini_cheetah --duration 0.2 --out run.mcap``, its step compiled before.

    The flags become one record of options, as do run files and the settings of the viewer. Robot, ground, controller
    and initial state are made from the options, and a `Simulation` from these. Every tick adds a row to the recorder,
    and the recording is written in chunks during the run.
    """
    _command("simulate", "mini_cheetah", "--duration", "0.2", "--out", str(folder / "run.mcap"))


def training(folder: Path) -> None:
    """One iteration of a training on the processor, its programs compiled before.

    The task provides a controller that applies actions, the evaluation of a tick and random initial states; one
    compiled program advances all robots by a tick and evaluates it. PPO computes actions with the network, rolls the
    robots out, estimates advantages, and takes its gradient steps in plain NumPy.
    """
    _training().iterate()


CALL_PATHS: dict[str, Callable[[Path], None]] = {
    "load a URDF": load_urdf,
    "compile a function": compile_function,
    "a simulation tick": tick,
    "a command": command,
    "a training iteration": training,
}


@functools.cache
def _prepared() -> Any:
    import footfall as ff

    return ff.Simulation(ff.load("mini_cheetah"))


@functools.cache
def _training() -> Any:
    from footfall.learn.training import CpuTraining

    return CpuTraining(robots=16)


def _command(*words: str) -> None:
    from footfall.cli.main import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.argv = ["footfall", *words]
        main()


def _prepare(name: str, folder: Path) -> None:
    """Prepare what a call path does not show: everything is imported, so that only calls count."""
    import footfall as ff
    import footfall_go2
    import footfall_lab
    import nptrace
    from footfall.errors import MissingExtraError

    for package in (nptrace, ff, footfall_go2, footfall_lab):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            with contextlib.suppress(ImportError, MissingExtraError):  # of an extra that is not installed
                importlib.import_module(module.name)
    if name == "load a URDF":
        (folder / "robot.urdf").write_text(ff.robot.to_urdf(ff.load("mini_cheetah")))
    elif name == "compile a function":
        os.environ["NPTRACE_CACHE"] = str(folder / "cache")
    elif name == "a simulation tick":
        _prepared().run(1e-3)
    elif name == "a training iteration":
        _training().iterate()


def call_path(name: str) -> list[str]:
    """Return the files of a call path, each once, in the order of their first call."""
    from nptrace import packages

    passed = dict[str, None]()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # not the body of a module or a class
        if event == "call" and is_function and packages.in_folder(code.co_filename):
            file = Path(code.co_filename).relative_to(SOURCE).as_posix().removeprefix("footfall/")
            passed[file] = None

    with tempfile.TemporaryDirectory() as folder:
        _prepare(name, Path(folder))
        threading.setprofile(seen)
        sys.setprofile(seen)
        try:
            CALL_PATHS[name](Path(folder))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return list(passed)


def by_folder(files: list[str]) -> dict[str, list[str]]:
    """Return the files by their folder, folders in the order in which they are entered."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folder, _, own = file.rpartition("/")
        folders.setdefault(folder, []).append(own)
    return folders


def table(name: str, files: list[str]) -> str:
    lines = [f"| {folder or 'footfall'}/ | {', '.join(own)} |" for folder, own in by_folder(files).items()]
    text = inspect.cleandoc(CALL_PATHS[name].__doc__ or "")
    return f"### {name}\n\n{text}\n\n| folder | {len(files)} files |\n|---|---|\n" + "\n".join(lines) + "\n"


def read(page: str) -> dict[str, list[str]]:
    """Return the call paths of a page: {name: files}."""
    found: dict[str, list[str]] = {}
    for section in page.split("\n### ")[1:]:
        name, _, text = section.partition("\n")
        rows = re.findall(r"^\| (\S+)/ \| (.*\.py) \|$", text.split("\n## ")[0], flags=re.MULTILINE)
        if rows:
            paths = (f"{folder}/{own}" for folder, names in rows for own in names.split(", "))
            found[name] = [path.removeprefix("footfall/") for path in paths]
    return found


def main(names: list[str]) -> None:
    for name in names or CALL_PATHS:
        command = [sys.executable, __file__, "--one", name]
        if name == "a command":
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # compiles
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        page = PAGE.read_text()
        found = read(page) | {name: json.loads(done.stdout.splitlines()[-1])}
        head = page.partition("\n### ")[0]
        PAGE.write_text("\n".join([head, *(table(n, found[n]) for n in CALL_PATHS if n in found)]))
        print(f"{name}: {len(found[name])} files")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(call_path(sys.argv[2])))
    else:
        main(sys.argv[1:])

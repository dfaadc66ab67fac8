"""Writes the walks of docs/architecture.md: which files of footfall are entered, in the order of their first call.

``python docs/generate_walks.py [WALK ...]`` runs the real thing under ``sys.setprofile``, each walk in a process of its
own; a file that is only imported, and never called, is not passed. ``walk(name)`` gives the list of one walk.
"""

from __future__ import annotations

import contextlib
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


def simulate(folder: Path) -> None:
    """``footfall simulate mini_cheetah --duration 0.2 --out run.mcap``, its step compiled before."""
    _command("simulate", "mini_cheetah", "--duration", "0.2", "--out", str(folder / "run.mcap"))


def compile_function(folder: Path) -> None:
    """``ff.compile(ff.dynamics.mass_matrix, robot)``, called once, with nothing in the cache."""
    import numpy as np

    import footfall as ff

    robot = ff.load("mini_cheetah")
    ff.compile(ff.dynamics.mass_matrix, robot)(np.concatenate([np.zeros(3), [1.0], np.zeros(15)]))


def load_urdf(folder: Path) -> None:
    """``ff.load("robot.urdf")``."""
    import footfall as ff

    ff.load(folder / "robot.urdf")


def view(folder: Path) -> None:
    """``footfall view``: the page is served, and the robot takes its first steps."""
    import footfall as ff
    from footfall.view.server import Server
    from footfall.view.show import serve

    server = Server("127.0.0.1", 0)
    try:
        shown = serve(server, ff.load("mini_cheetah"), "")
        stepped = threading.Event()
        shown.page.step()
        shown.page.do(stepped.set)
        stepped.wait(60.0)
        shown.page.stop()
    finally:
        server.stop()


def reproduce_adak2021(folder: Path) -> None:
    """``footfall reproduce adak2021``, with the shortest of its runs and all of it in one process."""
    from footfall import experiments, report

    outcome = experiments.run("adak2021", True, lambda what, done, of: None, workers=1)
    report.write([outcome], folder, "footfall reproduce adak2021", 0.0)


WALKS: dict[str, Callable[[Path], None]] = {
    "simulate": simulate,
    "compile": compile_function,
    "load a URDF": load_urdf,
    "view": view,
    "reproduce adak2021": reproduce_adak2021,
}


def _command(*words: str) -> None:
    from footfall.cli import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.argv = ["footfall", *words]
        main()


def _prepare(name: str, folder: Path) -> None:
    """What lies ready when a walk begins: everything is imported, so that only calls count."""
    import footfall as ff
    from footfall.errors import MissingExtraError

    for module in pkgutil.walk_packages(ff.__path__, "footfall."):
        with contextlib.suppress(ImportError, MissingExtraError):  # of an extra that is not installed
            importlib.import_module(module.name)
    if name == "load a URDF":
        (folder / "robot.urdf").write_text(ff.robot.to_urdf(ff.load("mini_cheetah")))
    elif name == "compile":
        os.environ["FOOTFALL_CACHE"] = str(folder / "cache")


def walk(name: str) -> list[str]:
    """The files that a walk passes, each once, in the order in which they are first called."""
    return list(entries(name))


def entries(name: str) -> dict[str, int]:
    """{file: how often it is entered from another file}: more than once where the walk comes back to it."""
    import footfall

    root, passed, last = str(Path(footfall.__file__).parent) + os.sep, dict[str, int](), ""

    def seen(frame: FrameType, event: str, _: Any) -> None:
        nonlocal last
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # not the body of a module or a class
        if event == "call" and is_function and code.co_filename.startswith(root):
            file = code.co_filename.removeprefix(root)
            passed[file] = passed.get(file, 0) + (file != last)
            last = file

    with tempfile.TemporaryDirectory() as folder:
        _prepare(name, Path(folder))
        threading.setprofile(seen)
        sys.setprofile(seen)
        try:
            WALKS[name](Path(folder))
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return passed


def by_room(files: list[str]) -> dict[str, list[str]]:
    """The same files by the folder in which they lie, folders in the order in which they are entered."""
    rooms: dict[str, list[str]] = {}
    for file in files:
        folder, _, own = file.rpartition("/")
        rooms.setdefault(folder, []).append(own)
    return rooms


def table(name: str, files: list[str], returns: int | None = None) -> str:
    lines = [f"| {folder or 'footfall'}/ | {', '.join(own)} |" for folder, own in by_room(files).items()]
    what = (WALKS[name].__doc__ or "").strip()
    again = "" if returns is None else f", {returns} of them entered more than once"
    head = f"### {name}\n\n{what} {len(files)} files{again}:\n\n| room | files |\n|---|---|\n"
    return head + "\n".join(lines) + "\n"


def read(page: str) -> dict[str, list[str]]:
    """The walks that a page tells: {name: files}."""
    walks: dict[str, list[str]] = {}
    for section in page.split("\n### ")[1:]:
        name, _, text = section.partition("\n")
        rows = re.findall(r"^\| (\S+)/ \| (.*\.py) \|$", text.split("\n## ")[0], flags=re.MULTILINE)
        if rows:
            paths = (f"{folder}/{own}" for folder, names in rows for own in names.split(", "))
            walks[name] = [path.removeprefix("footfall/") for path in paths]
    return walks


def read_returns(page: str) -> dict[str, int]:
    """To how many files each walk of a page comes back, where it says so."""
    sections = (section.partition("\n") for section in page.split("\n### ")[1:])
    found = {name: re.search(r"files, (\d+) of them entered more than once", text) for name, _, text in sections}
    return {name: int(match[1]) for name, match in found.items() if match}


def main(names: list[str]) -> None:
    for name in names or WALKS:
        command = [sys.executable, __file__, "--one", name]
        if name in ("simulate", "view"):
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # compiles, once for all
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        page, (counts, files) = PAGE.read_text(), map(json.loads, done.stdout.splitlines()[-2:])
        walks = read(page) | {name: files}
        returns = read_returns(page) | {name: sum(count > 1 for count in counts.values())}
        head = page.partition("\n### ")[0]
        PAGE.write_text("\n".join([head, *(table(n, walks[n], returns.get(n)) for n in WALKS if n in walks)]))
        print(f"{name}: {len(walks[name])} files")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        counts = entries(sys.argv[2])
        print(json.dumps(counts))
        print(json.dumps(list(counts)))
    else:
        main(sys.argv[1:])

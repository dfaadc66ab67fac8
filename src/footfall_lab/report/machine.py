"""The machine and software of a report, without names of machine or user."""

from __future__ import annotations

import datetime
import platform
from importlib.metadata import PackageNotFoundError, version

from footfall.sim.cores import cores
from footfall_lab.bench.report import this_machine

PACKAGES = ("footfall", "numpy", "scipy", "llvmlite", "matplotlib", "mujoco", "pin")


def machine() -> dict[str, str]:
    """Return processor, system and date, in words."""
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    facts = {"processor": str(this_machine()["cpu"]), "cores": str(cores()), "system": system}
    return facts | {"date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")}


def versions() -> dict[str, str]:
    """Return the installed versions of the packages involved."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

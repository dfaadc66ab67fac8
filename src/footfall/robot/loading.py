"""``ff.load``: a robot of the library by name, or one from a URDF or MJCF file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from footfall.errors import InputError, unknown
from footfall.robot import library
from footfall.robot.description import Robot
from footfall.robot.guard import shown


def load(source: str | Path, /, **options: Any) -> Robot:
    """``load("mini_cheetah", rotors="exact")``, ``load("go2.urdf", feet=[...])``.

    Options are the variant of a library robot, or those of ``robot.urdf_mjcf.load_model``.
    """
    text = str(source)
    if text in library.names():
        return library.load(text, **options)
    path = Path(text)
    try:
        there, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:  # too long, or with a null character
        raise InputError(f"cannot load {shown(text)}: {getattr(error, 'strerror', None) or error}") from None
    if path.suffix.lower() not in (".urdf", ".xml", ".mjcf") and not there:
        raise unknown("robot", text[:200], library.names(), "give a URDF or MJCF file, or one of the library:")
    if folder:
        raise InputError(f"{text} is a folder: give the URDF or MJCF file in it")
    from footfall.robot.urdf_mjcf import load_model

    return load_model(path, **options)

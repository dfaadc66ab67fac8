"""Load a robot by its library name, by the name of an installed third-party robot, or from a file.

``footfall.loading`` is the public function, which also adds a standing pose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from footfall.errors import InputError, reason, unknown
from footfall.robot import library
from footfall.robot.files import installed
from footfall.robot.files.guard import shown
from footfall.robot.model.description import Robot


def load(source: str | Path, /, **options: Any) -> Robot:
    """Load a robot by name, or from a URDF, MJCF or TOML file.

    >>> ff.load("mini_cheetah", rotors="exact")
    >>> ff.load("my_robot.urdf", feet=["toe_1", "toe_2", "toe_3", "toe_4"])

    Like ``ff.load``, but without adding a pose ``stand``.

    Args:
        source: Name of a library robot, of an installed third-party robot (``go2``, ``a1``, ``anymal_c``, ...), or a
            path.
        **options: Variant of a library robot, or options of ``robot.files.urdf_mjcf.load_model``: ``feet``,
            ``forward``, ``root``, ``repair_inertia``, ``lock_wheels``; of a TOML table ``table``, values by their
            path in it.

    Returns:
        The robot.
    """
    text = str(source)
    if text in (*library.names(), *library.machines()):
        return library.load(text, **options)
    path = Path(text)
    try:
        if text in installed.names() and not path.is_file():
            path = installed.file_of(text)
            options.setdefault("name", text)
        there, folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:  # too long, or with a null character
        raise InputError(f"cannot load {shown(text)}: {reason(error)}") from None
    if path.suffix.lower() not in (".urdf", ".xml", ".mjcf", ".toml") and not there:
        known = (*library.names(), *library.machines(), *installed.names())
        raise unknown("robot", text[:200], known, "give a URDF, MJCF or TOML file, or one of")
    if folder:
        raise InputError(f"{text} is a folder: give the URDF or MJCF file in it")
    if path.suffix.lower() == ".toml":
        from footfall.robot.files.table import load_table

        changes = options.pop("table", None)
        options.pop("lock_wheels", None)  # it has none
        for key in options:
            raise InputError(f"{path.name} is a robot's table, which is complete: it takes no {key}")
        return load_table(path, changes)
    from footfall.robot.files.urdf_mjcf import load_model

    return load_model(path, **options)

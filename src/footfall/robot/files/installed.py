"""Third-party robots by name, if a package with their files is installed; nothing is downloaded.

``example-robot-data`` from PyPI, or what ``robot_descriptions`` has fetched into its cache
(``~/.cache/robot_descriptions``, or ``ROBOT_DESCRIPTIONS_CACHE``).
"""

from __future__ import annotations

import contextlib
import os
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from footfall.errors import InputError, unknown

_DATA = "cmeel.prefix/share/example-robot-data/robots"
_CLONED, _UNITREE, _MENAGERIE = "example-robot-data/robots", "unitree_ros/robots", "mujoco_menagerie"
# name: file in example-robot-data, and files in the cache of robot_descriptions
_FILES: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "a1": ("a1_description/urdf/a1.urdf", (f"{_UNITREE}/a1_description/urdf/a1.urdf",)),
    "aliengo": (None, (f"{_UNITREE}/aliengo_description/urdf/aliengo.urdf",)),
    "anymal_b": (
        "anymal_b_simple_description/robots/anymal.urdf",
        ("anymal_b_simple_description/urdf/anymal.urdf",),
    ),
    "anymal_c": ("anymal_c_simple_description/urdf/anymal.urdf", ("anymal_c_simple_description/urdf/anymal.urdf",)),
    "b1": ("b1_description/urdf/b1.urdf", (f"{_UNITREE}/b1_description/xacro/b1.urdf",)),
    "b2": (None, (f"{_UNITREE}/b2_description/urdf/b2_description.urdf",)),
    "go1": ("go1_description/urdf/go1.urdf", (f"{_UNITREE}/go1_description/urdf/go1.urdf",)),
    "go2": ("go2_description/urdf/go2.urdf", (f"{_UNITREE}/go2_description/urdf/go2_description.urdf",)),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", (f"{_CLONED}/hyq_description/robots/hyq_no_sensors.urdf",)),
    "laikago": ("laikago_description/urdf/laikago.urdf", (f"{_UNITREE}/laikago_description/urdf/laikago.urdf",)),
    "solo": ("solo_description/robots/solo.urdf", (f"{_CLONED}/solo_description/robots/solo.urdf",)),
    "solo12": ("solo_description/robots/solo12.urdf", (f"{_CLONED}/solo_description/robots/solo12.urdf",)),
    "spot": (None, (f"{_MENAGERIE}/boston_dynamics_spot/spot.xml",)),
}


def names() -> tuple[str, ...]:
    """Return the names that ``file_of`` knows, installed or not."""
    return tuple(_FILES)


def file_of(name: str) -> Path:
    """Return the model file of a robot; an InputError says what to install if there is none."""
    if name not in _FILES:
        raise unknown("robot", name, names())
    packaged, cached = _FILES[name]
    places = [_cache() / file for file in cached]
    if packaged is not None:
        with contextlib.suppress(PackageNotFoundError):
            places.insert(0, Path(str(distribution("example-robot-data").locate_file(f"{_DATA}/{packaged}"))))
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        package = "pip install --no-deps example-robot-data, or " if packaged is not None else ""
        raise InputError(
            f"the files of robot '{name}' are not installed: {package}fetch them with robot_descriptions,"
            " or give the path of a URDF or MJCF file"
        )
    return found


def _cache() -> Path:
    return Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")).expanduser()

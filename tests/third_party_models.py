"""Real robots of other makers, from the installed package example-robot-data."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from footfall.robot import Robot, library
from footfall.robot.files.urdf_mjcf import load_model

THIRD_PARTY = {  # name: file of the package example-robot-data, total mass [kg]
    "a1": ("a1_description/urdf/a1.urdf", 13.741),
    "go2": ("go2_description/urdf/go2.urdf", 16.085),
    "anymal_c": ("anymal_c_simple_description/urdf/anymal.urdf", 52.13485),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", 86.774),
    "solo12": ("solo_description/robots/solo12.urdf", 2.5),
}


def third_party_path(name: str) -> Path:
    """The URDF of a real robot."""
    return robot_data(THIRD_PARTY[name][0])


def robot_data(file: str) -> Path:
    """A file of the installed package; a run without it fails, it does not skip."""
    from importlib.metadata import PackageNotFoundError, distribution

    inside = f"cmeel.prefix/share/example-robot-data/robots/{file}"
    try:
        path = Path(str(distribution("example-robot-data").locate_file(inside)))
    except PackageNotFoundError:
        path = Path(inside)
    if not path.is_file():
        pytest.fail(f"{path.name} is not installed: pip install --no-deps example-robot-data")
    return path


def walker(name: str) -> Robot:
    """A robot of the library, or a real one of another maker from its URDF."""
    if name not in THIRD_PARTY:
        return library.load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model(third_party_path(name), name=name)

"""Fixtures of the import and export tests."""

from pathlib import Path

import pytest
from third_party_models import robot_data

_ROBOTS = {
    "a1": "a1_description/urdf/a1.urdf",
    "go1": "go1_description/urdf/go1.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "b1": "b1_description/urdf/b1.urdf",
    "anymal_b": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "solo": "solo_description/robots/solo.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "hyq": "hyq_description/robots/hyq_no_sensors.urdf",
    "laikago": "laikago_description/urdf/laikago.urdf",
    "quadruped": "quadruped_description/urdf/quadruped.urdf",
}


@pytest.fixture
def third_party():
    """The path of a robot of the package example-robot-data, which is installed for tests and never committed."""

    return lambda name: robot_data(_ROBOTS[name])


@pytest.fixture
def model_file(tmp_path):
    """Writes a model file in a fresh package folder and returns its path."""

    def write(text: str | bytes, name: str = "model.urdf") -> Path:
        file = tmp_path / "robot_description" / "urdf" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write

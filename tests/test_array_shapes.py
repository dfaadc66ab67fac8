"""Arrays have the shapes that signatures give, wherever plain NumPy is called."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("robot", ["mini_cheetah", "xiling"])
def test_arrays_have_the_shapes_that_signatures_say(robot):
    """Formalisms, contact laws, integrators and controllers by plain NumPy, with all shapes checked at every call."""
    command = [sys.executable, str(Path(__file__).parent / "shape_checks.py"), robot]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]

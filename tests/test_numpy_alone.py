"""A notebook in the browser has NumPy and Matplotlib: dynamics, simulation and plots need nothing else."""

import subprocess
import sys
from pathlib import Path


def test_dynamics_simulation_and_plots_need_nothing_but_numpy_and_matplotlib():
    """Neither packages, threads, processes nor machine code; results agree with plain NumPy."""
    command = [sys.executable, str(Path(__file__).parent / "numpy_alone.py"), "plots"]
    done = subprocess.run(command, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert done.stdout.startswith(b"\x89PNG")

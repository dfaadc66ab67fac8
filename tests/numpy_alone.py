"""Run what a notebook in the browser can run: NumPy and Matplotlib alone, without threads or processes.

A script for ``test_numpy_alone.py``; by hand: ``python tests/numpy_alone.py``. Other packages cannot be imported, nor
modules of the standard library that Pyodide lacks.
"""

import importlib.abc
import subprocess
import sys
import tempfile
import threading
import types
import warnings
from pathlib import Path

DRAWING = {"matplotlib", "mpl_toolkits", "PIL", "contourpy", "cycler", "dateutil", "fontTools", "kiwisolver"}
DRAWING |= {"packaging", "pyparsing", "six"}
LACKING = {"_curses", "_multiprocessing", "_posixshmem", "_tkinter", "fcntl", "grp", "pwd", "resource", "syslog"}
PRESENT = ({*sys.stdlib_module_names, "numpy", "nptrace", "footfall"} | DRAWING) - LACKING - {"termios"}


class Blocked(importlib.abc.MetaPathFinder):
    """Other packages are not installed."""

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        if name.partition(".")[0] not in PRESENT and not name.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def refuse(*_, **__) -> None:
    raise RuntimeError("can't start new thread")


for loaded in LACKING & {*sys.modules}:
    del sys.modules[loaded]
sys.meta_path.insert(0, Blocked())
sys.modules["ipykernel"] = types.ModuleType("ipykernel")  # JupyterLite has one
threading.Thread.start = subprocess.Popen.__init__ = refuse

import numpy as np  # noqa: E402

import footfall as ff  # noqa: E402

robot = ff.load("mini_cheetah")
q, v = robot.state("stand")
v = v + 0.1 * np.cos(np.arange(robot.nv))
zero, tau = np.zeros(robot.nv), np.arange(robot.nj, dtype=float)

# dynamics with numbers, compiled by shapes in annotations, and their derivatives
a = ff.dynamics.forward_dynamics(robot, q, v, tau)
torques = ff.dynamics.inverse_dynamics(robot, q, v, a)
assert np.allclose(torques, np.concatenate([np.zeros(6), tau]), atol=1e-9)
compiled = ff.compile(ff.dynamics.forward_dynamics, robot, target="interpret")
assert np.abs(compiled(q, v, tau) - a).max() < 1e-9
slope = ff.jacobian(ff.dynamics.forward_dynamics, robot, wrt="tau", target="interpret")(q, v, tau)
assert np.abs(slope - np.linalg.inv(ff.dynamics.mass_matrix(robot, q))[:, 6:]).max() < 1e-9

# a simulation, which says that it is slow
stand = robot.poses["stand"].joints
kp, kd = ff.control.stand_gains(robot)


@ff.controller(rate=500)
def sway(t, robot, sensed, command, memory):
    lean = 0.1 * np.sin(2 * np.pi * t) * np.array([1.0, 0.0, 0.0] * 4)
    return ff.JointCommand(position=stand + lean, kp=kp, kd=kd), memory


with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    rec = ff.Simulation(robot, sway).run(0.01)
assert [w.category.__name__ for w in seen] == ["FallbackWarning"], seen
assert "interpreted with NumPy" in str(seen[0].message)
assert np.abs(rec["q"][-1][:3] - q[:3]).max() < 5e-3

# a file, and a robot from one
with tempfile.TemporaryDirectory() as folder:
    rec.save(f"{folder}/sway.csv")
    assert len(Path(folder, "sway.csv").read_text().splitlines()) == len(rec) + 1
hound = Path(ff.__file__).parents[1] / "footfall_lab" / "demo" / "hound.urdf"
assert ff.load(str(hound)).nj == 12

# and plots
if "plots" in sys.argv:
    rec.plot("trunk").savefig(sys.stdout.buffer, format="png")

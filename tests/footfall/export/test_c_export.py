"""Steps, inverse kinematics, contact laws and controllers as C compute what NumPy computes, on robots of all kinds."""

import shutil
import subprocess

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall.errors import InputError
from footfall.export.subjects import exported_named, of_controller

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0"]


def worst_error(files):
    folder = files[0].parent
    sources = [str(file) for file in files if file.suffix == ".c"]
    built = subprocess.run(
        [COMPILER, *STRICT, *sources, "-lm", "-o", str(folder / "check")], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([folder / "check"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    return float(ran.stdout)


@needs_compiler
@pytest.mark.parametrize(
    ("robot", "name", "most"),
    [
        ("xiling", "step", 1e-9),
        ("spined", "inverse_kinematics", 1e-12),
        ("dynakat", "inverse_kinematics", 1e-12),
        ("xiling", "fabrik", 1e-9),
        ("dynakat", "resolved_rate", 1e-9),
        ("spined", "contact", 1e-9),
        ("xiling", "state_rate", 1e-9),
        ("mini_cheetah", "output", 1e-9),
        ("xiling", "pd", 1e-9),
    ],
)
def test_exported_c_computes_what_numpy_does(robot, name, most, tmp_path):
    exported = exported_named(ff.load(robot), name)
    assert np.isfinite(exported.expected).all()
    assert np.abs(exported.expected).max() > 0.1
    assert worst_error(exported.write(tmp_path)) < most


@needs_compiler
def test_ones_own_controller_is_exported_with_its_memory(tmp_path):
    @ff.controller(rate=500, memory={"level": np.zeros(1)})
    def leaky(t, robot, sensed, command, memory):
        level = 0.9 * memory["level"] + 0.1 * sensed.q[2:3]
        return ff.JointCommand(position=0.1 * np.sin(t) * level[0], kp=30.0, kd=1.0), {"level": level}

    simulation = ff.Simulation(ff.load("xiling"), leaky)
    exported = of_controller(simulation, "leaky")
    assert ("memory.level", (1,)) in exported.arguments
    assert ("memory_after.level", (1,)) in exported.outputs
    assert worst_error(exported.write(tmp_path)) < 1e-12


def test_a_controller_that_cannot_be_traced_is_refused():
    class Counting:
        rate, count, traceable = 1000.0, 0, False

        def start(self, robot):
            return ()

        def __call__(self, t, robot, sensed, command, memory):
            return ff.JointCommand(), memory

    with pytest.raises(InputError, match="controller Counting runs in Python between compiled steps"):
        of_controller(ff.Simulation(ff.load("xiling"), Counting()), "counting")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mass_matrix", "--format", "fmu"], "'mass_matrix' has no state over time: an FMU can be made of step, loco"),
        (["step", "--format", "zip"], "unknown format of an export 'zip': choose c, fmu"),
        (["mass_matrix", "--gait", "trot"], "--gait is for exported controllers; 'mass_matrix' takes none"),
        (["step", "--speed", "1"], "--speed is for exported controllers; 'step' takes none"),
    ],
)
def test_bad_exports_are_refused_in_one_line(arguments, words, tmp_path, capsys):
    assert cli.run(["export", "mini_cheetah", *arguments, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert words in " ".join(said.split())
    assert not (tmp_path / "out").exists()

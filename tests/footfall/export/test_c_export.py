"""Steps, inverse kinematics, contact laws and controllers as C compute what NumPy computes, on robots of all kinds."""

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall.errors import InputError
from footfall.export.subjects import exported_named, of_controller, simulation_named

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


@needs_compiler
def test_the_loop_of_the_guide_walks(tmp_path):
    """It is compiled without a warning as it is printed, and trots as the same loop does in Python."""
    robot = ff.load("mini_cheetah")
    for name in ("pd", "step"):
        exported_named(robot, name, **({"gait": "trot"} if name == "pd" else {})).write(tmp_path)
    guide = Path(__file__).parents[3] / "docs/guides/export.md"
    main = tmp_path / "main.c"
    main.write_text(guide.read_text().split("```c\n")[1].split("```")[0])
    sources = [str(tmp_path / name) for name in ("main.c", "pd_controller.c", "robot_step.c")]
    built = subprocess.run(
        [COMPILER, *STRICT, "-O1", *sources, "-lm", "-o", str(tmp_path / "walk")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    said = subprocess.run([tmp_path / "walk"], capture_output=True, text=True, check=True).stdout
    found = [float(x) for x in re.findall(r"-?[\d.]+(?= m)", said)]
    standing = simulation_named(robot, "step")
    pd = simulation_named(robot, "pd", gait="trot").controller
    faster = dataclasses.replace(pd, kp=1.1 * pd.kp)
    twin = ff.Simulation(
        robot, faster, start=(standing.q, standing.v), command=ff.Command(forward=0.3), ground=standing.ground
    )
    twin.advance(2000)
    assert said.startswith("LF_knee")
    assert twin.q[0] > 0.15
    assert found == pytest.approx([twin.q[0], twin.q[2]], abs=2e-3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_header_says_all_that_a_caller_needs(dtype, tmp_path):
    robot = ff.load("mini_cheetah")
    header = exported_named(robot, "pd", gait="trot").write(tmp_path, dtype)[0].read_text()
    kind = {"float64": "double", "float32": "float"}[dtype]
    for line in (
        f"{kind} phase[4];",
        f"{kind} kp; /* stiffness of each joint [N m/rad] */",
        "unit quaternion (w, x, y, z) from base to world axes",
        "angular velocity [rad/s], then linear velocity [m/s] of the base, both in base axes",
        "0 LF_abad, 1 LF_hip, 2 LF_knee,",
        "#define PD_CONTROLLER_RATE 1000.0",
        "extern const pd_controller_memory pd_controller_start;",
        "extern const pd_controller_parameters pd_controller_defaults;",
    ):
        assert line in header


@needs_compiler
@pytest.mark.parametrize(("robot", "name"), [("xiling", "step"), ("mini_cheetah", "pd"), ("spined", "mass_matrix")])
def test_single_precision_c_computes_what_numpy_does(robot, name, tmp_path):
    files = exported_named(ff.load(robot), name).write(tmp_path, "float32")
    assert "double" not in files[1].read_text()
    assert worst_error(files) < 1e-2


def test_parameters_are_numbers_of_the_controller():
    simulation = simulation_named(ff.load("mini_cheetah"), "pd", gait="trot")
    exported = of_controller(simulation, "pd", parameters=("gait.height", "kd"))
    assert [label for label, _ in exported.arguments[:2]] == ["parameters.gait.height", "parameters.kd"]
    with pytest.raises(InputError, match=r"unknown parameter of \w+ 'stiffness'"):
        of_controller(simulation, "pd", parameters=("stiffness",))
    with pytest.raises(InputError, match="'speed_feedback' cannot be given while it runs"):
        of_controller(simulation, "pd", parameters=("speed_feedback",))


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
        (
            ["step", "--dtype", "float16"],
            "unknown number type of the C code 'float16' (did you mean 'float64'?): choose fl",
        ),
        (["urdf", "--dtype", "float32"], "--dtype is for C code: urdf has a fixed type"),
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

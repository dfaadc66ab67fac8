"""A robot and its controller as an FMI 3.0 unit: FMPy runs it as footfall does."""

import json
import subprocess
import zipfile

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall.export import fmu
from footfall.export.subjects import simulation_named

fmpy = pytest.importorskip("fmpy")

needs_compiler = pytest.mark.skipif(fmu.compiler() is None, reason="no C compiler")


@pytest.fixture(autouse=True)
def quickly_built(monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O0")  # the same arithmetic


def run_by_fmpy(path, duration, interval=1e-3, **options):
    """Columns of the unit's outputs by the first words of their names, a row after every interval."""
    description = fmpy.read_model_description(str(path), validate=True)
    names = [v.name for v in description.modelVariables if v.causality == "output"]
    rows = fmpy.simulate_fmu(str(path), stop_time=duration, output_interval=interval, output=names, **options)
    kinds = {
        name: next(k for k in ("base.", "joint.position", "joint.velocity", "motor", "foot") if name.startswith(k))
        for name in names
    }
    return {kind: np.stack([rows[n] for n in names if kinds[n] == kind], axis=1)[1:] for kind in set(kinds.values())}


@needs_compiler
@pytest.mark.parametrize("controller", ["pd", pytest.param("locomotion", marks=pytest.mark.slow)])
def test_fmpy_runs_the_exported_trot_as_footfall_does(controller, tmp_path, capsys):
    assert cli.run(["export", "mini_cheetah", controller, "--format", "fmu", "--out", str(tmp_path), "--json"]) == 0
    (path,) = json.loads(capsys.readouterr().out)["files"]
    seen = run_by_fmpy(path, 2.0)
    simulation = simulation_named(ff.load("mini_cheetah"), controller)
    rec = simulation.run(2.0)
    assert rec.q[-1, 0] > 0.2  # it has trotted [m]
    assert np.abs(seen["base."][:, :7] - rec.q[:, :7]).max() < 1e-9
    assert np.abs(seen["joint.position"] - rec.q[:, 7:]).max() < 1e-9
    from fmpy.validation import validate_fmu

    assert validate_fmu(path) == []


@needs_compiler
def test_a_unit_of_the_robot_alone_takes_joint_commands_and_pushes(tmp_path):
    """Its controller outside: held by gains and pushed, it moves as under Hold with a push."""
    robot = ff.load("xiling")
    simulation = simulation_named(robot, "step")
    path, binary = fmu.write_fmu(simulation, tmp_path, controlled=False)
    assert binary
    gains = {f"command.kp.{j}": 300.0 for j in robot.joint_names} | {f"command.kd.{j}": 6.0 for j in robot.joint_names}
    seen = run_by_fmpy(path, 0.3, interval=2.5e-3, start_values=gains | {"push.force.y": 30.0})
    held = ff.control.Hold(simulation.q[7:], 300.0, 6.0)
    push = ff.Push(start=0.0, duration=1.0, force=(0.0, 30.0, 0.0))
    rec = ff.Simulation(robot, held, start=(simulation.q, simulation.v), pushes=[push]).run(0.3)
    rows = np.floor(np.arange(1, 121) * 2.5 + 1e-6).astype(int) - 1  # a communication step may end inside a period
    assert np.abs(rec.v[rows, 4]).max() > 0.01
    np.testing.assert_allclose(seen["base."][:, :7], rec.q[rows, :7], atol=1e-9)
    np.testing.assert_allclose(seen["joint.position"], rec.q[rows, 7:], atol=1e-9)


@needs_compiler
def test_a_unit_goes_back_to_a_kept_state_and_refuses_what_is_not_finite(tmp_path):
    path, _ = fmu.write_fmu(simulation_named(ff.load("xiling"), "pd", gait="walk"), tmp_path, "walk")
    description = fmpy.read_model_description(str(path))
    references = [v.valueReference for v in description.modelVariables if v.causality == "output"]
    unit = fmpy.instantiate_fmu(fmpy.extract(str(path), str(tmp_path / "unit")), description, "CoSimulation")
    unit.enterInitializationMode()
    unit.exitInitializationMode()

    def stepped(start, end):
        unit.doStep(start, end - start)
        return unit.getFloat64(references)

    stepped(0.0, 0.1)
    kept = unit.getFMUState()
    written = unit.serializeFMUState(kept)
    first = stepped(0.1, 0.2)
    unit.setFMUState(unit.deserializeFMUState(written))
    assert stepped(0.1, 0.2) == first
    unit.setFMUState(kept)
    assert stepped(0.1, 0.2) == first
    with pytest.raises(Exception, match="fmi3SetFloat64"):
        unit.setFloat64([1], [np.nan])
    with pytest.raises(Exception, match="fmi3DoStep"):
        unit.doStep(5.0, 0.1)
    unit.terminate()
    unit.freeInstance()


def test_without_a_compiler_the_sources_are_there_and_a_sentence(tmp_path, monkeypatch, capsys):
    compiler = fmu.compiler()
    monkeypatch.setattr(fmu, "compiler", lambda: None)
    again, _ = fmu.write_fmu(simulation_named(ff.load("xiling"), "hold"), tmp_path / "again", "hold")
    assert cli.run(["export", "xiling", "hold", "--format", "fmu", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert again.read_bytes() == (tmp_path / again.name).read_bytes()  # the same unit is the same file
    assert "no C compiler was found" in said.err
    with zipfile.ZipFile(said.out.strip()) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "unit")
    assert not any(name.startswith("binaries") for name in names)
    assert {"modelDescription.xml", "sources/buildDescription.xml", "sources/fmi3.c"} <= set(names)
    build = (tmp_path / "unit/sources/buildDescription.xml").read_text()
    listed = [name.removeprefix("sources/") for name in names if name.endswith(".c")]
    assert all(f'<SourceFile name="{name}"/>' in build for name in listed)
    if compiler is None:
        pytest.skip("no C compiler to build the sources with")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-fPIC", "-shared"]
    built = subprocess.run(
        [compiler, *strict, *listed, "-lm", "-o", "x.so"],
        cwd=tmp_path / "unit/sources",
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr

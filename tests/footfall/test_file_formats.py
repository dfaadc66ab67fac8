"""Every file format has one version number; a file in another version, or in none, is refused in one sentence."""

from __future__ import annotations

import json
from types import ModuleType

import numpy as np
import pytest

import footfall as ff
from footfall import sweep
from footfall.analysis import motor_report
from footfall.control.learned import policy
from footfall.control.learned.policy import Policy
from footfall.errors import FootfallError, InputError
from footfall.recording import recording_writer, tables
from footfall.robot.model import json_form
from footfall.sim import checkpoint
from footfall.sim import motors as motors_file
from footfall.sim.motors import MotorModel, read_identified
from footfall.sweep import journal
from footfall.sweep import table as study_table

CHEETAH = ff.load("mini_cheetah")
WALKER = Policy.load("mini_cheetah")


def recording() -> ff.Recording:
    return ff.Recording(CHEETAH, {"time": np.zeros(1), "q": np.zeros((1, 19)), "v": np.zeros((1, 18))})


def write_table(path):
    import xarray

    study_table.write(xarray.Dataset(attrs={"format": study_table.FORMAT}), path)


def write_motors(path):
    motors = MotorModel(0.1, 0.9, 0.004).to_json()
    path.write_text(json.dumps({"format": motor_report.FORMAT, "motors": motors}))


def open_journal(folder, resume=True):
    journal.Journal(folder, "study", resume, {}).close()


# name of the file, the module that has the version, how it is written, how it is read
FORMATS = {
    "recording": ("run.mcap", recording_writer, lambda p: recording().save(p), ff.Recording.load),
    "table": ("run.nc", tables, lambda p: recording().save(p), ff.Recording.from_netcdf),
    "checkpoint": (
        "run.npz",
        checkpoint,
        lambda p: ff.Simulation(CHEETAH).checkpoint(p),
        lambda p: ff.Simulation(CHEETAH).resume(p),
    ),
    "policy": ("walk.npz", policy, lambda p: WALKER.save(p), Policy.load),
    "policy in ONNX": ("walk.onnx", policy, lambda p: WALKER.save(p), Policy.load),
    "journal": ("journal.jsonl", journal, lambda p: open_journal(p.parent), lambda p: open_journal(p.parent)),
    "study": ("results.nc", study_table, write_table, sweep.table.read),
    "motors": ("motors.json", motor_report, write_motors, MotorModel.read),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_in_another_version_is_refused_in_one_sentence_with_both(kind, tmp_path, monkeypatch):
    name, module, write, read = FORMATS[kind]
    if kind == "policy in ONNX":
        pytest.importorskip("onnx")
    path = tmp_path / name
    ours = module.FORMAT
    assert isinstance(module, ModuleType)
    assert type(ours) is int
    with monkeypatch.context() as other:
        other.setattr(module, "FORMAT", 99)
        write(path)
    with pytest.raises(FootfallError, match=rf"{name} .* version 99 .* version {ours}"):
        read(path)
    path.unlink()
    write(path)
    read(path)


@pytest.mark.parametrize("kind", ["checkpoint", "policy"])
def test_an_archive_without_a_version_is_refused_as_version_0(kind, tmp_path):
    name, _, write, read = FORMATS[kind]
    path = tmp_path / name
    write(path)
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files if key != "format"}
    np.savez(path, **arrays)
    with pytest.raises(InputError, match=f"{name} .* version 0 of its format"):
        read(path)


def test_json_without_a_version_is_refused_as_version_0(tmp_path):
    robot = json.loads(json_form.robot_to_json(CHEETAH))
    del robot["format"]
    with pytest.raises(ff.ModelError, match="the robot's JSON was written in version 0 of its format"):
        json_form.robot_from_json(json.dumps(robot))
    (tmp_path / "journal.jsonl").write_text('{"study": "study", "versions": {}}\n')
    with pytest.raises(InputError, match=r"journal\.jsonl was written in version 0 of its format"):
        open_journal(tmp_path)
    motors = tmp_path / "motors.json"
    motors.write_text(json.dumps({"motors": MotorModel(0.1, 0.9, 0.004).to_json()}))
    for read in (MotorModel.read, lambda path: read_identified(path, CHEETAH)):
        with pytest.raises(InputError, match=r"motors\.json was written in version 0 of its format"):
            read(motors)
    assert motors_file.FORMAT == motor_report.FORMAT


def test_a_checkpoint_of_another_controller_names_the_controller(tmp_path):
    ff.Simulation(CHEETAH).checkpoint(tmp_path / "run.npz")
    with pytest.raises(InputError, match="its controller was not this JointPD, or one that remembered other numbers"):
        ff.Simulation(CHEETAH, ff.control.JointPD.tuned(CHEETAH, "trot")).resume(tmp_path / "run.npz")


def test_digests_count_every_field():
    from footfall.contact.points import Sphere
    from footfall.identity import digest_of

    axes = (None, np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    assert len({digest_of(Sphere(name="LF", body=3, center=np.zeros(3), radius=0.1, axis=axis)) for axis in axes}) == 3

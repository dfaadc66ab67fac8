"""A model file read by MuJoCo or Pinocchio themselves: what we misread is found, and named."""

import warnings

import numpy as np
import pytest
from third_party_models import third_party_path

import footfall as ff
from footfall.robot.files.urdf_mjcf import write
from footfall.robot.model.parts import Foot
from footfall_lab.verify.file_checks import file_checks
from footfall_lab.verify.verify import verify


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The Mini Cheetah as both formats, read back."""
    folder = tmp_path_factory.mktemp("files")
    cheetah = ff.load("mini_cheetah", rotors="none")
    cheetah = cheetah.replace({f"{leg}_hip.damping": 0.3 for leg in ("LF", "RF", "LH", "RH")})
    return {kind: write(cheetah, kind, folder) for kind in ("urdf", "mjcf")}


def read(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ff.load(path)


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_a_file_is_read_as_its_own_loader_reads_it(files, kind):
    checks, skipped = file_checks(read(files[kind]), files[kind])
    assert not skipped
    assert {"file_mass", "file_inertia", "file_axis", "file_limits", "file_damping", "file_soles"} <= {
        check.quantity for check in checks
    }
    assert all(check.passed for check in checks), [check for check in checks if not check.passed]


MISREAD = {
    "file_mass": {"trunk.mass": 3.301},
    "file_center_of_mass": {"RH_hip_link.com": [0.0, 0.0, -0.019]},
    "file_limits": {"LF_knee.upper": 2.71},
    "file_damping": {"RF_hip.damping": 0.29},
    "file_dry_friction": {"RF_hip.dry_friction": 0.01},
    "file_place": {"LH_knee.origin": [0.0, 0.0, -0.2091]},
}


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
@pytest.mark.parametrize("quantity", MISREAD)
def test_what_is_misread_is_found_and_named(files, kind, quantity):
    robot = read(files[kind])
    wrong = robot.replace(MISREAD[quantity])
    failed = {check.quantity for check in file_checks(wrong, files[kind])[0] if not check.passed}
    assert quantity in failed


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_a_foot_in_the_wrong_place_is_found(files, kind):
    robot = read(files[kind])
    feet = [
        Foot(
            name=f.name, link=f.link, position=f.position + np.array([0, 0, 0.002]) * (f.name == "RF"), radius=f.radius
        )
        for f in robot.feet
    ]
    (failed,) = [check for check in file_checks(robot.replace(feet=feet), files[kind])[0] if not check.passed]
    assert (failed.quantity, failed.note) == ("file_soles", "at RF")


def test_a_file_that_ends_its_reader_is_skipped_with_the_reason(tmp_path):
    path = tmp_path / "odd.xml"
    path.write_text("<mujoco><worldbody><body><freejoint/><geom type='nonsense'/></body></worldbody></mujoco>")
    checks, skipped = file_checks(ff.load("mini_cheetah"), path)
    assert not checks
    assert "the file in mujoco" in skipped


@pytest.mark.parametrize("name", ["a1", "anymal_c"])
def test_verify_reads_third_party_files_as_pinocchio_does(name):
    path = third_party_path(name)
    report = verify(read(path), samples=5, sides=["recursive", "pinocchio"], laws=False, backend="numpy", file=path)
    quantities = [check.quantity for check in report.checks if check.left == "file"]
    assert "file_inertia" in quantities
    assert report.passed, [check for check in report.checks if not check.passed]

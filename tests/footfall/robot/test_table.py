"""Robots from TOML tables: what they say is what the builders make, and every command takes them."""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.cli import main as cli
from footfall.errors import FootfallError
from footfall.robot.files.table import EXAMPLES, example, load_table


@pytest.fixture(params=sorted(EXAMPLES))
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An example as the command writes it."""
    path = tmp_path / "my dog.toml"
    path.write_text(example(request.param, path))
    return path


def test_the_example_of_lengths_is_quadruped(tmp_path: Path) -> None:
    path = tmp_path / "dog.toml"
    path.write_text(example("quadruped", path))
    made = ff.robot.quadruped(
        "dog",
        limits=[(-0.8, 0.8), (-2.0, 2.0), (-2.6, 2.6)],
        torque_limit=20.0,
        damping=0.01,
        armature=0.005,
    )
    assert ff.load(path).digest == made.digest


def dynakat_table() -> str:
    """DynaKat's left fore leg in words, from the library's numbers."""
    dynakat = import_module("footfall.robot.library.dynakat")
    mass, size = dynakat.TRUNK
    lines = ["version = 1", "[trunk]", f"mass = {mass}", f"size = {list(size)}", "[leg]"]
    lines += [f"mount = {list(dynakat.HIP_IN_TRUNK)}", f"foot_radius = {dynakat.FOOT_RADIUS}"]
    for row in dynakat.table("LF", 1):
        lines += ["[[leg.rows]]", *(f"{key} = {getattr(row, key)}" for key in ("theta", "d", "a", "alpha"))]
        if row.joint is not None:
            part = row.joint.removeprefix("LF_")
            own, box, (x, y, z) = dynakat.LINKS[part]
            lines += [f'joint = "{part}"', f"mass = {own}", f"size = {list(box)}", f"com = {[x, -y, z]}"]
            lines += [f"lower = {-dynakat.LIMIT[part]}", f"upper = {dynakat.LIMIT[part]}", f"torque = {dynakat.TORQUE}"]
    return "\n".join(lines)


def test_a_denavit_hartenberg_table_is_the_librarys_dynakat(tmp_path: Path) -> None:
    path = tmp_path / "cat.toml"
    path.write_text(dynakat_table())
    mine, its = ff.load(path), ff.load("dynakat")
    assert (mine.joint_names, mine.foot_names) == (its.joint_names, its.foot_names)
    rng = np.random.default_rng(0)
    q, v = its.state("stand")
    q[7:] += rng.uniform(-0.5, 0.5, its.nj)
    v += rng.normal(size=its.nv)
    np.testing.assert_allclose(ff.dynamics.mass_matrix(mine, q), ff.dynamics.mass_matrix(its, q), atol=1e-12)
    np.testing.assert_allclose(ff.dynamics.bias_terms(mine, q, v), ff.dynamics.bias_terms(its, q, v), atol=1e-12)
    np.testing.assert_allclose(ff.kinematics.foot_positions(mine, q), ff.kinematics.foot_positions(its, q), atol=1e-14)
    for one, other in zip(mine.joints, its.joints):
        assert (one.lower, one.upper) == (other.lower, other.upper)


def test_legs_are_mirror_images(file: Path) -> None:
    robot = ff.load(file)
    q, _ = robot.state("stand")
    left, right, hind, _ = ff.kinematics.foot_positions(robot, q)
    np.testing.assert_allclose(left * [1, -1, 1], right, atol=1e-9)
    assert hind[0] < 0.0 < left[0]


def test_asymmetric_limits_of_a_roll_joint_are_mirrored(tmp_path: Path) -> None:
    path = tmp_path / "cat.toml"
    path.write_text(example("dh", path).replace("lower = -0.8", "lower = -0.3"))
    joints = {joint.name: joint for joint in ff.load(path).joints}
    assert (joints["LF_abad"].lower, joints["LF_abad"].upper) == (-0.3, 0.8)
    assert (joints["RF_abad"].lower, joints["RF_abad"].upper) == (-0.8, 0.3)
    assert (joints["RF_hip"].lower, joints["RF_hip"].upper) == (-1.6, 1.6)


def test_every_kind_of_table_walks_and_is_exported(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["simulate", str(file), "--duration", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["distance"] > 0.05
    assert cli.run(["export", str(file), "urdf", "--out", str(tmp_path / "models"), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["files"][0]
    robot, again = ff.load(file), ff.load(written)
    assert again.mass == pytest.approx(robot.mass)
    assert again.nv == robot.nv


def test_a_run_file_names_a_table_beside_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = file.parent / "run.toml"
    run.write_text(f'robot = "{file.name}"\nduration = 0.1\ncontroller = "hold"\n')
    assert cli.run(["simulate", str(run), "--json"]) == 0
    assert not json.loads(capsys.readouterr().out)["fell"]


def test_a_sweep_goes_over_lengths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, study = tmp_path / "dog.toml", tmp_path / "legs.toml"
    path.write_text(example("quadruped", path))
    study.write_text(
        'name = "legs"\n[run]\nrobot = "dog.toml"\nduration = 0.1\n'
        '[grid]\n"table.quadruped.segments.1" = [0.18, 0.24]\n'
    )
    assert cli.run(["sweep", str(study), "--out", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done"] == 2
    short, long = (load_table(path, {"quadruped.segments.1": length}).state("stand")[0][2] for length in (0.18, 0.24))
    assert long - short > 0.03


def test_a_new_table_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dog.toml"
    assert cli.run(["robots", "new", str(path), "--kind", "dh"]) == 0
    before = path.read_text()
    assert cli.run(["robots", "new", str(path)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert path.read_text() == before
    assert math.isfinite(ff.load(path).mass)


@pytest.mark.parametrize(
    ("kind", "old", "new", "says"),
    [
        ("quadruped", "version = 1", "version = 9", "version = 1"),
        ("quadruped", "trunk_mass = 6.0", 'trunk_mass = "heavy"', "a mass"),
        ("quadruped", "trunk_mass = 6.0", "trunk_mass = -6.0", "mass of the trunk"),
        ("quadruped", "trunk_mass", "trunk_mas", "did you mean 'trunk_mass'"),
        ("quadruped", '"roll", "pitch", "pitch"', '"roll"', "2 to 4 joints"),
        ("quadruped", '"roll", "pitch", "pitch"', "1, 2, 3", "names: roll"),
        ("quadruped", "crouch = 0.85", "crouch = nan", "crouch"),
        ("quadruped", "armature = 0.005", "armature = -1", "0 or more"),
        ("quadruped", "[quadruped]", "[leg]", "[trunk]"),
        ("quadruped", "limits = [[-0.8, 0.8]", "limits = [[-0.8]", "pairs of angles"),
        ("dh", 'joint = "knee"', 'joint = "hip"', "twice"),
        ("dh", "a = 0.10", 'a = "long"', "finite number"),
        ("dh", "a = 0.10", "b = 0.10", "key of row 3"),
        ("dh", "mass = 0.20 ", "mass = inf ", "finite number"),
        ("dh", 'convention = "standard"', 'convention = "craig"', "standard, modified"),
        ("dh", "upper = 0.8", "upper = -2.0", "abad"),
        ("dh", "size = [0.30, 0.12, 0.06]", "size = [0.30, 0.12]", "three"),
        ("dh", "[trunk]", "[body]", "it has version"),
    ],
)
def test_what_makes_no_robot_is_refused_in_one_sentence(
    kind: str, old: str, new: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "odd.toml"
    text = example(kind, path)
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(FootfallError) as refused:
        ff.load(path)
    assert says in str(refused.value)
    assert "odd.toml" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "place", ["quadruped.segments.7", "quadruped.segment.1", "leg.rows.1", "quadruped.trunk_size.x"]
)
def test_a_path_that_leads_nowhere_is_refused(place: str, tmp_path: Path) -> None:
    path = tmp_path / "dog.toml"
    path.write_text(example("quadruped", path))
    with pytest.raises(FootfallError, match=r"dog.toml has no"):
        load_table(path, {place: 1.0})

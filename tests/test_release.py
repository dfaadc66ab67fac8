"""What a release is made of: one version everywhere, a citation, workflows that say they are untested."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import footfall

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_one_version_is_said_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["dynamic"] == ["version"]
    assert footfall.__version__ == cited["version"]
    assert cited["license"] == project["license"]
    assert f"## [{footfall.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_whole_and_says_that_it_is_untested(path):
    text = path.read_text()
    assert text.startswith("# Untested")
    assert yaml.safe_load(text)["jobs"]
    for name in re.findall(r"make (\w+)|python\S* (tools/\S+\.py)", text):
        target, script = name
        assert not script or (ROOT / script).exists()
        assert not target or re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_python_that_is_claimed_is_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    claimed = [c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)]
    tried = re.search(r"PYTHONS = \((.*)\)", (ROOT / "tools" / "check_release.py").read_text())
    assert tried is not None
    assert [f'"python{version}"' for version in claimed] == tried[1].split(", ")


def release_check():
    spec = importlib.util.spec_from_file_location("check_release", ROOT / "tools" / "check_release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_wheel_is_built_and_whole(tmp_path, monkeypatch):
    setuptools = pytest.importorskip("setuptools", minversion="77", reason="pip install 'footfall[test]'")
    assert setuptools is not None
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    build = f"from setuptools.build_meta import build_wheel; build_wheel({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=tree, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    check = release_check()
    check.check_wheel(wheel)
    assert wheel.name.split("-")[1] == footfall.__version__
    monkeypatch.setattr(check, "sources", lambda: ["footfall/not_there.toml"])
    with pytest.raises(SystemExit, match="lacks footfall/not_there"):
        check.check_wheel(wheel)


def test_a_python_of_pyenv_is_found(tmp_path, monkeypatch):
    check = release_check()
    for version in ("3.12.9", "3.12.10"):
        python = tmp_path / "versions" / version / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\nexit 0\n")
        python.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setattr(check.shutil, "which", lambda name: None)
    assert check.installed("python3.12") == str(tmp_path / "versions" / "3.12.10" / "bin" / "python")
    assert check.installed("python3.13") is None

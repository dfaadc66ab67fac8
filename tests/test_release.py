"""What a release is made of: one version everywhere, a citation, workflows that say they are untested."""

from __future__ import annotations

import re
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
    assert footfall.__version__ == project["version"] == cited["version"]
    assert cited["license"] == project["license"]
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text()


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

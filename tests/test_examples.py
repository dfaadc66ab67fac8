"""Example scripts run and say what they should; notebooks are those scripts, executed (friction F9)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = ("first_walk", "own_controller", "own_contact_law", "identification", "learning", "papers")
sys.path.insert(0, str(EXAMPLES))
import make_notebooks  # noqa: E402

sys.path.remove(str(EXAMPLES))


def test_there_are_six_examples_and_each_is_on_the_page():
    assert {path.stem for path in EXAMPLES.glob("*.py")} - {"make_notebooks", "udp_client"} == set(SCRIPTS)
    page = (EXAMPLES.parent / "docs" / "tutorials" / "examples.md").read_text()
    for name in SCRIPTS:
        assert f"examples/{name}.py" in page


@pytest.mark.parametrize("name", make_notebooks.NAMES)
def test_a_notebook_is_its_script_with_outputs(name):
    cells = json.loads((EXAMPLES / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    script = (EXAMPLES / f"{name}.py").read_text()
    assert [(c["cell_type"], c["source"]) for c in cells] == make_notebooks.cells_of(script), "make_notebooks.py"
    assert all(c["execution_count"] for c in cells if c["cell_type"] == "code")
    assert any(c.get("outputs") for c in cells)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_runs_and_prints_no_false(name, tmp_path):
    command = [sys.executable, "-W", "ignore", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert ": False" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", make_notebooks.NAMES)
def test_a_notebook_executed_again_prints_the_same(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = json.loads((EXAMPLES / "notebooks" / f"{name}.ipynb").read_text())["cells"]
    again = make_notebooks.executed((EXAMPLES / f"{name}.py").read_text())

    def printed(cells):
        return [o["text"] for c in cells for o in c.get("outputs", ()) if o["output_type"] == "stream"]

    assert printed(again) == printed(kept)

"""A newcomer's twenty frictions: each has its test or its page, and what is named there exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import footfall as ff

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "research" / "first-hour.md").read_text()
ROWS = dict(re.findall(r"^\| ([FS]\d+) \|[^|]*\| (.*) \|$", PAGE, re.MULTILINE))


def test_all_twenty_are_there():
    assert [name for name in ROWS if name[0] == "F"] == [f"F{k}" for k in range(1, 21)]
    assert [name for name in ROWS if name[0] == "S"] == [f"S{k}" for k in range(1, 23)]


@pytest.mark.parametrize("name", ROWS)
def test_what_holds_a_friction_exists(name):
    tests = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", ROWS[name])
    pages = re.findall(r"\]\(([\w./-]+\.md)\)", ROWS[name])
    assert tests or pages
    for file, function in tests:
        assert f"def {function}(" in (ROOT / file).read_text(), function
    for page in pages:
        assert (ROOT / "docs" / "research" / page).exists(), page


def test_a_gait_for_other_than_four_legs_is_refused_in_a_sentence():
    robot = ff.load("mini_cheetah")
    tripod = robot.replace(feet=robot.feet[:3])
    with pytest.raises(ff.InputError, match="needs the feet LF, RF, LH, RH: robot 'mini_cheetah' has LF, RF, LH"):
        ff.control.JointPD(gait=ff.gait.trot(), kp=40.0, kd=1.0).start(tripod)

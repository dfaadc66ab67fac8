"""Every robot whose file is there stands, walks and follows commands as it comes (``table.py`` has the whole table).

Those of the package example-robot-data always run; FOOTFALL_MENAGERIE and FOOTFALL_UNITREE_ROS add others.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from table import cases, files, run

FILES = files()


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for name in FILES for case in cases(name)], ids=lambda c: f"{c.robot}-{c.act}-{c.ground}"
)
def test_a_robot_from_a_file_does_as_it_is_told(case):
    outcome = run(case, FILES[case.robot], seconds=10.0)
    assert not outcome.silent
    assert outcome.passed, outcome.words

"""The walking matrix: every robot, command, ground and contact; a few of them in every run."""

import pytest
from walking import COMMANDS, GROUNDS, ROBOTS, Case, cases, table, walk

SAMPLE = (
    Case("mini_cheetah", "sideways", "rough:0.04", "complementarity"),
    Case("go2", "forward", "slope:10", "complementarity"),
    Case("a1", "turn", "rough:0.04", "compliant"),
)


def walks_as_commanded(result):
    assert result.stopped is None
    assert result.passed, result.velocity
    # nor does it go where it was not told to: 0.1 m/s or rad/s off the commanded component at most
    others = [v for name, v in zip(COMMANDS, result.velocity) if name != result.case.command]
    assert max(abs(v) for v in others) < 0.1, result.velocity


@pytest.mark.parametrize("case", SAMPLE, ids=str)
def test_a_sample_of_the_matrix_walks_as_commanded(case):
    walks_as_commanded(walk(case, 3.5))


@pytest.mark.slow
@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_whole_matrix_walks_as_commanded(case):
    walks_as_commanded(walk(case))


def test_the_matrix_is_whole_and_its_table_tells_a_fall():
    from walking import Walked

    assert len({str(case) for case in cases()}) == len(ROBOTS) * len(COMMANDS) * len(GROUNDS) * 2 == 54
    fell = Walked(SAMPLE[0], (0.0, 0.2, 0.0), "the robot fell at 1.000 s", ())
    slow = Walked(SAMPLE[1], (0.39, 0.0, 0.0), None, ())
    assert not fell.passed
    assert not slow.passed
    assert "78 %" in table([slow])
    assert "the robot fell at 1.000 s" in table([fell])

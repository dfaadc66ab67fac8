"""Trainings that would end never or in vain are refused before they begin."""

import pytest

from footfall.cli import main as cli
from footfall.errors import InputError
from footfall.learn.training import train


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reward": float("nan")}, "reward at which a training stops must be finite, got nan"),
        ({"reward": "high"}, "reward at which a training stops must be a number, got 'high'"),
        ({"seconds": -1.0}, "seconds of a training must be 0 or more, got -1.0"),
        ({"seconds": "long"}, "seconds of a training must be 0 or more, got 'long'"),
        ({"iterations": "many"}, "at least one iteration, got many"),
    ],
)
def test_ends_that_are_none_are_refused(tmp_path, options, words):
    with pytest.raises(InputError, match=words):
        train("mini_cheetah", tmp_path / "p.npz", "walk", "cpu", **options)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"there is no folder '.*nowhere' to write the policy p\.npz to"):
        train("mini_cheetah", tmp_path / "nowhere" / "p.npz", "walk", "cpu", iterations=1, robots=4)


def test_a_range_that_is_given_twice_is_refused(capsys, tmp_path):
    twice = ["--randomise", "latency=0:1", "--randomise", "latency=0:2"]
    assert cli.run(["train", "mini_cheetah", "--iterations", "1", "--out", str(tmp_path / "p.npz"), *twice]) == 2
    assert "--randomise is given twice for latency" in capsys.readouterr().err

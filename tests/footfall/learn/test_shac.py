"""The study of SHAC: its slopes are those of what it climbs."""

import copy
import sys
from pathlib import Path

import numpy as np
import pytest

import footfall as ff
from footfall.control.learned.network import layers_of
from footfall.learn.walk import WalkTask
from nptrace.frontend import tree

sys.path.append(str(Path(__file__).parents[3] / "studies"))


def kept(training):
    """All that a window begins with, to begin it again."""
    lanes = training.lanes
    leaves = tree.flatten(lanes.batch.state)[0]
    arrays = [*leaves, *lanes.batch.command.values(), *lanes.batch.parameters.values(), lanes.age, lanes.next_push]
    before = [x.copy() for x in arrays]
    others = copy.deepcopy((lanes.generators, training.rng, training.observation, training.normaliser))

    def back():
        for x, old in zip(arrays, before):
            x[:] = old
        lanes.generators, training.rng, training.observation, training.normaliser = copy.deepcopy(others)

    return back


def climbed(training):
    """The mean return of the windows, with what the critic says is to come."""
    tape = training._forwards()
    assert not any((tick.fallen | tick.late).any() for tick in tape)
    end = training.normaliser(training.observation)
    discount = training.settings.discount * tape[-1].weight
    ahead = layers_of(training.ahead, end)[-1][:, 0]
    return float(np.mean(sum(tick.weight * tick.reward.astype(float) for tick in tape) + discount * ahead)), tape, end


@pytest.mark.slow
def test_the_slopes_of_a_window_are_those_of_its_return():
    """Along the gradient, over 512 robots: each jumps where a foot changes its mind, and the mean smooths that."""
    from shac import SHAC, Settings

    task = WalkTask.of(ff.load("mini_cheetah"))
    training = SHAC(task, Settings(robots=512, horizon=3, longest=np.inf, noise=0.05), seed=3)
    for _ in range(3):
        training.iterate()
    training.normaliser.update = lambda rows: None
    back = kept(training)
    _, tape, end = climbed(training)
    slopes = training._backwards(tape, end)
    length = np.sqrt(sum(float(np.sum(s * s)) for s in slopes))
    weights = training._actor_step.parameters
    before, size, found = [w.copy() for w in weights], 3e-3, []
    for sign in (1.0, -1.0):
        back()
        training.normaliser.update = lambda rows: None
        for w, old, s in zip(weights, before, slopes):
            w[:] = old + np.float32(sign * size / length) * s
        found.append(climbed(training)[0])
    assert (found[0] - found[1]) / (2.0 * size) == pytest.approx(length, rel=0.1)

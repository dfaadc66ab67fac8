"""Steady forces and soft ground that an episode may draw: what is drawn acts, and nothing else changes by it."""

from dataclasses import replace

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import Command
from footfall.errors import InputError
from footfall.learn.cuda_lanes import EpisodeSource
from footfall.learn.episode import reset_episode, step_episode
from footfall.learn.gym_env import WalkVectorEnv
from footfall.learn.randomise import Randomisation, soft_contact
from footfall.learn.walk import WalkTask

pytest.importorskip("gymnasium")
DYNAKAT = ff.load("dynakat")


def standing(**ranges):
    env = WalkVectorEnv(4, "dynakat", randomise=replace(Randomisation.none(), **ranges), threads=1)
    env.reset(seed=7)
    return env


def test_a_steady_force_acts_in_every_tick_of_an_episode_level_and_each_its_own():
    env, pushes = standing(force=(2.0, 5.0)), []
    for _ in range(3):
        env.step(np.zeros((4, DYNAKAT.nj)))
        pushes.append(env.lanes.batch.push.copy())
    first = pushes[0]
    assert all((push == first).all() for push in pushes)
    size = np.linalg.norm(first[:, 3:5], axis=1)
    assert ((size >= 2.0) & (size <= 5.0)).all()
    assert len(np.unique(size)) == 4
    assert (first[:, [0, 1, 2, 5]] == 0.0).all()
    still = standing()
    for _ in range(3):
        still.step(np.zeros((4, DYNAKAT.nj)))
    moved = env.lanes.batch.q[:, :2] - still.lanes.batch.q[:, :2]
    assert (np.sum(moved * first[:, 3:5], axis=1) > 0.0).all()  # along the force


def test_the_kernels_of_a_gpu_push_by_the_same_force():
    task = WalkTask.of(DYNAKAT)
    ranges = replace(Randomisation.none(), force=(3.0, 3.0), softness=(0.0, 0.01))
    source = EpisodeSource(task, ranges, task.command_ranges, 1.0)
    chance = np.random.default_rng(0).random(source.draws)
    episode = reset_episode(source.episodes, chance)
    force = episode.past["force"]
    assert np.linalg.norm(force) == pytest.approx(3.0)
    after, _ = step_episode(source.episodes, episode, chance)
    np.testing.assert_allclose(after.inputs.push, [0.0, 0.0, 0.0, *force, 0.0])


def test_a_foot_on_soft_ground_sinks_as_deep_as_was_drawn():
    """All four feet bear a quarter of the weight each: half as deep as under half the weight."""
    depth = 0.008
    numbers = soft_contact(DYNAKAT, depth, np.array([0.5, 0.0]))
    env = standing(softness=(depth, depth))
    for key in ("stiffness",):
        assert env.lanes.batch.parameters[f"contact.{key}"] == pytest.approx(numbers[key], rel=1e-5)
    for _ in range(60):
        env.step(np.zeros((4, DYNAKAT.nj)))
    robot, q = env.lanes.robot, env.lanes.batch.q.astype(float)
    radius = np.array([foot.radius for foot in robot.feet])
    sunk = [float(np.mean(radius - ff.kinematics.foot_positions(robot, each)[:, 2])) for each in q]
    assert sunk == pytest.approx(4 * [depth / 2], rel=0.1)


def test_what_is_not_used_changes_no_draw():
    """An episode of a training without them takes the draws that it took before they were there."""
    task = WalkTask.of(DYNAKAT)
    plain = EpisodeSource(task, Randomisation(), task.command_ranges, 1.0).episodes
    more = EpisodeSource(task, Randomisation(force=(0.0, 9.0)), task.command_ranges, 1.0).episodes
    assert plain.draws == 9 + DYNAKAT.nj
    assert more.draws == plain.draws + 2
    chance = np.random.default_rng(1).random(more.draws)
    one, other = reset_episode(plain, chance[: plain.draws]), reset_episode(more, chance)
    assert (one.state.q == other.state.q).all()
    assert one.parameters == other.parameters
    assert isinstance(one.inputs.command, Command)
    assert one.inputs.command.forward == other.inputs.command.forward


@pytest.mark.parametrize("wrong", [{"force": (-1.0, 1.0)}, {"softness": (-0.01, 0.0)}])
def test_negative_ranges_are_refused(wrong):
    with pytest.raises(InputError, match="force and softness must be 0 or more"):
        Randomisation(**wrong)

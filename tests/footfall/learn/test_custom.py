"""Environments that open: own ground, reward terms, observations and commands by plain functions (friction F12)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import footfall as ff

pytest.importorskip("gymnasium")


@dataclass(frozen=True)
class Bowl:
    """A shallow bowl round the start."""

    friction: float = 0.9
    steep: float = 0.05

    def distance(self, p):
        slope = 2.0 * self.steep * np.stack([p[0], p[1]])
        return (p[2] - self.steep * (p[0] ** 2 + p[1] ** 2)) / np.sqrt(1.0 + slope @ slope)

    def frame(self, p):
        n = np.stack([-2.0 * self.steep * p[0], -2.0 * self.steep * p[1], 1.0])
        n = n / np.sqrt(n @ n)
        x = np.stack([n[2], 0.0 * n[0], -n[0]]) / np.sqrt(n[2] * n[2] + n[0] * n[0])
        y = np.cross(n, x)
        return np.stack([x, y, n], axis=1)

    def friction_at(self, p):
        return self.friction


def quiet(robot, sensed, command, action):
    return -0.5 * np.sum(action**2) - 2.0


def felt(robot, sensed, command):
    return np.concatenate([sensed.forces[:, 2] / 100.0, np.stack([command.forward])])


def fast(chance):
    return ff.Command(forward=0.7 + 0.1 * chance[0])


@pytest.fixture(scope="module")
def envs():
    own = ff.learn.WalkEnv(ground=Bowl(), rewards={"quiet": quiet}, observations=felt, command=fast, randomise=False)
    return own, ff.learn.WalkEnv(randomise=False)


def test_functions_of_ones_own_make_ground_reward_observation_and_command(envs):
    own, plain = envs
    seen, drawn = own.reset(seed=3)
    usual, _ = plain.reset(seed=3)
    assert own.observation_space.shape[0] == len(seen) == len(usual) + 5
    assert 0.7 <= drawn["command"][0] <= 0.8
    assert seen[-1] == pytest.approx(drawn["command"][0], abs=1e-6)
    action = 0.3 * np.ones(own.action_space.shape, np.float32)
    _, reward, *_, info = own.step(action)
    _, other, *_ = plain.step(action)
    assert info["reward_quiet"] == pytest.approx((-0.5 * 12 * 0.09 - 2.0) / 50.0, rel=1e-5)
    assert reward == pytest.approx(sum(v for k, v in info.items() if k.startswith("reward_")), rel=1e-4)
    assert reward != pytest.approx(other)


def test_the_robot_stands_on_the_own_ground(envs):
    own, _ = envs
    own.reset(seed=5)
    for _ in range(20):
        seen, _, fell, *_ = own.step(np.zeros(own.action_space.shape, np.float32))
    assert not fell
    assert np.sum(seen[-5:-1]) * 100.0 == pytest.approx(9.81 * ff.load("mini_cheetah").mass, rel=0.3)


def test_what_is_no_part_is_refused_in_a_sentence():
    with pytest.raises(ff.InputError, match="must be one number, got shape"):
        ff.learn.WalkEnv(rewards={"wrong": lambda robot, sensed, command, action: action})
    with pytest.raises(ff.InputError, match="already has a term 'tracking'"):
        ff.learn.WalkEnv(rewards={"tracking": quiet})
    with pytest.raises(ff.InputError, match="raised KeyError"):
        ff.learn.WalkEnv(observations=lambda robot, sensed, command: {}["no"])
    with pytest.raises(ff.InputError, match="must be a Command, got float"):
        ff.learn.WalkEnv(command=lambda chance: 1.0)


@pytest.mark.parametrize(
    ("robot", "options", "words"),
    [
        (5, {}, "robot must be a name, a model file or a Robot, got int"),
        ("xiling", {"rewards": quiet}, "rewards .* got function"),
        (
            "xiling",
            {"command": ff.Command(forward=0.3)},
            "by name, .* or a function of three .* got Command",
        ),
    ],
)
def test_parts_of_another_kind_are_refused_in_a_sentence(robot, options, words):
    with pytest.raises(ff.InputError, match=words):
        ff.learn.WalkEnv(robot, **options)

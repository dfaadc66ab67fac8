"""Environments draw themselves as Gymnasium asks for: pictures as arrays, or a page."""

import time

import gymnasium
import numpy as np
import pytest

import footfall.learn  # noqa: F401 - registers the environment
from footfall.errors import InputError
from footfall.learn.gym_env import WalkEnv


def test_pictures_of_an_environment_show_the_robot_where_it_is():
    env = gymnasium.make("footfall/Walk-v0", render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    assert first.shape == (320, 480, 3)
    assert first.dtype == np.uint8
    assert np.ptp(first) > 100
    np.testing.assert_array_equal(env.render(), first)
    for _ in range(5):
        env.step(env.action_space.sample())
    assert (np.abs(env.render().astype(int) - first) > 30).any()
    with pytest.raises(InputError, match="nothing to render"):
        WalkEnv().render()


def test_pictures_of_many_environments_are_one_each():
    env = gymnasium.make_vec("footfall/Walk-v0", num_envs=2, render_mode="rgb_array")
    env.reset(seed=0)
    pictures = env.render()
    assert [picture.shape for picture in pictures] == [(320, 480, 3)] * 2
    assert (pictures[0] != pictures[1]).any()


def test_gymnasium_collects_the_pictures_of_an_episode():
    env = gymnasium.wrappers.RenderCollection(gymnasium.make("footfall/Walk-v0", render_mode="rgb_array"))
    env.reset(seed=0)
    for _ in range(2):
        env.step(np.zeros(12))
    assert len(env.render()) == 3


def test_a_page_shows_the_robot_while_it_walks(monkeypatch, capsys):
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    env = gymnasium.make("footfall/Walk-v0", render_mode="human")
    env.reset(seed=0)
    began = time.monotonic()
    for _ in range(10):
        env.step(np.zeros(12))
    assert time.monotonic() - began > 0.15  # ten ticks of 20 ms, as fast as a robot walks
    shown = env.unwrapped._shown.stage
    np.testing.assert_allclose(shown.bodies[0].position, env.unwrapped.lanes.batch.q[0, :3], atol=1e-6)
    assert env.render() is None
    assert "http://127.0.0.1:" in capsys.readouterr().out
    env.close()


def test_gymnasium_records_a_video_of_an_episode(tmp_path):
    pytest.importorskip("moviepy", reason="MoviePy is not installed: pip install --no-deps moviepy==2.2.1 ...")
    env = gymnasium.make("footfall/Walk-v0", render_mode="rgb_array")
    env = gymnasium.wrappers.RecordVideo(env, str(tmp_path), disable_logger=True)
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
    env.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 1000

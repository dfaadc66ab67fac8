"""``footfall/Walk-v0``: Gymnasium's rules, repeatable to the bit, alike alone and among many."""

import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import footfall as ff
import footfall.learn
from footfall.errors import InputError
from footfall.learn.episode import COMMANDS
from footfall.learn.gym_env import WalkEnv, WalkVectorEnv
from footfall.learn.randomise import Randomisation
from footfall.learn.walk import COMMAND_RANGES, WEIGHTS, WalkTask, lowest_foot

SHORT = {"seconds": 0.4, "threads": 1}


@pytest.fixture(scope="module")
def many():
    return WalkVectorEnv(24, threads=1, seconds=1.0)


def test_gymnasium_finds_nothing_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("footfall/Walk-v0", disable_env_checker=False)
        check_env(env.unwrapped)
        vector = gymnasium.make_vec("footfall/Walk-v0", num_envs=3)
    assert isinstance(vector, WalkVectorEnv)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP


def test_a_vector_is_gymnasiums_own_vector_of_single_environments_bit_for_bit():
    """Observations, rewards, ends, infos and resets: n robots in lanes against n environments in a loop."""
    n, rng = 5, np.random.default_rng(3)
    lanes = WalkVectorEnv(n, **SHORT)
    loop = SyncVectorEnv([lambda: WalkEnv(**SHORT)] * n, autoreset_mode=AutoresetMode.SAME_STEP)
    for mine, theirs in zip(lanes.reset(seed=11), loop.reset(seed=11)):
        assert data_equivalence(mine, theirs, exact=True)
    ended = 0
    for k in range(50):
        actions = rng.uniform(-1, 1, (n, 12)).astype(np.float32)
        if 5 < k < 15:
            actions[0] = [0, 1, -1] * 4  # this one falls
        for mine, theirs in zip(lanes.step(actions), loop.step(actions)):
            assert data_equivalence(_plain(mine), _plain(theirs), exact=True)
        ended += int(loop._autoreset_envs.sum())
    assert ended > n


def _plain(given):
    """Arrays of objects as lists, which compare by content."""
    if isinstance(given, dict):
        return {key: _plain(value) for key, value in given.items()}
    return list(given) if isinstance(given, np.ndarray) and given.dtype == object else given


def test_a_seed_fixes_every_number(many):
    def episode(seed):
        observation, _ = many.reset(seed=seed)
        rng, out = np.random.default_rng(seed), [observation]
        for _ in range(60):
            observation, reward, *_ = many.step(rng.uniform(-1, 1, (24, 12)))
            out += [observation, reward]
        return np.concatenate([x.ravel() for x in out])

    first = episode(5)
    assert (first == episode(5)).all()
    assert not np.isin(first, episode(6)).all()


def test_threads_change_no_number():
    one, two = (WalkVectorEnv(64, threads=count) for count in (1, 2))
    for env in (one, two):
        env.reset(seed=1)
    for _ in range(5):
        actions = np.random.default_rng(0).uniform(-1, 1, (64, 12))
        assert (one.step(actions)[0] == two.step(actions)[0]).all()


def test_the_terms_of_the_reward_are_named_and_sum_to_it(many):
    many.reset(seed=2)
    for _ in range(20):
        _, reward, _, _, infos = many.step(np.random.default_rng(0).uniform(-1, 1, (24, 12)))
        here = infos["_reward_tracking"]
        total = sum(infos[f"reward_{key}"].astype(float) for key in WEIGHTS)
        np.testing.assert_allclose(total[here], reward[here], atol=1e-6)
    assert {"tracking", "energy", "smoothness", "upright"} <= set(WEIGHTS)


def test_standing_still_earns_all_there_is_to_tracking_nothing():
    env = WalkEnv(command={"forward": 0.0, "sideways": 0.0, "turn": 0.0}, randomise=False)
    env.reset(seed=0)
    for _ in range(25):
        _, _, terminated, _, info = env.step(np.zeros(12))
    assert not terminated
    assert info["reward_tracking"] == pytest.approx(WEIGHTS["tracking"] / 50, rel=0.01)
    assert info["reward_upright"] == pytest.approx(0.0, abs=1e-4)
    assert info["contact"].tolist() == [1, 1, 1, 1]


def test_a_fall_terminates_and_the_time_limit_truncates():
    env = WalkEnv(seconds=0.5, randomise=False)
    env.reset(seed=0)
    ends = [env.step(np.zeros(12))[2:4] for _ in range(25)]
    assert ends == [(False, False)] * 24 + [(False, True)]
    env.reset(seed=0)
    env.lanes.batch.state.q[0, 3:7] = [np.cos(0.5), np.sin(0.5), 0.0, 0.0]  # leans by 57 degrees
    _, _, terminated, truncated, info = env.step(np.zeros(12))
    assert (terminated, truncated) == (True, False)
    assert info["reward_fall"] < 0


def test_a_robot_that_is_lost_has_fallen_and_shows_finite_numbers(many):
    many.reset(seed=0)
    many.lanes.batch.state.v[3] = np.nan
    _, reward, terminated, _, infos = many.step(np.zeros((24, 12)))
    assert terminated.tolist() == [k == 3 for k in range(24)]
    assert np.isfinite(reward).all()
    assert np.isfinite(infos["final_obs"][3]).all()


def test_every_episode_draws_within_its_ranges():
    ranges = {"friction": (0.4, 0.6), "mass": (0.9, 1.2), "factors": {"LF_hip.damping": (0.5, 2.0)}}
    env = WalkVectorEnv(300, randomise=ranges, threads=1)
    _, drawn = env.reset(seed=0)
    robot = env.lanes.robot
    expected = {
        "ground.friction": (0.4, 0.6),
        "trunk.mass": (0.9 * robot.links[0].mass, 1.2 * robot.links[0].mass),
        "LF_hip.damping": (0.5 * 0.01, 2.0 * 0.01),
    }
    for key, (low, high) in expected.items():
        assert low <= drawn[key].min() < low + 0.1 * (high - low)
        assert high - 0.1 * (high - low) < drawn[key].max() <= high
    for k, key in enumerate(COMMANDS):
        low, high = COMMAND_RANGES[key]
        assert low <= drawn["command"][:, k].min() < drawn["command"][:, k].max() <= high
    nothing = WalkVectorEnv(4, randomise=False, threads=1)
    _, drawn = nothing.reset(seed=0)
    assert set(drawn["ground.friction"]) == {0.8}
    assert np.ptp(nothing.lanes.batch.q, axis=0).max() == 0


def test_what_differs_between_robots_changes_how_they_move():
    env = WalkVectorEnv(3, randomise={"joints": 0, "push": 0, "friction": 0.8, "stiffness": 1, "damping": 1}, threads=1)
    env.reset(seed=0)
    env.lanes.batch.set({"trunk.mass": np.array([3.0, 4.0, 3.0])})
    env.lanes.batch.state.tick[:] = 0
    env.lanes.batch.state.memory["gains"][2] = [0.8, 1.0]
    env.step(np.zeros((3, 12)))
    heights = env.lanes.batch.q[:, 2]
    assert heights[0] > heights[1]
    assert heights[0] > heights[2]


def test_a_push_gives_its_impulse_to_the_robot():
    env = WalkEnv(randomise={"push": (2.0, 2.0), "push_every": 1.0, "friction": 1e-6, "mass": 1.0}, threads=1)
    env.reset(seed=0)
    env.lanes.next_push[:] = 3
    speeds = []
    for _ in range(5):
        env.step(np.zeros(12))
        speeds.append(float(np.hypot(*env.lanes.batch.v[0, 3:5])))
    assert speeds[2] < 0.02
    assert speeds[3] - speeds[2] == pytest.approx(2.0 / env.lanes.robot.mass, rel=0.15)


def test_some_lanes_are_reset_by_a_mask(many):
    many.reset(seed=0)
    many.step(np.zeros((24, 12)))
    before = many.lanes.batch.q.copy()
    mask = np.arange(24) % 2 == 0
    many.reset(options={"reset_mask": mask})
    assert (many.lanes.age == np.where(mask, 0, 1)).all()
    assert (many.lanes.batch.q[~mask] == before[~mask]).all()


def test_no_foot_starts_in_the_ground(many):
    many.reset(seed=9)
    heights = [lowest_foot(many.lanes.robot, q) for q in many.lanes.batch.q.astype(float)]
    assert np.abs(heights).max() < 1e-5


def test_other_robots_walk_into_the_environment_too():
    env = WalkEnv("xiling", threads=1)
    env.reset(seed=0)
    for _ in range(10):
        _, _, terminated, _, _ = env.step(np.zeros(env.action_space.shape))
    assert not terminated


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"randomise": {"frictoin": (0, 1)}}, "did you mean 'friction'"),
        ({"randomise": {"friction": (1, 0.5)}}, r"range \(least, most\)"),
        ({"randomise": {"friction": (0, 0.5)}}, "friction must be drawn from positive"),
        ({"randomise": "yes"}, "True, False"),
        ({"command": {"forwards": 1}}, "did you mean 'forward'"),
        ({"weights": {"speed": 1}}, "unknown term of the reward"),
        ({"seconds": 0}, "at least one tick"),
        ({"render_mode": "ansi"}, "unknown render_mode"),
    ],
)
def test_bad_options_are_one_sentence(wrong, words):
    with pytest.raises(InputError, match=words):
        WalkEnv(**wrong)


def test_bad_calls_are_one_sentence(many):
    with pytest.raises(InputError, match="at least one robot"):
        WalkVectorEnv(0)
    many.reset(seed=0)
    with pytest.raises(InputError, match="finite"):
        many.step(np.full((24, 12), np.nan))
    with pytest.raises(InputError, match="shape"):
        many.step(np.zeros((3, 12)))
    with pytest.raises(InputError, match="as many seeds"):
        many.reset(seed=[1, 2])
    with pytest.raises(InputError, match="booleans"):
        many.reset(options={"reset_mask": np.zeros(24, dtype=bool)})
    with pytest.raises(InputError, match="walking needs a pose 'stand'"):
        WalkTask(robot=ff.load("mini_cheetah").replace(poses={}))
    assert Randomisation.from_option(None) == Randomisation.none()


def test_without_gymnasium_it_says_what_to_install():
    code = """
import sys
sys.modules["gymnasium"] = None
import footfall.learn
footfall.learn.Policy
try:
    footfall.learn.WalkEnv
except footfall.errors.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "footfall[learn]" in done.stdout

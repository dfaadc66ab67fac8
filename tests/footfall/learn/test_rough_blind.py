"""Walking over courses blind: what the critic alone is told, what coming on is worth, and trainings with both."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode

from footfall import compiling
from footfall.contact.course import Course
from footfall.control.interface import Command
from footfall.kinematics.forward import foot_positions
from footfall.learn.cuda_lanes import EpisodeSource, reset_column
from footfall.learn.episode import reset_episode, step_episode
from footfall.learn.gym_env import WalkVectorEnv
from footfall.learn.ppo import PPO, Settings
from footfall.learn.rough import DEEP, HISTORY, SCAN, BlindTask, RoughTask
from footfall.learn.terms import heading_velocity
from footfall.learn.training import CpuTraining
from footfall.learn.walk import WalkTask
from footfall.robot.library import load
from footfall.spatial.quaternion import to_rotation
from nptrace.frontend import tree

CHEETAH, DYNAKAT = load("mini_cheetah"), load("dynakat")


@pytest.fixture(scope="module")
def source():
    task = BlindTask.of(CHEETAH)
    return EpisodeSource(task, task.randomisation(True), task.command_ranges, 2.0)


def somewhere(source, rng, level=6.0):
    """A robot in the middle of a course, turned and moving."""
    episode = reset_episode(source.episodes, rng.random(source.episodes.draws), level)
    q, v, forces = episode.state.q.copy(), rng.normal(size=18), np.abs(40.0 * rng.normal(size=(16, 3)))
    yaw = 0.4
    q[0], q[3:7] = 1.7, (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2))
    return replace(episode, state=replace(episode.state, q=q, v=v, forces=forces))


def test_the_critic_is_told_the_ground_the_velocity_and_what_was_drawn(source):
    episode, task = somewhere(source, np.random.default_rng(1)), source.episodes.task
    state, given = episode.state, episode.parameters
    told = task.privileged(state, episode.inputs.command, given)
    course = Course(**{key.partition(".")[2]: float(x) for key, x in given.items() if "ground" in key}, deep=DEEP)
    q, low = state.q, state.q[2] - CHEETAH.poses["stand"].height
    c, s = np.cos(0.4), np.sin(0.4)
    heights = [course.height(q[0] + c * x - s * y) - low for x, y in SCAN]
    np.testing.assert_allclose(told[:34], np.clip(heights, -1.0, 1.0), atol=1e-12)
    R = to_rotation(q[3:7])
    np.testing.assert_allclose(told[34:37], [*heading_velocity(R, state.v)[:2], (R @ state.v[3:6])[2]], atol=1e-12)
    feet = foot_positions(CHEETAH, q)
    over = [p[2] - foot.radius - course.height(p[0]) for p, foot in zip(feet, CHEETAH.feet)]
    np.testing.assert_allclose(told[45:49], over, atol=1e-12)
    drawn = [given[f"ground.{key}"] for key in ("friction", "slope", "rise", "bumps", "gap", "tread")]
    np.testing.assert_allclose(told[50:58], [*drawn, given["trunk.mass"], state.memory["delay"]])
    np.testing.assert_allclose(told[58:], state.memory["gains"])
    assert len(told) == task.privileged_count


def test_a_blind_policy_sees_no_ground_and_what_it_sees_is_that_of_a_walking_one(source):
    """On two courses it sees the same, and its critic does not."""
    episode, task = somewhere(source, np.random.default_rng(2)), source.episodes.task
    other = {**episode.parameters, "ground.rise": 0.02, "ground.slope": 0.1}
    looks = [
        (task.observe(episode.state, Command(), p), task.privileged(episode.state, Command(), p))
        for p in (episode.parameters, other)
    ]
    assert (looks[0][0] == looks[1][0]).all()
    assert (looks[0][1] != looks[1][1]).any()
    assert len(task.frame_bounds) == len(WalkTask.of(CHEETAH).bounds)
    assert (len(task.bounds), task.drive.scan) == (HISTORY * len(task.frame_bounds), ())


def test_tasks_that_see_the_ground_or_need_none_tell_a_critic_nothing_more():
    for task in (RoughTask.of(CHEETAH), WalkTask.of(CHEETAH)):
        assert (task.privileged_count, task.privileged(None, Command(), {})) == (0, ())


@pytest.mark.parametrize(("yaw", "part"), [(0.0, 1.0), (np.pi / 2, 0.0), (np.pi, -1.0), (1.0, np.cos(1.0))])
def test_walking_along_a_stair_follows_the_command_and_does_not_come_on(source, yaw, part):
    """Whatever way it looks, a robot that walks forward at the command's speed earns the same but for the way."""
    task, command = source.episodes.task, Command(forward=0.4)
    first = source.episodes.first
    q, v = first.q.copy(), np.zeros(18)
    q[3:7], v[3] = (np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)), 0.4
    flat = {f"ground.{key}": 0.0 for key in ("slope", "rise", "bumps", "gap", "phase")} | {"ground.start": 9.0}
    found = task.evaluate_tick(replace(first, q=q, v=v), command, {**flat, "ground.tread": 0.15})
    assert found.terms["way"] * task.drive.rate == pytest.approx(1.5 * part)
    assert found.terms["tracking"] * task.drive.rate == pytest.approx(1.5)
    assert found.reward == pytest.approx(sum(found.terms.values()))


def test_machine_code_tells_what_numpy_tells_also_where_an_episode_ends(source):
    rng, episodes = np.random.default_rng(3), source.episodes
    chance, early = rng.random(source.draws), somewhere(source, rng)
    late = replace(early, age=episodes.limit - 1.0)
    compiled = compiling.compile(step_episode, episodes, early, chance, verify=False)
    for episode in (early, late):
        now, outcome = step_episode(episodes, episode, chance)
        for ours, theirs in zip(tree.flatten((now, outcome))[0], tree.flatten(compiled(episode, chance))[0]):
            assert np.allclose(ours, theirs, atol=1e-9)
        told = episodes.task.privileged(episode.state, episode.inputs.command, episode.parameters)
        assert (outcome.final_privileged == told).all()
        assert (outcome.privileged == told).all() == (episode is early)
    tracked = reset_column(episodes, source.first, chance)
    assert (tracked.outcome.privileged == tracked.outcome.final_privileged).all()
    places = source.places
    assert places["privileged"].stop == places["seen"].start  # what a critic sees is one block of rows
    assert places["final_privileged"].stop == places["final"].start


class Guess:
    """Robots that earn a hidden number, a new one every step: no policy sees it, and what it does is worth nothing."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
    single_observation_space = single_action_space = Box(-1.0, 1.0, (2,))

    def __init__(self, n, tells):
        self.n, self.tells, self.rng = n, tells, np.random.default_rng(0)

    def _add_row(self):
        self.hidden = self.rng.choice([-1.0, 1.0], (self.n, 1)).astype(np.float32)
        seen = self.rng.uniform(-1, 1, (self.n, 2)).astype(np.float32)
        return seen, {"privileged": self.hidden} if self.tells else {}

    def reset(self, seed):
        return self._add_row()

    def step(self, actions):
        reward = self.hidden[:, 0].astype(float)
        seen, infos = self._add_row()
        return seen, reward, np.ones(self.n, bool), np.zeros(self.n, bool), infos


@pytest.mark.parametrize("tells", [True, False])
def test_a_critic_that_is_told_knows_what_is_to_come_and_its_actor_is_not_told(tells):
    env = Guess(64, tells)
    learner = PPO(env, Settings(hidden=(16,), steps=8, rows=256, critic_rate=1e-2))
    for _ in range(20):
        learner.iterate()
    value = learner._value(learner._critic_obs(learner.normaliser(learner.observation), learner.privileged))
    off = float(np.sqrt(np.mean((value - env.hidden[:, 0]) ** 2)))
    assert off < 0.2 if tells else off > 0.8
    assert len(learner.actor[0][0]) == 2
    assert len(learner.critic[0][0]) == 2 + tells


@dataclass(frozen=True, eq=False)
class Told(WalkTask):
    """Walking whose critic is told the velocity."""

    @property
    def privileged_count(self):
        return 3

    def privileged(self, state, command, parameters):
        return heading_velocity(to_rotation(state.q[3:7]), state.v)


def told_task():
    task = WalkTask.of(DYNAKAT)
    return Told(robot=DYNAKAT, drive=task.drive)


def test_a_vector_environment_tells_the_end_of_an_episode_apart_from_the_next():
    many = WalkVectorEnv(3, task=told_task(), seconds=0.1, threads=1)
    _, infos = many.reset(seed=5)
    assert infos["privileged"].shape == (3, 3)
    for _ in range(5):
        _, _, _, late, infos = many.step(np.zeros((3, DYNAKAT.nj)))
    assert late.all()
    for k in range(3):
        ended = infos["final_info"]["velocity"][k]
        np.testing.assert_allclose(infos["final_privileged"][k], ended, rtol=1e-5, atol=1e-6)
    assert np.abs(infos["privileged"]).max() < 1e-6  # new episodes begin at rest
    assert np.abs(infos["final_privileged"]).max() > 1e-3


def test_a_training_whose_critic_is_told_goes_on_from_a_checkpoint_bit_for_bit(tmp_path):
    def training():
        return CpuTraining(robots=4, seed=2, task=told_task(), settings=Settings(hidden=(8,), steps=4, rows=16))

    one, two = training(), training()
    one.iterate(1)
    one.save(tmp_path / "part.npz")
    two.resume(tmp_path / "part.npz")
    for each in (one, two):
        each.iterate(2)
    ours, theirs = one._numbers(), two._numbers()
    assert "critic_obs_mean" in ours
    assert "privileged0" in ours
    assert all((ours[key] == theirs[key]).all() for key in ours)
    assert len(one.policy().mean) == len(one.task.bounds)


@pytest.mark.slow
def test_a_blind_training_repeats_itself_on_a_processor():
    def training():
        settings = Settings(hidden=(8,), steps=4, rows=16)
        return CpuTraining(robots=8, seed=2, task=BlindTask.of(CHEETAH), settings=settings)

    one, two = training(), training()
    for each in (one, two):
        each.iterate(2)
    ours, theirs = one._numbers(), two._numbers()
    assert all((ours[key] == theirs[key]).all() for key in ours)
    assert np.isfinite(ours["critic_obs_mean"]).all()

"""PPO in plain NumPy: its gradients, its estimates, and that it learns."""

import json
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from footfall.cli.main import run
from footfall.control.learned.network import layers_of
from footfall.errors import InputError
from footfall.learn import ppo
from footfall.learn.figures import curve_figure, read_curve
from footfall.learn.ppo import PPO, Adam, Normaliser, Rollout, Settings, orthogonal
from footfall.learn.training import CpuTraining
from footfall.learn.walk import evaluate


def central(function, arrays, step=1e-6):
    """Gradients by central differences."""
    found = []
    for array in arrays:
        slope = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            keep = array[at]
            array[at] = keep + step
            above = function()
            array[at] = keep - step
            slope[at] = (above - function()) / (2 * step)
            array[at] = keep
        found.append(slope)
    return found


@pytest.mark.parametrize("activation", ["tanh", "elu", "relu"])
def test_gradients_by_hand_are_those_of_central_differences(activation):
    settings = Settings(activation=activation, entropy=0.01)
    rng = np.random.default_rng(1)
    actor = orthogonal((5, 7, 6, 3), rng, 0.5, dtype=np.float64)
    log_noise, seen, action = rng.normal(size=3) * 0.3, rng.normal(size=(40, 5)), rng.normal(size=(40, 3))
    before = ppo.log_likelihood(action, layers_of(actor, seen, activation)[-1], log_noise) + 0.3 * rng.normal(size=40)
    merit, arrays = rng.normal(size=40), [x for layer in actor for x in layer] + [log_noise]

    def loss():
        return ppo.policy_loss(actor, log_noise, seen, action, before, merit, settings)[0]

    gradients = ppo.policy_loss(actor, log_noise, seen, action, before, merit, settings)[1]
    for mine, theirs in zip(gradients, central(loss, arrays)):
        np.testing.assert_allclose(mine, theirs, atol=1e-8)
    critic = orthogonal((5, 6, 1), rng, 1.0, dtype=np.float64)
    target = rng.normal(size=(40, 1))
    gradients = ppo.value_loss(critic, seen, target, activation)[1]
    numbers = central(
        lambda: ppo.value_loss(critic, seen, target, activation)[0], [x for layer in critic for x in layer]
    )
    for mine, theirs in zip(gradients, numbers):
        np.testing.assert_allclose(mine, theirs, atol=1e-8)


def test_first_layers_are_orthogonal():
    for sizes in ((9, 4), (4, 9)):
        W = orthogonal(sizes, np.random.default_rng(0), 0.5, dtype=np.float64)[0][0]
        gram = W.T @ W if sizes[0] > sizes[1] else W @ W.T
        np.testing.assert_allclose(gram, 0.25 * np.eye(4), atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.5, 0.99), st.floats(0.0, 1.0))
def test_advantages_are_discounted_sums_of_surprises_within_an_episode(seed, discount, trace):
    rng = np.random.default_rng(seed)
    steps, n = 12, 3
    reward, value, last = rng.normal(size=(steps, n)), rng.normal(size=(steps, n)), rng.normal(size=n)
    done = rng.random((steps, n)) < 0.2
    empty = np.zeros((steps, n))
    found = ppo.advantages(
        Rollout(seen=empty, action=empty, likelihood=empty, center=empty, reward=reward, value=value, done=done),
        last,
        discount,
        trace,
    )
    ahead = np.vstack([value[1:], last])
    surprise = reward + discount * np.where(done, 0.0, ahead) - value
    for k in range(n):
        for t in range(steps):
            total, weight = 0.0, 1.0
            for s in range(t, steps):
                total += weight * surprise[s, k]
                if done[s, k]:
                    break
                weight *= discount * trace
            assert found[t, k] == pytest.approx(total, abs=1e-9)


def test_the_divergence_is_that_of_samples():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(1, 2)), rng.normal(size=(1, 2))
    noise, other = np.array([0.1, -0.4]), np.array([0.3, 0.0])
    assert ppo.divergence(a, noise, a, noise) == pytest.approx(0.0)
    samples = a + np.exp(noise) * rng.normal(size=(400_000, 2))
    mean = np.mean(ppo.log_likelihood(samples, a, noise) - ppo.log_likelihood(samples, b, other))
    assert ppo.divergence(a, noise, b, other) == pytest.approx(mean, rel=0.01)


def test_running_means_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    parts = [rng.normal(3.0, 2.0, size=(count, 4)) for count in (5, 1, 40)]
    normaliser = Normaliser(4)
    for part in parts:
        normaliser.update(part)
    whole = np.vstack(parts)
    np.testing.assert_allclose(normaliser.mean, whole.mean(axis=0))
    np.testing.assert_allclose(normaliser.spread, whole.std(axis=0))


def test_adam_finds_the_bottom_of_a_bowl():
    x = np.array([3.0, -2.0])
    adam = Adam(parameters=[x], longest=np.inf)
    for _ in range(800):
        adam.step([2.0 * (x - [1.0, 5.0]) * [1.0, 10.0]], 0.05)
    np.testing.assert_allclose(x, [1.0, 5.0], atol=1e-3)


class Steering(gymnasium.vector.VectorEnv):
    """A tiny problem: points on a line are told a goal, and move by their action."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, n):
        self.num_envs, self.age = n, 0
        self.single_observation_space = gymnasium.spaces.Box(-10, 10, (2,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.goal = self.np_random.uniform(-1, 1, (2, self.num_envs))
        return self.seen(), {}

    def seen(self):
        return np.stack([self.x, self.goal], axis=1).astype(np.float32)

    def step(self, actions):
        self.x = np.clip(self.x + 0.3 * np.clip(actions[:, 0], -1, 1), -5, 5)
        self.age += 1
        reward, infos, no = -((self.x - self.goal) ** 2), {}, np.zeros(self.num_envs, bool)
        late = no | (self.age % 20 == 0)
        if late.any():
            infos["final_obs"] = np.array([*self.seen(), None], dtype=object)[:-1]
            self.reset()
        return self.seen(), reward, no, late, infos


def test_it_learns_a_tiny_problem():
    learner = PPO(Steering(64), Settings(hidden=(16,), steps=20, rows=640, noise=0.5), seed=0)
    rewards = [learner.iterate()["reward"] for _ in range(25)]
    assert rewards[0] < -0.4
    assert np.mean(rewards[-3:]) > -0.12


def test_a_training_repeats_itself_bit_for_bit(tmp_path):
    def train():
        training = CpuTraining(robots=32, seed=4, settings=Settings(steps=6, rows=96), threads=1)
        rows = [training.iterate() for _ in range(2)]
        return training.policy(), [{k: v for k, v in row.items() if k != "seconds"} for row in rows]

    (one, rows), (two, again) = train(), train()
    assert rows == again
    assert all((a == b).all() for x, y in zip(one.weights, two.weights) for a, b in zip(x, y))


def test_a_training_that_was_cut_off_goes_on_bit_for_bit(tmp_path):
    def new():
        return CpuTraining(robots=32, seed=4, settings=Settings(steps=6, rows=96), threads=1)

    whole, first, second = new(), new(), new()
    whole.iterate(4)
    first.iterate(2)
    first.save(tmp_path / "half.npz")
    second.resume(tmp_path / "half.npz")
    second.iterate(2)
    assert second.iteration == whole.iteration == 4
    for x, y in zip(whole.policy().weights, second.policy().weights):
        assert all((a == b).all() for a, b in zip(x, y))
    assert len(second.curve) == 2  # one look before the cut, one after it
    other = CpuTraining(robots=32, seed=5, settings=Settings(steps=6, rows=96), threads=1)
    with pytest.raises(InputError, match="of another training: seed 4, not 5"):
        other.resume(tmp_path / "half.npz")
    other = CpuTraining(robots=32, seed=4, settings=Settings(steps=6, rows=32), threads=1)
    with pytest.raises(InputError, match=r"of another training: settings rows 96, not 32$"):
        other.resume(tmp_path / "half.npz")
    other = CpuTraining(robots=32, seed=4, settings=Settings(steps=6, rows=96), threads=1, randomise={"mass": 1.2})
    with pytest.raises(InputError, match=r"of another training: randomisation mass \[.*\], not \[1.2, 1.2\]$"):
        other.resume(tmp_path / "half.npz")
    with np.load(tmp_path / "half.npz") as whole_file:
        arrays = dict(whole_file)
    for version in (0, 2):
        np.savez(tmp_path / "other.npz", **(arrays | {"format": version}))
        with pytest.raises(InputError, match=f"other.npz was written in version {version} of its format, .* version 1"):
            second.resume(tmp_path / "other.npz")
    (tmp_path / "half.npz").write_bytes((tmp_path / "half.npz").read_bytes()[:5000])
    with pytest.raises(InputError, match="not a checkpoint"):
        second.resume(tmp_path / "half.npz")


def test_the_command_trains_saves_and_goes_on(tmp_path, capsys):
    out, per = tmp_path / "policy.npz", 16 * CpuTraining.default_settings.steps
    line = ["train", "mini_cheetah", "--device", "cpu", "--robots", "16", "--out", str(out), "--json"]
    assert run([*line, "--iterations", "1"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["samples"] == per
    assert said["policy"] == str(out)
    assert read_curve(out.with_suffix(".csv"))[0]["samples"] == per
    assert out.with_suffix(".png").stat().st_size > 1000
    assert run([*line, "--iterations", "2", "--resume"]) == 0
    assert json.loads(capsys.readouterr().out)["samples"] == 2 * per
    assert run([*line, "--iterations", "9", "--reward", "-5"]) == 0  # reached at once
    assert json.loads(capsys.readouterr().out)["samples"] == per
    for wrong in (["--out", str(tmp_path / "policy.pkl")], ["--robots", "0"], ["--task", "fly"], ["--device", "tpu"]):
        assert run([*line, *wrong]) == 2
        assert capsys.readouterr().err.startswith("footfall: error: ")


def test_bad_curves_are_one_sentence(tmp_path):
    path = tmp_path / "curve.csv"
    with pytest.raises(InputError, match="cannot read the curve"):
        read_curve(path)
    path.write_text("reward\nmuch\n")
    with pytest.raises(InputError, match="not a learning curve"):
        read_curve(path)
    with pytest.raises(InputError, match="at least one row"):
        curve_figure([])


def test_bad_settings_are_one_sentence():
    with pytest.raises(InputError, match="steps of a training"):
        Settings(steps=0)
    with pytest.raises(InputError, match="discount"):
        Settings(discount=1.0)
    wrong = Steering(2)
    wrong.metadata = {}
    with pytest.raises(InputError, match="same step"):
        PPO(wrong)


@pytest.mark.slow
def test_it_learns_to_trot_within_half_an_hour_of_processor_time():
    """The whole training of the page on learning, with another seed."""
    training, began = CpuTraining(robots=1024, seed=1), time.process_time()
    rows = [training.iterate() for _ in range(400)]
    assert time.process_time() - began < 1800
    assert rows[-1]["falls"] < 0.01
    found = evaluate(training.policy(), training.env.lanes.robot)
    assert not found.fallen.any()
    assert found.within(0.4) >= 0.95
    assert found.trots().mean() >= 0.95

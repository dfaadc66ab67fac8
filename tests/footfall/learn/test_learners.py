"""Others' learners on our environments: rsl_rl, skrl, Stable-Baselines3. PyTorch is large, and not installed in CI."""

import copy

import numpy as np
import pytest

import footfall as ff
from footfall.control.interface import Command
from footfall.control.learned.policy import Policy
from footfall.learn.gym_env import WalkVectorEnv
from footfall.learn.preflight import preflight
from footfall.learn.walk import assess

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'footfall[learners]'")
CHEETAH = ff.load("mini_cheetah")
NET = {"class_name": "rsl_rl.models.MLPModel", "hidden_dims": [64, 64], "activation": "elu", "obs_normalization": True}
NOISE = {"class_name": "rsl_rl.modules.GaussianDistribution", "init_std": 0.3, "std_type": "log"}
RSL_RL = {
    "num_steps_per_env": 24,
    "save_interval": 10**9,
    "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
    "actor": {**NET, "distribution_cfg": NOISE},
    "critic": NET,
    "algorithm": {
        "class_name": "rsl_rl.algorithms.PPO",
        "learning_rate": 1e-3,
        "schedule": "adaptive",
        "desired_kl": 0.01,
        "entropy_coef": 0.0,
        "num_learning_epochs": 5,
        "num_mini_batches": 4,
        "max_grad_norm": 1.0,
    },
}


def rsl_rl_runner(robots, iterations):
    pytest.importorskip("rsl_rl", reason="rsl_rl is not installed: pip install 'footfall[learners]'")
    from rsl_rl.runners import OnPolicyRunner

    from footfall.learn.rsl_rl_env import RslRlWalk

    torch.manual_seed(0)
    env = RslRlWalk("mini_cheetah", robots, threads=1)
    runner = OnPolicyRunner(env, copy.deepcopy(RSL_RL), log_dir=None, device="cpu")
    runner.learn(iterations, init_at_random_ep_len=True)
    return env, runner


def test_tensors_are_those_of_the_vector_environment():
    from footfall.learn.tensors import tensor_walk

    walk = tensor_walk(CHEETAH, 4, seed=3, seconds=0.3, threads=1)
    env = WalkVectorEnv(4, CHEETAH, seconds=0.3, threads=1)
    seen, _ = env.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        np.testing.assert_array_equal(walk.observation.numpy(), seen)
        action = rng.uniform(-1, 1, (4, 12)).astype(np.float32)
        done = walk.step(torch.from_numpy(action))
        seen, reward, fallen, late, infos = env.step(action)
        np.testing.assert_array_equal(done.reward.numpy(), reward.astype(np.float32))
        np.testing.assert_array_equal(done.terminated.numpy(), fallen)
        np.testing.assert_array_equal(done.truncated.numpy(), late)
        np.testing.assert_array_equal(walk.age.numpy(), env.lanes.age)
        for lane in np.flatnonzero(fallen | late):
            np.testing.assert_array_equal(done.final[lane].numpy(), infos["final_obs"][lane])


def test_rsl_rl_trains_and_its_policy_travels(tmp_path):
    """A short training; the exported policy is wired right, is compiled, and is what PyTorch computes."""
    env, runner = rsl_rl_runner(16, 2)
    file = tmp_path / "theirs.onnx"
    env.export(runner, file)
    assert preflight(file, CHEETAH, seconds=0).ok
    policy = Policy.load(file)
    observation = env.get_observations()
    theirs = runner.get_inference_policy()(observation).detach().numpy()
    np.testing.assert_allclose(policy.network(observation["policy"].numpy()), theirs, atol=1e-5)
    simulation = ff.Simulation(CHEETAH, policy, command=Command(forward=0.3))
    simulation.run(0.1)
    assert simulation.controller_is_compiled


@pytest.mark.slow
def test_a_policy_trained_by_rsl_rl_walks(tmp_path):
    """Minutes: 512 robots, 300 iterations; then walks here and in MuJoCo."""
    env, runner = rsl_rl_runner(512, 300)
    env.export(runner, tmp_path / "theirs.onnx")
    found = preflight(tmp_path / "theirs.onnx", CHEETAH)
    assert found.ok, found.mismatches
    done = assess(Policy.load(tmp_path / "theirs.onnx"), CHEETAH, engine="mujoco", robots=20)
    assert done.fallen.mean() <= 0.05
    assert done.tracking_error <= 0.1


def test_skrl_trains(tmp_path):
    pytest.importorskip("skrl", reason="skrl is not installed: pip install 'footfall[learners]'")
    from skrl.agents.torch.ppo import PPO
    from skrl.memories.torch import RandomMemory
    from skrl.models.torch import DeterministicMixin, GaussianMixin, Model
    from skrl.trainers.torch import SequentialTrainer

    from footfall.learn.skrl_env import SkrlWalk

    env = SkrlWalk("mini_cheetah", 8, threads=1)
    models = skrl_models(Model, GaussianMixin, DeterministicMixin, env)
    agent = PPO(
        models=models,
        memory=RandomMemory(memory_size=16, num_envs=8, device=env.device),
        cfg=skrl_settings(tmp_path),
        observation_space=env.observation_space,
        action_space=env.action_space,
        device=env.device,
    )
    before = [p.detach().clone() for p in models["policy"].parameters()]
    SequentialTrainer(env=env, agents=agent, cfg={"timesteps": 16, "headless": True}).train()
    assert any((a != b).any() for a, b in zip(before, models["policy"].parameters()))
    assert env.walk.age.max() > 0


def skrl_models(Model, GaussianMixin, DeterministicMixin, env):
    """An actor and a critic of one layer."""

    class Actor(GaussianMixin, Model):
        def __init__(self):
            Model.__init__(
                self, observation_space=env.observation_space, action_space=env.action_space, device=env.device
            )
            GaussianMixin.__init__(self)
            self.net = torch.nn.Linear(47, 12)
            self.noise = torch.nn.Parameter(torch.full((12,), -1.0))

        def compute(self, inputs, role):
            return self.net(inputs["observations"]), {"log_std": self.noise}

    class Critic(DeterministicMixin, Model):
        def __init__(self):
            Model.__init__(
                self, observation_space=env.observation_space, action_space=env.action_space, device=env.device
            )
            DeterministicMixin.__init__(self)
            self.net = torch.nn.Linear(47, 1)

        def compute(self, inputs, role):
            return self.net(inputs["observations"]), {}

    return {"policy": Actor(), "value": Critic()}


def skrl_settings(folder):
    from skrl.agents.torch.ppo import PPO_CFG

    settings = PPO_CFG()
    settings.rollouts, settings.learning_epochs, settings.mini_batches = 16, 2, 2
    settings.experiment.directory, settings.experiment.write_interval = str(folder), 0
    settings.experiment.checkpoint_interval = 0
    return settings


def test_stable_baselines3_trains():
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: footfall[learners]")
    from stable_baselines3.common.env_checker import check_env

    from footfall.learn.gym_env import WalkEnv
    from footfall.learn.sb3_env import Sb3Walk

    check_env(WalkEnv(seconds=0.2))
    env = Sb3Walk("mini_cheetah", 8, seconds=0.3, threads=1)
    model = sb3.PPO("MlpPolicy", env, n_steps=20, batch_size=40, n_epochs=2, seed=0, device="cpu")
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(320)
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters()))
    env.step_async(np.zeros((8, 12), np.float32))
    seen, _, done, infos = env.step_wait()
    assert seen.shape == (8, 47)
    assert all("terminal_observation" in info for info, over in zip(infos, done) if over)


def test_stable_baselines3_takes_the_environment_by_its_name():
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed: footfall[learners]")
    import footfall.learn  # registers it

    assert footfall.learn is not None
    model = sb3.PPO("MlpPolicy", "footfall/Walk-v0", n_steps=20, batch_size=20, n_epochs=1, seed=0, device="cpu")
    model.learn(40)
    assert model.num_timesteps == 40


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_tensors_stay_on_the_card_and_the_same_seed_gives_the_same_bits():
    from footfall.learn.tensors import tensor_walk

    one, two = (tensor_walk(CHEETAH, 64, "cuda", seed=7, seconds=0.4) for _ in range(2))
    for _ in range(45):
        actions = torch.zeros(64, 12, device="cuda")
        a, b = one.step(actions), two.step(actions)
        assert a.observation.is_cuda
        assert a.reward.is_cuda
        assert (a.observation == b.observation).all()
        assert (a.reward == b.reward).all()
        assert (one.age < one.limit).all()
    ages = torch.arange(64, device="cuda") % 20
    one.set_age(ages)
    assert (one.age == ages).all()

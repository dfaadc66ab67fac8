"""# Learning

The environment with a reward and a ground of one's own, one robot and many; the policy that comes with footfall.
"""

# %% An environment that opens
import gymnasium
import numpy as np

import footfall as ff
import footfall.learn


def calm(robot, sensed, command, action):
    return -0.002 * np.sum(sensed.v[6:] ** 2)


env = gymnasium.make("footfall/Walk-v0", rewards={"calm": calm}, ground="rough:0.01", disable_env_checker=True)
seen, _ = env.reset(seed=1)
seen, reward, fell, late, info = env.step(np.zeros(env.action_space.shape, np.float32))
print(f"fell: {fell}" if fell else f"standing, reward {reward:.3f}, of it reward_calm {info['reward_calm']:.3f}")

# %% Many robots in one environment
many = gymnasium.make_vec("footfall/Walk-v0", num_envs=64)
many.reset(seed=2)
for _ in range(25):
    _, rewards, *_ = many.step(np.zeros(many.action_space.shape, np.float32))
print(f"{len(rewards)} rewards, {rewards.mean():.3f} on average")

# %% A policy that has learned, as a controller
walker = ff.control.Policy.load("mini_cheetah")
rec = ff.Simulation(ff.load("mini_cheetah"), walker, command=ff.Command(forward=0.4)).run(3.0)
print(f"{rec.mean_speed(after=1.0):.1f} m/s")

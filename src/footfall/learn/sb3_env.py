"""``footfall/Walk-v0`` as a ``VecEnv`` of Stable-Baselines3: thousands of robots in NumPy.

    PPO("MlpPolicy", Sb3Walk("mini_cheetah", 256)).learn(1_000_000)

One robot needs no wrapper: ``gymnasium.make("footfall/Walk-v0")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from footfall.errors import InputError, MissingExtraError
from footfall.learn.gym_env import WalkVectorEnv
from footfall.robot.model.description import Robot

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    raise MissingExtraError("an environment for Stable-Baselines3", "learners", "stable-baselines3") from None


class Sb3Walk(VecEnv):
    """Robots on SIMD lanes. Options as for ``WalkVectorEnv``."""

    _actions: ndarray  # actions of ``step_async``

    def __init__(self, robot: Robot | str = "mini_cheetah", num_envs: int = 256, **options: Any) -> None:
        self.env = WalkVectorEnv(num_envs, robot, **options)
        super().__init__(num_envs, self.env.single_observation_space, self.env.single_action_space)

    def reset(self) -> ndarray:
        """Start new episodes for all robots, with the seeds given to ``seed`` since the last reset."""
        first = self._seeds[0]
        seen, _ = self.env.reset(seed=first)
        self._reset_seeds()
        return seen

    def step_async(self, actions: ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[ndarray, ndarray, ndarray, list[dict[str, object]]]:
        """Return (observations, rewards, done, infos); a done robot's info holds its last observation."""
        seen, reward, fallen, late, infos = self.env.step(self._actions)
        infos_of: list[dict[str, object]] = [{} for _ in range(self.num_envs)]
        for k in np.flatnonzero(fallen | late):
            infos_of[k] = {"terminal_observation": infos["final_obs"][k], "TimeLimit.truncated": bool(late[k])}
        return seen, reward.astype(np.float32), fallen | late, infos_of

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def get_attr(self, attr_name: str, indices: int | Sequence[int] | None = None) -> list[object]:
        value = vars(self.env).get(attr_name) if attr_name != "render_mode" else None
        return [value] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: object, indices: int | Sequence[int] | None = None) -> None:
        raise InputError("robots of a batch have no separate attributes: pass options when it is created")

    def env_method(
        self, method_name: str, *arguments: object, indices: int | Sequence[int] | None = None, **options: Any
    ) -> list[object]:
        raise InputError("robots of a batch have no separate methods: use a single footfall/Walk-v0")

    def env_is_wrapped(self, wrapper_class: object, indices: int | Sequence[int] | None = None) -> list[bool]:
        return [False] * len(self._chosen(indices))

    def _chosen(self, indices: int | Sequence[int] | None) -> Sequence[int]:
        return range(self.num_envs) if indices is None else np.atleast_1d(indices).tolist()

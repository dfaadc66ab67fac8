"""``footfall/Walk-v0`` for skrl: a wrapper whose tensors stay on their device.

env = SkrlWalk("mini_cheetah", 4096, "cuda")
SequentialTrainer(env=env, agents=agent, cfg=...).train()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from footfall.errors import MissingExtraError
from footfall.learn.tensors import TensorWalk, tensor_walk, torch_library
from footfall.learn.walk import WalkTask
from footfall.robot.model.description import Robot

if TYPE_CHECKING:
    from torch import Tensor

try:
    import gymnasium
    from skrl.envs.wrappers.torch import Wrapper
except ImportError:
    raise MissingExtraError("an environment for skrl", "learners", "skrl") from None


class SkrlWalk(Wrapper):
    """Robots that walk. A finished robot restarts in the same step. Options: command, randomise, seconds."""

    def __init__(
        self,
        robot: Robot | str = "mini_cheetah",
        num_envs: int = 1024,
        device: str = "cpu",
        *,
        task: WalkTask | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        self.walk: TensorWalk = tensor_walk(robot, num_envs, device, task=task, seed=seed, **options)
        super().__init__(self.walk)
        self._device = torch_library().device(device)
        task = self.walk.task
        most, one = task.bounds.astype(np.float32), np.ones(task.robot.nj, np.float32)
        self._spaces = (gymnasium.spaces.Box(-most, most), gymnasium.spaces.Box(-one, one))

    @property
    def observation_space(self) -> gymnasium.spaces.Box:
        return self._spaces[0]

    @property
    def action_space(self) -> gymnasium.spaces.Box:
        return self._spaces[1]

    def reset(self) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the present observations: robots restart by themselves."""
        return self.walk.observation, {}

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Tensor]]:
        """Return (observation, reward, fallen, out of time, info), the middle ones as columns."""
        done = self.walk.step(actions)
        column = [x.view(-1, 1) for x in (done.reward, done.terminated, done.truncated)]
        return done.observation, column[0], column[1], column[2], {"final_observation": done.final}

    def state(self) -> None:
        """Return None: a critic sees what the policy sees."""

    def render(self, *arguments: object, **options: Any) -> None:
        """Do nothing: to draw the policy, use ``WalkEnv(render_mode=...)``."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

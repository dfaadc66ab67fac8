"""``footfall/Walk-v0`` as a ``VecEnv`` of rsl_rl: tensors that stay on their device.

env = RslRlWalk("mini_cheetah", 4096, "cuda")
OnPolicyRunner(env, train_cfg, device="cuda").learn(300)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from footfall.control.learned.metadata import add_metadata
from footfall.errors import MissingExtraError
from footfall.learn.tensors import tensor_walk, torch_library
from footfall.learn.walk import WalkTask
from footfall.robot.model.description import Robot
from nptrace._types import Json

if TYPE_CHECKING:
    from rsl_rl.runners import OnPolicyRunner
    from torch import Tensor

try:
    from rsl_rl.env import VecEnv
    from tensordict import TensorDict
except ImportError:
    raise MissingExtraError("an environment for rsl_rl", "learners", "rsl-rl-lib") from None


class RslRlWalk(VecEnv):
    """Robots that walk; one group of observations, ``policy``. Options: command, randomise, seconds."""

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
        self.walk = tensor_walk(robot, num_envs, device, task=task, seed=seed, **options)
        self.num_envs, self.num_actions = num_envs, self.walk.task.robot.nj
        self.max_episode_length, self.device = self.walk.limit, torch_library().device(device)
        self.cfg: dict[str, Json] = {"robot": self.walk.task.robot.name, "task": "footfall/Walk-v0"}

    @property
    def episode_length_buf(self) -> Tensor:
        return self.walk.age

    @episode_length_buf.setter
    def episode_length_buf(self, ages: Tensor) -> None:
        self.walk.set_age(ages)

    def get_observations(self) -> TensorDict:
        """Return the present observations."""
        return self._dressed(self.walk.observation)

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor]]:
        """Return (observations, rewards, done, extras) after a tick; ``time_outs`` marks ends that are not falls."""
        done = self.walk.step(actions)
        over = (done.terminated | done.truncated).long()
        extras = {"time_outs": done.truncated.float(), "log": {"/falls": done.terminated.float().mean()}}
        return self._dressed(done.observation), done.reward, over, extras

    def _dressed(self, observation: Tensor) -> TensorDict:
        return TensorDict({"policy": observation}, batch_size=[self.num_envs], device=self.device)

    def export(self, runner: OnPolicyRunner, path: str | Path) -> None:
        """Write a runner's policy as ONNX with metadata: ``Policy.load`` reads it, ``policy check`` checks it."""
        file = Path(path)
        runner.export_policy_to_onnx(str(file.parent), file.name)
        add_metadata(file, self.walk.task.drive.interface(self.walk.task.robot))

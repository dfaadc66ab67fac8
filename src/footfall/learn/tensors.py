"""``footfall/Walk-v0`` for learners in PyTorch: n robots whose observations and rewards are tensors.

On a GPU nothing leaves it; on the processor tensors share the memory of NumPy arrays. ``rsl_rl_env`` and ``skrl_env``
adapt this to those packages.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from footfall.errors import InputError, MissingExtraError
from footfall.learn.gym_env import WalkVectorEnv
from footfall.learn.walk import WalkTask
from footfall.loading import load
from footfall.robot.model.description import Robot
from nptrace._types import Given

if TYPE_CHECKING:
    from cupy.cuda import Stream
    from torch import Tensor

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class TensorStep:
    """Tensors of one tick, one row per robot; a finished robot restarts, with its new observation."""

    observation: Tensor
    reward: Tensor
    terminated: Tensor  # whether it fell
    truncated: Tensor  # whether the time limit was reached
    final: Tensor  # the observation that ended the tick


class TensorWalk(Protocol):
    """The environment in tensors, on any device."""

    device: str
    task: WalkTask
    num_envs: int
    limit: int  # ticks of an episode

    @property
    def observation(self) -> Tensor: ...

    @property
    def age(self) -> Tensor:
        """Return the ticks of the present episodes, as integers."""

    def set_age(self, age: Tensor) -> None:
        """Set the ages of the present episodes."""

    def reset(self, seed: int) -> Tensor: ...

    def step(self, actions: Tensor) -> TensorStep: ...


def torch_library() -> ModuleType:
    """Return PyTorch; raise with how to install it if it is missing."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("an environment of tensors", "train", "torch") from None
    return torch


def tensor_walk(
    robot: Robot | str = "mini_cheetah",
    num_envs: int = 1024,
    device: str = "cpu",
    *,
    task: WalkTask | None = None,
    seed: int = 0,
    **options: Any,
) -> TensorWalk:
    """Create robots of the walking task on a device. Options: command, randomise, seconds, as for ``WalkVectorEnv``."""
    kind = str(device).split(":")[0]
    if kind not in DEVICES:
        raise InputError(f"the walking task runs on cpu or cuda, not on {device!r}")
    chosen = task or WalkTask.of(load(robot) if isinstance(robot, str) else robot)
    walk: TensorWalk = (CudaWalk if kind == "cuda" else CpuWalk)(chosen, num_envs, **options)
    walk.reset(seed)
    return walk


class CpuWalk:
    """The environment on SIMD lanes and threads of the processor."""

    device = "cpu"

    def __init__(self, task: WalkTask, num_envs: int, **options: Any) -> None:
        self.torch, self.task, self.num_envs = torch_library(), task, num_envs
        self.env = WalkVectorEnv(num_envs, task=task, **options)
        self.limit = self.env.lanes.limit
        self._seen: Tensor = None

    @property
    def observation(self) -> Tensor:
        return self._seen

    @property
    def age(self) -> Tensor:
        return self.torch.from_numpy(self.env.lanes.age.copy())

    def set_age(self, age: Tensor) -> None:
        lanes, new = self.env.lanes, age.cpu().numpy().astype(int)
        lanes.next_push += new - lanes.age
        lanes.age[:] = new

    def reset(self, seed: int) -> Tensor:
        self._seen = self.torch.from_numpy(self.env.reset(seed=seed)[0])
        return self._seen

    def step(self, actions: Tensor) -> TensorStep:
        tensor = self.torch.from_numpy
        seen, reward, fallen, late, infos = self.env.step(actions.detach().cpu().numpy())
        self._seen, final = tensor(seen), seen
        over = fallen | late
        if over.any():
            final = seen.copy()
            for k in over.nonzero()[0]:
                final[k] = infos["final_obs"][k]
        return TensorStep(self._seen, tensor(reward).float(), tensor(fallen), tensor(late), tensor(final))


class CudaWalk:
    """The environment on one GPU: physics, evaluation and new episodes in two kernels per tick, shared with PyTorch."""

    device = "cuda"

    def __init__(
        self,
        task: WalkTask,
        num_envs: int,
        *,
        command: Given = None,
        randomise: Given = True,
        seconds: float = 20.0,
    ) -> None:
        from footfall.learn.cuda_lanes import CudaLanes

        self.torch, self.task, self.num_envs = torch_library(), task, num_envs
        ranges = {**task.command_ranges, **(command or {})}
        self.lanes = CudaLanes(task, num_envs, command=ranges, randomise=randomise, seconds=seconds)
        self.limit = self.lanes.source.episodes.limit
        self.columns, self.places = self.torch.from_dlpack(self.lanes.columns), self.lanes.source.places
        self.random = self.torch.Generator("cuda")
        self.chance = self.torch.zeros(self.lanes.source.draws, num_envs, device="cuda")
        self._chance = self.lanes.cupy.from_dlpack(self.chance)

    def _rows(self, name: str) -> Tensor:
        return self.columns[self.places[name]]

    @property
    def observation(self) -> Tensor:
        return self._rows("seen").T.contiguous()

    @property
    def age(self) -> Tensor:
        return self._rows("age")[0].long()

    def set_age(self, age: Tensor) -> None:
        new = age.to("cuda").float()
        self._rows("next_push")[0] += new - self._rows("age")[0]
        self._rows("age")[0] = new

    def _stream(self) -> Stream:
        return self.lanes.cupy.cuda.Stream.from_external(self.torch.cuda.current_stream())

    def reset(self, seed: int) -> Tensor:
        self.random.manual_seed(seed)
        self.chance.uniform_(generator=self.random)
        with self._stream():
            self.lanes.begin(self._chance)
        return self.observation

    def step(self, actions: Tensor) -> TensorStep:
        self._rows("action").copy_(actions.T.clamp(-1.0, 1.0))
        self.chance.uniform_(generator=self.random)
        with self._stream():
            self.lanes.tick(self._chance)
        fallen, late = self._rows("fallen")[0] > 0.5, self._rows("late")[0] > 0.5
        reward, final = self._rows("reward")[0].clone(), self._rows("final").T.contiguous()
        return TensorStep(self.observation, reward, fallen, late, final)

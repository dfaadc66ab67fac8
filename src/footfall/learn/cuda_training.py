"""A training on a GPU: ``CudaPPO`` with a curve and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
from numpy import ndarray

from footfall.control.learned.policy import Policy
from footfall.learn.cuda_lanes import CudaLanes
from footfall.learn.cuda_ppo import CudaPPO, pytorch
from footfall.learn.ppo import Settings
from footfall.learn.task_base import Task
from footfall.learn.training import Training
from footfall.nests import Given, Json


class CudaTraining(Training):
    """Everything stays on the card; the processor looks at six numbers now and then."""

    device = "cuda"
    usual = Settings(rows=24576, noise=0.3)  # four minibatches of 4096 robots

    def __init__(
        self, task: Task, robots: int = 4096, seed: int = 0, settings: Settings | None = None,
        command: Mapping[str, Given] | None = None, randomise: Given = True, seconds: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(task, robots, seed, settings, randomise)
        self.torch = pytorch()
        ranges, limit = {**task.command_ranges, **(command or {})}, task.seconds if seconds is None else seconds
        lanes = CudaLanes(task, robots, command=ranges, randomise=randomise, seconds=limit)
        self.ppo = CudaPPO(lanes, self.settings, self.seed)
        self.ppo.prepare()

    @property
    def iteration(self) -> int:
        return self.ppo.iteration

    def iterate(self, count: int = 1) -> dict[str, float]:
        began = time.perf_counter()
        for _ in range(count):
            self.ppo.iterate()
        row = self.ppo.curve_row()  # waits for the card
        self.seconds += time.perf_counter() - began
        return self._look({**row, "seconds": self.seconds})

    def policy(self) -> Policy:
        ppo, task = self.ppo, self.task
        weights = tuple((W.astype(float), b.astype(float)) for W, b in ppo.networks.actor())
        mean, inverse = (x.cpu().numpy()[ppo.privileged :, 0].astype(float) for x in (ppo.mean, ppo.inverse))
        name, activation = task.robot.name, self.settings.activation
        return Policy(name, task.drive, mean, 1.0 / inverse, weights, activation, task.robot.joint_names)

    # -- checkpoints -------------------------------------------------------------------------------------------------
    def _numbers(self) -> dict[str, ndarray]:
        arrays = {key: value.cpu().numpy() for key, value in self.ppo.numbers().items()}
        return {**arrays, "random": self.ppo.random.get_state().numpy()}

    def _words(self) -> dict[str, Json]:
        return {"iteration": self.ppo.iteration}

    def _take(self, numbers: dict[str, ndarray], words: dict[str, Json]) -> None:
        for key, tensor in self.ppo.numbers().items():
            tensor.copy_(self.torch.from_numpy(np.array(numbers[key])))
        self.ppo.random.set_state(self.torch.from_numpy(np.array(numbers["random"])))
        self.ppo.iteration = int(words["iteration"])

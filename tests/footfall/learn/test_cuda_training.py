"""Training on a GPU, where there is one: the same bits again, also from a checkpoint; what is saved is what acts."""

import sys
from pathlib import Path

import numpy as np
import pytest

from footfall.errors import FootfallError, MissingExtraError
from footfall.learn.cuda_ppo import pytorch
from footfall.learn.rough import BlindTask
from footfall.learn.walk import WalkTask
from footfall.robot.library import load

sys.path.append(str(Path(__file__).parents[3] / "studies"))


def gpu():
    try:
        from footfall.sim.gpu import cupy

        cupy(), pytorch()
    except (FootfallError, MissingExtraError) as error:
        pytest.skip(f"no training on a GPU here: {error}")


def test_a_training_repeats_itself_and_goes_on_from_a_checkpoint_bit_for_bit():
    gpu()
    from gpu_bench import repeats

    assert repeats() == {"again": True, "from_checkpoint": True}


def test_the_gpu_acts_as_the_policy_that_is_saved():
    gpu()
    from footfall.learn.cuda_ppo import CudaTraining

    training = CudaTraining(WalkTask.of(load("dynakat")), 256, seed=3)
    training.iterate(3)
    ppo, policy = training.ppo, training.policy()
    seen = ppo.seen.cpu().numpy().astype(float).T
    ppo._normalised(ppo.seen, ppo.last[:-1])
    center = ppo.networks.actions(ppo.last).cpu().numpy().T
    assert np.abs(np.clip(center, -1.0, 1.0) - policy.action(seen)).max() < 5e-3  # products in TF32


def test_a_blind_training_repeats_itself_and_its_actor_is_not_given_what_its_critic_is():
    gpu()
    from gpu_bench import repeats

    from footfall.learn.cuda_ppo import CudaTraining

    task = BlindTask.of(load("mini_cheetah"))
    assert repeats(task) == {"again": True, "from_checkpoint": True}
    training = CudaTraining(task, 256, seed=3)
    training.iterate(3)
    ppo, policy = training.ppo, training.policy()
    assert (ppo.networks.parts[0][: ppo.networks.hidden, : ppo.privileged] == 0.0).all()
    seen = ppo.seen[ppo.privileged :].cpu().numpy().astype(float).T
    ppo._normalised(ppo.seen, ppo.last[:-1])
    center = ppo.networks.actions(ppo.last).cpu().numpy().T
    assert np.abs(np.clip(center, -1.0, 1.0) - policy.action(seen)).max() < 5e-3  # products in TF32


def test_without_pytorch_one_sentence_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError, match="train"):
        pytorch()

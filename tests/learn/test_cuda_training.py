"""Training on a GPU, where there is one: the same bits again, also from a checkpoint; what is saved is what acts."""

import numpy as np
import pytest

from footfall.errors import FootfallError, MissingExtraError
from footfall.learn.cuda_ppo import pytorch
from footfall.learn.rough_blind import BlindTask
from footfall.learn.task import WalkTask
from footfall.robot.library import load


def card():
    try:
        from footfall.batch.gpu import cupy

        cupy(), pytorch()
    except (FootfallError, MissingExtraError) as error:
        pytest.skip(f"no training on a GPU here: {error}")


def test_a_training_repeats_itself_and_goes_on_from_a_checkpoint_bit_for_bit():
    card()
    from footfall.learn.training_bench import repeats

    assert repeats() == {"again": True, "from_checkpoint": True}


def test_the_card_acts_as_the_policy_that_is_saved():
    card()
    from footfall.learn.cuda_training import CudaTraining

    training = CudaTraining(WalkTask.of(load("dynakat")), 256, seed=3)
    training.iterate(3)
    ppo, policy = training.ppo, training.policy()
    seen = ppo.seen.cpu().numpy().astype(float).T
    ppo._normalised(ppo.seen, ppo.last[:-1])
    center = ppo.networks.actions(ppo.last).cpu().numpy().T
    assert np.abs(np.clip(center, -1.0, 1.0) - policy.action(seen)).max() < 5e-3  # products in TF32


def test_a_blind_training_repeats_itself_and_its_actor_is_not_told_what_its_critic_is():
    card()
    from footfall.learn.cuda_training import CudaTraining
    from footfall.learn.training_bench import repeats

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

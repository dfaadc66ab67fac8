"""Learning curves in other programs: TensorBoard's event files, Weights & Biases."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from footfall.errors import MissingExtraError, unknown
from nptrace._types import Json

LOGS = ("tensorboard", "wandb")
_STEP = "iteration"


class Log(Protocol):
    """Receive the rows of a curve as they are produced."""

    def row(self, row: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class TensorBoard:
    """Event files in the folder ``NAME.tensorboard`` beside the policy."""

    def __init__(self, policy: Path, config: Mapping[str, Json]) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise MissingExtraError("logging for TensorBoard", "tensorboard", "tensorboardX") from None
        self.writer = SummaryWriter(str(policy.with_suffix(".tensorboard")))
        self.writer.add_text("training", ", ".join(f"{key} {value}" for key, value in config.items()))

    def row(self, row: Mapping[str, float]) -> None:
        for key, value in row.items():
            if key != _STEP:
                self.writer.add_scalar(f"training/{key}", value, int(row[_STEP]))

    def close(self) -> None:
        self.writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases, in the folder ``wandb`` beside the policy. Nothing is sent unless WANDB_MODE says so:
    ``wandb sync`` sends it later."""

    def __init__(self, policy: Path, config: Mapping[str, Json]) -> None:
        try:
            import wandb
        except ImportError:
            raise MissingExtraError("logging for Weights & Biases", "wandb", "wandb") from None
        mode = os.environ.get("WANDB_MODE", "offline")
        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", "footfall"),
            name=policy.stem,
            dir=str(policy.parent),
            config=dict(config),
            mode=mode,
            reinit="create_new",
        )

    def row(self, row: Mapping[str, float]) -> None:
        rest = {f"training/{key}": value for key, value in row.items() if key != _STEP}
        self.run.log(rest, step=int(row[_STEP]))

    def close(self) -> None:
        self.run.finish()


class Logs:
    """Several logs as one, which may be none."""

    def __init__(self, logs: Sequence[Log]) -> None:
        self.logs = logs

    def row(self, row: Mapping[str, float]) -> None:
        for log in self.logs:
            log.row(row)

    def close(self) -> None:
        for log in self.logs:
            log.close()


def make_log(names: str | Sequence[str], policy: Path, config: Mapping[str, Json]) -> Log:
    """Return the logs of a training by their names in ``LOGS``; missing packages are reported before the training."""
    made: list[Log] = []
    for name in dict.fromkeys([names] if isinstance(names, str) else names):
        if name not in LOGS:
            raise unknown("log", name, LOGS)
        made.append(TensorBoard(policy, config) if name == "tensorboard" else WeightsAndBiases(policy, config))
    return Logs(made)

"""``footfall train``: learn to walk, on level or rough ground, or to get up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli import completing
from footfall.cli.common import JsonOption, examples, load_robot, print_json, progress, tell, with_model_options
from footfall.cli.run_options import MotorsOption
from nptrace._types import Given

if TYPE_CHECKING:
    from footfall.learn.training import Trained

NAME = "train"
EXAMPLES = examples(
    "footfall train mini_cheetah --out trot.npz",
    "footfall train go2 --device cuda --seed 3 --out go2.onnx --json",
    "footfall train mini_cheetah --task recover --device cuda --iterations 1500",
    "footfall train mini_cheetah --history 3 --randomise latency=0:2 --randomise noise=1 --out late.onnx",
    "footfall train go2 --motors go2_motors.json --out go2.npz",
    "footfall train mini_cheetah --out trot.npz --iterations 800 --resume",
)


@with_model_options
def command(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="A robot's name, or a URDF or MJCF file.")],
    task: Annotated[
        str,
        typer.Option(
            "--task", autocompletion=completing.tasks, help="The task: walk, rough, ...; an unknown name lists all."
        ),
    ] = "walk",
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, or auto: a GPU where there is one.")] = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", help="The policy (.npz or .onnx); curve, picture and checkpoint go beside it."),
    ] = None,
    robots: Annotated[int | None, typer.Option("--robots", help="How many learn at once.")] = None,
    iterations: Annotated[
        int, typer.Option("--iterations", help="Each of 24 ticks of every robot, on a processor 16.")
    ] = 400,
    reward: Annotated[
        float | None, typer.Option("--reward", help="Stop once the mean reward per tick is that high.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, help="Stop after so many seconds of training.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed, machine and software give the same policy.")] = 0,
    history: Annotated[int | None, typer.Option("--history", help="Observations it sees: 1, rough_blind 3.")] = None,
    randomise: Annotated[
        list[str] | None,
        typer.Option("--randomise", metavar="NAME=LEAST:MOST", help="What differs between robots: latency=0:2."),
    ] = None,
    motors: MotorsOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint beside the policy.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Learn to walk, to walk over rough ground, or to get up, by PPO: on a GPU in seconds, on a processor in minutes.

    May be killed at any time: --resume goes on from the last checkpoint.
    """
    from footfall.learn.training import train

    subject = load_robot(robot)
    file = out if out is not None else Path(f"{subject.name}-{task}.npz")
    with progress("training") as report_progress:
        trained = train(
            subject,
            file,
            task,
            device,
            robots=robots,
            iterations=iterations,
            reward=reward,
            seconds=seconds,
            seed=seed,
            resume=resume,
            history=history,
            randomise=_ranges(randomise or []),
            motors=motors,
            progress=report_progress,
        )
    if as_json:
        training, last = trained.training, trained.last
        print_json(
            {
                "robot": subject.name,
                "task": task,
                "device": training.device,
                "robots": training.robots,
                "seconds": training.seconds,
                "samples": int(last["samples"]),
                "reward": last["reward"],
                "seed": seed,
                "score": last["score"],
                "mastered": trained.mastered,
                "policy": str(trained.policy),
            }
        )
        return
    _summarise(trained)


def _summarise(trained: Trained) -> None:
    """Print a summary of the training."""
    training, last = trained.training, trained.last
    kind = "of processor time" if training.device == "cpu" else "on the GPU"
    tell(
        f"{int(last['samples'])} ticks in {training.seconds:.1f} s {kind}: reward {last['reward']:.4f} per tick, speed"
        f" off by {last['forward_error']:.3f} m/s, score {last['score']:.3f}, {last['falls']:.3f} falls per robot and"
        f" second: {trained.policy}"
    )
    if trained.mastered is not None:
        tell(f"the best policy, which was kept, masters {100 * trained.mastered:.0f} % of the exam")


def _ranges(given: list[str]) -> bool | dict[str, Given]:
    """Return the ranges of ``--randomise`` by name; True, the task's own, where it names none."""
    from footfall.errors import InputError

    ranges: dict[str, Given] = {}
    for text in given:
        name, _, numbers = text.partition("=")
        if name in ranges:
            raise InputError(f"--randomise is given twice for {name}")
        try:
            least, _, most = numbers.partition(":")
            ranges[name] = (float(least), float(most)) if most else float(least)
        except ValueError:
            raise InputError(f"--randomise takes NAME=LEAST:MOST, such as latency=0:2, got '{text}'") from None
    return ranges or True

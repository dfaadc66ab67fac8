"""``footfall train``: train a policy to walk, on level or rough ground, to stand up, or on the task of a file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footfall.cli import common, completing
from footfall.cli.common import JsonOption, examples, load_robot, note, print_json, progress, tell, with_model_options
from footfall.cli.run_options import MotorsOption
from nptrace._types import Given

if TYPE_CHECKING:
    from footfall.learn.training import Trained

NAME = "train"
EXAMPLES = examples(
    "footfall train mini_cheetah --out trot.npz",
    "footfall train go2 --device cuda --seed 3 --out go2.onnx --json",
    "footfall train mini_cheetah --task recover --device cuda --iterations 1500",
    "footfall train --example-task walk --out my_walk.toml",
    "footfall train mini_cheetah --task my_walk.toml --seconds 120 --log tensorboard --out mine.npz",
    "footfall train mini_cheetah --history 3 --randomise latency=0:2 --randomise noise=1 --out late.onnx",
    "footfall train go2 --motors go2_motors.json --out go2.npz",
    "footfall train mini_cheetah --out trot.npz --iterations 800 --resume",
)


@with_model_options
def command(
    robot: Annotated[
        str | None,
        typer.Argument(metavar="ROBOT", help="A library name, or a path to a URDF or MJCF file.", show_default=False),
    ] = None,
    task: Annotated[
        str,
        typer.Option(
            "--task",
            autocompletion=completing.tasks,
            help="The task: walk, recover, rough, rough_blind, or a TOML file.",
        ),
    ] = "walk",
    example_task: Annotated[
        str | None,
        typer.Option(
            "--example-task",
            autocompletion=completing.tasks,
            help="Write the TOML file of a task to --out FILE.toml, or to standard output.",
        ),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, or auto (a GPU if there is one).")] = "auto",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Policy to write (.npz or .onnx); the learning curve and the checkpoint are saved beside it."
        ),
    ] = None,
    robots: Annotated[int | None, typer.Option("--robots", help="Number of robots that are simulated at once.")] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            help="Number of iterations (default 400; unlimited with --seconds).",
            show_default=False,
        ),
    ] = None,
    reward: Annotated[
        float | None, typer.Option("--reward", help="Stop when the mean reward per tick reaches this value.")
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.0, help="Stop after this wall-clock time [s]."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Random seed; the same seed, machine and software give the same policy.")
    ] = 0,
    history: Annotated[
        int | None,
        typer.Option("--history", help="Number of past observations that the policy sees (default 1; rough_blind 3)."),
    ] = None,
    randomise: Annotated[
        list[str] | None,
        typer.Option("--randomise", metavar="NAME=LEAST:MOST", help="Range of a randomized parameter: latency=0:2."),
    ] = None,
    motors: MotorsOption = None,
    contact: Annotated[
        str | None,
        typer.Option("--contact", help="What it learns on: default, yielding, planning (quick steps of 5 ms)."),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option("--log", help="Also log to tensorboard, or to wandb (offline unless WANDB_MODE is set)."),
    ] = None,
    allow_code: Annotated[
        bool,
        typer.Option(
            "--allow-code",
            help="Allow terms module:name in the task file, which are code; remembered for --resume.",
        ),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint beside the policy.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a policy to walk or to stand up, by PPO.

    Takes seconds on a GPU, minutes on a processor. The progress line shows the mean reward per tick, the score and the
    estimated remaining time. The score is between 0 and 1: for walk, the fraction of feet whose contact state agrees
    with the gait clock; for the other tasks, the mean level of difficulty reached.

    Stop at any time with Ctrl-C or SIGTERM: the current policy is saved, and --resume continues from the checkpoint
    beside it, with the same result as an uninterrupted training.
    """
    from footfall.errors import InputError
    from footfall.learn.training import train

    if example_task is not None:
        _write_example(example_task, out)
        return
    if robot is None:
        raise InputError("train needs a robot: its name, or a URDF or MJCF file")
    subject = load_robot(robot)
    file = out if out is not None else Path(f"{subject.name}-{Path(task).stem}.npz")

    results: list[Trained] = []
    try:
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
                contact=contact,
                progress=report_progress,
                log=log or (),
                allow_code=allow_code,
                ended=results.append,
            )
    finally:
        if results and results[0].ended in ("SIGINT", "SIGTERM", "error"):
            _stopped(results[0])
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
                "resume": resume_command(trained),
            }
        )
        return
    _summarise(trained)


def _write_example(name: str, out: Path | None) -> None:
    """Write the TOML file of a task to a new file, or to standard output."""
    from footfall.errors import InputError
    from footfall.learn.task_spec import example

    text = example(name)
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.suffix != ".toml":
        raise InputError(f"a task is a .toml file, got {out}")
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{out} exists already: remove it, or choose another name") from None
    tell(f"the task {name} is in {out}: edit it, then run  footfall train ROBOT --task {shlex.quote(str(out))}")


def _stopped(trained: Trained) -> None:
    """Print where a stopped training has saved its policy, and how to continue it."""
    from footfall.learn.training import END_WORDS

    done = trained.training.curve[-1]
    note(
        f"training {END_WORDS[trained.ended]} after iteration {int(done['iteration'])}, policy saved to"
        f" {trained.policy}; continue with:  {resume_command(trained)}"
    )


def resume_command(trained: Trained) -> str:
    """Return the command line that continues a training: to its end if stopped, otherwise for as long again."""
    words = list(common._typed)
    last = trained.training.curve[-1]
    if trained.ended == "seconds":
        words = _with_option(words, "--seconds", f"{2.0 * trained.training.seconds:.0f}")
    elif trained.ended in ("iterations", "reward"):
        words = _with_option(words, "--iterations", f"{2 * int(last['iteration'])}")
    if trained.ended == "reward":
        words = _with_option(words, "--reward", None)
    return shlex.join(["footfall", *words, *([] if "--resume" in words else ["--resume"])])


def _with_option(words: list[str], name: str, value: str | None) -> list[str]:
    """Return a command line with another value of an option, or without the option where the value is None."""
    kept, skip = [], False
    for word in words:
        if skip or word == name:
            skip = word == name and not skip
            continue
        if not word.startswith(f"{name}="):
            kept.append(word)
    return kept if value is None else [*kept, name, value]


def _summarise(trained: Trained) -> None:
    """Print a summary of the training."""
    from footfall.learn.training import END_WORDS

    training, last = trained.training, trained.last
    tell(
        f"{int(last['samples'])} ticks in {training.seconds:.1f} s: reward {last['reward']:.4f} per tick, speed off by"
        f" {last['forward_error']:.3f} m/s, score {last['score']:.3f}, {last['falls']:.3f} falls per robot and second:"
        f" {trained.policy}"
    )
    tell(f"score: {training.task.score_meaning}")
    if trained.mastered is not None:
        tell(f"the saved policy is the best one: it masters {100 * trained.mastered:.0f} % of the evaluation")
    tell(f"{END_WORDS[trained.ended]}; to train longer:  {resume_command(trained)}")


def _ranges(given: list[str]) -> bool | dict[str, Given]:
    """Return the ranges of ``--randomise`` by name; True, the task's ranges, where only a name is given."""
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

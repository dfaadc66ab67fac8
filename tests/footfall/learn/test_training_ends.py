"""How trainings end: by the clock, by a signal, by an error; a policy is written, and the printed command goes on."""

import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from footfall.cli.main import run
from footfall.cli.train import _with_option
from footfall.control.learned.policy import Policy
from footfall.errors import InputError, MissingExtraError
from footfall.learn import logs
from footfall.learn.ppo import Settings
from footfall.learn.training import CpuTraining, duration, train

pytest.importorskip("gymnasium")
SMALL = Settings(steps=4, rows=32, hidden=(8, 8))
LINE = ["train", "dynakat", "--device", "cpu", "--robots", "8", "--seed", "3"]


def numbers(path):
    with np.load(path) as archive:
        return {key: archive[key] for key in archive.files if key not in ("words", "format")}


def same(one, other):
    a, b = numbers(one), numbers(other)
    return a.keys() == b.keys() and all((a[key] == b[key]).all() for key in a)


def test_seconds_are_of_the_clock(tmp_path, monkeypatch):
    """An iteration that waits without computing counts: processor time would go on for minutes."""
    iterate = CpuTraining.iterate

    def slow(self, count=1):
        time.sleep(0.4)
        return iterate(self, count)

    monkeypatch.setattr(CpuTraining, "iterate", slow)
    seen = []
    began = time.monotonic()
    done = train(
        "dynakat", tmp_path / "p.npz", device="cpu", robots=4, seconds=1.0, settings=SMALL,
        progress=lambda what, done, of: seen.append((time.monotonic(), what, done, of)),
    )  # fmt: skip
    assert done.ended == "seconds"
    first, last = seen[0][0] - 0.4, seen[-1][0]
    assert last - first > 0.9
    assert done.training.iteration <= 3  # each is 0.4 s or more
    assert time.monotonic() - began >= 1.0
    assert all("left" in what and of == 1 for _, what, _, of in seen)


def test_seconds_alone_lift_the_bound_on_iterations(tmp_path):
    seen = []
    train(
        "dynakat", tmp_path / "p.npz", device="cpu", robots=4, seconds=0.5, settings=SMALL,
        progress=lambda what, done, of: seen.append(what),
    )  # fmt: skip
    assert seen[0].startswith("iteration 1, reward")
    assert "about" in seen[0]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_leaves_a_policy_and_the_printed_command_goes_on_to_the_same_bits(tmp_path, name):
    out, whole = tmp_path / "p.npz", tmp_path / "whole.npz"
    line = [*LINE, "--iterations", "14", "--out", str(out)]
    child = (
        "import sys, time\n"
        "from footfall.learn import training\n"
        "iterate = training.CpuTraining.iterate\n"
        "def slow(self, count=1):\n"
        "    row = iterate(self, count)\n"
        "    print(self.iteration, flush=True)\n"
        "    time.sleep(0.3)\n"
        "    return row\n"
        "training.CpuTraining.iterate = slow\n"
        "from footfall.cli.main import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", child, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    for said in process.stdout:
        if said.strip() == "3":
            process.send_signal(getattr(signal, name))
            break
    _, errors = process.communicate(timeout=120)
    assert process.returncode == {"SIGTERM": 143, "SIGINT": 130}[name]
    stopped = Policy.load(out)
    assert np.isfinite(stopped.mean).all()
    words = next(said for said in errors.splitlines() if "continue with:" in said)
    command = shlex.split(words.partition("continue with:")[2])
    assert command == ["footfall", *line, "--resume"]
    assert out.with_suffix(".csv").read_text().count("\n") < 14
    assert run(command[1:]) == 0
    assert run([*LINE, "--iterations", "14", "--out", str(whole)]) == 0
    assert same(out, whole)
    assert not list(tmp_path.glob(".*"))


def test_an_error_in_a_worker_leaves_the_policy_of_the_iteration_before_and_goes_on_to_the_same_bits(
    tmp_path, monkeypatch, capsys
):
    options = {"device": "cpu", "robots": 8, "seed": 3, "settings": SMALL}
    whole, out = tmp_path / "whole.npz", tmp_path / "p.npz"
    train("dynakat", whole, iterations=5, **options)

    from footfall.learn import ppo

    losses, count = ppo.value_loss, [0]

    def fails(*arguments):  # in the thread of the critic, in the middle of the third iteration
        count[0] += 1
        if count[0] == 2 * SMALL.epochs + 2:
            raise MemoryError("no room")
        return losses(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(ppo, "value_loss", fails)
        ended = []
        with pytest.raises(MemoryError, match="no room"):
            train("dynakat", out, iterations=5, ended=ended.append, **options)
    assert ended[0].ended == "error"
    assert [row["iteration"] for row in ended[0].training.curve] == [1, 2]
    two = tmp_path / "two.npz"
    train("dynakat", two, iterations=2, **options)
    assert same(out, two)
    train("dynakat", out, iterations=5, resume=True, **options)
    assert same(out, whole)


def test_the_command_says_how_to_go_on_after_an_error(tmp_path, monkeypatch, capsys):
    iterate = CpuTraining.iterate

    def fails(self, count=1):
        if self.iteration == 2:
            raise OSError("the disk is gone")
        return iterate(self, count)

    out = tmp_path / "p.npz"
    line = [*LINE, "--iterations", "3", "--out", str(out)]
    with monkeypatch.context() as patch:
        patch.setattr(CpuTraining, "iterate", fails)
        assert run(line) == 2
    said = capsys.readouterr().err
    assert "stopped by an error after iteration 2" in said
    assert shlex.join(["footfall", *line, "--resume"]) in said
    assert run([*line, "--resume"]) == 0
    assert "iterations are done; to train longer:" in capsys.readouterr().out


def test_options_of_a_command_line_are_replaced_however_they_are_written():
    words = ["train", "go2", "--seconds", "5", "--seed=1", "--seconds=7", "--out", "x.npz"]
    assert _with_option(words, "--seconds", "10") == ["train", "go2", "--seed=1", "--out", "x.npz", "--seconds", "10"]
    assert _with_option(words, "--seed", None) == [word for word in words if word != "--seed=1"]


def test_times_are_said_in_words():
    assert [duration(x) for x in (0.4, 59.0, 61.0, 3725.0)] == ["0 s", "59 s", "1 min 1 s", "1 h 2 min"]


# -- logs --------------------------------------------------------------------------------------------------------------
def test_tensorboard_reads_the_curve(tmp_path):
    """The files are read back by the format's own definition: records of events in protocol buffers."""
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    done = train("dynakat", tmp_path / "p.npz", device="cpu", robots=4, iterations=3, settings=SMALL, log="tensorboard")
    (file,) = (tmp_path / "p.tensorboard").iterdir()
    data, at, found = file.read_bytes(), 0, {}
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        event = Event.FromString(data[at + 12 : at + 12 + size])
        at += 16 + size
        for value in event.summary.value:
            if value.tag.startswith("training/"):
                found[event.step, value.tag.removeprefix("training/")] = value.simple_value
    for row in done.training.curve:
        assert found[row["iteration"], "reward"] == pytest.approx(row["reward"], rel=1e-6)
        assert found[row["iteration"], "score"] == pytest.approx(row["score"], rel=1e-6)


def test_wandb_keeps_the_curve_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    train("dynakat", tmp_path / "p.npz", device="cpu", robots=4, iterations=2, settings=SMALL, log=["wandb"])
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert b"training/reward" in file.read_bytes()


@pytest.mark.parametrize(("name", "package"), [("tensorboard", "tensorboardX"), ("wandb", "wandb")])
def test_a_log_that_is_not_installed_says_what_to_install(tmp_path, monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'footfall\[{name}\]'"):
        logs.make_log(name, tmp_path / "p.npz", {})
    assert not list(tmp_path.iterdir())


def test_an_unknown_log_is_refused_with_the_choices(tmp_path):
    with pytest.raises(InputError, match=r"unknown log 'tensorbord' .* choose tensorboard, wandb"):
        train("dynakat", tmp_path / "p.npz", device="cpu", robots=4, iterations=1, log="tensorbord")

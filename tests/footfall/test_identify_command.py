"""``footfall identify motors`` from the command line."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from footfall.cli import main as cli

GO2 = str(files("footfall_lab.reality") / "data" / "go2_joints.npz")


@pytest.mark.slow
def test_the_motors_of_a_real_go2_follow_the_half_held_out_three_times_as_well(tmp_path, capsys):
    """Eight seconds of the recording, by gradients: the whole is 'footfall reproduce reality'."""
    with np.load(GO2) as archive:
        content = {key: archive[key][900:2500] for key in archive}
    np.savez(tmp_path / "part.npz", **content)
    out = tmp_path / "motors.json"
    arguments = ["identify", "motors", str(tmp_path / "part.npz"), "--robot", "go2", "--method", "gradients"]
    assert cli.run([*arguments, "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == json.loads(out.read_text())
    assert said["rms_after"] < said["rms_before"] / 3.0
    assert said["columns"] == list(range(12))
    assert len(said["orders_alike"]) == 4
    assert np.shape(said["table"]) == (12, 7)
    verdicts = np.array(said["methods"]["gradients"]["verdicts"])
    assert any("not identifiable" in word for word in verdicts.ravel())
    assert (verdicts == "").any()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["identify", "engines", GO2, "--robot", "go2"], "unknown thing to identify"),
        (["identify", "motors", "nowhere.npz", "--robot", "go2"], "nowhere.npz"),
        (["identify", "motors", GO2, "--robot", "spined"], "spined"),
        (["identify", "motors", GO2, "--robot", "go2", "--method", "guess"], "unknown method"),
        (["identify", "motors", GO2], "--robot"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, words, capsys):
    assert cli.run(arguments) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if "a mesh, taken" not in line]
    assert len(said) == 1
    assert words in said[0]

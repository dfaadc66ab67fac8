"""simulate, compare and reproduce from the command line: short runs, one JSON object, one line for a mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from footfall.cli import main as cli
from footfall.recording.recording import Recording
from footfall_lab import papers as experiments
from footfall_lab.papers import recorded
from footfall_lab.papers.claims import Claim, Outcome
from footfall_lab.papers.registered import registration

SIMULATE_KEYS = {
    "robot",
    "gait",
    "controller",
    "contact",
    "duration",
    "steps",
    "wall_seconds",
    "distance",
    "commanded_speed",
    "nominal_speed",
    "mean_speed",
    "mean_velocity",
    "fell",
    "diverged",
    "cost_of_transport",
    "energy_residual",
    "recording",
    "stopped",
}


def answer(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, Any]:
    assert cli.run([*arguments, "--json"]) == status
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return json.loads(out)


# -- simulate ----------------------------------------------------------------------------------------------------------
def test_simulate_says_what_came_of_a_run_and_records_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trot.mcap"
    found = answer(capsys, "simulate", "mini_cheetah", "--duration", "1.5", "--out", str(file))
    assert set(found) >= SIMULATE_KEYS
    assert (found["robot"], found["gait"], found["controller"]) == ("mini_cheetah", "trot", "pd")
    assert found["steps"] == 1500
    assert found["commanded_speed"] is None
    assert found["nominal_speed"] == pytest.approx(0.1 / (0.5 * 0.5))
    assert not found["fell"]
    assert not found["diverged"]
    assert found["energy_residual"] < 0.01
    assert found["recording"] == str(file)
    assert len(Recording.load(file)) == 1500


def test_simulate_prints_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["simulate", "mini_cheetah", "--controller", "hold", "--duration", "0.2"]) == 0
    text = capsys.readouterr().out
    assert "mean speed" in text
    assert "cost of transport" in text


def test_speed_sets_the_stride_and_a_steeper_ground_is_felt(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "simulate", "mini_cheetah", "--duration", "0.3", "--speed", "0.2", "--ground", "slope:8")
    assert (found["commanded_speed"], found["nominal_speed"]) == (0.2, None)
    assert found["ground"] == "slope:8"


@pytest.mark.parametrize("contact", ["compliant", "complementarity", "stance"])
@pytest.mark.parametrize("ground", ["plane", "slope:5"])
def test_the_default_trot_goes_as_fast_as_asked_with_every_contact(
    contact: str, ground: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, "simulate", "mini_cheetah", "--contact", contact, "--ground", ground, "--duration", "8")
    assert not found["fell"]
    assert found["mean_speed"] == pytest.approx(found["nominal_speed"], rel=0.15)


def test_a_run_file_holds_options_and_the_command_line_wins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.toml"
    file.write_text('robot = "mini_cheetah"\nconstants = "B"\nduration = 5\nout = "run.mcap"\nfriction = 1.0\n')
    found = answer(capsys, "simulate", str(file), "--duration", "0.2")
    assert found["duration"] == pytest.approx(0.2)
    assert found["nominal_speed"] == pytest.approx(0.06 / (0.56 * 0.38))
    assert Path(found["recording"]) == tmp_path / "run.mcap"
    assert (tmp_path / "run.mcap").exists()


def test_a_robot_that_falls_is_a_failed_check(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(
        capsys,
        "simulate",
        "mini_cheetah",
        "--controller",
        "hold",
        "--kp",
        "0",
        "--kd",
        "0",
        "--duration",
        "2",
        status=1,
    )
    assert found["fell"] or found["diverged"]
    assert found["duration"] < 2.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--dt", "1"], "dt must lie between"),
        (["--dt", "-1e-3"], "dt must be positive"),
        (["--duration", "0"], "duration must be positive"),
        (["--kp", "-3"], "kp of JointPD must be 0 or more"),
        (["--friction", "-1"], "not negative"),
        (["--speed", "nan"], "speed must be a finite number"),
        (["--gait", "trott"], "unknown gait 'trott' (did you mean 'trot'?)"),
        (["--constants", "Z"], "choose A, B, C, D, E"),
        (["--contact", "glue"], "unknown contact model 'glue': choose compliant"),
        (["--controller", "magic"], "unknown controller 'magic': choose hold, pd"),
        (["--ground", "swamp"], "unknown ground 'swamp': choose plane, slope:D"),
        (["--ground", "slope:steep"], "slope needs an angle"),
        (["--integrator", "euler"], "unknown integrator 'euler'"),
        (["--drop", "-0.05"], "inside the ground"),
        (["--turn", "1"], "takes no turn"),
        (["--controller", "hold", "--gait", "trot"], "takes no gait"),
        (["--out", "trot.csv"], "a recording is an .mcap file"),
        (["--seed", "-1"], "seed must not be negative"),
    ],
)
def test_a_bad_option_is_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["simulate", "mini_cheetah", "--duration", "0.1", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("robot = [", "is not TOML"),
        ("gait = 'trot'", "names no robot"),
        ("robot = 'mini_cheetah'\ndurtion = 1", "did you mean 'duration'?"),
        ("robot = 'mini_cheetah'\nduration = 'long'", "duration must be a finite number, got 'long'"),
        ("robot = 'mini_cheetah'\nseed = 1.5", "seed must be a whole number"),
        ("robot = 'mini_cheetah'\nkp = true", "kp must be a finite number"),
        ("robot = 3", "robot must be a string"),
    ],
)
def test_a_broken_run_file_is_one_sentence(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text)
    assert cli.run(["simulate", str(file)]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_what_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["simulate", "nobot"]) == 2
    assert "unknown robot 'nobot'" in capsys.readouterr().err
    assert cli.run(["simulate", str(tmp_path / "none.toml")]) == 2
    assert "cannot read the run file" in capsys.readouterr().err


# -- compare -----------------------------------------------------------------------------------------------------------
def test_compare_measures_the_distance_to_mujoco(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trot.mcap"
    found = answer(capsys, "compare", "mini_cheetah", "--against", "mujoco", "--duration", "0.5", "--out", str(file))
    assert set(found) >= {
        "position_mae",
        "euler_mae_deg",
        "force_mae",
        "contact_agreement",
        "peak_force",
        "wall_seconds",
    }
    assert [len(found[key]) for key in ("position_mae", "euler_mae_deg", "peak_force", "wall_seconds")] == [3, 3, 2, 2]
    assert max(found["position_mae"]) < 0.02
    assert found["fell"] == [False, False]
    assert found["stopped"] == [None, None]
    assert found["mean_speed"][0] == pytest.approx(found["mean_speed"][1], abs=0.05)
    assert 0.8 < found["contact_agreement"] <= 1.0
    assert len(Recording.load(tmp_path / "trot.mujoco.mcap")) == len(Recording.load(file)) == 500


def test_compare_prints_tables_and_knows_its_referees(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compare", "mini_cheetah", "--duration", "0.1"]) == 0
    text = capsys.readouterr().out
    assert "trunk position x" in text
    assert " mm" in text
    assert cli.run(["compare", "mini_cheetah", "--against", "gazebo"]) == 2
    assert "choose mujoco" in capsys.readouterr().err


# -- reproduce ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """An experiment that takes no time; what it was asked for is collected."""
    asked: list[dict[str, Any]] = []

    def run(
        name: str,
        quick: bool = False,
        progress: Any = None,
        workers: int = 1,
        full: bool = False,
        recordings: Any = None,
    ) -> Outcome:
        asked.append({"name": name, "quick": quick})
        claims = [
            Claim(id="x", claim="an error", printed=63.0, measured=60.0, unit="mm", verdict="holds", note="a note"),
            Claim(id="o", claim="a question", printed=None, measured=1.0, unit="mm", verdict="holds", ours=True),
        ]
        if name == "broken":
            claims.append(
                Claim(
                    id="t",
                    claim="a speed",
                    printed=1.0,
                    measured=2.0,
                    unit="m/s",
                    verdict="does_not_hold",
                    note="twice",
                )
            )
        return Outcome(experiment=name, title=f"Experiment <{name}>", summary="What & why.", claims=tuple(claims))

    monkeypatch.setattr(experiments, "run", run)
    kept = {name: {"x": "holds", "o": "holds"} for name in ("depaula2024", "broken")}
    kept["broken"]["t"] = "holds"
    digests = registration().digests
    monkeypatch.setattr(recorded, "record", lambda: recorded.Record(digests, kept, {}))
    monkeypatch.setattr(experiments, "names", lambda: ("depaula2024", "broken"))
    return asked


def test_reproduce_answers_claim_by_claim(
    tiny: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, "reproduce", "depaula2024", "--out", str(tmp_path))
    assert found["experiment"] == "depaula2024"
    keys = {"id", "claim", "printed", "measured", "unit", "verdict", "table", "ours", "note"}
    assert set(found["claims"][0]) == keys
    assert found["summary"] == "de Paula 2024: 1 of 1 statement holds"
    assert [claim["ours"] for claim in found["claims"]] == [False, True]
    assert found["bounds"] == registration().digests["depaula2024"]
    assert "figures" in found
    assert tiny == [{"name": "depaula2024", "quick": False}]


def test_a_verdict_that_is_not_the_one_on_record_fails(
    tiny: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["reproduce", "broken", "--out", str(tmp_path)]) == 1
    said = "t is assessed as does_not_hold, on record is holds: printed 1.0, measured 2.0 m/s"
    assert said in capsys.readouterr().err
    found = answer(capsys, "reproduce", "all", "--out", str(tmp_path), status=1)
    assert [one["experiment"] for one in found["experiments"]] == ["depaula2024", "broken"]
    assert found["summary"] == [one["summary"] for one in found["experiments"]]


def test_an_unknown_experiment_lists_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["reproduce", "depaula"]) == 2
    assert "choose depaula2024" in capsys.readouterr().err

"""The rules that turn a printed and a measured value into a verdict."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
from pathlib import Path

import pytest

from footfall.errors import InputError
from footfall_lab.papers.claims import (
    Claim,
    Outcome,
    Spread,
    assess,
    counts,
    line,
    range_of,
    sentence,
    shown,
    with_first,
)
from footfall_lab.papers.registered import registration

SPREAD = Spread(of="gaits", runs=3, low=40.0, middle=60.0, high=90.0, inside=True)


def test_a_number_without_a_printed_set_up_is_open_and_needs_its_range() -> None:
    for measured in (63.0, 5000.0):
        claim = assess("depaula2024", "trunk_position_mae_x", measured, "measured", spread=SPREAD)
        assert claim.verdict == "open"
        assert "40 to 90 over 3 gaits, median 60; the printed value is inside" in claim.note
    with pytest.raises(InputError, match="give its range over unpublished choices"):
        assess("depaula2024", "trunk_position_mae_x", 63.0, "measured")


def test_a_range_has_percentiles_and_tells_where_the_printed_value_is() -> None:
    spread = range_of([1.0, 2.0, 3.0, float("nan")], 2.5, "gaits", (0.0, 100.0))
    assert (spread.runs, spread.low, spread.middle, spread.high, spread.inside) == (3, 1.0, 2.0, 3.0, True)
    assert range_of([1.0, 2.0], 2.5, "gaits").inside is False
    assert range_of([1.0, 2.0], None, "robots").inside is None


@pytest.mark.parametrize(
    ("experiment", "id", "printed"),
    [
        (name, id, entry.printed)
        for name, entries in registration().claims.items()
        for id, entry in entries.items()
        if registration().bounds[entry.kind].rule == "factor" and isinstance(entry.printed, float) and not entry.missing
    ],
)
def test_seventeen_times_better_does_not_hold_like_seventeen_times_worse(
    experiment: str, id: str, printed: float
) -> None:
    for ratio, verdict in ((1.0, "holds"), (17.0, "does_not_hold"), (1 / 17.0, "does_not_hold")):
        claim = assess(experiment, id, ratio * printed)
        assert claim.verdict == verdict
    assert "1/17 of the printed" in claim.note


def test_a_computing_time_has_no_verdict_and_a_factor() -> None:
    claim = assess("depaula2024", "wall_time_10s", 0.1)
    assert (claim.verdict, claim.words) == ("time", "3000 times faster")
    assert assess("depaula2024", "wall_time_10s", 600.0).words == "2 times slower"


@pytest.mark.parametrize(
    ("experiment", "id", "measured", "verdict"),
    [
        ("depaula2024", "eq_transforms", 1e-15, "verified"),
        ("depaula2024", "erratum_26", 0.4, "erratum"),
        ("depaula2024", "erratum_34", math.nan, "erratum"),
        ("adak2021", "spine_reduces_ground_forces", 0.8, "shown"),
        ("adak2021", "spine_reduces_ground_forces", 1.0, "not_shown"),
        ("adak2021", "lagrange_agrees_with_recursive", 1e-12, "holds"),
    ],
)
def test_every_table_has_words_of_its_own(experiment: str, id: str, measured: float, verdict: str) -> None:
    assert assess(experiment, id, measured, "note").verdict == verdict


@pytest.mark.parametrize(
    ("experiment", "id", "within", "outside"),
    [
        ("depaula2024", "higher_peak_forces_than_mujoco", (1.0, 1.3), (0.99, 1.31, 5.2)),
        ("depaula2024", "fig5", (0.95, 1.0), (0.94, -1.0)),
        ("yan2021", "fig11_knee_torque_matches_simulation", (0.0, 5.0), (5.1, 11.7)),
        ("yan2021", "loop_under_1ms", (0.006, 1.0), (1.01,)),
        ("adak2021", "dof_20", (20.0,), (19.0, 21.0)),
        ("adak2021", "least_squares_reaches_exact_solution", (99.0, 100.0), (98.9,)),
        ("dynakat", "redundant_link_sets_contact_angle", (162.0, 180.0), (160.0,)),
        ("yan2021", "fig13_yaw_15_in_0.9s", (0.1, 0.9), (0.91,)),
        ("dynakat", "fig1_fabrik_converges_fastest", (0.5, 0.95), (1.0, 4.0)),
    ],
)
def test_words_have_one_reading(experiment: str, id: str, within: tuple[float], outside: tuple[float]) -> None:
    assert {assess(experiment, id, x, "measured").verdict for x in within} == {"holds"}
    assert {assess(experiment, id, x, "measured").verdict for x in outside} == {"does_not_hold"}


def test_only_a_statement_without_exception_is_refuted() -> None:
    assert assess("dynakat", "fabrik_no_weakness", 7.0, "a counterexample", holds=False).verdict == "refuted"
    assert assess("dynakat", "fabrik_no_weakness", 0.5, holds=True).verdict == "holds"
    assert assess("dynakat", "fig6_drop", 9.0, "it sinks", holds=False).verdict == "does_not_hold"


def test_what_is_missing_makes_a_claim_untestable_whatever_was_measured() -> None:
    claim = assess("adak2021", "legs_carry_quarter_of_mass", 0.25)
    assert claim.verdict == "not_testable"
    assert claim.note.startswith("Missing: the masses")


def test_several_numbers_are_judged_by_the_worst_ratio() -> None:
    for reached, ratio, verdict in (("20", 1.04, "holds"), ("25", 1.25, "does_not_hold"), ("16", 0.8, "does_not_hold")):
        assert assess("yan2021", "fig12_postures", f"5, 10, {reached}", "", compared=ratio).verdict == verdict


def test_a_claim_must_be_judged_by_what_is_registered_for_it() -> None:
    with pytest.raises(InputError, match=r"unknown claim 'fig7'.*registered for depaula2024 are"):
        assess("depaula2024", "fig7", 1.0)
    with pytest.raises(InputError, match="not by holds="):
        assess("depaula2024", "fig5", 0.9, holds=True)
    with pytest.raises(InputError, match="say holds="):
        assess("dynakat", "fig6_drop", 0.0)


def test_every_verdict_but_the_good_ones_needs_a_reason() -> None:
    for verdict in ("does_not_hold", "refuted", "open", "not_testable", "erratum", "not_shown"):
        with pytest.raises(InputError, match="without a reason"):
            Claim(id="r", claim="a statement", printed=1.0, measured=4.2, unit="", verdict=verdict)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be one of holds, does_not_hold, refuted, open, not_testable, verified"):
        Claim(id="c", claim="a statement", printed=None, measured=None, unit="", verdict="maybe")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="it has no printed value"):
        Claim(id="c", claim="a question", printed=1.0, measured=1.0, unit="", verdict="holds", ours=True)


def test_questions_of_our_own_are_never_counted_and_equations_one_by_one() -> None:
    good = Claim(id="a", claim="a claim", printed=1.0, measured=1.0, unit="", verdict="holds")
    wrong = Claim(id="b", claim="a claim", printed=1.0, measured=2.0, unit="", verdict="does_not_hold", note="twice")
    own = Claim(id="c", claim="a question", printed=None, measured=1.0, unit="", verdict="holds", ours=True)
    three = dataclasses.replace(good, id="e", verdict="verified", table="equation", equations=("(1)", "(2)", "(3)"))
    slip = dataclasses.replace(wrong, id="f", verdict="erratum", table="equation", equations=("(4)",))
    numbers = counts([good, wrong, own, dataclasses.replace(own, id="d", verdict="does_not_hold"), three, slip])
    assert {verdict: n for verdict, n in numbers.items() if n} == {
        "holds": 1,
        "does_not_hold": 1,
        "verified": 3,
        "erratum": 1,
    }
    assert (
        sentence(numbers)
        == "Of 4 equations 3 verified, 1 erratum; of 2 statements 1 hold, 1 do not, 0 refuted, 0 open."
    )
    assert (own.words, wrong.words) == ("yes", "does not hold")


def test_one_line_tells_a_paper() -> None:
    claims = [
        assess("depaula2024", "eq_transforms", 1e-15),
        assess("depaula2024", "erratum_26", 0.4, "swapped"),
        assess("depaula2024", "fig6", 0.98),
        assess("depaula2024", "fig5", 0.7, "pitch"),
        assess("depaula2024", "trunk_position_mae_x", 90.0, spread=SPREAD),
        assess("depaula2024", "wall_time_10s", 0.1),
        assess("depaula2024", "mujoco_wall_time_10s", 1.0),
    ]
    assert line("depaula2024", claims) == (
        "de Paula 2024: 5 of 6 equations verified, 1 erratum; 1 of 2 statements hold; not: motion of the trunk (the"
        " worst of six signals); 1 number open, 1 of 1 printed values inside our range; 3 000 times faster than printed"
    )
    assert line("contact_comparison", [assess("contact_comparison", "drop_residual", 0.0, holds=True)]) == (
        "Three contact models: 1 of 1 questions of our own answered yes"
    )


def test_json_has_every_key_and_no_number_that_json_lacks() -> None:
    first = assess("depaula2024", "trunk_position_mae_x", 654.0, "first", spread=SPREAD)
    claim = assess("depaula2024", "trunk_position_mae_x", math.inf, "note", spread=SPREAD)
    (claim,) = with_first([claim], [first])
    found = json.loads(json.dumps(claim.to_json(), allow_nan=False))
    keys = ["id", "claim", "printed", "measured", "unit", "verdict", "table", "ours", "note", "spread"]
    assert list(found) == [*keys, "as_first_registered"]
    assert found["measured"] is None
    assert found["spread"] == {"of": "gaits", "runs": 3, "low": 40.0, "middle": 60.0, "high": 90.0, "inside": True}
    assert found["as_first_registered"]["measured"] == 654.0
    assert found["as_first_registered"]["verdict"] == "open"
    outcome = Outcome(experiment="depaula2024", title="title", summary="", claims=(claim,))
    whole = outcome.to_json(["a.png"])
    assert whole["experiment"] == "depaula2024"
    assert str(whole["summary"]).startswith("de Paula 2024: 1 number open")
    assert whole["figures"] == ["a.png"]
    assert whole["bounds"] == registration().digests["depaula2024"]
    assert outcome.claim("trunk_position_mae_x") is claim
    with pytest.raises(InputError, match="unknown claim 'z'"):
        outcome.claim("z")


def test_values_are_shown_briefly() -> None:
    assert [shown(v) for v in (None, True, "similar", 60.72, 1494.2, 0.00123, float("nan"))] == [
        "–",
        "yes",
        "similar",
        "60.7",
        "1490",
        "0.0012",
        "no number",
    ]


def test_the_page_of_verdicts_has_a_note_in_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "docs"))
    generate = importlib.import_module("generate_verdicts")
    entries = list(registration().claims["dynakat"].values())
    claims = [
        {
            "id": entry.id,
            "claim": entry.claim,
            "printed": 1.0,
            "measured": 2.0,
            "unit": "",
            "verdict": "holds",
            "table": entry.table,
            "ours": entry.ours,
            "note": f"because of\n  {entry.id}",
        }
        for entry in entries
    ]
    found = {"experiment": "dynakat", "title": "DynaKat", "claims": claims, "summary": "DynaKat: one line"}
    page = generate.page({"dynakat": generate.section(found)}, {"dynakat": found["summary"]}, "Of 3.")
    assert page.index("- DynaKat: one line.") < page.index("| verdict | means |")
    for entry in entries:
        (row,) = [row for row in page.splitlines() if row.endswith(f"because of {entry.id} |")]
        assert entry.claim in row


def test_what_is_not_reproduced_again_stays_on_the_page_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(__file__).parents[3]
    monkeypatch.syspath_prepend(str(root / "docs"))
    generate = importlib.import_module("generate_verdicts")
    for name, source in (("PAGE", generate.PAGE), ("README", generate.README), ("FILE", generate.FILE)):
        copy = tmp_path / source.name
        copy.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.setattr(generate, name, copy)
    generate.main([])
    for source in (root / "docs" / "research" / "verdicts.md", root / "README.md"):
        assert (tmp_path / source.name).read_text(encoding="utf-8") == source.read_text(encoding="utf-8")
    known = registration()
    monkeypatch.setattr(
        generate, "registration", lambda: dataclasses.replace(known, digests={**known.digests, "yan2021": "other"})
    )
    with pytest.raises(SystemExit, match="reproduce again: yan2021"):
        generate.main([])

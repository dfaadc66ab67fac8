"""The rules that turn a printed and a measured value into a verdict."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import sys
from pathlib import Path

import pytest

from footfall.errors import InputError
from footfall_lab.papers.claims import Claim, Outcome, counts, judge, sentence, shown
from footfall_lab.papers.registered import registration


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (63.0, "reproduced"),
        (78.75, "reproduced"),
        (78.76, "differs"),
        (50.4, "reproduced"),
        (50.3, "differs"),
        (0.0, "differs"),
        (float("nan"), "differs"),
        (float("inf"), "differs"),
    ],
)
def test_an_error_is_reproduced_within_a_quarter_either_way(measured: float, verdict: str) -> None:
    assert judge("depaula2024", "trunk_position_mae_x", measured, "measured").verdict == verdict


@pytest.mark.parametrize(
    ("experiment", "id", "printed"),
    [
        (name, id, entry.printed)
        for name, entries in registration().claims.items()
        for id, entry in entries.items()
        if registration().bounds[entry.kind].rule == "factor" and isinstance(entry.printed, float) and not entry.missing
    ],
)
def test_seventeen_times_better_differs_like_seventeen_times_worse(experiment: str, id: str, printed: float) -> None:
    for factor, verdict in ((1.0, "reproduced"), (17.0, "differs"), (1 / 17.0, "differs")):
        claim = judge(experiment, id, factor * printed)
        assert claim.verdict == verdict
    assert "1/17 of the printed" in claim.note


@pytest.mark.parametrize(
    ("experiment", "id", "within", "outside"),
    [
        ("depaula2024", "higher_peak_forces_than_mujoco", (1.0, 1.3), (0.99, 1.31, 5.2)),
        ("depaula2024", "fig5", (0.95, 1.0), (0.94, -1.0)),
        ("yan2021", "fig11_knee_torque_matches_simulation", (0.0, 5.0), (5.1, 11.7)),
        ("yan2021", "loop_under_1ms", (0.006, 1.0), (1.01,)),
        ("adak2021", "dof_20", (20.0,), (19.0, 21.0)),
        ("adak2021", "least_squares_reaches_exact_solution", (99.0, 100.0), (98.9,)),
        ("dynakat", "redundant_link_sets_contact_angle", (324.0, 360.0), (160.0,)),
        ("dynakat", "fig1_fabrik_converges_fastest", (0.5, 0.95), (1.0, 4.0)),
    ],
)
def test_words_have_one_reading(experiment: str, id: str, within: tuple[float], outside: tuple[float]) -> None:
    assert {judge(experiment, id, x, "measured").verdict for x in within} == {"reproduced"}
    assert {judge(experiment, id, x, "measured").verdict for x in outside} == {"differs"}


def test_only_a_statement_without_exception_is_refuted() -> None:
    assert judge("yan2021", "eq6_knee_angle", 0.3, "a counterexample", holds=False).verdict == "refuted"
    assert judge("yan2021", "eq6_knee_angle", 0.0, holds=True).verdict == "reproduced"
    assert judge("dynakat", "fig6_drop", 9.0, "it sinks", holds=False).verdict == "differs"


def test_what_is_missing_makes_a_claim_untestable_whatever_was_measured() -> None:
    claim = judge("adak2021", "legs_carry_quarter_of_mass", 0.25)
    assert claim.verdict == "not_testable"
    assert claim.note.startswith("Missing: the masses")


def test_several_numbers_are_judged_by_the_worst_ratio() -> None:
    assert judge("yan2021", "fig12_postures", "5, 10, 20", "", compared=1.04).verdict == "reproduced"
    assert judge("yan2021", "fig12_postures", "5, 10, 25", "", compared=1.25).verdict == "differs"
    assert judge("yan2021", "fig12_postures", "5, 10, 16", "", compared=0.8).verdict == "differs"


def test_a_claim_must_be_judged_by_what_is_registered_for_it() -> None:
    with pytest.raises(InputError, match=r"unknown claim 'fig7'.*registered for depaula2024 are"):
        judge("depaula2024", "fig7", 1.0)
    with pytest.raises(InputError, match="not by holds="):
        judge("depaula2024", "trunk_position_mae_x", 60.0, holds=True)
    with pytest.raises(InputError, match="say holds="):
        judge("dynakat", "fig6_drop", 0.0)


def test_every_verdict_but_reproduced_needs_a_reason() -> None:
    for verdict in ("differs", "refuted", "not_testable"):
        with pytest.raises(InputError, match="without a reason"):
            Claim(id="r", claim="a statement", printed=1.0, measured=4.2, unit="", verdict=verdict)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be one of reproduced, differs, refuted, not_testable"):
        Claim(id="c", claim="a statement", printed=None, measured=None, unit="", verdict="maybe")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="nothing is printed"):
        Claim(id="c", claim="a question", printed=1.0, measured=1.0, unit="", verdict="reproduced", ours=True)


def test_questions_of_our_own_are_never_counted() -> None:
    good = Claim(id="a", claim="a claim", printed=1.0, measured=1.0, unit="", verdict="reproduced")
    wrong = Claim(id="b", claim="a claim", printed=1.0, measured=2.0, unit="", verdict="differs", note="twice")
    own = Claim(id="c", claim="a question", printed=None, measured=1.0, unit="", verdict="reproduced", ours=True)
    numbers = counts([good, wrong, own, dataclasses.replace(own, id="d", verdict="differs", note="no")])
    assert numbers == {"reproduced": 1, "differs": 1, "refuted": 0, "not_testable": 0}
    assert sentence(numbers) == "Of 2 published claims 1 reproduced, 1 differ, 0 refuted and 0 not testable."
    assert (own.words, wrong.words) == ("yes", "differs")


def test_json_has_every_key_and_no_number_that_json_lacks() -> None:
    claim = judge("depaula2024", "trunk_position_mae_x", math.inf, "note")
    found = json.loads(json.dumps(claim.to_json(), allow_nan=False))
    assert list(found) == ["id", "claim", "printed", "measured", "unit", "verdict", "ours", "note"]
    assert found["measured"] is None
    outcome = Outcome(experiment="e", title="title", summary="", claims=(claim,))
    whole = outcome.to_json(["a.png"])
    assert whole["experiment"] == "e"
    assert whole["figures"] == ["a.png"]
    assert whole["bounds"] == registration().digest
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


def test_the_page_of_verdicts_gives_the_reasons_of_what_differs_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "docs"))
    generate = importlib.import_module("generate_verdicts")
    names = list(registration().claims["dynakat"])[:3]
    verdicts = ("reproduced", "differs", "refuted")
    claims = [
        {
            "id": id,
            "claim": f"claim {id}",
            "printed": 1.0,
            "measured": 2.0,
            "unit": "",
            "verdict": verdict,
            "ours": False,
            "note": f"because of\n  {verdict}",
        }
        for id, verdict in zip(names, verdicts)
    ]
    page = generate.page([{"experiment": "dynakat", "title": "DynaKat", "claims": claims}], "Of 3.")
    reasons = page.split("Why, as far as known:")[1]
    assert f"- *claim {names[1]}* (differs): because of differs" in reasons
    assert f"- *claim {names[2]}* (refuted): because of refuted" in reasons
    assert "because of reproduced" not in page
    monkeypatch.delitem(sys.modules, "generate_verdicts")

"""The rules that turn a printed and a measured value into a verdict."""

from __future__ import annotations

import json

import pytest

from footfall.errors import InputError
from footfall.experiments.claims import Claim, Outcome, duration, error_figure, refuted, shape, shown


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [(0.0, "reproduced"), (63.0, "reproduced"), (78.75, "reproduced"), (78.76, "not_reproduced"),
     (float("nan"), "not_reproduced"), (float("inf"), "not_reproduced")],
)  # fmt: skip
def test_an_error_is_reproduced_up_to_the_printed_one_plus_a_quarter(measured: float, verdict: str) -> None:
    assert error_figure("x", "an error", 63.0, measured, "mm").verdict == verdict


@pytest.mark.parametrize(("measured", "verdict"), [(0.2, "reproduced"), (20.0, "reproduced"), (20.1, "not_reproduced")])
def test_a_time_is_reproduced_when_ours_is_no_longer(measured: float, verdict: str) -> None:
    assert duration("t", "a time", 20.0, measured).verdict == verdict


def test_a_shape_is_there_or_is_not() -> None:
    assert shape("s", "a shape", "similar", 0.9, True).verdict == "reproduced"
    assert shape("s", "a shape", "similar", 0.1, False).verdict == "not_reproduced"


def test_refuting_needs_evidence() -> None:
    assert refuted("r", "a statement", None, 4.2, "a counterexample").verdict == "refuted"
    with pytest.raises(InputError, match="without evidence"):
        refuted("r", "a statement", None, 4.2, "")
    with pytest.raises(InputError, match="must be one of reproduced, refuted, not_reproduced"):
        Claim("c", "a statement", None, None, "", "maybe")  # type: ignore[arg-type]


def test_only_what_is_unexplained_fails_an_experiment() -> None:
    good = error_figure("x", "an error", 63.0, 60.0, "mm")
    wrong = refuted("r", "a statement", None, 4.2, "a counterexample")
    short = duration("t", "a time", 1.0, 2.0)
    assert Outcome("e", "title", "", (good, wrong)).passed
    outcome = Outcome("e", "title", "", (good, wrong, short))
    assert not outcome.passed
    assert outcome.claim("t") is short
    with pytest.raises(InputError, match="unknown claim 'z'"):
        outcome.claim("z")


def test_json_has_every_key_and_no_number_that_json_lacks() -> None:
    claim = error_figure("x", "an error", 63.0, float("inf"), "mm", "note")
    found = json.loads(json.dumps(claim.to_json(), allow_nan=False))
    assert list(found) == ["id", "claim", "printed", "measured", "unit", "verdict", "note"]
    assert found["measured"] is None
    whole = Outcome("e", "title", "", (claim,)).to_json(["a.png"])
    assert whole["experiment"] == "e"
    assert whole["figures"] == ["a.png"]


def test_values_are_shown_briefly() -> None:
    assert [shown(v) for v in (None, True, "similar", 60.72, 0.00123, float("nan"))] == [
        "–", "yes", "similar", "60.7", "0.0012", "no number",
    ]  # fmt: skip

"""The whole experiment once, with fewer variants: ten seconds in both simulators, every claim, the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from on_record import changed, unjudged
from whole_page import stands_alone

from footfall_lab import papers as experiments
from footfall_lab import report
from footfall_lab.papers.claims import counts, sentence
from footfall_lab.papers.depaula2024.runs import DURATION
from footfall_lab.papers.registered import registration


@pytest.mark.slow
def test_claims_are_judged_as_recorded_and_the_report_stands_alone(tmp_path: Path) -> None:
    outcome = experiments.run("depaula2024", quick=True)
    claims = {claim.id: claim for claim in outcome.claims}
    assert unjudged(outcome) == set()
    assert changed(outcome) == []
    assert all(claim.note for claim in outcome.claims)
    assert claims["explicit_dt_1e-4_converged"].ours
    assert "mm explicit" in claims["explicit_dt_1e-4_converged"].note
    assert float(claims["stiff_mujoco_agrees"].measured or 99) < 30.0  # [mm] along x
    json.dumps(outcome.to_json(), allow_nan=False)

    # what decides is set A on the paper's 13 bodies by Heun's method; all else stands beside it
    decided = outcome.tables[0].rows[1]
    assert decided[:3] == ("A", "Heun, 10 N s/m", "13 bodies, friction per axis")
    assert float(decided[3]) == round(float(claims["trunk_position_mae_x"].measured or 0))
    assert len(outcome.tables[0].rows) == 10
    assert DURATION == 10.0

    written = report.write([outcome], tmp_path / "deep" / "folder", "footfall reproduce depaula2024", took=1.0)
    text = written.report.read_text(encoding="utf-8")
    assert len(outcome.figures) == 4
    stands_alone(text, figures=4)
    assert all(id in text for id in claims)
    assert sentence(counts(outcome.claims)) in text
    assert "within 1.25 times, either way" in text
    assert registration().digest in text
    kept = json.loads((written.report.parent / "results.json").read_text(encoding="utf-8"))
    assert kept["experiments"][0]["bounds"] == registration().digest
    assert len(kept["experiments"][0]["claims"]) == len(claims)
    assert "footfall reproduce depaula2024" in text
    assert all(path.stat().st_size > 10_000 for path in written.figures["depaula2024"])
    assert not list(written.report.parent.glob(".*"))
